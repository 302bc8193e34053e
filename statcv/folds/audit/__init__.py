"""What a plan leaks, and duplicated records."""
