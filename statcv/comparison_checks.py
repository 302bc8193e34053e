"""Which results can be compared, how they are named, and the caveats of a pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ComparisonError
from statcv.folds.audit import LEANS
from statcv.readable import Readable

Floats = NDArray[np.float64]
LONG = 24  # a name longer than this makes the tables too wide
SCHEMES_DIFFER = "tests the schemes, not the models: only the scheme differs"
DRAWS_DIFFER = "tests two draws of one scheme: only the folds differ"
STRATIFIERS_DIFFER = "tests what the folds keep together, not the models: {} against {}"
FOLDS_DIFFER = "the folds differ, which adds to the difference"


# ---- the records ----


def check_results(results: Mapping[str, Any]) -> None:
    """Refuse what are not results of the same records and outcome.

    Raises
    ------
    ComparisonError
    """
    if len(results) < 2:
        raise ComparisonError(
            f"compare() needs two results or more, not {len(results)}."
        )
    for name, result in results.items():
        if not is_result(result):
            hint = "; a formula needs data=" if isinstance(result, str) else ""
            raise ComparisonError(
                f"{name!r} is a {type(result).__name__}, not a result of cv(){hint}."
            )
    check_same_records(results)


def is_result(one: Any) -> bool:
    """Tell whether an object is a result of cross-validation."""
    return hasattr(one, "scores") and hasattr(one, "design")


def check_same_records(results: Mapping[str, Readable]) -> None:
    """Refuse results of different records or outcomes.

    Raises
    ------
    ComparisonError
    """
    first, *others = results
    for other in others:
        _same_records(first, results[first], other, results[other])


def held_out(result: Readable) -> pd.Index[Any]:
    """Return the labels of the records that were held out."""
    return result.design.labels[result.scores.mean_prediction()[0]]


def _same_records(first: str, a: Readable, second: str, b: Readable) -> None:
    rows_a, rows_b = held_out(a), held_out(b)
    only = len(rows_a.symmetric_difference(rows_b))
    if only:
        raise ComparisonError(
            f"{first!r} and {second!r} are not of the same records: {len(rows_a)} and "
            f"{len(rows_b)} rows, {only} of them in one only. Fit both on the rows "
            "complete for both."
        )
    y_a, y_b = a.design.outcome, b.design.outcome
    codes_a, codes_b = observed(a, rows_a), observed(b, rows_a)
    if y_a.kind != y_b.kind or not np.array_equal(codes_a, codes_b):
        raise ComparisonError(
            f"{first!r} and {second!r} do not have the same outcome: {y_a.name} and "
            f"{y_b.name} differ in kind, coding or values."
        )


def observed(result: Readable, labels: pd.Index[Any]) -> NDArray[np.generic]:
    """Return the coded outcome of records, in the order of their labels."""
    design = result.design
    return np.asarray(design.y[design.labels.get_indexer(labels)])


# ---- their names ----


def name_results(results: Sequence[Any]) -> dict[str, Any]:
    """Name results by that in which they differ, if that is short."""
    if len(results) < 2 or not all(map(is_result, results)):
        return {f"argument {i}": r for i, r in enumerate(results, start=1)}
    told = _differences(results, [r.plan.scheme for r in results])
    names = [", ".join(parts) for parts in zip(*told, strict=True)]
    if len(set(names)) == len(results) and max(map(len, names), default=0) <= LONG:
        return dict(zip(names, results, strict=True))
    return {f"result {i}": r for i, r in enumerate(results, start=1)}


def in_words(results: Mapping[str, Readable]) -> list[tuple[str, str]]:
    """Describe each result by that in which they differ, unless its name does."""
    told = _differences(
        [*results.values()], [r.plan.sentence for r in results.values()]
    )
    texts = ["; ".join(parts) for parts in zip(*told, strict=True)]
    return [pair for pair in zip(results, texts, strict=True) if pair[0] != pair[1]]


def _differences(
    results: Sequence[Readable], schemes: Sequence[str]
) -> list[Sequence[str]]:
    """Return the aspects in which results differ; their seeds only if in no other.

    Predictions made elsewhere do not depend on a seed.
    """
    aspects: list[Sequence[str]] = [
        schemes,
        [r.learner.label for r in results],
        [r.design.formula.text for r in results],
        ["unweighted" if r.weights is None else "weighted" for r in results],
    ]
    told = [texts for texts in aspects if len(set(texts)) > 1]
    if not told and all(getattr(r.learner, "refits", True) for r in results):
        return [[f"seed {r.seed}" for r in results]]
    return told or [[r.learner.label for r in results]]


# ---- caveats ----


def same_folds(a: Readable, b: Readable) -> bool:
    """Tell whether two results hold out, and drop, the same records in every fold."""
    alike = a.design.labels.equals(b.design.labels)
    return alike and a.plan.fingerprint == b.plan.fingerprint


def caveat(a: Readable, b: Readable) -> str:
    """Say what else than the models differs between two results."""
    if same_folds(a, b):
        return ""
    if _models_differ(a, b):
        return FOLDS_DIFFER
    if a.plan.scheme != b.plan.scheme:
        return SCHEMES_DIFFER
    kept = [_kept_together(result) for result in (a, b)]
    return STRATIFIERS_DIFFER.format(*kept) if kept[0] != kept[1] else DRAWS_DIFFER


def _kept_together(result: Readable) -> str:
    strata = result.plan.strata
    return "nothing" if strata is None else f"equal {strata.label}"


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
    """Say where pooling is biased, for tests of pooled predictions."""
    worst = max((a, b), key=lambda r: abs(r.mean_model_auroc - 0.5))
    if not abs(worst.mean_model_auroc - 0.5) > LEANS:
        return ""
    return (
        "pooled over folds whose training means give labels away: the training mean "
        f"alone has auROC {worst.mean_model_auroc:.3f} under {worst.plan.scheme}"
    )
