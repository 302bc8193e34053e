"""Intervals that take the fits as given."""
