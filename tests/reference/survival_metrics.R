# Metrics of censored times by R's survival, riskRegression and mets, as reference
# numbers.
#
#   Rscript tests/reference/survival_metrics.R      (from the root of the repository)
#
# Makes survival_metrics_cases.csv where it is not there, reads it, and writes
# survival_metrics_r.csv. The tests read the two files and need no R.
#
# The cases are records of data sets of R's survival, with predictions of Cox models of
# few covariates, rounded so that some tie. The slope and intercept are those of
# mets::logitIPCW, and the ICI is the weighted mean distance of a loess of the records
# whose status is known, weighted by their inverse probability of being known.

suppressPackageStartupMessages({
  library(survival)
  library(riskRegression)
  library(mets)
})
here <- "tests/reference"
cases_file <- file.path(here, "survival_metrics_cases.csv")

make_case <- function(case, formula, data, times, rows, digits) {
  data <- data[complete.cases(data[all.vars(formula)]), ]
  fit <- coxph(formula, data = data, x = TRUE)
  risk <- predictRisk(fit, newdata = data, times = times)
  y <- model.response(model.frame(formula, data))
  found <- data.frame(
    case = case, time = y[, 1], status = y[, 2],
    lp = round(predict(fit), digits), risk1 = round(risk[, 1], digits),
    risk2 = round(risk[, 2], digits), t1 = times[1], t2 = times[2]
  )
  found[rows, ]
}

if (!file.exists(cases_file)) {
  pbc$dead <- as.numeric(pbc$status == 2)
  cases <- rbind(
    make_case("veteran", Surv(time, status) ~ karno + age + celltype, veteran,
              c(60, 180), 1:137, 2),
    make_case("lung", Surv(time, status) ~ age + sex + ph.ecog, lung,
              c(180, 500), 1:90, 1),
    make_case("pbc", Surv(time, dead) ~ age + log(bili) + edema, pbc,
              c(1000, 3000), seq(1, 312, 3), 3),
    make_case("gbsg", Surv(ceiling(rfstime / 90), status) ~ age + nodes + pgr, gbsg,
              c(8, 20), seq(1, 686, 5), 2)
  )
  cases[grepl("risk", names(cases))] <-
    lapply(cases[grepl("risk", names(cases))], pmin, 0.99)
  cases[grepl("risk", names(cases))] <-
    lapply(cases[grepl("risk", names(cases))], pmax, 0.01)
  write.csv(cases, cases_file, row.names = FALSE, quote = FALSE)
}

# the curve of a loess with one fit at each value
ici <- function(p, time, status, t, weight) {
  known <- weight > 0
  data <- data.frame(p = p, y = as.numeric(time <= t & status == 1), w = weight)
  fit <- loess(y ~ p, data[known, ], weights = w, degree = 2, span = 0.75,
               control = loess.control(surface = "direct"))
  curve <- pmin(pmax(predict(fit, data.frame(p = p)), 0), 1)
  mean(abs(curve - p))
}

cases <- read.csv(cases_file)
rows <- lapply(split(cases, factor(cases$case, unique(cases$case))), function(one) {
  y <- with(one, Surv(time, status))
  times <- c(one$t1[1], one$t2[1])
  risk <- as.matrix(one[c("risk1", "risk2")])
  harrell <- concordance(y ~ one$lp, reverse = TRUE)
  uno <- concordance(y ~ one$lp, reverse = TRUE, timewt = "n/G2")
  scored <- Score(list(cox = risk), formula = Surv(time, status) ~ 1,
                  data = one[c("time", "status")], times = times, cens.model = "km",
                  metrics = c("auc", "brier"), summary = "ipa",
                  conservative = FALSE, se.fit = TRUE)
  auc <- as.data.frame(scored$AUC$score)
  brier <- subset(as.data.frame(scored$Brier$score), model == "cox")
  # trapezoids, where the step function of Score has height 0 up to the first time
  heights <- c(0, brier$Brier)
  integral <- sum(diff(c(0, times)) * (head(heights, -1) + heights[-1]) / 2)
  do.call(rbind, lapply(1:2, function(k) {
    t <- times[k]
    # events come before censorings of the same time
    one$later <- one$time + 1e-6 * (one$status == 0)
    one$logit <- qlogis(risk[, k])
    fit <- logitIPCW(Event(later, status) ~ logit, one, time = t + 1e-5, cause = 1)
    shift <- logitIPCW(Event(later, status) ~ 1, one, time = t + 1e-5, cause = 1,
                       offset = one$logit)
    km <- summary(survfit(y ~ 1), times = t)
    g <- survfit(Surv(later, 1 - status) ~ 1, one)
    before <- stepfun(g$time, c(1, g$surv), right = TRUE)
    w <- ifelse(one$time <= t & one$status == 1, 1 / before(one$time),
                ifelse(one$time > t, 1 / before(t + 1e-5), 0))
    data.frame(
      case = one$case[1], t = t, column = k,
      harrell = harrell$concordance, harrell_se = sqrt(harrell$var),
      uno = uno$concordance,
      auroc = auc$AUC[k], auroc_se = auc$se[k],
      brier = brier$Brier[k], brier_se = brier$se[k],
      brier_skill = brier$IPA[k], integrated_brier = integral / times[2],
      calibration_slope = unname(fit$coef[2]),
      calibration_slope_se = fit$se.coef[2],
      calibration_intercept = unname(shift$coef[1]),
      calibration_intercept_se = shift$se.coef[1],
      oe_ratio = (1 - km$surv) / mean(risk[, k]),
      observed = 1 - km$surv,
      ici = ici(risk[, k], one$time, one$status, t, w)
    )
  }))
})
found <- do.call(rbind, rows)
numbers <- vapply(found, is.numeric, TRUE)
found[numbers] <- lapply(found[numbers], function(one) trimws(formatC(one, digits = 15)))
write.csv(found, file.path(here, "survival_metrics_r.csv"), row.names = FALSE,
          quote = FALSE)
