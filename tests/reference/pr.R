# Areas under precision-recall curves by the interpolation of Davis & Goadrich (2006),
# written out step by step, as reference numbers.
#
#   Rscript tests/reference/pr.R          (from the root of the repository)
#
# Reads delong_cases.csv (made by delong.R) and writes pr_r.csv. It also writes
# pr_uniform.csv, 100 scores of each class from R's generator, whose area the authors'
# own program gives as 0.9018680216532841 (so the tests of the R package PRROC tell).

here <- "tests/reference"

davis_goadrich <- function(y, score) {
  positives <- sum(y == 1)
  area <- 0
  tp <- fp <- 0
  for (threshold in sort(unique(score), decreasing = TRUE)) {
    new_tp <- sum(y == 1 & score >= threshold)
    new_fp <- sum(y == 0 & score >= threshold)
    if (new_tp > tp) {
      slope <- (new_fp - fp) / (new_tp - tp)
      precision <- function(x) {
        if (tp + x + fp == 0) return(new_tp / (new_tp + new_fp))
        (tp + x) / (tp + x + fp + slope * x)
      }
      for (x in seq_len(new_tp - tp)) {
        area <- area + (precision(x - 1) + precision(x)) / 2 / positives
      }
    }
    tp <- new_tp
    fp <- new_fp
  }
  area
}

cases <- read.csv(file.path(here, "delong_cases.csv"))
names_in_order <- unique(cases$case)
numbers <- t(sapply(names_in_order, function(k) {
  d <- cases[cases$case == k, ]
  c(a = davis_goadrich(d$y, d$a), b = davis_goadrich(d$y, d$b))
}))
full <- apply(numbers, 2, function(x) sprintf("%.17g", x))
write.csv(cbind(case = names_in_order, full), file.path(here, "pr_r.csv"),
          row.names = FALSE, quote = FALSE)

set.seed(101)
of_positives <- runif(100, 0.3, 1.0)
of_negatives <- runif(100, 0.0, 0.6)
uniform <- data.frame(y = rep(1:0, each = 100),
                      score = sprintf("%.17g", c(of_positives, of_negatives)))
write.csv(uniform, file.path(here, "pr_uniform.csv"), row.names = FALSE, quote = FALSE)
cat(sprintf("%.16f", davis_goadrich(uniform$y, as.numeric(uniform$score))),
    R.version.string, "\n")
