"""Held-out scores standardised within each fit: a correction that does not correct."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Held, Moments, prediction_moments
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    DistributionalBiasWarning,
    MetricError,
    ModelError,
    OutcomeError,
    SchemeError,
    plural,
    suggestion,
    warn,
)
from statcv.metrics import METRICS, Metric
from statcv.models import Fit, Model, TrainingSet
from statcv.models.thresholds import NAME, Thresholded
from statcv.results.call import Call
from statcv.results.result import CVResult

Floats = NDArray[np.float64]
OVER = {"all": "over all rows", "training": "over its training set"}


@dataclass(frozen=True)
class Standardised:
    """In the part of a model: one whose scores were standardised afterwards.

    Attributes
    ----------
    model : Model
    over : {"all", "training"}
    """

    model: Model
    over: str
    refits: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """How print and summary call it."""
        return f"{self.model.label}, scores of each fit standardised {OVER[self.over]}"

    def check(self, kind: str) -> None:
        """Raise ModelError if the model does not admit this kind of outcome."""
        self.model.check(kind)

    def fit(self, training: TrainingSet) -> Fit:
        """Refuse: scores are standardised after all fits.

        Raises
        ------
        ModelError
        """
        raise ModelError(
            "scores were standardised after the fits, so that what needs refits "
            "(permutations, the jackknife, the fit on all rows) cannot be had of them; "
            "it can be had of the result that was given."
        )


class StandardisedResult(CVResult):
    """A result whose predictions are standardised scores, which only have an order.

    Made by :func:`statcv.studies.standardise_scores`.
    """

    def _metric(self, name: str | Metric | None) -> Metric:
        chosen = super()._metric(name)
        if not chosen.rank:
            raise MetricError(
                f"{chosen.label} reads more than the order of the scores, and there is "
                "nothing else to standardised ones; use a metric of ranks, as auroc."
            )
        return chosen


def standardise_scores(
    result: CVResult, over: str = "all", *, n_jobs: int | None = None
) -> StandardisedResult:
    """Standardise the scores of each fit before they are pooled; this is unsafe.

    Each held-out score, less the mean of what the same fit predicts for many rows,
    over their standard deviation. It looks like a cure of distributional bias, and
    Austin, Pe'er & Korem (2024, Supplementary Note 2, Fig. S5) show that it is none;
    it is here so that it can be shown. A model that learns the labels of its training
    set passes on which label is missing there: the mean of its predictions is higher
    where the held-out record is negative. Under leave-one-out a nearest neighbour
    then ranks every positive above every negative but for pairs of which both are
    predicted wrongly, so that on noise, at a share of positives π, auROC is expected
    at 1 − π(1 − π): 0.75 at one half, and 0.91 at one tenth. Even out the training
    sets instead: ``scheme="rloocv"``, with ``how="paired"``.

    Parameters
    ----------
    result : CVResult
        Of a binary outcome, or of numbers.
    over : {"all", "training"}
        The rows whose predictions are averaged: all of them, those held out too, as in
        the authors' code; or the training set, with its copies and weights. Neither
        is safe.
    n_jobs : int, optional
        As in :func:`statcv.cv`; all fits are made again.

    Returns
    -------
    StandardisedResult
        Estimates, comparisons and plots of ranks apply; what needs a scale or refits
        does not. A fit that predicts the same for every row (sd 0) says nothing of
        any of them: its score is 0, a tie with others of its kind. The warning
        counts such fits.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If ``result`` is none, or ``over`` is neither.
    OutcomeError
        If the outcome has more than two classes.
    ModelError
        If there is no model to fit again, or a fit predicts the same for all of its
        training set and something else for a held-out record.
    MetricError
        If no metric of the result is one of ranks, and none is known for its outcome.
    SchemeError
        Of ``bootstrap``, whose estimates join the fit on all rows.

    Warns
    -----
    DistributionalBiasWarning
        At every call.

    References
    ----------
    Austin, Pe'er & Korem (2024); Science Advances (2025).

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import pandas as pd
    >>> import statcv as scv
    >>> x = np.random.default_rng(1).uniform(size=(100, 3))
    >>> df = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=np.arange(100) % 2)
    >>> nearest = scv.models.Neighbors(k=1)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", scv.errors.DistributionalBiasWarning)
    ...     res = scv.cv("y ~ .", df, model=nearest, scheme="loocv", seed=1)
    ...     unsafe = scv.studies.standardise_scores(res)
    >>> noise, worse = float(res.estimate("auroc")), float(unsafe.estimate("auroc"))
    >>> worse > 0.65 > noise
    True
    """
    _check(result, over)
    model = result.learner
    if isinstance(model, Thresholded):  # ranks have no use for thresholds
        model = model.model
    metrics = tuple(metric for metric in result.chosen_metrics if metric.rank)
    if not metrics and result.design.outcome.kind == "binary":
        metrics = (METRICS["auroc"], METRICS["auprc"])
    if not metrics:
        raise MetricError(
            "standardised scores have an order and no scale, and no metric of the "
            "result is one of ranks; give cv(metrics=) one, such as "
            "metrics.make_metric(function, reads='order')."
        )
    setup = replace(result._setup, model=model)
    moments = prediction_moments(setup, training=over == "training", n_jobs=n_jobs)
    held = _standardised(result.held, moments)
    constant = int((moments.sd == 0).sum())
    tied = (
        f" {constant} of {plural(len(moments.sd), 'fit')} predict the same for every "
        "row; their scores are 0."
    )
    warn(
        "scores standardised within each fit are no cure of distributional bias: a "
        "model that learns its training labels passes on which one is missing, so that "
        "a nearest neighbour has auROC 0.75 and more on noise; scheme='rloocv' with "
        f"how='paired' is one.{tied if constant else ''}",
        DistributionalBiasWarning,
    )
    arguments = {**result.call.arguments, "over": over}
    return StandardisedResult(
        design=result.design,
        plan=result.plan,
        learner=Standardised(model, over),
        held=held,
        chosen_metrics=metrics,
        weights=result.weights,
        seed=result.seed,
        call=Call(partial(_again, result.call.function), arguments),
    )


def _check(result: Any, over: object) -> None:
    if not isinstance(result, CVResult):
        raise ArgumentTypeError(
            f"standardise_scores() takes a result of cv(), not {type(result).__name__}."
        )
    if over not in tuple(OVER):
        listed = " or ".join(map(repr, OVER))
        raise ArgumentError(
            f"over must be {listed}, not {over!r}.{suggestion(over, OVER)}"
        )
    if not getattr(result.learner, "refits", True):
        raise ModelError(
            f"{result.learner.label}: no model is here whose predictions for all rows "
            "could be had."
        )
    outcome = result.design.outcome
    if outcome.kind == "multiclass":
        raise OutcomeError(
            f"{outcome.name!r} has {len(outcome.levels)} classes, each with scores of "
            "its own; standardise_scores() takes an outcome of two classes or of "
            "numbers."
        )
    if result.plan.scheme == "bootstrap":
        raise SchemeError(
            "bootstrap estimates join the fit on all rows, whose scores would have "
            "another scale; standardise those of another scheme, as montecarlo."
        )


def _standardised(held: Held, moments: Moments) -> Held:
    chosen = held.chosen
    if chosen is not None and NAME in chosen:
        chosen = chosen.drop(columns=NAME)
        chosen = chosen if chosen.shape[1] else None
    return replace(
        held,
        predicted=_scores(held.predicted, held.fit, moments),
        partner_predicted=_scores(held.partner_predicted, held.partner_fit, moments),
        probabilities=False,
        chosen=chosen,
    )


def _scores(predicted: Floats, fit: NDArray[np.intp], moments: Moments) -> Floats:
    off, sd = predicted - moments.mean[fit], moments.sd[fit]
    apart = (sd == 0) & (np.abs(off) > 1e-12 * np.abs(predicted))
    if apart.any():
        raise ModelError(
            f"{plural(len(np.unique(fit[apart])), 'fit')} predict the same for the "
            "whole training set and something else for a held-out record, which has no "
            "standardised score then; over='all' gives one."
        )
    scores = np.where(sd == 0, 0.0, off / np.where(sd == 0, 1.0, sd))
    return np.asarray(np.round(scores, 12))  # a score at the mean is 0, and ties


def _again(
    function: Any, arguments: Mapping[str, Any], scope: Mapping[str, Any]
) -> CVResult:
    given = dict(arguments)
    over = given.pop("over")
    made = function(given, scope)
    return standardise_scores(made, over, n_jobs=given.get("n_jobs"))
