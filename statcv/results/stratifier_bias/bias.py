"""The bias caused by stratifying folds by each candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from statcv.arguments import check_types
from statcv.results.stratifier_bias.losses import CandidateLosses
from statcv.results.stratifier_bias.text import in_three_lines, summarise
from statcv.results.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class StratifierBias(CandidateLosses):
    """The biases caused by stratifying folds by several candidate covariates.

    It is returned by :func:`statcv.stratifier_bias`, and never constructed by hand.

    Attributes
    ----------
    ranking : pandas.DataFrame
        The candidates, one per row, in decreasing order of the predicted loss.
        ``predicted``, ``clamp`` and ``permutation`` are losses of the metric. They are
        in points (hundredths) if the metric lies between 0 and 1, and otherwise in the
        units of the metric.

        - ``folds`` is the way in which the candidate defines folds, and ``in_model``
          states whether a term of the formula uses it.
        - ``rank`` is 1 for the largest predicted loss. Ties are broken by importance,
          as are candidates without a prediction, which come last. If no loss can be
          predicted, the rank is that of ``mutual_information``.
        - ``predicted`` is 0.40 + 1.01 times ``clamp`` (or 0 if that is negative) +
          0.058 times ``permutation`` for accuracy and one quantile bin per fold;
          otherwise it is ``clamp``. Negative predictions are set to 0. It is NaN for
          models other than trees and nearest neighbours, for which it does not agree
          with measured losses, and if no term uses the candidate, whose folds may still
          differ in columns that terms use.
        - ``clamp`` is the loss of held-out predictions if each value is moved to the
          nearest value outside its own fold (or to the commonest one, if values have no
          order), predicted by models fitted to random folds and evaluated in the
          candidate's folds; ``clamp_se`` is its standard error over records. Both are
          NaN for several columns jointly.
        - ``importance`` is the model's own importance, as a proportion over all columns
          of the formula; ``total_gain`` and ``gain`` are given for boosted trees.
          ``permutation`` is the loss if held-out values are permuted, the mean of five
          permutations.
        - ``mutual_information`` is the mutual information of ten quantile bins with the
          outcome, in nats, with Miller and Madow's correction. ``anova_f`` and
          ``anova_p`` are the F and p-value of a one-way analysis of variance of a
          numeric candidate over classes, or of the regression of a continuous outcome
          on it; for values without an order they are chi-square divided by its degrees
          of freedom, and its p-value. F is about 1 without association. Values
          without an order that are too many for a contingency table are replaced by
          their folds.
        - ``heterogeneity`` is the cross-validated auROC (Hand and Till's) of a linear
          discriminant analysis that predicts the fold from the other covariates; it is
          0.5 if the folds are alike.
        - ``duplicates_split`` is the number of records that would be predicted by fits
          trained on a known duplicate; NaN if no duplicates are known.
    measured : pandas.DataFrame or None
        The measured biases, one row per candidate in the same order. ``bias`` is
        ``estimate`` minus ``unbiased``, in points or in the units of the metric.
        ``lower`` and ``upper`` are its interval over folds, given these records;
        ``records_lower`` and ``records_upper`` are its interval over records (or groups
        of duplicates), paired by record, given the fits. ``ratio`` is the ratio of the
        two estimates, with its limits over folds, and ``repeats`` the number of
        repeats. ``duplicates_split`` is as above. ``verdict`` states the bias in words,
        if its interval over folds excludes 0.
    unbiased : float
        The unbiased estimate, from random folds across which known duplicates are never
        split.
    chance : MonteCarlo
        The Monte Carlo error of the unbiased estimate over random folds.
    plans : dict of str to FoldPlan
        The folds of every estimate, including ``"unbiased"``; ``cv(…, scheme=plan)``
        fits on them.
    skipped : dict of str to str
        Columns that cannot define folds, with the reason, if no candidates were named.
    importance : str
        The kind of importance in the column of that name.
    how : str
        The way in which folds are combined.
    level : float
        The confidence level of the intervals.
    failed, fits : int
        The number of fits that did not converge or were separated, and of all fits.

    Examples
    --------
    >>> import statcv as scv
    >>> people = scv.simulate_ehr(300, 60, seed=1)
    >>> cost = scv.stratifier_bias(
    ...     "y ~ x3 + x7 + x10", people, ["x3", "x10"], measure=False, seed=1
    ... )
    >>> cost.ranking["candidate"].tolist()
    ['x3', 'x10']
    """

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
