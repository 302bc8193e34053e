"""Training sets of equal class totals."""
