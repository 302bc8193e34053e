"""The AUC at a horizon of held-out risks on noise, without a fit."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom, hypergeom, norm

DRAWS = 200_000  # pairs of records that an expectation is taken over


def without_covariates(n: int, k: int, share: float) -> float:
    """Return the expected AUC under random folds of the risk in the training set.

    Parameters
    ----------
    n : int
        Number of records, none of which is censored by the horizon.
    k : int
        Number of folds, which divides `n`.
    share : float
        Probability of the event by the horizon.

    Returns
    -------
    float
        The expectation over the number of events and over the folds, by enumeration.

    Examples
    --------
    >>> without_covariates(40, 40, 0.48)
    0.0
    >>> round(without_covariates(40, 10, 0.48), 3)
    0.247
    """
    size = n // k
    counts = np.arange(1, n)  # there are a case and a control
    weights = binom.pmf(counts, n, share)
    others = np.arange(size)  # events among the other records of a fold
    here, there = others[:, None], others
    auc = []
    for events in counts:
        # beside a case in the one fold, and a control in the other
        first = hypergeom.pmf(here, n - 2, events - 1, size - 1)
        left = np.clip(events - 1 - here, 0, n - 1 - size)  # else `first` is 0
        chance = first * hypergeom.pmf(there, n - 1 - size, left, size - 1)
        fewer = (1 + here < there) + 0.5 * (1 + here == there)
        auc.append((chance * fewer).sum())
    same = (size - 1) / (n - 1)  # one fold has both, and predicts one risk
    expected = float(weights @ np.array(auc) / weights.sum())
    return 0.5 * same + (1 - same) * expected


def leave_one_out(
    n: int,
    covariates: int,
    horizon: float,
    *,
    penalty: float = 0.0,
    censoring: float = 0.0,
    after: float = 0.0,
    events: float | None = None,
    seed: int = 1,
) -> float:
    """Return the AUC of the leave-one-out risks of Cox regressions, to first order.

    Parameters
    ----------
    n : int
    covariates : int
        Number of independent normal covariates of variance 1.
    horizon : float
        Horizon, where times to the event have hazard 1.
    penalty : float, default 0
        Factor of half the sum of squared coefficients, which is ``1 / C``.
    censoring : float, default 0
        Hazard of censoring.
    after : float, default 0
        Time before which no record is censored.
    events : float, optional
        Expected number of events; from the hazards unless given.
    seed : int, default 1
        Seed for the pairs of records over which the mean is taken.

    Examples
    --------
    >>> round(leave_one_out(40, 1, 0.65, censoring=1 / 3, after=0.7), 2)
    0.27
    >>> leave_one_out(40, 5, 0.65, penalty=1e9) < 0.001
    True
    """
    rng = np.random.default_rng(seed)
    if events is None:
        late = math.exp(-after) / (1 + censoring)
        events = n * (1 - math.exp(-after) + late)
    xi, xj = rng.normal(size=(2, DRAWS, covariates))
    risk = 1 - math.exp(-horizon)
    case = -np.log1p(-risk * rng.uniform(size=DRAWS))  # its time, by the horizon
    rate = 1 + (censoring if after < horizon else 0.0)

    def at_risk(time: float | np.ndarray) -> float | np.ndarray:
        return n * np.exp(-rate * time)

    # what the hazard by the horizon loses without the case, beside without the control
    lost = 1 / at_risk(case)
    lost = lost + (1 / at_risk(horizon) - 1 / at_risk(case)) / rate
    intercept = lost / horizon
    # martingale residuals of a case minus those of a control, on average
    slope = (xi * xj).sum(axis=1) * horizon / risk / (events + penalty)
    distance = np.sqrt(((xi - xj) ** 2).sum(axis=1) * events) / (events + penalty)
    return float(norm.cdf(-(intercept + slope) / distance).mean())
