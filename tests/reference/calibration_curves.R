# Calibration by rms::val.prob, and calibration curves by cluster, as reference numbers.
#
#   Rscript tests/reference/calibration_curves.R    (from the root of the repository)
#
# Reads calibration_cases.csv, and writes calibration_curves_r.csv: the distances of a
# lowess by val.prob for each case; and for clustered_cases.csv, which is made here
# (seeded), the curve of each cluster by lrm on rcs with three knots, and at each point
# their meta-analysis by restricted likelihood, as in CalibrationCurves 3.1.0
# (valProbCluster(approach = "MAC2")), without and with the factor of Hartung and Knapp
# that is at least 1. The tests need no R.

suppressMessages(library(rms))
options(digits = 17)
cases <- read.csv("tests/reference/calibration_cases.csv")
lowess_of <- function(d) {
  found <- val.prob(d$p, d$y, pl = FALSE)[c("Eavg", "E90", "Emax")]
  data.frame(case = d$case[1], what = c("ici", "e90", "emax"), at = NA,
             value = unname(found))
}
numbers <- do.call(rbind, lapply(split(cases, cases$case), lowess_of))

set.seed(2025)
size <- c(120, 400, 150, 220, 180, 300, 140, 160)
people <- do.call(rbind, lapply(seq_along(size), function(j) {
  lp <- rnorm(size[j], -0.4 + 0.3 * rnorm(1), 1)
  y <- rbinom(size[j], 1, plogis(0.4 * rnorm(1) + (0.8 + 0.15 * rnorm(1)) * lp))
  data.frame(hospital = letters[j], y = y, p = round(plogis(lp), 5))
}))
none <- data.frame(hospital = "none", y = 0, p = round(plogis(rnorm(30, -2)), 5))
tiny <- data.frame(hospital = "tiny", y = c(0, 1), p = c(0.2, 0.6))  # separated
people <- rbind(people, none, tiny)
write.csv(people, "tests/reference/clustered_cases.csv", row.names = FALSE,
          quote = FALSE)

at <- seq(min(people$p), max(people$p), length.out = 9)
usable <- people[!people$hospital %in% c("none", "tiny"), ]
curves <- lapply(split(usable, usable$hospital), function(d) {
  d$lp <- qlogis(d$p)
  places <<- quantile(d$lp, c(0.1, 0.5, 0.9), names = FALSE)
  fit <- lrm(y ~ rcs(lp, places), d, eps = 1e-14, tol = 1e-14, maxit = 100)
  predict(fit, data.frame(lp = qlogis(at)), type = "lp", se.fit = TRUE)
})
reml <- function(y, v) {
  minus <- function(tau2) {
    w <- 1 / (v + tau2)
    (sum(log(v + tau2)) + log(sum(w)) + sum(w * (y - sum(w * y) / sum(w))^2)) / 2
  }
  best <- optimize(minus, c(0, 10 * var(y)), tol = 1e-12)$minimum
  if (minus(0) <= minus(best)) 0 else best
}
combined <- function(k) {
  y <- sapply(curves, function(one) one$linear.predictors[k])
  v <- sapply(curves, function(one) one$se.fit[k])^2
  tau2 <- reml(y, v)
  w <- 1 / (v + tau2)
  m <- sum(w * y) / sum(w)
  se <- sqrt(1 / sum(w))
  df <- length(y) - 1
  wide <- se * sqrt(max(1, sum(w * (y - m)^2) / df))
  further <- function(se) qt(0.975, df - 1) * sqrt(se^2 + tau2)
  value <- c(observed = plogis(m), tau = sqrt(tau2),
             lower = plogis(m - qnorm(0.975) * se),
             upper = plogis(m + qnorm(0.975) * se),
             prediction_lower = plogis(m - further(se)),
             prediction_upper = plogis(m + further(se)),
             hk_lower = plogis(m - qt(0.975, df) * wide),
             hk_prediction_upper = plogis(m + further(wide)), first = plogis(y[[1]]))
  data.frame(case = "clustered", what = names(value), at = at[k], value = value)
}
numbers <- rbind(numbers, do.call(rbind, lapply(seq_along(at), combined)))
numbers$value <- sprintf("%.12g", numbers$value)
write.csv(numbers, "tests/reference/calibration_curves_r.csv", row.names = FALSE,
          quote = FALSE)
