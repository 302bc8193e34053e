# rms::validate of a Cox regression on given bootstrap samples, with and without fastbw,
# for outcome 5 of cox_selection_cases.csv; each line of cox_validate_samples.csv has the
# rows of a sample, from 0. Dxy is 2 C - 1.
# Run: Rscript cox_validate.R, in this directory.
suppressMessages(library(rms))
x <- read.csv("selection_cases.csv", stringsAsFactors = TRUE)[1:8]
y <- read.csv("cox_selection_cases.csv")$y5
x$time <- abs(y); x$status <- +(y > 0)
samples <- as.matrix(read.csv("cox_validate_samples.csv", header = FALSE)) + 1

# the functions of rms, with samples that are given and fits that converge
place <- new.env(parent = asNamespace("rms"))
place$sample <- function(...) { at <<- at + 1; samples[at, ] }
place$coxphFit <- function(..., eps, iter.max) rms:::coxphFit(
  ..., eps = 1e-11, iter.max = if (iter.max == 0) 0 else 50)
resample <- rms:::predab.resample; environment(resample) <- place
place$predab.resample <- resample
validate_given <- rms:::validate.cph; environment(validate_given) <- place

fit <- cph(Surv(time, status) ~ a + b + c + d + e + f + g + h, x, x = TRUE, y = TRUE,
           eps = 1e-11, iter.max = 50)
rows <- list()
for (bw in c(FALSE, TRUE)) {
  at <- 0
  invisible(capture.output(
    found <- validate_given(fit, B = nrow(samples), bw = bw, rule = "p",
                            type = "individual", sls = 0.157)))
  rows[[length(rows) + 1]] <- data.frame(
    bw = bw, apparent = sprintf("%.10g", found["Dxy", "index.orig"]),
    optimism = sprintf("%.10g", found["Dxy", "optimism"]), n = found["Dxy", "n"])
}
write.csv(do.call(rbind, rows), "cox_validate_r.csv", row.names = FALSE, quote = FALSE)
