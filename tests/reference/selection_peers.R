# Terms that nnet::multinom with step() chooses in the training sets of 5 folds, for six
# outcomes of three classes, and those that abe 5.1.2 chooses in given subsamples, for an
# outcome of two classes and a continuous one, of selection_cases.csv; each digit of a
# set stands for a term, in the formula's order.
# Run: Rscript selection_peers.R abe/R/abe.R, in this directory.
suppressMessages({library(nnet); library(foreach); library(survival)})
source(commandArgs(TRUE)[1])
x <- read.csv("selection_cases.csv", stringsAsFactors = TRUE)
n <- nrow(x)
fold <- (seq_len(n) - 1) %% 5

names(x)[1:8] <- paste0("term", 1:8)  # abe finds terms by parts of their names
rows <- list()
for (outcome in c("y2", "y40")) {
  x$y <- x[[outcome]]
  full <- as.formula(paste("y ~", paste0("term", 1:8, collapse = " + ")))
  fit <- if (outcome == "y40") lm(full, x, x = TRUE, y = TRUE) else
    glm(full, binomial, x, x = TRUE, y = TRUE)
  invisible(capture.output(found <- abe.resampling(
    fit, data = x, tau = Inf, exact = TRUE, criterion = "AIC", type.factor = "factor",
    num.resamples = 50, type.resampling = "subsampling", prop.sampling = 0.8, seed = 1)))
  used <- found$coefficients != 0 & !is.na(found$coefficients)
  for (i in seq_len(nrow(used))) {
    inside <- sapply(1:8, function(k)
      any(used[i, startsWith(colnames(used), paste0("term", k))]))
    held <- setdiff(seq_len(n), found$id$id.models[i, ]) - 1
    rows[[length(rows) + 1]] <- data.frame(
      outcome = outcome, held_out = paste(held, collapse = " "),
      set = paste0(+inside, collapse = ""))
  }
}
write.csv(do.call(rbind, rows), "selection_abe_r.csv", row.names = FALSE)

set.seed(2027)
rows <- list()
for (i in 1:6) {
  eta <- cbind(0, 0.5 * i / 3 * x$term1 - 0.3, 0.4 * x$term4 + (x$term6 == "w") * i / 4)
  y <- apply(exp(eta), 1, function(p) sample(3, 1, prob = p))
  found <- sapply(0:4, function(k) {
    train <<- cbind(x[fold != k, 1:8], y = factor(y[fold != k]))
    fit <- multinom(y ~ term1 + term2 + term3 + term4 + term5 + term6, train,
                    abstol = 0, reltol = 1e-13, maxit = 2000, trace = FALSE)
    fit <- step(fit, trace = 0, direction = "backward")
    left <- attr(terms(fit), "term.labels")
    paste0(+(paste0("term", 1:6) %in% left), collapse = "")
  })
  rows[[i]] <- data.frame(outcome = i, classes = paste(y, collapse = ""),
                          sets = paste(found, collapse = " "))
}
write.csv(do.call(rbind, rows), "selection_classes_r.csv", row.names = FALSE)
