"""The bias that each fold-stratifying covariate causes."""
