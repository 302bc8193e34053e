"""Rank metrics: ROC and precision-recall curves, their areas, and concordance."""
