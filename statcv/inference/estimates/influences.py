"""The influence of each record on an estimate: as a held-out record, and on the fits.

The influence of a record is the first-order change of the estimate when its weight
changes. A record has a part in an estimate as a held-out record, and, since it was in
the training sets of other records, through their predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Sensitivity
from statcv.inference.estimates.values import (
    lacks_a_class,
    ranks_classes,
    values_by_repeat,
)
from statcv.inference.scores import Scores, mean_by
from statcv.metrics import Metric
from statcv.metrics.discrimination.order import rising_order
from statcv.metrics.influence.derivative import Derivative

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

EDGE = 1e-15  # the least distance of a probability from 0 and 1 on the link scale


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
    sample : numpy.ndarray of int, shape (n,)
        The class of each record, if classes are separate samples; otherwise 0.
    unit : numpy.ndarray of int, shape (n,)
        The record or cluster, within which influences are summed.
    counted : numpy.ndarray of bool, shape (n,)
        Whether a record was held out.
    ranked : tuple of pairs of numpy.ndarray
        The outcomes and pooled predictions of each repeat that a rank metric compares.
    """

    value: float
    held: Floats
    fits: Floats | None
    sample: Numbers
    unit: Numbers
    counted: NDArray[np.bool_]
    ranked: tuple[tuple[NDArray[Any], Floats], ...] = ()

    @cached_property
    def given_fits(self) -> float:
        """The variance of the estimate with the fits as given."""
        return self.variance(self.held)

    @property
    def excess(self) -> float:
        """The variance that the fits add; it may be negative, or NaN if unknown."""
        if self.fits is None:
            return float("nan")
        return self.variance(self.held + self.fits) - self.given_fits

    @property
    def total(self) -> float:
        """The variance with the fits, of which half of what they add is counted.

        The first-order change counts a term that depends on two records, one of which
        is held out and one in the training set, twice, as the jackknife does (Efron &
        Stein 1981).
        """
        added = 0.0 if self.fits is None else max(self.excess, 0.0) / 2
        return self.given_fits + added

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
        known = self.counted | (moved != 0)
        parts = [known & (self.sample == code) for code in self._samples]
        centred = np.zeros(len(moved))
        for members in parts:
            centred[members] = moved[members] - moved[members].mean()
        every = self._every
        total = every / (every - 1) * self._squares(centred, known)
        for members, own in zip(parts, self._sizes, strict=True):
            more = (every - own) / ((own - 1) * (every - 1))
            total += more * self._squares(centred, members)
        return float(total)

    @property
    def smallest(self) -> int:
        """The number of units of the smallest sample."""
        return min(self._sizes)

    @property
    def df(self) -> float:
        """Degrees of freedom: of two samples as large as the smaller, or of one."""
        every = self._every - 1
        if len(self._samples) < 2:
            return float(every)
        return float(min(every, 2 * (self.smallest - 1)))

    @property
    def kind(self) -> str:
        """What varies: "record" or "cluster"."""
        return "record" if self._by_record else "cluster"

    @cached_property
    def _by_record(self) -> bool:
        counts = np.bincount(self.unit[self.counted])
        return bool(counts.max(initial=0) <= 1)

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

        return Influences(
            self.value,
            placed(self.held),
            None if self.fits is None else placed(self.fits),
            placed(self.sample),
            unit,
            placed(self.counted),
        )

    def minus(self, other: Influences) -> Influences:
        """Return the influences on the difference of two estimates."""
        fits = None
        if self.fits is not None and other.fits is not None:
            fits = self.fits - other.fits
        return Influences(
            self.value - other.value,
            self.held - other.held,
            fits,
            np.maximum(self.sample, other.sample),
            self.unit,
            self.counted | other.counted,
        )

    @cached_property
    def _samples(self) -> Numbers:
        """The codes of the samples."""
        return np.flatnonzero(np.bincount(self.sample[self.counted]))

    @cached_property
    def _sizes(self) -> list[int]:
        """The number of units of each sample."""
        members = [self.counted & (self.sample == code) for code in self._samples]
        return list(map(self._units, members))

    @cached_property
    def _every(self) -> int:
        """The number of units."""
        return self._units(self.counted)

    def _units(self, members: NDArray[np.bool_]) -> int:
        if self._by_record:
            return int(np.count_nonzero(members))
        return int((np.bincount(self.unit, members) > 0).sum())

    def _squares(self, moved: Floats, members: NDArray[np.bool_]) -> float:
        """Return the sum over units of the squares of their influences."""
        if self._by_record and not (members & ~self.counted).any():
            return float(moved[members] @ moved[members])
        return float((np.bincount(self.unit[members], moved[members]) ** 2).sum())


def influences(
    scores: Scores, metric: Metric, how: str = "pooled", *, of_fits: bool = True
) -> Influences | str:
    """Return the influence of each record on a metric of the pooled predictions.

    Predictions are pooled by repeat, and the influences are averaged over repeats. If
    each repeat is a single split, as for random splits, the predictions of a record are
    averaged first. A mean over folds or pairs compares predictions of one fit only;
    their linear predictors are standardised before they are pooled, since it does not
    depend on their location and scale.

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
    n, left = len(scores.y), scores.left
    sensitivity = scores.sensitivity if of_fits else None
    within = metric.rank and how != "pooled" and scores.predicted.ndim == 1
    linear: Floats | None = None
    if sensitivity is not None and within:
        linear = np.full(len(left.row), np.nan)
        known = np.flatnonzero(left.held)
        linear[known] = sensitivity.standardised(left.fit[known], left.row[known])
    held, parts = np.zeros(n), _parts(scores, metric, linear)
    at, slopes = [], []
    for part in parts:
        if np.isnan(part.predicted).any():
            return "a prediction is missing"
        if ranks_classes(metric) and lacks_a_class(part.y, scores.n_classes):
            return "a class is not held out"
        found = part.derivative(metric, sensitivity)
        held[part.row] += found.weight / len(parts)
        if sensitivity is not None:
            where = part.fitted
            times = np.bincount(left.row[where], None, n)[part.row]
            shape = (-1, *[1] * (found.prediction.ndim - 1))
            slope = np.zeros((n, *found.prediction.shape[1:]))
            slope[part.row] = found.prediction / times.reshape(shape) / len(parts)
            at.append(where)
            slopes.append(slope[left.row[where]])
    if not np.isfinite(held).all():
        return "the loss of a record is infinite"
    fits = None
    if sensitivity is not None:
        where, slope = np.concatenate(at), np.concatenate(slopes)
        if linear is None:
            slope = sensitivity.likelihood.pull_back(left.predicted[where], slope)
        if not np.isfinite(slope).all():
            return "the loss of a record changes without limit"
        own = None if linear is None else linear[where]
        fits = sensitivity.influence(
            left.fit[where],
            left.row[where],
            slope,
            standardised=own,
            one_step=True,
        )
    counted = np.zeros(n, dtype=bool)
    counted[scores.row] = True
    sample = np.zeros(n, dtype=np.intp)
    if ranks_classes(metric):
        sample = scores.y.astype(np.intp)
    unit = np.arange(n) if scores.clusters is None else scores.clusters
    if linear is None and not (scores.apart or scores.overlapping):
        value = float(values_by_repeat(scores, metric, "pooled").mean())
    else:
        value = float(np.mean([part.value(metric) for part in parts]))
    ranked = tuple((part.y, part.read(metric)) for part in parts) if metric.rank else ()
    made = Influences(value, held, fits, sample, unit, counted, ranked)
    if made.smallest < 2:
        few = f"a single {made.kind}"
        return f"one class has {few}" if made.sample.any() else f"there is {few}"
    return made


_BY_RECORD = ("row", "y", "predicted", "baseline", "threshold")


@dataclass(frozen=True, eq=False)
class _Part:
    """The pooled predictions of a repeat, each record once."""

    row: Numbers
    y: NDArray[np.generic]
    predicted: Floats
    baseline: Floats | None
    threshold: Floats | None
    fitted: Numbers
    probabilities: bool
    standardised: bool

    def rising(self) -> _Part:
        """Return the part in the order of its predictions, which is soon ranked."""
        order = rising_order(self.predicted)
        given = {name: getattr(self, name) for name in _BY_RECORD}
        known: dict[str, Any] = {
            name: None if values is None else values[order]
            for name, values in given.items()
        }
        return replace(self, **known)

    def read(self, metric: Metric) -> Floats:
        """Return the predictions in the form that a metric reads."""
        if self.standardised:
            return self.predicted
        return metric.readable(self.predicted, self.probabilities, self.threshold)

    def value(self, metric: Metric) -> float:
        """Return the metric."""
        read = self.read(metric)
        return float(metric(self.y, read, self.baseline, self.threshold))

    def derivative(self, metric: Metric, sensitivity: Sensitivity | None) -> Derivative:
        """Return the derivatives by the weights and by the predictions."""
        read, rate = self.predicted, None
        cut = self.threshold
        if metric.reads in ("order", "classes") and not self.standardised:
            read, cut, rate = self._on_link_scale(metric, sensitivity)
        assert metric.derive is not None
        named = {} if cut is None else {"threshold": cut}
        found = metric.derive(self.y, read, self.baseline, **named)
        if rate is None:
            return found
        return Derivative(found.weight, found.prediction * rate)

    def _on_link_scale(
        self, metric: Metric, sensitivity: Sensitivity | None
    ) -> tuple[Floats, Floats | None, Floats]:
        """Return predictions and thresholds on the link scale, and its slope."""
        p, cut = self.predicted, self.threshold
        if metric.rank:
            p = metric.readable(p, self.probabilities)
        if not self.probabilities or (p.ndim == 1 and _has_numbers(metric)):
            if sensitivity is None:
                return p, cut, np.ones_like(p)
            like = sensitivity.likelihood
            return like.link(p), cut, 1 / like.pull_back(p, np.ones_like(p))
        p = np.clip(p, EDGE, 1 - EDGE)
        if p.ndim == 2 and metric.reads == "classes":
            return np.log(p), cut, 1 / p
        if p.ndim == 2 or sensitivity is None:
            from scipy.special import logit

            cut = None if cut is None else logit(cut)
            return logit(p), cut, 1 / (p * (1 - p))
        like = sensitivity.likelihood
        half = np.full(len(p), 0.5) if cut is None else cut
        return like.link(p), like.link(half), 1 / like.pull_back(p, np.ones_like(p))


def _has_numbers(metric: Metric) -> bool:
    return "continuous" in metric.outcomes


def _parts(scores: Scores, metric: Metric, linear: Floats | None) -> list[_Part]:
    """Return the pooled predictions of each repeat, or of all if each is one split.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    linear : numpy.ndarray or None
        What is pooled in place of the predictions: a number for each entry of
        ``scores.left``.
    """
    left, every = scores.left, np.flatnonzero(scores.left.held)
    if scores.apart:
        return [_part(scores, metric, np.arange(len(scores.row)), every, linear)]
    repeat = left.repeat[left.fit[every]]
    parts = []
    for where in scores.by_repeat:
        own = every[repeat == scores.repeat[scores.split[where[0]]]]
        parts.append(_part(scores, metric, where, own, linear))
    return parts


def _part(
    scores: Scores,
    metric: Metric,
    where: Numbers,
    fitted: Numbers,
    linear: Floats | None,
) -> _Part:
    if linear is None:
        row, predicted = mean_by(scores.row[where], scores.predicted[where])
    else:
        row, predicted = mean_by(scores.left.row[fitted], linear[fitted])
    cut, baseline = scores.threshold, None
    if metric.uses_baseline:
        baseline = mean_by(scores.row[where], scores.baseline[scores.split[where]])[1]
    if cut is not None and metric.cuts:
        cut = mean_by(scores.row[where], cut[where])[1]
    made = _Part(
        row=row,
        y=scores.y[row],
        predicted=predicted,
        baseline=baseline,
        threshold=cut if metric.cuts else None,
        fitted=fitted,
        probabilities=scores.probabilities,
        standardised=linear is not None,
    )
    return made.rising() if metric.rank and predicted.ndim == 1 else made
