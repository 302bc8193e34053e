"""Metrics of predicted classes and probabilities, and of decisions based on them."""
