"""Terms that learn from data, learnt on each training set."""
