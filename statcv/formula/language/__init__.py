"""The language of formulas: how it is read, and what it may call."""
