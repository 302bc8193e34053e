# Firth's logistic regression with corrected intercept (FLIC), as reference numbers.
#
#   Rscript tests/reference/flic.R        (from the root of the repository)
#
# Takes the coefficients of firth_r.csv, refits the intercept by maximum likelihood with
# the rest as an offset (Puhr et al. 2017, section 2.3; logistf::flic does the same), and
# writes flic_r.csv: the intercept, and fitted probabilities. The tests need no R.

cases <- read.csv("tests/reference/firth_cases.csv")
firth <- read.csv("tests/reference/firth_r.csv")

tidy <- function(data) {
  own <- firth[firth$case == data$case[1], ]
  beta <- setNames(own$value, own$what)
  lp <- as.matrix(data[, c("a", "b", "g")]) %*% beta[c("a", "b", "g")]
  fit <- glm(data$y ~ 1, binomial, weights = data$weight, offset = lp[, 1],
             epsilon = 1e-14, maxit = 100)
  data.frame(case = data$case[1],
             what = c("Intercept", paste0("p", seq_len(nrow(data)))),
             value = c(coef(fit), fitted(fit)))
}
table <- do.call(rbind, lapply(split(cases, cases$case), tidy))
table$value <- formatC(table$value, digits = 17, format = "g")
write.csv(table, "tests/reference/flic_r.csv", row.names = FALSE, quote = FALSE)
