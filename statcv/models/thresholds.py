"""A model that chooses a classification threshold on every training set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from statcv.arguments import described, is_number
from statcv.errors import ArgumentError, ArgumentTypeError, ModelError, suggestion
from statcv.metrics import Metric, round_significant
from statcv.models import base
from statcv.models.base import Capabilities, Fit, Model, TrainingSet, WrappedFit
from statcv.models.batched.blocks import CELLS
from statcv.models.batched.fits import FittedFolds, fit_all_folds
from statcv.models.batched.folds import Folds
from statcv.numeric.arrays import Array, Bools, Floats, Numbers

__all__ = [
    "NAME",
    "RULES",
    "Thresholded",
    "ThresholdedFit",
    "best_thresholds",
    "deciding",
    "refuse_beyond",
    "threshold_in",
    "threshold_used",
    "training_times",
    "with_threshold",
]


@dataclass(frozen=True)
class Rule:
    """A criterion that a threshold maximises among the training records.

    Attributes
    ----------
    label : str
    score : callable or None
        Function of the weights of true and of false positives, and of all positives and
        negatives, that is largest at the threshold; None for the share of positives,
        which is a threshold by itself.
    """

    label: str
    score: Callable[[Floats, Floats, Floats, Floats], Floats] | None


RULES = {
    "youden": Rule(
        "where sensitivity plus specificity is largest",
        lambda true, false, ones, zeros: true / ones - false / zeros,
    ),
    "f1": Rule(
        "where F1 is largest",
        lambda true, false, ones, zeros: 2 * true / (true + false + ones),
    ),
    "accuracy": Rule(
        "where accuracy is largest",
        lambda true, false, ones, zeros: (true + zeros - false) / (ones + zeros),
    ),
    "prevalence": Rule("at the share of positives", None),
}


NAME = "threshold"  # the name under which a chosen threshold is kept
FAR = 1e200  # the scale of thresholds that lie beyond all predictions


def deciding(decisions: Floats) -> Floats:
    """Return thresholds for which any predictions lead to given decisions.

    Their mean over several fits leads to the decision of most of these fits.

    Parameters
    ----------
    decisions : numpy.ndarray, shape (m,) or (m, classes)
        Whether class 1, or each of several classes, is predicted, as 1 and 0; or the
        share of fits that predict it.
    """
    # no prediction is as large, and the mean has the sign of the majority
    return FAR * ((0.5 if decisions.ndim == 1 else 0.0) - decisions)


def threshold_in(fit: Fit, X: Floats) -> float | Floats | None:
    """Return the threshold that a fit chose, or those that stand for its decisions."""
    found = (fit.chosen or {}).get(NAME)
    if found is not None:
        return float(found)
    decided = base.decisions_of(fit, X)
    return None if decided is None else deciding(decided)


def threshold_used(
    metric: Metric, given: float | None, own: float | Floats | None
) -> float | Floats | None:
    """Return the threshold that a metric uses: that of the fit, or the one given."""
    if own is None or not metric.cuts:
        return given if metric.cuts else None
    other = given is not None or metric.reads != "classes"
    return given if other and isinstance(own, np.ndarray) else own


def with_threshold(
    model: Model, threshold: float | str | None, kind: str
) -> tuple[Model, float | None]:
    """Return the model that chooses a threshold, or the model and a fixed one.

    Parameters
    ----------
    model : Model
    threshold : float, str or None
        A number, or the name of a rule.
    kind : str
        Of outcome.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If it is neither, or is not finite.
    ModelError
        If the outcome does not have two classes.
    """
    if threshold is None:
        return model, None
    number = kind == "survival" and not isinstance(threshold, str)
    if not (kind == "binary" or number):  # the net benefit at a horizon has a threshold
        raise ModelError(f"threshold= needs an outcome of two classes, not {kind}.")
    if isinstance(threshold, str):
        if threshold not in RULES:
            listed = ", ".join(map(repr, RULES))
            raise ArgumentError(
                f"threshold={threshold!r} is neither a number nor a rule; rules are "
                f"{listed}." + suggestion(threshold, RULES)
            )
        return Thresholded(model, threshold), None
    if isinstance(threshold, bool) or not isinstance(threshold, Real):
        raise ArgumentTypeError(
            f"threshold must be a number or a rule's name, not {threshold!r}."
        )
    if not (is_number(threshold) and np.isfinite(threshold)):
        raise ArgumentError(f"threshold must be finite, not {described(threshold)}.")
    return model, float(threshold)


def refuse_beyond(threshold: float | None) -> None:
    """Check that a threshold of probabilities is one.

    Raises
    ------
    ArgumentError
        If it does not lie between 0 and 1.
    """
    if threshold is not None and not 0 <= threshold <= 1:
        raise ArgumentError(
            f"threshold={threshold:g} does not lie between 0 and 1, as the predicted "
            "probabilities do; a threshold of 20% is threshold=0.2."
        )


def best_thresholds(rule: Rule, y: Array, predicted: Floats, weights: Floats) -> Floats:
    """Choose the threshold of each of several training sets.

    Predictions are cut midway between two neighbours; of equally good cuts the one
    nearest to 0.5 is taken. A training set of one class has no threshold.

    Parameters
    ----------
    rule : Rule
    y : numpy.ndarray of 0 and 1, shape (sets, n)
    predicted : numpy.ndarray, shape (sets, n)
    weights : numpy.ndarray, shape (sets, n)
        Weight of each record; 0 for those that are not in the set.

    Returns
    -------
    numpy.ndarray, shape (sets,)
        NaN where a set has one class only.

    Examples
    --------
    >>> p = np.array([[0.1, 0.2, 0.3, 0.4]])
    >>> best_thresholds(RULES["youden"], np.array([[0, 0, 1, 1]]), p, np.ones((1, 4)))
    array([0.25])
    """
    ones = (weights * (y == 1)).sum(axis=1, keepdims=True)
    zeros = (weights * (y == 0)).sum(axis=1, keepdims=True)
    both = (ones > 0) & (zeros > 0)
    if rule.score is None:
        return np.where(both, ones / (ones + zeros), np.nan)[:, 0]
    values, true, false, present = _cumulated(y, predicted, weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = rule.score(true, false, ones, zeros)
    following = _next_present(values, present)
    cut = (values + following) / 2
    cut = np.where(values == 0, 0.0, cut)  # no probability is below 0
    usable = present & (values > following)  # ties are not split
    usable[:, 0] = True  # nothing is above 1
    # cuts whose scores differ by rounding alone are equally good
    score = np.where(usable, round_significant(score), -np.inf)
    best = usable & (score == score.max(axis=1, keepdims=True))
    off = np.where(best, np.abs(cut - 0.5), np.inf)
    at = off.argmin(axis=1)[:, None]
    found, value, lower = (
        np.take_along_axis(one, at, axis=1)[:, 0] for one in (cut, values, following)
    )
    found = np.where(round_significant(found) > lower, found, value)  # 12 digits apart
    return np.asarray(np.where(both[:, 0], found, np.nan))


def _cumulated(
    y: Array, predicted: Floats, weights: Floats
) -> tuple[Floats, Floats, Floats, Bools]:
    """Return predictions, falling, and the weight of true and false positives.

    The first value is above all predictions that count, so that no such record is
    positive. Also return whether each value belongs to a record that counts.
    """
    # one sort gives the true and false positives of all cuts, as in a ROC curve
    order = np.argsort(-predicted, axis=1, kind="stable")
    values = np.take_along_axis(round_significant(predicted), order, axis=1)
    count = np.take_along_axis(weights, order, axis=1)
    positive = np.take_along_axis(y == 1, order, axis=1)
    highest = np.where(count > 0, values, -np.inf).max(axis=1, keepdims=True)
    # probabilities do not exceed 1, and scores have no bound
    above = np.where(highest < 1, 1.0, highest + 1)
    none = np.zeros((len(values), 1))
    return (
        np.concatenate([above, values], axis=1),
        np.concatenate([none, np.cumsum(count * positive, axis=1)], axis=1),
        np.concatenate([none, np.cumsum(count * ~positive, axis=1)], axis=1),
        np.concatenate([none == 0, count > 0], axis=1),
    )


def _next_present(values: Floats, present: Bools) -> Floats:
    """Return the next lower value of a record that counts, or a value below all."""
    lowest = np.where(present, values, np.inf).min(axis=1, keepdims=True)
    below = np.where(lowest > 0, 0.0, lowest - 1)
    held = np.where(present, values, -np.inf)
    # a running maximum from the lowest value on skips records that do not count
    after = np.maximum.accumulate(held[:, ::-1], axis=1)[:, ::-1]
    following = np.concatenate([after[:, 1:], below], axis=1)
    return np.asarray(np.maximum(following, below))


@dataclass(frozen=True, eq=False)
class Thresholded:
    """A model, and the rule by which every training set chooses a threshold.

    :func:`statcv.cv` makes it if ``threshold=`` is a rule's name. The predictions are
    the model's; the threshold chosen is ``chosen["threshold"]`` of a fit.

    Attributes
    ----------
    model : Model
    rule : str
    """

    model: Model
    rule: str

    @property
    def label(self) -> str:
        """How print and summary call it."""
        told = RULES[self.rule].label
        return f"{self.model.label}, threshold {told} in every training set"

    @property
    def capabilities(self) -> Capabilities:
        """Those of the model."""
        return self.model.capabilities

    def check(self, kind: str) -> None:
        """Raise ModelError unless there are two classes and the model admits them."""
        if kind != "binary":
            raise ModelError("threshold= needs an outcome of two classes.")
        self.model.check(kind)

    def fit(self, training: TrainingSet) -> ThresholdedFit:
        """Fit the training set, and choose the threshold on it."""
        return self._chosen(self.model.fit(training), training)

    def fit_following(
        self, training: TrainingSet, held_out: TrainingSet
    ) -> ThresholdedFit:
        """Fit and follow the held-out records; choose on the training set alone."""
        model: Any = self.model
        return self._chosen(model.fit_following(training, held_out), training)

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Fit and choose in the training sets of all folds together."""
        fitted = fit_all_folds(self.model, records, folds)
        if fitted is None:
            return None
        n = len(records.X)
        found = np.empty(len(folds))
        step = max(1, CELLS // n)
        for start in range(0, len(folds), step):
            fits = np.arange(start, min(start + step, len(folds)))
            rows = np.tile(np.arange(n), len(fits))
            made = fitted.predict_many(rows, np.repeat(fits, n)).reshape(-1, n)
            y = records.y if folds.outcome is None else records.y[folds.outcome[fits]]
            counts = folds.weights_in(records, fits)
            y = np.broadcast_to(y, made.shape)
            found[fits] = best_thresholds(RULES[self.rule], y, made, counts)
        return replace(fitted, chosen={**(fitted.chosen or {}), NAME: found})

    def _chosen(self, fit: Fit, training: TrainingSet) -> ThresholdedFit:
        predicted = np.asarray(fit.predict(training.X), dtype=float)
        given = training.y[None], predicted[None], training.each_weight[None]
        found = best_thresholds(RULES[self.rule], *given)
        return ThresholdedFit(fit, float(found[0]))


@dataclass(frozen=True, eq=False)
class ThresholdedFit(WrappedFit):
    """A fit with the threshold that was chosen on its training set.

    Attributes
    ----------
    threshold : float
    """

    threshold: float

    def decide(self, X: Floats) -> None:
        """Return None, as the threshold decides."""

    @property
    def chosen(self) -> dict[str, Any]:
        """What was chosen inside the training set."""
        own = self.fit.chosen or {}
        return {**own, NAME: self.threshold}


def training_times(records: TrainingSet, folds: Folds, fits: Numbers) -> Floats:
    """Return by what each of some fits multiplies the weights of records, (fits, n)."""
    counts = folds.counts_in(len(records.X), fits)
    return counts if folds.weights is None else counts * folds.weights(fits)
