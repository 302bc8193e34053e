"""What is to be known of the numbers of a summary."""

from __future__ import annotations

from collections.abc import Mapping

from statcv.errors import plural
from statcv.stratifiers.found import Found
from statcv.stratifiers.importance import LABELS
from statcv.stratifiers.prediction import (
    INTERCEPT,
    MEASURED_IN,
    OF_CLAMP,
    OF_PERMUTATION,
)
from statcv.stratifiers.setting import Setting

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
