# External validation by rms, glm and the steps of predRupdate, as reference numbers.
#
#   Rscript tests/reference/validation.R        (from the root of the repository)
#
# Writes validation_r.csv: two published models judged on the records of
# equations_cases.csv, together and in each of three hospitals. Values are those of
# pred_validate (predRupdate 0.2.1): glm with the linear predictor as an offset
# (intercept) and as the covariate (slope), O:E, Brier score and area; slope and Brier
# score equal rms::val.prob, and the area Hmisc::somers2 (val.prob rounds predictions
# there). The scaled Brier score refers to the share of events in these records.
# Standard errors: DeLong's of the area, as pROC has it; of the others the sandwich's,
# times n / (n - 1), which holds for a model that is miscalibrated; wald is that of
# pred_validate, which takes the recalibrated model as true. The tests need no R.

suppressMessages(library(rms))
people <- read.csv("tests/reference/equations_cases.csv", check.names = FALSE)
models <- list(
  small = with(people, -1.2 + 0.03 * (age - 50) + 0.8 * (sex == "m")),
  extreme = with(people, 0.4 + 0.09 * (age - 50) + 1.1 * log(crp) - 0.2 * (sex == "m"))
)
exact <- glm.control(epsilon = 1e-14)
of_sum <- function(each) sd(each) * sqrt(length(each))  # standard error of a sum
sandwich <- function(fit, y) {
  k <- length(coef(fit))
  each <- ((y - fitted(fit)) * model.matrix(fit)) %*% vcov(fit)[, k]
  c(coef(fit)[[k]], of_sum(each), sqrt(vcov(fit)[k, k]))
}
judged <- function(name, hospital) {
  at <- seq_along(people$died)
  rows <- if (hospital == "all") at else at[at %% 3 == as.integer(hospital)]
  y <- people$died[rows]
  lp <- models[[name]][rows]
  p <- plogis(lp)
  n <- length(y)
  wins <- outer(p[y == 1], p[y == 0], ">") + outer(p[y == 1], p[y == 0], "==") / 2
  delong <- sqrt(var(rowMeans(wins)) / nrow(wins) + var(colMeans(wins)) / ncol(wins))
  ratio <- sum(y) / sum(p)
  loss <- (y - p)^2
  spread <- mean(y) * (1 - mean(y))
  share <- mean(loss) / spread
  moved <- (loss - share * (y - mean(y))^2) / spread / n
  known <- list(
    auroc = c(mean(wins), delong, delong),
    calibration_slope = sandwich(glm(y ~ lp, binomial, control = exact), y),
    calibration_intercept = sandwich(glm(y ~ offset(lp), binomial, control = exact), y),
    oe_ratio = ratio * c(1, of_sum(y / sum(y) - p / sum(p)),
                         sqrt((1 - mean(y)) / sum(y))),
    brier = c(mean(loss), of_sum(loss / n),
              sqrt(sum((1 - 2 * p)^2 * p * (1 - p))) / n),
    brier_skill = c(1 - share, of_sum(moved), NA)
  )
  found <- val.prob(p, y, pl = FALSE)
  stopifnot(
    abs(known$calibration_slope[1] - found["Slope"]) < 1e-6,
    abs(known$brier[1] - found["Brier"]) < 1e-12,
    abs(known$auroc[1] - Hmisc::somers2(p, y)[["C"]]) < 1e-12
  )
  limits <- as.data.frame(do.call(rbind, known))
  names(limits) <- c("value", "se", "wald")
  cbind(model = name, hospital, metric = names(known), limits)
}
cases <- expand.grid(name = names(models), hospital = c("all", "0", "1", "2"),
                     stringsAsFactors = FALSE)
table <- do.call(rbind, Map(judged, cases$name, cases$hospital))
for (column in c("value", "se", "wald")) {
  table[[column]] <- trimws(formatC(table[[column]], digits = 12, format = "g"))
}
write.csv(table, "tests/reference/validation_r.csv", row.names = FALSE, quote = 1:3)
