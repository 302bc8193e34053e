"""Data files that are installed with the package; README.md describes them."""
