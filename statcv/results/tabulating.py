"""The metrics of a result: in tables, by groups, and beside the training records."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import resolve_seed
from statcv.errors import ArgumentError, UndefinedMetricWarning, warn
from statcv.formula import as_frame
from statcv.formula.frame import row_values
from statcv.inference import RandomEffects, join_values, joined_groups
from statcv.inference.refits.optimism import OptimismCorrected, optimism_corrected
from statcv.metrics import Metric
from statcv.results.estimating import Estimating
from statcv.results.tables import group_table, metric_row


class Tabulating(Estimating):
    """Tables of the metrics of a result, which has the predictions."""

    def metrics(self, level: float = 0.95, *, by: Any = None) -> pd.DataFrame:
        """Return every metric in all the ways that exist, a row a metric.

        Columns ``metric``, ``how`` and ``estimate`` (the headline) with ``lower`` and
        ``upper``; ``no_skill``, the value without skill; ``pooled`` with its
        Monte Carlo sd over repeats; ``per_fold`` with the sd over folds, the number
        of folds and of those without a value;
        ``paired``, for auROC (of several classes Hand and Till's), concordance and the
        calibration slope, with its Monte Carlo sd, which a sample of pairs tells of
        itself; ``boot632`` and ``boot632plus``, for bootstrap samples alone.

        Parameters
        ----------
        level : float, default 0.95
            Of the intervals.
        by : str or array-like, optional
            A column of the data, or a value a row of it: then a row a metric and
            group, of the records in the group alone. By the column that made the folds
            this is internal-external validation; :meth:`heterogeneity` joins the
            groups.

        Warns
        -----
        UndefinedMetricWarning
            If a metric has no value, with the count.
        """
        if by is not None:
            return group_table(
                self.scores, self.chosen_metrics, self._groups(by), _named(by), level
            )
        rows = []
        for metric, plain in zip(
            self.chosen_metrics, self.without_predictors, strict=True
        ):
            headline = self._estimate(metric, level=level)
            row = metric_row(self.scores, metric, headline, plain.value)
            if self._bootstrapped:
                parts = join_values(
                    self.scores, metric, self._fitted, self._full_threshold
                )
                row |= {"boot632": parts.plain, "boot632plus": parts.plus}
            rows.append(row)
        table = pd.DataFrame(rows)
        undefined = table.loc[table["estimate"].isna(), "metric"]
        if not self._asked and self.scores.probabilities:  # that of the headline alone
            undefined = undefined.iloc[:1][undefined.iloc[:1].index == 0]
        if len(undefined):
            warn(
                f"{len(undefined)} of {len(table)} metrics have no value "
                f"({', '.join(undefined)}): the predictions do not admit them.",
                UndefinedMetricWarning,
            )
        return table

    @property
    def _asked(self) -> bool:
        """Whether the caller named the metrics."""
        return self.call.arguments.get("metrics") is not None

    def heterogeneity(
        self, metric: str | Metric | None = None, *, by: Any, level: float = 0.95
    ) -> RandomEffects:
        """Join a metric's estimates in groups, and say how much they differ.

        By random effects (REML, with the interval of Hartung and Knapp), as in
        internal-external validation by the held-out site; shares such as auROC on the
        logit scale.

        Parameters
        ----------
        metric : str, optional
            The headline's where not given.
        by : str or array-like
            As :meth:`metrics` takes it.
        level : float, default 0.95
            Of the intervals.

        Returns
        -------
        RandomEffects
            Estimate with interval, ``tau2``, ``i2``, the test of heterogeneity, and
            the prediction interval of another group.

        References
        ----------
        Snell, Ensor, Debray, Moons & Riley (2018), Stat. Methods Med. Res. 27:3505.
        """
        chosen = self._metric(metric)
        groups = self._groups(by)
        table = group_table(self.scores, (chosen,), groups, _named(by), level)
        values, ses = table["estimate"].to_numpy(), table["se"].to_numpy()
        return joined_groups(values, ses, chosen, level)

    def _groups(self, by: Any) -> pd.Series[Any]:
        """Return the group of each record."""
        table = as_frame(self.call.arguments["data"])
        groups = row_values(by, table, "by")
        row = self.call.arguments.get("row")
        if row is not None and groups.groupby(table[row]).nunique().gt(1).any():
            raise ArgumentError(
                f"by={_named(by)!r} differs among the rows of a record, but a record "
                "is in one group."
            )
        groups = groups.iloc[self.design.kept]
        absent = int(groups.isna().sum())
        if absent:
            raise ArgumentError(
                f"by={_named(by)!r} is missing in {absent} rows; fill them, or leave "
                "those rows out of the data."
            )
        return groups

    @cached_property
    def apparent(self) -> pd.Series[float]:
        """The metrics of the fit on all rows, on those same rows: optimistic."""
        y = self.design.y
        baseline = np.full(len(y), y.mean()) if not self.design.outcome.levels else None
        values = {}
        for metric in self.chosen_metrics:
            read = metric.readable(self._fitted, self.held.probabilities)
            values[metric.name] = metric(y, read, baseline, self._full_threshold)
        return pd.Series(values, name="apparent", dtype=float)

    @property
    def optimism(self) -> pd.Series[float]:
        """Apparent less cross-validated, metric by metric."""
        table = self.metrics().set_index("metric")["estimate"]
        return (self.apparent - table).rename("optimism")

    def optimism_corrected(
        self,
        metric: str | Metric | None = None,
        *,
        n_boot: int = 500,
        level: float = 0.95,
        interval: str = "location_shifted",
        stratified: bool = False,
        seed: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> OptimismCorrected:
        """Return Harrell's bootstrap estimate: the apparent value less its optimism.

        Beside cross-validation: every bootstrap sample is fitted, and the model's value
        on its own sample less that on all records is its optimism.

        Parameters
        ----------
        metric : str, optional
            The headline's where not given.
        n_boot : int, default 500
        level : float, default 0.95
        interval : {"location_shifted", "two_stage"}
            The apparent interval moved by the optimism, or a bootstrap of the whole
            correction, which costs ``n_boot`` times as much.
        stratified : bool
            Draw each class by itself.
        seed, n_jobs, progress
            As :meth:`estimate` takes them.

        Returns
        -------
        OptimismCorrected

        References
        ----------
        Harrell, Lee & Mark (1996), Stat. Med. 15:361; Noma, Shinozaki, Iba, Teramukai
        & Furukawa (2021), Stat. Med. 40:5691.
        """
        return optimism_corrected(
            self._setup,
            self._metric(metric),
            n_boot=n_boot,
            level=level,
            interval=interval,
            stratified=stratified,
            threshold=self.threshold,
            seed=self.seed if seed is None else resolve_seed(seed),
            n_jobs=n_jobs,
            progress=progress,
        )


def _named(by: Any) -> str:
    return by if isinstance(by, str) else str(getattr(by, "name", None) or "group")
