# Cox regressions with strata(g) of survival::coxph in every training set, with ties:
#   Rscript cox_strata.R
# reads cox_cases.csv, of which g is the stratum, and writes cox_strata_r.csv:
# coefficients, and the cumulative hazard of each stratum at covariates of 0 by times 2
# and 5, of each fit of leave-one-out, of ten folds, and of 20 bootstrap samples, which
# cox_strata_samples.csv has; and the log partial likelihood of each.
library(survival)

cases <- read.csv("cox_cases.csv")
cases$g <- c("u", "v", "w")[1 + (seq_len(nrow(cases)) - 1) %/% 4 %% 3]
set.seed(5)
samples <- replicate(20, sample(nrow(cases), replace = TRUE))
write.csv(t(samples) - 1, "cox_strata_samples.csv", row.names = FALSE, quote = FALSE)
control <- coxph.control(eps = 1e-14, toler.chol = 1e-13, iter.max = 100, outer.max = 50)
plain <- Surv(time, status) ~ a + b + c + strata(g)
penalised <- Surv(time, status) ~ ridge(a, b, c, theta = 2, scale = FALSE) + strata(g)

hazards <- function(beta, train, ties) {
  # no step from these coefficients: only the baselines are computed
  fit <- coxph(plain, train, ties = ties, init = beta, iter = 0, weights = own)
  base <- basehaz(fit, centered = FALSE)
  unlist(lapply(c("u", "v", "w"), function(g) {
    at <- base[grepl(g, base$strata), ]
    sapply(c(2, 5), function(h) max(0, at$hazard[at$time <= h]))
  }))
}

out <- list()
for (setting in c("efron", "breslow", "efron weighted", "efron ridge")) {
  ties <- sub(" .*", "", setting)
  formula <- if (grepl("ridge", setting)) penalised else plain
  for (scheme in c("loocv", "kfold", "bootstrap")) {
    fits <- switch(scheme,
      loocv = lapply(seq_len(nrow(cases)), function(i) -i),
      kfold = lapply(sort(unique(cases$fold)), function(f) which(cases$fold != f)),
      bootstrap = lapply(1:20, function(b) samples[, b]))
    for (one in seq_along(fits)) {
      train <- cases[fits[[one]], ]
      train$own <- if (grepl("weighted", setting)) train$weight else 1
      fit <- suppressWarnings(
        coxph(formula, train, ties = ties, control = control, weights = own))
      beta <- unname(coef(fit))
      h <- hazards(beta, train, ties)
      out[[length(out) + 1]] <- data.frame(
        setting = setting, scheme = scheme, fit = one,
        a = beta[1], b = beta[2], c = beta[3],
        u2 = h[1], u5 = h[2], v2 = h[3], v5 = h[4], w2 = h[5], w5 = h[6],
        loglik = if (formula == plain) fit$loglik[2] else NA)
    }
  }
}
out <- do.call(rbind, out)
out[4:13] <- lapply(out[4:13], function(x) sprintf("%.12g", x))
write.csv(out, "cox_strata_r.csv", row.names = FALSE, quote = FALSE)
