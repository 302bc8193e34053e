"""The notes of a summary: what a reader of the estimates has to know."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from statcv.folds import is_sample
from statcv.inference import (
    BootstrapEstimate,
    Estimate,
    NullBias,
    Readable,
    measured_coverage,
    measured_coverages,
)
from statcv.inference.estimates.monte_carlo import MonteCarlo
from statcv.inference.tests.permutation import is_permutable
from statcv.models.tuning import choices
from statcv.results.design_notes import beyond_knots, new_levels, uneven_ridge
from statcv.results.estimates import is_bootstrap
from statcv.tables import number
from statcv.words import plural, sentence, stated

# checks that the note on the training mean covers
SAID_ABOVE = ("label_correlation", "negative_mean_auroc")


def _null_model(result: Readable) -> list[str]:
    """State what stands for no predictors where no training mean is known."""
    used = [
        one.label
        for one in result.chosen_metrics
        if one.uses_baseline or one.name == "r2"
    ]
    if not (result.scores.external and result.scores.probabilities and used):
        return []
    outcome, y = result.design.outcome, result.design.y
    on, what = used[0], f"the mean of {outcome.name}, {number(float(y.mean()))},"
    if outcome.kind == "binary":
        what = f"the share of {outcome.name} = {outcome.levels[1]}, {y.mean():.3f},"
    return [
        f"The model without predictors, to which the {on} refers, predicts {what} in "
        "these records, since those to which the model was fitted are not known."
    ]


def notes_of(
    result: Readable,
    table: pd.DataFrame,
    level: float,
    size: float | None,
    biases: Sequence[NullBias],
) -> tuple[str, ...]:
    """Return the notes of a summary, each of them once.

    Parameters
    ----------
    result : Readable
    table : pandas.DataFrame
        The metrics of the result, by name.
    level : float
        Confidence level of the intervals.
    size : float or None
        Target for the Monte Carlo standard error.
    biases : sequence of NullBias
        Biases without skill that were estimated.
    """
    notes = list(result.design.outcome.notes)
    headline = result.estimate(level=level)
    name = stated(headline.label, headline.how)
    if headline.method == "none":
        notes.append(f"{name} has no interval: {headline.assumes}.")
    else:
        notes.append(f"Interval of {name}: {headline.method}; {headline.assumes}.")
        notes += _measured(result, headline)
        notes += _others_measured(result, table, headline)
    notes += _bootstrap(result, headline)
    notes += _null_model(result)
    notes += _even_classes(result, table)
    for metric, words in table["interval"].items():
        if words.startswith("none") and metric != headline.metric:
            notes.append(f"No interval of {metric}{words[4:]}.")
    if result.scores.decided:
        other = result.held.decided_otherwise
        notes.append(
            "Classes are those of the model's predict, which differ from a threshold "
            f"of one half for {int(other.sum())} of {len(other)} predictions; "
            "threshold= sets one."
        )
    several = len(result.chosen_metrics) > 1
    read = {metric.reads for metric in result.chosen_metrics}
    if several and not result.scores.probabilities and "probabilities" not in read:
        notes.append(
            "Predictions are scores and not probabilities, so that metrics of "
            "probabilities are omitted."
        )
    notes += _saturated(result)
    notes += new_levels(result)
    if result.held.chosen is not None:
        notes.append(f"Chosen inside the training sets: {choices(result.held.chosen)}.")
    if result.plan.repeats > 1 and not result.scores.by_split:
        notes.append(_chance(result, headline, name, size))
    elif is_sample(result.plan):
        notes.append(_sampled(result, headline, name, size))
    drawn = {"subsample": "dropped", "upsample": "repeated"}
    by_class = result.design.outcome.kind != "continuous"
    if result.plan.rebalance in drawn and by_class and result.plan.repeats == 1:
        notes.append(
            f"The {drawn[result.plan.rebalance]} records were drawn once; repeats=20 "
            "averages over draws and shows how much they change the estimate."
        )
    informative = not result.scores.apart  # a single fit has the same mean for all
    binary = result.design.outcome.kind == "binary"
    if informative and not np.isnan(result.mean_model_auroc):
        mean, area = ("mean", "auROC") if binary else ("shares", "Hand–Till auROC")
        notes.append(
            f"Under these folds the training {mean} alone, without any predictor, "
            f"{'has' if binary else 'have'} pooled {area} "
            f"{result.mean_model_auroc:.3f} (0.5 is no skill)."
            + ("" if biases else _call_for_bias(result))
        )
    if result.scores.overlapping and _ranks_pooled(result):
        notes.append(
            "In pooled metrics, the prediction for a record is the mean over all fits "
            "that held it out. Different fits are then compared, so that pooled rank "
            "metrics are biased downwards if there is no skill."
        )
    notes += [bias.sentence for bias in biases]
    notes += [
        found.sentence
        for found in result.audit.findings
        if found.concern and not (binary and found.check in SAID_ABOVE)
    ]
    held, fits = result.held, result.plan.n_fits
    if held.coefficients is not None and held.coefficients.isna().any(axis=None):
        lacking = held.coefficients.isna().sum()
        counts = ", ".join(f"{term} in {n}" for term, n in lacking.items() if n)
        notes.append(
            "Coefficients of terms that occur in no training row are omitted "
            f"({counts} of {fits} fits)."
        )
    notes += uneven_ridge(result)
    notes += _reversed(result, headline)
    notes += beyond_knots(result)
    if not held.converged.all():
        notes.append(f"{int((~held.converged).sum())} of {fits} fits did not converge.")
    if held.separated.any():
        notes.append(
            f"{int(held.separated.sum())} of {fits} fits separate the classes "
            "(fitted probabilities of 0 or 1)."
        )
    return tuple(dict.fromkeys(notes))


def _reversed(result: Readable, headline: Estimate) -> list[str]:
    """Ask about the positive class if the ranking is clearly reversed."""
    outcome = result.design.outcome
    if headline.metric != "auroc" or not headline.upper < 0.5:
        return []
    if result.without_predictors[0].material:
        return []
    return [
        f"The whole interval of the auROC lies below 0.5: the predictions rank the "
        f"classes in reverse. Is {outcome.positive!r} the class that they are for? "
        f"positive={outcome.levels[0]!r} takes the other."
    ]


def _measured(result: Readable, headline: Estimate) -> list[str]:
    """State the measured coverage of such intervals, if it is known."""
    if headline.level != 0.95 or result.design.outcome.kind != "binary":
        return []
    if headline.interval.pairs:  # exact, and not the interval that was measured
        return []
    share = float(result.design.y.mean())
    name = headline.interval.name
    said = measured_coverage(result.plan, headline.how, name, share, headline.metric)
    return [sentence(said)] if said else []


def _others_measured(
    result: Readable, table: pd.DataFrame, headline: Estimate
) -> list[str]:
    """State the measured coverage of the other metrics' intervals, if it is known."""
    if headline.level != 0.95:
        return []
    asked = [
        (str(metric), str(row["how"]), result.estimate(str(metric)).interval.name)
        for metric, row in table.iterrows()
        if metric != headline.metric and not np.isnan(row["lower"])
    ]
    said = measured_coverages(result.plan, asked)
    return [sentence(said)] if said else []


def _saturated(result: Readable) -> list[str]:
    """Count the predictions that are 0 or 1 in double precision."""
    scores = result.scores
    if not scores.probabilities or not result.design.outcome.levels:
        return []
    p, least = scores.predicted, np.finfo(float).eps
    own = scores.outcome.astype(np.intp)
    of_own = np.abs(1 - own - p) if p.ndim == 1 else p[np.arange(len(p)), own]
    ends = int(((p <= least) | (p >= 1 - least)).reshape(len(p), -1).any(axis=1).sum())
    if not ends:
        return []
    wrong = int((of_own <= least).sum())
    return [
        f"{ends} of {len(p)} predictions are 0 or 1, and tie in ranks"
        + (f"; {wrong} of them are wrong, with a log-loss of 36." if wrong else ".")
    ]


# number of records above which the effect of equal class shares is negligible
MAX_RECORDS_OF_NOTE = 500


def _even_classes(result: Readable, table: pd.DataFrame) -> list[str]:
    """Say what folds with equal class shares do to losses and to calibration."""
    plan, y = result.plan, result.design.y
    scheme = plan.made_by
    even = plan.rebalanced or (scheme is not None and scheme.spreads)
    affected = {"brier", "oe_ratio", "calibration_intercept"} & set(table.index)
    binary = result.design.outcome.kind == "binary"
    if not (
        even
        and affected
        and binary
        and plan.n <= MAX_RECORDS_OF_NOTE
        and plan.partition
    ):
        return []
    p = float(y.mean())
    return [
        "Every training set has the same share of events, whatever it holds out, so "
        "that O:E is near 1 and the calibration intercept near 0 by construction, and "
        "the Brier score is too low by about 2p(1 - p)/n = "
        f"{2 * p * (1 - p) / plan.n:.2g}; scheme='kfold' avoids this."
    ]


def _ranks_pooled(result: Readable) -> bool:
    """Return whether a rank metric is computed from predictions of several fits."""
    return not result.scores.apart and any(
        metric.rank and result.scores.headline(metric) == "pooled"
        for metric in result.chosen_metrics
    )


def _call_for_bias(result: Readable) -> str:
    """Name the call that estimates the bias of the model's pooled rank metrics."""
    can = result.learner.capabilities.refits and is_permutable(result.plan)
    if not (can and any(metric.rank for metric in result.chosen_metrics)):
        return ""
    return " summary(null_bias=200) estimates the bias for this model itself."


def _chance(result: Readable, headline: Estimate, name: str, size: float | None) -> str:
    """State the Monte Carlo error of the headline over draws of the folds."""
    chance = result.monte_carlo(headline.metric, headline.how)
    text = (
        f"{name} over {chance.repeats} repeats: Monte Carlo standard error "
        f"{chance.se:.2g} (sd {chance.sd:.2g})"
    )
    return _and_needed(text, chance, headline, size)


def _sampled(
    result: Readable, headline: Estimate, name: str, size: float | None
) -> str:
    """State the Monte Carlo error of the headline over samples of pairs."""
    plan = result.plan
    text = f"{name} from a sample of {plural(plan.n_splits, 'pair')}"
    chance = result.monte_carlo(headline.metric, headline.how)
    if np.isnan(chance.se):
        return f"{text}; repeats=20 shows how much it varies between samples."
    text += f": Monte Carlo standard error {chance.se:.2g}, estimated from the pairs"
    return _and_needed(text, chance, headline, size)


def _and_needed(
    text: str, chance: MonteCarlo, headline: Estimate, size: float | None
) -> str:
    """Add the number of repeats that would make the Monte Carlo error small."""
    wanted = headline.se / 10 if size is None else size
    if not wanted > 0:
        return f"{text}."
    what = "a tenth of the standard error" if size is None else f"{size:g}"
    enough = chance.needed(wanted) or 1
    if enough <= chance.repeats:
        return f"{text}, which is less than {what}."
    return f"{text}; {plural(enough, 'repeat')} would bring it below {what}."


def _bootstrap(result: Readable, headline: Estimate) -> list[str]:
    """State the parts of the .632+ estimate of the headline metric."""
    if not is_bootstrap(result.plan):
        return []
    joined = result.estimate(headline.metric, ".632+")
    if not isinstance(joined, BootstrapEstimate):
        return []
    parts = joined.parts
    return [
        f"{joined.label} is {parts.apparent:.3f} on the training rows, "
        f"{parts.out_of_bag:.3f} on the out-of-bag rows, and would be "
        f"{parts.no_information:.3f} if predictions and outcome were unrelated: "
        f"relative overfitting {parts.overfitting:.2f}, .632+ value "
        f"{parts.plus:.3f}."
    ]
