# External validation by rms and glm, as reference numbers.
#
#   Rscript tests/reference/validation.R        (from the root of the repository)
#
# Writes validation_r.csv: two published models judged on the records of
# equations_cases.csv by rms::val.prob (slope, Brier score), Hmisc::somers2 (area), and
# glm with the linear predictor as an offset (intercept). The tests need no R.

suppressMessages(library(rms))
people <- read.csv("tests/reference/equations_cases.csv", check.names = FALSE)
models <- list(
  small = with(people, -1.2 + 0.03 * (age - 50) + 0.8 * (sex == "m")),
  extreme = with(people, 0.4 + 0.09 * (age - 50) + 1.1 * log(crp) - 0.2 * (sex == "m"))
)
judged <- function(name) {
  lp <- models[[name]]
  found <- val.prob(plogis(lp), people$died, pl = FALSE)
  area <- Hmisc::somers2(plogis(lp), people$died)  # val.prob rounds predictions here
  offset <- glm(died ~ offset(lp), binomial, people, epsilon = 1e-14)
  data.frame(
    model = name,
    metric = c("auroc", "calibration_slope", "brier", "calibration_intercept"),
    value = c(area["C"], found[c("Slope", "Brier")], coef(offset))
  )
}
table <- do.call(rbind, lapply(names(models), judged))
table$value <- formatC(table$value, digits = 12, format = "g")
write.csv(table, "tests/reference/validation_r.csv", row.names = FALSE, quote = 1:2)
