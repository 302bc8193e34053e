"""A comparison in words and rounded tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.comparison_checks import DRAWS_DIFFER, SCHEMES_DIFFER, in_words, same_folds
from statcv.inference.measured import measured_comparison
from statcv.inference.paired_methods import PairedMethod
from statcv.metrics import Metric
from statcv.result import CVResult
from statcv.summary import Summary, number, p_value

# column, heading, and the name that statsmodels has for it
ADJUSTED = {
    "holm": ("p_holm", "p (Holm)", "holm"),
    "bh": ("p_bh", "p (BH)", "fdr_bh"),
    "none": ("p", "p", ""),
}
AGAINST_NULL = (
    "Against a model without predictors this is a test of skill; result.test() "
    "permutes the outcome and fits everything again, which keeps its error rate."
)


@dataclass(frozen=True, eq=False)
class Compared:
    """What is said of a comparison.

    Attributes
    ----------
    results : dict of str to CVResult
    metric : Metric
    level : float
    method : PairedMethod
    adjust : str
    clustered, against_null : bool
    n_permutations, n : int
        Random swaps; records.
    left_out : str
    table, differences : pandas.DataFrame
    """

    results: Mapping[str, CVResult]
    metric: Metric
    level: float
    method: PairedMethod
    adjust: str
    clustered: bool
    against_null: bool
    n_permutations: int
    n: int
    left_out: str
    table: pd.DataFrame
    differences: pd.DataFrame


def summarise_comparison(compared: Compared) -> Summary:
    """Return the summary of a comparison."""
    first = next(iter(compared.results.values()))
    outcome = first.design.outcome
    records = f"{compared.n}, the same in every result"
    if compared.left_out:
        records += f"; {compared.left_out}"
    caption = f"Differences of the {_what(compared)}"
    return Summary(
        title=_title(compared),
        facts=(
            ("outcome", f"{outcome.name}: {outcome.describe()}"),
            ("records", records),
            *in_words(compared.results),
        ),
        tables={"Estimates": compared.table, caption: compared.differences},
        shown={
            "Estimates": _shown_estimates(compared),
            caption: _shown_differences(compared),
        },
        notes=_notes(compared),
    )


def _title(compared: Compared) -> str:
    """Name what is compared: schemes where nothing else differs."""
    by_schemes = (SCHEMES_DIFFER, DRAWS_DIFFER)
    minded = compared.differences["mind"]
    schemes = all(any(text in mind for text in by_schemes) for mind in minded)
    what = "Comparison of schemes by" if schemes else "Paired comparison of"
    test = compared.method.title + (", clustered" if compared.clustered else "")
    return f"{what} {compared.metric.label} ({test})"


def _what(compared: Compared) -> str:
    label = compared.metric.label
    if compared.method.name == "corrected_t":
        return f"{label} in each fold"
    hows = set(compared.table["how"])
    if compared.method.name == "corrected_jackknife" and len(hows) == 1:
        return f"{label} ({hows.pop().replace('_', ' ')})"
    return f"pooled {label}"


def _shown_estimates(compared: Compared) -> pd.DataFrame:
    table = compared.table
    return pd.DataFrame(
        {
            "estimate": _numbers(table["estimate"], table),
            f"{compared.level:.0%} interval": _ranges(table),
            "how": table["how"].str.replace("_", " "),
            "pooled": _numbers(table["pooled"], table),
        }
    )


def _shown_differences(compared: Compared) -> pd.DataFrame:
    table = compared.differences
    columns = {
        "difference": _numbers(table["difference"], table),
        "se": _numbers(table["se"], table),
    }
    if table["lower"].notna().any():
        columns[f"{compared.level:.0%} interval"] = _ranges(table)
    columns[compared.method.statistic] = [number(v) for v in table["statistic"]]
    columns["p"] = [p_value(value) for value in table["p"]]
    shown = pd.DataFrame(columns)
    if len(table) > 1 and compared.adjust != "none":
        column, heading, _ = ADJUSTED[compared.adjust]
        shown[heading] = [p_value(value) for value in table[column]]
    shown.index = pd.Index(table["second"] + " − " + table["first"])
    return shown


def _notes(compared: Compared) -> tuple[str, ...]:
    minded = dict.fromkeys(filter(None, compared.differences["mind"]))
    notes = [f"Mind: {text}." for text in minded]
    repeated = any(result.plan.repeats > 1 for result in compared.results.values())
    if repeated and compared.method.pools:
        notes.append(
            "What is pooled, and tested, are predictions averaged over repeats: their "
            f"{compared.metric.label} is not the mean of the repeats' values."
        )
    if compared.clustered:
        notes.append(
            "Records of one cluster (equal values of the stratifier) are counted as "
            "dependent."
        )
    if compared.method.name == "permutation":
        notes.append(
            f"p by {compared.n_permutations} random swaps, by every one where that is "
            "few; it is never zero (Phipson & Smyth 2010)."
        )
    assumes = compared.method.assumes
    notes.append(f"{assumes[0].upper()}{assumes[1:]}.")
    measured = _measured(compared)
    if measured:
        notes.append(f"{measured[0].upper()}{measured[1:]}.")
    refits = [getattr(r.learner, "refits", True) for r in compared.results.values()]
    if compared.against_null and all(refits):
        notes.append(AGAINST_NULL)
    if len(compared.differences) > 1 and compared.adjust == "none":
        notes.append(
            f"The {len(compared.differences)} p-values are not adjusted for their "
            "number."
        )
    return tuple(notes)


def _measured(compared: Compared) -> str | None:
    """Say how often such a test errs, of models on the same folds."""
    first, *others = compared.results.values()
    binary = first.design.outcome.kind == "binary"
    if compared.against_null or not binary:
        return None
    if not all(same_folds(first, other) for other in others):
        return None
    name, hows = compared.method.name, set(compared.table["how"])
    how = "per_fold" if name == "corrected_t" else "pooled"
    if name == "corrected_jackknife" and len(hows) == 1:
        how = hows.pop()
    share = float(first.design.y.mean())
    return measured_comparison(first.plan, how, name, share, compared.metric.name)


def _spread(table: pd.DataFrame) -> NDArray[np.float64]:
    """Return a standard error a row, for the digits to show."""
    from_interval = (table["upper"] - table["lower"]) / 4
    if "se" in table:
        from_interval = from_interval.fillna(table["se"])
    return from_interval.to_numpy()


def _numbers(column: pd.Series[Any], table: pd.DataFrame) -> list[str]:
    return [number(v, se) for v, se in zip(column, _spread(table), strict=True)]


def _ranges(table: pd.DataFrame) -> list[str]:
    return [
        "–" if np.isnan(lower) else f"{number(lower, se)} to {number(upper, se)}"
        for lower, upper, se in zip(
            table["lower"], table["upper"], _spread(table), strict=True
        )
    ]
