"""Variances of areas under ROC curves, and tests of their differences."""
