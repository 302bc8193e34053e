# The equations of tests/results/test_results_equation.py, computed by R.
#
#   Rscript tests/reference/equations.R        (from the root of the repository)
#
# Writes equations_r.csv. The tests need no R.

# The probability that died is 1, for each row of a data frame.
covariates <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    -1.5154126003922386
    + 0.03810955445975089 * data[["age"]]
    + 0.7822334343716126 * ifelse(data[["sex"]] == "f", 0.0, ifelse(data[["sex"]] == "m", 1.0, NA))
  )
  (1.0 / (1.0 + exp(-ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 700.0, 700.0, linear_1)))))
}

# The probability that died is 1, for each row of a data frame.
splines <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    -0.471153309872302
    + (((0.11110146864525405 + ((0.06365141152960932 + (((-0.0018446315728439437) + ((-0.0002489913492818233) * (data[["age"]] - 39.599999999999994))) * (data[["age"]] - 39.599999999999994))) * (data[["age"]] - 39.599999999999994))) + ifelse(data[["age"]] < 39.599999999999994, 0.0, (((0.00027140809899037574 * (data[["age"]] - 39.599999999999994)) * (data[["age"]] - 39.599999999999994)) * (data[["age"]] - 39.599999999999994)))) + ifelse(data[["age"]] < 60.499999999999986, 0.0, (((9.281860478699885e-06 * (data[["age"]] - 60.499999999999986)) * (data[["age"]] - 60.499999999999986)) * (data[["age"]] - 60.499999999999986))))
    + 0.2643066807454939 * ifelse(data[["sex"]] == "f", 0.0, ifelse(data[["sex"]] == "m", 1.0, NA))
    + 0.49599712291144266 * log(data[["crp"]])
    + 0.08898074902684054 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 1.0, ifelse(data[["race"]] == "white", 0.0, NA)))
    + -0.11573130744996993 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 0.0, ifelse(data[["race"]] == "white", 1.0, NA)))
    + (((0.5296442652001896 + ((0.005268511167560034 + (((-0.00026238325132306635) + (4.5016751355849436e-05 * (data[["age"]] - 39.599999999999994))) * (data[["age"]] - 39.599999999999994))) * (data[["age"]] - 39.599999999999994))) + ifelse(data[["age"]] < 39.599999999999994, 0.0, ((((-3.2949713787192566e-05) * (data[["age"]] - 39.599999999999994)) * (data[["age"]] - 39.599999999999994)) * (data[["age"]] - 39.599999999999994)))) + ifelse(data[["age"]] < 60.499999999999986, 0.0, ((((-0.00018595269609610353) * (data[["age"]] - 60.499999999999986)) * (data[["age"]] - 60.499999999999986)) * (data[["age"]] - 60.499999999999986)))) * ifelse(data[["sex"]] == "f", 0.0, ifelse(data[["sex"]] == "m", 1.0, NA))
  )
  (1.0 / (1.0 + exp(-ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 700.0, 700.0, linear_1)))))
}

# The probability that died is 1, for each row of a data frame.
natural <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    0.6098050283224866
    + ((((((-1.224664427831191) + ((0.07053798745475058 + ((0.0 * (data[["age"]] - 20.2)) * (data[["age"]] - 20.2))) * (data[["age"]] - 20.2))) + ifelse(data[["age"]] < 20.2, 0.0, ((((-1.5020074209585017e-05) * (data[["age"]] - 20.2)) * (data[["age"]] - 20.2)) * (data[["age"]] - 20.2)))) + ifelse(data[["age"]] < 40.36666666666667, 0.0, (((1.8095812337925526e-05 * (data[["age"]] - 40.36666666666667)) * (data[["age"]] - 40.36666666666667)) * (data[["age"]] - 40.36666666666667)))) + ifelse(data[["age"]] < 60.53333333333333, 0.0, (((9.426551368463284e-06 * (data[["age"]] - 60.53333333333333)) * (data[["age"]] - 60.53333333333333)) * (data[["age"]] - 60.53333333333333)))) + ifelse(data[["age"]] < 79.8, 0.0, ((((-1.2502289496803737e-05) * (data[["age"]] - 79.8)) * (data[["age"]] - 79.8)) * (data[["age"]] - 79.8))))
    + (0.09164157761174692 + (((-0.022200898325882363) + ((-0.0058808551695922395) * (data[["bmi"]] - 26.435))) * (data[["bmi"]] - 26.435)))
    + -0.17204229042452415 * ifelse(data[["grade"]] == 1.0, 0.0, ifelse(data[["grade"]] == 2.0, 1.0, ifelse(data[["grade"]] == 3.0, 0.0, NA)))
    + -0.06977066283736043 * ifelse(data[["grade"]] == 1.0, 0.0, ifelse(data[["grade"]] == 2.0, 0.0, ifelse(data[["grade"]] == 3.0, 1.0, NA)))
    + -0.19036276543859298 * data[["flag"]]
  )
  (1.0 / (1.0 + exp(-ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 700.0, 700.0, linear_1)))))
}

# The probability that died is 1, for each row of a data frame.
odd <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    -0.3014091624859325
    + 0.5556723354710622 * ifelse(data[["crp"]] > 2.0, 1.0, 0.0)
    + 1.2893628402637354 * ifelse(data[["age"]] > 50.0, 1.0, 0.0)
    + 0.7125163312758693 * (log(data[["crp"]]) / log(10.0))
    + -0.0007473117563736257 * ((data[["age"]] - 50.0) ^ 2.0)
    + 0.11333609161231914 * data[["odd name"]]
    + -0.0036045514482973265 * (0.9999999999999997 * (data[["age"]] - 50.2525)) * (0.2594598235904454 * (data[["bmi"]] - 26.618999999999996))
  )
  (1.0 / (1.0 + exp(-ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 700.0, 700.0, linear_1)))))
}

# The probability that died is 1, for each row of a data frame.
contrasts <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    1.2539247278930166
    + 0.009914922670494626 * ifelse(data[["race"]] == "black", 1.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 0.0, ifelse(data[["race"]] == "white", (-1.0), NA)))
    + 0.09663273901699232 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 1.0, ifelse(data[["race"]] == "white", (-1.0), NA)))
    + 0.12884923228908945 * ifelse(data[["grade"]] == 1.0, 1.0, ifelse(data[["grade"]] == 2.0, 0.0, ifelse(data[["grade"]] == 3.0, 0.0, NA)))
    + 0.16013505993622076 * ifelse(data[["grade"]] == 1.0, 0.0, ifelse(data[["grade"]] == 2.0, 0.0, ifelse(data[["grade"]] == 3.0, 1.0, NA)))
    + -0.0252838023417183 * pmin(pmax(data[["bmi"]], 20.0), 30.0)
  )
  (1.0 / (1.0 + exp(-ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 700.0, 700.0, linear_1)))))
}

# The probability that died is 1, for each row of a data frame.
no_intercept <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    -0.4995340667219628 * ifelse(data[["race"]] == "black", 1.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 0.0, ifelse(data[["race"]] == "white", 0.0, NA)))
    + -0.43982996919340955 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 1.0, ifelse(data[["race"]] == "white", 0.0, NA)))
    + -0.5409556776033241 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 0.0, ifelse(data[["race"]] == "white", 1.0, NA)))
    + 0.038199314455653305 * data[["age"]]
    + -0.023228575616953538 * ifelse(data[["flag"]] == 0.0, 1.0, ifelse(data[["flag"]] == 1.0, 0.0, NA)) * data[["bmi"]]
    + -0.029434541812837955 * data[["flag"]] * data[["bmi"]]
  )
  (1.0 / (1.0 + exp(-ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 700.0, 700.0, linear_1)))))
}

# The probability that died is 1, for each row of a data frame.
steps <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    -0.06412307459868082
    + ((0.0 + ifelse(data[["age"]] < 39.599999999999994, 0.0, 1.1344610800213684)) + ifelse(data[["age"]] < 60.499999999999986, 0.0, 0.36991461200314735))
    + 0.17687306337216804 * (1 - data[["flag"]])
    + -0.058660105144505925 * abs((data[["bmi"]] - 25.0))
  )
  (1.0 / (1.0 + exp(-ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 700.0, 700.0, linear_1)))))
}

# The probability that died is 1, for each row of a data frame.
truths <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    -2.6233639657466976
    + -0.08525759526821759 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 0.0, ifelse(data[["race"]] == "white", 1.0, NA)))
    + -2.9307188980580805 * exp(-data[["crp"]])
    + 0.5611535790668696 * sqrt(data[["age"]])
  )
  (1.0 / (1.0 + exp(-ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 700.0, 700.0, linear_1)))))
}

# The probability of each class of stage, for each row of a data frame.
classes <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    0.0
  )
  linear_2 <- rep(0, nrow(data)) + (
    -3.2020280865525317
    + 0.05488763432200633 * data[["age"]]
    + ((0.44660467333154097 + ((0.024590423466743328 + (((-0.001790580900609697) + ((-2.5119577014369988e-05) * (data[["bmi"]] - 26.59))) * (data[["bmi"]] - 26.59))) * (data[["bmi"]] - 26.59))) + ifelse(data[["bmi"]] < 26.59, 0.0, ((((-0.0007695358293075768) * (data[["bmi"]] - 26.59)) * (data[["bmi"]] - 26.59)) * (data[["bmi"]] - 26.59))))
    + 0.7580293354745927 * ifelse(data[["sex"]] == "f", 0.0, ifelse(data[["sex"]] == "m", 1.0, NA))
  )
  linear_3 <- rep(0, nrow(data)) + (
    -0.7571979555492768
    + 0.01686310313493268 * data[["age"]]
    + (((-1.3699144442525957) + ((0.04456551178918399 + ((0.03702150698039031 + (0.001962062150411287 * (data[["bmi"]] - 26.59))) * (data[["bmi"]] - 26.59))) * (data[["bmi"]] - 26.59))) + ifelse(data[["bmi"]] < 26.59, 0.0, ((((-0.006648990578582292) * (data[["bmi"]] - 26.59)) * (data[["bmi"]] - 26.59)) * (data[["bmi"]] - 26.59))))
    + 0.9126140559820352 * ifelse(data[["sex"]] == "f", 0.0, ifelse(data[["sex"]] == "m", 1.0, NA))
  )
  cbind(
    "early" = (1.0 / ((1.0 + exp(-ifelse((linear_1 - linear_2) < (-700.0), (-700.0), ifelse((linear_1 - linear_2) > 700.0, 700.0, (linear_1 - linear_2))))) + exp(-ifelse((linear_1 - linear_3) < (-700.0), (-700.0), ifelse((linear_1 - linear_3) > 700.0, 700.0, (linear_1 - linear_3)))))),
    "late" = (1.0 / ((1.0 + exp(-ifelse((linear_2 - linear_1) < (-700.0), (-700.0), ifelse((linear_2 - linear_1) > 700.0, 700.0, (linear_2 - linear_1))))) + exp(-ifelse((linear_2 - linear_3) < (-700.0), (-700.0), ifelse((linear_2 - linear_3) > 700.0, 700.0, (linear_2 - linear_3)))))),
    "middle" = (1.0 / ((1.0 + exp(-ifelse((linear_3 - linear_1) < (-700.0), (-700.0), ifelse((linear_3 - linear_1) > 700.0, 700.0, (linear_3 - linear_1))))) + exp(-ifelse((linear_3 - linear_2) < (-700.0), (-700.0), ifelse((linear_3 - linear_2) > 700.0, 700.0, (linear_3 - linear_2))))))
  )
}

# The probability of each class of stage, for each row of a data frame.
ridge_of_classes <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    0.03552435211544955
    + ((-0.024361432626518863) * (data[["age"]] - 50.2525))
    + 0.13139837977064553 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 1.0, ifelse(data[["race"]] == "white", 0.0, NA)))
    + 0.059394838139005285 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 0.0, ifelse(data[["race"]] == "white", 1.0, NA)))
  )
  linear_2 <- rep(0, nrow(data)) + (
    0.3527247251419755
    + (0.030267780340447546 * (data[["age"]] - 50.2525))
    + 0.021707777481744905 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 1.0, ifelse(data[["race"]] == "white", 0.0, NA)))
    + 0.0859535465233042 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 0.0, ifelse(data[["race"]] == "white", 1.0, NA)))
  )
  linear_3 <- rep(0, nrow(data)) + (
    -0.388249077257425
    + ((-0.005906347713928686) * (data[["age"]] - 50.2525))
    + -0.15310615725239038 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 1.0, ifelse(data[["race"]] == "white", 0.0, NA)))
    + -0.14534838466230945 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 0.0, ifelse(data[["race"]] == "white", 1.0, NA)))
  )
  cbind(
    "early" = (1.0 / ((1.0 + exp(-ifelse((linear_1 - linear_2) < (-700.0), (-700.0), ifelse((linear_1 - linear_2) > 700.0, 700.0, (linear_1 - linear_2))))) + exp(-ifelse((linear_1 - linear_3) < (-700.0), (-700.0), ifelse((linear_1 - linear_3) > 700.0, 700.0, (linear_1 - linear_3)))))),
    "late" = (1.0 / ((1.0 + exp(-ifelse((linear_2 - linear_1) < (-700.0), (-700.0), ifelse((linear_2 - linear_1) > 700.0, 700.0, (linear_2 - linear_1))))) + exp(-ifelse((linear_2 - linear_3) < (-700.0), (-700.0), ifelse((linear_2 - linear_3) > 700.0, 700.0, (linear_2 - linear_3)))))),
    "middle" = (1.0 / ((1.0 + exp(-ifelse((linear_3 - linear_1) < (-700.0), (-700.0), ifelse((linear_3 - linear_1) > 700.0, 700.0, (linear_3 - linear_1))))) + exp(-ifelse((linear_3 - linear_2) < (-700.0), (-700.0), ifelse((linear_3 - linear_2) > 700.0, 700.0, (linear_3 - linear_2))))))
  )
}

# The expected cost, for each row of a data frame.
number <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    0.6002699653504043
    + (0.07500017484614474 + ((0.04737605650946828 + (((-0.00028392097016372025) + (1.135457320549649e-05 * (data[["age"]] - 50.0))) * (data[["age"]] - 50.0))) * (data[["age"]] - 50.0)))
    + 0.001645565141443317 * data[["flag"]]
    + 0.08203433979692809 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 1.0, ifelse(data[["race"]] == "white", 0.0, NA))) * ifelse(data[["flag"]] == 0.0, 1.0, ifelse(data[["flag"]] == 1.0, 0.0, NA))
    + 0.22168862739882178 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 0.0, ifelse(data[["race"]] == "white", 1.0, NA))) * ifelse(data[["flag"]] == 0.0, 1.0, ifelse(data[["flag"]] == 1.0, 0.0, NA))
    + 0.3911656724111434 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 1.0, ifelse(data[["race"]] == "white", 0.0, NA))) * data[["flag"]]
    + 0.02325155198453535 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 0.0, ifelse(data[["race"]] == "white", 1.0, NA))) * data[["flag"]]
  )
  linear_1
}

# The expected cost, for each row of a data frame.
wave_number <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    0.459409725384076
    + 0.23704556352029682 * sin(data[["age"]] / 10.0)
    + 0.16451246218617954 * cos(data[["bmi"]])
    + 5.866762741829091 * tan(data[["crp"]] / 100.0)
    + -2.989391444964145 * cos(data[["bmi"]]) * tan(data[["crp"]] / 100.0)
  )
  linear_1
}

# The probability that died is 1, for each row of a data frame.
shares <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    1.0274820588931433
    + 0.46280317841722557 * (log(data[["crp"]]) - (((log(data[["crp"]]) + log(data[["bmi"]])) + log(data[["age"]])) / 3.0))
    + -1.8598318650118015 * (log(data[["bmi"]]) - (((log(data[["crp"]]) + log(data[["bmi"]])) + log(data[["age"]])) / 3.0))
    + 1.3970286865945774 * (log(data[["age"]]) - (((log(data[["crp"]]) + log(data[["bmi"]])) + log(data[["age"]])) / 3.0))
  )
  (1.0 / (1.0 + exp(-ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 700.0, 700.0, linear_1)))))
}

# The probability that died is 1, for each row of a data frame.
learnt_shares <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    0.6570699212451062
    + 0.4802640435844438 * (log((data[["crp"]] + 0.5)) - (((log((data[["crp"]] + 0.5)) + log((data[["bmi"]] + 0.5))) + log((data[["age"]] + 0.5))) / 3.0))
    + -1.8479596119274733 * (log((data[["bmi"]] + 0.5)) - (((log((data[["crp"]] + 0.5)) + log((data[["bmi"]] + 0.5))) + log((data[["age"]] + 0.5))) / 3.0))
    + 1.367695568343037 * (log((data[["age"]] + 0.5)) - (((log((data[["crp"]] + 0.5)) + log((data[["bmi"]] + 0.5))) + log((data[["age"]] + 0.5))) / 3.0))
    + 0.6984427370569564 * ifelse(data[["sex"]] == "f", 0.0, ifelse(data[["sex"]] == "m", 1.0, NA))
  )
  (1.0 / (1.0 + exp(-ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 700.0, 700.0, linear_1)))))
}

# The expected cost, for each row of a data frame.
one_number <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    -0.07291413129645037
    + ((((-0.2768417109049685) + (((-0.09442747143441534) + ((-0.0069607101851219474) * (data[["bmi"]] - 25.0))) * (data[["bmi"]] - 25.0))) + ifelse(data[["bmi"]] < 25.0, 0.0, ((0.03991968273127458 * (data[["bmi"]] - 25.0)) * (data[["bmi"]] - 25.0)))) + ifelse(data[["bmi"]] < 30.0, 0.0, (((-0.08465840784791386) * (data[["bmi"]] - 30.0)) * (data[["bmi"]] - 30.0))))
    + 0.6612488381008603 * log((1.0 + data[["crp"]]))
  )
  linear_1
}

# The linear predictor of Surv(time, status) and the risk by each horizon, for each row of a data frame.
times <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    -0.8943190613261363
    + 0.016779932057252814 * data[["age"]]
    + 0.10425617473273238 * ifelse(data[["sex"]] == "f", 0.0, ifelse(data[["sex"]] == "m", 1.0, NA))
  )
  cbind(
    "linear" = linear_1,
    "risk_3" = (1.0 - (0.6002840412682175 ^ exp(ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 7.223734276497701, 7.223734276497701, linear_1)))))
  )
}

# The linear predictor of Surv(time, status) and the risk by each horizon, for each row of a data frame.
times_in_splines <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    -0.7297464872826915
    + (((0.24851770523059435 + ((0.033687995810250185 + (((-0.0013375586055544221) + ((-0.00012441928410760513) * (data[["age"]] - 39.599999999999994))) * (data[["age"]] - 39.599999999999994))) * (data[["age"]] - 39.599999999999994))) + ifelse(data[["age"]] < 39.599999999999994, 0.0, (((0.0001450123325502771 * (data[["age"]] - 39.599999999999994)) * (data[["age"]] - 39.599999999999994)) * (data[["age"]] - 39.599999999999994)))) + ifelse(data[["age"]] < 60.499999999999986, 0.0, ((((-5.324011047050606e-05) * (data[["age"]] - 60.499999999999986)) * (data[["age"]] - 60.499999999999986)) * (data[["age"]] - 60.499999999999986))))
    + -0.1987069714429047 * ifelse(data[["sex"]] == "f", 0.0, ifelse(data[["sex"]] == "m", 1.0, NA))
    + 0.2692713342281492 * log(data[["crp"]])
    + 0.2315966653546922 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 1.0, ifelse(data[["race"]] == "white", 0.0, NA)))
    + 0.09062661410830712 * ifelse(data[["race"]] == "black", 0.0, ifelse(data[["race"]] == "other 'x' & \"y\"", 0.0, ifelse(data[["race"]] == "white", 1.0, NA)))
    + (((0.31458761819965814 + (((-0.0027298347889946582) + (((-0.0012848931830581973) + ((-1.5892327436774712e-05) * (data[["age"]] - 39.599999999999994))) * (data[["age"]] - 39.599999999999994))) * (data[["age"]] - 39.599999999999994))) + ifelse(data[["age"]] < 39.599999999999994, 0.0, (((6.714848962505617e-05 * (data[["age"]] - 39.599999999999994)) * (data[["age"]] - 39.599999999999994)) * (data[["age"]] - 39.599999999999994)))) + ifelse(data[["age"]] < 60.499999999999986, 0.0, ((((-0.00010331505187584632) * (data[["age"]] - 60.499999999999986)) * (data[["age"]] - 60.499999999999986)) * (data[["age"]] - 60.499999999999986)))) * ifelse(data[["sex"]] == "f", 0.0, ifelse(data[["sex"]] == "m", 1.0, NA))
  )
  cbind(
    "linear" = linear_1,
    "risk_0.5" = (1.0 - (0.9193943036075597 ^ exp(ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 9.027540460554462, 9.027540460554462, linear_1))))),
    "risk_2" = (1.0 - (0.7072091945971217 ^ exp(ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 7.611158397097946, 7.611158397097946, linear_1))))),
    "risk_6.5" = (1.0 - (0.3733730547692514 ^ exp(ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 6.566014078053278, 6.566014078053278, linear_1)))))
  )
}

# The linear predictor of Surv(time, status), for each row of a data frame.
times_alone <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    0.17725735262654327
    + -0.006659053782130933 * data[["bmi"]]
  )
  linear_1
}

# The linear predictor of Surv(time, status) and the risk by each horizon, for each row of a data frame.
times_without_covariates <- function(data) {
  linear_1 <- rep(0, nrow(data)) + (
    0.0
  )
  cbind(
    "linear" = linear_1,
    "risk_1" = (1.0 - (0.8343752228496903 ^ exp(ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 8.259940483515674, 8.259940483515674, linear_1))))),
    "risk_2" = (1.0 - (0.6938275424678101 ^ exp(ifelse(linear_1 < (-700.0), (-700.0), ifelse(linear_1 > 7.557482205277159, 7.557482205277159, linear_1)))))
  )
}


people <- read.csv("tests/reference/equations_cases.csv", check.names = FALSE)
people$flag <- people$flag == "True"
tidy <- function(case, values) {
  values <- as.matrix(values)
  data.frame(case = case, row = rep(seq_len(nrow(values)), ncol(values)),
             column = rep(seq_len(ncol(values)), each = nrow(values)),
             value = formatC(as.vector(values), digits = 17, format = "g"))
}
table <- rbind(
  tidy("covariates", covariates(people)),
  tidy("splines", splines(people)),
  tidy("natural", natural(people)),
  tidy("odd", odd(people)),
  tidy("contrasts", contrasts(people)),
  tidy("no intercept", no_intercept(people)),
  tidy("steps", steps(people)),
  tidy("truths", truths(people)),
  tidy("classes", classes(people)),
  tidy("ridge of classes", ridge_of_classes(people)),
  tidy("number", number(people)),
  tidy("wave number", wave_number(people)),
  tidy("shares", shares(people)),
  tidy("learnt shares", learnt_shares(people)),
  tidy("one number", one_number(people)),
  tidy("times", times(people)),
  tidy("times in splines", times_in_splines(people)),
  tidy("times alone", times_alone(people)),
  tidy("times without covariates", times_without_covariates(people))
)
write.csv(table, "tests/reference/equations_r.csv", row.names = FALSE, quote = 1)
