"""The command `statcv`."""
