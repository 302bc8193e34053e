"""Comparisons of results on the same records."""

from statcv.results.comparison.comparison import Comparison, make_comparison

__all__ = ["Comparison", "make_comparison"]
