# Metrics of classes by R's caret, and areas of several classes by pROC, as reference
# numbers.
#
#   Rscript tests/reference/classes.R      (from the root of the repository)
#
# Makes classes_cases.csv (seeded) where it is not there, reads it, and writes
# classes_r.csv. The tests read the two files and need no R.
#
# caret gives sensitivity, specificity, both predictive values, F1 and balanced
# accuracy (of each class against the rest, where there are more than two). The
# correlation of Matthews is written out as Gorodkin (2004, eq. 8) has it: covariances
# of indicator matrices, summed over the classes. multiclass.roc is Hand and Till's M
# where the predictor is a matrix; the areas against the rest are roc's.

suppressPackageStartupMessages({
  library(caret)
  library(pROC)
})
here <- "tests/reference"
cases_file <- file.path(here, "classes_cases.csv")

# A record's scores are its class's column raised by `shift`, as probabilities.
make_case <- function(case, sizes, shift, digits) {
  k <- length(sizes)
  y <- sample(rep(seq_len(k) - 1, sizes))
  raised <- matrix(rnorm(length(y) * k), ncol = k)
  raised[cbind(seq_along(y), y + 1)] <- raised[cbind(seq_along(y), y + 1)] + shift
  p <- matrix(NA_real_, length(y), 4)
  p[, seq_len(k)] <- round(exp(raised) / rowSums(exp(raised)), digits)
  data.frame(case = case, y = y, p0 = p[, 1], p1 = p[, 2], p2 = p[, 3], p3 = p[, 4])
}

if (!file.exists(cases_file)) {
  set.seed(2001)
  cases <- rbind(
    make_case("two_balanced",  c(40, 40),         0.8, 6),
    make_case("two_rare",      c(95, 5),          1.0, 6),
    make_case("two_ties",      c(25, 35),         0.6, 1),
    make_case("three",         c(30, 30, 30),     0.9, 6),
    make_case("three_rare",    c(80, 15, 5),      0.7, 6),
    make_case("three_ties",    c(20, 25, 15),     0.8, 1),
    make_case("four",          c(10, 20, 30, 40), 1.2, 6),
    make_case("tiny",          c(2, 1, 3),        1.0, 2),
    make_case("below_half",    c(20, 20, 20),    -0.6, 3)
  )
  write.csv(cases, cases_file, row.names = FALSE, quote = FALSE)
}

row <- function(case, metric, which, value) {
  data.frame(case = case, metric = metric, which = which,
             value = sprintf("%.17g", value))
}

of_classes <- function(case, y, predicted, k) {
  levels <- as.character(seq_len(k) - 1)
  observed <- factor(y, levels)
  predicted <- factor(predicted, levels)
  found <- confusionMatrix(predicted, observed, positive = "1", mode = "everything")
  X <- outer(predicted, levels, "==") + 0
  Y <- outer(observed, levels, "==") + 0
  r_k <- sum(diag(cov(X, Y))) / sqrt(sum(diag(cov(X))) * sum(diag(cov(Y))))
  overall <- rbind(row(case, "accuracy", "", found$overall[["Accuracy"]]),
                   row(case, "matthews", "", r_k))
  if (k == 2) {
    named <- c(sensitivity = "Sensitivity", specificity = "Specificity",
               precision = "Pos Pred Value", npv = "Neg Pred Value", f1 = "F1",
               balanced_accuracy = "Balanced Accuracy")
    return(rbind(overall, do.call(rbind, lapply(names(named), function(n)
      row(case, n, "", found$byClass[[named[[n]]]])))))
  }
  recall <- found$byClass[, "Sensitivity"]
  rbind(overall, row(case, "balanced_accuracy", "", mean(recall)),
        row(case, "f1", seq_len(k) - 1, found$byClass[, "F1"]))
}

of_ranks <- function(case, y, p, k) {
  colnames(p) <- as.character(seq_len(k) - 1)
  M <- multiclass.roc(factor(y, colnames(p)), p, direction = ">")
  one <- sapply(colnames(p), function(class) {
    as.numeric(roc(y == class, p[, class], levels = c(FALSE, TRUE), direction = "<",
                   quiet = TRUE)$auc)
  })
  rbind(row(case, "auroc_hand_till", "", as.numeric(M$auc)),
        row(case, "auroc_ovr", colnames(p), one))
}

cases <- read.csv(cases_file)
rows <- lapply(unique(cases$case), function(case) {
  d <- cases[cases$case == case, ]
  p <- as.matrix(d[, c("p0", "p1", "p2", "p3")])
  p <- p[, !is.na(p[1, ]), drop = FALSE]
  k <- ncol(p)
  predicted <- if (k == 2) (p[, 2] > 0.5) + 0 else max.col(p, "first") - 1
  rbind(of_classes(case, d$y, predicted, k), of_ranks(case, d$y, p, k))
})
write.csv(do.call(rbind, rows), file.path(here, "classes_r.csv"),
          row.names = FALSE, quote = FALSE)
cat("caret", as.character(packageVersion("caret")), "and pROC",
    as.character(packageVersion("pROC")), "on", R.version.string, "\n")
