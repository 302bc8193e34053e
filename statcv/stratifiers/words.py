"""What stratifiers cost, in words and rounded tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import plural
from statcv.stratifiers.candidates import UNBIASED
from statcv.stratifiers.found import Found
from statcv.stratifiers.notes import notes_on
from statcv.stratifiers.setting import RECORD, Setting
from statcv.stratifiers.verdicts import leaks, shown_to
from statcv.summary import Summary, number, p_value

PARTED = "known copies parted"


def in_three_lines(found: Found) -> str:
    """Return what was fitted, the unbiased estimate, and the extremes."""
    setting, table = found.setting, found.ranking
    said = f"{setting.design.formula.text}: {setting.model.label}; {_records(setting)}"
    worst, least = str(table["candidate"].iloc[0]), found.least
    if found.measured is not None:
        cost = found.measured["bias"] * -setting.sign
        worst = str(
            found.measured["candidate"].iloc[int(cost.fillna(-np.inf).argmax())]
        )
    names = [worst] if worst == least else [worst, least]
    last = "; ".join(f"{name} {_in_brief(found, name)}" for name in names)
    return "\n".join([said, f"unbiased {_unbiased(found)}", last])


def _in_brief(found: Found, name: str) -> str:
    if found.measured is not None:
        table = found.measured.set_index("candidate")
        return str(table.loc[name, "verdict"])
    row: Any = found.ranking.set_index("candidate").loc[name]
    first = leaks(row["parted"])
    if np.isnan(row["predicted"]):
        unused = "" if row["in_model"] else " (no term uses it)"
        return f"{first}no prediction of what it costs{unused}"
    cost = number(row["predicted"], shown_to(np.nan, found.setting))
    return f"{first}is predicted to cost {cost} {found.unit}"


def _records(setting: Setting) -> str:
    design = setting.design
    text = f"n = {design.n}"
    if design.n < design.n_given:
        text += f" of {design.n_given}, {design.n_given - design.n} incomplete"
    if setting.groups is not None:
        text += f", {setting.distinct} of them distinct"
    return text


def _unbiased(found: Found) -> str:
    said, chance = number(found.unbiased, found.chance.sd), ""
    if not np.isnan(found.chance.sd):
        chance = f" (sd over folds {found.chance.sd:.2g})"
    setting, repeats = found.setting, found.plans[UNBIASED].repeats
    metric = f"{setting.metric.label} ({found.how.replace('_', ' ')})"
    folds = f"{setting.k} random folds" + (f" × {repeats}" if repeats > 1 else "")
    if setting.copies is not None:
        by = "s" if setting.copies.label == RECORD else ""
        folds += f", equal {setting.copies.label}{by} together"
    return f"{metric} {said}{chance}, {folds}"


def summarise(found: Found) -> Summary:
    """Return the summary of what stratifiers cost."""
    setting = found.setting
    tables = {"Ranking": found.ranking.set_index("candidate")}
    shown = {"Ranking, before any fit on the folds of a candidate": _ranking(found)}
    if found.measured is not None:
        caption = f"Bias in {found.unit}, with {found.level:.0%} intervals"
        tables["Measured"] = found.measured.set_index("candidate")
        shown[caption] = _measured(found, found.measured)
    copies = "none known"
    if setting.copies is not None:
        many = setting.design.n - setting.distinct
        by = "" if setting.copies.label == RECORD else "equal "
        copies = (
            f"{plural(many, 'record')} beyond one a source ({by}{setting.copies.label})"
        )
    return Summary(
        title=f"Stratifiers for {setting.design.formula.text}",
        facts=(
            ("model", setting.model.label),
            (
                "outcome",
                f"{setting.design.outcome.name}: {setting.design.outcome.describe()}",
            ),
            ("records", _records(setting)),
            ("duplicates", copies),
            ("unbiased", _unbiased(found)),
            ("seed", str(setting.seed)),
        ),
        tables=tables,
        shown=shown,
        notes=notes_on(found),
    )


def _ranking(found: Found) -> pd.DataFrame:
    table = found.ranking
    columns: dict[str, Any] = {
        "folds": table["folds"].tolist(),
        f"predicted ({found.unit})": _losses(found, "predicted"),
        "clamp": _losses(found, "clamp"),
        "importance": [number(v, 0.01) for v in table["importance"]],
        "permutation": _losses(found, "permutation"),
        "information": [number(v) for v in table["mutual_information"]],
        "F": [number(v, 0.1) for v in table["anova_f"]],
        "p": [p_value(v) for v in table["anova_p"]],
        "auROC of folds": [number(v, 0.01) for v in table["heterogeneity"]],
    }
    if table["parted"].notna().any():
        columns[PARTED] = [f"{value:.0f}" for value in table["parted"]]
    return pd.DataFrame(columns, index=table["candidate"].rename(None))


def _measured(found: Found, table: pd.DataFrame) -> pd.DataFrame:
    widths = [
        shown_to(width, found.setting) for width in table["upper"] - table["lower"]
    ]
    shown = pd.DataFrame(
        {
            "estimate": [number(v) for v in table["estimate"]],
            "bias": [number(v, w) for v, w in zip(table["bias"], widths, strict=True)],
            "over folds": _ranges(found, table, "lower", "upper"),
            "over records": _ranges(found, table, "records_lower", "records_upper"),
            "verdict": table["verdict"],
        }
    )
    return shown.set_axis(table["candidate"].rename(None))


def _losses(found: Found, column: str) -> list[str]:
    table = found.ranking
    width = shown_to(float(4 * table["clamp_se"].max()), found.setting)
    return [number(value, width) for value in table[column]]


def _ranges(found: Found, table: pd.DataFrame, lower: str, upper: str) -> list[str]:
    return [
        "–" if np.isnan(low) else f"{number(low, se)} to {number(high, se)}"
        for low, high, se in zip(
            table[lower],
            table[upper],
            [shown_to(w, found.setting) for w in table[upper] - table[lower]],
            strict=True,
        )
    ]
