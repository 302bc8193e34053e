"""How each metric changes, to first order, with records and predictions."""
