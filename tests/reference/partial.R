# Partial areas under ROC curves by R's pROC, as reference numbers.
#
#   Rscript tests/reference/partial.R     (from the root of the repository)
#
# Reads delong_cases.csv (made by delong.R) and writes partial_r.csv. Corrected areas
# below chance are NA.

suppressPackageStartupMessages(library(pROC))
here <- "tests/reference"

cases <- read.csv(file.path(here, "delong_cases.csv"))
ranges <- list(c(0.9, 1), c(0.8, 0.95), c(0, 0.33), c(0.412, 0.415), c(0, 1))
rows <- list()
for (k in unique(cases$case)) for (range in ranges)
  for (focus in c("specificity", "sensitivity")) for (corrected in c(FALSE, TRUE)) {
    d <- cases[cases$case == k, ]
    curve <- roc(d$y, d$a, direction = "<", levels = c(0, 1), quiet = TRUE)
    area <- suppressWarnings(
      auc(curve, partial.auc = range, partial.auc.focus = focus,
          partial.auc.correct = corrected))
    rows[[length(rows) + 1]] <- data.frame(
      case = k, low = range[1], high = range[2], focus = focus,
      corrected = as.integer(corrected), area = sprintf("%.17g", as.numeric(area)))
  }
write.csv(do.call(rbind, rows), file.path(here, "partial_r.csv"), row.names = FALSE,
          quote = FALSE)
cat("pROC", as.character(packageVersion("pROC")), "on", R.version.string, "\n")
