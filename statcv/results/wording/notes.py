"""The notes of a summary: what a reader of the estimates has to know."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
import pandas as pd

from statcv.folds import is_sample
from statcv.folds.strata import ALIKE
from statcv.inference import (
    BootstrapEstimate,
    Estimate,
    NullBias,
    Readable,
    low_coverages,
    measured_coverage,
    measured_coverages,
)
from statcv.inference.tests.permutation import is_permutable
from statcv.models.imputation import Imputed
from statcv.models.tuning import choices
from statcv.results.estimates import is_bootstrap
from statcv.results.wording.design_notes import (
    beyond_knots,
    even_classes,
    few_events,
    new_levels,
    null_model,
    uneven_ridge,
)
from statcv.tables import WIDTH
from statcv.words import joined, plural, sentence, stated

# checks that the note on the training mean covers
SAID_ABOVE = ("label_correlation", "negative_mean_auroc")

# the weight of a note: whether a reader of the estimates would decide otherwise
BIASED = 4  # the estimates are biased, or the held-out outcomes leaked
UNSOUND = 3  # fits failed, or there is no interval
LIMITED = 2  # the estimates say less than they seem to
USEFUL = 1  # what else could be asked of the data
METHOD = 0  # how the numbers were made; told on request

MOST_NOTES = 3  # largest number of notes that are shown unless requested
# number of records up to which equal class shares change a Brier score by 5%
FEW_RECORDS = 40

# the weights of an audit's findings that are of concern; LIMITED for others
OF_FINDINGS = {
    "duplicates": BIASED,
    "opposite_twins": BIASED,
    "class_not_trained": UNSOUND,
    "class_not_held_out": USEFUL,
}

Note = tuple[int, str]  # the weight of a note, and its text


def shown_notes(
    notes: Sequence[Note], everything: bool, room: int
) -> tuple[tuple[str, ...], str]:
    """Return the notes that are shown, by weight, and where the others are.

    Parameters
    ----------
    notes : sequence of Note
    everything : bool
        Whether all are shown, not only those that may change a decision.
    room : int
        Number of lines that are free for them; the first is shown in any case.
    """
    ranked = list(dict.fromkeys(sorted(notes, key=lambda note: -note[0])))
    if everything:
        return tuple(text for _, text in ranked), ""
    chosen, lines = list[str](), 0
    for weight, text in ranked:
        needed = len(textwrap.wrap(f"- {text}", WIDTH, subsequent_indent="  "))
        if weight == METHOD or len(chosen) == MOST_NOTES:
            break
        if not chosen or lines + needed <= room:
            chosen.append(text)
            lines += needed
    others = plural(len(ranked) - len(chosen), "further note")
    more = f"summary(notes=True) adds {others}, on how the numbers were made."
    return tuple(chosen), more if len(ranked) > len(chosen) else ""


def notes_of(
    result: Readable,
    table: pd.DataFrame,
    level: float,
    size: float | None,
    biases: Sequence[NullBias],
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
    said = {
        BIASED: [
            *_biased(result),
            *_reversed(result, headline),
            *(bias.sentence for bias in biases),
        ],
        UNSOUND: [*no_interval(headline), *_failed(result)],
        LIMITED: [
            *result.design.outcome.notes,
            *poorly_covered(result, table, headline),
            *few_events(result),
            *_overlapping(result),
            *new_levels(result),
            *uneven_ridge(result),
            *_saturated(result),
        ],
        USEFUL: [
            *_of_scores(result),
            *_between_strata(result),
            *_chosen(result),
            *_drawn_once(result),
            *beyond_knots(result),
        ],
        METHOD: [
            *measured(result, headline),
            *others_measured(result, table, headline),
            *bootstrap_parts(result, headline),
            *null_model(result),
            *no_other_intervals(table, headline),
            *_decided(result),
            *_training_mean(result, biases),
            *_lacking(result),
            *_imputed(result),
        ],
    }
    narrow = "too narrow" in headline.assumes
    notes = [(LIMITED if narrow else METHOD, text) for text in method(headline)]
    notes += [(weight, text) for weight, texts in said.items() for text in texts]
    error, small = monte_carlo_error(result, headline, size)
    asked = METHOD if small else USEFUL
    notes += [(UNSOUND if size is not None else asked, said) for said in error]
    weight = USEFUL if result.plan.n <= FEW_RECORDS else METHOD
    notes += [(weight, said) for said in even_classes(result, table)]
    return notes + _audited(result)


def _imputed(result: Readable) -> list[str]:
    """Say how held-out records were imputed, and what an interval takes as given."""
    if not isinstance(result.learner, Imputed):
        return []
    return [
        "Training records are imputed with their outcome, and held-out ones without, "
        "by models of the training set. Metrics are those in practice, where patients "
        "lack values as these records do; intervals take the imputations as given, as "
        "they take the fits."
    ]


# ---- estimates that are biased, or fits that failed ----


def _biased(result: Readable) -> list[str]:
    """Say by how much the headline is biased without predictors, if that is much."""
    row = result.without_predictors[0]
    if not row.material:
        return []
    way = "downwards" if (row.perfect - row.value) * row.bias < 0 else "upwards"
    label = row.metric.label
    return [
        f"Biased {way}: in these folds a model without any predictor has {label} "
        f"{row.found:.3f}, where no skill is {row.value:.3f}{balancing(result)}."
    ]


def balancing(result: Readable) -> str:
    """Name the plan that balances the training sets, if there is one."""
    strata = result.plan.strata
    if strata is not None and strata.coarse:
        if strata.finer:
            return f"; stratify={strata.finer} makes the folds alike"
        return (
            f"; {strata.label} has too few values for folds to be alike, and those of "
            "a covariate with more values are nearly unbiased, by "
            f"stratify=by_quantile(…, per_fold={ALIKE})"
        )
    if result.design.outcome.kind == "continuous":
        return "; scheme='leave_pair_out' compares only records held out by one fit"
    if result.plan.rebalanced:
        return ""
    scheme = result.plan.made_by
    alone = scheme is not None and (scheme.leaves_one_out or scheme.holds_out_pairs)
    remedy = "scheme='rloocv'" if alone else "rebalance='subsample'"
    return f"; {remedy} balances every training set"


def _audited(result: Readable) -> list[Note]:
    """Return what the audit of the folds finds of concern."""
    binary = result.design.outcome.kind == "binary"
    return [
        (OF_FINDINGS.get(found.check, LIMITED), found.sentence)
        for found in result.audit.findings
        if found.concern and not (binary and found.check in SAID_ABOVE)
    ]


def _failed(result: Readable) -> list[str]:
    """Count the fits that separate the classes, or did not converge."""
    held, fits, notes = result.held, result.plan.n_fits, []
    if held.separated.any():
        what = "separate the classes (fitted probabilities of 0 or 1)"
        if result.design.outcome.kind == "survival":
            what = "order the events perfectly, so that a coefficient is infinite"
        notes.append(f"{int(held.separated.sum())} of {fits} fits {what}.")
    if not held.converged.all():
        notes.append(f"{int((~held.converged).sum())} of {fits} fits did not converge.")
    return notes


def _lacking(result: Readable) -> list[str]:
    """Name the coefficients that some training sets do not determine."""
    table = result.held.coefficients
    if table is None or not table.isna().any(axis=None):
        return []
    lacking = table.isna().sum()
    counts = ", ".join(f"{term} in {n}" for term, n in lacking.items() if n)
    return [
        "Coefficients of terms that occur in no training row are omitted "
        f"({counts} of {result.plan.n_fits} fits)."
    ]


# ---- what the estimates say ----


def _overlapping(result: Readable) -> list[str]:
    """Say that pooled ranks compare fits, where several fits predict a record."""
    if not (result.scores.overlapping and _ranks_pooled(result)):
        return []
    return [
        "In pooled metrics, the prediction for a record is the mean over all fits "
        "that held it out. Different fits are then compared, so that pooled rank "
        "metrics are biased downwards if there is no skill."
    ]


def _of_scores(result: Readable) -> list[str]:
    """Say that metrics of probabilities are omitted, if predictions are scores."""
    read = {metric.reads for metric in result.chosen_metrics}
    several = len(result.chosen_metrics) > 1
    if not several or result.scores.probabilities or "probabilities" in read:
        return []
    return [
        "Predictions are scores and not probabilities, so that metrics of "
        "probabilities are omitted."
    ]


def _between_strata(result: Readable) -> list[str]:
    """Say that concordance does not know the baseline hazards of strata."""
    formula, strata = result.design.formula, result.design.strata
    if not strata:
        return []
    by = formula.factors[strata].columns[0]
    return [
        "Concordance also compares records of different strata, by linear predictors "
        f"that do not have their baseline hazards; metrics(by={by!r}) does not."
    ]


def _decided(result: Readable) -> list[str]:
    """Say that the model itself predicts the classes."""
    if not result.scores.decided:
        return []
    other = result.held.decided_otherwise
    return [
        "Classes are those of the model's predict, which differ from a threshold "
        f"of one half for {int(other.sum())} of {len(other)} predictions; "
        "threshold= sets one."
    ]


def _chosen(result: Readable) -> list[str]:
    chosen = result.held.chosen
    if chosen is None:
        return []
    return [f"Chosen inside the training sets: {choices(chosen)}."]


def _drawn_once(result: Readable) -> list[str]:
    """Say that records were dropped or repeated at random, once."""
    drawn = {"subsample": "dropped", "upsample": "repeated"}
    plan, kind = result.plan, result.design.outcome.kind
    if plan.rebalance not in drawn or kind == "continuous" or plan.repeats > 1:
        return []
    return [
        f"The {drawn[plan.rebalance]} records were drawn once; repeats=20 "
        "averages over draws and shows how much they change the estimate."
    ]


def _training_mean(result: Readable, biases: Sequence[NullBias]) -> list[str]:
    """State the auROC of the training mean, which a single fit does not have."""
    if result.scores.apart or np.isnan(result.mean_model_auroc):
        return []
    binary = result.design.outcome.kind == "binary"
    mean, area = ("mean", "auROC") if binary else ("shares", "Hand–Till auROC")
    return [
        f"Under these folds the training {mean} alone, without any predictor, "
        f"{'has' if binary else 'have'} pooled {area} "
        f"{result.mean_model_auroc:.3f} (0.5 is no skill)."
        + ("" if biases else _call_for_bias(result))
    ]


def _reversed(result: Readable, headline: Estimate) -> list[str]:
    """Ask about the positive class if the ranking is clearly reversed."""
    outcome = result.design.outcome
    if headline.metric != "auroc" or not headline.upper < 0.5:
        return []
    if result.without_predictors[0].material:
        return []
    other = f" positive={outcome.levels[0]!r} takes the other."
    return [
        f"The whole interval of the auROC lies below 0.5: the predictions rank the "
        f"classes in reverse. Is {outcome.positive!r} the class that they are for?"
        + other
        * (not result.validated)
    ]


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


def no_interval(headline: Estimate) -> list[str]:
    """Say why the headline has no interval, if it has none."""
    name = stated(headline.label, headline.how)
    none = headline.method == "none"
    return [f"{name} has no interval: {headline.assumes}."] if none else []


def method(headline: Estimate) -> list[str]:
    """Name the method of the headline's interval, and what it assumes."""
    if headline.method == "none":
        return []
    name = stated(headline.label, headline.how)
    return [f"Interval of {name}: {headline.method}; {headline.assumes}."]


def no_other_intervals(table: pd.DataFrame, headline: Estimate) -> list[str]:
    """Say why other metrics have no interval."""
    return [
        f"No interval of {metric}{words[4:]}."
        for metric, words in table["interval"].items()
        if words.startswith("none") and metric != headline.metric
    ]


def poorly_covered(
    result: Readable, table: pd.DataFrame, headline: Estimate
) -> list[str]:
    """Name the metrics whose intervals were found too narrow in simulations."""
    low = low_coverages(result.plan, _asked(result, table), result.learner)
    if not low or headline.level != 0.95:
        return []
    shares = joined([f"{100 * share:.0f}%" for share in low.values()])
    are = "Intervals" if len(low) > 1 else "The interval"
    return [
        f"{are} of {joined(list(low))} may be too narrow: in simulations of such size, "
        f"95% intervals contained the true value in as few as {shares} of data sets."
    ]


def measured(result: Readable, headline: Estimate) -> list[str]:
    """State the measured coverage of such intervals, if it is known."""
    known = result.design.outcome.kind in ("binary", "survival")
    if headline.level != 0.95 or not known:
        return []
    if headline.interval.pairs:  # exact, and not the interval that was measured
        return []
    share = float(result.design.y.mean())
    name = headline.interval.name
    about = headline.how, name, share, headline.metric, result.learner
    said = measured_coverage(result.plan, *about)
    return [sentence(said)] if said else []


def others_measured(
    result: Readable, table: pd.DataFrame, headline: Estimate
) -> list[str]:
    """State the measured coverage of the other metrics' intervals, if it is known."""
    if headline.level != 0.95:
        return []
    asked = [one for one in _asked(result, table) if one[0] != headline.metric]
    said = measured_coverages(result.plan, asked, result.learner)
    return [sentence(said)] if said else []


def _asked(result: Readable, table: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return each metric that has an interval, how it is stated, and the interval."""
    return [
        (str(metric), str(row["how"]), result.estimate(str(metric)).interval.name)
        for metric, row in table.iterrows()
        if not np.isnan(row["lower"])
    ]


def monte_carlo_error(
    result: Readable, headline: Estimate, size: float | None
) -> tuple[list[str], bool]:
    """State the Monte Carlo error of the headline, and return whether it is small.

    Parameters
    ----------
    result : Readable
    headline : Estimate
    size : float or None
        The error that is small; a tenth of the standard error unless given.
    """
    plan, name = result.plan, stated(headline.label, headline.how)
    sampled = is_sample(plan) and (plan.repeats == 1 or result.scores.by_split)
    if not sampled and (plan.repeats == 1 or result.scores.by_split):
        return [], True
    chance = result.monte_carlo(headline.metric, headline.how)
    if sampled:
        text = f"{name} from a sample of {plural(plan.n_splits, 'pair')}"
        if np.isnan(chance.se):
            more = "repeats=20 shows how much it varies between samples"
            return [f"{text}; {more}."], False
        text += (
            f": Monte Carlo standard error {chance.se:.2g}, estimated from the pairs"
        )
    else:
        text = (
            f"{name} over {chance.repeats} repeats: Monte Carlo standard error "
            f"{chance.se:.2g} (sd {chance.sd:.2g})"
        )
    wanted = headline.se / 10 if size is None else size
    if not wanted > 0:
        return [f"{text}."], True
    what = "a tenth of the standard error" if size is None else f"{size:g}"
    enough = chance.needed(wanted) or 1
    if enough <= chance.repeats:
        return [f"{text}, which is less than {what}."], True
    return [f"{text}; {plural(enough, 'repeat')} would bring it below {what}."], False


def bootstrap_parts(result: Readable, headline: Estimate) -> list[str]:
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
