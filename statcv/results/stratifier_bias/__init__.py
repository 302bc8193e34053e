"""What each stratifier costs."""
