"""Comparisons of results over the same imputed data sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statcv.arguments import one_of
from statcv.errors import ComparisonError
from statcv.inference.paired.imputations import PooledContrasts
from statcv.metrics import Metric
from statcv.results.comparison.comparison import Comparison, make_comparison
from statcv.results.comparison.likelihood_ratio import LikelihoodRatio
from statcv.results.pooling import Pooled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PooledComparison(Comparison):
    """Pairwise comparisons of results over the same imputed data sets.

    It is returned by :func:`statcv.compare` for pooled results. Each imputation is
    compared by itself, and the differences are pooled by Rubin's rules.

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
    [0.87]
    """

    @property
    def likelihood_ratios(self) -> list[LikelihoodRatio]:
        """No tests: likelihood ratios are not pooled."""
        return []

    def report(self, path: str | Path, *, style: str | None = None) -> Path:
        """Write the tables and the forest plot of the comparison as a report.

        Parameters
        ----------
        path : str or path
            File to write, as in :meth:`statcv.results.result.CVResult.report`.
        style : None
            No guideline is for results over imputations.
        """
        from statcv.report import check_path, pooled_comparison_report, write_report

        if style is not None:
            raise ComparisonError(
                f"style={style!r} is for results of one data set, such as "
                "res.imputations[0]; omit it."
            )
        check_path(path)
        return write_report(pooled_comparison_report(self), path)

    def plot(
        self, kind: str | None = None, ax: Axes | None = None, **options: Any
    ) -> Axes:
        """Draw all differences with their intervals: ``kind="forest"``.

        Parameters
        ----------
        kind, ax, **options
            As in the plot of a comparison.
        """
        one_of("forest" if kind is None else kind, ("forest",), "kind")
        return super().plot("forest", ax, **options)


def compare_pooled(
    pools: Mapping[str, Any], metric: str | Metric | None, level: float, **options: Any
) -> Comparison:
    """Compare pooled results within each imputation, and pool the differences.

    Parameters
    ----------
    pools : dict of str to Pooled
    metric, level, **options
        Arguments of :func:`statcv.compare`.

    Raises
    ------
    ComparisonError
        If a result is not pooled, the numbers of imputations differ, or the test has no
        standard error.
    """
    odd = [name for name, one in pools.items() if not isinstance(one, Pooled)]
    if odd:
        raise ComparisonError(
            f"{odd[0]!r} is a {type(pools[odd[0]]).__name__}, and others are pooled; "
            "give pool() its results in all imputed data sets."
        )
    counts = {name: len(one.imputations) for name, one in pools.items()}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{name} {m}" for name, m in counts.items())
        raise ComparisonError(
            f"the numbers of imputations differ ({said}); pool results in the same "
            "imputed data sets, in the same order."
        )
    if options["test"] == "permutation":
        raise ComparisonError(
            "test='permutation' has no standard error, which Rubin's rules need; omit "
            "test= for the default."
        )
    every = zip(*(one.imputations for one in pools.values()), strict=True)
    named = (dict(zip(pools, one, strict=True)) for one in every)
    each = [make_comparison(one, metric, level, **options) for one in named]
    contrasts = PooledContrasts.of([one.contrasts for one in each])
    asked = replace(each[0].asked, names=tuple(pools))
    over = f"pooled over {len(each)} imputations"
    return PooledComparison(pools, contrasts, asked, each[0].adjust, over)
