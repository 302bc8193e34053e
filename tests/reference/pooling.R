# Rubin's rules of the R package mice, as reference numbers.
#
#   Rscript tests/reference/pooling.R        (from the root of the repository)
#
# Pools the estimates of pooling_cases.csv with mice::pool.scalar, and the coefficients of
# linear and logistic regressions on the imputed data sets of pooling_data.csv with
# mice::pool, and writes pooling_r.csv. Made with mice 3.15.0. The tests need no R.

suppressMessages(library(mice))
cases <- read.csv("tests/reference/pooling_cases.csv")
scalar <- function(case) {
  found <- pool.scalar(case$value, case$se^2, n = case$df[1] + 1, k = 1)
  what <- c("qbar", "ubar", "b", "t", "df", "fmi")
  data.frame(case = case$case[1], what = what, value = unlist(found[what]))
}
data <- read.csv("tests/reference/pooling_data.csv")
sets <- split(data, data$imputation)
fitted <- function(name, fit) {
  table <- pool(as.mira(lapply(sets, fit)))$pooled
  what <- c("estimate", "ubar", "b", "t", "df", "fmi")
  data.frame(case = paste(name, rep(table$term, each = length(what))),
             what = rep(what, nrow(table)), value = as.vector(t(table[what])))
}
table <- rbind(
  do.call(rbind, lapply(split(cases, cases$case), scalar)),
  fitted("linear", function(one) lm(TUCE ~ GPA + PSI, one)),
  fitted("logistic", function(one) glm(GRADE ~ GPA + PSI, binomial, one, epsilon = 1e-14))
)
table$value <- formatC(table$value, digits = 17, format = "g")
write.csv(table, "tests/reference/pooling_r.csv", row.names = FALSE, quote = FALSE)
