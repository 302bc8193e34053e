# Updated and stacked models by predRupdate and glm, as reference numbers.
#
#   Rscript tests/reference/updating.R      (from the root of the repository)
#
# Writes updating_cases.csv, four hospitals in which the old model is right, or needs an
# intercept, a slope, or new coefficients; and updating_r.csv, the coefficients by
# pred_update and pred_stacked_regression, with the tests of closed testing by glm
# (Vergouwe et al. 2017), in each of them. The tests need no R.
# predRupdate 0.2.1.9000 (github.com/GlenMartin31/predRupdate, commit 6341cb7).

library(predRupdate)
set.seed(20)
old <- c(Intercept = -1, a = 0.8, b = -0.5, c = 0.6)
truths <- list(
  none = old, intercept = old + c(1.2, 0, 0, 0), slope = c(-0.3, 0.4, -0.25, 0.3),
  refit = c(-1, 0.1, 0.9, -0.4)
)
made <- function(hospital) {
  x <- data.frame(a = rnorm(400), b = rnorm(400, 1), c = rbinom(400, 1, 0.4))
  eta <- drop(cbind(1, as.matrix(x)) %*% truths[[hospital]])
  cbind(hospital, round(x, 3), died = rbinom(400, 1, plogis(eta)))
}
cases <- do.call(rbind, lapply(names(truths), made))
write.csv(cases, "tests/reference/updating_cases.csv", row.names = FALSE, quote = FALSE)

exact <- glm.control(epsilon = 1e-14, maxit = 100)
known <- pred_input_info("logistic", data.frame(t(old)))
several <- pred_input_info("logistic", data.frame(
  Intercept = c(-1, -0.5, 0.2), a = c(0.8, 0.3, NA), b = c(-0.5, NA, 0.7),
  c = c(0.6, 1.2, NA)
))
rows <- function(hospital, what, values) {
  data.frame(hospital, what, name = names(values), value = as.numeric(values))
}
judged <- function(hospital) {
  new <- cases[cases$hospital == hospital, -1]
  updated <- lapply(
    c(intercept = "intercept_update", slope = "recalibration", refit = "refit"),
    function(type) unlist(pred_update(known, type, new, "died")$coefs)
  )
  lp <- drop(cbind(1, as.matrix(new[c("a", "b", "c")])) %*% old)
  fits <- list(
    none = glm(died ~ offset(lp) - 1, binomial, new, control = exact),
    intercept = glm(died ~ offset(lp), binomial, new, control = exact),
    slope = glm(died ~ lp, binomial, new, control = exact)
  )
  full <- glm(died ~ a + b + c, binomial, new, control = exact)
  statistic <- sapply(fits, deviance) - deviance(full)
  p <- pchisq(statistic, c(4, 3, 2), lower.tail = FALSE)
  stacked <- pred_stacked_regression(several, TRUE, new, "died")
  # optim() of the package stops early; its likelihood is maximised to the last digits
  lps <- cbind(1, sapply(seq_len(3), function(m) {
    pred_predict(several, new, "died")[[m]]$LinearPredictor
  }))
  loss <- function(w) -sum(dbinom(new$died, 1, plogis(lps %*% w), log = TRUE))
  slope <- function(w) -drop(t(lps) %*% (new$died - plogis(lps %*% w)))
  best <- nlminb(
    c(0, 1, 1, 1) / 3, loss, slope, lower = c(-Inf, 0, 0, 0),
    control = list(rel.tol = 1e-15, x.tol = 1e-12, iter.max = 1000)
  )
  # a ridge of strength 30 on the differences, for columns over their deviations
  X <- cbind(1, as.matrix(new[c("a", "b", "c")]))
  ridge <- 30 * c(0, apply(X[, -1], 2, function(x) mean((x - mean(x))^2)))
  beta <- old
  for (step in 1:50) {
    mu <- plogis(drop(X %*% beta))
    slopes <- crossprod(X, new$died - mu) - ridge * (beta - old)
    beta <- beta + drop(solve(crossprod(X, X * mu * (1 - mu)) + diag(ridge), slopes))
  }
  names(beta) <- names(old)
  rbind(
    do.call(rbind, Map(rows, hospital, names(updated), updated)),
    rows(hospital, "shrink", beta),
    rows(hospital, "statistic", statistic),
    rows(hospital, "p", setNames(p, names(statistic))),
    rows(hospital, "optim", setNames(
      stacked$Stacked_Regression_Weights, c("(Intercept)", "one", "two", "three")
    )),
    rows(hospital, "stack", setNames(best$par, c("(Intercept)", "one", "two", "three")))
  )
}
table <- do.call(rbind, lapply(names(truths), judged))
table$value <- formatC(table$value, digits = 12, format = "g")
write.csv(table, "tests/reference/updating_r.csv", row.names = FALSE, quote = FALSE)
