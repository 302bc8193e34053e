# Sensitivity at given specificities with bootstrap limits by R's pROC, as reference
# numbers.
#
#   Rscript tests/reference/bands.R       (from the root of the repository)
#
# Reads delong_cases.csv (made by delong.R) and writes bands_r.csv (seeded; about a
# minute). The limits come from 10 000 samples, so they agree up to Monte Carlo error.

suppressPackageStartupMessages(library(pROC))
here <- "tests/reference"

cases <- read.csv(file.path(here, "delong_cases.csv"))
specificities <- c(0.1, 0.5, 0.75, 0.9)
set.seed(499)
rows <- list()
for (k in c("balanced", "heavy_ties", "imbalanced", "near_perfect")) {
  d <- cases[cases$case == k, ]
  curve <- roc(d$y, d$a, direction = "<", levels = c(0, 1), quiet = TRUE)
  limits <- ci.se(curve, specificities = specificities, conf.level = 0.9,
                  boot.n = 10000, progress = "none")
  found <- coords(curve, specificities, input = "specificity", ret = "sensitivity",
                  transpose = FALSE)$sensitivity
  rows[[k]] <- data.frame(case = k, specificity = specificities, lower = limits[, 1],
                          estimate = found, upper = limits[, 3])
}
table <- do.call(rbind, rows)
for (column in c("lower", "estimate", "upper")) {
  table[[column]] <- sprintf("%.17g", table[[column]])
}
write.csv(table, file.path(here, "bands_r.csv"), row.names = FALSE, quote = FALSE)
cat("pROC", as.character(packageVersion("pROC")), "on", R.version.string, "\n")
