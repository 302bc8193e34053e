"""The left side of a formula: classes, numbers, counts and times to an event."""
