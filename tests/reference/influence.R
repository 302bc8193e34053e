# Influence-curve standard errors of cross-validated auROCs, written out from the
# equations of LeDell, Petersen & van der Laan (2015, Electron. J. Stat. 9:1583), and
# clustered standard errors of means by the package sandwich, as reference numbers.
#
#   Rscript tests/reference/influence.R      (from the root of the repository)
#
# Makes influence_cases.csv (seeded) where it is not there, reads it, and writes
# influence_r.csv. The tests read the two files and need no R. There are no ties.

suppressPackageStartupMessages(library(sandwich))
here <- "tests/reference"
cases_file <- file.path(here, "influence_cases.csv")

make_case <- function(case, sizes, share, shift, per_source) {
  n <- sum(sizes)
  fold <- rep(seq_along(sizes), sizes)
  y <- unlist(lapply(sizes, function(size) {
    ones <- min(max(2, rbinom(1, size, share)), size - 2)
    sample(rep(1:0, c(ones, size - ones)))
  }))
  source <- ceiling(ave(seq_len(n), fold, FUN = seq_along) / per_source)
  source <- as.integer(factor(paste(fold, source), unique(paste(fold, source))))
  score <- shift * y + 0.6 * rnorm(max(source))[source] + rnorm(n)
  data.frame(case = case, fold = fold, source = source, y = y,
             score = sprintf("%.10f", score))
}

if (!file.exists(cases_file)) {
  set.seed(2015)
  cases <- rbind(
    make_case("even",      rep(20, 5),          0.5, 1.0, 1),
    make_case("uneven",    c(7, 12, 30, 9, 15), 0.4, 0.8, 1),
    make_case("rare",      rep(30, 10),         0.1, 1.2, 1),
    make_case("sources",   rep(24, 5),          0.5, 0.7, 3),
    make_case("pairs",     rep(30, 4),          0.3, 0.3, 2),
    make_case("below",     rep(16, 6),          0.5, -0.6, 1)
  )
  write.csv(cases, cases_file, row.names = FALSE, quote = FALSE)
}

# The influence curve of the area at a distribution with the given class shares: for a
# positive record the share of negative ones below it less the area, over the share of
# positive ones; likewise for a negative one.
area <- function(y, score) {
  mean(outer(score[y == 1], score[y == 0], ">"))
}
curve_values <- function(y, score, share_1, share_0) {
  a <- area(y, score)
  sapply(seq_along(y), function(i) {
    if (y[i] == 1) (mean(score[y == 0] < score[i]) - a) / share_1
    else (mean(score[y == 1] > score[i]) - a) / share_0
  })
}

reference <- function(d) {
  n <- nrow(d)
  folds <- split(d, d$fold)
  V <- length(folds)
  own <- lapply(folds, function(f) {
    curve_values(f$y, f$score, mean(f$y == 1), mean(f$y == 0))
  })
  overall <- lapply(folds, function(f) {
    curve_values(f$y, f$score, mean(d$y == 1), mean(d$y == 0))
  })
  # sigma^2 is the mean over folds of the mean squared influence in the fold; the
  # standard error its root over the root of n
  paper <- function(curves) sqrt(mean(sapply(curves, function(x) mean(x^2))) / n)
  # each record's share in the mean over folds
  moved <- unlist(lapply(own, function(x) x / length(x) / V))
  pooled <- curve_values(d$y, d$score, mean(d$y == 1), mean(d$y == 0)) / n
  loss <- (d$y - plogis(d$score))^2
  fit <- lm(loss ~ 1)
  c(per_fold = mean(sapply(folds, function(f) area(f$y, f$score))),
    se_paper = paper(own), se_overall_shares = paper(overall),
    se_per_fold = sqrt(sum(moved^2)),
    se_per_fold_source = sqrt(sum(tapply(moved, d$source, sum)^2)),
    pooled = area(d$y, d$score), se_pooled = sqrt(sum(pooled^2)),
    se_pooled_source = sqrt(sum(tapply(pooled, d$source, sum)^2)),
    loss = mean(loss),
    se_loss_source = sqrt(vcovCL(fit, d$source, type = "HC0", cadjust = TRUE)[1]))
}

cases <- read.csv(cases_file)
names_in_order <- unique(cases$case)
numbers <- t(sapply(names_in_order, function(k) reference(cases[cases$case == k, ])))
full <- apply(numbers, 2, function(x) sprintf("%.17g", x))
write.csv(cbind(case = names_in_order, full), file.path(here, "influence_r.csv"),
          row.names = FALSE, quote = FALSE)
cat("sandwich", as.character(packageVersion("sandwich")), "on", R.version.string, "\n")
