# Percentile and BCa limits by R's boot, and bootstrap intervals of auROC by pROC, as
# reference numbers.
#
#   Rscript tests/reference/bootstrap.R      (from the root of the repository)
#
# Writes bootstrap_replicates.csv (seeded) and bootstrap_r.csv. The limits are those of
# the same replicates; pROC's are of its own, for the cases of delong_cases.csv.

suppressPackageStartupMessages({library(boot); library(pROC)})
here <- "tests/reference"

limits_of <- function(case, t0, t, influence) {
  n <- length(influence)
  made <- list(t0 = t0, t = matrix(t), R = length(t), call = quote(boot()),
               sim = "ordinary", stype = "i", strata = rep(1, n), data = seq_len(n))
  class(made) <- "boot"
  out <- lapply(c(0.8, 0.9, 0.95), function(level) {
    found <- boot.ci(made, conf = level, type = c("perc", "bca"), L = influence)
    data.frame(case = case, level = level, kind = c("percentile", "bca"),
               lower = c(found$percent[4], found$bca[4]),
               upper = c(found$percent[5], found$bca[5]))
  })
  do.call(rbind, out)
}

set.seed(1987)
replicates <- list()
limits <- list()
for (case in c("ratio", "variance", "mean")) {
  x <- switch(case, ratio = rgamma(25, 2), variance = rexp(30), mean = rnorm(40))
  statistic <- switch(case, ratio = function(x) 1 / mean(x),
                      variance = function(x) mean((x - mean(x))^2), mean = mean)
  t0 <- signif(statistic(x), 8)
  t <- signif(replicate(999, statistic(sample(x, replace = TRUE))), 8)
  left_out <- sapply(seq_along(x), function(i) statistic(x[-i]))
  influence <- signif((length(x) - 1) * (mean(left_out) - left_out), 8)
  limits[[case]] <- limits_of(case, t0, t, influence)
  replicates[[case]] <- data.frame(
    case = case, what = c("value", rep("moved", length(x)), rep("replicate", 999)),
    number = sprintf("%.8g", c(t0, influence, t)))
}
write.csv(do.call(rbind, replicates), file.path(here, "bootstrap_replicates.csv"),
          row.names = FALSE, quote = FALSE)

cases <- read.csv(file.path(here, "delong_cases.csv"))
for (case in c("balanced", "heavy_ties", "imbalanced", "large")) {
  d <- cases[cases$case == case, ]
  found <- ci.auc(roc(d$y, d$a, direction = "<", levels = c(0, 1), quiet = TRUE),
                  method = "bootstrap", boot.n = 20000, boot.stratified = TRUE,
                  progress = "none")
  limits[[case]] <- data.frame(case = case, level = 0.95, kind = "pROC",
                               lower = found[1], upper = found[3])
}
table <- do.call(rbind, limits)
for (column in c("lower", "upper")) table[[column]] <- sprintf("%.17g", table[[column]])
write.csv(table, file.path(here, "bootstrap_r.csv"), row.names = FALSE, quote = FALSE)
cat("boot", as.character(packageVersion("boot")), "pROC",
    as.character(packageVersion("pROC")), "on", R.version.string, "\n")
