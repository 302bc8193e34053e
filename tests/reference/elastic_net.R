# Elastic nets by R's glmnet, as reference numbers.
#
#   Rscript tests/reference/elastic_net.R       (from the root of the repository)
#
# Writes elastic_net_cases.csv, the data sets: more records than columns, and fewer; and
# elastic_net_r.csv: coefficients of the training set of each of four given folds at
# three strengths, and twice the cross-validated log-loss (cvm) of cv.glmnet on these
# folds. The tests need no R.

library(glmnet)
set.seed(3)

draw <- function(case, n, p) {
  X <- round(matrix(rnorm(n * p), n) %*% diag(exp(rnorm(p, sd = 0.5))), 3)
  colnames(X) <- paste0("x", seq_len(p))
  y <- rbinom(n, 1, plogis(X[, 1] - X[, 2] + 0.5 * X[, 3]))
  list(case = case, X = X, y = y, fold = rep(1:4, length.out = n))
}
cases <- list(draw("long", 80, 8), draw("wide", 40, 60))
strengths <- c(0.1, 0.05, 0.02)

of_case <- function(one, alpha) {
  path <- exp(seq(log(0.4), log(0.005), length.out = 60))
  path <- sort(unique(c(path, strengths)), decreasing = TRUE)
  control <- list(alpha = alpha, family = "binomial", lambda = path, thresh = 1e-16)
  fit <- function(rows) {
    do.call(glmnet, c(list(one$X[rows, ], one$y[rows], maxit = 1e7), control))
  }
  table <- NULL
  for (fold in 1:4) {
    found <- as.matrix(coef(fit(one$fold != fold), s = strengths))
    table <- rbind(table, data.frame(
      case = one$case, alpha = alpha, fold = fold,
      lambda = rep(strengths, each = nrow(found)),
      name = rep(rownames(found), ncol(found)), value = as.vector(found)))
  }
  crossed <- do.call(cv.glmnet, c(list(one$X, one$y, foldid = one$fold, maxit = 1e7), control))
  rbind(table, data.frame(
    case = one$case, alpha = alpha, fold = 0, lambda = strengths, name = "cvm",
    value = crossed$cvm[match(strengths, crossed$lambda)]))
}
table <- NULL
for (one in cases) for (alpha in c(0.5, 1)) table <- rbind(table, of_case(one, alpha))
table <- table[table$value != 0, ]
table$value <- signif(table$value, 12)
write.csv(table, "tests/reference/elastic_net_r.csv", row.names = FALSE, quote = FALSE)

tidy <- function(one) {
  data.frame(case = one$case, row = seq_along(one$y), y = one$y, fold = one$fold,
             values = apply(one$X, 1, paste, collapse = " "))
}
written <- do.call(rbind, lapply(cases, tidy))
write.csv(written, "tests/reference/elastic_net_cases.csv", row.names = FALSE, quote = FALSE)
