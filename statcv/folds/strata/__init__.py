"""Records that stay together: values, quantile bins, hashes."""
