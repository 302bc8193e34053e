"""Intervals and corrections that fit again."""
