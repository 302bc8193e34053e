# The nomograms of tests/results/test_results_nomogram.py, by rms 6.5.
#
#   Rscript tests/reference/nomogram.R        (from the root of the repository)
#
# Writes nomogram_r.csv. The tests need no R.

suppressMessages(library(rms))
people <- read.csv("tests/reference/equations_cases.csv", check.names = FALSE)
people$grade <- factor(people$grade)
about <- datadist(people[c("age", "bmi", "crp", "sex", "race", "grade")])
options(datadist = "about")
close <- list(eps = 1e-13, maxit = 100)
fitted_to <- function(formula)
  do.call(lrm, c(list(formula, data = quote(people)), close))

tidy <- function(case, axes) {
  inputs <- setdiff(names(axes), c("total.points", "lp", "Predicted Value"))
  rows <- lapply(inputs, function(name) {
    one <- axes[[name]]
    data.frame(axis = gsub("=", " = ", name), value = as.character(one[[1]]), points = one$points)
  })
  totals <- data.frame(axis = "lp", value = as.character(axes$lp$x.real), points = axes$lp$x)
  risk <- axes[["Predicted Value"]]
  if (!is.null(risk))
    totals <- rbind(totals, data.frame(
      axis = "risk", value = as.character(risk$x.real), points = risk$x))
  made <- rbind(do.call(rbind, rows), totals)
  made$points <- formatC(made$points, digits = 17, format = "fg", width = 1)
  cbind(case = case, made)
}
risks <- qlogis(c(0.3, 0.5, 0.7))
lp <- c(0, 1)
axes_of <- function(fit, ...)
  nomogram(fit, fun = plogis, fun.lp.at = risks, lp.at = lp, ...)

table <- rbind(
  tidy("covariates", axes_of(fitted_to(died ~ age + bmi + crp))),
  tidy("negative", axes_of(fitted_to(I(1 - died) ~ age + sex))),
  tidy("spline and factor", axes_of(fitted_to(died ~ rcs(age, c(25, 40, 60, 75)) + sex + race))),
  tidy("log and factor", axes_of(
    fitted_to(died ~ log(crp) + grade + bmi), crp = c(0.2, 0.5, 1, 2, 5, 10, 20))),
  tidy("interaction", axes_of(fitted_to(died ~ age * sex + grade))),
  tidy("number", nomogram(ols(cost ~ age + race + crp, data = people), lp.at = lp))
)
write.csv(table, "tests/reference/nomogram_r.csv", row.names = FALSE, quote = 1:3)
