"""Models made of fitted ones: points, updates and stacks."""
