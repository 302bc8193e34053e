# Random-effects meta-analysis by R's metafor, as reference numbers.
#
#   Rscript tests/reference/meta.R      (from the root of the repository)
#
# Reads meta_cases.csv (made here, seeded, where it is not there), and writes
# meta_r.csv. The tests read the two files and need no R.

suppressPackageStartupMessages(library(metafor))
here <- "tests/reference"
cases_file <- file.path(here, "meta_cases.csv")

make_case <- function(case, k, mean, tau, low, high) {
  se <- round(runif(k, low, high), 4)
  data.frame(case = case, estimate = round(rnorm(k, mean, sqrt(tau^2 + se^2)), 5),
             se = se)
}

if (!file.exists(cases_file)) {
  set.seed(1986)
  cases <- rbind(
    make_case("heterogeneous", 12, 0.70, 0.10, 0.02, 0.08),
    make_case("alike",         10, 0.05, 0.00, 0.03, 0.09),
    make_case("two",            2, 0.10, 0.20, 0.05, 0.06),
    make_case("three",          3, 0.10, 0.05, 0.02, 0.10),
    make_case("one_precise",    6, 0.00, 0.05, 0.05, 0.20),
    make_case("many",          60, 0.80, 0.03, 0.01, 0.05)
  )
  cases$se[cases$case == "one_precise"][1] <- 0.001
  write.csv(cases, cases_file, row.names = FALSE, quote = FALSE)
}

exact <- list(threshold = 1e-15, maxiter = 10000)
reference <- function(d, method, test) {
  control <- if (method == "REML") exact else list()
  fit <- suppressWarnings(rma(d$estimate, sei = d$se, method = method, test = test,
                              control = control))
  p <- predict(fit)
  c(estimate = as.numeric(fit$beta), se = fit$se, lower = fit$ci.lb,
    upper = fit$ci.ub, tau2 = fit$tau2, i2 = fit$I2 / 100, q = fit$QE,
    p_heterogeneity = fit$QEp, prediction_lower = p$pi.lb, prediction_upper = p$pi.ub)
}

cases <- read.csv(cases_file)
settings <- expand.grid(case = unique(cases$case), method = c("REML", "DL"),
                        test = c("knha", "z"), stringsAsFactors = FALSE)
numbers <- t(mapply(function(case, method, test) {
  reference(cases[cases$case == case, ], method, test)
}, settings$case, settings$method, settings$test))
full <- apply(numbers, 2, function(x) sprintf("%.17g", x))
write.csv(cbind(settings, full), file.path(here, "meta_r.csv"),
          row.names = FALSE, quote = FALSE)
cat("metafor", as.character(packageVersion("metafor")), "on", R.version.string, "\n")
