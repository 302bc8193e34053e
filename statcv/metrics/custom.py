"""User-defined metrics, made from a function of arrays or a scikit-learn scorer."""

from __future__ import annotations

import inspect
import math
import reprlib
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from statcv.errors import ArgumentTypeError, MetricError, reason, suggestion
from statcv.metrics.classification import classwise
from statcv.metrics.influence.table import influence_on_mean
from statcv.metrics.inputs import one_of, real_array, same_length
from statcv.metrics.metric import Metric
from statcv.metrics.registry import METRICS
from statcv.numeric.arrays import Array, ArrayLike, Bools, Floats
from statcv.vocabulary import bare_word, metric_answer
from statcv.words import plural

_CLASSES = ("binary", "multiclass")
_KINDS = (*_CLASSES, "continuous")
# what a function can read: in words, and for which kinds of outcome by default
_READS = {
    "order": ("scores", ("binary",)),
    "classes": ("predicted classes", _CLASSES),
    "probabilities": ("probabilities (or means)", _KINDS),
    "numbers": ("predictions", ("continuous",)),
}


@dataclass(frozen=True)
class UserFunction:
    """A user's function of outcomes and predictions.

    Attributes
    ----------
    name : str
        Name of the function in error messages.
    function : callable
        The function itself.
    reads : {"order", "classes", "probabilities", "numbers"}
        Kind of prediction that the function receives; classes are derived from the
        predictions.
    keywords : dict
        Keyword arguments that are passed to the function.
    """

    name: str
    function: Callable[..., Any]
    reads: str
    keywords: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __call__(
        self, y: ArrayLike, prediction: ArrayLike, threshold: ArrayLike = 0.5
    ) -> float:
        """Return the function's value.

        The value is NaN if there are no records, if a prediction is NaN, if the
        function divides by zero, or if it raises a ValueError on records that lack a
        class.
        """
        outcome, read, known = self.arrays(y, prediction, threshold)
        if not known.size or not known.all():
            return float("nan")
        lacking = _lacks_a_class(outcome, np.shape(prediction))
        try:
            with warnings.catch_warnings():
                if lacking:
                    warnings.simplefilter("ignore")
                value = self.called(outcome, read)
        except ZeroDivisionError:
            return float("nan")
        except Exception as error:
            if lacking and isinstance(error, ValueError):
                return float("nan")
            raise self.failure(error, len(outcome)) from error
        return _number(value, self.name)

    def arrays(
        self, y: ArrayLike, prediction: ArrayLike, threshold: ArrayLike
    ) -> tuple[Array, Array, Bools]:
        """Return new arrays for the function, and which predictions are not NaN."""
        if self.reads == "classes":
            codes, p = classwise.outcome_and_prediction(y, prediction)
            chosen = classwise.predicted_class(p, threshold)
            known = ~np.isnan(chosen)
            return codes, np.where(known, chosen, 0).astype(np.intp), known
        outcome, read = np.array(y), np.array(real_array(prediction, "prediction"))
        same_length(len(outcome), len(read), "prediction")
        missing = np.isnan(classwise.columns(read)).any(axis=1)
        return outcome, read, np.asarray(~missing)

    def called(self, y: Array, read: Array) -> Any:
        """Call the function; 0/0 in NumPy gives NaN without a warning."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.function(y, read, **self.keywords)

    def failure(self, error: Exception, n: int) -> MetricError:
        """Return an error that names the function."""
        return MetricError(
            f"{self.name} failed for {plural(n, 'record')}: "
            f"{reason(error).rstrip('.')}. It received the outcome and "
            f"{_READS[self.reads][0]}; make_metric(..., reads=...) sets what it "
            "receives."
        )


@dataclass(frozen=True)
class UserCasewise(UserFunction):
    """A user's function of outcomes and predictions, with one value per record."""

    def __call__(  # type: ignore[override]
        self, y: ArrayLike, prediction: ArrayLike, threshold: ArrayLike = 0.5
    ) -> Floats:
        """Return one value per record, NaN where the prediction is NaN."""
        outcome, read, known = self.arrays(y, prediction, threshold)
        values = np.full(len(outcome), np.nan)
        if not known.any():
            return values
        try:
            given = self.called(outcome[known], read[known])
        except Exception as error:
            raise self.failure(error, int(known.sum())) from error
        numbers = real_array(given, f"what {self.name} returns")
        if numbers.shape != (known.sum(),):
            raise MetricError(
                f"{self.name} must return one number for each of {known.sum()} "
                f"records, but returned an array of shape {numbers.shape}."
            )
        values[known] = numbers
        return values


def _lacks_a_class(y: Array, shape: tuple[int, ...]) -> bool:
    """Return whether a class has no record."""
    return len(np.unique(y)) < (shape[1] if len(shape) == 2 else 2)


def _number(value: Any, name: str) -> float:
    number = np.asarray(value).item() if getattr(value, "shape", None) == () else value
    if isinstance(number, Real) and not isinstance(number, bool):
        return float(number)
    raise MetricError(f"{name} must return one number, not {reprlib.repr(value)}.")


_UNBOUNDED = ("log_loss", "hinge_loss", "coverage_error")  # scikit-learn's, of classes


def make_metric(
    function: Callable[..., Any],
    *,
    greater_is_better: bool | None = None,
    name: str | None = None,
    label: str | None = None,
    outcomes: str | Iterable[str] | None = None,
    reads: str | None = None,
    casewise: Callable[..., ArrayLike] | None = None,
    limits: tuple[float, float] | None = None,
) -> Metric:
    """Make a metric from a function, or from a scikit-learn scorer.

    Parameters
    ----------
    function : callable
        ``function(y, prediction)``, which returns a number; or the return value of
        scikit-learn's ``make_scorer`` or ``get_scorer``. `y` holds 0 and 1, the codes 0
        … K-1, or numbers.
    greater_is_better : bool, optional
        Direction of the metric; by default that of a scorer, or by the end of the
        function's name: ``_score`` is a gain, ``_error``, ``_loss`` and ``_deviance``
        are losses.
    name, label : str, optional
        The name that a user types, and the label in tables; the function's name unless
        given.
    outcomes : str or iterable of str, optional
        Kinds of outcome that the metric applies to: "binary", "multiclass",
        "continuous". The default follows from `reads`.
    reads : {"probabilities", "classes", "order", "numbers"}, optional
        Predictions that the function receives: probabilities of 1 (or K columns of
        them); predicted classes; scores of which only the order matters; or predictions
        of any kind. The default is probabilities for classes, and numbers for
        continuous outcomes.
    casewise : callable, optional
        ``casewise(y, prediction)``, one number per record, if the metric is the mean of
        these numbers. The metric then has an interval and paired comparisons.
    limits : tuple of float, optional
        Smallest and largest possible value, to which intervals are confined.

    Returns
    -------
    Metric
        The metric, for ``metrics=`` of :func:`statcv.cv`. It is NaN if a prediction is
        NaN, or the function divides by zero or raises a ValueError on records that lack
        a class.

    Raises
    ------
    MetricError, ArgumentTypeError
        If the name is taken, or direction, outcomes or name cannot be inferred; when
        the metric is called, if the function fails.

    Examples
    --------
    >>> def cost(y, predicted):
    ...     missed, alarmed = (y > predicted).sum(), (y < predicted).sum()
    ...     return (5 * missed + alarmed) / len(y)
    >>> metric = make_metric(cost, greater_is_better=False, reads="classes")
    >>> metric([0, 1, 1, 0], [0.7, 0.9, 0.4, 0.3], threshold=0.35)
    0.25
    """
    found = _described(function)
    named = _name(found.name if name is None else name)
    higher = _direction(greater_is_better, found, named)
    kinds, read = _outcomes_and_reads(outcomes, reads, found, named)
    if label is not None and not isinstance(label, str):
        raise ArgumentTypeError(f"label must be a string, not {label!r}.")
    if casewise is not None and not callable(casewise):
        raise ArgumentTypeError(
            f"casewise must be a function of (y, prediction), not {casewise!r}."
        )
    one_by_one, influence = None, dict[str, Any]()
    if casewise is not None:
        one_by_one = UserCasewise(f"casewise of {named}", casewise, read)
        influence = {} if read == "order" else influence_on_mean(one_by_one)
    known = _known_limits(found) if limits is None else _limits(limits)
    function = UserFunction(named, found.function, read, found.keywords)
    influence |= {"casewise": one_by_one, "limits": known}
    return Metric(named, label or named, function, higher, kinds, read, **influence)


def get_metric(metric: str | Metric | Callable[..., Any]) -> Metric:
    """Return a metric by name, or make one from a function or a scorer.

    Parameters
    ----------
    metric : str, Metric or callable
        The name of one of `METRICS`; a `Metric`, which is returned unchanged; or a
        function or scorer that `make_metric` accepts without further arguments.

    Returns
    -------
    Metric
        The metric.

    Raises
    ------
    MetricError
        If there is no metric of that name, with a suggestion of the nearest; or as in
        `make_metric`.

    Examples
    --------
    >>> get_metric("auroc").label
    'auROC'
    >>> from sklearn.metrics import get_scorer
    >>> get_metric(get_scorer("neg_median_absolute_error")).greater_is_better
    False
    >>> get_metric("brierr")
    Traceback (most recent call last):
    ...
    statcv.errors.MetricError: there is no metric 'brierr'. Did you mean 'brier'?
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str) and metric in METRICS:
        return METRICS[metric]
    if callable(metric):
        ours = [one for one in METRICS.values() if one.function is metric]
        return ours[0] if ours else make_metric(metric)
    answer = metric_answer(metric)
    for name, one in METRICS.items() if isinstance(metric, str) else ():
        if bare_word(one.label) == bare_word(metric):  # as it is called in print
            answer = f"here it is {name!r}"
    if answer:
        raise MetricError(f"there is no metric {metric!r}; {answer}.")
    hint = suggestion(metric, METRICS) or f" The metrics are {', '.join(METRICS)}."
    raise MetricError(f"there is no metric {metric!r}.{hint}")


@dataclass(frozen=True)
class _Description:
    """Properties inferred from a function; None where one is unknown."""

    function: Callable[..., Any]
    name: str | None
    greater_is_better: bool | None
    keywords: Mapping[str, Any] = field(default_factory=dict)
    reads: str | None = None
    outcomes: tuple[str, ...] | None = None
    scorer: bool = False


def _described(function: Callable[..., Any]) -> _Description:
    if not callable(function):
        raise ArgumentTypeError(
            "a metric is made from a function of (y, prediction) or from a scorer, "
            f"not from {function!r}."
        )
    if hasattr(function, "_score_func") and hasattr(function, "_sign"):
        return _described_by_scorer(function)
    keywords: Mapping[str, Any] = {}
    if isinstance(function, partial) and not function.args:
        keywords, function = function.keywords, function.func
    base = getattr(function, "__name__", "")
    higher = None
    if base.endswith("_score"):
        higher = True
    elif base.endswith(("_error", "_loss", "_deviance")):
        higher = False
    reads = "classes" if _takes_classes(function) else None
    name = _with_keywords(base, keywords)
    return _Description(function, name, higher, keywords, reads)


def _takes_classes(function: Callable[..., Any]) -> bool:
    """Return whether a scikit-learn function takes predicted classes."""
    if getattr(function, "__module__", "") != "sklearn.metrics._classification":
        return False
    names = [*inspect.signature(function).parameters]
    of_classes = names[:2] in (["y_true", "y_pred"], ["y1", "y2"])
    return of_classes and "log_loss" not in function.__name__


def _described_by_scorer(scorer: Any) -> _Description:
    """Read a scorer's function, sign, arguments and response method."""
    function, keywords = scorer._score_func, scorer._kwargs
    method = getattr(scorer, "_response_method", "predict")
    methods = (method,) if isinstance(method, str) else tuple(method)
    *room, module = getattr(function, "__module__", "").split(".")
    theirs = room[:2] == ["sklearn", "metrics"]
    reads: str | None = None
    outcomes: tuple[str, ...] | None = None
    if "decision_function" in methods:
        reads, outcomes = "order", ("binary",)
    elif "predict_proba" in methods:
        ranks = theirs and module == "_ranking"
        reads, outcomes = "order" if ranks else "probabilities", _CLASSES
    elif theirs:
        outcomes = ("continuous",) if module == "_regression" else _CLASSES
    name = _with_keywords(getattr(function, "__name__", ""), keywords)
    return _Description(
        function, name, scorer._sign > 0, keywords, reads, outcomes, True
    )


def _with_keywords(base: str, keywords: Mapping[str, Any]) -> str | None:
    if not base or base == "<lambda>":
        return None
    fixed = [f"{key}={value!r}" for key, value in keywords.items() if value is not None]
    return f"{base}({', '.join(fixed)})" if fixed else base


def _name(name: str | None) -> str:
    if name is None:
        raise MetricError("the function has no name; give the metric one with name=.")
    if not isinstance(name, str):
        raise ArgumentTypeError(f"name must be a string, not {name!r}.")
    if not name.strip():
        raise MetricError("name is empty; give the metric a name.")
    if name in METRICS:
        raise MetricError(
            f"there is already a metric {name!r}: name it by metrics={name!r}, or give "
            "yours another name with make_metric(..., name=...)."
        )
    return name


def _direction(given: bool | None, found: _Description, name: str) -> bool:
    if given is not None and not isinstance(given, bool):
        raise ArgumentTypeError(
            f"greater_is_better must be True or False, not {given!r}."
        )
    if found.scorer and given is not None and given != found.greater_is_better:
        raise MetricError(
            f"greater_is_better={given} contradicts the sign of the scorer {name}."
        )
    higher = found.greater_is_better if given is None else given
    if higher is None:
        raise MetricError(
            f"the name {name} does not show whether greater values are better; pass "
            "greater_is_better=True or False to make_metric()."
        )
    return higher


def _known_limits(found: _Description) -> Any:
    """Return the range of a function of scikit-learn, as a metric takes it."""
    name = getattr(found.function, "__name__", "")
    module = getattr(found.function, "__module__", "")
    if not module.startswith("sklearn.metrics._") or name == "dcg_score":
        return -math.inf, math.inf
    if name == "brier_score_loss":
        return METRICS["brier"].limits
    if name in ("matthews_corrcoef", "cohen_kappa_score"):
        return -1.0, 1.0
    shares = name.startswith(("r2_", "explained_", "d2_"))
    if shares or found.keywords.get("adjusted"):
        return -math.inf, 1.0
    one = module.endswith(("_classification", "_ranking")) and name not in _UNBOUNDED
    counts = found.keywords.get("normalize") is False
    return 0.0, 1.0 if one and not counts else math.inf


def _limits(limits: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = map(float, limits)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"limits must be the smallest and the largest value, not {limits!r}."
        ) from None
    if not low < high:
        raise MetricError(
            f"the first of the limits must be below the second, unlike {limits!r}."
        )
    return low, high


def _outcomes_and_reads(
    outcomes: str | Iterable[str] | None,
    reads: str | None,
    found: _Description,
    name: str,
) -> tuple[frozenset[str], str]:
    """Return the arguments, or else what is inferred, or else a matching default."""
    if reads is not None:
        one_of(reads, _READS, "reads")
    kinds = found.outcomes if outcomes is None else _kinds(outcomes)
    reads = reads or found.reads
    if reads is None and found.scorer:
        if kinds is None or len({kind == "continuous" for kind in kinds}) > 1:
            raise MetricError(
                f"the scorer {name} takes a model's predictions, which may be classes "
                "or numbers; pass outcomes='continuous' or outcomes=('binary', "
                "'multiclass') to make_metric()."
            )
        reads = "numbers" if "continuous" in kinds else "classes"
    if reads is None:
        reads = "numbers" if kinds == ("continuous",) else "probabilities"
    kinds = kinds or _READS[reads][1]
    if reads == "classes" and "continuous" in kinds:
        raise MetricError(
            f"{name} reads classes, which a continuous outcome does not have."
        )
    return frozenset(kinds), reads


def _kinds(outcomes: str | Iterable[str]) -> tuple[str, ...]:
    if not isinstance(outcomes, Iterable):
        raise ArgumentTypeError(f"outcomes must be kinds of outcome, not {outcomes!r}.")
    kinds = (outcomes,) if isinstance(outcomes, str) else tuple(outcomes)
    if not kinds:
        raise MetricError("outcomes is empty; omit it, or name at least one kind.")
    for kind in kinds:
        one_of(kind, _KINDS, "outcomes")
    return kinds
