# What R's mice imputes: means over imputations by record, and the spread between
# imputations of the mean imputed value.
# Rscript tests/reference/mice.R, in the root of the repository; mice 3.15.0
suppressMessages(library(mice))
set.seed(56)
n <- 120
x <- rnorm(n)
z <- rbinom(n, 1, 0.4)
a <- round(0.7 * x + 0.5 * z + rnorm(n), 3)
b <- rbinom(n, 1, plogis(a - 0.3))
g <- factor(c("u", "v", "w")[1 + (x + rnorm(n) > -0.4) + (a + rnorm(n) > 0.8)])
y <- rbinom(n, 1, plogis(a + b - 0.5 + (g == "w")))
cases <- data.frame(x, z, a, b, g, y)
for (name in c("a", "b", "g"))
  cases[runif(n) < plogis(-1.6 + 0.8 * x + 0.5 * y), name] <- NA
write.csv(cases, "tests/reference/mice_cases.csv", row.names = FALSE)
cases$b <- factor(cases$b)
full <- transform(cases, a = a)

summarised <- function(case, data, methods, m, maxit) {
  own <- c(x = "", z = "", a = "", b = "", g = "", y = "")
  own[names(methods)] <- methods
  imputed <- mice(data, m = m, maxit = maxit, method = own, printFlag = FALSE)$imp
  do.call(rbind, lapply(names(methods), function(name) {
    drawn <- imputed[[name]]
    value <- function(level) {
      if (is.na(level)) return(as.matrix(drawn))
      matrix(as.matrix(drawn) == level, nrow(drawn))
    }
    levels <- switch(name, a = NA, b = "1", g = c("v", "w"))
    do.call(rbind, lapply(levels, function(level) {
      own <- value(level)
      data.frame(
        case = case, column = name, level = ifelse(is.na(level), "", level),
        row = c(as.integer(rownames(drawn)) - 1, -1),
        mean = c(rowMeans(own), sd(colMeans(own)))
      )
    }))
  }))
}

# one column at a time: records that lack another column are left out
one <- function(case, name, method) {
  others <- setdiff(c("a", "b", "g"), name)
  kept <- cases[complete.cases(cases[others]), ]
  summarised(case, kept, setNames(method, name), 1000, 1)
}
all <- c(a = "pmm", b = "logreg", g = "polyreg")
results <- rbind(
  one("normal", "a", "norm"), one("matched", "a", "pmm"),
  one("classes", "b", "logreg"), one("multinomial", "g", "polyreg"),
  summarised("chained", cases, all, 1000, 10)
)
results$mean <- signif(results$mean, 6)
write.csv(results, "tests/reference/mice_r.csv", row.names = FALSE)
