# Terms that step() and rms::fastbw choose for Cox regressions in the training sets of 5
# folds, for 20 outcomes with the predictors of selection_cases.csv, and tests of terms
# in all records by anova(); each digit of a set stands for a term, in R's order. Times
# are tied; the price of "bic" is the logarithm of the number of events, as of BIC().
# Run: Rscript cox_selection.R, in this directory.
suppressMessages({library(rms); library(splines)})
set.seed(2031)
x <- read.csv("selection_cases.csv", stringsAsFactors = TRUE)[1:8]
n <- nrow(x)
truth <- with(x, 0.5 * a + 0.4 * (b > 1) + 0.02 * (c - 50) * (g == "yes") +
                0.5 * (f == "w") - 0.3 * d)
formulas <- c(
  "a + b + c + d + e + f + g + h",
  "a * g + bs(c, df = 4) + d + f + h",
  "f * g + a + poly(b, 2) + d + e + a:e",
  "c * g + c:f + f + bs(a, df = 3) + d + h"
)
plain <- "a + b + c + d + e + f + g + h"
fold <- (seq_len(n) - 1) %% 5
control <- coxph.control(eps = 1e-13, iter.max = 60, toler.chol = 1e-13)
rows <- list(); tests <- list(); out <- list()
digits <- function(every, left) {
  sorted <- function(one) sapply(strsplit(one, ":"), function(p)
    paste(sort(p), collapse = ":"))
  paste0(+(sorted(every) %in% sorted(left)), collapse = "")
}
for (i in 1:20) {
  time <- rexp(n, exp(truth * (i %% 3) / 2)); censored <- rexp(n, 0.5)
  x$time <- ceiling(8 * pmin(time, censored)); x$status <- +(time <= censored)
  out[[paste0("y", i)]] <- ifelse(x$status == 1, x$time, -x$time)
  ties <- if (i %% 4 == 0) "breslow" else "efron"
  right <- formulas[(i - 1) %% 4 + 1]
  full <- as.formula(paste("Surv(time, status) ~", right))
  every <- attr(terms(full), "term.labels")
  for (way in c("backward aic", "backward bic", "forward aic", "both aic")) {
    parts <- strsplit(way, " ")[[1]]
    found <- sapply(0:4, function(k) {
      train <<- x[fold != k, ]
      what <- if (parts[1] == "forward") Surv(time, status) ~ 1 else full
      start <- suppressWarnings(coxph(what, train, ties = ties, control = control))
      start$call$formula <- what; start$call$ties <- ties
      price <- if (parts[2] == "bic") log(sum(train$status)) else 2
      left <- suppressWarnings(step(start, scope = list(lower = ~1, upper = full),
                                    direction = parts[1], k = price, trace = 0))
      digits(every, attr(terms(left), "term.labels"))
    })
    rows[[length(rows) + 1]] <- data.frame(outcome = i, ties = ties, rule = way,
                                           sets = paste(found, collapse = " "))
  }
  found <- sapply(0:4, function(k) {
    train <<- x[fold != k, ]
    fit <- cph(as.formula(paste("Surv(time, status) ~", plain)), train, method = ties,
               eps = 1e-10, iter.max = 50, tol = 1e-14)
    left <- fastbw(fit, rule = "p", type = "individual", sls = 0.157)$names.kept
    digits(strsplit(plain, " \\+ ")[[1]], left)
  })
  rows[[length(rows) + 1]] <- data.frame(outcome = i, ties = ties, rule = "backward p",
                                         sets = paste(found, collapse = " "))
  if (i <= 8) {
    fit <- coxph(full, x, ties = ties, control = control)
    found <- suppressWarnings(drop1(fit, test = "Chisq"))[-1, ]
    tests[[i]] <- data.frame(outcome = i, ties = ties, term = rownames(found),
                             df = found$Df, lr = sprintf("%.12g", found$LRT),
                             p = sprintf("%.12g", found$`Pr(>Chi)`))
  }
}
write.csv(as.data.frame(out), "cox_selection_cases.csv", row.names = FALSE, quote = FALSE)
write.csv(do.call(rbind, rows), "cox_selection_r.csv", row.names = FALSE, quote = FALSE)
write.csv(do.call(rbind, tests), "cox_drop1_r.csv", row.names = FALSE)
