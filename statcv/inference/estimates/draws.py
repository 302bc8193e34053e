"""How an estimate varies when records are weighted at random, and its truth with it.

Every draw gives each record, or cluster, an exponential weight (Rubin 1981), both where
it is held out and where it trains: the coefficients of all fits move by one Newton
step. The performance of the model itself is that of the moved fit to all records, whose
records are then all counted alike. By how much an estimate and its truth differ from
draw to draw shows what its error owes to the records and to the fits together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress

import numpy as np

from statcv.engine import cut
from statcv.inference.estimates.pairs import ConcordantPairs, concordant_pairs
from statcv.inference.estimates.values import values_by_split
from statcv.inference.scores import Scores, mean_by
from statcv.metrics import Metric
from statcv.metrics.influence.table import with_added
from statcv.metrics.influence.weighted import won
from statcv.models.selection import chooses_terms
from statcv.numeric.arrays import Floats, Numbers
from statcv.sensitivity import Reference

# most draws, which give a standard error to 5 %, and limits to 2.5 % of their distance
DRAWS = 200
CELLS = 2**22  # numbers in the arrays of the draws that are made at once


@dataclass(frozen=True, eq=False)
class MovedPredictions:
    """Held-out predictions, and those of the model, as functions of the weights.

    Attributes
    ----------
    scores : Scores
    """

    scores: Scores

    @cached_property
    def reference(self) -> Reference:
        """The fit to all records."""
        assert self.scores.sensitivity is not None
        return self.scores.sensitivity.reference

    @property
    def step(self) -> int:
        """How many draws are made at a time."""
        cells = max(len(self.scores.left.row), len(self.scores.y))
        return max(1, min(DRAWS, CELLS // (cells * self.reference.classes)))

    @cached_property
    def _linear(self) -> Floats:
        """The linear predictors of ``scores.left``, (k, classes)."""
        left = self.scores.left
        eta = self.reference.likelihood.link(left.predicted)
        return np.asarray(eta.reshape(len(left.row), -1))

    def predictions(self, change: Floats) -> tuple[Floats, Floats]:
        """Return predictions in the order of ``scores``, and in that of its ``left``.

        Parameters
        ----------
        change : numpy.ndarray, shape (m, n)
            The change of the weight of each record.

        Returns
        -------
        numpy.ndarray, shape (m, k) or (m, k, classes)
        """
        left = self.scores.left
        # one Newton step moves the linear predictors of every fit
        return self._moved(self.reference.shifts(change, left.fit, left.row))

    def shifted(self, shift: Floats) -> tuple[Floats, Floats]:
        """Return the same with linear predictors that move by (n, classes)."""
        return self._moved(shift[None, self.scores.left.row])

    def _moved(self, shifts: Floats) -> tuple[Floats, Floats]:
        every = self._read(self._linear + shifts)
        return self._by_split(every), every

    def model(self, change: Floats) -> Floats:
        """Return predictions of the fit to all records, (m, n) or (m, n, classes)."""
        return self._read(self.reference.predictors(change))

    def _read(self, eta: Floats) -> Floats:
        made = self.reference.likelihood.mean(eta)
        return np.asarray(made[..., 0] if self.scores.predicted.ndim == 1 else made)

    def _by_split(self, every: Floats) -> Floats:
        """Average the predictions of the fits of each split."""
        held, place = self._places
        some = every if len(held) == every.shape[1] else every[:, held]
        if place is None:
            return some
        return mean_along(some, place)

    @cached_property
    def _places(self) -> tuple[Numbers, Numbers | None]:
        """The held-out records of ``left``, and where they are in ``scores``."""
        scores, left = self.scores, self.scores.left
        held = np.flatnonzero(left.held)
        if np.array_equal(left.row[held], scores.row):
            return held, None
        assert scores.sensitivity is not None
        split = scores.sensitivity.setup.plan.fits.split_of[left.fit[held]]
        wanted, found = (
            np.unique(one, return_inverse=True)[1] * len(scores.y) + row
            for one, row in ((scores.split, scores.row), (split, left.row[held]))
        )
        known = np.isin(found, wanted)  # a pair of a tournament may be cut
        order = np.argsort(wanted, kind="stable")
        place = order[np.searchsorted(wanted, found[known], sorter=order)]
        return held[known], place


def mean_along(values: Floats, place: Numbers) -> Floats:
    """Return the means along the second axis of values with the same place."""
    return np.swapaxes(mean_by(place, np.swapaxes(values, 0, 1))[1], 0, 1)


# ---- what the draws make of an estimate ----


FEWEST_DRAWS = 50  # fewest draws, as fits of many records add little variance
RECORDS = 10**6  # units times draws, where the number of draws is between its limits
# largest distance of an error from the median, in sds of a normal distribution
MAX_SDS = 4.0
ROUNDING = 1e-12  # relative difference of two variances that is rounding
QUARTILES = 1.349  # standard deviations of a normal distribution between its quartiles
MAX_PAIRS = 2**18  # most listed pairs that are compared in every draw, or a sample


@dataclass(frozen=True, eq=False)
class Draws:
    """What the draws make of an estimate.

    Attributes
    ----------
    error : numpy.ndarray, shape (draws,)
        The estimate minus the performance of the model, with the weights of each draw.
    held : numpy.ndarray, shape (draws,)
        The estimate with weighted held-out records and the fits as given.
    moved : numpy.ndarray, shape (draws,)
        The estimate with the weights of each draw, in the fits as well.
    share : float
        The share of what the draws add to the variance that is due to the fits. Of a
        smooth function of the coefficients it is one half, since a term that depends
        on a held-out record and a training record is counted as well by the influence
        of held-out records on other fits (Efron & Stein 1981). Of ranks it is all, as
        the sign of a coefficient is not a smooth function of it, unless terms are
        chosen (:func:`_share_of_area`); a mean over folds then has it times the squared
        share of the fits that have a column.
    """

    error: Floats
    held: Floats
    moved: Floats
    share: float = 1.0

    @classmethod
    def none(cls, units: int) -> Draws:
        """Return the draws of an estimate that does not vary with the fits."""
        return cls(*np.zeros((3, n_draws(units))))

    def minus(self, other: Draws) -> Draws:
        """Return the draws of the difference of two estimates."""
        names = ("error", "held", "moved")
        apart = {name: getattr(self, name) - getattr(other, name) for name in names}
        return replace(self, **apart)

    @property
    def excess(self) -> float:
        """The variance that is due to the fits."""
        total, held = float(self.error.var()), float(self.held.var())
        return self.share * (total - held) if total > (1 + ROUNDING) * held else 0.0

    @property
    def sides(self) -> tuple[float, float]:
        """The same, if errors on both sides were as large as those above and below 0.

        Errors above 0 call for a lower limit that is further away.
        """
        # twice the mean square on either side of the mean
        away, held = self.error - self.error.mean(), float(self.held.var())
        parts = (np.maximum(sign * away, 0.0) for sign in (1, -1))
        above, below = (2 * float(np.mean(part**2)) for part in parts)
        return self.share * max(above - held, 0.0), self.share * max(below - held, 0.0)

    @property
    def bias(self) -> float:
        """Half of the mean error of the draws, an estimate of the bias of the estimate.

        Draws add the variation of the fits to that of the fits given, and so show the
        bias twice. It contains the optimism of the model, which is evaluated on its own
        records.
        """
        return SMOOTH * float(self.error.mean())

    def shared(self, other: Draws) -> float:
        """Return the covariance with another estimate that is due to the fits."""
        # the covariance with moved fits, minus that with the fits as given
        with_fits = np.cov(self.error, other.error, bias=True)[0, 1]
        given = np.cov(self.held, other.held, bias=True)[0, 1]
        return math.sqrt(self.share * other.share) * float(with_fits - given)


def draw(
    scores: Scores,
    asked: Sequence[tuple[Metric, str]],
    unit: Numbers | None = None,
    units: int = 0,
) -> list[Draws | None]:
    """Return the draws of several estimates, or None for one that has none.

    Parameters
    ----------
    scores : Scores
        The held-out predictions of fits whose sensitivity is known.
    asked : sequence of (Metric, str)
        The metrics, and the way in which each is stated.
    unit : numpy.ndarray of int, shape (n,), optional
        What is drawn for each record; its cluster, or the record itself, by default.
    units : int
        How many units there are, if they are given.
    """
    if unit is None:
        unit = np.arange(len(scores.y)) if scores.clusters is None else scores.clusters
        units = int(unit.max()) + 1
    draws = n_draws(units)
    moving = MovedPredictions(scores)
    forms = [_form(scores, metric, how) for metric, how in asked]
    found = np.full((len(asked), 3, draws), np.nan)
    start = 0
    for weights in _weights(unit, units, draws, moving.step):
        some = slice(start, start + len(weights))
        moved, model = moving.predictions(weights - 1), moving.model(weights - 1)
        given = scores.predicted[None], scores.left.predicted[None]
        for made, form in zip(found, forms, strict=True):
            made[2, some] = form.value(*moved, weights)
            # the error of an estimate is its distance from the value of the model
            with np.errstate(invalid="ignore"):  # infinite where an exp() overflows
                made[0, some] = made[2, some] - form.of_model(model)
            made[1, some] = form.value(*given, weights)
        start = some.stop
    assert scores.sensitivity is not None
    chosen = chooses_terms(scores.sensitivity.setup.model)
    drawn = list[Draws | None]()
    for made, (metric, how) in zip(found, asked, strict=True):
        error, held, alone = made
        if not np.isfinite(made).all():
            drawn.append(None)
        elif metric.rank:
            of_pairs = chosen and metric.pairs is not None
            share = _share_of_area(held) if of_pairs else 1.0
            if chosen and metric.is_auroc and how != "pooled":
                # the draws move the model, but of the folds only those with a column
                share *= scores.sensitivity.varying**2
            drawn.append(Draws(error, held, alone, share))
        else:  # a smooth function of the coefficients
            if metric.reads != "classes":  # whose errors are bounded, and often all 0
                error = _limited(error)
            drawn.append(Draws(error, held, alone, share=SMOOTH))
    return drawn


def _share_of_area(held: Floats) -> float:
    """Return the share of what the draws add to the variance of a selection's area.

    An area is a smooth function of the coefficients as far as predictors are signal,
    by D², where D = 2θ - 1 for an area θ (its variance falls by D² from that without
    signal, as Wilson's does), and depends on signs as far as they are noise.
    """
    signal = (2 * float(held.mean()) - 1) ** 2
    return signal * SMOOTH + (1 - signal)


def _limited(error: Floats) -> Floats:
    """Return errors that are at most a few standard deviations from the median.

    A calibration slope has no variance where a draw may leave no signal at all.
    """
    # a loss is unbounded to first order, so that single draws may be extreme
    low, middle, high = np.quantile(error, (0.25, 0.5, 0.75))
    reach = MAX_SDS * (high - low) / QUARTILES
    return np.clip(error, middle - reach, middle + reach)


def n_draws(units: int) -> int:
    """Return the number of draws of that many records or clusters.

    >>> n_draws(100), n_draws(10_000), n_draws(1_000_000)
    (200, 100, 50)
    """
    return min(DRAWS, max(FEWEST_DRAWS, RECORDS // max(units, 1)))


def _weights(unit: Numbers, units: int, draws: int, step: int) -> Iterator[Floats]:
    """Yield exponential weights of some draws, (m, n), the same for any step."""
    rng = np.random.default_rng(0)
    for some in cut(draws, step):
        # exponential weights are the Bayesian bootstrap, equal within a cluster
        yield rng.standard_exponential((len(some), units))[:, unit]


# ---- nested models ----

SMOOTH = 0.5  # the share of what the draws add for a smooth function of coefficients


def variance_at_equality(
    both: Sequence[Scores],
    drawn: Sequence[Draws],
    metric: Metric,
    how: str,
    unit: Numbers,
    units: int,
) -> float:
    """Return the variance of a difference of nested models that perform equally well.

    Terms that are estimated from few records gain nothing unless their part of the
    linear predictor varies as much between records as its estimate does by chance. The
    mean square of that estimate is then twice its variance.

    Parameters
    ----------
    both : sequence of Scores
        The held-out predictions of the smaller and of the larger model, in the same
        folds.
    drawn : sequence of Draws
        The draws of both.
    metric, how, unit, units
        As :func:`draw` takes them.

    Returns
    -------
    float
        The variance with the fits as given, relative to that of the difference; at
        most 1.
    """
    larger = MovedPredictions(both[1])
    a, b = MovedPredictions(both[0]).reference, larger.reference
    X, sums = np.column_stack([b.X, a.X]), np.zeros((units, b.classes, 0))
    for one, sign in ((b, 1), (a, -1)):
        moved = np.zeros((units, *one.influence.shape[1:]))
        np.add.at(moved, unit, sign * one.times[:, None, None] * one.influence)
        sums = np.concatenate([sums, moved], axis=2)
    added = b.eta - a.eta
    # random weights of variance 1 move the added part by this mean square
    noise = float(np.einsum("ucp,ucq,pq->", sums, sums, X.T @ X, optimize=True))
    size = float((added**2).sum())
    if not size > 2 * noise:
        return 1.0
    # what the larger model adds shrinks to its size at equality
    predictions = larger.shifted((math.sqrt(2 * noise / size) - 1) * added)
    form, draws = _form(both[1], metric, how), n_draws(units)
    drawn_weights = _weights(unit, units, draws, larger.step)
    value = np.concatenate([form.value(*predictions, own) for own in drawn_weights])
    whole = float((drawn[1].held - drawn[0].held).var())
    found = float((value - drawn[0].held).var())
    return found / whole if found < whole else 1.0


# ---- the forms of an estimate ----


def _form(scores: Scores, metric: Metric, how: str) -> _Form:
    """Return how an estimate is made from predictions and weights."""
    metric = with_added(metric)
    if how == "paired":
        listed = concordant_pairs(scores, metric)
        if listed is not None:
            return _Listed(scores, metric, [], np.empty(0), listed)
    if how == "pooled":
        groups = scores.by_pool
    else:
        ends, known = scores.starts, ~np.isnan(values_by_split(scores, metric))
        groups = list(compress(map(np.arange, ends[:-1], ends[1:]), known))
    share = np.ones(len(groups))
    if how == "paired":  # weighted by the numbers of their pairs
        share = np.array([_n_pairs(scores, where) for where in groups])
    parts = [_Part(where, scores.row[where]) for where in groups]
    return _Form(scores, metric, parts, share / share.sum())


def _n_pairs(scores: Scores, where: Numbers) -> float:
    # all pairs minus those with equal outcomes
    counts = np.unique(scores.y[scores.row[where]], return_counts=True)[1]
    return float(counts.sum() ** 2 - (counts**2).sum()) / 2


@dataclass(frozen=True, eq=False)
class _Part:
    """Some predictions that are compared with each other.

    Attributes
    ----------
    where : numpy.ndarray of int
        Their positions in ``scores``.
    of : numpy.ndarray of int
        The record of each.
    """

    where: Numbers
    of: Numbers

    @cached_property
    def row(self) -> Numbers:
        """The records, each once, in the order of the predictions if they have one."""
        distinct = np.flatnonzero(np.bincount(self.of))
        return self.of if len(distinct) == len(self.of) else distinct

    def gather(self, values: Floats) -> Floats:
        """Return the mean value of each record along the second axis."""
        some = values[:, self.where]
        return some if self.row is self.of else mean_along(some, self.of)


@dataclass(frozen=True, eq=False)
class _Form:
    """An estimate that is a mean over repeats or folds.

    Attributes
    ----------
    scores : Scores
    metric : Metric
    parts : list of _Part
        The repeats or folds.
    shares : numpy.ndarray, shape (parts,)
        Their weights in the mean.
    """

    scores: Scores
    metric: Metric
    parts: list[_Part]
    shares: Floats

    def value(self, predicted: Floats, listed: Floats, weights: Floats) -> Floats:
        """Return the estimate for some draws.

        Parameters
        ----------
        predicted, listed : numpy.ndarray, shape (m, k) or (1, k), and more for classes
            Predictions in the order of ``scores``, and in that of its ``left``.
        weights : numpy.ndarray, shape (m, n)
        """
        total = np.zeros(len(weights))
        for part, share in zip(self.parts, self.shares, strict=True):
            own = part.gather(predicted)
            total += share * self._weighted(part, own, weights[:, part.row])
        return total

    def of_model(self, model: Floats) -> Floats:
        """Return the metric of the model, with all held-out records counted alike."""
        row = self._every.row
        return self._weighted(self._every, model[:, row], np.ones((1, len(row))))

    @cached_property
    def _every(self) -> _Part:
        return _Part(np.arange(len(self.scores.row)), self.scores.row)

    def _weighted(self, part: _Part, x: Floats, weights: Floats) -> Floats:
        assert self.metric.weighted is not None
        others = self.scores.besides(self.metric)
        more = {name: part.gather(one[None])[0] for name, one in others.items()}
        x = self.metric.column_of(x)
        return self.metric.weighted(self.scores.y[part.row], x, weights, **more)


@dataclass(frozen=True, eq=False)
class _Listed(_Form):
    """The share of pairs ranked right, of those that the same fit predicts.

    Attributes
    ----------
    pairs : ConcordantPairs
    """

    pairs: ConcordantPairs

    def value(self, predicted: Floats, listed: Floats, weights: Floats) -> Floats:
        """Return the estimate for some draws."""
        some, begins = self._sorted
        first, second = self.pairs.places[:, some]
        one, other = self.pairs.first[some], self.pairs.second[some]
        # a pair has the product of the weights of its two records
        each = weights[:, one] * weights[:, other]
        if self.pairs.weight is not None:
            each = each * self.pairs.weight[some]
        listed = self.metric.column_of(listed)
        if listed.ndim == 2:
            right = won(listed[:, first], listed[:, second])
        else:
            codes = self.scores.y.astype(np.intp)
            high, low = codes[one], codes[other]
            right = won(listed[:, first, high], listed[:, second, high])
            right = right + won(listed[:, second, low], listed[:, first, low])
            right /= 2
        shares = np.add.reduceat(each * right, begins, axis=1)
        shares /= np.add.reduceat(each, begins, axis=1)
        return np.asarray(shares.mean(axis=1))

    @cached_property
    def _sorted(self) -> tuple[Numbers, Numbers]:
        """The pairs by repeat and classes, and where each of these begins."""
        pairs = self.pairs
        cell = pairs.repeat * pairs.cells + pairs.cell
        some = np.arange(len(cell))
        if len(cell) > MAX_PAIRS:
            some = np.random.default_rng(0).choice(len(cell), MAX_PAIRS, replace=False)
        some = some[np.argsort(cell[some], kind="stable")]
        begins = np.flatnonzero(np.diff(cell[some], prepend=-1))
        return some, begins
