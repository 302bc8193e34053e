"""Comparisons, tests and p-values of several data sets, as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from statcv.arguments import described, is_list
from statcv.errors import ArgumentError, ComparisonError, suggestion
from statcv.inference.paired.records import held_out
from statcv.inference.tests.htest import HTest
from statcv.results.comparison.comparison import Comparison

BARE = "that of the p-values"


NUMBERS = ("difference", "se", "lower", "upper", "statistic", "p", "n")


def named_sets(items: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
    """Name the data sets; check that there are two or more, all of one kind."""
    if len(items) == 1 and isinstance(items[0], (list, tuple)):
        items = items[0]
    given = {f"data set {i}": item for i, item in enumerate(items, start=1)} | named
    kinds = {_kind(item) for item in given.values()}
    if "" in kinds:
        name, odd = next(pair for pair in given.items() if not _kind(pair[1]))
        raise ComparisonError(
            f"{name!r} is a {type(odd).__name__}, which is neither a comparison nor a "
            "test nor a p-value; compare(a, b) compares two results of cv(), and "
            "result.test() tests one."
        )
    if len(given) < 2:
        raise ComparisonError(
            f"meta_analysis() needs at least two data sets, not {len(given)}."
        )
    if len(kinds) > 1:
        raise ComparisonError(
            "meta_analysis() combines items of one kind, not "
            f"{' and '.join(sorted(kinds))}."
        )
    return given


def _kind(item: Any) -> str:
    if isinstance(item, Comparison):
        return "comparisons"
    if isinstance(item, HTest):
        return "tests"
    real = isinstance(item, (int, float, np.integer, np.floating))
    return "p-values" if real and not isinstance(item, bool) else ""


def set_row(name: str, item: Any, pair: tuple[str, str] | None) -> dict[str, Any]:
    """Return the numbers of a data set, with their label and side."""
    if isinstance(item, Comparison):
        return _of_comparison(name, item, pair)
    if pair is not None:
        raise ArgumentError(f"pair={pair!r} is for comparisons only.")
    if isinstance(item, HTest):
        return _of_test(item)
    empty = dict.fromkeys(NUMBERS, np.nan)
    return {**empty, "p": float(item), "label": "P-values", "side": BARE}


def _of_test(test: HTest) -> dict[str, Any]:
    difference = test.estimate - test.null
    scaled = test.statistic_name in ("t", "z") and test.statistic != 0
    se = difference / test.statistic if scaled else np.nan
    return {
        "difference": difference,
        "se": se if np.isfinite(se) and se > 0 else np.nan,
        "lower": test.lower - test.null,
        "upper": test.upper - test.null,
        "statistic": test.statistic,
        "p": test.p_value,
        "n": np.nan,
        "label": f"{test.label} minus its null value",
        "side": test.alternative,
    }


def _of_comparison(
    name: str, item: Comparison, pair: tuple[str, str] | None
) -> dict[str, Any]:
    table = item.differences
    if pair is not None:
        if not is_list(pair) or len(pair) != 2:
            raise ArgumentError(f"pair must name two results, not {described(pair)}.")
        first, second = pair
        for one in pair:
            if one not in item.results:
                raise ComparisonError(
                    f"{name!r} has no result {one!r}; it has {', '.join(item.results)}."
                    + suggestion(one, item.results)
                )
        table = table[(table["first"] == first) & (table["second"] == second)]
        if table.empty:
            raise ComparisonError(
                f"{name!r} does not compare {second!r} with {first!r}, in that order."
            )
    if len(table) > 1:
        pairs = ", ".join(f"({r.first!r}, {r.second!r})" for r in table.itertuples())
        raise ComparisonError(
            f"{name!r} compares several pairs; choose one with pair=: {pairs}."
        )
    row = table.iloc[0]
    label = f"Differences of {item.stated}, {row['second']} − {row['first']}"
    numbers = {key: row[key] for key in NUMBERS if key in row}
    n = float(len(held_out(next(iter(item.contrasts.results.values())))))
    return {**numbers, "n": n, "label": label, "side": "two-sided"}


def common_text(what: str, texts: dict[str, str]) -> str:
    """Return the text that all data sets share; refuse data sets that differ in it."""
    (first, text), *others = texts.items()
    for name, other in others:
        if other != text:
            raise ComparisonError(
                f"{first!r} and {name!r} do not have the same {what}: {text}; {other}. "
                "Every data set must compare the same two models, in the same order "
                "and under the same names, by the same metric and the same how=."
            )
    return text


def shared_records(sets: dict[str, Any]) -> list[str]:
    """Say which comparisons use the same records."""
    compared = [pair for pair in sets.items() if isinstance(pair[1], Comparison)]
    same = [
        f"{a!r} and {b!r}"
        for (a, x), (b, y) in combinations(compared, 2)
        if _same(x, y)
    ]
    if not same:
        return []
    return [
        f"Caveat: {', '.join(same)} use the same records, hence are not independent."
    ]


def _same(a: Comparison, b: Comparison) -> bool:
    x, y = (next(iter(one.contrasts.results.values())) for one in (a, b))
    return held_out(x).equals(held_out(y)) and np.array_equal(x.design.y, y.design.y)
