"""Scores of hyperparameter values inside each training set."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from statcv.errors import MetricError
from statcv.folds import SCHEMES
from statcv.metrics import Metric, ranked_higher
from statcv.models.tuning.inner import InnerScheme
from statcv.models.tuning.nested import Nested
from statcv.numeric.arrays import Floats, Numbers

EQUAL = 1e-9  # scores that differ by a smaller share count as equal


def way_of(metric: Metric, scheme: InnerScheme) -> str:
    """Return how a metric is computed from an inner plan.

    ``"casewise"``, the mean over records; ``"paired"``, the share of the pairs left out
    by one inner fit that it ranks correctly; ``"per_fold"``, the mean over inner folds
    of a rank metric; ``"pooled"``, over the held-out records of a repeat.

    Raises
    ------
    MetricError
        If predictions of different fits would have to be ranked.
    """
    if metric.casewise is not None:
        return "casewise"
    if not metric.rank:
        return "pooled"
    if scheme.k is not None:
        return "per_fold"
    if metric.is_auroc and SCHEMES[scheme.name].compares_pairs:
        return "paired"
    other = ", or 'rloocv'" if metric.is_auroc else ""
    raise MetricError(
        f"{metric.label} cannot be tuned by in the inner scheme {scheme.name!r}, where "
        "it would compare predictions of different fits; use metric='log_loss', or "
        f"the inner scheme 'stratified_kfold'{other}."
    )


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores predictions of the inner fits, training set by training set.

    Attributes
    ----------
    metric : Metric
    way : str
    nested : Nested
    errors : bool
        Whether standard errors are computed.
    """

    metric: Metric
    way: str
    nested: Nested
    errors: bool

    def score(
        self, predicted: Floats, probabilities: bool = True
    ) -> tuple[Floats, Floats]:
        """Return the metric in each training set, and its standard error.

        The standard error is that of a mean over records, or over inner folds if the
        metric is not a mean over records.

        Parameters
        ----------
        predicted : numpy.ndarray, shape (m,) or (m, classes)
            Predictions in the order of ``nested``.
        probabilities : bool
            Whether they are probabilities or means, not decision scores.
        """
        read = self.metric.readable(predicted, probabilities)
        if self.way == "casewise":
            return self._casewise(read)
        if self.way == "paired":
            return self._paired(read)
        found = np.full((2, self.nested.sets), np.nan)
        by_fold = None
        if self.way == "per_fold" or self.errors:
            by_fold = self._by_fold(read)
        for one, (start, stop) in enumerate(itertools.pairwise(self.nested.first)):
            where = self.nested.of_set(one)
            fits = self.nested.fit[where]
            folds = np.empty(0) if by_fold is None else by_fold[start:stop]
            if self.way == "pooled":
                repeats = self.nested.repeat[fits]
                found[0, one] = self._values(read, where, repeats).mean()
            elif (~np.isnan(folds)).any():
                found[0, one] = np.nanmean(folds)
            found[1, one] = _error(folds)
        return found[0], found[1]

    def _casewise(self, read: Floats) -> tuple[Floats, Floats]:
        assert self.metric.casewise is not None
        losses = self.metric.casewise(self.nested.y, read)
        place, owner, times = self._records
        # repeats hold a record out several times, whose mean loss counts as one
        losses = np.bincount(place, losses) / times
        count = np.bincount(owner)
        mean = np.bincount(owner, losses) / count
        squares = np.bincount(owner, (losses - mean[owner]) ** 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return mean, np.sqrt(squares / (count - 1) / count)

    @cached_property
    def _records(self) -> tuple[Numbers, Numbers, Numbers]:
        """Number the records of all training sets; a repeat holds each out again."""
        nested = self.nested
        size = int(nested.place.max()) + 1
        cells, place, times = np.unique(
            nested.owner * size + nested.place, return_inverse=True, return_counts=True
        )
        return place, cells // size, times

    def _by_fold(self, read: Floats) -> Floats:
        """Return the metric in each inner fold."""
        nested, folds = self.nested, int(self.nested.first[-1])
        of_groups = self.metric.by_group
        if of_groups is not None and not self.metric.uses_baseline:
            return of_groups(nested.y, read, nested.fit, folds)
        return self._values(read, np.arange(len(nested.fit)), nested.fit)

    def _values(self, read: Floats, where: Numbers, group: Numbers) -> Floats:
        """Return the metric in each group of the predictions of a training set."""
        values = []
        for number in np.unique(group):
            own = where[group == number]
            y = self.nested.y[own]
            baseline = None
            if self.metric.uses_baseline:
                baseline = self.nested.baseline[self.nested.fit[own]]
            # ranks of equal outcomes say nothing, and the metric is NaN there
            undefined = self.metric.rank and len(np.unique(y)) < 2
            values.append(np.nan if undefined else self.metric(y, read[own], baseline))
        return np.array(values, dtype=float)

    def _paired(self, read: Floats) -> tuple[Floats, Floats]:
        positive, negative = self._pairs
        won = ranked_higher(read[positive], read[negative])
        fit = self.nested.fit[positive]
        fits, place = np.unique(fit, return_inverse=True)
        # pairs left out by one fit depend on each other, so that fits are what varies
        shares = np.bincount(place, won) / np.bincount(place)
        owner = np.searchsorted(self.nested.first, fits, side="right") - 1
        of_pair = owner[place]
        sets = self.nested.sets
        with np.errstate(invalid="ignore"):
            mean = np.bincount(of_pair, won, sets) / np.bincount(
                of_pair, minlength=sets
            )
        errors = [_error(shares[owner == one]) for one in range(sets)]
        return mean, np.array(errors)

    @cached_property
    def _pairs(self) -> tuple[Numbers, Numbers]:
        """List the (positive, negative) pairs that an inner fit left out.

        At least one of them is held out.
        """
        nested, found = self.nested, []
        starts = np.searchsorted(nested.fit, np.arange(nested.first[-1] + 1))
        for start, stop in itertools.pairwise(starts):
            inside = np.arange(start, stop)
            ones = inside[nested.y[inside] == 1]
            zeros = inside[nested.y[inside] == 0]
            some = nested.held[ones][:, None] | nested.held[zeros]
            one, zero = np.nonzero(some)
            found.append((ones[one], zeros[zero]))
        positive, negative = zip(*found, strict=True)
        return np.concatenate(positive), np.concatenate(negative)


def _error(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    # a single fold shows no variation between folds
    if len(defined) < 2:
        return np.nan
    return float(defined.std(ddof=1) / np.sqrt(len(defined)))


def choose(scores: Floats, errors: Floats, metric: Metric, rule: str) -> Numbers:
    """Return which candidate is chosen in each training set.

    Parameters
    ----------
    scores, errors : numpy.ndarray, shape (candidates, sets)
        Candidates from the simplest on.
    metric : Metric
    rule : {"best", "one_se"}
        The best score, the simplest of equal ones; or the simplest whose score is
        within one standard error of the best (Breiman et al. 1984).

    Raises
    ------
    MetricError
        If no candidate has a score.

    Examples
    --------
    >>> from statcv.metrics import get_metric
    >>> scores, errors = np.array([[0.52], [0.5], [0.5]]), np.full((3, 1), 0.03)
    >>> brier = get_metric("brier")
    >>> choose(scores, errors, brier, "best"), choose(scores, errors, brier, "one_se")
    (array([1]), array([0]))
    """
    losses = -scores if metric.greater_is_better else scores
    losses = np.where(np.isnan(losses), np.inf, losses)
    best = losses.argmin(axis=0)
    sets: Numbers = np.arange(scores.shape[1])
    least = losses[best, sets]
    if np.isinf(least).any():
        raise MetricError(
            f"{metric.label} has no value for any of the hyperparameters: the "
            "predictions inside a training set do not admit it. A model without "
            "probabilities is tuned by metric='auroc' or 'accuracy'."
        )
    # scores that differ by rounding alone are equal
    slack = EQUAL * np.maximum(np.abs(least), EQUAL)
    if rule == "one_se":
        # the one-standard-error rule; an unknown standard error leaves the best score
        slack = slack + np.nan_to_num(errors[best, sets])
    # candidates come from the simplest on, of which the first is taken
    return np.asarray((losses <= least + slack).argmax(axis=0))
