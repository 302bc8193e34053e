# DeLong's unpaired test by R's pROC, and the test that three areas are equal from
# pROC's covariances (DeLong, DeLong & Clarke-Pearson 1988, eq. 7).
#
#   Rscript tests/reference/delong_comparisons.R  (from the root of the repository)
#
# Reads delong_cases.csv (made by delong.R) and writes delong_comparisons_r.csv.
# Unpaired: score a of a case against score b of the next one. Of three: a, b, and b
# in reverse order of the records.

suppressPackageStartupMessages(library(pROC))
here <- "tests/reference"

curve <- function(y, score) {
  roc(y, score, direction = "<", levels = c(0, 1), quiet = TRUE)
}

unpaired <- function(d, other) {
  test <- suppressWarnings(
    roc.test(curve(d$y, d$a), curve(other$y, other$b), method = "delong",
             paired = FALSE))
  c(statistic = unname(test$statistic), df = unname(test$parameter),
    p_value = test$p.value)
}

three <- function(d) {
  curves <- list(curve(d$y, d$a), curve(d$y, d$b), curve(d$y, rev(d$b)))
  S <- outer(1:3, 1:3, Vectorize(function(i, j) {
    if (i == j) var(curves[[i]], method = "delong")
    else cov(curves[[i]], curves[[j]], method = "delong")
  }))
  L <- rbind(c(1, -1, 0), c(0, 1, -1))
  difference <- L %*% sapply(curves, auc)
  chi <- drop(t(difference) %*% solve(L %*% S %*% t(L)) %*% difference)
  c(chi_square = chi, chi_p = pchisq(chi, 2, lower.tail = FALSE))
}

cases <- read.csv(file.path(here, "delong_cases.csv"))
names_in_order <- unique(cases$case)
next_one <- c(names_in_order[-1], names_in_order[1])
case <- function(k) cases[cases$case == k, ]
numbers <- t(mapply(function(k, l) c(unpaired(case(k), case(l)), three(case(k))),
                    names_in_order, next_one))
full <- apply(numbers, 2, function(x) sprintf("%.17g", x))
write.csv(cbind(case = names_in_order, full),
          file.path(here, "delong_comparisons_r.csv"),
          row.names = FALSE, quote = FALSE)
cat("pROC", as.character(packageVersion("pROC")), "on", R.version.string, "\n")
