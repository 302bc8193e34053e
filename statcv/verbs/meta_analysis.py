"""Meta-analysis of comparisons on several data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import check_types, described, is_list, numbers
from statcv.errors import ArgumentError, ComparisonError, suggestion
from statcv.inference.meta.effects import (
    CombinedP,
    RandomEffects,
    fisher,
    one_sided,
    random_effects,
    stouffer,
)
from statcv.inference.paired.records import held_out
from statcv.inference.tests.htest import HTest, check_alternative
from statcv.numeric.arrays import ArrayLike, Floats
from statcv.results.comparison.comparison import Comparison
from statcv.results.summary import Summarised, Summary
from statcv.results.wording.phrases import noted
from statcv.tables import Table, number
from statcv.words import p_value, percent, sentence


@dataclass(frozen=True, eq=False, repr=False)
class Combination(Summarised):
    """Comparisons on several data sets, with their combined p-values and mean.

    It is returned by :func:`statcv.meta_analysis`.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per data set: difference, standard error, interval, statistic, two-sided
        p-value, the p-value that is combined, and the number of records.
    tests : tuple of CombinedP
        Fisher's and Stouffer's tests.
    pooled : RandomEffects or None
        The mean difference over data sets; None if only p-values are given.
    alternative : str
        Side of the combined p-values.
    label : str
        Name of the quantity that is compared.
    notes : tuple of str
        Remarks that the summary shows.

    Examples
    --------
    >>> import statcv as scv
    >>> both = scv.meta_analysis(a=0.04, b=0.10, c=0.30)
    >>> [(one.method, round(one.p_value, 3)) for one in both.tests]
    [('Fisher', 0.036), ('Stouffer', 0.02)]
    """

    table: pd.DataFrame
    tests: tuple[CombinedP, ...]
    pooled: RandomEffects | None
    alternative: str
    label: str
    notes: tuple[str, ...]

    @property
    def combined(self) -> pd.DataFrame:
        """One row per method: statistic, degrees of freedom, p-value."""
        methods = pd.Index([t.method for t in self.tests], name="method")
        numbers = [(t.statistic, t.df, t.p_value) for t in self.tests]
        table = pd.DataFrame(numbers, methods, ["statistic", "df", "p"])
        return Table(table, "p-values combined over data sets", p=("p",))

    def summary(self) -> Summary:
        """Return the data sets and their combination as tables with notes."""
        tables = {"Data sets": self.table, "Combined p-values": self.combined}
        shown = {
            "Data sets": _shown_sets(self.table, self.alternative),
            "Combined p-values": _shown_tests(self.tests),
        }
        notes = [t.reason for t in self.tests if t.reason]
        if self.pooled is not None:
            caption = f"Mean difference over data sets ({self.pooled.method})"
            numbers = {name: [getattr(self.pooled, name)] for name in OF_POOLED}
            tables[caption] = pd.DataFrame(numbers)
            shown[caption] = _shown_pooled(self.pooled)
            notes += [self.pooled.reason] if self.pooled.reason else []
        reasons = [sentence(text) for text in dict.fromkeys(notes)]
        return Summary(
            title=f"{self.label} over {len(self.table)} data sets",
            facts=(("alternative", self.alternative),),
            tables=tables,
            shown=shown,
            notes=(*reasons, *self.notes, noted("independent sets"), noted("any null")),
        )


def meta_analysis(
    *items: Any,
    alternative: str = "two-sided",
    weights: str | ArrayLike | None = None,
    pair: tuple[str, str] | None = None,
    method: str = "REML",
    level: float = 0.95,
    **named: Any,
) -> Combination:
    """Combine comparisons, tests or p-values of several data sets.

    P-values are combined by Fisher's and by Stouffer's method. If there are standard
    errors, a random-effects model also estimates the mean difference over data sets and
    the heterogeneity between them.

    Parameters
    ----------
    *items, **named : Comparison, HTest or float
        One item per data set, all of one kind; ``meta_analysis(cfs=a, ptb=b)`` names
        them. A one-sided test contributes its one-sided p-value.
    alternative : {"two-sided", "greater", "less"}
        The alternative hypothesis on the difference, second minus first. With
        ``"two-sided"``, Fisher's method ignores direction, and Stouffer's adds signed
        deviates, so that effects of opposite sign cancel.
    weights : {"sqrt_n"} or array_like, optional
        Weights of Stouffer's deviates: the square root of the number of records, or
        numbers in the order of the data sets; equal unless given.
    pair : (str, str), optional
        The results that are compared (first, second), required if a comparison has
        several pairs.
    method : {"REML", "DL"}
        Estimator of the random-effects model.
    level : float, default 0.95
        Confidence level of the intervals of the random-effects model.

    Returns
    -------
    Combination

    Raises
    ------
    ComparisonError
        If there are fewer than two items, they do not fit together, or ``pair`` is
        missing.

    References
    ----------
    Fisher (1932); Stouffer et al. (1949); DerSimonian & Laird (1986), Controlled
    Clinical Trials 7:177.

    Examples
    --------
    >>> import statcv as scv
    >>> found = scv.meta_analysis(ptb=0.38976, xgboost=0.12437, irae=0.03233)
    >>> found.combined["p"].round(3).to_dict()
    {'Fisher': 0.044, 'Stouffer': 0.029}
    """
    check_types(meta_analysis, locals())
    check_alternative(alternative)
    sets = named_sets(items, named)
    rows = pd.DataFrame(
        {name: set_row(name, one, pair) for name, one in sets.items()}
    ).T
    table = rows[list(NUMBERS)].astype(float)
    label, side = (
        common_text("quantity", rows["label"]),
        common_text("side", rows["side"]),
    )
    wanted = _side(side, alternative)
    p, direction = table["p"].to_numpy(), table["difference"].to_numpy()
    scale, signed = _weights(weights, table), side == "two-sided"
    by: dict[str, Any] = {"direction": direction, "alternative": wanted}
    together = stouffer(p, weights=scale, **(by if signed else {}))
    if signed and wanted != "two-sided":
        p = one_sided(p, direction, wanted)
    table.insert(list(table.columns).index("p") + 1, "p_combined", p)
    pooled = None
    if table["se"].notna().any():
        effects = table["difference"], table["se"]
        pooled = random_effects(*effects, level, method=method)
    notes = [noted("no direction")] * (signed and wanted == "two-sided")
    notes += [noted("bare p-values")] * (side == BARE)
    heads, limits = ["difference", "p", "n"], {"difference": ("lower", "upper")}
    caption = f"{label} of each data set"
    return Combination(
        table=Table(table, caption, heads, limits=limits, level=level, p=("p",)),
        tests=(fisher(p), together),
        pooled=pooled,
        alternative=wanted,
        label=label,
        notes=(*shared_records(sets), *notes),
    )


def _side(side: str, alternative: str) -> str:
    """Return the side of the combined p-values."""
    if side == "two-sided":
        return alternative
    if alternative not in ("two-sided", side):
        what = f"these tests are {side}"
        what = "bare p-values have no side" if side == BARE else what
        raise ArgumentError(
            f"alternative={alternative!r} needs two-sided tests, whose p-values can "
            f"be made one-sided, but {what}; omit it to combine the p-values unchanged."
        )
    return side


def _weights(weights: Any, table: pd.DataFrame) -> Floats | None:
    if weights is None:
        return None
    if isinstance(weights, str):
        if weights != "sqrt_n":
            raise ArgumentError(
                f"weights must be 'sqrt_n' or numbers, not {weights!r}."
            )
        if table["n"].isna().any():
            raise ArgumentError(
                "weights='sqrt_n' needs comparisons, whose numbers of records are "
                "known; otherwise give the weights as numbers."
            )
        weights = np.sqrt(table["n"].to_numpy(dtype=float))
    return numbers(weights, "weights")


# ---- rounded tables ----


def _shown_sets(table: pd.DataFrame, alternative: str) -> pd.DataFrame:
    columns: dict[str, list[str]] = {}
    if table["difference"].notna().any():
        se = table["se"].to_numpy()
        for name in ("difference", "se", "lower", "upper"):
            if table[name].notna().any():
                columns[name] = list(map(number, table[name], se))
    columns["p"] = [p_value(p) for p in table["p"]]
    if alternative in ("greater", "less"):
        columns[f"p ({alternative})"] = [p_value(p) for p in table["p_combined"]]
    if table["n"].notna().any():
        columns["n"] = [f"{n:.0f}" for n in table["n"]]
    return pd.DataFrame(columns, index=table.index)


def _shown_tests(tests: Sequence[CombinedP]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "statistic": [number(t.statistic) for t in tests],
            "df": ["–" if np.isnan(t.df) else f"{t.df:g}" for t in tests],
            "p": [p_value(t.p_value) for t in tests],
        },
        index=[t.method for t in tests],
    )


def _shown_pooled(pooled: RandomEffects) -> pd.DataFrame:
    se = pooled.se

    def between(lower: float, upper: float) -> str:
        if np.isnan(lower):
            return "–"
        return f"{number(lower, se)} to {number(upper, se)}"

    predicted = between(pooled.prediction_lower, pooled.prediction_upper)
    return pd.DataFrame(
        {
            "estimate": [number(pooled.estimate, se)],
            f"{percent(pooled.level)} interval": [between(pooled.lower, pooled.upper)],
            "prediction interval": [predicted],
            "tau": [number(float(np.sqrt(pooled.tau2)), se)],
            "I²": ["–" if np.isnan(pooled.i2) else f"{pooled.i2:.0%}"],
            "p (heterogeneity)": [p_value(pooled.p_heterogeneity)],
        },
        index=[""],
    )


# ---- what each data set contributes ----

BARE = "that of the p-values"
OF_POOLED = (
    *("estimate", "se", "lower", "upper", "prediction_lower", "prediction_upper"),
    *("tau2", "i2", "q", "p_heterogeneity"),
)
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
        difference = item.estimate - item.null
        scaled = item.statistic_name in ("t", "z") and item.statistic != 0
        se = difference / item.statistic if scaled else np.nan
        limits = item.lower - item.null, item.upper - item.null
        se = se if np.isfinite(se) and se > 0 else np.nan
        each = difference, se, *limits, item.statistic, item.p_value, np.nan
        label = f"{item.label} minus its null value"
        known = dict(zip(NUMBERS, each, strict=True))
        return {**known, "label": label, "side": item.alternative}
    empty = dict.fromkeys(NUMBERS, np.nan)
    return {**empty, "p": float(item), "label": "P-values", "side": BARE}


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


def common_text(what: str, texts: pd.Series[str]) -> str:
    """Return the text that all data sets share; refuse data sets that differ in it."""
    first, text = texts.index[0], str(texts.iloc[0])
    for name, other in texts.items():
        if other != text:
            raise ComparisonError(
                f"{first!r} and {name!r} do not have the same {what}: {text}; {other}. "
                "Every data set must compare the same two models, in the same order "
                "and under the same names, by the same metric and the same how=."
            )
    return text


def shared_records(sets: dict[str, Any]) -> list[str]:
    """Say which comparisons use the same records."""
    compared = [
        (name, next(iter(one.contrasts.results.values())))
        for name, one in sets.items()
        if isinstance(one, Comparison)
    ]
    same = [
        f"{a!r} and {b!r}"
        for (a, x), (b, y) in combinations(compared, 2)
        if held_out(x).equals(held_out(y)) and np.array_equal(x.design.y, y.design.y)
    ]
    said = f"Caveat: {', '.join(same)} use the same records, hence are not independent."
    return [said] if same else []
