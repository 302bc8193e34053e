"""Orthogonal polynomials as a formula term, as R's ``poly``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.errors import FormulaError


class Poly:
    """Orthogonal polynomials of a numeric column, learnt on the training rows.

    ``poly(x, 3)`` in a formula gives three columns that are orthonormal over the
    rows on which they were learnt; other rows are evaluated with the learnt
    three-term recurrence (Kennedy & Gentle 1980, §8.2), as R's ``predict`` on a
    ``poly`` does.
    """

    def __init__(self) -> None:
        self._chunks: list[NDArray[np.float64]] = []
        self._centre: NDArray[np.float64] = np.empty(0)
        self._norm: NDArray[np.float64] = np.empty(0)

    def memorize_chunk(self, x: Any, degree: int = 1) -> None:
        """Take in training values."""
        self._degree = degree
        self._chunks.append(np.asarray(x, dtype=float))

    def memorize_finish(self) -> None:
        """Learn the recurrence from all training values."""
        x = np.concatenate(self._chunks)
        self._chunks = []
        degree = self._degree
        if not isinstance(degree, int) or degree < 1:
            raise FormulaError(f"poly() needs a degree of 1 or more, not {degree!r}.")
        if len(np.unique(x)) <= degree:
            raise FormulaError(
                f"poly() of degree {degree} needs more than {degree} distinct "
                f"values in every training set, and one has {len(np.unique(x))}."
            )
        centre, norm = [], [1.0, float(len(x))]
        before, now = np.zeros_like(x), np.ones_like(x)
        for _ in range(degree):
            centre.append(float((x * now**2).sum() / norm[-1]))
            after = (x - centre[-1]) * now - norm[-1] / norm[-2] * before
            before, now = now, after
            norm.append(float((now**2).sum()))
        self._centre, self._norm = np.array(centre), np.array(norm)

    def transform(self, x: Any, degree: int = 1) -> NDArray[np.float64]:
        """Return the columns of degree 1, …, ``degree`` at ``x``."""
        x = np.asarray(x, dtype=float)
        columns = np.empty((len(x), degree))
        before, now = np.zeros_like(x), np.ones_like(x)
        for j in range(degree):
            ratio = self._norm[j + 1] / self._norm[j]
            before, now = now, (x - self._centre[j]) * now - ratio * before
            columns[:, j] = now / np.sqrt(self._norm[j + 2])
        return columns


def poly(x: Any, degree: int = 1) -> NDArray[np.float64]:
    """Orthogonal polynomials; inside a formula they are learnt on training rows.

    >>> import numpy as np
    >>> columns = poly(np.arange(5.0), 2)
    >>> np.round(columns.T @ columns, 12) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    learnt = Poly()
    learnt.memorize_chunk(x, degree)
    learnt.memorize_finish()
    return learnt.transform(x, degree)


poly.__patsy_stateful_transform__ = Poly  # type: ignore[attr-defined]
