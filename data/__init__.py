"""Data files that are installed with the package; README.md tells what they hold."""
