# DeLong's interval and paired test by R's pROC, as reference numbers.
#
#   Rscript tests/reference/delong.R      (from the root of the repository)
#
# Makes delong_cases.csv (seeded) where it is not there, reads it, and writes
# delong_r.csv. The tests read the two files and need no R.

suppressPackageStartupMessages(library(pROC))
here <- "tests/reference"
cases_file <- file.path(here, "delong_cases.csv")

make_case <- function(case, n_negative, n_positive, shift_a, shift_b, rho, digits) {
  y <- sample(rep(0:1, c(n_negative, n_positive)))
  common <- rnorm(length(y))
  noise <- function() sqrt(rho) * common + sqrt(1 - rho) * rnorm(length(y))
  data.frame(case = case, y = y,
             a = round(shift_a * y + noise(), digits),
             b = round(shift_b * y + noise(), digits))
}

if (!file.exists(cases_file)) {
  set.seed(1988)
  cases <- rbind(
    make_case("balanced",     50,  50,  1.0,  0.6, 0.5, 6),
    make_case("heavy_ties",   40,  30,  1.0,  0.5, 0.4, 0),
    make_case("some_ties",    60,  45,  0.7,  0.9, 0.6, 1),
    make_case("imbalanced",  195,   5,  1.2,  0.4, 0.3, 4),
    make_case("rare_negative", 6,  94,  0.8,  0.8, 0.2, 2),
    make_case("tiny",          3,   4,  0.8,  0.2, 0.3, 3),
    make_case("below_half",   30,  30, -0.7,  0.5, 0.0, 4),
    make_case("near_perfect", 25,  25,  3.5,  2.0, 0.2, 5),
    make_case("large",       300, 200,  0.5,  0.6, 0.8, 8)
  )
  write.csv(cases, cases_file, row.names = FALSE, quote = FALSE)
}

reference <- function(d) {
  curve <- function(score) {
    roc(d$y, score, direction = "<", levels = c(0, 1), quiet = TRUE)
  }
  a <- curve(d$a)
  b <- curve(d$b)
  ci_a <- as.numeric(ci.auc(a, method = "delong"))
  ci_b <- as.numeric(ci.auc(b, method = "delong"))
  test <- roc.test(a, b, method = "delong", paired = TRUE)
  c(auc_a = ci_a[2], se_a = sqrt(var(a, method = "delong")),
    lower_a = ci_a[1], upper_a = ci_a[3],
    auc_b = ci_b[2], se_b = sqrt(var(b, method = "delong")),
    lower_b = ci_b[1], upper_b = ci_b[3],
    covariance = cov(a, b, method = "delong"),
    statistic = unname(test$statistic), p_value = test$p.value,
    lower = test$conf.int[1], upper = test$conf.int[2])
}

cases <- read.csv(cases_file)
names_in_order <- unique(cases$case)
numbers <- t(sapply(names_in_order, function(k) reference(cases[cases$case == k, ])))
full <- apply(numbers, 2, function(x) sprintf("%.17g", x))
write.csv(cbind(case = names_in_order, full), file.path(here, "delong_r.csv"),
          row.names = FALSE, quote = FALSE)
cat("pROC", as.character(packageVersion("pROC")), "on", R.version.string, "\n")
