"""The call that made a result: how to repeat it with changes, and its metrics."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from copy import copy
from dataclasses import fields, replace
from typing import Any, ClassVar, TypeVar

from statcv.errors import ArgumentTypeError, CheckpointWarning, MetricError, Noted
from statcv.formula import Formula, Outcome
from statcv.metrics import Metric, get_metric
from statcv.metrics.named import named_metrics, usual_metrics
from statcv.tables import Printed
from statcv.vocabulary import OF_PREDICTIONS, refuse_unknown

Result = TypeVar("Result")
Own = TypeVar("Own")


class Call(Printed):
    """The arguments of the verb that made a result, so that it can be called again.

    Results read the arguments that are declared here; a verb without one of them leaves
    it None.
    """

    verb: ClassVar[str]
    data: Any
    metrics: Any
    row: str | None = None
    by: Any = None
    n_jobs: int | None = None

    def again(
        self,
        formula: Formula,
        scope: MutableMapping[str, Any],
        changes: Mapping[str, Any],
    ) -> Any:
        """Call the verb again with some arguments changed.

        Parameters
        ----------
        formula : Formula
            The formula of the result. Dots in a new formula stand for its sides, and a
            new formula may use its functions; not used if nothing is fitted.
        scope : mapping
            Names that a new formula may use.
        changes : mapping
            The changed arguments by name.
        """
        own: Any = self
        names = [field.name for field in fields(own)]
        unknown = [name for name in changes if name not in names]
        known = OF_PREDICTIONS if self.verb == "from_predictions" else None
        refuse_unknown(self.verb, unknown, names, known)
        return replace(own, **changes).run()

    def with_mean_model(self: Own) -> Own:
        """Return the call for the model without predictors, if it names a model."""
        return self


def with_warnings(result: Result, noted: Noted) -> Result:
    """Return a result with the warnings of its call, and all that was computed.

    Warnings about files of a checkpoint are omitted, since they are not about the
    result.

    Parameters
    ----------
    result : CVResult
    noted : list of (str, type)
        The warnings, as :func:`statcv.errors.noted_warnings` notes them.
    """
    texts = [text for text, kind in noted if kind is not CheckpointWarning]
    other = copy(result)
    other.__dict__["warnings"] = tuple(dict.fromkeys(texts))
    return other


# ---- its metrics: those that it names, or the defaults ----

OF_PAIRS = {"binary": "auroc", "multiclass": "auroc_hand_till"}
OF_PAIRS["continuous"] = "concordance"


def choose_metrics(
    metrics: Any,
    outcome: Outcome,
    pairs: bool = False,
    threshold: float | str | None = None,
    probabilities: bool = True,
) -> tuple[Metric, ...]:
    """Return the metrics that a call names, or the defaults for the outcome.

    Parameters
    ----------
    metrics : str, Metric, callable, or a sequence of them, or None
    outcome : Outcome
    pairs : bool
        Whether the scheme compares pairs, so that the metric that compares pairs comes
        first unless others are named.
    threshold : float, str or None
        The threshold of the predictions, if one is given.
    probabilities : bool
        Whether the predictions are probabilities (or means). Metrics of probabilities
        are not among the defaults of scores.

    Raises
    ------
    MetricError
        If a metric is unknown, is not available for this outcome, or is named twice.
    """
    if metrics is None:
        usual = usual_metrics(outcome, threshold is not None)
        if isinstance(threshold, (int, float)) and not 0 <= threshold < 1:
            usual = [metric for metric in usual if metric.name != "net_benefit"]
        # the first metric of ordered classes compares pairs
        if pairs and not outcome.ordered and (first := OF_PAIRS.get(outcome.kind)):
            usual = list(dict.fromkeys([get_metric(first), *usual]))
        return tuple(m for m in usual if probabilities or m.reads != "probabilities")
    alone = isinstance(metrics, (str, Metric)) or callable(metrics)
    listed = [metrics] if alone else metrics
    if not isinstance(listed, Sequence):
        raise ArgumentTypeError(
            f"metrics must be a metric or a sequence of metrics, not {metrics!r}."
        )
    if not listed:
        raise MetricError("metrics is empty; omit it for the default metrics.")
    chosen = tuple(one for name in listed for one in named_metrics(name, outcome))
    named = [metric.name for metric in chosen]
    if len(set(named)) < len(named):
        raise MetricError(f"metrics names a metric twice: {', '.join(named)}.")
    return chosen
