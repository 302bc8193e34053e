"""Classes cut from probabilities, and what is decided by them."""
