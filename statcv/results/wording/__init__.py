"""What a result says of itself: notes, warnings and sentences."""
