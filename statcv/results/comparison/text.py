"""A comparison in words and rounded tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.inference import measured_comparison
from statcv.inference.paired.adjusted import ADJUSTED
from statcv.inference.paired.caveats import DRAWS_DIFFER, SCHEMES_DIFFER, same_folds
from statcv.inference.paired.contrasts import Contrasts
from statcv.inference.paired.records import against_null, in_words
from statcv.results.summary import Summary, check_digits, decimals, number
from statcv.words import p_value, percent, sentence

if TYPE_CHECKING:
    pass


MORE_DIGITS = 2  # number of further digits tried so that rounded estimates subtract


def summarise_comparison(
    compared: Contrasts, adjust: str, left_out: str, digits: int | None = None
) -> Summary:
    """Return the summary of a comparison.

    Parameters
    ----------
    compared : Contrasts
        The estimates and their paired differences.
    adjust : {"holm", "bh", "none"}
        The adjusted p-values that are shown.
    left_out : str
        Description of the rows of the data that no result uses; empty if all are used.
    digits : int, optional
        Number of decimals of estimates and differences.
    """
    check_digits(digits)
    outcome = compared.records.first.design.outcome
    records = f"{len(compared.records.labels)}, the same in every result"
    if left_out:
        records += f"; {left_out}"
    caption = f"Differences of the {compared.stated}"
    shown = shown_tables(compared, adjust, digits)
    return Summary(
        title=_title(compared),
        facts=(
            ("outcome", f"{outcome.name}: {outcome.describe()}"),
            ("records", records),
            *in_words(compared.results),
        ),
        tables={"Estimates": compared.table, caption: compared.differences},
        shown={
            "Estimates": shown[0],
            caption: shown[1],
        },
        notes=_notes(compared, adjust),
    )


def _title(compared: Contrasts) -> str:
    """Return the title, which names schemes if nothing else differs."""
    by_schemes = (SCHEMES_DIFFER, DRAWS_DIFFER)
    caveats = compared.differences["caveat"]
    schemes = all(any(text in told for text in by_schemes) for told in caveats)
    what = "Comparison of schemes by" if schemes else "Paired comparison of"
    test = compared.method.title + (", clustered" if compared.clustered else "")
    return f"{what} {compared.metric.label} ({test})"


def shown_tables(
    compared: Contrasts, adjust: str, given: int | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables, rounded so that each difference is that of shown estimates.

    All estimates and differences have as many digits as the smallest standard error
    of a difference warrants, or up to two more if the rounded numbers then subtract
    exactly; if they never do, the difference of the rounded estimates is shown. The
    number of digits may also be given.
    """
    table, pairs = compared.table, compared.differences
    spread = _spread(pairs)
    spread = spread[np.isfinite(spread) & (spread > 0)]
    least = decimals(float(spread.min())) if len(spread) else 3
    tried = range(least, least + MORE_DIGITS + 1)
    if given is not None:
        least, tried = given, range(given, given + 1)
    for digits in tried:
        differences = _subtracted(compared, digits)
        if differences == [_text(d, digits) for d in pairs["difference"]]:
            break
    else:
        digits = least
        differences = _subtracted(compared, digits)
    interval = f"{percent(compared.level)} interval"
    estimates = pd.DataFrame(
        {
            "estimate": [_text(v, digits) for v in table["estimate"]],
            interval: _ranges(table, digits),
            "how": table["how"].str.replace("_", " "),
        }
    )
    columns = {
        "difference": differences,
        "se": [_text(v, digits) for v in pairs["se"]],
    }
    if pairs["lower"].notna().any():
        columns[interval] = _ranges(pairs, digits)
    columns[compared.method.statistic] = [number(v) for v in pairs["statistic"]]
    columns["p"] = [p_value(value) for value in pairs["p"]]
    shown = pd.DataFrame(columns)
    if len(pairs) > 1 and adjust != "none":
        column, heading, _ = ADJUSTED[adjust]
        shown[heading] = [p_value(value) for value in pairs[column]]
    shown.index = pd.Index(pairs["second"] + " − " + pairs["first"])
    return estimates, shown


def _subtracted(compared: Contrasts, digits: int) -> list[str]:
    """Return the differences of the estimates rounded to ``digits`` digits."""
    pairs = compared.differences
    rounded = {
        name: float(f"{value:.{digits}f}")
        for name, value in compared.table["estimate"].items()
    }
    return [
        _text(rounded[second] - rounded[first], digits)
        for first, second in zip(pairs["first"], pairs["second"], strict=True)
    ]


def _text(value: float, digits: int) -> str:
    """Format a number with ``digits`` decimals; zero has no sign."""
    if not np.isfinite(value):
        return number(value)
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _notes(compared: Contrasts, adjust: str) -> tuple[str, ...]:
    pairs = compared.differences
    caveats = dict.fromkeys(filter(None, pairs["caveat"]))
    notes = [f"Caveat: {text}." for text in caveats]
    if compared.clustered:
        notes.append(
            "Records in one cluster (equal values of the stratifier) are treated as "
            "dependent."
        )
    if compared.method.name == "permutation":
        notes.append(
            f"p is based on {compared.n_permutations} random swaps, or on all swaps if "
            "these are few; it is never zero (Phipson & Smyth 2010)."
        )
    assumes = compared.method.assumes
    notes.append(sentence(assumes))
    if 0 < len(compared.fixed) < len(compared.results) - 1:
        notes.append(
            "One test serves all pairs. How the fits vary with the records is unknown "
            f"for {', '.join(compared.fixed)}, so that it takes all fits as given; "
            "the others, compared by themselves, are tested by the infinitesimal "
            "jackknife, with another p."
        )
    measured = _measured(compared)
    if measured:
        notes.append(sentence(measured))
    if len(compared.differences) > 1 and adjust == "none":
        notes.append(
            f"The {len(compared.differences)} p-values are not adjusted for their "
            "number."
        )
    return tuple(notes)


def _measured(compared: Contrasts) -> str | None:
    """Report the error rate of the test in simulations with common folds."""
    first, *others = compared.results.values()
    binary = first.design.outcome.kind == "binary"
    if against_null(compared.results, compared.reference) or not binary:
        return None
    if not all(same_folds(first, other) for other in others):
        return None
    name, how = compared.method.name, compared.how.partition(",")[0]
    averaged = name in ("delong", "t")  # over repeats, which the study does not have
    if averaged and len(first.scores.by_repeat) > 1:
        return None
    share = float(first.design.y.mean())
    return measured_comparison(first.plan, how, name, share, compared.metric.name)


def _spread(table: pd.DataFrame) -> NDArray[np.float64]:
    """Return one standard error per row, which determines the digits shown."""
    from_interval = (table["upper"] - table["lower"]) / 4
    if "se" in table:
        from_interval = from_interval.fillna(table["se"])
    return from_interval.to_numpy()


def _ranges(table: pd.DataFrame, digits: int) -> list[str]:
    return [
        "–" if np.isnan(lower) else f"{_text(lower, digits)} to {_text(upper, digits)}"
        for lower, upper in zip(table["lower"], table["upper"], strict=True)
    ]
