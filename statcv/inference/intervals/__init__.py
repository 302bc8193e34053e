"""Intervals that take the fits as given, and the table of all intervals."""
