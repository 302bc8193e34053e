# Leave-one-out of a logistic regression by boot::cv.glm:
#     Rscript cv_glm.R records.csv epsilon
# prints the seconds it took and the mean squared error of its probabilities.
library(boot)
given <- commandArgs(trailingOnly = TRUE)
records <- read.csv(given[1])
epsilon <- as.numeric(given[2])
taken <- system.time({
  fit <- glm(y ~ ., binomial, records, control = glm.control(epsilon = epsilon))
  error <- cv.glm(records, fit)$delta[1]
})
cat(format(c(taken[["elapsed"]], error), digits = 17))
