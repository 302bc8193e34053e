# Concordance of predicted and observed numbers by R's survival and Hmisc, as reference
# numbers.
#
#   Rscript tests/reference/concordance.R      (from the root of the repository)
#
# Makes concordance_cases.csv (seeded) where it is not there, reads it, and writes
# concordance_r.csv. The tests read the two files and need no R.
#
# survival counts pairs that tie in the outcome as none and ties of predictions half;
# so does Harrell's rcorr.cens with outx=FALSE, for outcomes that are all observed.

suppressPackageStartupMessages({
  library(survival)
  library(Hmisc)
})
here <- "tests/reference"
cases_file <- file.path(here, "concordance_cases.csv")

make_case <- function(case, n, signal, digits_y, digits_p) {
  y <- rnorm(n)
  p <- signal * y + rnorm(n)
  data.frame(case = case, y = round(y, digits_y), p = round(p, digits_p))
}

if (!file.exists(cases_file)) {
  set.seed(20261)
  cases <- rbind(
    make_case("no ties", 60, 1, 6, 6),
    make_case("noise", 41, 0, 6, 6),
    make_case("reversed", 30, -2, 6, 6),
    make_case("tied predictions", 50, 1, 6, 0),
    make_case("tied outcomes", 50, 1, 0, 6),
    make_case("both tied", 80, 1, 0, 0),
    make_case("three records", 3, 1, 6, 6)
  )
  write.csv(cases, cases_file, row.names = FALSE, quote = FALSE)
}

cases <- read.csv(cases_file)
rows <- lapply(split(cases, factor(cases$case, unique(cases$case))), function(one) {
  harrell <- rcorr.cens(one$p, one$y, outx = FALSE)
  data.frame(
    case = one$case[1],
    survival = concordance(y ~ p, data = one)$concordance,
    hmisc = unname(harrell["C Index"]),
    pairs = unname(harrell["Relevant Pairs"]) / 2
  )
})
found <- do.call(rbind, rows)
numbers <- vapply(found, is.numeric, TRUE)
found[numbers] <- lapply(found[numbers], format, digits = 15, trim = TRUE)
write.csv(found, file.path(here, "concordance_r.csv"), row.names = FALSE, quote = FALSE)
