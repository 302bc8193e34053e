# Calibration, Brier parts and net benefit by R's glm, loess, Hmisc and sandwich.
#
#   Rscript tests/reference/calibration.R      (from the root of the repository)
#
# Writes calibration_cases.csv (seeded): outcome, probability and cluster of records;
# and calibration_r.csv: a number a line, named by case and by what it is. The tests
# need no R. What no package at hand computes is written out from its definition.

suppressPackageStartupMessages({
  library(Hmisc)
  library(sandwich)
})
set.seed(1958)

draw <- function(case, n, shift, slope, spread, digits) {
  cluster <- sort(sample(ceiling(n / 3), n, replace = TRUE))
  lp <- shift + spread * (0.6 * rnorm(max(cluster))[cluster] + 0.8 * rnorm(n))
  y <- rbinom(n, 1, plogis(slope * lp + 0.7 * rnorm(max(cluster))[cluster]))
  data.frame(case = case, y = y, p = round(plogis(lp), digits), cluster = cluster)
}
cases <- rbind(
  draw("calibrated",    200,  0.0, 1.0, 1.0, 6),
  draw("overfitted",    150, -0.5, 0.4, 2.0, 6),
  draw("rare",          300, -3.0, 1.0, 0.8, 8),
  draw("tied",          120,  0.0, 0.8, 1.0, 1),
  draw("small",          25,  0.0, 0.7, 1.0, 4)
)
cases <- cases[cases$p > 0 & cases$p < 1, ]
write.csv(cases, "tests/reference/calibration_cases.csv", row.names = FALSE,
          quote = FALSE)

exact <- glm.control(epsilon = 1e-14, maxit = 200)
# Once more from its own coefficients, so that the weights are those of the last step
fit_of <- function(...) {
  first <- glm(..., family = binomial, control = exact)
  glm(..., family = binomial, control = exact, start = coef(first))
}
z <- qnorm(0.975)

profile_limits <- function(loss_at, best, se, loss) {
  excess <- function(value) loss_at(value) - loss - qchisq(0.95, 1)
  c(uniroot(excess, best - se * c(4, 1), tol = 1e-14)$root,
    uniroot(excess, best + se * c(1, 4), tol = 1e-14)$root)
}

coefficients_of <- function(d) {
  lp <- qlogis(d$p)
  held <- fit_of(y ~ offset(lp), data = d)
  joint <- fit_of(y ~ lp, data = d)
  wald <- rbind(confint.default(joint), confint.default(held))
  se <- sqrt(c(diag(vcov(joint)), vcov(held)))
  cl <- sqrt(c(diag(vcovCL(joint, d$cluster)), vcovCL(held, d$cluster)))
  slopes <- profile_limits(function(b) {
    deviance(glm(y ~ offset(b * lp), binomial, d, control = exact))
  }, coef(joint)[2], se[2], deviance(joint))
  joints <- profile_limits(function(a) {
    deviance(glm(y ~ 0 + lp + offset(rep(a, length(lp))), binomial, d,
                 control = exact))
  }, coef(joint)[1], se[1], deviance(joint))
  intercepts <- profile_limits(function(a) {
    -2 * sum(dbinom(d$y, 1, plogis(a + lp), log = TRUE))
  }, coef(held)[1], se[3], deviance(held))
  ratio <- sum(d$y) / sum(d$p)
  residual <- d$y - ratio * d$p
  spread <- function(code) {
    sums <- tapply(residual, code, sum)
    sqrt(sum(sums^2) * length(sums) / (length(sums) - 1)) / sum(d$y)
  }
  one <- spread(seq_along(d$y))
  grouped <- spread(d$cluster)
  out <- c(joint_intercept = coef(joint)[[1]], slope = coef(joint)[[2]],
           intercept = coef(held)[[1]])
  names3 <- names(out)
  c(out, setNames(se, paste0(names3, "_se")),
    setNames(wald[, 1], paste0(names3, "_lower")),
    setNames(wald[, 2], paste0(names3, "_upper")),
    setNames(cl, paste0(names3, "_cluster_se")),
    slope_profile_lower = slopes[1], slope_profile_upper = slopes[2],
    joint_intercept_profile_lower = joints[1],
    joint_intercept_profile_upper = joints[2],
    intercept_profile_lower = intercepts[1],
    intercept_profile_upper = intercepts[2],
    observed_expected = ratio,
    observed_expected_lower = ratio * exp(-z * one),
    observed_expected_upper = ratio * exp(z * one),
    observed_expected_cluster_lower = ratio * exp(-z * grouped),
    observed_expected_cluster_upper = ratio * exp(z * grouped))
}

at_points <- function(d) quantile(d$p, c(0, 0.2, 0.5, 0.9, 1), names = FALSE)
named <- function(what, values) setNames(values, paste0(what, seq_along(values)))

spline_of <- function(d, nk) {
  lp <- qlogis(d$p)
  outer <- if (nk == 3) 0.1 else 0.05
  knots <- quantile(lp, seq(outer, 1 - outer, length = nk), names = FALSE)
  if (any(diff(knots) == 0)) return(NULL)
  basis <- function(x) rcspline.eval(x, knots, inclx = TRUE)
  fit <- fit_of(d$y ~ basis(lp))
  drawn <- cbind(1, basis(qlogis(at_points(d))))
  eta <- drop(drawn %*% coef(fit))
  band <- function(v) sqrt(rowSums((drawn %*% v) * drawn))
  off <- abs(fitted(fit) - d$p)
  what <- paste0("spline", nk)
  c(named(paste0(what, "_curve"), plogis(eta)),
    named(paste0(what, "_lower"), plogis(eta - z * band(vcov(fit)))),
    named(paste0(what, "_upper"), plogis(eta + z * band(vcov(fit)))),
    named(paste0(what, "_cluster_lower"),
          plogis(eta - z * band(vcovCL(fit, d$cluster)))),
    setNames(c(mean(off), quantile(off, c(0.5, 0.9)), max(off)),
             paste0(what, c("_ici", "_e50", "_e90", "_emax"))))
}

loess_of <- function(d) {
  fit <- loess(y ~ p, d, span = 0.75, degree = 2,
               control = loess.control(surface = "direct"))
  off <- abs(pmin(pmax(predict(fit, d), 0), 1) - d$p)
  c(named("loess_curve", predict(fit, data.frame(p = at_points(d)))),
    loess_ici = mean(off), loess_e50 = quantile(off, 0.5, names = FALSE))
}

brier_of <- function(d, code, what) {
  n <- tapply(d$y, code, length)
  o <- tapply(d$y, code, mean)
  f <- tapply(d$p, code, mean)
  k <- match(code, names(n))
  within <- c(mean((d$p - f[k])^2), 2 * mean((d$p - f[k]) * (d$y - o[k])))
  out <- c(reliability = sum(n * (f - o)^2) / sum(n),
           resolution = sum(n * (o - mean(d$y))^2) / sum(n),
           uncertainty = mean(d$y) * (1 - mean(d$y)),
           within_variance = within[1], within_covariance = within[2])
  if (all(n > 1)) {
    excess <- sum(n * o * (1 - o) / (n - 1)) / sum(n)
    lack <- mean(d$y) * (1 - mean(d$y)) / (nrow(d) - 1)
    out <- c(out, corrected_reliability = out[["reliability"]] - excess,
             corrected_resolution = out[["resolution"]] - excess + lack,
             corrected_uncertainty = out[["uncertainty"]] + lack)
  }
  setNames(out, paste0(what, names(out)))
}

groups_of <- function(d) {
  edges <- quantile(d$p, 1:3 / 4, type = 1, names = FALSE)
  code <- findInterval(d$p, edges, left.open = TRUE)
  wilson <- sapply(split(d$y, code), function(y) {
    suppressWarnings(prop.test(sum(y), length(y), correct = FALSE)$conf.int)
  })
  c(named("groups_observed", tapply(d$y, code, mean)),
    named("groups_lower", wilson[1, ]), named("groups_upper", wilson[2, ]),
    named("groups_predicted", tapply(d$p, code, mean)),
    brier_of(d, code, "groups_"), brier_of(d, d$p, "values_"))
}

decision_of <- function(d, cut) {
  odds <- cut / (1 - cut)
  worth <- ifelse(d$y == 1, 1, -odds)
  treated <- d$p >= cut
  model <- lm(worth * treated ~ 1)
  gain <- lm(worth * (treated - 1) ~ 1)
  rate <- function(class) mean(treated[d$y == class])
  wide <- function(class) rate(class) * (1 - rate(class)) / (sum(d$y == class) - 1)
  other <- 0.2
  out <- c(net_benefit = coef(model)[[1]], se = sqrt(vcov(model)),
           cluster_se = sqrt(vcovCL(model, d$cluster, type = "HC0")),
           treat_all = mean(worth), over_all = coef(gain)[[1]],
           over_all_se = sqrt(vcov(gain)),
           over_all_cluster_se = sqrt(vcovCL(gain, d$cluster, type = "HC0")),
           standardized = coef(model)[[1]] / mean(d$y),
           avoided = coef(gain)[[1]] / odds * 100,
           other_net_benefit = other * rate(1) - (1 - other) * odds * rate(0),
           other_se = sqrt(other^2 * wide(1) + ((1 - other) * odds)^2 * wide(0)))
  setNames(out, paste0("at", cut, "_", names(out)))
}

spiegelhalter_of <- function(d) {
  z <- sum((d$y - d$p) * (1 - 2 * d$p)) /
    sqrt(sum((1 - 2 * d$p)^2 * d$p * (1 - d$p)))
  c(spiegelhalter = z, spiegelhalter_p = 2 * pnorm(-abs(z)))
}

tidy <- function(d) {
  values <- c(coefficients_of(d), spline_of(d, 3), spline_of(d, 4), spline_of(d, 5),
              loess_of(d), groups_of(d), spiegelhalter_of(d),
              decision_of(d, 0.1), decision_of(d, 0.3))
  data.frame(case = d$case[1], what = names(values), value = values)
}
table <- do.call(rbind, lapply(split(cases, cases$case), tidy))
table$value <- sprintf("%.17g", table$value)
write.csv(table, "tests/reference/calibration_r.csv", row.names = FALSE, quote = FALSE)
cat("Hmisc", as.character(packageVersion("Hmisc")), "sandwich",
    as.character(packageVersion("sandwich")), "on", R.version.string, "\n")
