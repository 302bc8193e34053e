"""The fits of all folds of a plan as one problem; each module as its model alone."""
