"""A result in words and rounded tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import ArgumentError
from statcv.folds import is_sample
from statcv.formula import counted
from statcv.inference import (
    BootstrapEstimate,
    Estimate,
    NullBias,
    Readable,
    measured_coverage,
    measured_coverages,
)
from statcv.inference.estimates.monte_carlo import MonteCarlo
from statcv.inference.refits.optimism import OptimismTable
from statcv.inference.tests.permutation import is_permutable
from statcv.models import Logit
from statcv.models.tuning import choices
from statcv.results.estimates import is_bootstrap
from statcv.results.summary import Summary, check_digits, column, first_of, number
from statcv.words import percent, plural, sentence, stated

# checks that the note on the training mean covers
SAID_ABOVE = ("label_correlation", "negative_mean_auroc")


def with_optimism(summary: Summary, corrected: OptimismTable) -> Summary:
    """Return a summary with a table of metrics that are corrected for optimism."""
    caption = "Corrected for optimism by the bootstrap"
    return replace(
        summary,
        tables={**summary.tables, caption: corrected.to_frame()},
        shown={**summary.shown, caption: corrected.shown},
    )


def summarise(
    result: Readable,
    level: float,
    size: float | None = None,
    biases: Sequence[NullBias] = (),
    digits: int | None = None,
) -> Summary:
    """Return the summary of a result, with intervals of the given level.

    It states the number of repeats that would bring the Monte Carlo error below
    ``size``, or below a tenth of the standard error, and the biases without skill if
    they are given. Tables have ``digits`` decimals, or as many as their standard errors
    warrant.

    Raises
    ------
    ArgumentError
        If the size is not above 0, or ``digits`` is not a number of decimals.
    """
    check_digits(digits)
    if size is not None and not size > 0:
        raise ArgumentError(f"monte_carlo_error must be above 0, not {size!r}.")
    tables = {"Metrics": result.metrics(level).set_index("metric")}
    labels = [metric.label for metric in result.chosen_metrics]
    columns = _metrics(tables["Metrics"], labels, digits)
    sizes = result.plan.tests.sizes
    if result.scores.apart or len(sizes) == 1 or sizes.max() == 1:  # nothing to add
        columns = columns.drop(columns="per fold (sd)", errors="ignore")
    limits = f", with {percent(level)} intervals" if "lower" in columns else ""
    if limits and "fits" not in columns and _given(tables["Metrics"]).any():
        limits += " that take the fits as given"
    shown = {f"Metrics{limits}": columns}
    notes = [*_notes(result, tables["Metrics"], level, size, biases)]
    spread = result.held.coefficients
    if spread is not None:
        caption = f"Coefficients over {_fits(result)}"
        table = spread.agg(["mean", "std", "min", "max"]).T
        tables[caption] = table = table.rename(columns={"std": "sd"})
        first = first_of(table)
        if len(first) < len(table):
            caption += f", the first {len(first)} of {len(table)}"
            notes.append(
                "All coefficients are in summary().tables, and those of each fit in "
                ".coefficients of the result."
            )
        sds = first["sd"].tolist()
        shown[caption] = first.apply(lambda one: column(one.tolist(), sds, digits))
    return Summary(
        title=f"{_kind(result)} of {result.design.formula.text}",
        headline=str(result.estimate(level=level)),
        facts=_facts(result),
        tables=tables,
        shown=shown,
        notes=tuple(notes),
    )


def short_text(result: Readable, headline: Estimate) -> str:
    """Return three lines: the model and data, the scheme, and the headline."""
    design, rows = result.design, result.rows
    if not result.learner.capabilities.refits and design.outcome.kind == "binary":
        rows += f"; {design.outcome.describe()}"  # not clear from the data alone
    return "\n".join(
        [
            f"{design.formula.text}: {result.learner.label}; {rows}",
            _scheme(result),
            str(headline),
        ]
    )


def rows_in_words(result: Readable) -> str:
    """Return the number of rows, and of those that were used, in words."""
    design = result.design
    text = f"n = {design.n}"
    if design.n < design.n_given:
        lost = design.n_given - design.n
        text += f" of {design.n_given}, {lost} incomplete"
    held = int(np.count_nonzero(np.bincount(result.held.row)))
    return text if held == design.n else f"{text}; {held} of them held out"


def _fits(result: Readable) -> str:
    """Count the fits, calling them folds if each fold has exactly one fit."""
    plan, scores = result.plan, result.scores
    one = plan.n_fits == plan.n_splits and not (scores.apart or scores.overlapping)
    return plural(plan.n_fits, "fold" if one else "fit")


def _metrics(
    table: pd.DataFrame, labels: list[str], digits: int | None
) -> pd.DataFrame:
    """Return the table of metrics as text, with equal decimals within a column."""
    ses = ((table["upper"] - table["lower"]) / 4).tolist()

    def shown_as(name: str) -> list[str]:
        return column(table[name].tolist(), ses, digits)

    columns = {name: shown_as(name) for name in ("estimate", "lower", "upper")}
    columns["how"] = table["how"].str.replace("_", " ").tolist()
    columns["no skill"] = shown_as("no_skill")
    folds = zip(
        table["per_fold"], shown_as("per_fold"), shown_as("per_fold_sd"), strict=True
    )
    columns["per fold (sd)"] = [
        "–" if np.isnan(value) else f"{mean} ({sd})" for value, mean, sd in folds
    ]
    for name, heading in (("boot632", ".632"), ("boot632plus", ".632+")):
        if name in table:
            columns[heading] = shown_as(name)
    given, there = _given(table), table["lower"].notna()
    if (there & given).any() and (there & ~given).any():
        kinds = {True: "given", False: "vary"}
        columns["fits"] = [
            kinds[kind] if known else "–"
            for kind, known in zip(given, there, strict=True)
        ]
    shown = pd.DataFrame(columns, index=labels)
    said = [name for name in shown if name == "estimate" or set(shown[name]) != {"–"}]
    return shown[said]


def _given(table: pd.DataFrame) -> pd.Series[bool]:
    """Return whether each interval takes the fits as given."""
    return table["interval"].str.endswith("fits as given")


def _facts(result: Readable) -> tuple[tuple[str, str], ...]:
    design = result.design
    rows = result.rows
    if design.missing:
        rows += f" (missing: {counted(design.missing)})"
    if result.weights is not None:
        rows += "; weighted in the fits, not in the metrics"
    drawn = (("seed", f"{result.seed}; folds {result.plan.fingerprint}"),)
    return (
        ("model", result.learner.label),
        ("scheme", _scheme(result)),
        ("outcome", f"{design.outcome.name}: {design.outcome.describe()}"),
        ("rows", rows),
        *(() if result.scores.external else drawn),
    )


def _kind(result: Readable) -> str:
    return "External validation" if result.scores.external else "Cross-validation"


def _scheme(result: Readable) -> str:
    """Return the scheme and its sentence; an external validation is called that."""
    external = result.scores.external
    name = "external validation" if external else result.plan.scheme
    return f"{name}: {result.plan.sentence}"


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


def _notes(
    result: Readable,
    table: pd.DataFrame,
    level: float,
    size: float | None,
    biases: Sequence[NullBias],
) -> tuple[str, ...]:
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
    notes += _saturated(result)
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
    notes += _uneven_ridge(result)
    notes += _reversed(result, headline)
    notes += _beyond_knots(result)
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


def _beyond_knots(result: Readable) -> list[str]:
    """Count held-out values outside the range on which a spline was learnt."""
    design, plan, found = result.design, result.plan, list[str]()
    factors = [
        design.formula.factors[code]
        for code in dict.fromkeys(
            code for term in design.formula.terms for code in term
        )
    ]
    for factor in factors:
        if len(factor.columns) != 1 or not re.search(r"\b(bs|cr)\(", factor.code):
            continue
        if plan.n_fits * plan.n > MOST_CELLS or "bound" in factor.code:
            continue
        x, beyond = design.terms.columns[factor.columns[0]].to_numpy(float), 0
        for fit, split in enumerate(plan.fits.split_of):
            held, trained = x[plan.test(split)], x[plan.train(fit)]
            beyond += int(((held < trained.min()) | (held > trained.max())).sum())
        if beyond:
            found.append(
                f"{plural(beyond, 'held-out value')} of {factor.columns[0]} "
                f"{'lies' if beyond == 1 else 'lie'} beyond the range of the training "
                f"set, where {factor.code} is continued."
            )
    return found


# largest number of records times fits for which values beyond knots are counted
MOST_CELLS = 10**7
UNEVEN = 100  # least ratio of two columns' standard deviations that the summary reports
ROWS = 2**13  # number of rows, about, from which columns' spreads are computed


def _uneven_ridge(result: Readable) -> list[str]:
    """Name the columns of most different spread that a ridge treats alike."""
    model: Any = result.learner
    while not isinstance(model, Logit):
        inner = getattr(model, "candidates", None)
        model = inner[-1].model if inner else getattr(model, "model", None)
        if model is None:
            return []
    if not model.penalised or model.standardize:
        return []
    X = result.design.matrix
    spread = X[:: max(1, len(X) // ROWS)].std(axis=0)
    some = np.flatnonzero(spread > 0)
    if len(some) < 2:
        return []
    names, spread = np.array(result.design.names)[some], spread[some]
    ratio = float(spread.max() / spread.min())
    if not ratio >= UNEVEN:
        return []
    wide, narrow = names[spread.argmax()], names[spread.argmin()]
    times = f"{float(f'{ratio:.2g}'):,.0f}".replace(",", " ")
    return [
        f"The ridge treats columns of very different spread alike: {str(wide)!r} "
        f"varies {times} times as much as {str(narrow)!r}; "
        "Logit(C=..., standardize=True) "
        "penalises standardised coefficients."
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
LARGE = 500


def _even_classes(result: Readable, table: pd.DataFrame) -> list[str]:
    """Say what folds with equal class shares do to losses and to calibration."""
    plan, y = result.plan, result.design.y
    scheme = plan.made_by
    even = plan.rebalanced or (scheme is not None and scheme.spreads)
    affected = {"brier", "oe_ratio", "calibration_intercept"} & set(table.index)
    binary = result.design.outcome.kind == "binary"
    if not (even and affected and binary and plan.n <= LARGE and plan.partition):
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
