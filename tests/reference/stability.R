# Instability of predictions by pminternal, as reference numbers.
#
#   git clone https://github.com/stephenrho/pminternal      (commit f56dc51)
#   Rscript tests/reference/stability.R pminternal       (from the root of the repository)
#
# Writes stability_samples.csv, the records of each bootstrap sample, one column per
# sample, and stability_r.csv: the risk of each record by glm, its mean absolute
# prediction error and its classification instability at 0.4. The models are those of
# boot_optimism() for the records of equations_cases.csv; the errors are those of
# mape_stability() and classification_stability(). The tests need no R.

where <- commandArgs(trailingOnly = TRUE)[1]
for (file in c("util.R", "boot_optimism.R", "stability_plot.R")) {
  code <- readLines(file.path(where, "R", file))
  # the progress bar of pbapply is not needed
  code <- sub("pbapply::pblapply(", "(function(X, FUN, cl) lapply(X, FUN))(", code,
              fixed = TRUE)
  eval(parse(text = code))
}
people <- read.csv("tests/reference/equations_cases.csv", check.names = FALSE)
people <- people[, c("died", "age", "bmi", "sex")]
tight <- glm.control(epsilon = 1e-14, maxit = 100)
set.seed(20)
models <- boot_optimism(
  people, "died",
  model_fun = function(data, ...) glm(died ~ ., binomial, data, control = tight),
  pred_fun = function(model, data, ...) predict(model, data, type = "response"),
  score_fun = function(y, p, ...) c(brier = mean((y - p)^2)),
  method = "boot", B = 40
)
set.seed(20)
samples <- sapply(1:40, function(b) sample(nrow(people), replace = TRUE))
first <- glm(died ~ ., binomial, people[samples[, 1], ], control = tight)
stopifnot(all.equal(unname(predict(first, people, type = "response")),
                    unname(models$stability[, 2])))
errors <- mape_stability(models, plot = FALSE)
table <- data.frame(
  risk = models$stability[, 1],
  mape = errors$individual_mape,
  changed = classification_stability(models, threshold = 0.4, plot = FALSE)
)
cat("average", format(errors$average_mape, digits = 12), "\n")
table[] <- lapply(table, function(x) trimws(formatC(x, digits = 12, format = "g")))
colnames(samples) <- 1:40
write.csv(samples, "tests/reference/stability_samples.csv", row.names = FALSE)
write.csv(table, "tests/reference/stability_r.csv", row.names = FALSE, quote = FALSE)
