"""How often values were chosen, and whether at the edge of the grid."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from statcv.errors import TuningWarning, warn
from statcv.models.tuning.grid import is_number
from statcv.models.tuning.tuned import Tuned

MAX_AT_EDGE = 0.25  # the share of fits above which an edge is worth a warning
MAX_SHOWN = 4  # values that a sentence names
MAX_DIFFERENT = 20  # numbers beyond which a sentence gives their range


def warn_of_edges(model: Tuned, chosen: pd.DataFrame) -> None:
    """Warn once of values at the edge of the grid that many fits chose.

    The simplest value is exempt if it may have been chosen for its simplicity: by the
    one-standard-error rule, or among equal ranks or counts of hits.

    Parameters
    ----------
    model : Tuned
    chosen : pandas.DataFrame
        One row per fit.
    """
    by_value = model.metric.reads in ("probabilities", "numbers")
    found = [
        sentence
        for name, values in model.grid.items()
        for edge, sentence in _edges(name, values, chosen[name])
        if edge != values[0] or (by_value and model.rule == "best")
    ]
    if found:
        warn(f"{'; '.join(found)}: extend the grid there.", TuningWarning)


def _edges(
    name: str, values: tuple[Any, ...], chosen: pd.Series[Any]
) -> list[tuple[float, str]]:
    numbers = [v for v in values if is_number(v)]
    if len(numbers) < len(values) or len(values) < 3:
        return []
    found = []
    for word, edge in (("smallest", min(numbers)), ("largest", max(numbers))):
        times = int((chosen == edge).sum())
        # there is no smaller count, so that the grid cannot be extended there
        least = word == "smallest" and isinstance(edge, int) and edge <= 1
        if times > MAX_AT_EDGE * len(chosen) and math.isfinite(edge) and not least:
            sentence = (
                f"{name} = {edge:g}, the {word} of the grid, was chosen in {times} of "
                f"{len(chosen)} fits"
            )
            found.append((edge, sentence))
    return found


def choices(chosen: pd.DataFrame) -> str:
    """Say how often values were chosen: ``C = 1 in 7 of 10 fits, 0.1 in 3``.

    Examples
    --------
    >>> choices(pd.DataFrame({"C": [1.0, 0.1, 1.0], "score": [0.5, 0.4, 0.6]}))
    'C = 1 in 2 of 3 fits, 0.1 in 1'
    """
    names = [name for name in chosen.columns if name != "score"]
    return "; ".join(_often(name, chosen[name]) for name in names)


def _often(name: str, column: pd.Series[Any]) -> str:
    numbers = pd.api.types.is_float_dtype(column)
    if numbers and column.nunique() > MAX_DIFFERENT:
        return (
            f"{name} from {column.min():.3g} to {column.max():.3g}, median "
            f"{column.median():.3g}"
        )
    counts = column.map(_text).value_counts(sort=False)
    counts = counts.sort_values(ascending=False, kind="stable")
    shown = [f"{value} in {times}" for value, times in counts.items()][:MAX_SHOWN]
    shown[0] += f" of {len(column)} fits"
    more = ", …" if len(counts) > MAX_SHOWN else ""
    return f"{name} = {', '.join(shown)}{more}"


def _text(value: Any) -> str:
    return f"{value:g}" if is_number(value) else str(value)
