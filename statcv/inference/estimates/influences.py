"""The influence of each record on an estimate, and how the fits vary with records.

The influence of a record is the first-order change of the estimate when its weight as a
held-out record changes. What the fits add to the variance, through the records on which
they are trained, is found by random weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.inference.estimates.draws import Draws, draw
from statcv.inference.estimates.pool import Pool
from statcv.inference.estimates.units import Units
from statcv.inference.estimates.values import lacks_a_class, values_by_repeat
from statcv.inference.scores import Scores
from statcv.metrics import Metric, is_listed
from statcv.metrics.influence.derivative import Placements
from statcv.numeric.threads import RECORD, shared

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
Ranked = tuple[Numbers, NDArray[Any], Floats]

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
    """

    value: float
    held: Floats
    units: Units
    draws: Draws | None = None
    ranked: tuple[Ranked, ...] = ()
    placed: tuple[Placements | None, ...] = ()

    @cached_property
    def given_fits(self) -> float:
        """The variance of the estimate with the fits as given."""
        return self.units.variance(self.held)

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

    @property
    def excess(self) -> float:
        """The variance that the fits add; NaN if it is not known."""
        return float("nan") if self.draws is None else self.draws.excess

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
        units = self.units.joined(other.units)
        return Influences(
            self.value - other.value, self.held - other.held, units, draws
        )


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
        found = _all_as_held_out(pool, asked)
        if pool.sensitivity is None:
            return found
        known = [number for number, one in enumerate(found) if not isinstance(one, str)]
        drawn = draw(scores, [asked[number] for number in known], unit, units)
        for number, one in zip(known, drawn, strict=True):
            found[number] = replace(found[number], draws=one)  # type: ignore[type-var]
    return found


def _all_as_held_out(
    pool: Pool, asked: Sequence[tuple[Metric, str]]
) -> list[Influences | str]:
    """Return what :func:`_as_held_out` does for each metric, in threads if they may be.

    A function of the caller stays in one thread.
    """

    def held_out(one: tuple[Metric, str]) -> Influences | str:
        return _as_held_out(pool, *one)

    if len(asked) < 2 or not all(is_listed(metric) for metric, _ in asked):
        return list(map(held_out, asked))
    for metric, how in asked:  # what they have in common, once
        for part in pool.parts(metric, how):
            part.read_by(metric)
    return shared(held_out, asked, RECORD * len(pool.scores.y))


def _as_held_out(pool: Pool, metric: Metric, how: str) -> Influences | str:
    """Return the influences of records as held-out records."""
    scores = pool.scores
    parts = pool.parts(metric, how)
    held, ranked, placed, values = np.zeros(len(scores.y)), [], [], []
    for part in parts:
        if np.isnan(part.predicted).any():
            return "a prediction is missing"
        if metric.ranks_classes and lacks_a_class(part.y, scores.n_classes):
            return "a class is not held out"
        by = part.read_by(metric)
        found = by.derivative(metric)
        # the estimate is the mean over parts, and so is its derivative
        held[by.row] += found.weight / len(parts)
        values.append(found.value)
        if metric.rank:
            ranked.append((by.row, by.y, by.read(metric)))
            placed.append(found.placed)
    if not (np.abs(held) < HUGE).all():
        return "the loss of a record is infinite, or nearly so"
    units = pool.units(metric)
    if units.smallest < 2:
        few = f"a single {units.kind}"
        return f"one class has {few}" if units.are_classes else f"there is {few}"
    if not parts[0].standardised and not (scores.apart or scores.overlapping):
        value = float(values_by_repeat(scores, metric, "pooled").mean())
    else:
        each = [
            part.read_by(metric).value(metric) if known is None else known
            for part, known in zip(parts, values, strict=True)
        ]
        value = float(np.mean(each))
    return Influences(value, held, units, None, tuple(ranked), tuple(placed))
