"""The summary of the biases of stratifiers: sentences, notes and rounded tables."""

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
    """The parts of a ``StratifierBias`` from which its summary is made."""

    @property
    def ranking(self) -> pd.DataFrame:
        """The candidates, one per row, before any fit on their folds."""

    @property
    def measured(self) -> pd.DataFrame | None:
        """The candidates, one per row, with models fitted on their folds."""

    @property
    def unbiased(self) -> float:
        """The unbiased estimate."""

    @property
    def chance(self) -> MonteCarlo:
        """The Monte Carlo error of the unbiased estimate over folds."""

    @property
    def plans(self) -> dict[str, FoldPlan]:
        """The folds by name."""

    @property
    def skipped(self) -> dict[str, str]:
        """Columns that cannot define folds, with the reason."""

    @property
    def importance(self) -> str:
        """The kind of importance."""

    @property
    def how(self) -> str:
        """The way in which folds are combined."""

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""

    @property
    def failed(self) -> int:
        """The number of fits that did not converge or were separated."""

    @property
    def fits(self) -> int:
        """The number of all fits."""

    @property
    def least(self) -> str:
        """The candidate with the least bias."""

    @property
    def unit(self) -> str:
        """The unit of losses and bias."""

    @property
    def setting(self) -> Setting:
        """The data, model and metric."""


# ---- notes on the numbers of a summary ----

OF_DATA = (
    "Information is mutual information with the outcome, in nats. F is about 1 without "
    "association (for values without an order it is chi-square divided by its degrees "
    "of freedom). The auROC of folds is 0.5 if the folds are alike in the other "
    "covariates."
)


def notes_on(found: Found) -> tuple[str, ...]:
    """Return explanations of the numbers, one or two sentences each."""
    setting, table = found.setting, found.ranking
    notes = [_predicted(setting), OF_DATA]
    if (~table["in_model"]).any():
        outside = table.loc[~table["in_model"], "candidate"]
        notes.append(
            f"No term uses {', '.join(outside)}, so that nothing can be clamped or "
            "permuted and no loss is predicted. Information, F and the auROC of folds "
            "show whether such folds would differ in relevant covariates."
        )
    if found.importance == "linear":
        notes.append(
            "A linear predictor extrapolates beyond the values to which it was fitted, "
            "so that folds may cost less than clamping does."
        )
    notes.append(f"Importance: {LABELS[found.importance]}, as a proportion.")
    if found.measured is not None:
        notes += _of_intervals(found)
    if setting.duplicates is None:
        notes.append(
            "No duplicates are known, and the unbiased folds may split them; if there "
            "are any, name the columns that identify them in duplicates=."
        )
    else:
        notes.append(
            "The unbiased estimate is that of a model trained on the data including "
            "duplicates, and does not split known duplicates across folds."
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
            "Clamp is the loss of held-out accuracy if each value is moved to the "
            "nearest value outside its own fold. The predicted loss for one quantile "
            f"bin per fold is {INTERCEPT} + {OF_CLAMP} × clamp + {OF_PERMUTATION} × "
            "permutation, as measured with boosted trees on 12 000 simulated records. "
            "With fewer records folds cost more, and small losses cannot be "
            "distinguished from chance."
        )
    return (
        f"Clamp is the loss in held-out {setting.metric.label} if each value is moved "
        "to the nearest value outside its own fold; the predicted loss is the same, or "
        "0 if clamp is negative. How much more folds cost was measured for accuracy "
        "only."
    )


def _of_intervals(found: Found) -> list[str]:
    assert found.measured is not None
    notes = [
        "Intervals over folds are Monte Carlo t intervals, given these records, from "
        f"{plural(found.chance.repeats, 'repeat')} of random folds. Folds that do not "
        "depend on the seed count as one further draw. These intervals do not cover "
        "the variation of the bias between samples of records.",
        "Intervals over records are paired by "
        + ("record" if found.setting.duplicates is None else "group of duplicates")
        + " and take the fits as given; they do not cover the variability of the fits.",
    ]
    if found.measured["records_lower"].isna().all():
        notes[1] = (
            f"There is no interval over records for {found.setting.metric.label}, "
            "which is not a mean over records."
        )
    if len(found.measured) > 1:
        notes.append(
            f"The {len(found.measured)} verdicts are separate, and not adjusted for "
            "multiple comparisons."
        )
    return notes


def _skipped(skipped: Mapping[str, str]) -> list[str]:
    return [f"Not a candidate: {reason}" for reason in skipped.values()]


# ---- the biases of stratifiers, in words and rounded tables ----

SPLIT = "known duplicates split"


def in_three_lines(found: Found) -> str:
    """Return the model, the unbiased estimate, and the extreme candidates."""
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
    if setting.duplicates is not None:
        by = "s" if setting.duplicates.label == RECORD else ""
        folds += f", equal {setting.duplicates.label}{by} in one fold"
    return f"{metric} {said}{chance}, {folds}"


def summarise(found: Found) -> Summary:
    """Return the summary of the biases of stratifiers."""
    setting = found.setting
    tables = {"Ranking": found.ranking.set_index("candidate")}
    shown = {"Ranking, before any fit on the folds of a candidate": _ranking(found)}
    if found.measured is not None:
        caption = f"Bias in {found.unit}, with {found.level:.0%} intervals"
        tables["Measured"] = found.measured.set_index("candidate")
        shown[caption] = _measured(found, found.measured)
    duplicates = "none known"
    if setting.duplicates is not None:
        many = setting.design.n - setting.distinct
        by = "" if setting.duplicates.label == RECORD else "equal "
        label = setting.duplicates.label
        duplicates = f"{plural(many, 'record')} beyond the first ({by}{label})"
    return Summary(
        title=f"Stratifiers for {setting.design.formula.text}",
        facts=(
            ("model", setting.model.label),
            (
                "outcome",
                f"{setting.design.outcome.name}: {setting.design.outcome.describe()}",
            ),
            ("records", _records(setting)),
            ("duplicates", duplicates),
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
        columns[SPLIT] = [f"{value:.0f}" for value in table["parted"]]
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
