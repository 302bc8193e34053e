"""Comparisons of results over the same imputed data sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from statcv.arguments import check_types
from statcv.errors import ComparisonError
from statcv.inference.paired.pooled_contrasts import PooledContrasts
from statcv.results.comparison.comparison import make_comparison
from statcv.results.comparison.text import short_comparison, summarise_comparison
from statcv.results.pooling import Pooled
from statcv.results.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class PooledComparison:
    """Pairwise comparisons of results over the same imputed data sets.

    It is returned by :func:`statcv.compare` for pooled results. Each imputation is
    compared by itself, and the differences are pooled by Rubin's rules.

    Attributes
    ----------
    contrasts : PooledContrasts
        The pooled estimates and differences.
    adjust : {"holm", "bh", "none"}
        The adjusted p-values that the summary shows.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> filled = [df.assign(GPA=df["GPA"].where(df.index != 4, g)) for g in (2, 3, 4)]
    >>> a, b = (
    ...     scv.pool(scv.cv(f, data, seed=1) for data in filled)
    ...     for f in ("GRADE ~ GPA", "GRADE ~ GPA + PSI")
    ... )
    >>> scv.compare(small=a, large=b, metric="brier").differences["p"].round(2).tolist()
    [0.88]
    """

    contrasts: PooledContrasts
    adjust: str = "holm"

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""
        return self.contrasts.level

    @property
    def table(self) -> pd.DataFrame:
        """One row per pooled result: estimate with interval."""
        return self.contrasts.table

    @property
    def differences(self) -> pd.DataFrame:
        """One row per pair, as in a comparison of results.

        The further columns are those of the pooled difference: ``within_se``,
        ``between_sd``, ``df`` and ``fraction_missing``.
        """
        return self.contrasts.differences

    def summary(self, digits: int | None = None, notes: bool = False) -> Summary:
        """Return the comparison as tables with notes, as that of single results.

        Parameters
        ----------
        digits, notes
            As in the summary of a comparison.
        """
        check_types(PooledComparison.summary, locals())
        return summarise_comparison(
            self.contrasts, self.adjust, "", digits, notes=notes, further=[self._over]
        )

    @property
    def _over(self) -> str:
        m = len(self.contrasts.each)
        return f"Differences are pooled over {m} imputations by Rubin's rules."

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw all differences with their intervals.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; new axes unless given.
        """
        from statcv.plots import plot_forest

        compared: Any = self
        return plot_forest(compared, ax=ax)

    def __repr__(self) -> str:
        return short_comparison(self.contrasts, self.adjust)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def compare_pooled(
    pools: Mapping[str, Any], adjust: str, test: str | None, **options: Any
) -> PooledComparison:
    """Compare pooled results within each imputation, and pool the differences.

    Parameters
    ----------
    pools : dict of str to Pooled
    adjust, test, **options
        Arguments of :func:`statcv.compare`.

    Raises
    ------
    ComparisonError
        If a result is not pooled, the numbers of imputations differ, or the test has no
        standard error.
    """
    for name, one in pools.items():
        if not isinstance(one, Pooled):
            raise ComparisonError(
                f"{name!r} is a {type(one).__name__}, and others are pooled; give "
                "pool() its results in all imputed data sets."
            )
    counts = {name: len(one.results) for name, one in pools.items()}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{name} {m}" for name, m in counts.items())
        raise ComparisonError(
            f"the numbers of imputations differ ({said}); pool results in the same "
            "imputed data sets, in the same order."
        )
    if test == "permutation":
        raise ComparisonError(
            "test='permutation' has no standard error, which Rubin's rules need; omit "
            "test= for the default."
        )
    each = [
        make_comparison(
            {name: one.results[k] for name, one in pools.items()},
            adjust=adjust,
            test=test,
            **options,
        ).contrasts
        for k in range(max(counts.values()))
    ]
    return PooledComparison(PooledContrasts.of(each), adjust)
