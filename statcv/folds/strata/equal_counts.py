"""Where to cut values, in order, into bins of about equal count."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]
_EXACT: Final = 1500  # values up to which every choice is compared
_NEVER: Final = np.int64(2**62)


def even_cuts(counts: Any, bins: int) -> Positions:
    """Return where to cut distinct values, in order, into bins of about equal count.

    The sum of squared bin sizes is least, and so is their variance: sizes differ by at
    most one if possible. No bin is empty. Every choice of cuts is compared (dynamic
    programming) for up to some thousand values; with more, cuts near those of
    successively finer grids.

    Parameters
    ----------
    counts : array-like of int
        Number of records with each distinct value, rising; at least ``bins`` values.
    bins : int

    Returns
    -------
    numpy.ndarray of int64, shape (bins - 1,)
        The number of values below each cut.

    Examples
    --------
    >>> even_cuts([40, 15, 15, 15, 15], bins=3)
    array([1, 3])
    """
    below = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    values = len(below) - 1
    if values <= _EXACT and bins * values * values <= 10**8:
        return _least_squares(below, [np.arange(1, values)] * (bins - 1))
    return _coarse_to_fine(below, bins)


def _least_squares(below: Positions, places: list[Positions]) -> Positions:
    """Choose one place for each cut, rising, with the least sum of squared sizes."""
    before, cost = np.array([0]), np.array([0], dtype=np.int64)
    back = []
    for here in [*places, np.array([len(below) - 1])]:
        sizes = below[here][:, None] - below[before]
        total = np.where(here[:, None] > before, cost + sizes * sizes, _NEVER)
        best = total.argmin(axis=1)
        back.append(best)
        before, cost = here, np.minimum(total[np.arange(len(here)), best], _NEVER)
    cuts = np.empty(len(places), dtype=np.int64)
    at = back[-1][0]
    for j in range(len(places) - 1, -1, -1):
        cuts[j], at = places[j][at], back[j][at]
    return cuts


def _coarse_to_fine(below: Positions, bins: int) -> Positions:
    """Choose cuts on a coarse grid, then near them on finer ones.

    The excess of a heavy value over a bin's share says nothing about where the others
    should be cut, so the grid runs over counts capped at that share.
    """
    counts = np.diff(below)
    share = _share(counts, bins)
    mass = np.concatenate([[0.0], np.cumsum(np.minimum(counts, share))])
    last = len(below) - 1
    places = []
    for j in range(1, bins):
        near = (j + np.arange(-64, 65) / 4) * share
        right = np.searchsorted(mass, near)
        # room for the cuts before and after
        places.append(np.unique(np.clip([right - 1, right], j, last - (bins - j))))
    cuts = _least_squares(below, places)
    step, least = share / 4, _squares(below, cuts)
    while True:
        step = step / 8
        near = mass[cuts][:, None] + np.arange(-16, 17) * step
        beside = cuts[:, None] + np.arange(-8, 9)
        both = np.hstack([np.searchsorted(mass, near), beside])
        edge = np.arange(1, bins)[:, None]
        both = np.clip(both, edge, last - (bins - edge))
        cuts = _least_squares(below, [np.unique(row) for row in both])
        before, least = least, _squares(below, cuts)
        if step <= 1 and least == before:
            return cuts


def _squares(below: Positions, cuts: Positions) -> int:
    sizes = np.diff(below[np.concatenate([[0], cuts, [len(below) - 1]])])
    return int((sizes * sizes).sum())


def _share(counts: Positions, bins: int) -> float:
    """Return the size of a bin if heavier values have bins of their own."""
    heaviest = np.sort(counts)[::-1]
    rest = counts.sum() - np.concatenate([[0], np.cumsum(heaviest[: bins - 1])])
    shares = rest / (bins - np.arange(bins))
    fits = heaviest[:bins] <= shares
    return float(shares[fits.argmax()] if fits.any() else shares[-1])
