"""Results compared on the records that they share."""
