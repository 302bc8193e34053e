"""A metric corrected for optimism, and a table of several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from statcv.inference.intervals.interval import Interval
from statcv.tables import Table, shown_frame


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
        return str(_table([self]))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return _table([self])._repr_html_()

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
        return _table(list(self.values()))

    @property
    def shown(self) -> pd.DataFrame:
        """The table as text, rounded for reading."""
        return shown_frame(_table(list(self.values())))

    def __str__(self) -> str:
        return str(_table(list(self.values())))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return _table(list(self.values()))._repr_html_()


def _table(corrected: Sequence[OptimismCorrected]) -> Table:
    """Return one row per metric, with the intervals' methods in the note."""
    table = pd.DataFrame(
        {
            "apparent": [one.apparent for one in corrected],
            "optimism": [one.optimism for one in corrected],
            "corrected": [one.value for one in corrected],
            "lower": [one.lower for one in corrected],
            "upper": [one.upper for one in corrected],
            "n": [one.n_boot - one.n_undefined for one in corrected],
        },
        index=pd.Index([one.metric for one in corrected], name="metric"),
    )
    if not corrected:
        return Table(table, "No metric was corrected for optimism.")
    methods = list(dict.fromkeys(_way(one) for one in corrected))
    return Table(
        table,
        f"Corrected for optimism by {corrected[0].n_boot} bootstrap samples",
        ["apparent", "optimism", "corrected", "n"],
        limits={"corrected": ("lower", "upper")},
        alike=("apparent", "optimism"),
        level=corrected[0].level,
        words={one.metric: one.label for one in corrected},
        note=f"Intervals: {', '.join(methods)}.",
    )


def _way(one: OptimismCorrected) -> str:
    """Return the method of an interval, or why it is not available."""
    return (
        one.method if one.method != "none" else f"none for {one.label}: {one.assumes}"
    )
