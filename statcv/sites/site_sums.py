"""The sums of a site: fits of all folds, and what it says of held-out predictions.

Each site adds up log-likelihood, gradient and information of its own training records.
The sums over sites are published, and from them every site makes the same Newton step,
so that nobody else chooses the coefficients at which it is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from statcv.errors import ModelError
from statcv.metrics import midrank
from statcv.numeric.arrays import Array, Floats
from statcv.sites.cells import Arrays, Cells, packed
from statcv.sites.plan import SitesPlan
from statcv.sites.site_records import SiteRecords

if TYPE_CHECKING:
    from statcv.sites.progress import Progress


MAX_RECALIBRATION_STEPS: Final = 10  # largest number of steps of the recalibration

# mean squared change of linear predictors by the last step
MAX_LAST_CHANGE: Final = 1e-13
# mean squared change for Firth fits, whose steps do not shorten quadratically
MAX_LAST_CHANGE_FIRTH: Final = 1e-21
MAX_LOST_SHARE: Final = 1e-10  # share of the objective that rounding may cost
MIN_EIGENVALUE: Final = 1e-12  # least eigenvalue of scaled information
# least scaled eigenvalue for which single precision is enough
MIN_EIGENVALUE_FOR_SINGLE: Final = 1e-3


def symmetric_matrix(upper: Floats) -> Floats:
    """Return the symmetric matrix with this upper triangle.

    >>> symmetric_matrix(np.array([1.0, 2.0, 3.0])).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    q = int(np.sqrt(2 * len(upper)))
    matrix = np.zeros((q, q))
    matrix[np.triu_indices(q)] = upper
    return np.asarray(matrix + np.triu(matrix, 1).T)


@dataclass(eq=False)
class SummedFits:
    """The fits of all folds, and of all records, while they are being made.

    Attributes
    ----------
    plan : SitesPlan
    beta : numpy.ndarray, shape (k + 1, q)
        Coefficients; the last row is the fit of all records.
    information : numpy.ndarray, shape (k + 1, q, q)
        Information at the coefficients before the last step, with the penalty.
    open : numpy.ndarray of bool, shape (k + 1,)
        Which fits still move.
    """

    plan: SitesPlan

    def __post_init__(self) -> None:
        fits, q = self.plan.k + 1, self.plan.n_columns
        self.beta, self._from = np.zeros((fits, q)), np.zeros((fits, q))
        self.information = np.zeros((fits, q, q))
        self.open = np.ones(fits, dtype=bool)
        self._objective = np.full(fits, -np.inf)
        self._steps, self._least = 0, 0.0

    @property
    def penalty(self) -> Floats:
        """The ridge on each coefficient."""
        strength = self.plan.model["C"]
        penalised = [name != "Intercept" for name in self.plan.columns]
        return np.array(penalised, float) * (0.0 if strength is None else 1 / strength)

    def held_out(self, records: SiteRecords) -> Floats:
        """Return the linear predictor of each record from the fit that holds it out."""
        return np.asarray(np.einsum("ij,ij->i", records.X, self.beta[records.fold]))

    def sums(self, records: SiteRecords) -> dict[str, Array]:
        """Return the sums over the training records of one site.

        Gradients alone decide where the fits end. The information, which makes up most
        of a message, is therefore sent in single precision if columns are far from
        dependent; Firth's gradient depends on it too.
        """
        upper = np.triu_indices(self.plan.n_columns)
        made: list[list[Any]] = []
        for fit in np.flatnonzero(self.open):
            trained = records.training[fit] > 0
            X, y = records.X[trained], records.y[trained]
            eta = X @ self.beta[fit]
            if self.plan.binary:
                mean = expit(eta)
                weight = mean * (1 - mean)
                value = float((y * eta - np.logaddexp(0, eta)).sum())
            else:
                mean, weight = eta, np.ones(len(y))
                value = -float(((y - mean) ** 2).sum()) / 2
            information = ((X * weight[:, None]).T @ X)[upper]
            made.append([value, X.T @ (y - mean), information])
            if self.plan.model["firth"]:  # its gradient, with the last information
                leverage = np.zeros(len(y))
                if self._steps:
                    inverse = np.linalg.inv(self.information[fit])
                    leverage = weight * np.einsum("ij,jk,ik->i", X, inverse, X)
                made[-1].append(X.T @ (leverage * (0.5 - mean)))
        names = ("likelihood", "gradient", "information", "firth")
        sums = dict(zip(names, map(np.array, zip(*made, strict=True)), strict=False))
        if self._least > MIN_EIGENVALUE_FOR_SINGLE and "firth" not in sums:
            sums["information"] = sums["information"].astype("<f4")
        return sums

    def advance(self, totals: Mapping[str, Floats], records: Floats) -> None:
        """Make a Newton step from the sums over all sites.

        Parameters
        ----------
        totals : dict of numpy.ndarray
            Sums, of the shapes that :meth:`shapes` gives.
        records : numpy.ndarray, shape (k + 1,)
            Number of training records of each fit.

        Raises
        ------
        ModelError
            If columns are linearly dependent, or a training set lacks a level.
        """
        q, penalty = self.plan.n_columns, self.penalty
        if not self._steps:
            upper = np.triu_indices(q)
            self._check_levels(totals["information"][:, upper[0] == upper[1]])
        moving = np.flatnonzero(self.open)
        self._least = 1.0
        for place, fit in enumerate(moving):
            beta = self.beta[fit]
            matrix = symmetric_matrix(totals["information"][place]) + np.diag(penalty)
            objective = float(totals["likelihood"][place]) - penalty @ beta**2 / 2
            gradient = totals["gradient"][place] - penalty * beta
            if "firth" in totals:
                gradient = gradient + totals["firth"][place]
                objective += float(np.linalg.slogdet(matrix)[1]) / 2
            least = self._objective[fit]
            if objective < least - MAX_LOST_SHARE * abs(least):  # too far
                self.beta[fit] = (beta + self._from[fit]) / 2
                continue
            step = self._solve(matrix, gradient)
            self.information[fit], self._objective[fit] = matrix, objective
            self._from[fit], self.beta[fit] = beta, beta + step
            size = float(step @ gradient) / float(records[fit])
            if not self.plan.binary:  # in units of the residual variance
                size /= max(-2 * objective / float(records[fit]), 1e-300)
            small = MAX_LAST_CHANGE_FIRTH if "firth" in totals else MAX_LAST_CHANGE
            self.open[fit] = not abs(size) <= small
        self._steps += 1

    def _check_levels(self, squares: Floats) -> None:
        """Refuse a column that is 0 in all training records of a fold alone."""
        absent = np.argwhere((squares[:-1] == 0) & (squares[-1] > 0))
        if len(absent):
            fit, column = absent[0].tolist()
            raise ModelError(
                f"column {self.plan.columns[column]!r} is 0 in every training record "
                f"of fold {fit + 1}, so that nothing is learnt there of its level or "
                "its values, which that fold holds out. Merge levels in the plan, or "
                "agree on other folds."
            )

    def _solve(self, matrix: Floats, gradient: Floats) -> Floats:
        """Return the step, from the information scaled to a unit diagonal."""
        diagonal = np.diag(matrix)
        unit = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        values, vectors = np.linalg.eigh(matrix / unit / unit[:, None])
        self._least = min(self._least, float(values[0]))
        if not values[0] > MIN_EIGENVALUE:
            worst = np.argsort(-np.abs(vectors[:, 0]))[:2]
            names = " and ".join(repr(self.plan.columns[i]) for i in sorted(worst))
            raise ModelError(
                "the information over all sites is singular: columns, most of all "
                f"{names}, are linearly dependent, or the classes are separated. Leave "
                "a column out, or agree on model='ridge' or 'firth'."
            )
        turned = vectors.T @ (gradient / unit)
        return np.asarray(vectors @ (turned / values) / unit)


# ---- held-out predictions ----


class Predictor(Protocol):
    """The fits of all folds, as far as held-out records are concerned."""

    def held_out(self, records: SiteRecords) -> Floats:
        """Return the linear predictor of each record from the fit that holds it out."""


def score_sums(records: SiteRecords, progress: Progress) -> Arrays:
    """Return what a site says of its held-out predictions, once the fits have ended."""
    plan, fits = records.plan, progress.predictor
    made: Arrays = {"losses": losses(records, fits)}
    if not plan.grown:  # sums of columns, and of their products with the predictor
        trained = records.training[: plan.k]
        eta = trained * (progress.fits.beta[: plan.k] @ records.X.T)
        made["moments"] = np.stack([trained @ records.X, eta @ records.X], axis=1)
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


def losses_of(plan: SitesPlan, eta: Floats, y: Floats) -> dict[str, Floats]:
    """Return the losses of held-out records, and what else is summed in each fold."""
    if plan.binary:
        p = expit(eta)
        log_loss = np.logaddexp(0, eta) - y * eta
        return {"brier": (y - p) ** 2, "log_loss": log_loss, "predicted": p}
    errors = {"mse": (y - eta) ** 2, "mae": np.abs(y - eta)}
    return {**errors, "predicted": eta, "observed": y, "observed_squared": y**2}


def loss_names(plan: SitesPlan) -> tuple[str, ...]:
    """Return the sums over held-out records that a site sends, for each fold."""
    return tuple(losses_of(plan, np.zeros(0), np.zeros(0)))


def losses(records: SiteRecords, fits: Predictor) -> Floats:
    """Return the sums of :func:`loss_names` in each fold, shape (k, names)."""
    plan = records.plan
    each = losses_of(plan, fits.held_out(records), records.y).values()
    return np.column_stack([np.bincount(records.fold, one, plan.k) for one in each])


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
    at = [np.abs(edges - logit(share)).argmin() for share in plan.decisions]
    wanted = np.isin(np.arange(len(edges)), at)  # where decisions are made
    return packed(
        [Cells.of(one, plan.cell, wanted) for one in number.reshape(-1, bins)]
    )


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
        of_own = [(y - own).sum(), (own * (1 - own)).sum()]
        return np.array([*of_own, r.sum(), r @ eta, w.sum(), w @ eta, w @ eta**2])

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
