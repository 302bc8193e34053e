"""Estimates and p-values combined over several data sets."""
