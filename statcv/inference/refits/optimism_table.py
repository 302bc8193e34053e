"""A metric corrected for optimism, and a table of several."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from statcv.inference.intervals.interval import Interval


@dataclass(frozen=True, repr=False)
class OptimismCorrected:
    """A metric corrected for optimism; ``float()`` gives the corrected value.

    Attributes
    ----------
    metric, label : str
    apparent : float
        Metric of the fit to all records, on those same records.
    optimism : float
        Mean over bootstrap samples of the metric of a sample's fit on the sample,
        minus that on all records.
    value : float
        Apparent value minus the optimism.
    lower, upper, se, level : float
        Bounds of the interval, its standard error and confidence level.
    method, assumes : str
        Name of the interval, and what it assumes.
    n_boot, n_undefined : int
        Number of bootstrap samples, and of those in which the metric has no value.
    optimism_se : float
        Monte Carlo standard error of the optimism.

    Examples
    --------
    >>> import statcv as scv
    >>> data, ridge = scv.load_data("spector"), scv.models.Logit(C=1.0)
    >>> res = scv.cv("GRADE ~ GPA + PSI", data, model=ridge, k=4, seed=1)
    >>> one = res.optimism_corrected("auroc", n_boot=50, seed=1)
    >>> round(one.apparent, 3), round(one.optimism, 3), round(float(one), 3)
    (0.879, 0.025, 0.853)
    """

    metric: str
    label: str
    apparent: float
    optimism: float
    value: float
    lower: float
    upper: float
    se: float
    level: float
    method: str
    assumes: str
    n_boot: int
    n_undefined: int
    optimism_se: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return _printed([self])

    def __repr__(self) -> str:
        return str(self)

    @property
    def interval(self) -> Interval:
        """The interval alone."""
        return Interval(self.lower, self.upper, self.se, self.method, self.assumes)


class OptimismTable(Mapping[str, OptimismCorrected]):
    """Several metrics corrected for optimism by the same bootstrap samples.

    Printed, it has one row per metric, with the columns of ``rms::validate`` and an
    interval.

    Parameters
    ----------
    corrected : sequence of OptimismCorrected
    """

    def __init__(self, corrected: Sequence[OptimismCorrected]) -> None:
        self._by_name = {one.metric: one for one in corrected}

    def __getitem__(self, metric: str) -> OptimismCorrected:
        return self._by_name[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric: apparent, optimism, corrected, limits, n."""
        return pd.DataFrame(
            {
                "apparent": [one.apparent for one in self.values()],
                "optimism": [one.optimism for one in self.values()],
                "corrected": [one.value for one in self.values()],
                "lower": [one.lower for one in self.values()],
                "upper": [one.upper for one in self.values()],
                "n": [one.n_boot - one.n_undefined for one in self.values()],
            },
            index=pd.Index(list(self), name="metric"),
        )

    @property
    def shown(self) -> pd.DataFrame:
        """The table as text, rounded for reading."""
        return _shown(list(self.values()))

    def __str__(self) -> str:
        return _printed(list(self.values()))

    def __repr__(self) -> str:
        return str(self)


def _shown(corrected: Sequence[OptimismCorrected]) -> pd.DataFrame:
    """Return a table of corrected metrics, as text."""
    first = corrected[0]

    def stated(value: float) -> str:
        return "–" if math.isnan(value) else f"{value:.3f}"

    return pd.DataFrame(
        {
            "apparent": [stated(one.apparent) for one in corrected],
            "optimism": [stated(one.optimism) for one in corrected],
            "corrected": [stated(one.value) for one in corrected],
            f"{100 * first.level:g}% interval": [
                "–"
                if math.isnan(one.lower)
                else f"{stated(one.lower)} to {stated(one.upper)}"
                for one in corrected
            ],
            "n": [str(one.n_boot - one.n_undefined) for one in corrected],
        },
        index=[one.label for one in corrected],
    )


def _way(one: OptimismCorrected) -> str:
    """Return the method of an interval, or why it is not available."""
    return (
        one.method if one.method != "none" else f"none for {one.label}: {one.assumes}"
    )


def _printed(corrected: Sequence[OptimismCorrected]) -> str:
    """Return a table of corrected metrics with its caption, as text."""
    if not corrected:
        return "No metric was corrected for optimism."
    methods = list(dict.fromkeys(_way(one) for one in corrected))
    caption = f"Corrected for optimism by {corrected[0].n_boot} bootstrap samples"
    intervals = textwrap.fill(f"Intervals: {', '.join(methods)}", 79)
    return f"{caption}\n\n{_shown(corrected).to_string()}\n\n{intervals}"
