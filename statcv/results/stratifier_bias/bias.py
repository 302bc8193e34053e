"""The bias caused by stratifying folds by each candidate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from statcv.arguments import check_types
from statcv.folds import FoldPlan
from statcv.inference import MonteCarlo
from statcv.results.stratifier_bias.setting import Setting
from statcv.results.stratifier_bias.text import in_three_lines, summarise
from statcv.results.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class StratifierBias:
    """The biases caused by stratifying folds by several candidate covariates.

    It is returned by :func:`statcv.stratifier_bias`.

    Attributes
    ----------
    ranking : pandas.DataFrame
        The candidates, one per row, in decreasing order of the predicted loss of the
        metric, in points (hundredths) if the metric lies between 0 and 1.

        - ``folds`` is the way in which the candidate defines folds; ``in_model``
          whether a term of the formula uses it.
        - ``predicted`` is 0.40 + 1.01 times ``clamp`` (or 0 if that is negative) +
          0.058 times ``permutation`` for accuracy and one quantile bin per fold,
          otherwise ``clamp``; NaN for models other than trees and nearest neighbours.
        - ``clamp`` is the loss of held-out predictions if each value is moved to the
          nearest value outside its own fold (or to the commonest one, if values have no
          order); ``clamp_se`` is its standard error over records.
        - ``importance`` is the model's own importance, as a proportion; ``permutation``
          the loss if held-out values are permuted.
        - ``mutual_information`` (of ten quantile bins with the outcome, in nats),
          ``anova_f`` and ``anova_p`` measure the association with the outcome.
        - ``heterogeneity`` is the auROC of a linear discriminant analysis that predicts
          the fold from the other covariates; 0.5 if the folds are alike.
        - ``duplicates_split`` is the number of records predicted by fits trained on a
          known duplicate; NaN if no duplicates are known.
    measured : pandas.DataFrame or None
        The measured biases, one row per candidate: ``bias`` is ``estimate`` minus
        ``unbiased``, with its interval over folds (``lower``, ``upper``) and over
        records (``records_lower``, ``records_upper``); ``ratio`` is that of the two
        estimates; ``verdict`` states the bias in words.
    unbiased, chance : float, MonteCarlo
        The unbiased estimate, from random folds across which known duplicates are never
        split, and its Monte Carlo error.
    plans : dict of str to FoldPlan
        The folds of every estimate, including ``"unbiased"``.
    skipped : dict of str to str
        Columns that cannot define folds, with the reason, if no candidates were named.
    importance, how, level
        The kind of importance, the way of combining folds, and the level of intervals.
    failed, fits : int
        The number of fits that did not converge or were separated, and of all fits.

    Examples
    --------
    >>> import statcv as scv
    >>> people = scv.simulate_ehr(300, 60, seed=1)
    >>> cost = scv.stratifier_bias("y ~ x3 + x10", people, ["x3", "x10"], measure=False)
    >>> cost.ranking["candidate"].tolist()
    ['x3', 'x10']
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

    def plot(self, against: str = "importance", ax: Axes | None = None) -> Axes:
        """Draw bias against importance or another column of the ranking.

        The arguments are those of :func:`statcv.plots.plot_stratifier_bias`.
        """
        check_types(StratifierBias.plot, locals())
        from statcv.plots import plot_stratifier_bias

        return plot_stratifier_bias(self, ax, against=against)

    def summary(self, notes: bool = False) -> Summary:
        """Return a summary, which is text in a console and HTML in a notebook.

        Parameters
        ----------
        notes : bool, default False
            Whether to show all notes, not only those that may change a decision.
        """
        check_types(StratifierBias.summary, locals())
        return summarise(self, notes)

    def __repr__(self) -> str:
        return in_three_lines(self)
