"""The notes of a summary: what a reader of the estimates has to know."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

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
from statcv.results.refits import is_bootstrap
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
Notes = Iterator[str]  # the texts of notes; none if there is nothing to say


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
        UNSOUND: [*_failed(result)],
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
            *_no_other_intervals(table, headline),
            *_decided(result),
            *_training_mean(result, biases),
            *_lacking(result),
            *_imputed(result),
        ],
    }
    name = stated(headline.label, headline.how)
    if headline.method == "none":
        notes = [(UNSOUND, f"{name} has no interval: {headline.assumes}.")]
    else:
        narrow = "too narrow" in headline.assumes
        text = f"Interval of {name}: {headline.method}; {headline.assumes}."
        notes = [(LIMITED if narrow else METHOD, text)]
    notes += [(weight, text) for weight, texts in said.items() for text in texts]
    notes += _monte_carlo_error(result, headline, size)
    weight = USEFUL if result.plan.n <= FEW_RECORDS else METHOD
    notes += [(weight, said) for said in even_classes(result, table)]
    return notes + _audited(result)


def _imputed(result: Readable) -> Notes:
    """Say how held-out records were imputed, and what an interval takes as given."""
    if isinstance(result.learner, Imputed):
        yield (
            "Training records are imputed with their outcome, and held-out ones "
            "without, by models of the training set. Metrics are those in practice, "
            "where patients lack values as these records do; intervals take the "
            "imputations as given, as they take the fits."
        )


# ---- estimates that are biased, or fits that failed ----


def _biased(result: Readable) -> Notes:
    """Say by how much the headline is biased without predictors, if that is much."""
    row = result.without_predictors[0]
    if row.material:
        way = "downwards" if (row.perfect - row.value) * row.bias < 0 else "upwards"
        label = row.metric.label
        yield (
            f"Biased {way}: in these folds a model without any predictor has {label} "
            f"{row.found:.3f}, where no skill is {row.value:.3f}{balancing(result)}."
        )


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


def _failed(result: Readable) -> Notes:
    """Count the fits that separate the classes, or did not converge."""
    held, fits = result.held, result.plan.n_fits
    if held.separated.any():
        what = "separate the classes (fitted probabilities of 0 or 1)"
        if result.design.outcome.kind == "survival":
            what = "order the events perfectly, so that a coefficient is infinite"
        yield f"{int(held.separated.sum())} of {fits} fits {what}."
    if not held.converged.all():
        yield f"{int((~held.converged).sum())} of {fits} fits did not converge."


def _lacking(result: Readable) -> Notes:
    """Name the coefficients that some training sets do not determine."""
    table = result.held.coefficients
    if table is not None and table.isna().any(axis=None):
        lacking = table.isna().sum()
        counts = ", ".join(f"{term} in {n}" for term, n in lacking.items() if n)
        yield (
            "Coefficients of terms that occur in no training row are omitted "
            f"({counts} of {result.plan.n_fits} fits)."
        )


# ---- what the estimates say ----


def _overlapping(result: Readable) -> Notes:
    """Say that pooled ranks compare fits, where several fits predict a record."""
    scores = result.scores
    if (scores.overlapping and not scores.apart) and any(
        metric.rank and scores.headline(metric) == "pooled"
        for metric in result.chosen_metrics
    ):
        yield (
            "In pooled metrics, the prediction for a record is the mean over all fits "
            "that held it out. Different fits are then compared, so that pooled rank "
            "metrics are biased downwards if there is no skill."
        )


def _of_scores(result: Readable) -> Notes:
    """Say that metrics of probabilities are omitted, if predictions are scores."""
    read = {metric.reads for metric in result.chosen_metrics}
    several = len(result.chosen_metrics) > 1
    if several and not result.scores.probabilities and "probabilities" not in read:
        yield (
            "Predictions are scores and not probabilities, so that metrics of "
            "probabilities are omitted."
        )


def _between_strata(result: Readable) -> Notes:
    """Say that concordance does not know the baseline hazards of strata."""
    formula, strata = result.design.formula, result.design.strata
    if strata:
        by = formula.factors[strata].columns[0]
        yield (
            "Concordance also compares records of different strata, by linear "
            "predictors that do not have their baseline hazards; "
            f"metrics(by={by!r}) does not."
        )


def _decided(result: Readable) -> Notes:
    """Say that the model itself predicts the classes."""
    if result.scores.decided:
        other = result.held.decided_otherwise
        yield (
            "Classes are those of the model's predict, which differ from a threshold "
            f"of one half for {int(other.sum())} of {len(other)} predictions; "
            "threshold= sets one."
        )


def _chosen(result: Readable) -> Notes:
    if result.held.chosen is not None:
        yield f"Chosen inside the training sets: {choices(result.held.chosen)}."


def _drawn_once(result: Readable) -> Notes:
    """Say that records were dropped or repeated at random, once."""
    drawn = {"subsample": "dropped", "upsample": "repeated"}
    plan, kind = result.plan, result.design.outcome.kind
    if plan.rebalance in drawn and kind != "continuous" and plan.repeats == 1:
        yield (
            f"The {drawn[plan.rebalance]} records were drawn once; repeats=20 "
            "averages over draws and shows how much they change the estimate."
        )


def _training_mean(result: Readable, biases: Sequence[NullBias]) -> Notes:
    """State the auROC of the training mean, which a single fit does not have."""
    if result.scores.apart or np.isnan(result.mean_model_auroc):
        return
    mean, area = "mean alone, without any predictor, has", "auROC"
    if result.design.outcome.kind != "binary":
        mean = "shares alone, without any predictor, have"
        area = "Hand–Till auROC"
    said = (
        f"Under these folds the training {mean} pooled {area} "
        f"{result.mean_model_auroc:.3f} (0.5 is no skill)."
    )
    able = result.learner.capabilities.refits and is_permutable(result.plan)
    if able and not biases and any(metric.rank for metric in result.chosen_metrics):
        said += " summary(null_bias=200) estimates the bias for this model itself."
    yield said


def _reversed(result: Readable, headline: Estimate) -> Notes:
    """Ask about the positive class if the ranking is clearly reversed."""
    outcome = result.design.outcome
    below = headline.metric == "auroc" and headline.upper < 0.5
    if below and not result.without_predictors[0].material:
        other = f" positive={outcome.levels[0]!r} takes the other."
        yield (
            "The whole interval of the auROC lies below 0.5: the predictions rank the "
            f"classes in reverse. Is {outcome.positive!r} the class that they are for?"
            f"{other * (not result.validated)}"
        )


def _saturated(result: Readable) -> Notes:
    """Count the predictions that are 0 or 1 in double precision."""
    scores = result.scores
    if not scores.probabilities or not result.design.outcome.levels:
        return
    p, least = scores.predicted, np.finfo(float).eps
    own = scores.outcome.astype(np.intp)
    of_own = np.abs(1 - own - p) if p.ndim == 1 else p[np.arange(len(p)), own]
    ends = int(((p <= least) | (p >= 1 - least)).reshape(len(p), -1).any(axis=1).sum())
    wrong = int((of_own <= least).sum())
    if ends:
        yield (
            f"{ends} of {len(p)} predictions are 0 or 1, and tie in ranks"
            + (f"; {wrong} of them are wrong, with a log-loss of 36." if wrong else ".")
        )


def _no_other_intervals(table: pd.DataFrame, headline: Estimate) -> Notes:
    """Say why other metrics have no interval."""
    for metric, words in table["interval"].items():
        if words.startswith("none") and metric != headline.metric:
            yield f"No interval of {metric}{words[4:]}."


def poorly_covered(result: Readable, table: pd.DataFrame, headline: Estimate) -> Notes:
    """Name the metrics whose intervals were found too narrow in simulations."""
    low = low_coverages(result.plan, _asked(result, table), result.learner)
    if low and headline.level == 0.95:
        shares = joined([f"{100 * share:.0f}%" for share in low.values()])
        are = "Intervals" if len(low) > 1 else "The interval"
        yield (
            f"{are} of {joined(list(low))} may be too narrow: in simulations of such "
            "size, 95% intervals contained the true value in as few as "
            f"{shares} of data sets."
        )


def measured(result: Readable, headline: Estimate) -> Notes:
    """State the measured coverage of such intervals, if it is known."""
    known = result.design.outcome.kind in ("binary", "survival")
    # an interval by pairs is exact, and not the one that was measured
    if headline.level != 0.95 or not known or headline.interval.pairs:
        return
    share = float(result.design.y.mean())
    name = headline.interval.name
    about = headline.how, name, share, headline.metric, result.learner
    if said := measured_coverage(result.plan, *about):
        yield sentence(said)


def others_measured(result: Readable, table: pd.DataFrame, headline: Estimate) -> Notes:
    """State the measured coverage of the other metrics' intervals, if it is known."""
    if headline.level == 0.95:
        asked = [one for one in _asked(result, table) if one[0] != headline.metric]
        if said := measured_coverages(result.plan, asked, result.learner):
            yield sentence(said)


def _asked(result: Readable, table: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return each metric that has an interval, how it is stated, and the interval."""
    return [
        (str(metric), str(row["how"]), result.estimate(str(metric)).interval.name)
        for metric, row in table.iterrows()
        if not np.isnan(row["lower"])
    ]


def _monte_carlo_error(
    result: Readable, headline: Estimate, size: float | None
) -> Iterator[Note]:
    """State the Monte Carlo error of the headline.

    It is small below ``size``, or below a tenth of the standard error unless given.
    """
    plan, name = result.plan, stated(headline.label, headline.how)
    sampled = is_sample(plan) and (plan.repeats == 1 or result.scores.by_split)
    if not sampled and (plan.repeats == 1 or result.scores.by_split):
        return
    chance, small = result.monte_carlo(headline.metric, headline.how), True
    wanted = headline.se / 10 if size is None else size
    what = "a tenth of the standard error" if size is None else f"{size:g}"
    error = f"Monte Carlo standard error {chance.se:.2g}"
    text = f"{name} over {chance.repeats} repeats: {error} (sd {chance.sd:.2g})"
    if sampled:
        name = f"{name} from a sample of {plural(plan.n_splits, 'pair')}"
        text = f"{name}: {error}, estimated from the pairs"
    if sampled and np.isnan(chance.se):
        text = f"{name}; repeats=20 shows how much it varies between samples"
        small = False
    elif wanted > 0:
        enough = chance.needed(wanted) or 1
        small = enough <= chance.repeats
        brings = f"; {plural(enough, 'repeat')} would bring it below {what}"
        text += f", which is less than {what}" if small else brings
    asked = METHOD if small else USEFUL
    yield UNSOUND if size is not None else asked, f"{text}."


def bootstrap_parts(result: Readable, headline: Estimate) -> Notes:
    """State the parts of the .632+ estimate of the headline metric."""
    if not is_bootstrap(result.plan):
        return
    joined = result.estimate(headline.metric, ".632+")
    if isinstance(joined, BootstrapEstimate):
        parts = joined.parts
        yield (
            f"{joined.label} is {parts.apparent:.3f} on the training rows, "
            f"{parts.out_of_bag:.3f} on the out-of-bag rows, and would be "
            f"{parts.no_information:.3f} if predictions and outcome were unrelated: "
            f"relative overfitting {parts.overfitting:.2f}, .632+ value "
            f"{parts.plus:.3f}."
        )
