"""Tests of a cross-validated metric against one value, such as that of no skill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from statcv.arguments import check_level
from statcv.errors import ArgumentTypeError, FoldWarning, warn
from statcv.inference.assumptions import ASSUMED
from statcv.inference.estimates.estimate import Estimate
from statcv.inference.intervals.interval import SCALES
from statcv.inference.tests.htest import HTest, check_alternative, shown
from statcv.metrics import Metric
from statcv.metrics.areas.placements import p_at_end, ratio, symmetric_limits, tail
from statcv.numeric.arrays import ArrayLike, Floats
from statcv.words import plural, stated

EXACT = ASSUMED["permutation"]
FEW_FITS = "treats the values of the folds as independent, which they are not"


def permutation_test(
    estimate: Estimate,
    values: ArrayLike,
    *,
    alternative: str,
    about: str = "",
    reason: str = "",
) -> HTest:
    """Compare an estimate with its values under permuted outcomes.

    The observed outcome counts as one of the permutations, so that p is never zero
    (Phipson & Smyth 2010): if b of B values are at least as extreme, then
    p = (1 + b) / (1 + B). A two-sided p is twice the smaller one-sided p, and at most
    1.

    Parameters
    ----------
    estimate : Estimate
    values : array_like
        Values of the metric under permuted outcomes. NaN stands for no value, and is
        ignored.
    alternative : {"two-sided", "greater", "less"}
    about, reason : str
        Description of what was tested, and the reason why it cannot be tested, if that
        is known.

    Returns
    -------
    HTest
        ``null`` is the mean of the values, which is not 0.5 if pooling causes bias.

    References
    ----------
    Ojala & Garriga (2010), J. Mach. Learn. Res. 11:1833 (Test 1); Phipson & Smyth
    (2010), Stat. Appl. Genet. Mol. Biol. 9:39.
    """
    check_alternative(alternative)
    every = np.asarray(values, dtype=float)
    known = every[~np.isnan(every)]
    p = np.nan
    if np.isnan(estimate.value):
        reason = reason or "the estimate has no value"
    elif not len(known):
        reason = reason or "no permutation gave a value"
    else:
        # permutations without a value do not count
        p = permutation_p(estimate.value, known, alternative)
    centre = float(known.mean()) if len(known) else np.nan
    notes = []
    if len(known):
        sd = float(known.std(ddof=1)) if len(known) > 1 else np.nan
        under = f"under {plural(len(known), 'permuted outcome')}"
        both = f"{shown(centre, 3)} and the standard deviation {shown(sd, 3)}"
        notes.append(f"{under} the mean is {both}")
    if len(known) < len(every):
        lost = len(every) - len(known)
        notes.append(f"{plural(lost, 'permutation')} gave no value")
    found: dict[str, Any] = {"statistic": estimate.value, "null": centre, "p_value": p}
    found |= {"statistic_name": estimate.label, "alternative": alternative}
    found |= {"method": "Permutation of the outcome, with refits", "about": about}
    found |= {"assumes": "" if np.isnan(p) else EXACT, "notes": tuple(notes)}
    return _tested(estimate, reason=reason, replicates=every, **found)


def _tested(estimate: Estimate, **found: Any) -> HTest:
    """Return the test of an estimate, with what was found by the names of `HTest`."""
    label, value = stated(estimate.label, estimate.how), estimate.value
    return HTest(label=label, estimate=value, level=estimate.level, **found)


def permutation_p(value: float, permuted: Floats, alternative: str) -> float:
    """Return the p-value of a value among those under permuted outcomes.

    Values that are equal except for rounding count as ties.

    Examples
    --------
    >>> permutation_p(0.9, np.array([0.5, 0.6, 0.9]), "greater")
    0.5
    """
    slack = 1e-12 * float(np.abs([value, *permuted]).max())
    # the observed order is one of the permutations
    above = (1 + int((permuted >= value - slack).sum())) / (1 + len(permuted))
    below = (1 + int((permuted <= value + slack).sum())) / (1 + len(permuted))
    sides = {"greater": above, "less": below}
    return sides.get(alternative, min(1.0, 2 * min(above, below)))


def wald_test(
    estimate: Estimate, null: float, *, alternative: str, about: str = ""
) -> HTest:
    """Compare an estimate with one value by its standard error.

    The test uses Student's t if the interval does, otherwise the normal distribution,
    and the logit scale if the interval is symmetric on that scale. If the variance
    depends on the parameter, it is that at the null value. An auROC of exactly
    1 or 0, whose interval is based on pairs that share no record, is tested exactly by
    these pairs.

    Parameters
    ----------
    estimate : Estimate
        Estimate with a standard error, or with the reason why it has none.
    null : float
        Value under the null hypothesis.
    alternative : {"two-sided", "greater", "less"}
    about : str
        Description of what was tested.

    Returns
    -------
    HTest
    """
    check_alternative(alternative)
    interval, reason = estimate.interval, ""
    statistic, p, df = np.nan, np.nan, interval.df
    method, name = f"Wald test: {estimate.method}", "z" if np.isnan(df) else "t"
    if interval.pairs:  # an auROC of exactly 1 or 0, by pairs that share no record
        method, name = f"Exact test: {estimate.method}", "pairs ranked right"
        statistic, df = interval.pairs * estimate.value, np.nan
        p = p_at_end(estimate.value, interval.pairs, null, alternative)
    elif np.isnan(estimate.se):
        reason = estimate.assumes
    else:
        scale = interval.scale
        reason = _why_not_at(null, scale)
        if not reason:
            # the variance of a share depends on it
            se = interval.se_at(null, estimate.value - null)
            # the delta method carries the standard error to the scale of the interval
            on = SCALES.get(scale, SCALES["identity"])
            distance = float(on.to(estimate.value) - on.to(null))
            statistic = ratio(distance, se / on.slope(estimate.value))
            p = tail(statistic, df, alternative)
        if np.isinf(statistic):
            reason = "the standard error is 0, so that the p-value is not evidence"
    found: dict[str, Any] = {"statistic": statistic, "statistic_name": name, "df": df}
    found |= {"null": null, "alternative": alternative, "p_value": p, "reason": reason}
    found |= {"lower": estimate.lower, "upper": estimate.upper, "method": method}
    assumes = estimate.assumes if not reason else ""
    return _tested(estimate, about=about, assumes=assumes, **found)


def plain_t_test(
    values: Floats,
    metric: Metric,
    null: float,
    *,
    alternative: str,
    level: float = 0.95,
    about: str = "",
    measured: str | None = None,
) -> HTest:
    """Compare the mean of the folds' values with one value, as if independent.

    The test rejects far too often; it is included because it is widely used.
    ``measured`` describes its measured size, if that is known.

    Warns
    -----
    FoldWarning
        Always, with the measured size if that is known.
    """
    check_alternative(alternative)
    check_level(level)
    warn(
        "a t test over folds treats them as independent, but their training sets "
        f"overlap{f'; {measured}' if measured else ''}. Use method='permutation'.",
        FoldWarning,
    )
    said = {"label": f"mean {metric.label} of the folds", "about": about}
    said |= {"method": "Plain t test over folds, uncorrected", "assumes": FEW_FITS}
    return mean_test(values, null, alternative, level, **said)


def mean_test(
    values: Floats, null: float, alternative: str, level: float, **said: str
) -> HTest:
    """Test the mean of a sample by Student's t, or say why it cannot be tested.

    What else an :class:`HTest` says of itself is given by name.
    """
    known = values[~np.isnan(values)]
    lost = len(values) - len(known)
    mean = float(known.mean()) if len(known) else np.nan
    statistic = p = lower = upper = np.nan
    df, reason = float(len(known) - 1), ""
    if len(known) < 2:
        reason = f"a t test needs at least two values, not {len(known)}"
        df = np.nan
    else:
        # as if the values were independent
        se = float(known.std(ddof=1) / np.sqrt(len(known)))
        statistic = ratio(mean - null, se)
        p = tail(statistic, df, alternative)
        lower, upper = symmetric_limits(mean, se, level, df=df)
        if se == 0:
            reason = "all values are equal, so that no variation can be estimated"
    found: dict[str, Any] = {**said, "statistic": statistic, "df": df}
    found |= {"null": null, "alternative": alternative, "p_value": p, "reason": reason}
    found |= {"estimate": mean, "lower": lower, "upper": upper, "level": level}
    notes = (f"the mean excludes {plural(lost, 'missing value')}",) if lost else ()
    return HTest(**found, statistic_name="t", notes=notes, replicates=values)


def _why_not_at(null: float, scale: str) -> str:
    """Return why a null value cannot be tested on a scale; empty if it can be."""
    inside = 0 < null < 1
    if scale == "logit" and not inside:
        return f"the logit of the null value {null:g} is infinite or undefined"
    if scale == "wilson" and not inside:
        return f"the standard error at the null value {null:g} is 0"
    if scale == "log" and not null > 0:
        return f"the logarithm of the null value {null:g} is undefined"
    return ""


# ---- independent replicates, such as the data sets of a simulation ----


def t_test(
    values: Sequence[float] | ArrayLike,
    null: float = 0.5,
    *,
    alternative: str = "two-sided",
    level: float = 0.95,
) -> HTest:
    """Test the mean of independent replicates: a t test of one sample.

    Replicates are estimates from data sets that have nothing in common, such as those
    of a simulation or of several studies. Folds and repeats of one cross-validation are
    not replicates: ``result.test()`` tests one result.

    Parameters
    ----------
    values : sequence of float
        Numbers, or estimates (``float()`` of them is taken), such as auROCs.
    null : float, default 0.5
        The mean under the null hypothesis.
    alternative : {"two-sided", "greater", "less"}
    level : float, default 0.95
        Level of the confidence interval for the mean.

    Returns
    -------
    HTest
        The test; with NaN and the reason if fewer than two replicates have a value.

    Raises
    ------
    ArgumentTypeError
        If a value is not a number, or is a result of :func:`statcv.cv`.

    Examples
    --------
    >>> import statcv as scv
    >>> round(scv.t_test([0.45, 0.52, 0.48, 0.49]).p_value, 3)
    0.375
    """
    check_alternative(alternative)
    check_level(level)
    numbers = _numbers(values)
    said = {"method": "t test over independent replicates", "label": "mean"}
    said["assumes"] = "replicates are independent of each other"
    said["about"] = plural(len(numbers), "replicate")
    return mean_test(numbers, null, alternative, level, **said)


def _numbers(values: Any) -> Floats:
    """Return replicates as numbers; raise an error if one is not a number."""
    if getattr(values, "ndim", 1) > 1:
        raise ArgumentTypeError(
            f"replicates are one sequence of numbers, not a {type(values).__name__} of "
            f"shape {values.shape}."
        )
    listed = np.ravel(np.asarray(values, object)).tolist()
    for number, value in enumerate(listed, start=1):
        if value is None or isinstance(value, str) or not hasattr(value, "__float__"):
            raise ArgumentTypeError(
                "replicates are numbers, or estimates as result.estimate() gives, but "
                f"number {number} is {_shown(value)}."
            )
    return np.array([float(value) for value in listed])


def _shown(value: object) -> str:
    text = repr(value)
    short = value is None or isinstance(value, (str, int, float))
    return text if short else f"a {type(value).__name__}"
