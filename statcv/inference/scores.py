"""The held-out predictions of all fits as arrays, and the clusters of their records."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar, cast

import numpy as np

from statcv.engine import Held, threads_after_fits
from statcv.folds import FoldPlan
from statcv.folds.audit import training_means
from statcv.metrics import METRICS, Metric, ranked_higher
from statcv.metrics.discrimination.by_value import sums_between
from statcv.metrics.survival.horizon import compares_in_all
from statcv.numeric.arrays import Array, Bools, Floats, Numbers
from statcv.sensitivity import Sensitivity
from statcv.tables import Printed


def mean_by(rows: Numbers, values: Floats) -> tuple[Numbers, Floats]:
    """Return the distinct rows in rising order, and the mean value of each."""
    times = np.bincount(rows)
    distinct = np.flatnonzero(times)
    if len(distinct) == len(rows):  # each once
        means = np.empty((len(times), *values.shape[1:]))
        means[rows] = values
        return distinct, means if len(distinct) == len(times) else means[distinct]
    columns = values.reshape(len(values), -1).T
    # the mean of each class is taken over the predictions of a record
    sums = [np.bincount(rows, column)[distinct] for column in columns]
    total = np.stack(sums, axis=1)
    means = total / times[distinct][:, None]
    return distinct, means.reshape(len(distinct), *values.shape[1:])


Codes = Numbers | None  # a cluster for each record


def clusters_of(plan: FoldPlan) -> Numbers | None:
    """Return the cluster of each record; None if no cluster has several records.

    A cluster is a value of a stratifier that identifies, for example a person's
    number. Bins of a continuous variable do not identify.
    """
    strata = plan.strata
    if strata is None or not strata.identifies or len(strata.codes) == 0:
        return None
    return strata.codes if np.bincount(strata.codes).max() > 1 else None


def joined_clusters(first: Codes, second: Codes) -> Codes:
    """Return the clusters of records that are linked by either of two results.

    Examples
    --------
    >>> import numpy as np
    >>> joined_clusters(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])).tolist()
    [0, 0, 0, 1]
    """
    if first is None or second is None or np.array_equal(first, second):
        return second if first is None else first
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # clusters of both results are nodes, and each record links two of them
    one = np.unique(first, return_inverse=True)[1]
    other = np.unique(second, return_inverse=True)[1] + one.max() + 1
    nodes = int(other.max()) + 1
    links = coo_array((np.ones(len(one)), (one, other)), shape=(nodes, nodes))
    label = connected_components(links, directed=False)[1]
    return np.asarray(label[one], dtype=np.intp)


def sums_by_cluster(values: Floats, clusters: Numbers) -> tuple[Floats, int]:
    """Return the sum of the values in each cluster, and the number of clusters."""
    place = np.unique(clusters, return_inverse=True)[1]
    sums = np.asarray(np.bincount(place, values), dtype=float)
    return sums, len(sums)


def se_of_mean(values: Floats, clusters: Codes) -> tuple[float, int]:
    """Return the standard error of a mean, and the number of units that vary.

    The variance of the mean is G/(G - 1) Σ (Σ (v - v̄))² / n², where the inner sum is
    over the records of each of G clusters; without clusters this is the usual s²/n.
    """
    units = np.arange(len(values)) if clusters is None else clusters
    sums, count = sums_by_cluster(values - values.mean(), units)
    if count < 2:
        return np.nan, count
    return float(np.sqrt(count / (count - 1) * (sums**2).sum())) / len(values), count


@dataclass(frozen=True, eq=False, repr=False)
class LeftOut(Printed):
    """Predictions of each fit for the records on which it was not trained.

    Attributes
    ----------
    fit, row : numpy.ndarray of int, shape (m,)
        The fit and the record of each prediction, sorted by fit; within a fit,
        held-out records come before dropped ones.
    predicted : numpy.ndarray, shape (m,) or (m, classes)
        The predictions.
    held : numpy.ndarray of bool, shape (m,)
        True for a held-out record, False for one that was dropped for balance.
    repeat : numpy.ndarray of int, shape (n_fits,)
        The repeat to which each fit belongs.
    """

    fit: Numbers
    row: Numbers
    predicted: Floats
    held: Bools
    repeat: Numbers

    @classmethod
    def joined(
        cls,
        held: tuple[Numbers, Numbers, Floats],
        dropped: tuple[Numbers, Numbers, Floats],
        repeat: Numbers,
    ) -> LeftOut:
        """Join the (fit, row, predicted) arrays of held-out and of dropped records."""
        # a stable order by fit keeps the held-out records of a fit first
        fit = np.concatenate([held[0], dropped[0]])
        order = np.argsort(fit, kind="stable")
        row = np.concatenate([held[1], dropped[1]])[order]
        predicted = np.concatenate([held[2], dropped[2]])[order]
        of_held = np.repeat([True, False], [len(held[0]), len(dropped[0])])[order]
        return cls(fit[order], row, predicted, of_held, repeat)

    def chosen(self, where: Array | slice) -> LeftOut:
        """Return some of the predictions, by their positions or a mask."""
        names = ("fit", "row", "predicted", "held")
        return replace(self, **{name: getattr(self, name)[where] for name in names})

    @cached_property
    def starts(self) -> Numbers:
        """The position at which each fit's records begin, and one past the last."""
        return np.searchsorted(self.fit, np.arange(len(self.repeat) + 1))

    @cached_property
    def _later(self) -> Numbers:
        """The number of records of the same fit that follow each held-out one."""
        # each held-out record is paired with all that follow it in the same fit
        end = self.starts[self.fit + 1]
        return np.where(self.held, end - np.arange(len(self.fit)) - 1, 0)

    @property
    def most_pairs(self) -> int:
        """The number of pairs, including pairs of the same class."""
        return int(self._later.sum())

    def pairs(self, y: Array) -> tuple[Numbers, Numbers]:
        """Return the positions of the pairs of different classes in the same fit.

        The first record of a pair was held out; the second was held out or dropped.
        """
        # the pairs of a fit: every held-out record with each later one
        first = np.repeat(np.arange(len(self.fit)), self._later)
        begin = np.repeat(np.cumsum(self._later) - self._later, self._later)
        second = first + 1 + np.arange(len(first)) - begin
        differ = y[self.row[first]] != y[self.row[second]]
        return first[differ], second[differ]


T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Printed):
    """The held-out predictions, averaged over the fits of each split.

    Attributes
    ----------
    y : numpy.ndarray, shape (n,)
        The coded outcome of each record.
    split, row : numpy.ndarray of int, shape (m,)
        The split and the record of each prediction, sorted by split.
    predicted : numpy.ndarray, shape (m,) or (m, classes)
        The predictions.
    repeat : numpy.ndarray of int, shape (n_splits,)
        The repeat to which each split belongs.
    n_train, baseline : numpy.ndarray, shape (n_splits,)
        The number of distinct records on which each split trains, and their mean
        outcome; that of the records themselves in an external validation.
    left : LeftOut
        The predictions of the single fits.
    pairwise : bool
        Whether the scheme compares records that the same fit did not train on.
    tournament : bool
        Whether a record is ranked by the pairs that it wins.
    probabilities : bool
        Whether predictions are probabilities or means, not decision scores.
    clusters : numpy.ndarray of int, shape (n,), or None
        The cluster of each record; None if every record is a cluster by itself.
    threshold : numpy.ndarray, shape (m,), or None
        The smallest prediction for which class 1 is predicted, for each prediction
        and on its scale; None for a threshold of one half. If the model itself decides,
        it is far below or above all predictions, of shape (m, classes) for several.
    decided : bool
        Whether the thresholds stand for decisions of the model's ``predict``.
    sensitivity : Sensitivity or None
        How the predictions change with the training records, if that is known.
    of_training : numpy.ndarray, shape (m,) or (m, 1 + horizons), or None
        What metrics take of the training set of each prediction: the dispersion of
        counts, or the probabilities of not being censored if they come from there.
    n_jobs : int or None
        The number of threads, as `cv` takes it.
    by_neighbors : bool
        Whether a prediction depends on the most similar training records alone.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> res.scores.y.shape, res.scores.n_splits, res.scores.predicted.shape
    ((32,), 4, (32,))
    """

    y: Array
    split: Numbers
    row: Numbers
    predicted: Floats
    repeat: Numbers
    n_train: Floats
    baseline: Floats
    left: LeftOut
    pairwise: bool = False
    tournament: bool = False
    probabilities: bool = True
    clusters: Numbers | None = None
    threshold: Floats | None = None
    decided: bool = False
    sensitivity: Sensitivity | None = None
    of_training: Floats | None = None
    n_jobs: int | None = None
    by_neighbors: bool = False

    @classmethod
    def of(
        cls,
        plan: FoldPlan,
        held: Held,
        y: Array,
        sensitivity: Sensitivity | None = None,
    ) -> Scores:
        """Arrange the predictions of the fits of a plan.

        Parameters
        ----------
        plan : FoldPlan
            The fold plan.
        held : Held
            The predictions of its fits.
        y : numpy.ndarray, shape (n,)
            The coded outcome of each record.
        sensitivity : Sensitivity, optional
            How the predictions change with the training records, if that is known.
        """
        n_train = plan.fits.mean_by_split(plan.n_train)
        trained = bool(n_train.any())
        of_all = np.full(plan.n_splits, np.mean(y) if plan.n else np.nan)
        return cls(
            y=y,
            split=plan.tests.owners,
            row=plan.tests.values.astype(np.intp),
            predicted=held.averaged(plan),
            repeat=plan.fits.repeat_of,
            # records repeated by weights or copies count once
            n_train=np.minimum(n_train, plan.n - plan.tests.sizes),
            # a model fitted elsewhere is compared with the mean of these records
            baseline=training_means(plan, y) if trained else of_all,
            left=LeftOut.joined(
                (held.fit, held.row, held.predicted),
                (held.partner_fit, held.partner_row, held.partner_predicted),
                plan.fits.repeat_of[plan.fits.split_of],
            ),
            pairwise=plan.fits.compares_pairs,
            tournament=plan.fits.tournament,
            probabilities=held.probabilities,
            clusters=clusters_of(plan),
            sensitivity=sensitivity,
        )

    def predicting(self, predicted: Floats, **changes: Any) -> Scores:
        """Return the same held-out records with other predictions.

        What depends on the records alone is not computed again.

        Parameters
        ----------
        predicted : numpy.ndarray
            The other predictions, of the same shape.
        **changes
            Other attributes that change.
        """
        other = replace(self, predicted=predicted, **changes)
        known = {name: self.__dict__[name] for name in _LAYOUT & self.__dict__.keys()}
        other.__dict__.update(known)
        return other

    def chosen(self, where: Array | slice) -> Scores:
        """Return some of the predictions, by their positions or a mask."""
        names = ("split", "row", "predicted", "threshold", "of_training")
        known = {name: getattr(self, name) for name in names}
        some = {name: one[where] for name, one in known.items() if one is not None}
        return replace(self, **some)

    @property
    def n_splits(self) -> int:
        """The number of folds in all repeats together."""
        return len(self.repeat)

    @cached_property
    def starts(self) -> Numbers:
        """The position at which each split begins, and one past the last."""
        return np.searchsorted(self.split, np.arange(self.n_splits + 1))

    def sums_by_split(self, values: Array) -> Floats:
        """Return the sum of the values of the predictions of each split."""
        return sums_between(values, self.starts)

    @cached_property
    def n_held_out(self) -> int:
        """The number of records that were held out."""
        return int(np.count_nonzero(np.bincount(self.row)))

    @cached_property
    def outcome(self) -> Array:
        """The coded outcome of each prediction."""
        return self.y[self.row]

    @cached_property
    def by_repeat(self) -> list[Numbers]:
        """The positions of the predictions of each repeat."""
        later = np.flatnonzero(self.repeat[1:] != self.repeat[:-1]) + 1
        begin = [0, *self.starts[later], len(self.split)] if len(self.repeat) else [0]
        return [np.arange(start, stop) for start, stop in pairwise(begin)]

    @property
    def by_pool(self) -> list[Numbers]:
        """The same, or those of all repeats together if each is a single split."""
        return [np.arange(len(self.row))] if self.apart else self.by_repeat

    def __getstate__(self) -> dict[str, Any]:
        """Omit what was computed for metrics, whose functions may not pickle."""
        return {k: value for k, value in self.__dict__.items() if k != "_known"}

    @cached_property
    def _known(self) -> dict[tuple[str, ...], tuple[Metric, Any]]:
        """What was computed from the predictions, by the name of a metric and a key."""
        return {}

    def once(self, metric: Metric, key: tuple[str, ...], make: Callable[[], T]) -> T:
        """Return what was computed for a metric, or compute it and keep it.

        Of different metrics with one name, such as two functions of a caller, only the
        last is kept.

        Parameters
        ----------
        metric : Metric
        key : tuple of str
            What was computed of the metric, and how.
        make : callable
            Function without arguments that computes it.
        """
        key = (metric.name, *key)
        of, found = self._known.get(key, (None, None))
        if of is not metric and of != metric:
            with self.in_threads():
                found = make()
            self._known[key] = metric, found
        return cast(T, found)

    def in_threads(self) -> AbstractContextManager[None]:
        """Share among threads what takes long."""
        return threads_after_fits(self.n_jobs)

    @property
    def n_classes(self) -> int:
        """The number of classes; 2 if there is one number for each record."""
        of_classes = self.predicted.ndim > 1 and self.y.dtype.kind in "iub"
        return self.predicted.shape[1] if of_classes else 2

    @cached_property
    def all_classes(self) -> Bools:
        """Whether each split holds out records of every class, shape (n_splits,)."""
        codes, y = range(self.n_classes), self.outcome
        there = [self.sums_by_split(y == code) > 0 for code in codes]
        return np.asarray(np.all(there, axis=0))

    @cached_property
    def all_differ(self) -> bool:
        """Whether every split holds out at least two different outcomes."""
        if not (np.diff(self.starts) > 0).all():
            return False
        # outcomes differ within a split if its least is below its largest
        y, first = self.outcome, self.starts[:-1]
        low, high = np.minimum.reduceat(y, first), np.maximum.reduceat(y, first)
        return bool((low < high).all())

    @cached_property
    def repeat_number(self) -> Numbers:
        """The repeat of each prediction, numbered among repeats with predictions."""
        return np.repeat(np.arange(len(self.by_repeat)), list(map(len, self.by_repeat)))

    @cached_property
    def overlapping(self) -> bool:
        """Whether a repeat holds a record out more than once, as pairs do."""
        # a record that occurs twice in a repeat is twice in a cell
        cells = self.repeat[self.split] * len(self.y) + self.row
        return bool(np.bincount(cells, minlength=1).max() > 1)

    def by_record(self, where: Numbers, rank: bool) -> tuple[Numbers, Floats]:
        """Return each record of a repeat once, with its prediction.

        The predictions of a record that was held out more than once are averaged;
        for ranks in a tournament, they are replaced by the share of its pairs that
        it won (Montoya Perez et al. 2019).
        """
        if not (self.overlapping or self.apart):
            return self.row[where], self.predicted[where]
        # in a tournament the share of pairs won is a record's score
        scores = self.predicted[where]
        if rank and self.tournament:
            scores = self.to_rank(scores)
            first = ranked_higher(scores[::2], scores[1::2])
            scores = np.stack([first, 1 - first], axis=1).reshape(scores.shape)
        return mean_by(self.row[where], scores)

    def to_rank(self, predicted: Floats) -> Floats:
        """Return the predictions as an auROC uses them; see ``Metric.readable``."""
        return METRICS["auroc"].readable(predicted, self.probabilities)

    def mean_prediction(self) -> tuple[Numbers, Floats]:
        """Return each held-out record once, with its prediction averaged."""
        return mean_by(self.row, self.predicted)

    @property
    def given_threshold(self) -> Floats | None:
        """The thresholds, unless they stand for decisions of the model."""
        return None if self.decided else self.threshold

    def threshold_for(self, metric: Metric) -> Floats | None:
        """Return the thresholds if there are any and the metric depends on them.

        Scores that are not probabilities are cut at 0 unless a threshold is given.
        """
        # decisions of the model itself stand for thresholds of classes alone
        if metric.reads == "classes":
            scores = not self.probabilities and self.predicted.ndim == 1
            if scores and self.threshold is None:
                return np.zeros(len(self.predicted))
            return self.threshold
        return self.given_threshold if metric.cuts else None

    def beside(self, metric: Metric) -> Floats | None:
        """Return what a metric takes besides the predictions; None if nothing.

        It is a baseline, the probability of not being censored, or a dispersion.
        """
        if metric.takes:
            known = self.of_training
            return None if known is None else metric.column_of(known)
        return self.baseline[self.split] if metric.uses_baseline else None

    def besides(self, metric: Metric) -> dict[str, Floats]:
        """Return what else a metric takes of each prediction, by name."""
        cuts = self.threshold_for(metric)
        found = {f"{metric.beside}": self.beside(metric), "threshold": cuts}
        return {name: one for name, one in found.items() if one is not None}

    @cached_property
    def mean_threshold(self) -> Floats | None:
        """The mean threshold of each held-out record; None for one half."""
        if self.threshold is None:
            return None
        return mean_by(self.row, self.threshold)[1]

    def headline(self, metric: Metric) -> str:
        """Return the way in which a metric is best stated for these folds."""
        if self.compares(metric):
            return "paired"
        if metric.pools_splits:
            return "pooled"
        if self.apart:
            return "per_fold"
        # folds are averaged only where each of them ranks different outcomes
        alone = self.external or self.n_splits == 1
        if not metric.rank or self.overlapping or alone:
            return "pooled"
        if metric.pairs == "numbers":
            return "per_fold" if self.all_differ else "pooled"
        if metric.column is not None:
            every = compares_in_all(metric, self.outcome, self.starts)
            return "per_fold" if every else "pooled"
        return "per_fold" if self.all_classes.all() else "pooled"

    def compares(self, metric: Metric) -> bool:
        """Return whether a metric is computed from the pairs of the scheme."""
        if not (self.pairwise and metric.rank and metric.pairs):
            return False
        # a dropped record of a continuous outcome mirrors the held-out one
        return metric.pairs != "numbers" or bool(self.left.held.all())

    @property
    def external(self) -> bool:
        """Whether the predictions come from a model fitted to other records only."""
        return not self.n_train.any()

    @cached_property
    def split_clusters(self) -> int:
        """The number of clusters that are split across folds of a repeat."""
        if self.clusters is None:
            return 0
        cluster, repeat = self.clusters[self.row], self.repeat[self.split]
        # after sorting, a cluster is next to itself if a repeat has it in another fold
        cells = np.unique(np.stack([cluster, repeat, self.split]), axis=1)
        again = (cells[:2, 1:] == cells[:2, :-1]).all(axis=0)
        return len(np.unique(cells[0, 1:][again]))

    @cached_property
    def by_split(self) -> bool:
        """Whether every repeat is a single split, as when splits overlap."""
        # repeats of an external validation all have the same records
        alike = self.external and self.n_splits > 1
        return len(self.by_repeat) == self.n_splits and not alike

    @cached_property
    def apart(self) -> bool:
        """Whether there are several splits, each of which is pooled by itself."""
        return self.by_split and self.n_splits > 1


# what depends on splits, rows, repeats and outcome, but not on the predictions
_LAYOUT = {
    *("starts", "by_repeat", "repeat_number", "overlapping", "outcome"),
    *("all_classes", "all_differ", "by_split", "apart"),
}
