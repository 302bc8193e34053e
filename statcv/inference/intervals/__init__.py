"""Intervals without refits, and the table of all intervals."""
