"""The ROC curve of records that are compared in pairs, without a common score.

In leave-pair-out cross-validation each pair of a positive and a negative record has a
fit of its own. A ROC curve can still be drawn from *placement values*: that of a
positive record is the share of negative records that rank above it. The curve is the
distribution function of the placement values (Pepe and Cai 2004), and the area under
it is the share of pairs that are ranked correctly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.arguments import check_level
from statcv.errors import MetricError
from statcv.metrics.discrimination import bands
from statcv.metrics.inputs import vector
from statcv.numeric.arrays import ArrayLike, Floats, Numbers
from statcv.tables import Printed


@dataclass(frozen=True, eq=False, repr=False)
class PairedRoc(Printed):
    """ROC curve of records that are compared in pairs.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (points,)
        False and true positive rates, from (0, 0) to (1, 1). A false positive rate at
        which the curve jumps occurs twice.
    area : float
        Area under the curve: the share of the pairs that are ranked correctly.

    Examples
    --------
    >>> from statcv.metrics import paired_roc
    >>> curve = paired_roc(["a", "a", "b", "b"], ["c", "d", "c", "d"], [1, 1, 0, 1])
    >>> curve.tpr.tolist(), curve.area
    ([0.0, 0.5, 0.5, 1.0, 1.0], 0.75)
    """

    _points = ("fpr", "tpr")

    fpr: Floats
    tpr: Floats
    area: float


def paired_roc(positive: ArrayLike, negative: ArrayLike, won: ArrayLike) -> PairedRoc:
    """ROC curve of pairs of a positive and a negative record.

    Parameters
    ----------
    positive, negative : array_like of shape (pairs,)
        Labels of the two records of each pair.
    won : array_like of shape (pairs,)
        1 if the positive record ranks higher, 0 if the negative record does, and 0.5
        for a tie, which gives a straight segment of the curve.

    Returns
    -------
    PairedRoc
        The curve and its area.

    Raises
    ------
    MetricError
        If there are no pairs, the arrays differ in length, or `won` holds anything but
        0, 0.5 and 1.

    Notes
    -----
    If one score ranks all records, and every positive record is paired with every
    negative one, this is the curve of :func:`roc_curve`. In a sample of pairs each
    placement value is estimated from few pairs: the area is unbiased, but the steps are
    coarse and the shape of the curve is blurred.

    References
    ----------
    Pepe and Cai (2004), Biometrics 60:528; Airola et al. (2011), Computational
    Statistics & Data Analysis 55:1828, for leave-pair-out.

    Examples
    --------
    >>> curve = paired_roc(["a", "a", "b", "b"], ["c", "d", "c", "d"], [1, 1, 0, 1])
    >>> curve.fpr.tolist(), curve.tpr.tolist(), curve.area
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0], 0.75)
    """
    placed = _PairTables.of(positive, negative, won)
    ones = np.ones(len(placed.pairs)), np.ones(placed.pairs.shape[1])
    low, high, weight = placed.values(*ones)
    x = np.repeat(np.unique(np.concatenate([[0.0], low, high, [1.0]])), 2)
    y = _height(x, low, high, weight)
    y[::2] = _height(x[::2], low, high, weight, before=True)
    kept = np.append(True, (np.diff(x) > 0) | (np.diff(y) > 0))
    x, y = x[kept], y[kept]
    return PairedRoc(x, y, float(((y[1:] + y[:-1]) / 2 * np.diff(x)).sum()))


def paired_roc_band(
    positive: ArrayLike,
    negative: ArrayLike,
    won: ArrayLike,
    *,
    level: float = 0.95,
    at: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    n_boot: int | None = None,
    seed: int | np.random.Generator | None = None,
) -> bands.CurveBand:
    """Pointwise confidence band of the ROC curve of records compared in pairs.

    The band consists of percentiles over bootstrap samples of the records of each
    class. The pairs are not resampled, since they are not independent. The ranking of
    each pair is taken as given.

    Parameters
    ----------
    positive, negative : array_like of int, shape (pairs,)
        Numbers of the two records of each pair.
    won : array_like of shape (pairs,)
        As in `paired_roc`.
    level : float, default 0.95
        Confidence level at each point.
    at : array_like of shape (points,), optional
        False positive rates; by default 0, 0.01, …, 1.
    clusters : array_like of shape (records,), optional
        Cluster of each record, indexed by its number. The bootstrap then draws whole
        clusters.
    n_boot : int, optional
        Number of bootstrap samples; 2000 by default.
    seed : int, Generator or None
        Seed for the bootstrap.

    Returns
    -------
    CurveBand
        The band. It is NaN, with the reason, if a class has fewer than two records (or
        clusters).

    Raises
    ------
    MetricError
        As in `paired_roc`, or if an argument is out of range.

    Examples
    --------
    >>> i, j = np.divmod(np.arange(100), 10)
    >>> band = paired_roc_band(i, 10 + j, (3 * i + 7 > 2 * j) * 1, at=[0.2], seed=1)
    >>> band.lower.tolist(), band.estimate.tolist(), band.upper.tolist()
    ([0.4], [0.7], [1.0])
    """
    check_level(level, MetricError)
    where = np.linspace(0, 1, 101) if at is None else bands.shares_at(at)
    placed = _PairTables.of(positive, negative, won)
    n_positive, n_negative = placed.pairs.shape
    of_class = np.repeat([True, False], [n_positive, n_negative])
    labels = None
    if clusters is not None:
        where_from = np.concatenate(placed.records)
        labels = np.asarray(clusters)
        if labels.ndim != 1 or labels.size <= where_from.max(initial=-1):
            raise MetricError("clusters must have one value for each record.")
        labels = labels[where_from]

    def of_sample(times: Floats) -> Floats:
        return _height(where, *placed.values(times[:n_positive], times[n_positive:]))

    order, alike = np.arange(of_class.size), np.zeros((1, of_class.size))
    how = level, labels, n_boot, seed
    return bands.band_of_samples(where, of_sample, of_class, alike, order, how)


@dataclass(frozen=True, eq=False)
class _PairTables:
    """Tables of pairs: one row per positive record, one column per negative record.

    Attributes
    ----------
    records : tuple of numpy.ndarray
        Labels of the rows, and of the columns.
    pairs, lost, tied : numpy.ndarray, shape (positives, negatives)
        Number of pairs of the two records, number lost by the positive record, and
        number tied.
    """

    records: tuple[Numbers, Numbers]
    pairs: Floats
    lost: Floats
    tied: Floats

    @classmethod
    def of(
        cls, positive: ArrayLike, negative: ArrayLike, won: ArrayLike
    ) -> _PairTables:
        outcome = vector(won, "won")
        sides = np.asarray(positive), np.asarray(negative)
        if not outcome.size:
            raise MetricError("there are no pairs, and hence no ROC curve.")
        if any(side.shape != outcome.shape for side in sides):
            shapes = ", ".join(str(one.shape) for one in (*sides, outcome))
            raise MetricError(
                f"positive, negative and won must have one shape, not {shapes}."
            )
        odd = outcome[~np.isin(outcome, (0, 0.5, 1))]
        if odd.size:
            raise MetricError(f"won must hold 0, 0.5 or 1, not {odd[0]:g}.")
        (rows, i), (columns, j) = (np.unique(s, return_inverse=True) for s in sides)
        cell, size = i * len(columns) + j, len(rows) * len(columns)
        kinds, shape = (None, outcome == 0, outcome == 0.5), (len(rows), len(columns))
        tables = (np.bincount(cell, one, size).reshape(shape) for one in kinds)
        return cls((rows, columns), *(table.astype(float) for table in tables))

    def values(self, of_rows: Floats, of_columns: Floats) -> tuple[Floats, ...]:
        """Return where the step of each row begins and ends, and its weight."""
        tables = (self.pairs, self.lost, self.tied)
        met, lost, tied = (table @ of_columns for table in tables)
        there = (met > 0) & (of_rows > 0)
        met, lost, tied = met[there], lost[there], tied[there]
        return lost / met, (lost + tied) / met, of_rows[there] * met


def _height(
    at: Floats, low: Floats, high: Floats, weight: Floats, *, before: bool = False
) -> Floats:
    """Return the share of the weight up to each point, or before it at a jump."""
    if not weight.size:
        return np.full(at.shape, np.nan)
    wide = high > low
    slope = np.divide(1, high - low, out=np.zeros_like(low), where=wide)
    x = at[:, None]
    risen = x > low if before else x >= low
    part = np.where(wide, np.clip((x - low) * slope, 0, 1), risen)
    return np.asarray(part @ (weight / weight.sum()))
