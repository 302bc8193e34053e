"""The influence of each record on an estimate, and how the fits vary with records.

The influence of a record is the first-order change of the estimate when its weight as a
held-out record changes. What the fits add to the variance, through the records on which
they are trained, is found by random weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from statcv.inference.estimates.draws import Draws, draw
from statcv.inference.estimates.values import (
    ReadPart,
    lacks_a_class,
    means_beside,
    values_by_repeat,
)
from statcv.inference.scores import Scores, mean_by
from statcv.metrics import Metric
from statcv.metrics.influence.table import with_added
from statcv.metrics.influence.weighted import Placements
from statcv.numeric.arrays import Array, Bools, Floats, Numbers
from statcv.sensitivity import Sensitivity


@dataclass(frozen=True, eq=False)
class Units:
    """The units that are drawn independently, each with one or more records.

    Attributes
    ----------
    sample : numpy.ndarray of int, shape (n,)
        The class of each record, if classes are separate samples; otherwise 0.
    unit : numpy.ndarray of int, shape (n,)
        The record or cluster, within which influences are summed.
    counted : numpy.ndarray of bool, shape (n,)
        Whether a record was held out.
    """

    sample: Numbers
    unit: Numbers
    counted: Bools

    def variance(self, moved: Floats) -> float:
        """Return the variance of a sum of influences of records, or clusters.

        It is the sum of squares about the mean of each sample. With I units and I₁ of
        a sample, squares of units have the factor I/(I - 1), and squares within the
        sample the excess of I₁/(I₁ - 1) over it. For records this is I₁/(I₁ - 1), and
        for clusters it is the variance of Obuchowski (1997).

        Parameters
        ----------
        moved : numpy.ndarray, shape (n,)
        """
        # Obuchowski's variance: squares of units, and more within each sample
        centred, every = self.centred(moved), self._every
        total = every / (every - 1) * self._squares(centred)
        for code, own in zip(self._samples, self._sizes, strict=True):
            more = (every - own) / ((own - 1) * (every - 1))
            total += more * self._squares(np.where(self.sample == code, centred, 0.0))
        return float(total)

    def centred(self, moved: Floats) -> Floats:
        """Return the influences of records, minus their mean in each sample."""
        centred, known = np.zeros(len(moved)), self.counted | (moved != 0)
        for code in self._samples:
            members = known & (self.sample == code)
            centred[members] = moved[members] - moved[members].mean()
        return centred

    @property
    def smallest(self) -> int:
        """The number of units of the smallest sample."""
        return min(self._sizes)

    @property
    def are_classes(self) -> bool:
        """Whether classes are separate samples."""
        return bool(self._samples[-1])

    @property
    def df(self) -> float:
        """Degrees of freedom: of two samples as large as the smaller, or of one.

        Clusters of unequal size count as the number of equal ones whose mean has the
        same variance.
        """
        # with two samples, at most the df of two that are as large as the smaller
        every = self._effective(self.counted) - 1
        own = (self.counted & (self.sample == code) for code in self._samples)
        least = min(map(self._effective, own))
        df = min(every, 2 * (least - 1)) if len(self._samples) > 1 else every
        return max(df, 1.0)

    @property
    def kind(self) -> str:
        """What varies: "record" or "cluster"."""
        counts = np.bincount(self.unit[self.counted])
        return "record" if counts.max(initial=0) <= 1 else "cluster"

    def renumbered(self, number: Numbers, unit: Numbers) -> Units:
        """Return the units with other numbers for the records.

        Parameters
        ----------
        number : numpy.ndarray of int, shape (n,)
            The new number of each record.
        unit : numpy.ndarray of int, shape (m,)
            The unit of each new number.
        """
        sample, counted = np.zeros_like(unit), np.zeros(len(unit), dtype=bool)
        sample[number], counted[number] = self.sample, self.counted
        return Units(sample, unit, counted)

    def joined(self, other: Units) -> Units:
        """Return the units of two results whose records have the same numbers."""
        sample = np.maximum(self.sample, other.sample)
        return replace(self, sample=sample, counted=self.counted | other.counted)

    @cached_property
    def _samples(self) -> Numbers:
        """The codes of the samples."""
        return np.flatnonzero(np.bincount(self.sample[self.counted]))

    @cached_property
    def _sizes(self) -> list[int]:
        """The number of units of each sample."""
        own = (self.counted & (self.sample == code) for code in self._samples)
        return list(map(self._number, own))

    @cached_property
    def _every(self) -> int:
        """The number of units."""
        return self._number(self.counted)

    def _number(self, members: Bools) -> int:
        """Return the number of units of some records."""
        return int(np.count_nonzero(np.bincount(self.unit, members)))

    def _effective(self, members: Bools) -> float:
        """Return the effective number of units, (Σ m)² / Σ m² for their sizes m."""
        sizes = np.bincount(self.unit, members)
        return float(sizes.sum() ** 2 / (sizes**2).sum())

    def _squares(self, moved: Floats) -> float:
        """Return the sum over units of the squares of their influences."""
        return float((np.bincount(self.unit, moved) ** 2).sum())


@dataclass(frozen=True, eq=False)
class Pool:
    """The predictions that are pooled, in the forms that metrics read.

    Attributes
    ----------
    scores : Scores
    sensitivity : Sensitivity or None
        How the predictions change with the training records, if that is asked for.
    """

    scores: Scores
    sensitivity: Sensitivity | None

    def units(self, metric: Metric) -> Units:
        """Return the records or clusters that vary, of each class if it ranks them."""
        y, clusters = self.scores.y, self.scores.clusters
        counted = np.zeros(len(y), dtype=bool)
        counted[self.scores.row] = True
        sample = np.where(metric.ranks_classes, y, 0).astype(np.intp)
        unit = np.arange(len(y)) if clusters is None else clusters
        return Units(sample, unit, counted)

    @cached_property
    def _standardised(self) -> tuple[Numbers, Numbers, Floats]:
        """Repeat, record and standardised linear predictor of each prediction."""
        assert self.sensitivity is not None
        left = self.scores.left.chosen(self.scores.left.held)
        linear = self.sensitivity.standardised(left.fit, left.row)
        return left.repeat[left.fit], left.row, linear

    def within_fits(self, metric: Metric, how: str) -> bool:
        """Return whether standardised linear predictors stand for the predictions.

        A mean over folds or pairs compares predictions of one fit only; their linear
        predictors are standardised before they are pooled, since it does not depend on
        their location and scale.
        """
        one = self.scores.predicted.ndim == 1 or isinstance(metric.column, int)
        return self.sensitivity is not None and metric.rank and how != "pooled" and one

    def parts(self, metric: Metric, how: str) -> Iterator[tuple[ReadPart, Floats]]:
        """Yield what a metric compares of each repeat, or of all splits that overlap.

        Each record is there once, with what the metric reads and with what is pooled.
        """
        scores, standardised = self.scores, self.within_fits(metric, how)
        for where in scores.by_pool:
            row, values = scores.row[where], scores.predicted[where]
            if standardised:
                repeat, row, values = self._standardised
                own = np.isin(repeat, scores.repeat[scores.split[where]])
                row, values = row[own], values[own]
            # the mean where several fits predict a record
            row, values = mean_by(row, values)
            read, more = values, means_beside(scores, metric, where)
            if not standardised:
                cuts = more.get("threshold")
                read = metric.readable(values, scores.probabilities, cuts)
            yield ReadPart(row, scores.y[row], read, more), values


Ranked = tuple[Numbers, Array, Floats]

TINY = 1e-9  # kurtosis beyond that of two equal values
HUGE = 1e140  # an influence, sums of whose squares may be too large for a number


@dataclass(frozen=True, eq=False)
class Influences:
    """The influence of each record on an estimate.

    Attributes
    ----------
    value : float
        The metric of the pooled predictions.
    held : numpy.ndarray, shape (n,)
        The influence as a held-out record, with the fits as given.
    units : Units
        The records, or clusters, that vary.
    draws : Draws or None
        How the estimate varies with the fits; None if that is not known.
    ranked : tuple of tuples of numpy.ndarray
        The records, outcomes and pooled predictions of each repeat that a rank metric
        compares.
    placed : tuple of Placements or None
        Their placements, for an area under a ROC curve.
    unseen : float
        The variance due to records that are added to a table of few decisions.
    """

    value: float
    held: Floats
    units: Units
    draws: Draws | None = None
    ranked: tuple[Ranked, ...] = ()
    placed: tuple[Placements | None, ...] = ()
    unseen: float = 0.0

    @cached_property
    def given_fits(self) -> float:
        """The variance of the estimate with the fits as given."""
        return self.units.variance(self.held) + self.unseen

    @property
    def of_shares(self) -> float:
        """The variance that is due to the shares of the classes, such as a prevalence.

        It is left out where the classes are separate samples.
        """
        together = replace(self.units, sample=np.zeros_like(self.units.sample))
        return max(together.variance(self.held) - self.given_fits, 0.0)

    @cached_property
    def heavy_df(self) -> float:
        """The degrees of freedom of a variance of such influences (Satterthwaite).

        Few units with large influences determine it where their kurtosis is high.
        """
        # the influences of a cluster's records are summed
        moved = np.bincount(self.units.unit, self.held)
        moved = moved[np.bincount(self.units.unit, self.units.counted) > 0]
        # a power of two changes no digit of a ratio, and keeps its parts finite
        moved = np.ldexp(moved, -int(np.frexp(np.abs(moved).max(initial=0.0))[1]))
        squares = (moved - moved.mean()) ** 2
        total = float((squares**2).sum())
        if not total > 0:
            return self.units.df
        # heavy tails leave a variance fewer degrees of freedom
        kurtosis = len(moved) * total / float(squares.sum()) ** 2
        return min(self.units.df, 2 * len(moved) / max(kurtosis - 1, TINY))

    def renumbered(self, number: Numbers, unit: Numbers) -> Influences:
        """Return the influences with other numbers for the records.

        Parameters
        ----------
        number : numpy.ndarray of int, shape (n,)
            The new number of each record.
        unit : numpy.ndarray of int, shape (m,)
            The unit of each new number.
        """
        held = np.zeros(len(unit))
        held[number] = self.held
        units = self.units.renumbered(number, unit)
        ranked = tuple((number[row], y, read) for row, y, read in self.ranked)
        return replace(self, held=held, units=units, ranked=ranked)

    def minus(self, other: Influences) -> Influences:
        """Return the influences on the difference of two estimates."""
        draws = None
        if self.draws is not None and other.draws is not None:
            draws = self.draws.minus(other.draws)
        units, held = self.units.joined(other.units), self.held - other.held
        found = Influences(self.value - other.value, held, units, draws)
        # cautious, as the added records of two models count as independent
        return replace(found, unseen=self.unseen + other.unseen)


def influences(
    scores: Scores, metric: Metric, how: str = "pooled", *, of_fits: bool = True
) -> Influences | str:
    """Return the influence of each record on a metric of the pooled predictions.

    Parameters
    ----------
    scores : Scores
    metric : Metric
        A metric with derivatives.
    how : {"pooled", "per_fold", "paired"}
        The way in which the metric is stated.
    of_fits : bool
        Whether to find how the estimate varies with the fits, if that is known.

    Returns
    -------
    Influences or str
        The influences, or the reason why they are not known.
    """
    return influences_on(scores, [(metric, how)], of_fits=of_fits)[0]


def influences_on(
    scores: Scores,
    asked: Sequence[tuple[Metric, str]],
    *,
    of_fits: bool = True,
    unit: Numbers | None = None,
    units: int = 0,
) -> list[Influences | str]:
    """Return the influence of each record on several metrics.

    Predictions are pooled by repeat, as :meth:`Pool.parts` describes, and the
    influences are averaged over repeats. If each repeat is a single split, as for
    random splits, the predictions of a record are averaged first.

    Parameters
    ----------
    scores : Scores
    asked : sequence of (Metric, str)
        Metrics with derivatives, and the way in which each is stated.
    of_fits : bool
        Whether to find how the estimates vary with the fits, if that is known.
    unit, units
        What is drawn for each record, as :func:`draw` takes it.
    """
    pool = Pool(scores, scores.sensitivity if of_fits else None)
    with scores.in_threads():
        found = [_as_held_out(pool, *one) for one in asked]
        if pool.sensitivity is None:
            return found
        known = [number for number, one in enumerate(found) if not isinstance(one, str)]
        drawn = draw(scores, [asked[number] for number in known], unit, units)
        for number, one in zip(known, drawn, strict=True):
            found[number] = replace(found[number], draws=one)  # type: ignore[type-var]
    return found


def _as_held_out(pool: Pool, metric: Metric, how: str) -> Influences | str:
    """Return the influences of records as held-out records."""
    metric = with_added(metric)
    assert metric.derive is not None
    scores, parts = pool.scores, list(pool.parts(metric, how))
    held, ranked, placed, values = np.zeros(len(scores.y)), [], [], []
    unseen = 0.0
    for part, predicted in parts:
        if np.isnan(predicted).any():
            return "a prediction is missing"
        if metric.ranks_classes and lacks_a_class(part.y, scores.n_classes):
            return "a class is not held out"
        own = predicted if predicted.ndim == 1 else metric.column_of(predicted)
        found = metric.derive(part.y, part.read if metric.rank else own, **part.more)
        # the estimate is the mean over parts, and so is its derivative
        held[part.row] += found.weight / len(parts)
        unseen += found.unseen / len(parts)
        values.append(found.value)
        if metric.rank:
            ranked.append((part.row, part.y, part.read))
            placed.append(found.placed)
    if not (np.abs(held) < HUGE).all():
        return "the loss of a record is infinite, or nearly so"
    units = pool.units(metric)
    if units.smallest < 2:
        few = f"a single {units.kind}"
        return f"one class has {few}" if units.are_classes else f"there is {few}"
    by_part = pool.within_fits(metric, how) or scores.apart or scores.overlapping
    if not (by_part or unseen):
        value = float(values_by_repeat(scores, metric, "pooled").mean())
    else:
        both = zip((part for part, _ in parts), values, strict=True)
        each = [part.value(metric) if known is None else known for part, known in both]
        value = float(np.mean(each))
    compared = tuple(ranked), tuple(placed)
    return Influences(value, held, units, None, *compared, unseen)
