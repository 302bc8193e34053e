"""Rules by which a threshold may be chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from statcv.errors import ArgumentError, suggestion
from statcv.models.base import Matrix


@dataclass(frozen=True)
class Rule:
    """A criterion that a threshold maximises among the training records.

    Attributes
    ----------
    label : str
    score : callable or None
        Function of the weights of true and of false positives, and of all positives and
        negatives, that is largest at the threshold; None for the share of positives,
        which is a threshold by itself.
    """

    label: str
    score: Callable[[Matrix, Matrix, Matrix, Matrix], Matrix] | None


def _youden(true: Matrix, false: Matrix, ones: Matrix, zeros: Matrix) -> Matrix:
    return true / ones - false / zeros


def _f1(true: Matrix, false: Matrix, ones: Matrix, zeros: Matrix) -> Matrix:
    return 2 * true / (true + false + ones)


def _accuracy(true: Matrix, false: Matrix, ones: Matrix, zeros: Matrix) -> Matrix:
    return (true + zeros - false) / (ones + zeros)


RULES = {
    "youden": Rule("where sensitivity plus specificity is largest", _youden),
    "f1": Rule("where F1 is largest", _f1),
    "accuracy": Rule("where accuracy is largest", _accuracy),
    "prevalence": Rule("at the share of positives", None),
}


def find_rule(name: str) -> Rule:
    """Return a rule by its name.

    Raises
    ------
    ArgumentError
        If there is no such rule.
    """
    if name not in RULES:
        listed = ", ".join(repr(known) for known in RULES)
        raise ArgumentError(
            f"threshold={name!r} is neither a number nor a rule; rules are {listed}."
            + suggestion(name, RULES)
        )
    return RULES[name]
