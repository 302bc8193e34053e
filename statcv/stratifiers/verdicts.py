"""What a candidate costs, in words."""

from __future__ import annotations

import numpy as np

from statcv.stratifiers.setting import Setting
from statcv.summary import number


def shown_to(width: float, setting: Setting) -> float:
    """Return what decides the digits of a loss that is known to a width.

    Of points a tenth is the last that is of use.
    """
    return float(np.fmax(width, 1.0)) if setting.points else width


def verdict(
    cost: float, half: float, of_records: float, parted: float, setting: Setting
) -> str:
    """Say what a candidate costs.

    Parameters
    ----------
    cost : float
        How much worse the estimate is than the unbiased one, in points or units.
    half, of_records : float
        Half the width of its interval over folds, and over records; NaN for none.
    parted : float
        Known copies that it parts; NaN where none are known.
    setting : Setting
    """
    return leaks(parted) + _said(cost, half, of_records, setting)


def leaks(parted: float) -> str:
    """Say first that known copies are parted; nothing where none are, or are known.

    >>> leaks(1234.0), leaks(float("nan"))
    ('leaks: parts 1,234 known duplicates; ', '')
    """
    return f"leaks: parts {parted:,.0f} known duplicates; " if parted > 0 else ""


def _said(cost: float, half: float, of_records: float, setting: Setting) -> str:
    unit = "points" if setting.points else f"of {setting.metric.label}"
    if np.isnan(cost):
        return f"{setting.metric.label} has no value"
    if np.isnan(half) and cost == 0:
        return "no difference (no interval over folds)"
    verb = "costs" if cost >= 0 else "flatters by"
    if np.isnan(half):
        return f"{verb} {number(abs(cost))} {unit} (no interval over folds)"
    digits = shown_to(2 * half, setting)
    if abs(cost) <= half:
        most = number(abs(cost) + np.fmax(half, of_records), digits)
        return f"no bias to be seen: at most {most} {unit}"
    low, high = abs(cost) - half, abs(cost) + half
    least = number(low, digits)
    if float(least) == 0:  # of an interval that excludes 0
        least = number(low, 10 * low)
    limits = f"({least} to {number(high, digits)})"
    size = f"{verb} {number(abs(cost), digits)} {unit}"
    if abs(cost) <= of_records:
        return f"{size} in these records {limits}, within the chance of records"
    return f"{size} {limits}"
