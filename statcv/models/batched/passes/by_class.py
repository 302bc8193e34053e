"""Inverse Hessians of several classes, from those of each class alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.passes.updates import Inverses


@dataclass(frozen=True, eq=False)
class ByClass:
    """Approximate inverses that leave out what ties the classes of a fit.

    There is a matrix for each class. In the directions that are free, in which what all
    classes have in common does not count, they differ by little from the inverse of the
    Hessian: only by a factor where classes are equally likely.

    Attributes
    ----------
    each : Inverses
        The matrices of the classes of each fit, one fit after the other.
    basis : numpy.ndarray, shape (classes, free)
        What coefficients are combinations of.
    fits : int
        The number of fits.
    scale : numpy.ndarray, shape (q,), or float
        What coordinates are multiplied by.
    """

    each: Inverses
    basis: Matrix
    fits: int
    scale: Matrix | float = 1.0

    def times(self, gradients: Matrix) -> Matrix:
        """Return the step that the matrices make of a gradient, shape (m, q)."""
        fits, (classes, free) = len(gradients), self.basis.shape
        by_free = (gradients * self.scale).reshape(fits, free, -1)
        by_class = np.matmul(self._turn, by_free)
        p = by_class.shape[2]
        steps = self.each.times(by_class.reshape(-1, p)).reshape(fits, classes, -1)
        made = np.matmul(self._turn.T, steps).reshape(fits, free, -1, p)
        return np.asarray(made.swapaxes(1, 2).reshape(fits, -1) * self.scale)

    @cached_property
    def _turn(self) -> Matrix:
        """What turns gradients by the free into those by the classes."""
        # the least gradient by classes that has the given derivatives by what is free
        return np.asarray(np.linalg.pinv(self.basis).T)

    @property
    def single(self) -> bool:
        """Whether the matrices of the classes are of single precision."""
        return self.each.single

    def part(self, chosen: NDArray[Any]) -> ByClass:
        """Return the inverses of some of the fits."""
        numbers = np.arange(self.fits * len(self.basis)).reshape(self.fits, -1)[chosen]
        each = self.each.part(numbers.ravel())
        return replace(self, each=each, fits=len(numbers))
