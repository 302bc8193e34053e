"""Paired comparisons of results for the same records."""
