# Idioms of survival and riskRegression on the lung cancer trial of veterans, as
# reference numbers for the page "Coming from R".
#
#   Rscript tests/reference/idioms_survival.R      (from the root of the repository)
#
# Reads data/veteran.csv, in which record i is in fold 1 + (i - 1) %% 5. Writes
# idioms_survival_r.csv: one row per idiom and name of a value.

suppressPackageStartupMessages({
  library(survival)
  library(riskRegression)
  library(rms)
})
v <- read.csv("data/veteran.csv")
fold <- 1 + (seq_len(nrow(v)) - 1) %% 5
f <- Surv(time, status) ~ karno + age
tight <- coxph.control(eps = 1e-14, toler.chol = 1e-16, iter.max = 100)
out <- NULL
put <- function(idiom, ...) {
  values <- c(...)
  if (is.null(names(values))) names(values) <- seq_along(values)
  out <<- rbind(out, data.frame(idiom, name = names(values), value = unname(values)))
}
cox <- function(formula, data) coxph(formula, data, x = TRUE, control = tight)
risk <- function(m, new, t) as.vector(1 - summary(survfit(m, new), times = t)$surv)

m <- cox(f, v)
put("coxph", coef(m))
put("survfit", risk(m, v[1:5, ], 180))
put("concordance", C = unname(concordance(m)$concordance))
p <- numeric(nrow(v))
for (k in 1:5) p[fold == k] <- risk(cox(f, v[fold != k, ]), v[fold == k, ], 180)
put("held-out survfit", p)
s <- Score(list(p), Surv(time, status) ~ 1, v, times = 180, se.fit = FALSE,
  conf.int = FALSE)
put("Score", AUC = s$AUC$score$AUC, Brier = s$Brier$score[model != "Null model"]$Brier)

write.csv(transform(out, value = format(value, digits = 15)),
  "tests/reference/idioms_survival_r.csv", row.names = FALSE, quote = FALSE)
versions <- sapply(c("survival", "riskRegression"),
  function(p) as.character(packageVersion(p)))
cat(R.version.string, paste(names(versions), versions), sep = "\n")
