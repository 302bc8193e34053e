"""The fits of all folds of a plan as one problem, one module per model."""
