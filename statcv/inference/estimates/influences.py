"""The influence of each record on an estimate: as a held-out record, and on the fits.

The influence of a record is the first-order change of the estimate when its weight
changes. A record has a part in an estimate as a held-out record, and, since it was in
the training sets of other records, through their predictions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Changes, Slopes
from statcv.inference.estimates.pool import Pool
from statcv.inference.estimates.units import Units
from statcv.inference.estimates.values import (
    lacks_a_class,
    ranks_classes,
    values_by_repeat,
)
from statcv.inference.scores import Scores
from statcv.metrics import Metric, is_listed
from statcv.metrics.influence.derivative import Placements
from statcv.threads import RECORD, shared

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

TOGETHER = 2**22  # changes of records that are computed together, of many functions
SIGNS = 12  # random ones for each record, which tell chance to about a sixth
UNSEEN = 3e-5  # of a standard error, whose own error is twenty times as large
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
    fits : numpy.ndarray, shape (n,), or None
        The influence through the fits; None if it is not known.
    units : Units
        The records, or clusters, that vary.
    ranked : tuple of pairs of numpy.ndarray
        The outcomes and pooled predictions of each repeat that a rank metric compares.
    placed : tuple of Placements or None
        Their placements, for an area under a ROC curve.
    sampled : Changes or None
        If the influences through the fits are not exact, those of some records that
        are.
    """

    value: float
    held: Floats
    fits: Floats | None
    units: Units
    ranked: tuple[tuple[NDArray[Any], Floats], ...] = ()
    placed: tuple[Placements | None, ...] = ()
    sampled: Changes | None = None

    @cached_property
    def given_fits(self) -> float:
        """The variance of the estimate with the fits as given."""
        return self.units.variance(self.held)

    @property
    def excess(self) -> float:
        """The variance that the fits add; it may be negative, or NaN if unknown."""
        if self.fits is None:
            return float("nan")
        return self._with_fits[0] - self.given_fits

    @property
    def total(self) -> float:
        """The variance with the fits, of which half of what they add is counted.

        The first-order change counts a term that depends on two records, one of which
        is held out and one in the training set, twice, as the jackknife does (Efron &
        Stein 1981).
        """
        added = 0.0 if self.fits is None else max(self.excess, 0.0) / 2
        return self.given_fits + added

    @property
    def is_settled(self) -> bool:
        """Whether the standard error would hardly change with exact influences.

        It would not if the variance that the fits add is less than 0 in any case, or
        known well enough.
        """
        if self.sampled is None:
            return True
        value, error = self._with_fits
        if value + error < self.given_fits:
            return True
        return error <= 4 * UNSEEN * self.given_fits

    @cached_property
    def _with_fits(self) -> tuple[float, float]:
        """The variance with the fits, and by how much it may be wrong.

        What exact influences would add is estimated from the records of the sample, and
        three of its standard errors are counted as an error.
        """
        assert self.fits is not None
        moved = self.held + self.fits
        value = self.units.variance(moved)
        if self.sampled is None:
            return value, 0.0
        some, exact = self.sampled.sample, self.sampled.exact
        assert some is not None and exact is not None
        off = self.units.centred(exact - self.fits[some], some)
        moved = self.units.centred(moved[some], some)
        more = (2 * moved + off) * off
        times = len(self.held) / len(some)
        value += times * float(more.sum())
        error = 3 * times * float(np.sqrt(len(some)) * more.std())
        return value, error + 2 * np.sqrt(max(value, 0.0)) * self.sampled.error

    def renumbered(self, number: Numbers, unit: Numbers) -> Influences:
        """Return the influences with other numbers for the records.

        Parameters
        ----------
        number : numpy.ndarray of int, shape (n,)
            The new number of each record.
        unit : numpy.ndarray of int, shape (m,)
            The unit of each new number.
        """

        def placed(values: NDArray[Any]) -> NDArray[Any]:
            every = np.zeros(len(unit), dtype=values.dtype)
            every[number] = values
            return every

        fits = None if self.fits is None else placed(self.fits)
        units = self.units.renumbered(number, unit)
        return Influences(self.value, placed(self.held), fits, units)

    def minus(self, other: Influences) -> Influences:
        """Return the influences on the difference of two estimates."""
        fits = None
        if self.fits is not None and other.fits is not None:
            fits = self.fits - other.fits
        units = self.units.joined(other.units)
        value, held = self.value - other.value, self.held - other.held
        return Influences(value, held, fits, units)


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
        Whether to compute the influence through the fits, if it is known.

    Returns
    -------
    Influences or str
        The influences, or the reason why there are none.
    """
    return influences_on(scores, [(metric, how)], of_fits=of_fits)[0]


def influences_on(
    scores: Scores,
    asked: Sequence[tuple[Metric, str]],
    *,
    of_fits: bool = True,
    nearly: bool = False,
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
        Whether to compute the influence through the fits, if it is known.
    nearly : bool
        Whether the influences through the fits may be exact for some records only, if
        that settles the standard errors.
    """
    pool = Pool(scores, scores.sensitivity if of_fits else None)
    with scores.in_threads():
        found = _all_as_held_out(pool, asked)
        if pool.sensitivity is None:
            return [one if isinstance(one, str) else one[0] for one in found]
        cuts = [metric.cuts for metric, _ in asked]
        return _until_settled(pool, found, cuts, nearly and scores.clusters is None)


def _until_settled(
    pool: Pool,
    found: Sequence[tuple[Influences, Slopes] | str],
    cuts: Sequence[bool],
    nearly: bool,
) -> list[Influences | str]:
    """Add the influences through the fits, exact ones where others are not enough."""
    made = _through_fits(pool, found, cuts, nearly)

    def is_open(one: Influences | str) -> bool:
        return isinstance(one, Influences) and not one.is_settled

    open_ = shared(is_open, made, RECORD * len(pool.scores.y))
    if any(open_):
        rest = [of if again else "" for of, again in zip(found, open_, strict=True)]
        exact = _through_fits(pool, rest, cuts, nearly=False)
        made = [
            new if again else old
            for old, new, again in zip(made, exact, open_, strict=True)
        ]
    return made


def _through_fits(
    pool: Pool,
    found: Sequence[tuple[Influences, Slopes] | str],
    cuts: Sequence[bool],
    nearly: bool,
) -> list[Influences | str]:
    """Add the influences through the fits to those as held-out records."""
    known = [
        (one, decides)
        for one, decides in zip(found, cuts, strict=True)
        if not isinstance(one, str)
    ]
    drawn = [_with_random_signs(pool, of[1]) for of, decides in known if decides]
    changes = _changes(pool, chain((of[1] for of, _ in known), *drawn), nearly)
    moved = iter(list(islice(changes, len(known))))
    made: list[Influences | str] = []
    for one, decides in zip(found, cuts, strict=True):
        if isinstance(one, str):
            made.append(one)
            continue
        own = next(moved)
        if decides:
            own = own.times(np.sqrt(_share_of_chance(own, islice(changes, SIGNS))))
        sampled = None if own.sample is None else own
        made.append(replace(one[0], fits=own.every, sampled=sampled))
    return made


def _changes(pool: Pool, slopes: Iterable[Slopes], nearly: bool) -> Iterator[Changes]:
    """Yield how functions of the predictions change through the fits."""
    assert pool.sensitivity is not None
    waiting, most = iter(slopes), max(SIGNS, TOGETHER // len(pool.scores.y))
    while some := list(islice(waiting, most)):
        yield from pool.sensitivity.influences(
            *pool.places, some, one_step=True, nearly=nearly
        )


def _with_random_signs(pool: Pool, slopes: Slopes) -> Iterator[Slopes]:
    """Yield the derivatives by the predictions with signs drawn by record or cluster.

    Parameters
    ----------
    pool : Pool
    slopes : Slopes
        The derivatives by the predictions.
    """
    row, unit = pool.places[1], pool.scores.clusters
    unit = row if unit is None else unit[row]
    rng = np.random.default_rng(0)
    for _ in range(SIGNS):
        sign = rng.choice([-1.0, 1.0], size=int(unit.max()) + 1)[unit]
        sign = sign if slopes.values.ndim == 1 else sign[:, None]
        yield replace(slopes, values=slopes.values * sign, rough=True)


def _share_of_chance(moved: Changes, drawn: Iterable[Changes]) -> float:
    """Return the share of the changes through the fits that is due to chance.

    Where predictions are cut at a threshold, a change of the fits changes the
    decisions on other records just as on those held out: the estimate moves, and with
    it what is estimated. That part is no error. The rest is due to the chance of which
    records, or clusters, are held out, and is as large as it would be if the signs of
    their slopes were random.

    Parameters
    ----------
    moved : Changes
        What follows from the derivatives by the predictions.
    drawn : iterable of Changes
        What follows from them with random signs.
    """
    chance = [one.every @ one.every for one in drawn]
    total = float(moved.every @ moved.every)
    return min(1.0, float(np.mean(chance)) / total) if total > 0 else 1.0


def _all_as_held_out(
    pool: Pool, asked: Sequence[tuple[Metric, str]]
) -> list[tuple[Influences, Slopes] | str]:
    """Return what :func:`_as_held_out` does for each metric, in threads if they may be.

    A function of the caller stays in one thread.
    """

    def held_out(one: tuple[Metric, str]) -> tuple[Influences, Slopes] | str:
        return _as_held_out(pool, *one)

    if len(asked) < 2 or not all(is_listed(metric) for metric, _ in asked):
        return list(map(held_out, asked))
    for metric, how in asked:  # what they have in common, once
        for part in pool.parts(metric, how):
            part.read_by(metric)
    return shared(held_out, asked, RECORD * len(pool.scores.y))


def _as_held_out(
    pool: Pool, metric: Metric, how: str
) -> tuple[Influences, Slopes] | str:
    """Return the influences as held-out records, and the slopes by the predictions."""
    scores, sensitivity = pool.scores, pool.sensitivity
    n, left = len(scores.y), scores.left
    parts = pool.parts(metric, how)
    standardised = parts[0].standardised
    held, slopes, ranked, placed, values = np.zeros(n), [], [], [], []
    alone = len(parts) == 1
    for part in parts:
        if np.isnan(part.predicted).any():
            return "a prediction is missing"
        if ranks_classes(metric) and lacks_a_class(part.y, scores.n_classes):
            return "a class is not held out"
        by = part.read_by(metric)
        found = by.derivative(metric, sensitivity)
        if alone:
            held[by.row] = found.weight
        else:
            held[by.row] += found.weight / len(parts)
        values.append(found.value)
        if metric.rank:
            ranked.append((by.y, by.read(metric)))
            placed.append(found.placed)
        if sensitivity is not None:
            slope = by.by_prediction(found.prediction, left.row)
            slopes.append(slope if alone else slope / len(parts))
    if not (np.abs(held) < HUGE).all():
        return "the loss of a record is infinite, or nearly so"
    of_fits = Slopes(np.zeros(0))
    if sensitivity is not None:
        slope = slopes[0] if alone else np.concatenate(slopes)
        if not standardised:
            slope = sensitivity.likelihood.pull_back(left.predicted[pool.where], slope)
        if not (np.abs(slope) < HUGE).all():
            return "the loss of a record changes without limit"
        of_fits = Slopes(slope, pool.linear[pool.where] if standardised else None)
    units = pool.classes if ranks_classes(metric) else pool.one_sample
    if units.smallest < 2:
        few = f"a single {units.kind}"
        return f"one class has {few}" if units.are_classes else f"there is {few}"
    if not standardised and not (scores.apart or scores.overlapping):
        value = float(values_by_repeat(scores, metric, "pooled").mean())
    else:
        each = [
            part.read_by(metric).value(metric) if known is None else known
            for part, known in zip(parts, values, strict=True)
        ]
        value = float(np.mean(each))
    made = Influences(value, held, None, units, tuple(ranked), tuple(placed))
    return made, of_fits
