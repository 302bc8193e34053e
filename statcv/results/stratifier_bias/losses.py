"""The losses of each candidate, as ranked and as measured."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from statcv.folds import FoldPlan
from statcv.inference import MonteCarlo
from statcv.results.stratifier_bias.setting import Setting


@dataclass(frozen=True, eq=False)
class CandidateLosses:
    """What was found of each candidate, before it is said in words or drawn.

    The attributes are those of :class:`~statcv.results.stratifier_bias.bias.\
StratifierBias`.
    """

    ranking: pd.DataFrame
    measured: pd.DataFrame | None
    unbiased: float
    chance: MonteCarlo
    plans: dict[str, FoldPlan]
    skipped: dict[str, str]
    importance: str
    how: str
    level: float
    failed: int
    fits: int
    setting: Setting = field(repr=False)

    @property
    def metric(self) -> str:
        """The label of the metric."""
        return self.setting.metric.label

    @property
    def unit(self) -> str:
        """The unit of losses and bias: points, or the metric."""
        return "points" if self.setting.points else self.metric

    @property
    def seed(self) -> int:
        """The seed that reproduces the same numbers."""
        return self.setting.seed

    @property
    def least(self) -> str:
        """The candidate with the least bias that does not split known duplicates.

        The bias is the measured one if there is one, else the predicted one. Among
        candidates without a detectable bias, one that no term uses comes first.
        """
        table = self.ranking.set_index("candidate")
        order = pd.DataFrame(
            {
                "parts": table["duplicates_split"] > 0,
                "cost": 0.0,
                "in_model": table["in_model"],
                "rank": -table["rank"],
            }
        )
        if self.measured is not None:
            own = self.measured.set_index("candidate").reindex(table.index)
            inside = (own["lower"] <= 0) & (own["upper"] >= 0)
            inside |= (own["records_lower"] <= 0) & (own["records_upper"] >= 0)
            order["cost"] = own["bias"].abs().where(~inside, 0.0)
        else:
            order["cost"] = table["predicted"].where(table["in_model"], 0.0)
        return str(order.sort_values(order.columns.tolist()).index[0])
