# Coefficients of logistic (unpenalised, by step(), and ridge), linear and Cox regressions with an
# offset in every training set, by glm(), Newton steps, lm() and coxph():
# Rscript offsets.R > offsets_r.csv (R 4.2, survival 3.5). The data are offsets_cases.csv.
library(survival)
d <- read.csv("offsets_cases.csv", stringsAsFactors = TRUE)
cat("model,weighted,fold,name,value\n")
say <- function(model, weighted, fold, values)
  for (name in names(values))
    cat(sprintf('%s,%d,%d,"%s",%.15g\n', model, weighted, fold, name, values[[name]]))
for (weighted in 0:1) for (fold in 0:3) {
  train <- d[d$fold != fold, ]
  train$w <- if (weighted) train$weight else rep(1, nrow(train))
  fit <- suppressWarnings(glm(y ~ x + g + offset(z), binomial, train, weights = w,
    control = glm.control(epsilon = 1e-14, maxit = 200)))
  say("logit", weighted, fold, coef(fit))
  say("backward", weighted, fold, coef(step(fit, trace = 0)))
  # a ridge of C = 1: half the sum of squared coefficients is added to the loss
  ridge <- function(beta) {
    eta <- drop(model.matrix(~ x + g, train) %*% beta) + train$z
    sum(train$w * (log1p(exp(eta)) - train$y * eta)) + sum(beta[-1]^2) / 2
  }
  slope <- function(beta) {
    X <- model.matrix(~ x + g, train)
    r <- train$w * (train$y - plogis(drop(X %*% beta) + train$z))
    -drop(crossprod(X, r)) + c(0, beta[-1])
  }
  beta <- optim(rep(0, 4), ridge, slope, method = "BFGS",
    control = list(reltol = 1e-16, maxit = 1000))$par
  for (step in 1:5) {  # Newton's steps for the last digits
    X <- model.matrix(~ x + g, train)
    p <- plogis(drop(X %*% beta) + train$z)
    beta <- beta - drop(solve(crossprod(X, X * train$w * p * (1 - p)) + diag(c(0, 1, 1, 1)),
      slope(beta)))
  }
  say("ridge", weighted, fold, setNames(beta, c("(Intercept)", "x", "gb", "gc")))
  say("linear", weighted, fold,
    coef(lm(v ~ x + g + offset(z), train, weights = w)))
  for (ties in c("efron", "breslow")) {
    fit <- suppressWarnings(coxph(Surv(time, status) ~ x + g + offset(z), train, weights = w, ties = ties,
      control = coxph.control(eps = 1e-14, iter.max = 100)))
    say(ties, weighted, fold, coef(fit))
    # the risk by time 2 of the first record
    if (!weighted) {
      curve <- survfit(fit, newdata = d[1, ])
      say(ties, weighted, fold, c(risk = 1 - summary(curve, times = 2)$surv))
    }
  }
}
