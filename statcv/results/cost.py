"""The time that refits will take, stated before they are made."""

from __future__ import annotations

import numpy as np

from statcv.errors import CostWarning, warn
from statcv.inference.refits.jackknife import MOST_FITS
from statcv.inference.refits.nested_cv import FEW_REPEATS, REPEATS, nested_fits
from statcv.results.refittable import Refittable

LONG = 10.0  # seconds above which the cost is said beforehand


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(0.02), duration(75), duration(9000)
    ('0.02 s', '1.2 min', '2.5 h')
    """
    if seconds < 60:
        return f"{seconds:.2g} s"
    if seconds < 3600:
        return f"{seconds / 60:.2g} min"
    hours = seconds / 3600
    return f"{hours:.2g} h" if hours < 48 else f"{hours / 24:.3g} days"


def seconds_once(result: Refittable) -> float:
    """Return the time of all fits of a plan at the speed of the middle one.

    The first fit of a process often takes many times as long as the others, as
    libraries are loaded and threads are started; of two fits the shorter counts.

    Parameters
    ----------
    result : CVResult
    """
    middle = np.quantile(result.held.seconds, 0.5, method="lower")
    return float(middle) * result.plan.n_fits


def warn_of_permutations(result: Refittable, times: int) -> None:
    """Warn of the time that permutations will take if fits are made one by one.

    Parameters
    ----------
    result : CVResult
    times : int
        Permutations that are still to be made.
    """
    if result.refits.setup.fits_together:
        return
    once = seconds_once(result)
    if once * times > LONG:
        warn(
            f"{times} permutations fit {result.plan.n_fits} training sets each, one "
            f"by one: about {duration(once * times)} on one core, at "
            f"{duration(once)} per permutation. Use n_jobs= for several processes, "
            "or n_permutations= for fewer permutations.",
            CostWarning,
        )


def warn_of_interval(result: Refittable, interval: str) -> None:
    """Warn of the time that the refits of an interval will take.

    Parameters
    ----------
    result : CVResult
    interval : str
        The name of the interval.
    """
    what, instead = f"interval={interval!r}", "the default interval needs no refits"
    warn_of_fits(result, what, _fits_of(result, interval), instead)


def warn_of_fits(result: Refittable, what: str, fits: float, instead: str) -> None:
    """Warn of the time that fits will take, and say what else can be done.

    Parameters
    ----------
    result : CVResult
    what : str
        What makes the fits.
    fits : float
        Number of fits.
    instead : str
        A clause on what needs fewer fits.
    """
    seconds = fits * seconds_once(result) / result.plan.n_fits
    if seconds > LONG:
        warn(
            f"{what} makes about {fits:,.0f} fits: about {duration(seconds)} on one "
            f"core, at the speed of the fits so far. Use n_jobs= for several "
            f"processes; {instead}.",
            CostWarning,
        )


def _fits_of(result: Refittable, interval: str) -> float:
    """Return how many fits the refits of an interval make, at most."""
    if interval == "nested_cv":
        together = result.refits.setup.fits_together
        k = len(result.plan.labels[0])
        return nested_fits(k, REPEATS if together else FEW_REPEATS)
    clusters = result.scores.clusters
    units = result.design.n if clusters is None else int(clusters.max()) + 1
    return min(units * result.plan.n_fits, MOST_FITS)
