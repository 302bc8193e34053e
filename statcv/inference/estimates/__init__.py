"""Metrics of held-out predictions."""
