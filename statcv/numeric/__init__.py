"""Computation beneath the statistics: products, inverses, Newton's steps, threads."""
