"""Estimates of metrics from held-out predictions."""
