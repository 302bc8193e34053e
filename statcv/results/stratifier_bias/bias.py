"""What it costs to keep records together by each candidate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from statcv.folds import FoldPlan
from statcv.inference import MonteCarlo
from statcv.results.stratifier_bias.setting import Setting
from statcv.results.stratifier_bias.text import in_three_lines, summarise
from statcv.results.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class StratifierBias:
    """What it costs to stratify folds by one candidate, or by another.

    Made by :func:`statcv.stratifier_bias`; not to be made by hand.

    Attributes
    ----------
    ranking : pandas.DataFrame
        A row a candidate, the one that is predicted to cost most first. ``predicted``,
        ``clamp`` and ``permutation`` are losses of the metric: in points (hundredths)
        where it lies between 0 and 1, else in its own units.

        - ``folds``: how the candidate makes folds; ``in_model``: whether a term of the
          formula uses it.
        - ``rank``: from 1, the largest predicted loss; importance decides where it is
          the same, or where there is none: those come last.
        - ``predicted``: of accuracy and quantile bins one a fold, 0.40 + 1.01 times
          ``clamp`` (0 where that is negative) + 0.058 times ``permutation``; else
          ``clamp`` as it is; 0 where that is negative. NaN where no term uses the
          candidate: its folds may differ in what terms do use.
        - ``clamp``: loss of held-out predictions where each value is moved to the
          nearest one outside its own fold (values without an order: to the commonest
          one), by models fitted to random folds, and judged in the candidate's folds;
          ``clamp_se`` its standard error over records. NaN for several columns
          together.
        - ``importance``: the model's own, as shares of all columns of the formula;
          ``total_gain`` and ``gain`` for boosted trees; ``permutation``: loss where
          held-out values are permuted, the mean of five.
        - ``mutual_information``: with the outcome, in nats, of ten quantile bins, with
          Miller and Madow's correction. ``anova_f`` and ``anova_p``: F of one-way
          analysis of variance of a number over classes, or of the regression of
          numbers; without an order chi-square over its degrees of freedom. About 1
          without association. Values without an order that are too many to be cells of
          a table are taken by the folds that they make.
        - ``heterogeneity``: cross-validated auROC (Hand and Till's) with which a linear
          discriminant analysis tells the fold from the other covariates; 0.5 where
          folds are alike.
        - ``parted``: records that would be predicted by fits that have seen a known
          copy; NaN where none are known.
    measured : pandas.DataFrame or None
        A row a candidate, in the same order. ``bias`` is ``estimate`` less
        ``unbiased``, in points or own units; ``lower`` and ``upper`` its interval over
        folds, given these records; ``records_lower`` and ``records_upper`` over records
        (copies together), paired record by record, the fits being given; ``ratio`` of
        the two estimates with its limits over folds; ``repeats`` how often they were
        made; ``parted``, and ``verdict`` in words: a bias is one where its interval
        over folds excludes 0.
    unbiased : float
        The unbiased estimate: random folds in which known copies never part.
    chance : MonteCarlo
        How far it moves with the folds.
    plans : dict of str to FoldPlan
        The folds of every estimate, ``"unbiased"`` too; ``cv(…, scheme=plan)`` fits on
        them.
    skipped : dict of str to str
        Columns that can make no folds, and why, where no candidates were named.
    importance : str
        What the column of that name is.
    how : str
        In which way the metric is stated.
    level : float
        Of the intervals.
    failed, fits : int
        Fits that did not converge or were separated, and all.
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
        """In what losses and bias are told: points, or the metric."""
        return "points" if self.setting.points else self.metric

    @property
    def seed(self) -> int:
        """The seed that gives the same numbers again."""
        return self.setting.seed

    @property
    def least(self) -> str:
        """The candidate that costs least, among those that part no known copies.

        As measured, else as predicted. Among several without a bias to be seen one
        that no term uses comes first, then the one that is predicted to cost least.
        """
        table = self.ranking.set_index("candidate")
        order = pd.DataFrame(
            {
                "parts": table["parted"] > 0,
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

    def plot(self, against: str = "importance", ax: Axes | None = None) -> Axes:
        """Draw :func:`statcv.plots.plot_stratifier_bias`."""
        from statcv.plots import plot_stratifier_bias

        return plot_stratifier_bias(self, ax, against=against)

    def summary(self) -> Summary:
        """Return a summary: text in a console, HTML in a notebook."""
        return summarise(self)

    def __repr__(self) -> str:
        return in_three_lines(self)
