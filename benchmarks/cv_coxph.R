# Leave-one-out of a Cox regression by a loop over survival::coxph:
#     Rscript cv_coxph.R records.csv eps
# prints the seconds it took and the coefficients, those of the first fit first.
library(survival)
given <- commandArgs(trailingOnly = TRUE)
records <- read.csv(given[1])
control <- coxph.control(eps = as.numeric(given[2]), iter.max = 50)
taken <- system.time({
  fits <- sapply(seq_len(nrow(records)), function(i)
    coef(coxph(Surv(time, status) ~ ., records[-i, ], control = control)))
})
cat(format(c(taken[["elapsed"]], fits), digits = 17))
