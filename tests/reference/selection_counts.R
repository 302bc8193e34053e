# Terms that step() and stepAIC() choose for counts in the training sets of 5 folds, by
# glm(poisson), MASS::glm.nb and MASS::polr, for outcomes of the table of selection.R;
# each digit of a set stands for a term, in R's order. Wald tests of rms::fastbw, which
# has no counts, are those of fastbw on the coefficients and their variance.
# Run: Rscript selection_counts.R, in this directory.
suppressMessages({library(MASS); library(splines); library(rms)})
set.seed(54)
x <- read.csv("selection_cases.csv", stringsAsFactors = TRUE)[, 1:8]
n <- nrow(x)
x$t <- round(runif(n, 0.5, 4), 1)
x$w <- rep(1:3, length.out = n)
truth <- with(x, 0.4 * a + 0.3 * (b > 1) + 0.01 * (c - 50) * (g == "yes") +
                0.4 * (f == "w") - 0.2 * d)
formulas <- c(
  "a + b + c + d + e + f + g + h",
  "a * g + bs(c, df = 4) + d + f + h",
  "f * g + a + poly(b, 2) + d + e + a:e",
  "a * d * g + b + h + f"
)
plain <- formulas[1]
fold <- (seq_len(n) - 1) %% 5
sorted <- function(one) sapply(strsplit(one, ":"), function(p)
  paste(sort(p), collapse = ":"))
rows <- list()
for (i in 1:16) {
  model <- c("poisson", "negbin", "proportional_odds", "poisson weighted")[(i - 1) %% 4 + 1]
  eta <- truth * (i %% 3 + 1) / 3
  mu <- x$t * exp(eta - 0.3)
  y <- switch(substr(model, 1, 3), poi = rpois(n, mu), neg = rnbinom(n, mu = mu, size = 1.2),
              pro = as.integer(cut(2 * eta + rlogis(n), c(-Inf, -1, 0.3, 1.5, Inf))))
  x[[paste0("y", i)]] <- y
  right <- formulas[(i - 1) %/% 4 + 1]
  for (way in c("backward aic", "backward bic", "forward aic", "both aic", "backward p")) {
    parts <- strsplit(way, " ")[[1]]
    found <- character(5)
    for (k in 0:4) {
      train <- cbind(x[fold != k, 1:10], y = y[fold != k])
      ordered <- model == "proportional_odds"
      if (ordered) train$y <- factor(train$y, ordered = TRUE)
      of <- if (parts[2] == "p") plain else right
      full <- as.formula(paste("y ~", if (ordered) of else paste(of, "+ offset(log(t))")))
      none <- if (ordered) y ~ 1 else y ~ 1 + offset(log(t))
      fitted <- function(what) switch(model,
        poisson = glm(what, poisson, train, epsilon = 1e-12, maxit = 50),
        "poisson weighted" = glm(what, poisson, train, weights = w, epsilon = 1e-12,
                                 maxit = 50),
        negbin = glm.nb(what, train, control = glm.control(epsilon = 1e-12, maxit = 100)),
        proportional_odds = polr(what, train, Hess = TRUE,
                                 control = list(reltol = 1e-14, maxit = 1000)))
      names <- attr(terms(full), "term.labels")
      if (parts[2] == "p") {
        fit <- fitted(full)
        left <- names
        beta <- coef(fit); V <- vcov(fit)
        if (ordered) {  # fastbw's steps: the quadratic of all coefficients
          beta <- c(fit$zeta, beta); V <- V[names(beta), names(beta)]
        }
        X <- model.matrix(full, train)
        assign <- attr(X, "assign")
        if (ordered) assign <- c(rep(0, 3), assign[-1])
        info <- solve(V)
        repeat {
          keep <- assign %in% c(0, match(left, names))
          C <- solve(info[keep, keep])
          b <- C %*% (info[keep, ] %*% beta)
          at <- assign[keep]
          p <- sapply(match(left, names), function(j) {
            s <- at == j
            pchisq(drop(t(b[s]) %*% solve(C[s, s]) %*% b[s]), sum(s), lower.tail = FALSE)
          })
          if (!length(left) || max(p) <= 0.157) break
          left <- left[-which.max(p)]
        }
      } else {
        start <- fitted(if (parts[1] == "forward") none else full)
        start$call$formula <- if (parts[1] == "forward") none else full
        # update() looks for the data and the model where fitted() had them
        price <- if (parts[2] == "bic") log(nrow(train)) else 2
        step_to <- suppressWarnings(stepAIC(start, scope = list(lower = none, upper = full),
                        direction = parts[1], k = price, trace = 0))
        left <- attr(terms(step_to), "term.labels")
      }
      found[k + 1] <- paste0(+(sorted(names) %in% sorted(left)), collapse = "")
    }
    rows[[length(rows) + 1]] <- data.frame(outcome = i, model = model, rule = way,
                                           sets = paste(found, collapse = " "))
  }
}
write.csv(x[, -(1:8)], "selection_counts_cases.csv", row.names = FALSE, quote = FALSE)
write.csv(do.call(rbind, rows), "selection_counts_r.csv", row.names = FALSE, quote = FALSE)
