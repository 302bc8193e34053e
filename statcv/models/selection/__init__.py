"""Terms that are chosen in every training set, and those chosen in all of them."""

from statcv.models.selection.rules import (
    Backward,
    Both,
    Forward,
    Screen,
    Selection,
    chooses_terms,
    regression_of,
    selecting,
    selection_in,
)
from statcv.models.selection.terms import Term, terms_of

__all__ = [
    "Backward",
    "Both",
    "Forward",
    "Screen",
    "Selection",
    "Term",
    "chooses_terms",
    "regression_of",
    "selecting",
    "selection_in",
    "terms_of",
]
