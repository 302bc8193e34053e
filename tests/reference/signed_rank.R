# Wilcoxon's signed-rank test and Hodges and Lehmann's interval by R's stats, as
# reference numbers.
#
#   Rscript tests/reference/signed_rank.R      (from the root of the repository)
#
# Reads signed_rank_cases.csv (made here, seeded, where it is not there), and writes
# signed_rank_r.csv. The tests read the two files and need no R.

here <- "tests/reference"
cases_file <- file.path(here, "signed_rank_cases.csv")

if (!file.exists(cases_file)) {
  set.seed(1945)
  make_case <- function(case, n, shift) {
    data.frame(case = case, difference = round(rnorm(n, shift), 6))
  }
  cases <- rbind(make_case("six", 6, 1), make_case("thirteen", 13, 0.5),
                 make_case("thirty", 30, 0.3), make_case("fifty", 50, 0))
  positive <- data.frame(case = "all_positive",
                         difference = round(sort(runif(13)), 6))
  write.csv(rbind(cases, positive), cases_file, row.names = FALSE, quote = FALSE)
}

reference <- function(x, alternative) {
  one <- wilcox.test(x, alternative = alternative, exact = TRUE)
  both <- wilcox.test(x, exact = TRUE, conf.int = TRUE)
  c(statistic = unname(one$statistic), p_value = one$p.value,
    median = unname(both$estimate), lower = both$conf.int[1],
    upper = both$conf.int[2])
}

cases <- read.csv(cases_file)
settings <- expand.grid(case = unique(cases$case),
                        alternative = c("two.sided", "greater", "less"),
                        stringsAsFactors = FALSE)
numbers <- t(mapply(function(case, alternative) {
  reference(cases$difference[cases$case == case], alternative)
}, settings$case, settings$alternative))
full <- apply(numbers, 2, function(x) sprintf("%.17g", x))
write.csv(cbind(settings, full), file.path(here, "signed_rank_r.csv"),
          row.names = FALSE, quote = FALSE)
cat(R.version.string, "\n")
