"""The schemes of the study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FOLDS = 10


@dataclass(frozen=True)
class Scheme:
    """A scheme of cross-validation, and the estimates that it gives.

    Attributes
    ----------
    arguments : dict
        Arguments of :func:`statcv.cv`.
    hows : tuple of str
        Values of ``how`` in ``result.estimate``.
    fits : callable
        Number of fits for n records, n1 of them positive.
    """

    arguments: dict[str, Any]
    hows: tuple[str, ...]
    fits: Callable[[int, int], int]

    @property
    def repeated(self) -> bool:
        """Whether records are held out, or drawn to be dropped, more than once."""
        return bool(self.arguments.get("repeats", 1) > 1)


SCHEMES = {
    "stratified_kfold": Scheme(
        {"scheme": "stratified_kfold"}, ("pooled", "per_fold"), lambda n, n1: FOLDS
    ),
    "repeated_kfold": Scheme(
        {"scheme": "stratified_kfold", "repeats": 10},
        ("pooled", "per_fold"),
        lambda n, n1: 10 * FOLDS,
    ),
    "loocv": Scheme({"scheme": "loocv"}, ("pooled",), lambda n, n1: n),
    "rloocv": Scheme(
        {"scheme": "rloocv", "repeats": 1}, ("pooled", "paired"), lambda n, n1: n
    ),
    "repeated_rloocv": Scheme(
        {"scheme": "rloocv", "repeats": 4}, ("pooled", "paired"), lambda n, n1: 4 * n
    ),
    "leave_pair_out": Scheme(
        {"scheme": "leave_pair_out"}, ("paired",), lambda n, n1: n1 * (n - n1)
    ),
    "bootstrap": Scheme({"scheme": "bootstrap"}, (), lambda n, n1: 100),
}
"""The schemes of the study by name."""
