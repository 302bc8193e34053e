"""Estimates and p-values of several data sets joined."""
