"""Fits of all folds from sums over sites.

Each site adds up log-likelihood, gradient and information of its own training records.
The sums over sites are published, and from them every site makes the same Newton step,
so that nobody else chooses the coefficients at which it is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from statcv.errors import ModelError
from statcv.sites.plan import SitesPlan
from statcv.sites.records import SiteRecords

Floats = NDArray[np.float64]

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
    beta: Floats
    information: Floats
    open: NDArray[np.bool_]
    _from: Floats
    _objective: Floats
    _steps: int = field(default=0)
    _least: float = field(default=0.0)

    @classmethod
    def start(cls, plan: SitesPlan) -> SummedFits:
        """Return fits whose coefficients are all 0."""
        fits, q = plan.k + 1, plan.n_columns
        return cls(
            plan=plan,
            beta=np.zeros((fits, q)),
            information=np.zeros((fits, q, q)),
            open=np.ones(fits, dtype=bool),
            _from=np.zeros((fits, q)),
            _objective=np.full(fits, -np.inf),
        )

    @property
    def penalty(self) -> Floats:
        """The ridge on each coefficient."""
        ridge = np.zeros(self.plan.n_columns)
        if self.plan.model["C"] is not None:
            ridge += 1 / self.plan.model["C"]
            if self.plan.intercept is not None:
                ridge[self.plan.intercept] = 0.0
        return ridge

    def held_out(self, records: SiteRecords) -> Floats:
        """Return the linear predictor of each record from the fit that holds it out."""
        return np.asarray(np.einsum("ij,ij->i", records.X, self.beta[records.fold]))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the sums that the next step needs."""
        fits, q = int(self.open.sum()), self.plan.n_columns
        made: dict[str, tuple[int, ...]] = {
            "likelihood": (fits,),
            "gradient": (fits, q),
            "information": (fits, q * (q + 1) // 2),
        }
        if self.plan.model["firth"]:
            made["firth"] = (fits, q)
        return made

    def sums(self, records: SiteRecords) -> dict[str, NDArray[Any]]:
        """Return the sums over the training records of one site.

        Gradients alone decide where the fits end. The information, which makes up most
        of a message, is therefore sent in single precision if columns are far from
        dependent; Firth's gradient depends on it too.
        """
        upper = np.triu_indices(self.plan.n_columns)
        made: dict[str, list[Any]] = {name: [] for name in self.shapes()}
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
            made["likelihood"].append(value)
            made["gradient"].append(X.T @ (y - mean))
            made["information"].append(((X * weight[:, None]).T @ X)[upper])
            if "firth" in made:
                made["firth"].append(self._firth(int(fit), X, mean, weight))
        sums = {name: np.array(values) for name, values in made.items()}
        if self._least > MIN_EIGENVALUE_FOR_SINGLE and "firth" not in sums:
            sums["information"] = sums["information"].astype("<f4")
        return sums

    def _firth(self, fit: int, X: Floats, mean: Floats, weight: Floats) -> Floats:
        """Return the gradient of Firth's penalty, with the last information."""
        if not self._steps:
            return np.zeros(X.shape[1])
        inverse = np.linalg.inv(self.information[fit])
        leverage = weight * np.einsum("ij,jk,ik->i", X, inverse, X)
        return np.asarray(X.T @ (leverage * (0.5 - mean)))

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
