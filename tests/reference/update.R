# Formulas changed by R's update(), as reference.
#
#   Rscript tests/reference/update.R      (from the root of the repository)
#
# Writes update_r.csv: the old formula, the new one with its dots, and the labels of
# the terms and the intercept of what update() makes of them. The tests need no R.

cases <- rbind(
  c("y ~ a", ". ~ . + x"),
  c("y ~ a + b", ". ~ . - a"),
  c("y ~ a + b", ". ~ . - a - b"),
  c("y ~ a*b", ". ~ . + x"),
  c("y ~ a*b", ". ~ . - a:b"),
  c("y ~ b + a*b", ". ~ . - a"),
  c("y ~ a - 1", ". ~ . + x"),
  c("y ~ a - 1", ". ~ . + 1"),
  c("y ~ a", ". ~ . - 1"),
  c("y ~ a + b", ". ~ (.)^2"),
  c("y ~ a + b", ". ~ (. + x)*z"),
  c("y ~ a", "~ . + b"),
  c("y ~ a", "log(.) ~ ."),
  c("y ~ 1", ". ~ . + x"),
  c("y ~ a", ". ~ . + a"),
  c("y ~ a - b", ". ~ b + ."),
  c("y ~ log(a) + b", ". ~ . - log(a)"),
  c("y ~ a", ". ~ .:x + ."),
  c("y ~ a", "x ~ b"),
  c("y ~ a", "x ~ ."),
  c("y ~ a + b", "y ~ . + x - a")
)
tidy <- function(case) {
  made <- update(as.formula(case[1]), as.formula(case[2]))
  found <- terms(made)
  data.frame(old = case[1], new = case[2], outcome = deparse(made[[2]]),
             terms = paste(attr(found, "term.labels"), collapse = " "),
             intercept = attr(found, "intercept"))
}
table <- do.call(rbind, apply(cases, 1, tidy))
write.csv(table, "tests/reference/update_r.csv", row.names = FALSE, quote = FALSE)
