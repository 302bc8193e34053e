"""Intervals and corrections for which the model is refitted."""
