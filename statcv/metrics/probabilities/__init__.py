"""The calibration of predicted probabilities."""
