"""Inverses of the Gram matrices of training sets, from that of all records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike

from statcv.models.batched.blocks import Block
from statcv.numeric.arrays import Array, Bools, Floats, Numbers
from statcv.numeric.gram import information_of

# a larger inverse Hessian is treated as missing, by the size of rounding errors
SINGULAR = {"float64": 1e8, "float32": 1e4}


class Inverse(Protocol):
    """The inverses of m positive definite matrices of p columns."""

    def times(self, vectors: Floats) -> Floats:
        """Multiply vectors, shape (m, p), each by its matrix."""

    def part(self, chosen: Array) -> Inverse:
        """Return some of the matrices."""


@dataclass(frozen=True, eq=False)
class Whole:
    """Inverses as they are, shape (m, p, p)."""

    matrices: Floats

    @classmethod
    def of(cls, matrices: Floats) -> Whole:
        """Invert matrices, shape (m, p, p), in their precision."""
        return cls(inverted(matrices))

    @property
    def norm(self) -> Floats:
        """A bound on the largest eigenvalue of each; infinite if unbounded."""
        return _size(self.matrices)

    @property
    def usable(self) -> Bools:
        """Which are not close to being singular, shape (m,)."""
        return np.asarray(self.norm <= SINGULAR[self.matrices.dtype.name])

    def times(self, vectors: Floats) -> Floats:
        """Multiply vectors, shape (m, p), each by its matrix."""
        return np.asarray(np.matmul(self.matrices, vectors[:, :, None])[:, :, 0])

    def part(self, chosen: Array) -> Whole:
        """Return some of the matrices."""
        return Whole(self.matrices[chosen])


@dataclass(frozen=True, eq=False)
class Factored:
    """Inverses by Cholesky factors, which take a sixth of the time of an inverse.

    Attributes
    ----------
    factors : tuple of numpy.ndarray, each of shape (p, p)
        The lower triangles; NaN for a matrix that is not positive definite.
    """

    factors: tuple[Floats, ...]

    @classmethod
    def of(cls, matrices: Iterable[Floats], precision: DTypeLike) -> Factored:
        """Decompose, in place, matrices of which the upper triangles are read."""
        from scipy.linalg.lapack import get_lapack_funcs

        (decompose,) = get_lapack_funcs(("potrf",), dtype=precision)
        settings = {"lower": True, "clean": False, "overwrite_a": True}
        made = (decompose(one.T, **settings) for one in matrices)
        return cls(tuple(np.full_like(f, np.nan) if info else f for f, info in made))

    @property
    def usable(self) -> Bools:
        """Which matrices are positive definite, shape (m,)."""
        return np.array([bool(np.isfinite(one[0, 0])) for one in self.factors])

    def times(self, vectors: Floats) -> Floats:
        """Multiply vectors, shape (m, p), each by its inverse."""
        return np.array(self.solved(vectors), dtype=float)

    def solved(self, vectors: Iterable[Floats]) -> list[Floats]:
        """Multiply vectors by the inverses, in their precision."""
        from scipy.linalg.lapack import get_lapack_funcs

        (solve,) = get_lapack_funcs(("trtrs",), self.factors)
        made = []
        for factor, vector in zip(self.factors, vectors, strict=True):
            # a fifth of the time of potrs, which solves for blocks of vectors
            half, _ = solve(factor, vector.astype(factor.dtype), lower=True)
            made.append(solve(factor, half, lower=True, trans=True)[0])
        return made

    def part(self, chosen: Array) -> Factored:
        """Return some of the matrices."""
        some = np.arange(len(self.factors))[chosen]
        return Factored(tuple(self.factors[one] for one in some))


@dataclass(frozen=True, eq=False)
class Dual:
    """Inverses of I ⊗ D + (I ⊗ Z)'R'R(I ⊗ Z), of the size of the rows that a fit uses.

    By Woodbury's identity they are D⁻¹ − D⁻¹Z'R' (I + RZD⁻¹Z'R')⁻¹ RZD⁻¹.

    Attributes
    ----------
    rows : numpy.ndarray, shape (n, p)
        Those of Z over the root of D, in single precision.
    root : numpy.ndarray, shape (p,)
        The root of the diagonal of D.
    weights : numpy.ndarray, shape (m, n, free, free)
        The roots R of the information of each record about what is free.
    used : sequence of numpy.ndarray
        The records of each fit, which alone have a column in its factor.
    inner : Factored
    """

    rows: Array
    root: Floats
    weights: Array
    used: Sequence[Numbers]
    inner: Factored

    @classmethod
    def of(cls, Z: Floats, diagonal: Floats, weights: Floats) -> Dual:
        """Decompose, for the diagonal of D, and roots of shape (m, n, free, free)."""
        root = np.sqrt(diagonal)
        rows, roots = (Z / root).astype(np.float32), weights.astype(np.float32)
        used = [np.flatnonzero(own.any(axis=(1, 2))) for own in roots]
        products, free = rows @ rows.T, range(roots.shape[-1])

        def inner(fit: int) -> Array:
            own, place = roots[fit, used[fit]].T, used[fit]
            gram, k = products[place][:, place], len(place)
            made = np.zeros((len(free), k, len(free), k), np.float32)
            for a, b in combinations_with_replacement(free, 2):
                for c in free[b:]:  # where both have entries, as roots are triangles
                    made[a, :, b] += gram * own[c, a, :, None] * own[c, b]
            made.flat[:: len(free) * k + 1] += 1
            return made.reshape(len(free) * k, -1)

        factors = Factored.of(map(inner, range(len(roots))), np.float32)
        return cls(rows, root, roots, used, factors)

    def times(self, vectors: Floats) -> Floats:
        """Multiply vectors, shape (m, free × p), each by its inverse."""
        within = vectors.reshape(len(vectors), -1, len(self.root)) / self.root
        across = within.astype(np.float32) @ self.rows.T
        across = np.einsum("mnrc,mcn->mrn", self.weights, across)
        parts = zip(across, self.used, strict=True)
        solved = self.inner.solved([own[:, used].ravel() for own, used in parts])
        for own, used, values in zip(across, self.used, solved, strict=True):
            own[:, used] = values.reshape(len(own), -1)
        across = np.einsum("mnrc,mrn->mcn", self.weights, across)
        made = (within - across @ self.rows) / self.root
        return np.asarray(made.reshape(vectors.shape))

    def part(self, chosen: Array) -> Dual:
        """Return some of the matrices."""
        some = np.arange(len(self.used))[chosen]
        used, inner = [self.used[one] for one in some], self.inner.part(chosen)
        return Dual(self.rows, self.root, self.weights[chosen], used, inner)


@dataclass(frozen=True, eq=False)
class ByClass:
    """Inverses as if the classes of a fit were independent, in their contrasts.

    Attributes
    ----------
    inner : Inverse
        Those of each class of each fit.
    basis : numpy.ndarray, shape (classes, free)
        Orthonormal contrasts.
    """

    inner: Inverse
    basis: Floats

    def times(self, vectors: Floats) -> Floats:
        """Multiply vectors, shape (m, free × p), each by its inverse."""
        (classes, free), m = self.basis.shape, len(vectors)
        each = np.matmul(self.basis, vectors.reshape(m, free, -1))
        made = self.inner.times(each.reshape(m * classes, -1))
        made = np.matmul(self.basis.T, made.reshape(m, classes, -1))
        return np.asarray(made.reshape(vectors.shape))

    def part(self, chosen: Array) -> ByClass:
        """Return some of the matrices."""
        at = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        places = at[:, None] * len(self.basis) + np.arange(len(self.basis))
        return ByClass(self.inner.part(places.ravel()), self.basis)


@dataclass(frozen=True, eq=False)
class OneInverse:
    """One inverse for all fits, shape (p, p)."""

    matrix: Floats

    def times(self, vectors: Floats) -> Floats:
        """Multiply vectors, shape (m, p), by the matrix."""
        return np.asarray(vectors @ self.matrix)

    def part(self, chosen: Array) -> OneInverse:
        """Return the same for some of the fits."""
        return self


@dataclass(frozen=True)
class Identity:
    """An approximate inverse where matrices have a diagonal of 1."""

    def times(self, vectors: Floats) -> Floats:
        """Return the vectors."""
        return vectors

    def part(self, chosen: Array) -> Identity:
        """Return the same for some of the fits."""
        return self


@dataclass(frozen=True, eq=False)
class Downdate:
    """Inverses of I − Σ less · z zᵀ over few rows z, by Woodbury's identity.

    Attributes
    ----------
    rows : numpy.ndarray, shape (m, width, p)
    core : numpy.ndarray, shape (m, width, width)
        The inverses are I + rowsᵀ core rows.
    norm : numpy.ndarray, shape (m,)
        A bound on the largest eigenvalue of each; infinite if unbounded.
    """

    rows: Floats
    core: Floats
    norm: Floats

    def times(self, vectors: Floats) -> Floats:
        """Multiply vectors, shape (m, p), each by its matrix."""
        # I + Z'CZ is never made: its product takes 2 × width × p operations, not p²
        within = np.einsum("bmp,bp->bm", self.rows, vectors)
        within = np.einsum("bmk,bk->bm", self.core, within)
        return np.asarray(vectors + np.einsum("bm,bmp->bp", within, self.rows))

    def part(self, chosen: Array) -> Downdate:
        """Return some of the matrices."""
        return Downdate(self.rows[chosen], self.core[chosen], self.norm[chosen])


def by_lists(Z: Floats, block: Block) -> Downdate:
    """Return the inverse Gram matrices of fits that change few records.

    Parameters
    ----------
    Z : numpy.ndarray, shape (n, p)
        Rows with ``Z.T @ Z`` the identity, except in directions that no fit changes.
    block : Block
        Number of times each row occurs in each fit; weights are ignored.
    """
    return downdated(Z[block.rows], block.less)


def downdated(rows: Floats, less: Floats) -> Downdate:
    """Return the inverses of the identity minus weighted products of few rows.

    Parameters
    ----------
    rows : numpy.ndarray, shape (m, width, p)
    less : numpy.ndarray, shape (m, width)
        How often each row is taken away.
    """
    # Woodbury: a matrix with a row for each change, not for each column, is inverted
    gram = np.matmul(rows, rows.transpose(0, 2, 1))
    inner = inverted(np.eye(rows.shape[1]) - gram * less[:, None, :])
    # eigenvalues are those of the small matrix, and 1 elsewhere
    norm = np.maximum(_size(inner), 1)  # in directions that no row has
    return Downdate(rows, less[:, :, None] * inner, norm)


def by_counts(Z: Floats, block: Block) -> Whole:
    """Return the inverse Gram matrices of fits that change many records, or weights.

    Parameters
    ----------
    Z : numpy.ndarray, shape (n, p)
        As in :func:`by_lists`.
    block : Block
        Weight of each row in each fit.
    """
    counts = np.ones((len(block), len(Z)))
    block.multiply(counts)
    # the identity minus what a fit lacks, and plus what it has twice
    lost = information_of(Z, 1 - counts)
    return Whole.of(np.eye(Z.shape[1]) - lost)


def inverted(matrices: Floats) -> Floats:
    """Invert each matrix; NaN without an inverse."""
    if matrices.shape[-1] == 1:
        with np.errstate(divide="ignore"):
            return np.asarray(1 / matrices)
    try:
        return np.asarray(np.linalg.inv(matrices))
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.full_like(matrices, np.nan)
        # a single singular matrix makes numpy refuse all of them
        return np.concatenate([inverted(one[None]) for one in matrices])


def dot(first: Floats, second: Floats) -> Floats:
    """Return the inner products of rows."""
    return np.asarray(np.einsum("bp,bp->b", first, second))


def _size(matrices: Floats) -> Floats:
    """Frobenius norm, infinite where a matrix is not positive on its diagonal."""
    # the Frobenius norm bounds the largest eigenvalue; one that is NaN bounds nothing
    positive = (np.einsum("bii->bi", matrices) > 0).all(axis=1)
    squares = np.einsum("bij,bij->b", matrices, matrices)
    return np.where(positive & np.isfinite(squares), np.sqrt(squares), np.inf)
