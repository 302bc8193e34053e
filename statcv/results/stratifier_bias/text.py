"""The summary of what stratifiers cost: sentences, notes and rounded tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pandas as pd

from statcv.errors import plural
from statcv.folds import FoldPlan
from statcv.inference import MonteCarlo
from statcv.results.stratifier_bias.candidates import UNBIASED
from statcv.results.stratifier_bias.importance import LABELS
from statcv.results.stratifier_bias.measured import leaks, shown_to
from statcv.results.stratifier_bias.ranking import (
    INTERCEPT,
    MEASURED_IN,
    OF_CLAMP,
    OF_PERMUTATION,
)
from statcv.results.stratifier_bias.setting import RECORD, Setting
from statcv.results.summary import Summary, number, p_value


class Found(Protocol):
    """What is read of :class:`statcv.results.stratifier_bias.bias.StratifierBias`."""

    @property
    def ranking(self) -> pd.DataFrame:
        """A row a candidate, before any fit on its folds."""

    @property
    def measured(self) -> pd.DataFrame | None:
        """A row a candidate, fitted on its folds."""

    @property
    def unbiased(self) -> float:
        """The unbiased estimate."""

    @property
    def chance(self) -> MonteCarlo:
        """How far it moves with the folds."""

    @property
    def plans(self) -> dict[str, FoldPlan]:
        """The folds by name."""

    @property
    def skipped(self) -> dict[str, str]:
        """Columns that can make no folds."""

    @property
    def importance(self) -> str:
        """What importance is."""

    @property
    def how(self) -> str:
        """In which way the metric is stated."""

    @property
    def level(self) -> float:
        """Of intervals."""

    @property
    def failed(self) -> int:
        """Fits that did not converge or were separated."""

    @property
    def fits(self) -> int:
        """All fits."""

    @property
    def least(self) -> str:
        """The candidate that costs least."""

    @property
    def unit(self) -> str:
        """Of losses and bias."""

    @property
    def setting(self) -> Setting:
        """What is fitted."""


# ---- what is to be known of the numbers of a summary ----

OF_DATA = (
    "Information is mutual information with the outcome, in nats. F is about 1 without "
    "association (of values without an order it is chi-square over its degrees of "
    "freedom). The auROC of folds is 0.5 where they are alike in the other covariates."
)


def notes_on(found: Found) -> tuple[str, ...]:
    """Return what is to be known of the numbers, a sentence or two each."""
    setting, table = found.setting, found.ranking
    notes = [_predicted(setting), OF_DATA]
    if (~table["in_model"]).any():
        outside = table.loc[~table["in_model"], "candidate"]
        notes.append(
            f"No term uses {', '.join(outside)}: there is nothing to clamp or permute, "
            "and no prediction. Whether folds by them would differ in what matters is "
            "told by information, F and the auROC of folds."
        )
    if found.importance == "linear":
        notes.append(
            "A linear predictor goes on beyond the values on which it was fitted, so "
            "that folds may cost it less than clamping does."
        )
    notes.append(f"Importance: {LABELS[found.importance]}, as a share.")
    if found.measured is not None:
        notes += _of_intervals(found)
    if setting.copies is None:
        notes.append(
            "No copies of records are known, and the unbiased folds part them at "
            "random: where there are some, name what they share in duplicates=."
        )
    else:
        notes.append(
            "The unbiased estimate is of a model trained on the data with their "
            "copies, and keeps those together that are known."
        )
    notes += _skipped(found.skipped)
    if found.failed:
        notes.append(
            f"{found.failed} of {found.fits} fits did not converge, or separate the "
            "classes."
        )
    return tuple(notes)


def _predicted(setting: Setting) -> str:
    if setting.metric == MEASURED_IN:
        return (
            "Clamp is the loss of held-out accuracy where each value is moved to the "
            "nearest one outside its own fold. Predicted, of quantile bins one a fold, "
            f"is {INTERCEPT} + {OF_CLAMP} × clamp + {OF_PERMUTATION} × permutation, as "
            "measured with boosted trees on 12 000 simulated records; of fewer records "
            "folds cost more than that, and small losses are not told from chance."
        )
    return (
        f"Clamp is by how much the held-out {setting.metric.label} becomes worse where "
        "each value is moved to the nearest one outside its own fold; predicted is the "
        "same where that is above 0, and 0 elsewhere. How far folds cost more than "
        "that was measured for accuracy only."
    )


def _of_intervals(found: Found) -> list[str]:
    assert found.measured is not None
    notes = [
        "Intervals over folds are Monte Carlo, given these records: t over "
        f"{plural(found.chance.repeats, 'repeat')} of random folds. Folds that no seed "
        "changes count as one draw more. They do not say how far the bias would be "
        "another one in other records.",
        "Intervals over records are paired record by record, the fits being given"
        + ("" if found.setting.copies is None else ", known copies counted together")
        + "; they do not count that the fits would be others.",
    ]
    if found.measured["records_lower"].isna().all():
        notes[1] = (
            f"There is no interval over records for {found.setting.metric.label}, "
            "which is no mean over records."
        )
    if len(found.measured) > 1:
        notes.append(
            f"The {len(found.measured)} verdicts are each by itself, not adjusted for "
            "their number."
        )
    return notes


def _skipped(skipped: Mapping[str, str]) -> list[str]:
    return [f"Left out: {reason}" for reason in skipped.values()]


# ---- what stratifiers cost, in words and rounded tables ----

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
