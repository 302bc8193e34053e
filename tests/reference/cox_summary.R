# What summary(coxph) says of coefficients, with heavy ties:
#   Rscript cox_summary.R
# reads cox_cases.csv and writes cox_summary_r.csv.
library(survival)

cases <- read.csv("cox_cases.csv")
cases$b <- factor(cases$b)
control <- coxph.control(eps = 1e-13, toler.chol = 1e-14, iter.max = 100)
out <- list()
for (ties in c("efron", "breslow")) {
  fit <- coxph(Surv(time, status) ~ a + b + c, cases, ties = ties, control = control)
  made <- summary(fit)$coefficients
  limits <- confint(fit)
  out[[ties]] <- data.frame(
    ties = ties, term = rownames(made), estimate = made[, "coef"],
    std.error = made[, "se(coef)"], statistic = made[, "z"],
    p.value = made[, "Pr(>|z|)"], conf.low = limits[, 1], conf.high = limits[, 2])
}
out <- do.call(rbind, out)
out[3:8] <- lapply(out[3:8], function(x) sprintf("%.12g", x))
write.csv(out, "cox_summary_r.csv", row.names = FALSE, quote = FALSE)
