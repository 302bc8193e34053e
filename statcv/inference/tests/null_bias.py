"""By how much an estimate leans where there is no skill."""

from __future__ import annotations

import math
from dataclasses import dataclass
from textwrap import fill

import numpy as np
from numpy.typing import NDArray

from statcv.errors import plural
from statcv.metrics import Metric

Floats = NDArray[np.float64]
WIDTH = 78


@dataclass(frozen=True)
class NullBias:
    """The bias of an estimate where outcomes are permuted; ``float()`` of it is that.

    Where outcome and predictors are unrelated no predictions are of use, so that what
    lies between the mean estimate and the value of no skill is the work of the folds
    and of how predictions of different fits are put together. It is not the bias
    where there is skill, and nothing to be taken off an estimate.

    Attributes
    ----------
    metric, label, how : str
        What was estimated.
    about : str
        Of what: formula, model, and the plan's sentence.
    mean : float
        Of the estimate over permuted outcomes.
    no_skill : float
        What it would be without bias: 0.5 for auROC; for average precision, its mean
        over all orders of as many records, which is somewhat above the share of
        positives (Bestgen 2015).
    bias, se : float
        The mean less the value of no skill, with its Monte Carlo standard error,
        which more permutations make smaller.
    n_permutations, n_undefined : int
        Permutations, and those that gave no value.
    seed : int
        Of the permutations.
    ways : float
        The number of distinct permutations of outcomes over clusters, where these are
        few; infinite elsewhere.
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
    ways: float = math.inf
    in_order: bool = False

    @property
    def clear(self) -> bool:
        """Whether the bias is more than two standard errors from 0."""
        return abs(self.bias) > max(2 * self.se, 1e-12)

    @property
    def sentence(self) -> str:
        """The bias in words."""
        named = f"{self.label} ({self.how.replace('_', ' ')}) of permuted outcomes"
        known = self.n_permutations - self.n_undefined
        if not known:
            return f"{named} has no value in any of {self._permutations}."
        text = f"{named}: {self._stated(known)}, {self._compared()}"
        if self.n_undefined:
            text += f" {self.n_undefined} of {self._permutations} gave no value."
        if math.isfinite(self.ways):
            text += (
                " Outcomes can be dealt to the sources in "
                f"{plural(int(self.ways), 'way')} only, of which what was observed is "
                "one."
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
        side, way = ("below", "down") if self.bias < 0 else ("above", "up")
        off = f"{abs(self.bias):.{digits}f} {side} {reference}"
        if math.isnan(self.se):
            return f"{off}; a single one does not tell its Monte Carlo error."
        if self.clear:
            return (
                f"{off}: without skill this plan and model lean {way} by that much, "
                "which is not their bias where there is skill."
            )
        if self.se == 0:
            return f"which is {reference}: without skill there is no bias."
        return (
            f"which does not differ from {reference}, by more than two Monte Carlo "
            "standard errors: no bias is seen without skill."
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
    ways: float = math.inf,
) -> NullBias:
    """Return the bias of values under permuted outcomes.

    Parameters
    ----------
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    values : numpy.ndarray
        Under permuted outcomes; NaN where there was none, which are left out.
    no_skill : float or numpy.ndarray
        The value of no skill, or one for each permutation.
    seed : int
    about : str
    ways : float
    """
    reference = np.broadcast_to(np.asarray(no_skill, dtype=float), values.shape)
    off = values - reference
    known = ~np.isnan(off)
    count = int(known.sum())
    se = float(off[known].std(ddof=1) / math.sqrt(count)) if count > 1 else math.nan
    if se < 1e-14:  # all the same, but for rounding
        se = 0.0
    return NullBias(
        metric=metric.name,
        label=metric.label,
        how=how,
        about=about,
        mean=float(values[known].mean()) if count else math.nan,
        no_skill=float(reference[known].mean()) if count else math.nan,
        bias=float(off[known].mean()) if count else math.nan,
        se=se,
        n_permutations=len(values),
        n_undefined=len(values) - count,
        seed=seed,
        ways=ways,
        in_order=metric.in_random_order is not None,
    )
