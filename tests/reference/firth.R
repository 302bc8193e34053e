# Firth's logistic regression by R's brglm2, as reference numbers.
#
#   Rscript tests/reference/firth.R       (from the root of the repository)
#
# Writes firth_cases.csv, the data sets: one whose classes overlap, one that a
# covariate separates, one with case weights; and firth_r.csv: coefficients of
# maximum likelihood penalised by Jeffreys' prior, and fitted probabilities. The
# tests need no R.

library(brglm2)
set.seed(1)

draw <- function(case, n, signal) {
  a <- round(rnorm(n), 3)
  b <- round(rexp(n), 3)
  g <- rbinom(n, 1, 0.3)
  y <- as.integer(signal * (a + g - 0.3) + rlogis(n) > 0)
  data.frame(case = case, y = y, a = a, b = b, g = g, weight = 1)
}
overlap <- draw("overlap", 60, 1)
separated <- draw("separated", 24, 1)
separated$y[separated$g == 1] <- 1
complete <- draw("complete", 12, 1)
complete$y <- as.integer(complete$a > 0)
weighted <- draw("weighted", 40, 1)
weighted$weight <- sample(1:4, 40, replace = TRUE)
cases <- rbind(overlap, separated, complete, weighted)
write.csv(cases, "tests/reference/firth_cases.csv", row.names = FALSE, quote = FALSE)

tidy <- function(data) {
  fit <- glm(y ~ a + b + g, binomial(), data, weights = data$weight,
             method = "brglmFit", type = "MPL_Jeffreys",
             epsilon = 1e-13, maxit = 10000)
  beta <- coef(fit)
  names(beta)[1] <- "Intercept"
  data.frame(case = data$case[1],
             what = c(names(beta), paste0("p", seq_len(nrow(data)))),
             value = c(beta, fitted(fit)))
}
table <- do.call(rbind, lapply(split(cases, cases$case), tidy))
table$value <- formatC(table$value, digits = 17, format = "g")
write.csv(table, "tests/reference/firth_r.csv", row.names = FALSE, quote = FALSE)
