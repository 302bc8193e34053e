# Coefficients, and theta, of Poisson and negative binomial regressions of every
# training set, by glm() and MASS::glm.nb(): Rscript counts.R > counts_r.csv
# (R 4.2, MASS 7.3). The data are counts_cases.csv.
library(MASS)
d <- read.csv("counts_cases.csv", stringsAsFactors = TRUE)
tight <- glm.control(epsilon = 1e-14, maxit = 200)
cat("formula,weighted,fold,model,name,value\n")
say <- function(formula, weighted, fold, model, values) {
  for (name in names(values))
    cat(sprintf('"%s",%d,%d,%s,"%s",%.15g\n', formula, weighted, fold, model, name,
                values[[name]]))
}
formulas <- c("y ~ x + g + offset(log(days))", "y ~ g - 1 + offset(log(days))", "y ~ x + g")
for (text in formulas) for (weighted in 0:1) for (fold in c(0:3, 9)) {
  train <- d[d$fold != fold, ]  # of fold 9 there are none: standard errors of all records
  train$w <- if (weighted) train$weight else rep(1, nrow(train))
  formula <- as.formula(text)
  fit <- glm(formula, poisson, train, weights = w, control = tight)
  if (fold != 9) say(text, weighted, fold, "poisson", coef(fit))
  fit <- glm.nb(formula, train, weights = w, control = tight)
  theta <- fit$theta  # glm.nb() stops at four digits of theta: continue
  for (round in 1:15) {
    # the deviance is flat at its minimum: go on until it changes no more
    fit <- suppressWarnings(glm(formula, negative.binomial(theta), train, weights = w,
      start = coef(fit), control = glm.control(epsilon = 1e-300, maxit = 50)))
    theta <- theta.ml(train$y, fitted(fit), weights = train$w, eps = 1e-13)
  }
  if (fold == 9) {
    say(text, weighted, fold, "se", summary(fit, dispersion = 1)$coefficients[, 2])
  } else say(text, weighted, fold, "negbin", c(coef(fit), theta = theta[[1]]))
}
