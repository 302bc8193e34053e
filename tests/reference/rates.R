# Calibration of expected counts, by the regressions of CalibrationCurves::genCalCurve:
# Rscript rates.R > rates_r.csv (R 4.2). The data are counts_cases.csv.
d <- read.csv("counts_cases.csv")
d$mean <- d$days * exp(-4 + 0.4 * d$x)
tight <- glm.control(epsilon = 1e-14, maxit = 100)
cat("group,intercept,slope,oe\n")
for (group in c("all", sort(unique(d$g)))) {
  own <- if (group == "all") d else d[d$g == group, ]
  intercept <- glm(y ~ offset(log(mean)), poisson, own, control = tight)
  slope <- glm(y ~ log(mean), poisson, own, control = tight)
  cat(sprintf("%s,%.15g,%.15g,%.15g\n", group, coef(intercept), coef(slope)[2],
              sum(own$y) / sum(own$mean)))
}
