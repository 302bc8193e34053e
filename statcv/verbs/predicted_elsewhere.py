"""The outcome and the predictions that other software made, column by column."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from statcv import errors, formula
from statcv.engine import Held
from statcv.folds import FoldPlan
from statcv.metrics.classification.classwise import MAX_OUTSIDE, without_noise
from statcv.models import Capabilities, Fit, TrainingSet
from statcv.models.thresholds import refuse_beyond, with_threshold
from statcv.numeric.arrays import Floats
from statcv.results.wording.phrases import caution
from statcv.words import plural

MAX_PERCENT = 100 + MAX_OUTSIDE
# largest share of values beyond 0 to 1 that are errors among probabilities, not scores
MAX_ODD = 0.1
LINEAR = "linear"  # the key of the linear predictor beside horizons
EDGE = 1e-15  # distance of a risk from 0 and 1, for a finite hazard


@dataclass(frozen=True)
class OtherSoftware:
    """A placeholder for the unknown model that made the predictions."""

    label: str = "predictions from other software"
    why: str = "the predictions come from other software: there is no model to fit"
    capabilities = Capabilities(refits=False)

    def check(self, kind: str) -> None:
        """Accept every kind of outcome."""

    def fit(self, training: TrainingSet) -> Fit:
        """Raise an error, because there is no model to fit.

        Raises
        ------
        ModelError
            Always.
        """
        raise errors.ModelError(
            f"{self.why}. Permutations, the jackknife and the fit on all rows, which "
            "need refits, are not available."
        )


def check_column(frame: pd.DataFrame, column: Any, name: str) -> None:
    """Refuse a column that is absent, incomplete or, for predictions, no number."""
    if not isinstance(column, str) or column not in frame.columns:
        wrong = f"{name}={column!r} is not a column of the data."
        raise errors.ColumnError(wrong + errors.suggestion(column, frame.columns))
    if absent := int(frame[column].isna().sum()):
        raise errors.DataError(
            f"{name}={column!r} is missing in {absent} of {len(frame)} rows; remove "
            "those rows from the data."
        )
    if name == "predicted" and not pd.api.types.is_numeric_dtype(frame[column].dtype):
        remedy = formula.why_text(frame[column], column) or (
            f" pandas.to_numeric(df[{column!r}]) turns text into numbers."
        )
        raise errors.DataError(
            f"predicted={column!r} must be numeric, but its values are of type "
            f"{frame[column].dtype}, such as {frame[column].iloc[0]!r}.{remedy}"
        )


def design_of(
    records: pd.DataFrame, observed: str, predicted: Any, **read: Any
) -> formula.Design:
    """Return the design of the records, whose terms are the predictions.

    The outcome is read as :func:`make_design` does with the other arguments.
    """
    listed = predicted.values() if isinstance(predicted, Mapping) else predicted
    columns = [predicted] if isinstance(predicted, str) else list(listed)
    for column in columns:
        check_column(records, column, "predicted")
    right = " + ".join(map(formula.quoted, columns))
    left = formula.quoted(observed) if observed in records else observed
    design = formula.make_design(f"{left} ~ {right}", records, scope={}, **read)
    if (outcome := design.outcome).kind == "survival":
        at = _horizons(predicted)
        horizons = formula.read_horizons(at or None, outcome.y, outcome.name)
        return replace(design, outcome=replace(outcome, horizons=horizons))
    if not isinstance(predicted, Mapping) or len(predicted) <= 2:
        return design
    levels = list(predicted)  # levels of all classes, also of those without a record
    if outcome.ordered:
        order = list(records[observed].cat.categories)
        levels.sort(key=lambda one: order.index(one) if one in order else len(order))
    else:
        with contextlib.suppress(TypeError):  # levels of several types are not sorted
            levels.sort()
    values = records[observed].to_numpy(dtype=object)
    codes = pd.Index(levels, dtype=object).get_indexer(pd.Index(values, dtype=object))
    for lacking in values[codes < 0]:
        raise _lacks(lacking)
    of = observed, "multiclass", codes, tuple(levels)
    return replace(design, outcome=formula.Outcome(*of, ordered=outcome.ordered))


def _lacks(level: object) -> errors.ArgumentError:
    return errors.ArgumentError(f"predicted= does not name a column for {level!r}.")


def held_out(
    frame: pd.DataFrame,
    predicted: Any,
    probabilities: bool | None,
    design: formula.Design,
    plan: FoldPlan,
) -> Held:
    """Read the predictions, one per row, in the order of the plan."""
    outcome = design.outcome
    columns = _predicted_columns(predicted, outcome.levels, outcome.kind)
    for column in columns:
        check_column(frame, column, "predicted")
    values = frame[columns].to_numpy(dtype=float)
    if outcome.kind == "survival":
        values = _with_linear(frame[columns], len(outcome.horizons))
    elif outcome.kind != "multiclass":
        values = values[:, 0]
    if outcome.levels and probabilities is not False:
        kept, noisy, bad = without_noise(values)
        low, high = values.min(), values.max()
        tiny = low < 0 and high <= MAX_OUTSIDE  # scores on a small scale
        far = low < -MAX_OUTSIDE or high > MAX_PERCENT
        scores = values.ndim == 1 and (tiny or (far and bad.mean() > MAX_ODD))
        if bad.any() and (probabilities or not scores):
            row = int(np.flatnonzero(bad)[0])
            shown = ", ".join(f"{value:g}" for value in np.ravel(values[row]))
            raise errors.DataError(
                f"predicted={predicted!r} is {shown} in row "
                f"{formula.shown_label(frame.index[row])}. These are not "
                "probabilities, which lie between 0 and 1 and add up to 1 over all "
                "classes. Divide percentages by 100; probabilities=False (--scores) "
                "treats them as scores."
            )
        probabilities = bool(probabilities or not (bad.any() or tiny))
        if probabilities and noisy.any():
            values = kept
            caution("rounded probabilities", rows=int(noisy.sum()))
    none, fits = np.empty(0, dtype=np.intp), plan.n_fits
    return Held(
        fit=plan.tests.owners,
        row=plan.tests.values.astype(np.intp),
        predicted=values,
        partner_fit=none,
        partner_row=none,
        partner_predicted=np.empty((0, *values.shape[1:])),
        converged=np.ones(fits, dtype=bool),
        separated=np.zeros(fits, dtype=bool),
        seconds=np.zeros(fits),
        probabilities=probabilities is not False or not outcome.levels,
        names=(),
        learnt=None,
        absent={},
    )


def _horizons(predicted: Any) -> list[Any]:
    """Return the horizons that predictions of times to an event are for."""
    if isinstance(predicted, str):
        return []
    if not isinstance(predicted, Mapping) or not predicted:
        raise errors.ArgumentError(
            f"predicted={predicted!r} does not say which risks these are: write the "
            "horizon of each, predicted={365: 'column'}, or the column of the linear "
            "predictor alone."
        )
    return [horizon for horizon in predicted if horizon != LINEAR]


def _with_linear(frame: pd.DataFrame, horizons: int) -> Floats:
    """Return the linear predictor, and the risk of an event by each horizon.

    Without it, records are ranked by the hazard up to the last horizon.
    """
    values = frame.to_numpy(dtype=float)
    risks = values[:, values.shape[1] - horizons :]
    kept = np.clip(risks, 0, 1)
    off = np.abs(risks - kept) > MAX_OUTSIDE
    if off.any():
        row, place = np.argwhere(off)[0]
        column = frame.columns[place - horizons]
        raise errors.DataError(
            f"predicted={column!r} is {risks[row, place]:g} in row "
            f"{formula.shown_label(frame.index[row])}, and a risk lies between 0 and 1."
        )
    if values.shape[1] > horizons:
        return np.column_stack([values[:, 0], kept])
    last = np.clip(kept[:, -1], EDGE, 1 - EDGE)
    return np.column_stack([np.log(-np.log1p(-last)), kept])


def threshold_of(given: Any, design: formula.Design, held: Held) -> float | None:
    """Return the threshold, which nothing chooses where nothing is fitted."""
    if isinstance(given, str):
        raise errors.ArgumentTypeError(
            f"threshold must be a number, not {given!r}: cv() chooses thresholds among "
            "training records, which predictions from other software do not have."
        )
    threshold = with_threshold(OtherSoftware(), given, design.outcome.kind)[1]
    if held.probabilities:
        refuse_beyond(threshold)
    return threshold


def _predicted_columns(predicted: Any, levels: tuple[Any, ...], kind: str) -> list[str]:
    if kind == "survival" and isinstance(predicted, Mapping):
        own = [predicted[LINEAR]] if LINEAR in predicted else []
        return [*own, *(predicted[at] for at in sorted(_horizons(predicted)))]
    if isinstance(predicted, Mapping):
        for level in levels:
            if level not in predicted:
                raise _lacks(level)
        predicted = [predicted[level] for level in levels]
        if kind == "binary":
            predicted = predicted[1:]
    columns = [predicted] if isinstance(predicted, str) else list(predicted)
    wanted = len(levels) if kind == "multiclass" else 1
    if len(columns) != wanted:
        raise errors.ArgumentError(
            f"predicted= names {plural(len(columns), 'column')}, but the outcome, "
            f"which is {kind}, needs {wanted}"
            + (f": one for each of {', '.join(map(str, levels))}." if levels else ".")
        )
    return columns
