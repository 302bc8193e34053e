# A Cox regression of the standard arm of veteran, updated in the other arm.
#
#   Rscript tests/reference/cox_updating.R > tests/reference/cox_updating_r.csv
library(survival)
veteran$celltype <- factor(as.character(veteran$celltype))
old <- coxph(Surv(time, status) ~ karno + age + celltype, veteran[veteran$trt == 1, ])
new <- veteran[veteran$trt == 2, ]
new$lp <- predict(old, new, reference = "zero")
fits <- list(
  intercept = coxph(
    Surv(time, status) ~ lp, new, init = 1, control = coxph.control(iter.max = 0)
  ),
  slope = coxph(Surv(time, status) ~ lp, new),
  refit = coxph(Surv(time, status) ~ karno + age + celltype, new)
)
# the last value is that at the coefficients
loglik <- sapply(fits, function(f) tail(f$loglik, 1))
cat("what,name,value\n")
for (what in c("intercept", "slope")) {
  cat(sprintf("statistic,%s,%.12g\n", what, 2 * (loglik["refit"] - loglik[what])))
}
cat(sprintf("slope,lp,%.12g\n", coef(fits$slope)))
for (name in names(coef(fits$refit))) {
  cat(sprintf("refit,%s,%.12g\n", name, coef(fits$refit)[name]))
}
for (what in names(fits)) {
  curves <- survfit(fits[[what]], newdata = new[1:3, ])
  risks <- 1 - summary(curves, times = c(90, 180), extend = TRUE)$surv
  for (i in 1:3) for (j in 1:2) {
    cat(sprintf("risk of %s,%d at %d,%.12g\n", what, i - 1, c(90, 180)[j], risks[j, i]))
  }
}
