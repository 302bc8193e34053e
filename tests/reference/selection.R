# Terms that step() and rms::fastbw choose in the training sets of 5 folds, for 50
# outcomes of one table of predictors; each digit of a set stands for a term, in R's
# order. Run: Rscript selection.R, in this directory.
suppressMessages({library(rms); library(splines)})
set.seed(2026)
n <- 150
x <- data.frame(
  a = round(rnorm(n), 2), b = round(rexp(n), 2), c = round(runif(n, 20, 80), 1),
  d = round(rnorm(n), 2), e = rbinom(n, 1, 0.4),
  f = sample(c("u", "v", "w"), n, TRUE, c(0.5, 0.3, 0.2)),
  g = sample(c("no", "yes"), n, TRUE), h = sample(letters[1:4], n, TRUE)
)
x$d <- round(x$d + 0.6 * x$a, 2)  # correlated, so that steps are not independent
x$f <- factor(x$f); x$g <- factor(x$g); x$h <- factor(x$h)
truth <- with(x, 0.5 * a + 0.4 * (b > 1) + 0.02 * (c - 50) * (g == "yes") +
                0.5 * (f == "w") - 0.3 * d)
formulas <- c(
  "a + b + c + d + e + f + g + h",
  "a * g + bs(c, df = 4) + d + f + h",
  "f * g + a + poly(b, 2) + d + e + a:e",
  "a * d * g + bs(b, df = 3) + h + f",
  "c * g + c:f + f + bs(a, df = 3) + d + h"
)
plain <- "a + b + c + d + e + f + g + h"
fold <- (seq_len(n) - 1) %% 5
rows <- list()
for (i in 1:50) {
  linear <- i > 35
  eta <- truth * (i %% 3) / 2
  y <- if (linear) round(eta + rnorm(n), 1) else rbinom(n, 1, plogis(eta - 0.2))
  x[[paste0("y", i)]] <- y
  right <- formulas[(i - 1) %% 5 + 1]
  for (way in c("backward aic", "backward bic", "forward aic", "both aic")) {
    parts <- strsplit(way, " ")[[1]]
    found <- character(5)
    for (k in 0:4) {
      train <- cbind(x[fold != k, 1:8], y = y[fold != k])
      full <- as.formula(paste("y ~", right))
      fitted <- function(what) if (linear) lm(what, train) else
        suppressWarnings(glm(what, binomial, train, epsilon = 1e-12, maxit = 50))
      start <- fitted(if (parts[1] == "forward") y ~ 1 else full)
      start$call$formula <- if (parts[1] == "forward") y ~ 1 else full
      price <- if (parts[2] == "bic") log(nrow(train)) else 2
      step_to <- suppressWarnings(step(start, scope = list(lower = ~1, upper = full),
                      direction = parts[1], k = price, trace = 0))
      every <- attr(terms(full), "term.labels")
      sorted <- function(one) sapply(strsplit(one, ":"), function(p)
        paste(sort(p), collapse = ":"))
      left <- attr(terms(step_to), "term.labels")
      found[k + 1] <- paste0(+(sorted(every) %in% sorted(left)), collapse = "")
    }
    rows[[length(rows) + 1]] <- data.frame(outcome = i, rule = way,
                                           sets = paste(found, collapse = " "))
  }
  found <- character(5)
  for (k in 0:4) {
    train <- cbind(x[fold != k, 1:8], y = y[fold != k])
    fit <- if (linear) ols(as.formula(paste("y ~", plain)), train) else
      lrm(as.formula(paste("y ~", plain)), train, tol = 1e-14, eps = 1e-10, maxit = 50)
    left <- fastbw(fit, rule = "p", type = "individual", sls = 0.157)$names.kept
    found[k + 1] <- paste0(+(strsplit(plain, " \\+ ")[[1]] %in% left), collapse = "")
  }
  rows[[length(rows) + 1]] <- data.frame(outcome = i, rule = "backward p",
                                         sets = paste(found, collapse = " "))
}
write.csv(x, "selection_cases.csv", row.names = FALSE, quote = FALSE)
write.csv(do.call(rbind, rows), "selection_r.csv", row.names = FALSE, quote = FALSE)
