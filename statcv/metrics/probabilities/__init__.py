"""Whether predicted probabilities are those observed."""
