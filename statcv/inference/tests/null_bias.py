"""The bias of an estimate without skill, from permuted outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from textwrap import fill

import numpy as np

from statcv.metrics import Metric
from statcv.numeric.arrays import Floats
from statcv.words import plural, stated

WIDTH = 78


@dataclass(frozen=True)
class NullBias:
    """The bias of an estimate under permuted outcomes; ``float()`` gives the bias.

    If outcome and predictors are unrelated, no prediction is useful, so that any
    difference between the mean estimate and the value of no skill is due to the folds
    and to how predictions of different fits are combined. It is not the bias when there
    is skill, and must not be subtracted from an estimate.

    Attributes
    ----------
    metric, label, how : str
        Name and label of the metric, and how it is estimated.
    about : str
        Description of the cross-validation: formula, model, and the plan's sentence.
    mean : float
        Mean of the estimate over permuted outcomes.
    no_skill : float
        Expected value without skill and without bias. It is 0.5 for auROC; for average
        precision it is the mean over all orders of the same number of records, which
        is somewhat above the share of positives (Bestgen 2015).
    bias, se : float
        Mean minus the value of no skill, with its Monte Carlo standard error, which
        more permutations reduce.
    n_permutations, n_undefined : int
        Number of permutations, and of those that gave no value.
    seed : int
        Seed for the permutations.
    n_distinct : float
        Number of distinct permutations of the outcomes among the clusters if these are
        few; otherwise infinite.
    in_order : bool
        Whether the value of no skill is the mean over random orders.

    References
    ----------
    Austin, Pe'er & Korem (2024); Bestgen (2015), Prague Bull. Math. Linguist. 103:131.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> res = scv.cv("GRADE ~ GPA", df, scheme="rloocv", model="mean", seed=1)
    >>> bias = res.null_bias("auroc", how="pooled", n_permutations=20)
    >>> float(bias), bias.mean, bias.se
    (0.0, 0.5, 0.0)
    """

    metric: str
    label: str
    how: str
    about: str
    mean: float
    no_skill: float
    bias: float
    se: float
    n_permutations: int
    n_undefined: int
    seed: int
    n_distinct: float = math.inf
    in_order: bool = False
    among: str = ""

    @property
    def clear(self) -> bool:
        """Whether the bias is more than two standard errors from 0."""
        return abs(self.bias) > max(2 * self.se, 1e-12)

    @property
    def sentence(self) -> str:
        """The bias in words."""
        named = f"{stated(self.label, self.how)} of permuted outcomes"
        known = self.n_permutations - self.n_undefined
        if not known:
            return f"{named} has no value in any of {self._permutations}."
        text = f"{named}: {self._stated(known)}, {self._compared()}"
        if self.n_undefined:
            text += f" {self.n_undefined} of {self._permutations} gave no value."
        if self.among:
            text += f" {self.among}"
        if math.isfinite(self.n_distinct):
            text += (
                " Outcomes can be permuted among the clusters in only "
                f"{plural(int(self.n_distinct), 'distinct way')}, including the "
                "observed one."
            )
        return text

    def _stated(self, known: int) -> str:
        digits = self._digits
        value = f"{self.mean:.{digits}f}"
        if known == 1:
            return f"{value} (1 permutation)"
        if self.se == 0:
            return f"{value} in each of {plural(known, 'permutation')}"
        return f"{value} ± {self.se:.{digits}f} ({plural(known, 'permutation')})"

    def _compared(self) -> str:
        digits = self._digits
        of_chance = "a random order" if self.in_order else "no skill"
        reference = f"{self.no_skill:.{digits}g}, the value of {of_chance}"
        side, way = ("below", "downwards") if self.bias < 0 else ("above", "upwards")
        off = f"{abs(self.bias):.{digits}f} {side} {reference}"
        if math.isnan(self.se):
            return f"{off}; a single permutation gives no Monte Carlo error."
        if self.clear:
            return (
                f"{off}: without skill this plan and model are biased {way} by that "
                "much, which is not their bias when there is skill."
            )
        if self.se == 0:
            return f"which is {reference}: there is no bias without skill."
        return (
            f"within two Monte Carlo standard errors of {reference}: there is no sign "
            "of bias without skill."
        )

    @property
    def _digits(self) -> int:
        fine = 0 < self.se < 5e-4
        return min(6, 1 - math.floor(math.log10(self.se))) if fine else 3

    @property
    def _permutations(self) -> str:
        return plural(self.n_permutations, "permutation")

    def __float__(self) -> float:
        return self.bias

    def __str__(self) -> str:
        text = fill(self.sentence, WIDTH, initial_indent="  ", subsequent_indent="  ")
        return f"{fill(self.about, WIDTH)}\n{text}"

    def __repr__(self) -> str:
        return str(self)


def make_null_bias(
    metric: Metric,
    how: str,
    values: Floats,
    no_skill: float | Floats,
    *,
    seed: int,
    about: str,
    n_distinct: float = math.inf,
    among: str = "",
) -> NullBias:
    """Return the bias of values under permuted outcomes.

    Parameters
    ----------
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    values : numpy.ndarray
        Values of the metric under permuted outcomes. NaN stands for no value, and is
        ignored.
    no_skill : float or numpy.ndarray
        Value of no skill, or one value per permutation.
    seed : int
        Seed for the permutations.
    about : str
        Description of the cross-validation.
    n_distinct : float
        Number of distinct permutations of the outcomes among the clusters if these are
        few; otherwise infinite.
    among : str
        Among which clusters outcomes were permuted, in a sentence.
    """
    reference = np.broadcast_to(np.asarray(no_skill, dtype=float), values.shape)
    # each permutation is compared with its own value of no skill
    off = values - reference
    known = ~np.isnan(off)
    count = int(known.sum())
    # the Monte Carlo error of the mean over permutations
    se = float(off[known].std(ddof=1) / math.sqrt(count)) if count > 1 else math.nan
    if se < 1e-14:  # all the same except for rounding
        se = 0.0
    mean, expected, bias = (
        float(one[known].mean()) if count else math.nan
        for one in (values, reference, off)
    )
    lost, in_order = len(values) - count, metric.in_random_order is not None
    stated = metric.name, metric.label, how, about, mean, expected, bias, se
    return NullBias(*stated, len(values), lost, seed, n_distinct, in_order, among)
