"""What the information of multinomial fits makes of derivatives by coefficients.

The information has rows for each column of each class. Where these are many, equations
are solved by conjugate gradients (Hestenes & Stiefel 1952), which need products with
it alone; the inverses of the matrices of single classes, which are much smaller, bring
them near in few steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from statcv.engine.information import inverted, solve
from statcv.engine.rows import Rows
from statcv.models.batched import information_of, of_all_classes
from statcv.threads import product, ranges, shared

Floats = NDArray[np.float64]

EXACT = 1e-10  # share of the length of a solution, by which it may be wrong,
FEW_DIGITS = 1e-4  # and where a few digits are enough
ALIKE = 8  # fits, the inverse of whose mean leaves little to do
FEW, USUAL, MOST = 10, 60, 300  # steps that are then expected, and if not; and the most
SOON = 0.4  # share of the steps that lead to a few digits
APART = 1e-4  # share that makes matrices of two classes alike differ from others
NARROW = 64  # columns, whose products are made once for all pairs of classes
PIECE, SHARES = 2**12, 8  # records at once, and shares of them that threads take
TOGETHER, ROOM = 8, 2**22  # functions side by side, at most, and numbers for each step


@dataclass(frozen=True, eq=False)
class InformationOfClasses:
    """The penalised information of some multinomial fits.

    Attributes
    ----------
    rows : Rows
        The matrices of all records.
    shares : numpy.ndarray, shape (fits, classes, n)
        The probabilities of the classes.
    counts : numpy.ndarray, shape (fits, n)
        The training weights.
    penalty : numpy.ndarray, shape (fits, p)
        The ridge of each coefficient; infinite for one that is 0.
    """

    rows: Rows
    shares: Floats
    counts: Floats
    penalty: Floats

    def solve(self, targets: Floats, rough: NDArray[np.bool_]) -> Floats:
        """Return the vectors of which the information makes others.

        Parameters
        ----------
        targets : numpy.ndarray, shape (m, fits, classes, p)
            The vectors that it makes, of m functions.
        rough : numpy.ndarray of bool, shape (m,)
            For which functions a few digits are enough.

        Returns
        -------
        numpy.ndarray, shape (m, fits, classes, p)
            Coefficients that are not determined are 0, or the same in all classes.
        """
        if self._steps_pay(rough):
            found = self._by_steps(targets, rough)
            if found is not None:
                return found
        functions, fits, classes, p = targets.shape
        given = targets.transpose(1, 2, 3, 0).reshape(fits, classes * p, functions)
        solved = solve(self._matrices, np.tile(self.penalty, classes), given)
        return solved.transpose(2, 0, 1).reshape(targets.shape)

    def times(self, vectors: Floats) -> Floats:
        """Return what the information makes of vectors, (m, fits, classes, p)."""
        moved = self.rows.along_each(vectors)
        moved *= self.shares
        moved -= self.shares * moved.sum(axis=2, keepdims=True)
        moved *= self.counts[:, None]
        return np.asarray(self.rows.sums_of_each(moved) + self._ridge * vectors)

    def _by_steps(self, targets: Floats, rough: NDArray[np.bool_]) -> Floats | None:
        """Solve by conjugate gradients; None if the steps do not come to an end."""
        found, _ = np.empty_like(targets), self._inverses

        def put(some: NDArray[np.intp]) -> bool:
            enough = FEW_DIGITS if rough[some[0]] else EXACT
            found[some], done = self._steps(targets[some], enough)
            return done

        parts = [
            some[start : start + self._together]
            for some in (np.flatnonzero(~rough), np.flatnonzero(rough))
            for start in range(0, len(some), self._together)
        ]
        done = shared(put, parts, self._together * self._cost_of_steps)
        return found if all(done) else None

    def _steps(self, targets: Floats, enough: float) -> tuple[Floats, bool]:
        """Step until what is left is short; return whether it became so."""
        solution, rest = np.zeros_like(targets), self._apart(targets)
        step = turned = self._turned(rest)
        size = first = _dot(rest, turned)
        for _ in range(MOST):
            going = size > enough**2 * first
            if not going.any():
                return solution, True
            made = self.times(step)
            length = _ratio(size * going, _dot(step, made))
            solution += length * step
            rest -= length * made
            turned, before = self._turned(rest), size
            size = _dot(rest, turned)
            step = turned + _ratio(size, before) * step
        return solution, False

    def _apart(self, vectors: Floats) -> Floats:
        """Take away what is the same in all classes, where it has no ridge.

        The information makes nothing of it, and predictions do not depend on it.
        """
        free = self._used & (self._ridge[:, 0] == 0)
        same = vectors.mean(axis=2, keepdims=True) * free[:, None]
        return np.asarray(vectors - same)

    def _turned(self, vectors: Floats) -> Floats:
        """Multiply vectors by the inverse of what is near the information."""
        if self._are_alike:
            flat = vectors.reshape(-1, self._inverses.shape[-1])
            return self._apart(product(flat, self._inverses[0]).reshape(vectors.shape))
        made, p = np.empty_like(vectors), vectors.shape[-1]
        for number, inverse in enumerate(self._inverses):
            own = vectors[:, :, number]
            made[:, :, number] = product(own.reshape(-1, p), inverse).reshape(own.shape)
        return self._apart(made)

    @cached_property
    def _are_alike(self) -> bool:
        """Whether fits are so many that they differ little from their mean."""
        return self.rows.own is None and len(self.counts) >= ALIKE

    @cached_property
    def _inverses(self) -> Floats:
        """The inverses of matrices of the mean of fits.

        They are those of single classes, shape (classes, p, p), or if fits are alike
        that of all classes together, (1, Kp, Kp).
        """
        classes, p = self.shares.shape[1], self.penalty.shape[1]
        ridge = np.where(self._used.all(axis=0), self._ridge[:, 0].mean(axis=0), np.inf)
        if self._are_alike:
            whole = of_all_classes(self._by_pair(self._mean), classes)
            return inverted(whole, np.tile(ridge, classes)[None])

        def own(number: int) -> Floats:
            return np.asarray(self._of_pair(number, number).mean(axis=0))

        made = shared(own, range(classes), float(self.counts.size * p**2))
        return inverted(np.array(made), np.tile(ridge, (classes, 1)))

    @cached_property
    def _matrices(self) -> Floats:
        """The information without the penalty, class by class, (fits, Kp, Kp)."""
        narrow = self.penalty.shape[1] <= NARROW
        found = self._of_all_pairs() if narrow else self._by_pair(self._of_pair)
        return of_all_classes(found, self.shares.shape[1])

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        """The pairs of classes."""
        classes = self.shares.shape[1]
        return [(a, b) for a in range(classes) for b in range(a, classes)]

    def _by_pair(self, of: Callable[[int, int], Floats]) -> list[Floats]:
        """Return what a function makes of each pair, (m, p, p) each."""
        cost = float(self.counts.size * self.penalty.shape[1] ** 2)
        return shared(lambda pair: of(*pair), self._pairs, cost)

    def _of_all_pairs(self) -> list[Floats]:
        """Return the sums of all pairs, whose few columns are multiplied once."""
        (n, r), pairs = self.rows.basis.shape, self._pairs
        shape = (len(pairs) * len(self.counts), r, r)

        def add(share: range) -> Floats:
            total = np.zeros(shape)
            for start in share:
                some = slice(start * PIECE, (start + 1) * PIECE)
                weights = [self._weights(*pair, some) for pair in pairs]
                total += information_of(self.rows.basis[some], np.concatenate(weights))
            return total

        shares = ranges(-(-n // PIECE), SHARES)
        parts = shared(add, shares, float(n) / len(shares) * np.prod(shape))
        each = np.split(np.sum(parts, axis=0), len(pairs))
        return [self.rows.between(own) for own in each]

    def _of_pair(self, a: int, b: int) -> Floats:
        """Return the sums of products of columns for two classes, (fits, p, p)."""
        return self.rows.information(self._weights(a, b))

    def _mean(self, a: int, b: int) -> Floats:
        """Return the mean of these sums over fits to the same rows, (1, p, p)."""
        weights = self._weights(a, b).mean(axis=0)[None]
        return self.rows.information(weights) * (1 + APART * (a == b))

    def _weights(self, a: int, b: int, some: slice = slice(None)) -> Floats:
        share = self.counts[:, some] * self.shares[:, a, some]
        return np.asarray(share * ((a == b) - self.shares[:, b, some]))

    @cached_property
    def _used(self) -> NDArray[np.bool_]:
        return np.isfinite(self.penalty)

    @cached_property
    def _ridge(self) -> Floats:
        return np.where(self._used, self.penalty, 0.0)[:, None]

    @property
    def _together(self) -> int:
        """How many functions have steps side by side; none if records are many."""
        return min(TOGETHER, ROOM // max(self.shares.size, 1))

    @property
    def _cost_of_steps(self) -> float:
        """About how many operations the steps for one function take."""
        (fits, classes, n), p = self.shares.shape, self.penalty.shape[1]
        blocks, steps = (1, FEW) if self._are_alike else (classes, USUAL)
        turned = fits * blocks * (classes * p / blocks) ** 2
        return float(steps * (4.0 * fits * classes * n * p + 2.0 * turned))

    def _steps_pay(self, rough: NDArray[np.bool_]) -> bool:
        """Return whether steps take less time than matrices and their decomposition.

        What is known already takes no time.
        """
        if not self._together:
            return False
        (fits, classes, n), p = self.shares.shape, self.penalty.shape[1]
        q, products = classes * p, 2.0 * n * p**2
        pairs, known = classes * (classes + 1) / 2, self.__dict__
        matrices = fits * 2 / 3 * q**3
        matrices += 0.0 if "_matrices" in known else fits * pairs * products
        near = pairs * products + 2.0 * q**3
        if not self._are_alike:
            near = classes * (fits * products + 2.0 * p**3)
        steps = np.where(rough, SOON, 1.0).sum() * self._cost_of_steps
        return bool(steps + (0.0 if "_inverses" in known else near) < matrices)


def _dot(first: Floats, second: Floats) -> Floats:
    return np.asarray(np.einsum("fmkp,fmkp->fm", first, second)[..., None, None])


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Return ratios; 0 where nothing is left."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
