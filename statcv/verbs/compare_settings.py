"""Comparison of two methods over hyperparameters, balances or data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

import numpy as np
import pandas as pd

from statcv.arguments import check_types
from statcv.errors import ArgumentError, ComparisonError
from statcv.inference import Estimate
from statcv.inference.tests.signed_rank import SignedRank, signed_rank
from statcv.results.result import CVResult
from statcv.results.summary import Summarised, Summary
from statcv.results.wording.phrases import noted
from statcv.tables import Table, number
from statcv.words import p_value, percent, sentence

SIDES = {"greater": "greater than", "less": "less than"}


@dataclass(frozen=True, eq=False, repr=False)
class SettingsComparison(Summarised):
    """Comparison of two methods over settings by Wilcoxon's signed-rank test.

    It is returned by :func:`statcv.compare_settings`.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per setting: the value of each method, and the difference, second minus
        first.
    test : SignedRank
        The test, with ``statistic``, ``p_value``, and the Hodges–Lehmann ``median`` of
        the differences with its interval.
    label : str
        Name of the values that were compared.
    zeros : str
        Treatment of differences of 0.

    Examples
    --------
    >>> import statcv as scv
    >>> a, b = [0.71, 0.64, 0.80, 0.77, 0.69], [0.74, 0.66, 0.79, 0.83, 0.73]
    >>> both = scv.compare_settings(loocv=a, rloocv=b)
    >>> both.test.statistic, round(both.test.p_value, 3)
    (14.0, 0.125)
    """

    table: pd.DataFrame
    test: SignedRank
    label: str
    zeros: str

    def summary(self) -> Summary:
        """Return the comparison as tables with notes."""
        first, second, _ = self.table.columns
        test, table = self.test, self.table
        se = (test.upper - test.lower) / 4
        shown = pd.DataFrame(table).map(number, se=se)
        caption = f"{second} − {first}"
        exactness = "exact" if test.exact else "normal approximation"
        side = SIDES.get(test.alternative, "not equal to")
        numbers = test.median, test.lower, test.upper, test.statistic, test.p_value
        names = ["median", "lower", "upper", "V", "p"]
        found = pd.DataFrame([numbers], [caption], names)
        interval = f"{number(test.lower, se)} to {number(test.upper, se)}"
        said = {
            "median": number(test.median, se),
            f"{percent(test.level)} interval": "–" if np.isnan(se) else interval,
            "V": "–" if np.isnan(test.statistic) else f"{test.statistic:g}",
            "p": p_value(test.p_value),
        }
        return Summary(
            title=f"Comparison of {self.label} over {test.n} settings",
            facts=(
                ("test", f"Wilcoxon signed-rank, {exactness}"),
                ("alternative", f"{caption} is {side} 0"),
            ),
            tables={"Settings": table, "Test": found},
            shown={"Settings": shown, "Test": pd.DataFrame(said, [caption])},
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        test, told = self.test, noted("settings")
        zeros = noted("differences of 0", test=test, zeros=self.zeros)
        reason = sentence(test.reason) if test.reason else ""
        return tuple(filter(None, (zeros * bool(test.n_zero), reason, told)))


def compare_settings(
    *ways: Any,
    metric: Any = None,
    how: str | None = None,
    alternative: str = "two-sided",
    zeros: str = "pratt",
    level: float = 0.95,
    **named: Any,
) -> SettingsComparison:
    """Compare two methods over settings by Wilcoxon's signed-rank test.

    Examples are two schemes over values of a hyperparameter, or two models over data
    sets: each setting gives one value for each method.

    Parameters
    ----------
    *ways, **named : mapping, series or sequence
        The two methods, as in ``compare_settings(loocv=…, rloocv=…)``; differences are
        second minus first. Each holds numbers, estimates or results, one per setting:
        mappings and series are matched by their keys, sequences by their order.
    metric, how : str, optional
        The estimate used for results, as in ``result.estimate``.
    alternative : {"two-sided", "greater", "less"}
        The alternative hypothesis on the centre of the differences, relative to 0.
    zeros : {"pratt", "wilcox"}
        Treatment of differences of 0: excluded after or before ranking.
    level : float, default 0.95
        Confidence level of the interval for the centre.

    Returns
    -------
    SettingsComparison
        The p-value is exact for up to 200 settings, even with ties and zeros.

    Raises
    ------
    ComparisonError
        If there are not two methods, or their settings differ.

    References
    ----------
    Wilcoxon (1945), Biometrics Bulletin 1:80; Pratt (1959), JASA 54:655; Demšar (2006),
    J. Mach. Learn. Res. 7:1 (over data sets); Austin, Pe'er & Korem (2024), Fig. 5c.

    Examples
    --------
    >>> import statcv as scv
    >>> scv.compare_settings([0.61, 0.68, 0.70], [0.69, 0.71, 0.705]).test.p_value
    0.25
    """
    check_types(compare_settings, locals())
    given = dict(zip(("first", "second"), ways, strict=False)) | named
    if len(ways) + len(named) != 2 or len(given) != 2:
        raise ComparisonError(
            f"compare_settings() compares two methods, not {len(ways) + len(named)}: "
            "compare_settings(loocv=…, rloocv=…)."
        )
    (first, a), (second, b) = (
        (name, _by_setting(name, way, metric, how)) for name, way in given.items()
    )
    if set(a) != set(b):
        odd = next(key for key in (*a, *b) if (key in a) != (key in b))
        raise ComparisonError(
            f"{first!r} and {second!r} do not have the same settings: {odd!r} "
            "occurs in only one."
        )
    columns = {first: map(float, a.values()), second: (float(b[key]) for key in a)}
    table = pd.DataFrame({name: list(c) for name, c in columns.items()}, index=list(a))
    table["difference"] = table[second] - table[first]
    options: dict[str, Any] = {"alternative": alternative, "zeros": zeros}
    test = signed_rank(table["difference"].to_numpy(), level=level, **options)
    label = str(getattr(next(iter(a.values()), None), "label", "numbers"))
    caption = "Both methods by setting, and their difference"
    table = Table(table, caption, alike=tuple(table), indexed=True)
    return SettingsComparison(table, test, label, zeros)


def _by_setting(
    name: str, way: Any, metric: Any, how: str | None
) -> dict[Any, SupportsFloat]:
    """Return the number, or the estimate, for each setting."""
    if isinstance(way, pd.Series) and not way.index.is_unique:
        raise ComparisonError(f"a setting occurs more than once in {name!r}.")
    named = isinstance(way, (Mapping, pd.Series))
    listed = isinstance(way, (Sequence, np.ndarray)) and not isinstance(way, str)
    if not (named or listed):
        kind = type(way).__name__
        raise ComparisonError(
            f"{name!r} is a {kind}; give one number or result per setting, in a "
            "mapping or a list."
        )
    items = dict(way.items() if named else enumerate(way, start=1))
    return {key: _number(value, key, metric, how) for key, value in items.items()}


def _number(value: Any, setting: Any, metric: Any, how: str | None) -> SupportsFloat:
    if isinstance(value, CVResult):
        return value.estimate(metric, how)
    if metric is not None or how is not None:
        raise ArgumentError(
            f"metric= and how= are for results, but the value for the setting "
            f"{setting!r} is {value!r}."
        )
    if isinstance(value, Estimate):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ComparisonError(
            f"the value for the setting {setting!r} is {value!r}, which is neither a "
            "number nor a result."
        ) from None
