"""The command ``statcv``."""

WIDTH = 79  # width of the notes and lists that commands print, in characters
