"""The notes of a summary: what a reader of the estimates has to know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from statcv import inference
from statcv.folds import is_sample
from statcv.inference.tests.permutation import is_permutable
from statcv.models.imputation import Imputed
from statcv.models.tuning import choices
from statcv.results.estimating import is_bootstrap
from statcv.results.wording import design_notes
from statcv.results.wording.phrases import Note, Notes, Weight, note
from statcv.words import sentence, stated

# checks that the note on the training mean covers
SAID_ABOVE = ("label_correlation", "negative_mean_auroc")

# metrics of log-odds, which grow without end where a fit separates the classes
OF_LOG_ODDS = ("log_loss", "calibration_slope", "calibration_intercept")

# the weights of an audit's findings that are of concern; Weight.LIMITED for others
OF_FINDINGS = {
    "duplicates": Weight.BIASED,
    "opposite_twins": Weight.BIASED,
    "class_not_trained": Weight.UNSOUND,
    "class_not_held_out": Weight.USEFUL,
}


def notes_of(
    result: inference.Readable,
    table: pd.DataFrame,
    level: float,
    size: float | None,
    biases: Sequence[inference.NullBias],
) -> list[Note]:
    """Return the notes of a summary with their weights.

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
    headline = result.estimate(level=level)
    binary = result.design.outcome.kind == "binary"
    return [
        *_of_headline(result, headline),
        *_weighed(Weight.BIASED, (bias.sentence for bias in biases)),
        *_weighed(Weight.LIMITED, result.design.outcome.notes),
        *_of_coverage(result, table, headline),
        *design_notes.few_events(result),
        *design_notes.null_model(result),
        *(
            note("other without interval", metric=metric, why=words[4:])
            for metric, words in table["interval"].items()
            if words.startswith("none") and metric != headline.metric
        ),
        *_of_predictions(result),
        *_of_fits(result, biases),
        *_monte_carlo_error(result, headline, size),
        *design_notes.even_classes(result, table),
        *(
            (OF_FINDINGS.get(found.check, Weight.LIMITED), found.sentence)
            for found in result.audit.findings
            if found.concern and not (binary and found.check in SAID_ABOVE)
        ),
    ]


def _weighed(weight: Weight, texts: Iterable[str]) -> Notes:
    return ((weight, text) for text in texts)


# ---- the estimates and their intervals ----


def _of_headline(result: inference.Readable, headline: inference.Estimate) -> Notes:
    """Say if the headline is biased or ranks in reverse, and name its interval."""
    row, outcome = result.without_predictors[0], result.design.outcome
    if row.material:
        yield note("biased", row=row, result=result)
    elif headline.metric == "auroc" and headline.upper < 0.5:
        yield note("reversed", outcome=outcome, validated=result.validated)
    name = stated(headline.label, headline.how)
    if headline.method == "none":
        yield note("no interval", name=name, why=headline.assumes)
    else:
        narrow, assumes = "too narrow" in headline.assumes, headline.assumes
        made = note("interval", name=name, method=headline.method, assumes=assumes)
        yield (Weight.LIMITED, made[1]) if narrow else made


def _of_coverage(
    result: inference.Readable, table: pd.DataFrame, headline: inference.Estimate
) -> Notes:
    """State the measured coverage of the intervals, and the parts of .632+."""
    if headline.level == 0.95:
        asked = [
            (str(metric), str(row["how"]), result.estimate(str(metric)).interval.name)
            for metric, row in table.iterrows()
            if not np.isnan(row["lower"])
        ]
        if low := inference.low_coverages(result.plan, asked, result.learner):
            yield note("narrow intervals", low=low)
        others = [one for one in asked if one[0] != headline.metric]
        yield from _weighed(Weight.METHOD, measured(result, headline))
        if said := inference.measured_coverages(result.plan, others, result.learner):
            yield Weight.METHOD, sentence(said)
    if is_bootstrap(result.plan):
        made = result.estimate(headline.metric, ".632+")
        if isinstance(made, inference.BootstrapEstimate):
            yield note("overfitting", label=made.label, parts=made.parts)


def measured(result: inference.Readable, headline: inference.Estimate) -> Iterator[str]:
    """State the measured coverage of such intervals, if it is known."""
    known = result.design.outcome.kind in ("binary", "continuous", "survival")
    # an interval by pairs is exact, and not the one that was measured
    if headline.level != 0.95 or not known or headline.interval.pairs:
        return
    share = float(result.design.y.mean())
    name = headline.interval.name
    about = headline.how, name, share, headline.metric, result.learner
    if said := inference.measured_coverage(result.plan, *about):
        yield sentence(said)


# ---- the predictions and the fits ----


def _of_predictions(result: inference.Readable) -> Notes:
    """Say what the predictions are, and what rank metrics compare."""
    scores, design, metrics = result.scores, result.design, result.chosen_metrics
    if (scores.overlapping and not scores.apart) and any(
        metric.rank and scores.headline(metric) == "pooled" for metric in metrics
    ):
        yield note("mean of fits")
    yield from design_notes.new_levels(result)
    yield from design_notes.uneven_ridge(result)
    if scores.probabilities and design.outcome.levels:
        p, least = scores.predicted, np.finfo(float).eps
        own = scores.outcome.astype(np.intp)
        of_own = np.abs(1 - own - p) if p.ndim == 1 else p[np.arange(len(p)), own]
        ends = ((p <= least) | (p >= 1 - least)).reshape(len(p), -1).any(axis=1).sum()
        wrong = int((of_own <= least).sum())
        if ends:
            yield note("saturated", ends=int(ends), total=len(p), wrong=wrong)
    read = {metric.reads for metric in metrics}
    if len(metrics) > 1 and not scores.probabilities and "probabilities" not in read:
        yield note("scores")
    if design.strata:
        yield note("strata", by=design.formula.factors[design.strata].columns[0])
    if scores.decided:
        other = result.held.decided_otherwise
        yield note("decided", other=int(other.sum()), total=len(other))


def _of_fits(result: inference.Readable, biases: Sequence[inference.NullBias]) -> Notes:
    """Say what was chosen or drawn for the fits, and which of them failed."""
    held, plan, kind = result.held, result.plan, result.design.outcome.kind
    if held.separated.any():
        what = "times" if kind == "survival" else "classes"
        known = {"failed": int(held.separated.sum()), "fits": plan.n_fits}
        unbounded = [m.label for m in result.chosen_metrics if m.name in OF_LOG_ODDS]
        yield note(f"separated {what}", unbounded=unbounded, **known)
    if failed := int((~held.converged).sum()):
        yield note("not converged", failed=failed, fits=plan.n_fits)
    if held.chosen is not None:
        yield note("chosen", choices=choices(held.chosen))
    drawn = {"subsample": "dropped", "upsample": "repeated"}
    if plan.rebalance in drawn and kind != "continuous" and plan.repeats == 1:
        yield note("drawn once", drawn=drawn[plan.rebalance])
    yield from design_notes.beyond_knots(result)
    if not result.scores.apart and not np.isnan(area := result.mean_model_auroc):
        able = result.learner.capabilities.refits and is_permutable(plan)
        able &= not biases and any(metric.rank for metric in result.chosen_metrics)
        what = "mean" if kind == "binary" else "shares"
        yield note(f"training {what}", area=area, able=able)
    if held.coefficients is not None and held.coefficients.isna().any(axis=None):
        lacking = held.coefficients.isna().sum()
        counts = ", ".join(f"{term} in {n}" for term, n in lacking.items() if n)
        yield note("absent terms", counts=counts, fits=plan.n_fits)
    if isinstance(result.learner, Imputed):
        yield note("imputed")


def _monte_carlo_error(
    result: inference.Readable, headline: inference.Estimate, size: float | None
) -> Notes:
    """State the Monte Carlo error of the headline.

    It is small below ``size``, or below a tenth of the standard error unless given.
    """
    plan, name = result.plan, stated(headline.label, headline.how)
    sampled = is_sample(plan) and (plan.repeats == 1 or result.scores.by_split)
    if not sampled and (plan.repeats == 1 or result.scores.by_split):
        return
    chance = result.monte_carlo(headline.metric, headline.how)
    wanted = headline.se / 10 if size is None else size
    unknown, enough = sampled and np.isnan(chance.se), 0
    if wanted > 0 and not unknown:
        enough = chance.needed(wanted) or 1
    known = {"sampled": sampled, "unknown": unknown, "enough": enough, "size": size}
    known |= {"chance": chance, "splits": plan.n_splits}
    _, text = note("Monte Carlo", name=name, **known)
    small = not unknown and enough <= chance.repeats
    asked = Weight.METHOD if small else Weight.USEFUL
    yield Weight.UNSOUND if size is not None else asked, text
