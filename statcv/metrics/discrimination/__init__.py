"""Ranks: ROC and precision-recall curves, their areas, concordance."""
