"""The notes of a summary: what a reader of the estimates has to know."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from statcv import inference
from statcv.folds import is_sample
from statcv.folds.strata import ALIKE
from statcv.inference.tests.permutation import is_permutable
from statcv.models.imputation import Imputed
from statcv.models.tuning import choices
from statcv.results.estimating import is_bootstrap
from statcv.results.wording import design_notes
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
Notes = Iterator[Note]


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
        *_weighed(BIASED, (bias.sentence for bias in biases)),
        *_weighed(LIMITED, result.design.outcome.notes),
        *_of_coverage(result, table, headline),
        *_weighed(LIMITED, design_notes.few_events(result)),
        *_weighed(METHOD, design_notes.null_model(result)),
        *_weighed(
            METHOD,
            (
                f"No interval of {metric}{words[4:]}."
                for metric, words in table["interval"].items()
                if words.startswith("none") and metric != headline.metric
            ),
        ),
        *_of_predictions(result),
        *_of_fits(result, biases),
        *_monte_carlo_error(result, headline, size),
        *_weighed(
            USEFUL if result.plan.n <= FEW_RECORDS else METHOD,
            design_notes.even_classes(result, table),
        ),
        *(
            (OF_FINDINGS.get(found.check, LIMITED), found.sentence)
            for found in result.audit.findings
            if found.concern and not (binary and found.check in SAID_ABOVE)
        ),
    ]


def _weighed(weight: int, texts: Iterable[str]) -> Notes:
    return ((weight, text) for text in texts)


# ---- the estimates and their intervals ----


def _of_headline(result: inference.Readable, headline: inference.Estimate) -> Notes:
    """Say if the headline is biased or ranks in reverse, and name its interval."""
    row, outcome = result.without_predictors[0], result.design.outcome
    if row.material:
        way = "downwards" if (row.perfect - row.value) * row.bias < 0 else "upwards"
        yield (
            BIASED,
            f"Biased {way}: in these folds a model without any predictor has "
            f"{row.metric.label} {row.found:.3f}, where no skill is "
            f"{row.value:.3f}{balancing(result)}.",
        )
    elif headline.metric == "auroc" and headline.upper < 0.5:
        other = f" positive={outcome.levels[0]!r} takes the other."
        yield (
            BIASED,
            "The whole interval of the auROC lies below 0.5: the predictions rank the "
            f"classes in reverse. Is {outcome.positive!r} the class that they are for?"
            f"{other * (not result.validated)}",
        )
    name = stated(headline.label, headline.how)
    if headline.method == "none":
        yield UNSOUND, f"{name} has no interval: {headline.assumes}."
    else:
        narrow = "too narrow" in headline.assumes
        text = f"Interval of {name}: {headline.method}; {headline.assumes}."
        yield LIMITED if narrow else METHOD, text


def balancing(result: inference.Readable) -> str:
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
            shares = joined([f"{100 * share:.0f}%" for share in low.values()])
            are = "Intervals" if len(low) > 1 else "The interval"
            yield (
                LIMITED,
                f"{are} of {joined(list(low))} may be too narrow: in simulations of "
                "such size, 95% intervals contained the true value in as few as "
                f"{shares} of data sets.",
            )
        others = [one for one in asked if one[0] != headline.metric]
        yield from _weighed(METHOD, measured(result, headline))
        if said := inference.measured_coverages(result.plan, others, result.learner):
            yield METHOD, sentence(said)
    if is_bootstrap(result.plan):
        made = result.estimate(headline.metric, ".632+")
        if isinstance(made, inference.BootstrapEstimate):
            parts = made.parts
            yield (
                METHOD,
                f"{made.label} is {parts.apparent:.3f} on the training rows, "
                f"{parts.out_of_bag:.3f} on the out-of-bag rows, and would be "
                f"{parts.no_information:.3f} if predictions and outcome were "
                f"unrelated: relative overfitting {parts.overfitting:.2f}, .632+ value "
                f"{parts.plus:.3f}.",
            )


def measured(result: inference.Readable, headline: inference.Estimate) -> Iterator[str]:
    """State the measured coverage of such intervals, if it is known."""
    known = result.design.outcome.kind in ("binary", "survival")
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
        yield (
            LIMITED,
            "In pooled metrics, the prediction for a record is the mean over all fits "
            "that held it out. Different fits are then compared, so that pooled rank "
            "metrics are biased downwards if there is no skill.",
        )
    yield from _weighed(LIMITED, design_notes.new_levels(result))
    yield from _weighed(LIMITED, design_notes.uneven_ridge(result))
    if scores.probabilities and design.outcome.levels:
        p, least = scores.predicted, np.finfo(float).eps
        own = scores.outcome.astype(np.intp)
        of_own = np.abs(1 - own - p) if p.ndim == 1 else p[np.arange(len(p)), own]
        ends = ((p <= least) | (p >= 1 - least)).reshape(len(p), -1).any(axis=1).sum()
        wrong = int((of_own <= least).sum())
        if ends:
            text = f"{int(ends)} of {len(p)} predictions are 0 or 1, and tie in ranks"
            log_loss = f"; {wrong} of them are wrong, with a log-loss of 36"
            yield LIMITED, f"{text}{log_loss * bool(wrong)}."
    read = {metric.reads for metric in metrics}
    if len(metrics) > 1 and not scores.probabilities and "probabilities" not in read:
        yield (
            USEFUL,
            "Predictions are scores and not probabilities, so that metrics of "
            "probabilities are omitted.",
        )
    if design.strata:
        by = design.formula.factors[design.strata].columns[0]
        yield (
            USEFUL,
            "Concordance also compares records of different strata, by linear "
            "predictors that do not have their baseline hazards; "
            f"metrics(by={by!r}) does not.",
        )
    if scores.decided:
        other = result.held.decided_otherwise
        yield (
            METHOD,
            "Classes are those of the model's predict, which differ from a threshold "
            f"of one half for {int(other.sum())} of {len(other)} predictions; "
            "threshold= sets one.",
        )


def _of_fits(result: inference.Readable, biases: Sequence[inference.NullBias]) -> Notes:
    """Say what was chosen or drawn for the fits, and which of them failed."""
    held, plan, kind = result.held, result.plan, result.design.outcome.kind
    if held.separated.any():
        what = "separate the classes (fitted probabilities of 0 or 1)"
        if kind == "survival":
            what = "order the events perfectly, so that a coefficient is infinite"
        yield UNSOUND, f"{int(held.separated.sum())} of {plan.n_fits} fits {what}."
    if not held.converged.all():
        failed = int((~held.converged).sum())
        yield UNSOUND, f"{failed} of {plan.n_fits} fits did not converge."
    if held.chosen is not None:
        yield USEFUL, f"Chosen inside the training sets: {choices(held.chosen)}."
    drawn = {"subsample": "dropped", "upsample": "repeated"}
    if plan.rebalance in drawn and kind != "continuous" and plan.repeats == 1:
        yield (
            USEFUL,
            f"The {drawn[plan.rebalance]} records were drawn once; repeats=20 "
            "averages over draws and shows how much they change the estimate.",
        )
    yield from _weighed(USEFUL, design_notes.beyond_knots(result))
    if not result.scores.apart and not np.isnan(result.mean_model_auroc):
        mean, area = "mean alone, without any predictor, has", "auROC"
        if kind != "binary":
            mean = "shares alone, without any predictor, have"
            area = "Hand–Till auROC"
        said = (
            f"Under these folds the training {mean} pooled {area} "
            f"{result.mean_model_auroc:.3f} (0.5 is no skill)."
        )
        able = result.learner.capabilities.refits and is_permutable(plan)
        if able and not biases and any(metric.rank for metric in result.chosen_metrics):
            said += " summary(null_bias=200) estimates the bias for this model itself."
        yield METHOD, said
    if held.coefficients is not None and held.coefficients.isna().any(axis=None):
        lacking = held.coefficients.isna().sum()
        counts = ", ".join(f"{term} in {n}" for term, n in lacking.items() if n)
        yield (
            METHOD,
            "Coefficients of terms that occur in no training row are omitted "
            f"({counts} of {plan.n_fits} fits).",
        )
    if isinstance(result.learner, Imputed):
        yield (
            METHOD,
            "Training records are imputed with their outcome, and held-out ones "
            "without, by models of the training set. Metrics are those in practice, "
            "where patients lack values as these records do; intervals take the "
            "imputations as given, as they take the fits.",
        )


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
