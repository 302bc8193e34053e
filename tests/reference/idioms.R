# Idioms of caret, rsample, rms, boot, pROC and glmnet on the data of Spector and
# Mazzeo (1980), as reference numbers for the page "Coming from R".
#
#   Rscript tests/reference/idioms.R      (from the root of the repository)
#
# Reads idioms_cases.csv: the data, a column of fold numbers, of groups and of weights.
# Writes idioms_r.csv: one row per idiom and name of a value. The tests and the page
# read the two files and need no R.

suppressPackageStartupMessages({
  library(boot)
  library(caret)
  library(glmnet)
  library(pROC)
  library(rms)
  library(rsample)
  library(splines)
})
here <- "tests/reference"
d <- read.csv(file.path(here, "idioms_cases.csv"))
full <- GRADE ~ GPA + TUCE + PSI
out <- NULL
put <- function(idiom, ...) {
  values <- c(...)
  if (is.null(names(values))) names(values) <- seq_along(values)
  out <<- rbind(out, data.frame(idiom, name = names(values), value = unname(values)))
}
binomial_fit <- function(formula, data, ...)
  suppressWarnings(glm(formula, binomial, data, control = glm.control(1e-14, 100), ...))
held <- function(formula, fit = binomial_fit, fold = d$fold) {
  p <- numeric(nrow(d))
  for (k in unique(fold)) {
    m <- fit(formula, data = d[fold != k, ])
    p[fold == k] <- suppressWarnings(predict(m, d[fold == k, ], type = "response"))
  }
  p
}
own <- seq_len(nrow(d))
auc_of <- function(y, p) as.numeric(auc(roc(y, p, quiet = TRUE, direction = "<")))
log_loss <- function(y, p) -mean(y * log(p) + (1 - y) * log(1 - p))

# 1-5: fits, formulas
m <- binomial_fit(full, d)
put("glm", coef(m))
put("predict", predict(m, d[1:5, ], type = "response"))
put("relevel", coef(binomial_fit(relevel(factor(GRADE), "1") ~ GPA + TUCE + PSI, d)))
put("interaction", coef(binomial_fit(GRADE ~ GPA * PSI + I(TUCE^2), d)))
put("update", held(update(full, . ~ . - PSI)))

# 6-9: terms that learn from the data, in each training set
put("scale", held(GRADE ~ scale(GPA) + PSI))
put("poly", held(GRADE ~ poly(GPA, 2) + PSI))
linear <- function(formula, data) lm(formula, data)
put("bs", held(TUCE ~ bs(GPA, df = 4), linear))
put("weights", coef(suppressWarnings(glm(full, quasibinomial, d, weights = w,
  control = glm.control(1e-14, 100)))))

# 10-13: boot
g <- glm(full, binomial, d, control = glm.control(1e-14, 100))
put("cv.glm", delta = suppressWarnings(cv.glm(d, g)$delta[1]))
put("cv.glm cost", delta = suppressWarnings(
  cv.glm(d, g, function(y, p) mean(abs(y - p) > 0.5))$delta[1]))
put("cv.glm lm", delta = cv.glm(d, glm(TUCE ~ GPA + PSI, data = d))$delta[1])
l <- lm(TUCE ~ GPA + PSI, d)
put("press", rmse = sqrt(mean((resid(l) / (1 - hatvalues(l)))^2)))

# 14-17: caret
named <- transform(d, GRADE = factor(ifelse(GRADE == 1, "yes", "no"), c("yes", "no")))
index <- lapply(1:4, function(k) which(d$fold != k))
control <- trainControl("cv", index = index, classProbs = TRUE,
  summaryFunction = twoClassSummary, savePredictions = TRUE)
tight <- glm.control(1e-14, 100)
t1 <- suppressWarnings(train(full, named, method = "glm", metric = "ROC",
  trControl = control, control = tight))
put("twoClassSummary", ROC = t1$results$ROC)
t2 <- suppressWarnings(train(full, named, method = "glm", control = tight,
  trControl = trainControl("cv", index = index)))
put("caret accuracy", Accuracy = t2$results$Accuracy)
t3 <- suppressWarnings(train(full, named, method = "glm", control = tight, metric = "ROC",
  trControl = trainControl("LOOCV", classProbs = TRUE, summaryFunction = twoClassSummary)))
put("caret LOOCV", ROC = t3$results$ROC)
t4 <- train(TUCE ~ GPA + PSI, d, method = "lm", trControl = trainControl("cv", index = index))
put("caret lm", RMSE = t4$results$RMSE, MAE = t4$results$MAE)

# 18-20: rsample
by_split <- function(splits, measure)
  mean(sapply(splits, function(s) {
    m <- binomial_fit(full, analysis(s))
    measure(assessment(s)$GRADE, predict(m, assessment(s), type = "response"))
  }))
brier <- function(y, p) mean((y - p)^2)
put("loo_cv", log_loss = by_split(loo_cv(d)$splits, log_loss))
put("group_vfold_cv", brier = by_split(group_vfold_cv(d, group = "class", v = 4)$splits, brier))
manual <- manual_rset(lapply(1:4, function(k)
  make_splits(list(analysis = which(d$fold != k), assessment = which(d$fold == k)), d)),
  paste0("Fold", 1:4))
put("manual_rset", log_loss = by_split(manual$splits, log_loss))

# 21-23: pROC, of held-out predictions
p <- held(full)
q <- held(GRADE ~ GPA)
r1 <- roc(d$GRADE, p, quiet = TRUE, direction = "<")
r2 <- roc(d$GRADE, q, quiet = TRUE, direction = "<")
put("auc", auc = as.numeric(auc(r1)))
ci <- as.numeric(ci.auc(r1, method = "delong"))
put("ci.auc", lower = ci[1], upper = ci[3])
put("roc.test", p = roc.test(r1, r2, method = "delong", paired = TRUE)$p.value)

# 24-26: rms
f <- lrm(full, d, x = TRUE, y = TRUE, eps = 1e-12, maxit = 100)
put("lrm", C = unname(Hmisc::somers2(predict(f), d$GRADE)["C"]), Brier = mean((d$GRADE - predict(f, type = "fitted"))^2))
v <- val.prob(p, d$GRADE, pl = FALSE)
put("val.prob", Slope = unname(v["Slope"]), Brier = unname(v["Brier"]))
put("pooled log-loss", log_loss = log_loss(d$GRADE, p))

# 27-28: glmnet
X <- as.matrix(d[, c("GPA", "TUCE", "PSI")])
net <- cv.glmnet(X, d$GRADE, foldid = d$fold, family = "binomial", alpha = 0,
  lambda = c(0.1, 0.05), standardize = FALSE, keep = TRUE, thresh = 1e-16)
put("cv.glmnet", plogis(net$fit.preval[, 2]))
ridge <- glmnet(X, d$GRADE, family = "binomial", alpha = 0, lambda = 0.05,
  thresh = 1e-16)
put("glmnet", as.matrix(coef(ridge))[, 1])

write.csv(transform(out, value = format(value, digits = 15)),
  file.path(here, "idioms_r.csv"), row.names = FALSE, quote = FALSE)
versions <- sapply(c("boot", "caret", "glmnet", "pROC", "rms", "rsample"),
  function(p) as.character(packageVersion(p)))
cat(R.version.string, paste(names(versions), versions), sep = "\n")
