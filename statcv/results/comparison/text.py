"""A comparison in words and rounded tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.inference import COMBINED, measured_comparison
from statcv.inference.paired.contrasts import ADJUSTED, Contrasts
from statcv.inference.paired.records import (
    DRAWS_DIFFER,
    SCHEMES_DIFFER,
    against_null,
    in_words,
    same_folds,
)
from statcv.results.summary import Summary
from statcv.results.wording.in_words import (
    events_in_words,
    first_that_fits,
    scheme_in_words,
)
from statcv.results.wording.notes import BIASED, METHOD, USEFUL, Note, shown_notes
from statcv.tables import check_digits, number
from statcv.words import (
    p_in_words,
    p_value,
    percent,
    sentence,
    shared_digits,
    with_interval,
)

MORE_DIGITS = 2  # number of further digits tried so that rounded estimates subtract
ROOM = 20  # number of lines that the notes may take


def summarise_comparison(
    compared: Contrasts,
    adjust: str,
    left_out: str,
    digits: int | None = None,
    *,
    notes: bool = False,
    further: Sequence[str] = (),
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
    notes : bool
        Whether to show all notes, not only those that may change a decision.
    further : sequence of str
        Further notes, which may.
    """
    check_digits(digits)
    outcome = compared.records.first.design.outcome
    records = f"{len(compared.records.labels)}, the same in every result"
    if left_out:
        records += f"; {left_out}"
    estimates, differences = shown_tables(compared, adjust, digits)
    found = [*_notes(compared, adjust), *((USEFUL, text) for text in further)]
    told, more = shown_notes(found, notes, ROOM)
    return Summary(
        title=_title(compared),
        headline=_headline(compared, adjust, digits),
        facts=(
            ("outcome", f"{outcome.name}: {outcome.describe()}"),
            ("records", records),
            *in_words(compared.results),
        ),
        methods=_methods(compared, left_out),
        tables={"Estimates": compared.table, "Differences": compared.differences},
        shown={"Estimates": estimates, "Differences": differences},
        notes=told,
        more=more,
    )


def short_comparison(compared: Contrasts, adjust: str) -> str:
    """Return three lines: the difference, the estimates, and the records."""
    estimates = shown_tables(compared, adjust)[0].iloc[:, 0]
    label = compared.metric.label
    heading = f"{label} with {percent(compared.level)} CI: "
    bare = [f"{name} {cell.partition(' (')[0]}" for name, cell in estimates.items()]
    each = [f"{name} {cell}" for name, cell in estimates.items()]
    caveats = [*dict.fromkeys(filter(None, compared.differences["caveat"]))]
    last = [_records(compared, ""), f"{len(compared.records.labels):,} records"]
    if caveats:
        said = ["; ".join(caveats), caveats[0].partition("; ")[0]]
        last = [f"Caveat: {text}" for text in said]
        last.append("Caveats apply; summary() states them")
    lines = (
        [_headline(compared, adjust, None), _headline(compared, adjust, None, False)],
        [heading + ", ".join(each), f"{label}: {', '.join(bare)}"],
        last,
    )
    return "\n".join(map(first_that_fits, lines))


def _title(compared: Contrasts) -> str:
    """Return the title, which names schemes if nothing else differs."""
    by_schemes = (SCHEMES_DIFFER, DRAWS_DIFFER)
    caveats = compared.differences["caveat"]
    schemes = all(any(text in told for text in by_schemes) for told in caveats)
    what = "Comparison of schemes by" if schemes else "Paired comparison of"
    return f"{what} {compared.metric.label} ({_test(compared)})"


def _test(compared: Contrasts) -> str:
    return compared.method.title + (", clustered" if compared.clustered else "")


def _headline(
    compared: Contrasts, adjust: str, given: int | None, names: bool = True
) -> str:
    """Return the difference, or that of several with the smallest p-value."""
    label, pairs = compared.metric.label, compared.differences
    column, heading, _ = ADJUSTED[adjust]
    p = pairs[column if len(pairs) > 1 else "p"]
    at = 0 if p.isna().all() else int(np.nanargmin(p))
    pair = f"{pairs['second'].iloc[at]} − {pairs['first'].iloc[at]}"
    least = float(p.iloc[at])
    said = "" if np.isnan(least) else p_in_words(least, ".2f" if least > 0.1 else ".2g")
    if len(pairs) > 1:
        text = f"{len(pairs)} differences in {label}"
        way = f", {heading.partition(' ')[2][1:-1]}" * (adjust != "none")
        return f"{text}; smallest {said} ({pair}{way})" if said else text
    digits, differences = _rounded(compared, given)
    (limits,) = _ranges(pairs, digits)
    known = "no interval" if limits == "–" else f"{percent(compared.level)} CI {limits}"
    text = f"difference in {label} {differences[0]} ({known})"
    return text + f", {said}" * bool(said) + f" ({pair})" * names


def _methods(compared: Contrasts, left_out: str) -> str:
    """Return the records and folds, and by what the results differ."""
    results = [*compared.results.values()]
    said = [_records(compared, left_out)]
    if len({one.learner.label for one in results}) == 1:
        said.append(f"Model: {results[0].learner.label}")
    if len({one.plan.sentence for one in results}) == 1:
        said.append(scheme_in_words(results[0]))
    each = "; ".join(f"{name}: {text}" for name, text in in_words(compared.results))
    return " ".join(f"{text}." for text in (*said, each) if text)


def _records(compared: Contrasts, left_out: str) -> str:
    """Count the records, and those of each class."""
    few = events_in_words(compared.records.first)[0]
    text = f"{len(compared.records.labels):,} records, the same in every result{few}"
    return f"{text}; {left_out}" if left_out else text


def shown_tables(
    compared: Contrasts, adjust: str, given: int | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables, rounded so that each difference is that of shown estimates.

    All estimates and differences have as many digits as the narrowest interval of a
    difference warrants, or up to two more if the rounded numbers then subtract
    exactly; if they never do, the difference of the rounded estimates is shown. The
    number of digits may also be given.
    """
    table, pairs = compared.table, compared.differences
    digits, differences = _rounded(compared, given)
    interval = f"({percent(compared.level)} CI)"
    known = table["lower"].notna().any()
    heading = f"{compared.metric.label}{f' {interval}' * bool(known)}"
    values = [_text(value, digits) for value in table["estimate"]]
    estimates = pd.DataFrame(
        {heading: _with_ranges(values, table, digits)}, index=table.index
    )
    heading = f"difference{f' {interval}' * bool(pairs['lower'].notna().any())}"
    columns = {heading: _with_ranges(differences, pairs, digits)}
    columns["p"] = [p_value(value) for value in pairs["p"]]
    shown = pd.DataFrame(columns)
    if len(pairs) > 1 and adjust != "none":
        column, heading, _ = ADJUSTED[adjust]
        shown[heading] = [p_value(value) for value in pairs[column]]
    shown.index = pd.Index(pairs["second"] + " − " + pairs["first"])
    return estimates, shown


def _rounded(compared: Contrasts, given: int | None) -> tuple[int, list[str]]:
    """Return the number of digits, and the differences rounded to them."""
    ses = _spread(compared.differences)
    least = shared_digits(-2 * ses, 2 * ses)
    tried = range(least, least + MORE_DIGITS + 1)
    if given is not None:
        least, tried = given, range(given, given + 1)
    for digits in tried:
        differences = subtracted(compared, digits)
        exact = [_text(d, digits) for d in compared.differences["difference"]]
        if differences == exact:
            return digits, differences
    return least, subtracted(compared, least)


def subtracted(compared: Contrasts, digits: int) -> list[str]:
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


def _notes(compared: Contrasts, adjust: str) -> list[Note]:
    pairs = compared.differences
    caveats = dict.fromkeys(filter(None, pairs["caveat"]))
    notes = [(BIASED, f"Caveat: {text}.") for text in caveats]
    if 0 < len(compared.fixed) < len(compared.results) - 1:
        text = (
            "One test serves all pairs. How the fits vary with the records is unknown "
            f"for {', '.join(compared.fixed)}, so that it takes all fits as given; "
            "the others, compared by themselves, are tested by the infinitesimal "
            "jackknife, with another p."
        )
        notes.append((USEFUL, text))
    if len(pairs) > 1 and adjust == "none":
        text = f"The {len(pairs)} p-values are not adjusted for their number."
        notes.append((USEFUL, text))
    label = compared.metric.label
    if not any(one.scores.external for one in compared.results.values()):
        label += f" ({COMBINED.get(compared.how, compared.how)})"
    said = [f"The {label} is compared; test: {_test(compared)}."]
    if compared.clustered:
        said.append(
            "Records in one cluster (equal values of the stratifier) are treated as "
            "dependent."
        )
    if compared.method.name == "permutation":
        said.append(
            f"p is based on {compared.n_permutations} random swaps, or on all swaps if "
            "these are few; it is never zero (Phipson & Smyth 2010)."
        )
    said.append(sentence(compared.method.assumes))
    measured = _measured(compared)
    if measured:
        said.append(sentence(measured))
    return notes + [(METHOD, text) for text in said]


def _measured(compared: Contrasts) -> str | None:
    """Report the error rate of the test in simulations with common folds."""
    first, *others = compared.results.values()
    known = first.design.outcome.kind in ("binary", "survival")
    if against_null(compared.results, compared.reference) or not known:
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


def _with_ranges(values: list[str], table: pd.DataFrame, digits: int) -> list[str]:
    """Return rounded values with their intervals, where there are some."""
    sides = [[_text(one, digits) for one in table[name]] for name in ("lower", "upper")]
    return [with_interval(*one) for one in zip(values, *sides, strict=True)]
