# Orthogonal polynomials and B-splines by R, as reference numbers.
#
#   Rscript tests/reference/poly.R        (from the root of the repository)
#
# Writes poly_r.csv: bases learnt on the training rows, evaluated there and at new
# rows, some of them outside the range of the training rows. The tests need no R.

library(splines)
x <- c(1.5, 2, 3.25, 4, 4.5, 6, 7.75, 8, 9.5, 11, 12.25, 13)
new <- c(-1, 0.5, 1.5, 5.125, 12.999, 13, 14, 20)

tidy <- function(term, rows, at, basis) {
  data.frame(term = term, rows = rows, x = rep(at, ncol(basis)),
             column = rep(seq_len(ncol(basis)), each = length(at)),
             value = as.vector(unclass(basis)))
}
both <- function(term, basis) {
  rbind(tidy(term, "training", x, basis),
        tidy(term, "new", new, suppressWarnings(predict(basis, new))))
}
table <- rbind(
  both("poly(x, 1)", poly(x, 1)),
  both("poly(x, 2)", poly(x, 2)),
  both("poly(x, 4)", poly(x, 4)),
  both("bs(x, df=4)", bs(x, df = 4)),
  both("bs(x, df=6)", bs(x, df = 6)),
  both("bs(x, knots=(5, 8), degree=2)", bs(x, knots = c(5, 8), degree = 2))
)
table$value <- formatC(table$value, digits = 17, format = "g")
write.csv(table, "tests/reference/poly_r.csv", row.names = FALSE, quote = 1)
