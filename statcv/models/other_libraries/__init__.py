"""Models that other libraries fit, and what they can do."""
