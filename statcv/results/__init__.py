"""What a call returns, and how it is shown."""
