# Proportional-odds regressions of every training set, by MASS::polr() and rms::orm(),
# with the probabilities of all held-out records; standard errors and log-likelihoods of
# the fit to all records, and the ordinal C of x by Hmisc::rcorr.cens(): Rscript ordered.R > ordered_r.csv
# (R 4.2, MASS 7.3, rms 6.5). The data are ordered_cases.csv. Class 2 of "rare" is in
# fold 0 alone, so that one training set lacks it. Cut points have the sign of orm().
suppressMessages({library(MASS); library(rms)})
d <- read.csv("ordered_cases.csv", stringsAsFactors = TRUE)
cat("outcome,formula,weighted,fold,by,name,value\n")
say <- function(outcome, formula, weighted, fold, by, values) {
  for (name in names(values))
    cat(sprintf('%s,"%s",%d,%d,%s,"%s",%.12g\n', outcome, formula, weighted, fold, by,
                name, values[[name]]))
}
for (outcome in c("stage", "rare")) for (right in c("x", "x + z + g", "z"))
  for (weighted in 0:1) for (fold in 0:3) {
    train <- d[d$fold != fold, ]
    train$y <- factor(train[[outcome]])
    train$w <- if (weighted) train$weight else rep(1, nrow(train))
    fit <- polr(as.formula(paste("y ~", right)), train, weights = w,
                control = list(reltol = 1e-15, maxit = 1e4))
    # optim() stops early: start again from where it ended
    for (round in 1:3)
      fit <- polr(as.formula(paste("y ~", right)), train, weights = w,
                  start = c(coef(fit), fit$zeta),
                  control = list(reltol = 1e-16, maxit = 1e4))
    cuts <- setNames(-fit$zeta, paste0(">=", levels(train$y)[-1]))
    say(outcome, right, weighted, fold, "polr", c(cuts, coef(fit)))
    test <- d[d$fold == fold, ]
    p <- predict(fit, test, type = "probs")
    say(outcome, right, weighted, fold, "polr", c(p = mean(p[, "1"]), q = sum(p[, "4"]^2)))
    if (!weighted) {
      fit <- orm(as.formula(paste("y ~", right)), train, eps = 1e-12, maxit = 100)
      own <- coef(fit)
      names(own) <- sub("^y(>=.*)$", "\\1", names(own))
      say(outcome, right, weighted, fold, "orm", own)
    }
  }
# standard errors, and the log-likelihoods of both formulas
d$y <- factor(d$stage)
for (right in c("x + z + g", "x + g")) {
  fit <- orm(as.formula(paste("y ~", right)), d, eps = 1e-12, maxit = 100)
  own <- sqrt(diag(vcov(fit, intercepts = "all")))
  names(own) <- sub("^y(>=.*)$", "\\1", names(own))
  say("stage", right, 0, -1, "se", own)
  fit <- polr(as.formula(paste("y ~", right)), d)
  say("stage", right, 0, -1, "polr", c(logLik = as.numeric(logLik(fit))))
}
for (outcome in c("stage", "rare")) {
  pairs <- rcorr.cens(d$x, d[[outcome]])
  say(outcome, "x", 0, -1, "rcorr.cens", c(C = pairs[["C Index"]]))
}
