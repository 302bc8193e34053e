"""Notes of a summary on intervals: their method, their coverage, and chance."""

from __future__ import annotations

import numpy as np
import pandas as pd

from statcv.folds import is_sample
from statcv.inference import (
    BootstrapEstimate,
    Estimate,
    Readable,
    low_coverages,
    measured_coverage,
    measured_coverages,
)
from statcv.results.estimates import is_bootstrap
from statcv.words import joined, plural, sentence, stated


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
