"""Differences between results over imputed data sets, pooled by Rubin's rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from statcv.inference.estimates.estimate import Estimate
from statcv.inference.meta.rubin import COLUMNS, Imputed, Rubin, rubin
from statcv.inference.paired.contrasts import Contrasts
from statcv.inference.paired.tests import PairedTest


@dataclass(frozen=True, eq=False, repr=False)
class PooledContrasts(Contrasts):
    """Pairwise comparisons of results, each over several imputed data sets.

    Whatever is not a number is that of the first imputation.

    Attributes
    ----------
    each : tuple of Contrasts
        The comparison within each imputed data set.
    """

    each: tuple[Contrasts, ...] = field(default=(), kw_only=True)

    @classmethod
    def of(cls, each: Sequence[Contrasts]) -> PooledContrasts:
        """Pool the comparisons of several imputed data sets."""
        first = {one.name: getattr(each[0], one.name) for one in fields(Contrasts)}
        return cls(**first, each=tuple(each))

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """The pooled estimate of each result."""
        of_name = {k: [one.estimates[k] for one in self.each] for k in self.results}
        found = {name: Imputed(own).estimate for name, own in of_name.items()}
        return {name: replace(one, n_undefined=0) for name, one in found.items()}

    @cached_property
    def tests(self) -> dict[tuple[str, str], list[PairedTest]]:
        """The test of each pair within each imputed data set."""
        return {
            pair: [one.test(number, *pair) for one in self.each]
            for number, pair in enumerate(self.pairs)
        }

    def _pooled(self, first: str, second: str) -> Rubin:
        tests = self.tests[first, second]
        values = [one.difference for one in tests]
        dfs = [math.inf if math.isnan(one.df) else one.df for one in tests]
        return rubin(values, [one.se for one in tests], dfs)

    def test(self, number: int, first: str, second: str) -> PairedTest:
        """Test the mean difference over imputations."""
        found, tests = self._pooled(first, second), self.tests[first, second]
        lacking = [one.reason for one in tests if math.isnan(one.se)]
        if lacking:
            lost = f"{len(lacking)} of {len(tests)} imputations have no standard error"
            why = f"{lost} of the difference: {lacking[0]}"
            return PairedTest.unavailable(found.estimate, why)
        if not found.se:  # nothing varies
            return tests[0]
        lowest, highest = self.metric.bounds_with(self.records.first.scores.n_classes)
        # nested models have another variance where they perform equally well
        ses = [one.se if math.isnan(one.equal) else one.equal for one in tests]
        equal = rubin([one.difference for one in tests], ses, found.df).se
        return found.tested(self.level, highest - lowest, equal)

    def _row(self, number: int, first: str, second: str) -> dict[str, Any]:
        row, found = super()._row(number, first, second), self._pooled(first, second)
        last = {"caveat": row.pop("caveat")}
        return row | {name: getattr(found, name) for name in COLUMNS} | last
