"""The command ``statcv``."""
