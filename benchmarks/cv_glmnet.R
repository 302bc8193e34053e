# Cross-validation of a path of ridge penalties by glmnet::cv.glmnet:
#     Rscript cv_glmnet.R records.csv penalties.csv thresh
# prints the seconds it took and the log-loss of each penalty. The records have the
# outcome y, the number of their fold, and covariates.
suppressPackageStartupMessages(library(glmnet))
given <- commandArgs(trailingOnly = TRUE)
records <- read.csv(given[1])
penalties <- read.csv(given[2])$lambda
x <- as.matrix(records[, setdiff(names(records), c("y", "fold"))])
taken <- system.time({
  made <- cv.glmnet(x, records$y, family = "binomial", alpha = 0, lambda = penalties,
                    foldid = records$fold, standardize = FALSE, keep = TRUE,
                    thresh = as.numeric(given[3]))
})
eta <- made$fit.preval[, seq_along(penalties)]
sign <- ifelse(records$y == 1, 1, -1)
losses <- colMeans(log1p(exp(-sign * eta)))
cat(format(c(taken[["elapsed"]], losses), digits = 17))
