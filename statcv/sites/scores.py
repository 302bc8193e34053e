"""What a site says of its held-out predictions: losses, counts and ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from statcv.metrics import midrank
from statcv.sites.cells import Cells, packed
from statcv.sites.fits import SummedFits
from statcv.sites.plan import SitesPlan
from statcv.sites.records import SiteRecords

if TYPE_CHECKING:
    from statcv.sites.progress import Progress

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

MAX_RECALIBRATION_STEPS: Final = 10  # largest number of steps of the recalibration


class Predictor(Protocol):
    """The fits of all folds, as far as held-out records are concerned."""

    def held_out(self, records: SiteRecords) -> Floats:
        """Return the linear predictor of each record from the fit that holds it out."""


def score_sums(records: SiteRecords, progress: Progress) -> Arrays:
    """Return what a site says of its held-out predictions, once the fits have ended."""
    plan, fits = records.plan, progress.predictor
    made: Arrays = {"losses": losses(records, fits)}
    if not plan.grown:
        made["moments"] = training_moments(records, progress.fits)
    if plan.binary:
        made |= count_scores(records, fits, progress.edges)
        made["recalibration"] = progress.recalibrated.sums(records, fits)
        if plan.permutations:
            made["ranks"] = rank_counts(records, fits)
    return made


def held_moments(records: SiteRecords, fits: Predictor) -> Floats:
    """Return the sum of the held-out linear predictors, and of their squares."""
    eta = fits.held_out(records)
    return np.array([eta.sum(), eta @ eta])


def loss_names(plan: SitesPlan) -> tuple[str, ...]:
    """Return the sums over held-out records that a site sends, for each fold."""
    if plan.binary:
        return ("brier", "log_loss", "predicted")
    return ("mse", "mae", "predicted", "observed", "observed_squared")


def losses(records: SiteRecords, fits: Predictor) -> Floats:
    """Return the sums of :func:`loss_names` in each fold, shape (k, names)."""
    eta, y = fits.held_out(records), records.y
    if records.plan.binary:
        p = expit(eta)
        log_loss = np.logaddexp(0, eta) - y * eta
        columns = [(y - p) ** 2, log_loss, p]
    else:
        columns = [(y - eta) ** 2, np.abs(y - eta), eta, y, y**2]
    k = records.plan.k
    return np.column_stack([np.bincount(records.fold, one, k) for one in columns])


def training_moments(records: SiteRecords, fits: SummedFits) -> Floats:
    """Return sums of columns, and of their products with the predictor, (k, 2, q)."""
    k = records.plan.k
    trained = records.training[:k]
    eta = fits.beta[:k] @ records.X.T
    return np.stack([trained @ records.X, (trained * eta) @ records.X], axis=1)


# ---- counts of the linear predictor ----


def count_scores(records: SiteRecords, fits: Predictor, edges: Floats) -> Arrays:
    """Count the held-out linear predictors by class and fold.

    Counts of all folds together are not sent: the difference could be a small count.
    """
    plan = records.plan
    bins = len(edges) + 1
    place = np.searchsorted(edges, fits.held_out(records), side="right")
    group = plan.k * records.code + records.fold
    number = np.bincount(group * bins + place, minlength=2 * plan.k * bins)
    wanted = is_decision(edges, plan)
    return packed(
        [Cells.of(one, plan.cell, wanted) for one in number.reshape(-1, bins)]
    )


def is_decision(edges: Floats, plan: SitesPlan) -> NDArray[np.bool_]:
    """Return which edges are probabilities at which decisions are made."""
    found = np.zeros(len(edges), dtype=bool)
    for share in plan.decisions:
        found[np.argmin(np.abs(edges - logit(share)))] = True
    return found


# ---- ranks within folds ----


def rank_counts(records: SiteRecords, fits: Predictor) -> NDArray[np.uint64]:
    """Return twice the pairs of one fold that are ranked correctly, and permuted.

    The first number belongs to the outcomes as they are; for each of the others they
    are permuted within the folds of the site, in an order that only the site knows.
    """
    plan, eta = records.plan, fits.held_out(records)
    seed = int.from_bytes(records.secret[:8], "big")
    rng = np.random.default_rng([plan.seed, seed])
    total = np.zeros(plan.permutations + 1)
    for fold in range(plan.k):
        own = np.flatnonzero(records.fold == fold)
        rank, y = midrank(eta[own]), records.y[own]
        n1 = int(y.sum())
        orders = rng.permuted(np.tile(y, (plan.permutations, 1)), axis=1)
        each = np.concatenate([[rank @ y], orders @ rank])
        total += 2 * each - n1 * (n1 + 1)
    return np.rint(total).astype(np.uint64)


# ---- recalibration: the outcome on the linear predictor ----


@dataclass(eq=False)
class RecalibrationFit:
    """The calibration intercept and slope, while they are being fitted.

    Attributes
    ----------
    alone : float
        Intercept with a slope of 1.
    intercept, slope : float
        Intercept and slope together.
    information : numpy.ndarray, shape (2, 2)
        Information of the latter.
    weight : float
        Information of the former.
    open : bool
        Whether another step is needed.
    steps : int
        Number of steps; after too many there are no numbers, since predictions
        separate the classes.
    """

    alone: float = 0.0
    intercept: float = 0.0
    slope: float = 1.0
    weight: float = 1.0
    open: bool = True
    steps: int = 0

    def __post_init__(self) -> None:
        self.information = np.eye(2)

    def sums(self, records: SiteRecords, fits: Predictor) -> Floats:
        """Return gradients and informations of both fits over the site's records."""
        eta, y = fits.held_out(records), records.y
        own = expit(self.alone + eta)
        both = expit(self.intercept + self.slope * eta)
        w, r = both * (1 - both), y - both
        return np.array(
            [
                (y - own).sum(),
                (own * (1 - own)).sum(),
                r.sum(),
                r @ eta,
                w.sum(),
                w @ eta,
                w @ eta**2,
            ]
        )

    def advance(self, totals: Floats) -> None:
        """Make a Newton step of both fits."""
        alone, weight, *rest = totals.tolist()
        gradient = np.array(rest[:2])
        information = np.array([[rest[2], rest[3]], [rest[3], rest[4]]])
        self.steps += 1
        spread = rest[4] * rest[2] - rest[3] ** 2
        if not (weight > 0 and spread > 0) or self.steps > MAX_RECALIBRATION_STEPS:
            self.alone = self.intercept = self.slope = float("nan")
            self.open = False
            return
        step = alone / weight
        steps = np.linalg.solve(information, gradient)
        self.alone += step
        self.intercept += float(steps[0])
        self.slope += float(steps[1])
        self.weight, self.information = weight, information
        self.open = max(abs(step), *np.abs(steps)) > 1e-7
