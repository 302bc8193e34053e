"""Risks of models of times to an event that other libraries fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.partial_likelihood import partial_likelihood
from statcv.numeric.logistic import expit
from statcv.numeric.survival import risk_of


@dataclass(frozen=True, eq=False)
class ProportionalHazards:
    """The risks that follow from the logarithm of a hazard relative to a baseline.

    Attributes
    ----------
    baseline : numpy.ndarray, shape (…, horizons)
        The logarithm of the cumulative baseline hazard at each horizon.
    """

    baseline: Matrix

    @classmethod
    def of(cls, training: TrainingSet, eta: Matrix) -> ProportionalHazards:
        """Estimate the baseline of a training set as Breslow does.

        Parameters
        ----------
        training : TrainingSet
        eta : numpy.ndarray, shape (n,)
            The logarithms of its relative hazards, which are taken as given.

        Examples
        --------
        >>> y = np.array([1.0, 2.0, -3.0, 4.0])
        >>> training = TrainingSet(
        ...     np.ones((4, 1)), y, "survival", 0, ("one",), 0, None, 0, horizons=(2.5,)
        ... )
        >>> hazards = ProportionalHazards.of(training, np.zeros(4))
        >>> np.exp(hazards.baseline).round(4)  # 1/4 + 1/3
        array([0.5833])
        """
        none = np.empty((len(eta), 0))
        alone = partial_likelihood(none, training.y, False, training.weights)
        rows = eta[None, None, alone.sets.order]
        return cls(alone.log_baseline(rows, training.horizons)[0, 0])

    def __call__(self, eta: Matrix) -> Matrix:
        """Return log hazards and risks, (…, 1 + horizons), at log hazards (…,)."""
        eta = eta[..., None]
        return np.concatenate([eta, risk_of(eta + self.baseline)], axis=-1)


@dataclass(frozen=True)
class AcceleratedTimes:
    """The risks that follow from the mean logarithm of the time.

    Attributes
    ----------
    horizons : tuple of float
    distribution : {"normal", "logistic", "extreme"}
        Distribution of the logarithm about that.
    scale : float
    """

    horizons: tuple[float, ...]
    distribution: str
    scale: float

    def __call__(self, mean: Matrix) -> Matrix:
        """Return minus the mean logarithm of the time, and risks: (m, 1 + horizons)."""
        from scipy.special import ndtr

        z = (np.log(np.asarray(self.horizons)) - mean[:, None]) / self.scale
        if self.distribution == "normal":
            risks = ndtr(z)
        elif self.distribution == "logistic":
            risks = expit(z)
        else:  # the extreme value distribution, of which Weibull's is the exponential
            risks = risk_of(z)
        return np.column_stack([-mean, risks])
