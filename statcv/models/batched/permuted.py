"""The fits of a plan, once for each of several outcomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from statcv.folds import Ragged
from statcv.models.base import Matrix
from statcv.models.batched.blocks import Numbers
from statcv.models.batched.folds import Folds


def permuted_folds(folds: Folds, times: int, places: Numbers | None = None) -> Folds:
    """Repeat the fits of a plan once for each of several outcomes.

    Parameters
    ----------
    folds : Folds
        The fits of one outcome.
    times : int
        Number of outcomes; the fits of the k-th outcome are the k-th block.
    places : numpy.ndarray of int, shape (times, n), optional
        The record that takes the place of each record of the plan, if folds go with the
        outcome; by default they stay with the records. Matrices of the fits are not
        kept then, since their training sets are others.

    Examples
    --------
    >>> folds = Folds.leaving_out([[0], [1, 2]])
    >>> twice = permuted_folds(folds, 2, np.array([[0, 1, 2], [2, 0, 1]]))
    >>> [twice.out[fit].tolist() for fit in range(4)], twice.outcome
    ([[0], [1, 2], [2], [0, 1]], array([0, 0, 1, 1]))
    """
    each = len(folds)
    again = np.tile(np.arange(each), times)
    lists = [folds.out.chosen(again), folds.copied.chosen(again)]
    weights, seeds, matrices = folds.weights, folds.seeds, folds.matrices
    if matrices is not None:
        matrices = None if places is not None else matrices.chosen(again)
    if places is not None:
        lists = [_moved(one, places, each) for one in lists]

    def of_fits(fits: Numbers) -> Matrix:
        assert weights is not None
        given = weights(fits % each)
        if places is None:
            return given
        moved = np.empty_like(given)
        # the weight of a record goes to the one that takes its place
        np.put_along_axis(moved, places[fits // each], given, axis=1)
        return moved

    return replace(
        folds,
        out=lists[0],
        copied=lists[1],
        weights=None if weights is None else of_fits,
        outcome=np.repeat(np.arange(times), each),
        times=None,
        seeds=None if seeds is None else lambda fits: seeds(fits % each),
        matrices=matrices,
    )


def _moved(lists: Ragged, places: Numbers, each: int) -> Ragged:
    rows = places[lists.owners // each, lists.values].astype(np.int32)
    return Ragged(rows, lists.starts).rising()
