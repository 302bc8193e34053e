"""Comparisons on several data sets as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from statcv.errors import ArgumentError
from statcv.inference.meta.combination import CombinedP, fisher, one_sided, stouffer
from statcv.inference.meta.effects import RandomEffects, random_effects
from statcv.inference.tests.htest import check_alternative
from statcv.results.comparison.rows import (
    BARE,
    NUMBERS,
    alike,
    named_sets,
    set_row,
    shared_records,
)
from statcv.results.summary import Summary, number, p_value

Floats = NDArray[np.float64]
INDEPENDENT = (
    "Combined p-values take the data sets as independent of each other: they may not "
    "share records."
)
IGNORED = (
    "Two-sided p-values are combined by Fisher's method without regard to direction: "
    "effects of opposite signs add up. alternative='greater' or 'less' heeds it."
)
UNKNOWN = "Of bare p-values no direction is known: they are combined as they are."
NULL = (
    "A small combined p says that the null hypothesis is false in one data set or "
    "more, not that the difference is the same in all."
)


@dataclass(frozen=True, eq=False)
class Combination:
    """Comparisons on several data sets, and what they say together.

    Made by :func:`statcv.meta_analysis`.

    Attributes
    ----------
    table : pandas.DataFrame
        A row a data set: difference, standard error, interval, statistic, two-sided
        p-value, the p-value that is combined, and the number of records.
    tests : tuple of CombinedP
        Fisher's and Stouffer's.
    pooled : RandomEffects or None
        The mean difference over data sets; None where there are p-values alone.
    alternative : str
    label : str
        Of what is compared.
    notes : tuple of str
    """

    table: pd.DataFrame
    tests: tuple[CombinedP, ...]
    pooled: RandomEffects | None
    alternative: str
    label: str
    notes: tuple[str, ...]

    @property
    def combined(self) -> pd.DataFrame:
        """A row a method: statistic, degrees of freedom, p-value."""
        return pd.DataFrame(
            [
                {
                    "method": t.method,
                    "statistic": t.statistic,
                    "df": t.df,
                    "p": t.p_value,
                }
                for t in self.tests
            ]
        ).set_index("method")

    def summary(self) -> Summary:
        """Return what was combined as tables with notes."""
        tables = {"Data sets": self.table, "Combined p-values": self.combined}
        shown = {
            "Data sets": _shown_sets(self.table, self.alternative),
            "Combined p-values": _shown_tests(self.tests),
        }
        notes = [t.reason for t in self.tests if t.reason]
        if self.pooled is not None:
            caption = f"Mean difference over data sets ({self.pooled.method})"
            tables[caption] = _pooled_table(self.pooled)
            shown[caption] = _shown_pooled(self.pooled)
            notes += [self.pooled.reason] if self.pooled.reason else []
        told = [f"{text[0].upper()}{text[1:]}." for text in dict.fromkeys(notes)]
        return Summary(
            title=f"{self.label} over {len(self.table)} data sets",
            facts=(("alternative", self.alternative),),
            tables=tables,
            shown=shown,
            notes=(*told, *self.notes, INDEPENDENT, NULL),
        )

    def __repr__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


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

    By Fisher's and by Stouffer's method; and where they have standard errors, the
    mean difference over data sets by a random-effects model, with how far the data
    sets differ.

    Parameters
    ----------
    *items, **named : Comparison, HTest or float
        One a data set, all of one kind; ``meta_analysis(cfs=a, ptb=b)`` names them. A
        test that is one-sided counts as the p-value that it has.
    alternative : {"two-sided", "greater", "less"}
        Of the difference, second less first: ``"greater"`` turns each p-value into
        that of its own side. Two-sided, Fisher's method ignores direction, and
        Stouffer's adds up signed deviates, where effects of opposite sign cancel.
    weights : {"sqrt_n"} or array_like, optional
        Of Stouffer's deviates: the root of the number of records, or numbers in the
        order of the data sets; equal where not given.
    pair : (str, str), optional
        Which results are compared (first, second), where a comparison has several
        pairs.
    method : {"REML", "DL"}
        Of the random-effects model; see :func:`statcv.inference.random_effects`.
    level : float, default 0.95
        Of its intervals.

    Returns
    -------
    Combination

    Raises
    ------
    ComparisonError
        If there are fewer than two, they are of different kinds or metrics, or one
        compares several pairs and none is named.

    References
    ----------
    Fisher (1932); Stouffer et al. (1949); DerSimonian & Laird (1986), Controlled
    Clinical Trials 7:177.

    Examples
    --------
    >>> import statcv as scv
    >>> p = {"ptb": 0.38976, "xgboost": 0.12437, "boost": 0.04829, "irae": 0.03233}
    >>> found = scv.meta_analysis(**p)
    >>> found.combined["p"].round(5).to_dict()
    {'Fisher': 0.01498, 'Stouffer': 0.00673}
    """
    check_alternative(alternative)
    sets = named_sets(items, named)
    rows = {name: set_row(name, item, pair) for name, item in sets.items()}
    table = pd.DataFrame.from_dict(
        {name: {key: row[key] for key in NUMBERS} for name, row in rows.items()},
        orient="index",
        dtype=float,
    )
    label = alike("the same thing", {name: row["label"] for name, row in rows.items()})
    side = alike("the same side", {name: row["side"] for name, row in rows.items()})
    wanted = _side(side, alternative)
    p, direction = table["p"].to_numpy(), table["difference"].to_numpy()
    scale, signed = _weights(weights, table), side == "two-sided"
    together = stouffer(
        p,
        direction=direction if signed else None,
        alternative=wanted if signed else "two-sided",
        weights=scale,
    )
    if signed and wanted != "two-sided":
        p = one_sided(p, direction, wanted)
    table.insert(list(table.columns).index("p") + 1, "p_combined", p)
    notes = [IGNORED] if signed and wanted == "two-sided" else []
    return Combination(
        table=table,
        tests=(fisher(p), together),
        pooled=_pooled(table, level, method),
        alternative=wanted,
        label=label,
        notes=(*shared_records(sets), *notes, *([UNKNOWN] if side == BARE else [])),
    )


def _side(side: str, alternative: str) -> str:
    """Return the side of the combined p-values."""
    if side == "two-sided":
        return alternative
    if alternative not in ("two-sided", side):
        what = "bare p-values have none" if side == BARE else f"these tests are {side}"
        raise ArgumentError(
            f"alternative={alternative!r} needs two-sided tests, which can be turned "
            f"to a side, but {what}; leave it out to combine the p-values as they are."
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
                "weights='sqrt_n' needs comparisons, which know their records; give "
                "numbers."
            )
        weights = np.sqrt(table["n"].to_numpy(dtype=float))
    return np.asarray(weights, dtype=float)


def _pooled(table: pd.DataFrame, level: float, method: str) -> RandomEffects | None:
    if table["se"].isna().all():
        return None
    return random_effects(table["difference"], table["se"], level, method=method)


# ---- rounded tables ----


def _shown_sets(table: pd.DataFrame, alternative: str) -> pd.DataFrame:
    columns: dict[str, list[str]] = {}
    if table["difference"].notna().any():
        se = table["se"].to_numpy()
        for name in ("difference", "se", "lower", "upper"):
            if table[name].notna().any():
                columns[name] = [
                    number(v, s) for v, s in zip(table[name], se, strict=True)
                ]
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


def _pooled_table(pooled: RandomEffects) -> pd.DataFrame:
    names = ("estimate", "se", "lower", "upper", "prediction_lower", "prediction_upper")
    more = ("tau2", "i2", "q", "p_heterogeneity")
    return pd.DataFrame([{name: getattr(pooled, name) for name in (*names, *more)}])


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
            f"{pooled.level:.0%} interval": [between(pooled.lower, pooled.upper)],
            "prediction interval": [predicted],
            "tau": [number(float(np.sqrt(pooled.tau2)), se)],
            "I²": ["–" if np.isnan(pooled.i2) else f"{pooled.i2:.0%}"],
            "p (heterogeneity)": [p_value(pooled.p_heterogeneity)],
        },
        index=[""],
    )
