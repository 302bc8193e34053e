"""The verb that pools results over imputed data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from statcv.arguments import described
from statcv.errors import ComparisonError
from statcv.inference.paired.records import is_result
from statcv.results.pooling import Pooled
from statcv.results.result import CVResult
from statcv.words import plural

FRESH = "cross-validate every imputed data set by the same call, with the same seed"


def pool(*results: CVResult | Iterable[CVResult]) -> Pooled:
    """Pool results over multiply imputed data sets, by Rubin's rules.

    Each metric is pooled on the scale of its interval (the logit for areas and shares,
    the logarithm for ratios), with the variance of each result's interval and the
    variance between imputations. The degrees of freedom are Barnard and Rubin's. With
    equal results the interval is that of one.

    Missing values are imputed before the call, and with the outcome among the
    predictors of the imputation: held-out records then contribute to it.

    Parameters
    ----------
    *results : CVResult
        The result of each imputed data set, on the same folds: ``pool(a, b, c)``, or a
        list, or a generator.

    Returns
    -------
    Pooled
        The pooled estimates with their intervals.

    Raises
    ------
    ComparisonError
        If there are fewer than two results, or their records, outcomes, folds or models
        differ.

    References
    ----------
    Rubin (1987), Multiple Imputation for Nonresponse in Surveys; Barnard & Rubin
    (1999), Biometrika 86:948; Wahl et al. (2016), BMC Med. Res. Methodol. 16:144.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> filled = [df.assign(GPA=df["GPA"].where(df.index != 4, g)) for g in (2, 3, 4)]
    >>> scv.pool(scv.cv("GRADE ~ GPA", data, seed=1) for data in filled)
    auROC 0.77 (95% CI 0.42 to 0.96) over 3 imputations of 32 records
    10-fold cross-validation with each class spread evenly
    Logistic regression (unpenalised) of GRADE on GPA
    """
    given = list[Any]()
    for one in results:
        whole = isinstance(one, (str, bytes)) or hasattr(one, "columns")
        if isinstance(one, Mapping):
            given += one.values()
        elif isinstance(one, Iterable) and not whole:
            given += one
        else:
            given.append(one)
    for k, one in enumerate(given, start=1):
        if not is_result(one):
            raise ComparisonError(
                f"item {k} of {len(given)} is {_kind(one)}, not a result of cv(); "
                f"{FRESH}."
            )
    if len(given) < 2:
        raise ComparisonError(
            "pool() needs the results of at least two imputed data sets, not "
            f"{len(given)}."
        )
    for k, one in enumerate(given[1:], start=2):
        _check_alike(given[0], one, k)
    return Pooled(tuple(given))


def _kind(one: Any) -> str:
    text = described(one)
    return text if text.startswith("a ") else f"{type(one).__name__} {text}"


def _check_alike(first: CVResult, other: CVResult, k: int) -> None:
    """Raise if result ``k`` cannot be pooled with the first."""
    a, b = first.design, other.design
    if a.n != b.n:
        raise ComparisonError(
            f"result {k} has {plural(b.n, 'record')}, and the first {a.n}; impute all "
            "missing values, so that no record is omitted as incomplete."
        )
    if not a.labels.equals(b.labels):
        raise ComparisonError(
            f"result {k} has other records than the first, or in another order: the "
            "row labels differ."
        )
    names = [f"{one.outcome.name} ({one.outcome.describe()})" for one in (a, b)]
    changed = 0 if a.y.shape != b.y.shape else int((a.y != b.y).sum())
    if a.outcome.kind != b.outcome.kind or a.outcome.name != b.outcome.name or changed:
        said = f", in {plural(changed, 'record')}" * bool(changed)
        raise ComparisonError(
            f"result {k} has another outcome than the first: {names[1]}, not {names[0]}"
            f"{said}. Leave out records without an outcome; imputed outcomes are not "
            "evidence of performance."
        )
    for what, values in _models(first, other):
        if values[0] != values[1]:
            raise ComparisonError(
                f"result {k} has another {what} than the first: {values[1]}, not "
                f"{values[0]}; {FRESH}."
            )
    plans = [one.plan.fingerprint for one in (first, other)]
    if plans[0] != plans[1]:
        raise ComparisonError(
            f"result {k} has other folds than the first (fingerprints {plans[1]} and "
            f"{plans[0]}); {FRESH}, or give scheme=plan, one plan for all."
        )


def _models(*results: CVResult) -> list[tuple[str, list[str]]]:
    """Return what the model is, in each result."""
    fitted = results[0].learner.capabilities.refits
    formulas = [one.design.formula.text if fitted else "" for one in results]
    weighted = ["no" if one.weights is None else "yes" for one in results]
    return [
        ("model", [one.learner.label for one in results]),
        ("formula", formulas),
        ("choice of weights", weighted),
        ("threshold", [str(one.threshold) for one in results]),
    ]
