"""Scores standardised within each fit, which does not remove distributional bias."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Held
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    DistributionalBiasWarning,
    MetricError,
    ModelError,
    OutcomeError,
    SchemeError,
    suggestion,
    warn,
)
from statcv.formula import Formula
from statcv.metrics import METRICS, Metric
from statcv.models import Capabilities, Fit, Model, TrainingSet
from statcv.models.thresholds import NAME, Thresholded
from statcv.results import Call, CVResult
from statcv.words import plural
from studies.moments import Moments, prediction_moments

Floats = NDArray[np.float64]

OVER = {"all": "over all rows", "training": "over its training set"}


@dataclass(frozen=True)
class Standardised:
    """A model whose scores were standardised after the fits.

    Attributes
    ----------
    model : Model
    over : {"all", "training"}
    """

    model: Model
    over: str

    @property
    def label(self) -> str:
        """How print and summary call it."""
        return f"{self.model.label}, scores of each fit standardised {OVER[self.over]}"

    @property
    def capabilities(self) -> Capabilities:
        """Those of the model, whose predictions have changed since it was fitted."""
        return replace(
            self.model.capabilities, refits=False, fits_together=False, likelihood=None
        )

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
            "(permutations, the jackknife, the fit on all rows) is not available; use "
            "the result before its scores were standardised."
        )


class StandardisedResult(CVResult):
    """A result whose predictions are standardised scores, which only have an order.

    Made by :func:`studies.standardise_scores`.

    Examples
    --------
    >>> import warnings
    >>> import statcv as scv
    >>> data = scv.load_data("spector")
    >>> res = scv.cv("GRADE ~ GPA + PSI", data, scheme="rloocv", seed=1)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     scores = standardise_scores(res)
    >>> "predicted" in scores.predictions, scores.estimate("auroc").how
    (True, 'paired')
    """

    def _metric(self, name: str | Metric | None) -> Metric:
        chosen = super()._metric(name)
        if not chosen.rank:
            raise MetricError(
                f"{chosen.label} uses more than the order of the scores, and "
                "standardised scores have only an order; use a rank metric, such as "
                "auroc."
            )
        return chosen


def standardise_scores(
    result: CVResult, over: str = "all", *, n_jobs: int | None = None
) -> StandardisedResult:
    """Standardise the scores of each fit before they are pooled; this is unsafe.

    The mean of what the same fit predicts for many rows is subtracted from each
    held-out score, and the difference is divided by their standard deviation. It looks
    like a correction of distributional bias, but Austin, Pe'er & Korem (2024,
    Supplementary Note 2, Fig. S5) show that it fails; it is available to demonstrate
    this. A model that learns the labels of its training
    set reveals which label is missing there: the mean of its predictions is higher
    where the held-out record is negative. Under leave-one-out a nearest neighbour
    then ranks every positive above every negative except in pairs of which both are
    predicted wrongly, so that on noise, with a share π of positives, the expected auROC
    is 1 − π(1 − π): 0.75 at one half, and 0.91 at one tenth. Use balanced training sets
    instead: ``scheme="rloocv"``, with ``how="paired"``.

    Parameters
    ----------
    result : CVResult
        Result for a binary or a continuous outcome.
    over : {"all", "training"}
        Rows whose predictions are averaged: all rows, including those held out, as in
        the authors' code; or the training set, with its repeated records and weights.
        Neither is safe.
    n_jobs : int, optional
        As in :func:`statcv.cv`; all fits are made again.

    Returns
    -------
    StandardisedResult
        Estimates, comparisons and plots of ranks apply; what needs a scale or refits
        does not. A fit that predicts the same for every row (sd 0) does not rank them:
        its scores are 0, and tied. The warning counts such fits.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If ``result`` is not a CVResult, or ``over`` has another value.
    OutcomeError
        If the outcome has more than two classes.
    ModelError
        If there is no model to fit again, or a fit predicts the same for all of its
        training set and something else for a held-out record.
    MetricError
        If the result has no rank metric, and there is no default for its outcome.
    SchemeError
        If the scheme is ``"bootstrap"``, whose estimates use the fit on all rows.

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
    ...     unsafe = standardise_scores(res)
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
            "standardised scores have an order and no scale, and the result has no "
            "rank metric; give cv(metrics=) one, such as "
            "metrics.make_metric(function, reads='order')."
        )
    setup = replace(result.refits.setup, model=model)
    moments = prediction_moments(setup, training=over == "training", n_jobs=n_jobs)
    held = _standardised(result.held, moments)
    constant = int((moments.sd == 0).sum())
    tied = (
        f" {constant} of {plural(len(moments.sd), 'fit')} predict the same for every "
        "row; their scores are 0."
    )
    warn(
        "scores standardised within each fit do not cure distributional bias: a "
        "model that learns its training labels passes on which one is missing, so that "
        "a nearest neighbour has auROC 0.75 and more on noise; scheme='rloocv' with "
        f"how='paired' does.{tied if constant else ''}",
        DistributionalBiasWarning,
    )
    return StandardisedResult(
        design=result.design,
        plan=result.plan,
        learner=Standardised(model, over),
        held=held,
        chosen_metrics=metrics,
        weights=result.weights,
        seed=result.seed,
        call=StandardisedCall(result.call, over),
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
    if not result.learner.capabilities.refits:
        raise ModelError(
            f"{result.learner.label}: there is no model to predict all rows."
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
            "another scale; use another scheme, such as montecarlo."
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


@dataclass(frozen=True, eq=False, repr=False)
class StandardisedCall(Call):
    """The call of a result, and the records over which its scores are standardised."""

    call: Call
    over: str

    def __post_init__(self) -> None:
        """Take from the call what is read of it."""
        for name in ("data", "metrics", "row", "by", "n_jobs"):
            object.__setattr__(self, name, getattr(self.call, name))

    def again(
        self,
        formula: Formula,
        scope: MutableMapping[str, Any],
        changes: Mapping[str, Any],
    ) -> CVResult:
        """Make the result again with some arguments changed, and standardise it.

        Parameters
        ----------
        formula, scope, changes
            As :meth:`statcv.results.call.Call.again` takes them; ``over``, too.
        """
        others = {name: value for name, value in changes.items() if name != "over"}
        made = self.call.again(formula, scope, others)
        over = changes.get("over", self.over)
        return standardise_scores(made, over, n_jobs=made.call.n_jobs)

    def with_mean_model(self) -> StandardisedCall:
        """Return the same call for the model without predictors."""
        return StandardisedCall(self.call.with_mean_model(), self.over)
