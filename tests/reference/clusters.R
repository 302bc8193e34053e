# Standard errors of the fit to all records that allow for clusters, by rms::robcov(),
# survival::coxph(cluster =) and, of counts, sandwich::vcovCL() without a correction:
# Rscript clusters.R > clusters_r.csv (R 4.2, rms 6.5, survival 3.5, sandwich 3.0). The
# data are clusters_cases.csv.
suppressMessages({library(rms); library(survival); library(sandwich); library(MASS)})
d <- read.csv("clusters_cases.csv", stringsAsFactors = TRUE)
cat("model,place,se\n")
say <- function(model, v)
  cat(sprintf("%s,%d,%.12g\n", model, seq_len(nrow(v)) - 1, sqrt(diag(v))), sep = "")
cl <- function(fit) vcovCL(fit, d$id, type = "HC0", cadjust = FALSE)
say("logistic", vcov(robcov(lrm(y ~ x + g + z, d, x = TRUE, y = TRUE, eps = 1e-12), d$id)))
say("linear", vcov(robcov(ols(c ~ x + g + z, d, x = TRUE, y = TRUE), d$id)))
say("poisson", cl(glm(n ~ x + g + z, poisson, d, epsilon = 1e-14)))
say("negative_binomial", cl(glm.nb(n ~ x + g + z, d, epsilon = 1e-14)))
say("cox", vcov(coxph(Surv(t, s) ~ x + g + z, d, cluster = id, eps = 1e-12,
                      toler.chol = 1e-13)))
say("cox_strata", vcov(coxph(Surv(t, s) ~ x + g + z + strata(hosp), d, cluster = id,
                             eps = 1e-12, toler.chol = 1e-13)))
fit <- robcov(lrm(k ~ x + z, d, x = TRUE, y = TRUE, eps = 1e-12), d$id)
say("ordered", vcov(fit))
