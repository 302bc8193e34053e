# Areas under ROC curves of clustered records by the formulas of Obuchowski (1997),
# Biometrics 53:567, written out with a loop over clusters.
#
#   Rscript tests/reference/clustered.R   (from the root of the repository)
#
# Reads delong_cases.csv (made by delong.R) and writes clustered_r.csv: for each case
# once with three consecutive records a cluster, once with every fifth.

here <- "tests/reference"

components <- function(y, score, cluster) {
  x <- score[y == 1]
  z <- score[y == 0]
  psi <- function(p, q) (p > q) + 0.5 * (p == q)
  v10 <- sapply(x, function(p) mean(psi(p, z)))
  v01 <- sapply(z, function(q) mean(psi(x, q)))
  theta <- mean(v10)
  ids <- unique(cluster)
  ten <- one <- numeric(length(ids))
  for (i in seq_along(ids)) {
    mine_x <- cluster[y == 1] == ids[i]
    mine_z <- cluster[y == 0] == ids[i]
    ten[i] <- sum(v10[mine_x]) - sum(mine_x) * theta
    one[i] <- sum(v01[mine_z]) - sum(mine_z) * theta
  }
  list(theta = theta, ten = ten, one = one)
}

covariance <- function(r, s, y, cluster) {
  M <- sum(y == 1)
  N <- sum(y == 0)
  I <- length(unique(cluster))
  I10 <- length(unique(cluster[y == 1]))
  I01 <- length(unique(cluster[y == 0]))
  S10 <- I10 / ((I10 - 1) * M) * sum(r$ten * s$ten)
  S01 <- I01 / ((I01 - 1) * N) * sum(r$one * s$one)
  S11 <- I / (I - 1) * sum(r$ten * s$one)
  S11t <- I / (I - 1) * sum(s$ten * r$one)
  S10 / M + S01 / N + (S11 + S11t) / (M * N)
}

reference <- function(d, cluster) {
  a <- components(d$y, d$a, cluster)
  b <- components(d$y, d$b, cluster)
  var_a <- covariance(a, a, d$y, cluster)
  var_b <- covariance(b, b, d$y, cluster)
  cov_ab <- covariance(a, b, d$y, cluster)
  z <- (a$theta - b$theta) / sqrt(var_a + var_b - 2 * cov_ab)
  c(auc_a = a$theta, se_a = sqrt(var_a), se_b = sqrt(var_b), covariance = cov_ab,
    statistic = z, p_value = 2 * pnorm(-abs(z)))
}

cases <- read.csv(file.path(here, "delong_cases.csv"))
rows <- list()
for (k in unique(cases$case)) {
  d <- cases[cases$case == k, ]
  record <- seq_len(nrow(d)) - 1
  rows[[paste0(k, ":triples")]] <- reference(d, record %/% 3)
  rows[[paste0(k, ":every_fifth")]] <- reference(d, record %% 5)
}
numbers <- do.call(rbind, rows)
full <- apply(numbers, 2, function(x) sprintf("%.17g", x))
write.csv(cbind(case = names(rows), full), file.path(here, "clustered_r.csv"),
          row.names = FALSE, quote = FALSE)
cat(R.version.string, "\n")
