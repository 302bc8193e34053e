"""Comparisons of several results."""
