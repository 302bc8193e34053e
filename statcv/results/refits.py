"""The refits of a result, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.arguments import resolve_seed
from statcv.engine import Setup, fit_all
from statcv.inference.refits.jackknife import MOST_FITS, Kept
from statcv.inference.refits.nested_cv import FEW_REPEATS, REPEATS, nested_fits
from statcv.metrics import Metric
from statcv.models import Fit
from statcv.models.thresholds import Thresholded, threshold_in, threshold_used
from statcv.numeric.arrays import Floats
from statcv.results.wording.phrases import caution
from statcv.tables import Printed

if TYPE_CHECKING:
    from statcv.results.result import CVResult
    from statcv.results.stability import Stability


Seed = int | np.random.Generator | None
# metrics under permuted outcomes, and why some have no value, by metric, way of
# combining folds and seed
KeptPermutations = dict[tuple[Metric, str, int], tuple[Floats, str]]


@dataclass(frozen=True)
class Running:
    """How refits are made: their seed, number of processes and progress bar."""

    seed: int
    n_jobs: int | None = None
    progress: bool | None = None

    @classmethod
    def of(
        cls, result: CVResult, seed: Seed, n_jobs: int | None, progress: bool | None
    ) -> Running:
        """Return how refits of a result are made, with its own seed unless given."""
        own = result.seed if seed is None else resolve_seed(seed)
        return cls(own, n_jobs, progress)

    @property
    def processes(self) -> dict[str, Any]:
        """The number of processes and the progress bar, as arguments."""
        return {"n_jobs": self.n_jobs, "progress": self.progress}


@dataclass(frozen=True, eq=False, repr=False)
class Refits(Printed):
    """The refits of a result, each made when it is first needed and then kept.

    Attributes
    ----------
    setup : Setup
        The design, plan, model, seed and weights of the result.
    threshold : float or None
        The threshold of the predictions, if it is fixed.
    """

    setup: Setup
    threshold: float | None
    # computed so far: by metric and way of combining folds; by the models compared;
    # and metrics under permuted outcomes
    jackknives: Kept = field(default_factory=dict)
    stabilities: dict[Any, Stability] = field(default_factory=dict)
    permutations: KeptPermutations = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Keep jackknives and permutations, but not the fit on all rows."""
        fitted = ("all_rows", "fitted")
        return {k: v for k, v in self.__dict__.items() if k not in fitted}

    @property
    def possible(self) -> bool:
        """Whether there is a model that can be refitted."""
        return self.setup.model.capabilities.refits

    def setup_for(self, metric: Metric) -> Setup:
        """Return the setup for a metric, without thresholds if it does not use them."""
        if isinstance(self.setup.model, Thresholded) and not metric.cuts:
            return replace(self.setup, model=self.setup.model.model)
        return self.setup

    # ---- all rows ----

    @cached_property
    def all_rows(self) -> Fit:
        """The fit on all rows."""
        setup, strata = self.setup, self.setup.plan.strata
        more: dict[str, Any] = {"seed": setup.seed, "weights": setup.weights}
        codes = None if strata is None else strata.codes
        return fit_all(setup.design, setup.model, strata=codes, **more)

    @cached_property
    def fitted(self) -> Floats:
        """The predictions for all rows by the fit on all rows."""
        return self.all_rows.predict(self.setup.design.matrix)

    def full_threshold(self, metric: Metric) -> float | Floats | None:
        """Return the threshold of a metric for the predictions by the fit on all rows.

        There is one per row if the fit decides by a rule of its own.
        """
        own = threshold_in(self.all_rows, self.setup.design.matrix)
        return threshold_used(metric, self.threshold, own)


# ---- what they cost ----


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


def seconds_once(result: CVResult) -> float:
    """Return the time of all fits of a plan at the speed of the middle one.

    The first fit of a process often takes many times as long as the others, as
    libraries are loaded and threads are started; of two fits the shorter counts.

    Parameters
    ----------
    result : CVResult
    """
    middle = np.quantile(result.held.seconds, 0.5, method="lower")
    return float(middle) * result.plan.n_fits


def warn_of_permutations(result: CVResult, times: int) -> None:
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
        known = {"times": times, "fits": result.plan.n_fits, "once": duration(once)}
        caution("cost of permutations", cost=duration(once * times), **known)


def warn_of_interval(result: CVResult, interval: str) -> None:
    """Warn of the time that the refits of an interval will take.

    Parameters
    ----------
    result : CVResult
    interval : str
        The name of the interval.
    """
    if interval == "nested_cv":
        together = result.refits.setup.fits_together
        k = len(result.plan.labels[0])
        fits = nested_fits(k, REPEATS if together else FEW_REPEATS)
    else:
        clusters = result.scores.clusters
        units = result.design.n if clusters is None else int(clusters.max()) + 1
        fits = min(units * result.plan.n_fits, MOST_FITS)
    instead = "the default interval needs no refits"
    warn_of_fits(result, f"interval={interval!r}", fits, instead)


def warn_of_fits(result: CVResult, what: str, fits: float, instead: str) -> None:
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
        known = {"what": what, "fits": fits, "instead": instead}
        caution("cost of fits", cost=duration(seconds), **known)
