"""Checks, names and caveats of compared results, and the records they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import ComparisonError
from statcv.folds.audit import BIASED
from statcv.inference.estimates.estimate import Estimate
from statcv.inference.estimates.values import casewise
from statcv.inference.paired.delong import Side
from statcv.inference.readable import Readable
from statcv.inference.scores import LeftOut, Scores, joined_clusters, mean_by
from statcv.metrics import Metric
from statcv.metrics.classification.classwise import predicted_as
from statcv.models import Mean
from statcv.numeric.arrays import Array, Floats, Numbers, Outcomes
from statcv.tables import Printed
from statcv.words import joined, plural


def in_words(results: Mapping[str, Readable]) -> list[tuple[str, str]]:
    """Describe each result by the aspects in which they differ.

    A result whose name already says so gets no description.
    """
    schemes = [result.plan.sentence for result in results.values()]
    aspects = differences([*results.values()], schemes)
    texts = ["; ".join(parts) for parts in zip(*aspects, strict=True)]
    return [pair for pair in zip(results, texts, strict=True) if pair[0] != pair[1]]


def differences(
    results: Sequence[Readable], schemes: Sequence[str]
) -> list[Sequence[str]]:
    """Return the aspects in which results differ.

    Seeds count only if nothing else differs and every result can be refitted;
    predictions from other software do not depend on a seed.
    """
    aspects: list[Sequence[str]] = [
        schemes,
        [r.learner.label for r in results],
        [r.design.formula.text for r in results],
        ["unweighted" if r.weights is None else "weighted" for r in results],
    ]
    differing = [texts for texts in aspects if len(set(texts)) > 1]
    if not differing and all(r.learner.capabilities.refits for r in results):
        return [[f"seed {r.seed}" for r in results]]
    return differing or [[r.learner.label for r in results]]


LONG = 24  # length of the longest name that fits into the tables


# ---- the records ----


def check_results(results: Mapping[str, Any]) -> None:
    """Check that all are results for the same records and the same outcome.

    Raises
    ------
    ComparisonError
        If there are fewer than two, one is not a result, or records or outcomes differ.
    """
    if len(results) < 2:
        raise ComparisonError(
            f"compare() needs at least two results, not {len(results)}."
        )
    for name, result in results.items():
        if not is_result(result):
            hint = "; a formula needs data=" if isinstance(result, str) else ""
            if hasattr(result, "by_site"):
                hint = (
                    ": its sums hold each model alone, and no difference between two "
                    "for the same records. Their estimates by site are compared by "
                    "compare_settings(a=a.by_site()['estimate'], "
                    "b=b.by_site()['estimate'])"
                )
            raise ComparisonError(
                f"{name!r} is a {type(result).__name__}, not a result of cv(){hint}."
            )
    check_same_records(results)


def is_result(one: Any) -> bool:
    """Return whether an object is a result of cross-validation."""
    return hasattr(one, "scores") and hasattr(one, "design")


def check_same_records(results: Mapping[str, Readable]) -> None:
    """Check that all results are for the same records and the same outcome.

    Raises
    ------
    ComparisonError
        If records or outcomes differ.
    """
    first, *others = results
    for other in others:
        _check_pair(first, results[first], other, results[other])


def held_out(result: Readable) -> pd.Index[Any]:
    """Return the labels of the records that were held out."""
    return result.design.labels[result.scores.mean_prediction()[0]]


def _check_pair(first: str, a: Readable, second: str, b: Readable) -> None:
    rows_a, rows_b = held_out(a), held_out(b)
    only = len(rows_a.symmetric_difference(rows_b))
    if only:
        kept = a.design.absent or b.design.absent
        omits = a.held.omitted or b.held.omitted
        raise ComparisonError(
            f"{first!r} and {second!r} do not have the same records: {len(rows_a)} and "
            f"{len(rows_b)} rows, of which {only} occur in only one of them. Fit both "
            "on the rows that are complete for both"
            + ", with na_action='drop'" * bool(kept)
            + (", with new_levels='mean'." if omits else ".")
        )
    y_a, y_b = a.design.outcome, b.design.outcome
    codes_a, codes_b = observed(a, rows_a), observed(b, rows_a)
    if y_a.kind != y_b.kind or not np.array_equal(codes_a, codes_b):
        raise ComparisonError(
            f"{first!r} and {second!r} do not have the same outcome: {y_a.name} and "
            f"{y_b.name} differ in kind, coding or values."
        )
    if y_a.horizons != y_b.horizons:
        times_a, times_b = (
            joined([f"{t:g}" for t in y.horizons]) or "none" for y in (y_a, y_b)
        )
        raise ComparisonError(
            f"{first!r} and {second!r} predict risks at different times ({times_a}; "
            f"{times_b}): give both the same horizon."
        )


def observed(result: Readable, labels: pd.Index[Any]) -> Outcomes:
    """Return the coded outcome of records, in the order of their labels."""
    design = result.design
    return np.asarray(design.y[design.labels.get_indexer(labels)])


# ---- their names ----


def name_results(results: Sequence[Any]) -> dict[str, Any]:
    """Name results by the aspects in which they differ, if the names are short."""
    if len(results) < 2 or not all(map(is_result, results)):
        return {f"argument {i}": r for i, r in enumerate(results, start=1)}
    aspects = differences(results, [r.plan.scheme for r in results])
    names = [", ".join(parts) for parts in zip(*aspects, strict=True)]
    if len(set(names)) == len(results) and max(map(len, names), default=0) <= LONG:
        return dict(zip(names, results, strict=True))
    return {f"result {i}": r for i, r in enumerate(results, start=1)}


# ---- the mean prediction of each record, and what a metric reads of it ----


def averaged(scores: Scores) -> Scores:
    """Return the mean prediction of each record, in the form of a single repeat.

    Each record is a split of its own, so that its baseline is averaged too. The records
    are in the order of ``scores.mean_prediction()``.

    Parameters
    ----------
    scores : Scores
        Held-out predictions of all repeats.
    """
    row, predicted = scores.mean_prediction()
    # sizes of training sets and baselines are averaged as predictions are
    place = np.searchsorted(row, scores.row)
    times = np.bincount(place)
    count, none = len(row), np.empty(0, dtype=np.intp)
    known = scores.of_training
    of_fits = scores.left.predicted[:0]
    nothing = LeftOut(none, none, of_fits, np.empty(0, dtype=bool), none)
    made: dict[str, Any] = {
        name: np.bincount(place, getattr(scores, name)[scores.split]) / times
        for name in ("n_train", "baseline")
    }
    spread = None if known is None else mean_by(scores.row, known)[1]
    made |= {"threshold": scores.mean_threshold, "of_training": spread}
    made |= {"split": np.arange(count), "repeat": np.zeros(count, dtype=np.intp)}
    made |= {"pairwise": False, "tournament": False, "sensitivity": None}
    return replace(scores, row=row, predicted=predicted, left=nothing, **made)


def read_by_record(scores: Scores, metric: Metric) -> Floats:
    """Return what a metric reads of the mean prediction of each record.

    If there are thresholds and the metric reads classes, these are the predicted
    classes as 0 and 1, or NaN where a threshold is missing.

    Parameters
    ----------
    scores : Scores
    metric : Metric

    Returns
    -------
    numpy.ndarray, shape (records,) or (records, classes)
        One row per record, in the order of ``scores.mean_prediction()``.
    """
    predicted, cuts = scores.mean_prediction()[1], scores.mean_threshold
    if cuts is not None and metric.reads == "classes":
        return predicted_as(predicted, cuts)
    return metric.readable(predicted, scores.probabilities)


# ---- held-out predictions of several results, in one order of records ----

NULL = "null"  # name of the model without predictors


def against_null(results: Mapping[str, Readable], reference: str | None) -> bool:
    """Return whether results are compared with the model without predictors."""
    return reference == NULL and isinstance(results[NULL].learner, Mean)


@dataclass(frozen=True, eq=False, repr=False)
class SharedRecords(Printed):
    """What a metric reads of each result, with records in the order of the first.

    Attributes
    ----------
    results : dict of str to result
    metric : Metric
    reference : str or None
        The result with which the others are compared; None for all pairs.
    """

    results: Mapping[str, Readable]
    metric: Metric
    reference: str | None

    @cached_property
    def labels(self) -> pd.Index[Any]:
        """The labels of the records that were held out."""
        return held_out(self.first)

    @property
    def first(self) -> Readable:
        """The first result."""
        return next(iter(self.results.values()))

    @cached_property
    def y(self) -> Array:
        """The coded outcome of each record."""
        return observed(self.first, self.labels)

    # ---- the predictions ----

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """The held-out predictions of each result.

        For a rank metric, the model without predictors ranks all records equally,
        even if the training means of the folds reveal the labels.
        """
        found = {name: result.scores for name, result in self.results.items()}
        if self.null_ranks_equally:
            null = found[NULL]
            # a model without predictors ranks all records equally
            both = (null.predicted, null.left.predicted)
            own, of_fits = (np.full_like(one, 0.5) for one in both)
            left = replace(null.left, predicted=of_fits)
            found[NULL] = replace(null, predicted=own, sensitivity=None, left=left)
        return found

    @property
    def null_ranks_equally(self) -> bool:
        """Whether a rank metric is compared with the model without predictors."""
        return self.metric.rank and against_null(self.results, self.reference)

    @cached_property
    def averaged(self) -> dict[str, Scores]:
        """The mean predictions of the records, with the baseline of the first.

        Censoring is that of the first too, but a dispersion is part of a prediction.
        """
        found = {name: averaged(scores) for name, scores in self.scores.items()}
        first, made = next(iter(found.values())), {}
        known = first.of_training if self.metric.takes != "dispersion" else None
        for name, one in found.items():
            order = self.labels.get_indexer(held_out(self.results[name]))
            spread = one.of_training if known is None else known[order]
            baseline = first.baseline[order]
            made[name] = replace(one, baseline=baseline, of_training=spread)
        return made

    @cached_property
    def predictions(self) -> dict[str, Floats]:
        """What the metric reads of the mean prediction of each record, by result."""
        known, metric = self.scores.items(), self.metric
        read = {name: read_by_record(scores, metric) for name, scores in known}
        return {name: self._in_order(name, own) for name, own in read.items()}

    def losses(self, first: str, second: str) -> tuple[Floats, Floats] | None:
        """Return the losses of the records by two results, if the metric has such."""
        if self.metric.casewise is None:
            return None
        a, b = (
            self._in_order(name, casewise(self.averaged[name], self.metric))
            for name in (first, second)
        )
        return a, b

    def _in_order(self, name: str, values: Floats) -> Floats:
        """Return values of a result's records in the order of the first result's."""
        return values[held_out(self.results[name]).get_indexer(self.labels)]

    def value(self, predictions: Floats) -> float:
        """Return the metric for predictions of all records."""
        base = next(iter(self.averaged.values())).beside(self.metric)
        return float(self.metric(self.y, predictions, base))

    # ---- pairs of results ----

    def sides(self, first: str, second: str) -> tuple[Side, Side]:
        """Return the predictions of two results with one numbering of the records."""
        a, b = ((self.scores[name], self.numbers(name)) for name in (first, second))
        return a, b

    def numbers(self, name: str) -> Numbers:
        """Return the number of each record of a result."""
        return np.asarray(self._numbering.get_indexer(self._labels_of(name)))

    def units(self, first: str, second: str) -> Numbers:
        """Return the cluster of each numbered record, or the record itself."""
        codes = self.clusters(first, second)
        return np.arange(len(self._numbering)) if codes is None else codes

    def clusters(self, first: str, second: str) -> Numbers | None:
        """Return the cluster of each numbered record.

        Records that either result puts into one cluster are in one cluster. The
        records of `labels` come first.
        """
        codes = []
        for name in (first, second):
            own = self.scores[name].clusters
            where = self._labels_of(name).get_indexer(self._numbering)
            if own is not None:
                alone = int(own.max()) + 1 + np.arange(len(where))
                # a record that a result lacks is a cluster of its own
                own = np.where(where >= 0, own[where], alone)
            codes.append(own)
        return joined_clusters(*codes)

    def _labels_of(self, name: str) -> pd.Index[Any]:
        return self.results[name].design.labels

    @cached_property
    def _numbering(self) -> pd.Index[Any]:
        """The labels of all records: first those held out, then any others."""
        found = self.labels
        for result in self.results.values():
            found = found.append(result.design.labels.difference(found, sort=False))
        return found


# ---- what differs between two results apart from the models ----


SCHEMES_DIFFER = "tests the schemes, not the models: only the scheme differs"
DRAWS_DIFFER = "tests two draws of one scheme: only the folds differ"
CLUSTERS_DIFFER = "tests how folds are made, not the models: {} against {}"
EXTERNAL_DIFFERS = "one is an external validation, the other a cross-validation"
FOLDS_DIFFER = "the folds differ too, which contributes to the difference"


def same_folds(a: Readable, b: Readable) -> bool:
    """Return whether two results hold out and drop the same records in every fold."""
    alike = a.design.labels.equals(b.design.labels)
    return alike and a.plan.fingerprint == b.plan.fingerprint


def caveat(a: Readable, b: Readable) -> str:
    """Say what differs between two results apart from the models."""
    if same_folds(a, b):
        return ""
    if a.scores.external != b.scores.external:
        return EXTERNAL_DIFFERS
    if _models_differ(a, b):
        return FOLDS_DIFFER
    if a.plan.scheme != b.plan.scheme:
        return SCHEMES_DIFFER
    kinds = [_clusters_of(result) for result in (a, b)]
    return CLUSTERS_DIFFER.format(*kinds) if kinds[0] != kinds[1] else DRAWS_DIFFER


def _clusters_of(result: Readable) -> str:
    strata = result.plan.strata
    return "records at random" if strata is None else f"equal {strata.label} together"


def _models_differ(a: Readable, b: Readable) -> bool:
    """Return whether the models or their data differ."""
    return (
        a.learner.label != b.learner.label
        or a.design.names != b.design.names
        or not np.array_equal(a.design.matrix, b.design.matrix, equal_nan=True)
        or not np.array_equal(_weights(a), _weights(b))
    )


def _weights(result: Readable) -> Floats:
    return np.ones(result.design.n) if result.weights is None else result.weights


def pooling_caveat(a: Readable, b: Readable) -> str:
    """Say that pooling is biased if it is, for tests of pooled predictions."""
    worst = max((a, b), key=lambda r: abs(r.mean_model_auroc - 0.5))
    if not abs(worst.mean_model_auroc - 0.5) > BIASED:
        return ""
    return (
        "pooled over folds whose training means reveal the labels: the training mean "
        f"alone has auROC {worst.mean_model_auroc:.3f} under {worst.plan.scheme}"
    )


def headline_caveat(headlines: Mapping[str, str], how: str) -> str:
    """Say which results have a headline that is computed in another way than ``how``.

    Parameters
    ----------
    headlines : mapping of str to str
        How the headline of each result is computed, by its name.
    how : str
        How the estimates that are compared are computed.
    """
    named: dict[str, list[str]] = {}
    for name, headline in headlines.items():
        if headline != how.partition(",")[0]:
            named.setdefault(headline.replace("_", " "), []).append(name)
    if not named:
        return ""
    said = [f"{way} for {' and '.join(names)}" for way, names in named.items()]
    compared = how.replace("_", " ")
    return f"compared {compared}, while the headline is {' and '.join(said)}"


def undefined_caveats(estimates: Mapping[str, Estimate]) -> list[str]:
    """Say in how many folds or repeats the estimate of a result has no value."""
    units = {"per_fold": "fold"}
    return [
        f"{found.label} has no value in {found.n_undefined} of "
        f"{plural(found.n_values, units.get(found.how, 'repeat'))} for {name}"
        for name, found in estimates.items()
        if 0 < found.n_undefined < found.n_values
    ]
