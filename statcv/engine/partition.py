"""Many records of which every fit leaves out its own, so that the fits are alike.

The influence of a record through the fits is Σ x'c_f r_f / (1 - h_f) over the fits f
that were trained on it, where c_f is what the fit's information makes of the metric's
derivative by its coefficients. The residual r_f and the leverage h_f differ little
between fits, so that for all records the residual of the mean fit stands for all, and
no leverage is taken. What this leaves out is computed for a sample of the records, to
which no approximation applies but that of the information: it is taken at the mean
fit, and corrected by the same sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine.information import inverted
from statcv.engine.rows import Rows
from statcv.engine.scale import Moments, Scale
from statcv.models.batched import information_of, quadratic_of
from statcv.models.likelihood import Likelihood
from statcv.threads import product, ranges, shared

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

MOST = 0.8  # leverage; with more, a Newton step goes astray
MANY = 2**17  # records, whose fits are alike
PIECE = 2**14  # records whose rows are read at once,
SHARES = 8  # and shares of the pieces that threads take
SAMPLE, SHARE = 2**15, 32  # the least size of the sample, and one in so many records


@dataclass(frozen=True, eq=False)
class Partition:
    """Fits to the same rows, each of which leaves out records that no other does.

    Attributes
    ----------
    basis : numpy.ndarray, shape (n, p)
        The rows of all records.
    y : numpy.ndarray, shape (n,)
        The coded outcome.
    beta, penalty : numpy.ndarray, shape (fits, p)
        The coefficients and their ridge.
    given : numpy.ndarray, shape (n,), or None
        The weights of the records; None if all are 1.
    owner : numpy.ndarray of int, shape (n,)
        The fit that was not trained on each record.
    likelihood : Likelihood
        The likelihood that the fits maximise.
    """

    basis: Floats
    y: NDArray[Any]
    beta: Floats
    penalty: Floats
    given: Floats | None
    owner: NDArray[np.uint8]
    likelihood: Likelihood

    # ---- what does not depend on a metric ----

    @property
    def scale(self) -> Scale:
        """The scale of the linear predictors in the training sets."""
        return self._sums.scale

    @property
    def own(self) -> Floats:
        """The linear predictor of each record in the fit that leaves it out."""
        return self._sums.own

    @cached_property
    def inverse(self) -> Floats:
        """The inverse of the penalised information of each fit, (fits, p, p)."""
        return inverted(self._information, self.penalty)

    @cached_property
    def doubt(self) -> float:
        """By how much influences may be wrong because the information may be.

        It is a factor of the lengths of c_f in the metric of the information, and
        comes from what the two halves of the sample say of the information.
        """
        apart = (self._corrections[0] - self._corrections[1]) / 2
        pull = self._sums.pull[self.sample]
        squares = information_of(self._rows, pull[None] ** 2)
        squares *= len(self.basis) / len(self.sample)
        mean = self._information.mean(axis=0)
        used = np.isfinite(self.penalty).all(axis=0) & (np.diag(mean) > 0)
        try:
            root = np.linalg.inv(np.linalg.cholesky(mean[used][:, used]))
        except np.linalg.LinAlgError:
            return np.inf
        wrong, size = (
            np.abs(np.linalg.eigvalsh(root @ one[:, used][:, :, used] @ root.T)).max()
            for one in (apart, squares)
        )
        return float(wrong * np.sqrt(size))

    @cached_property
    def _information(self) -> Floats:
        """The information of each fit, at the mean fit and corrected by the sample."""
        held = self._sums.information
        return np.asarray(held.sum(axis=0) - held + np.mean(self._corrections, axis=0))

    @cached_property
    def _corrections(self) -> tuple[Floats, Floats]:
        """What either half of the sample adds to the information of each fit."""
        apart = self._curvature - self._curvature_of(self.beta.mean(axis=0)[None])
        apart *= self._trained
        times = 2 * len(self.basis) / len(self.sample)
        rows = self._rows

        def half(first: int) -> Floats:
            return information_of(rows[first::2], apart[:, first::2]) * times

        one, other = shared(half, (0, 1), 2.0 * apart.size * rows.shape[1] ** 2)
        return one, other

    @cached_property
    def sample(self) -> Numbers:
        """The records of the sample, in order: one from each of many ranges."""
        n = len(self.basis)
        size = min(n, max(SAMPLE, n // SHARE))
        place = np.arange(size) + np.random.default_rng(0).uniform(size=size)
        return np.minimum((place * (n / size)).astype(np.intp), n - 1)

    @cached_property
    def _rows(self) -> Floats:
        """The rows of the sample."""
        return self.basis[self.sample]

    @cached_property
    def reach(self) -> Floats:
        """The pull of the sample, as long as a Newton step without it, (fits, s)."""
        leverage = (
            quadratic_of(self._rows, self.inverse) * self._curvature * self._trained
        )
        eta, y = self.beta @ self._rows.T, self.y[None, self.sample]
        pull = self.likelihood.residual(y, eta) * self._trained
        return np.asarray(pull / (1 - np.clip(leverage, 0.0, MOST)))

    @cached_property
    def _curvature(self) -> Floats:
        return self._curvature_of(self.beta)

    def _curvature_of(self, beta: Floats) -> Floats:
        eta = beta @ self._rows.T
        return self.likelihood.curvature(self.y[None, self.sample], eta)

    @cached_property
    def _trained(self) -> Floats:
        """The training weights of the sample, shape (fits, s)."""
        fits = np.arange(len(self.beta))[:, None]
        inside: Floats = (self.owner[self.sample] != fits).astype(np.float64)
        if self.given is not None:
            inside *= self.given[self.sample]
        return inside

    @cached_property
    def _sums(self) -> _Sums:
        """The sums over the records that each fit leaves out, from one pass."""
        (n, p), fits = self.basis.shape, len(self.beta)
        own, pull = np.empty((2, n))
        centre = self._rows.mean(axis=0)
        middle = self.beta @ centre
        add = partial(self._add, centre, middle, own, pull)
        parts = zip(*shared(add, self._shares, self._cost(p)), strict=True)
        whole, made, (total, curvature) = (np.sum(one, axis=0) for one in parts)
        held, sums, apart = made[:, :p], made[:, p : p + 2], made[:, p + 2]
        mixed = apart[:, :, None] * centre
        held = held + mixed + mixed.transpose(0, 2, 1)
        held += curvature[:, None, None] * np.outer(centre, centre)
        rest = sums[:, 0].sum(axis=0) - sums[:, 0]
        along = self.beta @ whole - sums[:, 1]
        first, weight = np.einsum("bp,bp->b", self.beta, rest), total.sum() - total
        moments = Moments(
            rows=Rows(self.basis),
            beta=self.beta,
            middle=middle[:, None],
            total=weight,
            first=first,
            second=np.einsum("bp,bp->b", self.beta, along),
            largest=np.full(fits, max(own.max(), -own.min())),
            sums=rest + weight[:, None] * centre,
            products=along + first[:, None] * centre,
        )
        return _Sums(own, pull, held, moments.scale())

    def _add(
        self, centre: Floats, middle: Floats, own: Floats, pull: Floats, share: range
    ) -> tuple[Floats, Floats, Floats]:
        """Sum over the records of some pieces, whose rows x a centre is taken from.

        Linear predictors and pulls are put in their places. With the weight w of a
        record, its linear predictor e less that of the centre in the same fit, and its
        curvature c in the mean fit, the sums are those of wxx', shape (p, p); for each
        fit those of cxx', wx, wex and cx, (fits, p + 3, p); and of w and c, (2, fits).
        """
        (_, p), fits = self.basis.shape, len(self.beta)
        whole, made, totals = (
            np.zeros(shape) for shape in ((p, p), (fits, p + 3, p), (2, fits))
        )
        mean, room = self.beta.mean(axis=0), np.empty((PIECE, p + 3))
        for place, bounds, part in self._pieces(share):
            part -= centre
            y, eta, side = self.y[place], part @ mean, room[: len(part)]
            eta += mean @ centre
            residual = self.likelihood.residual(y, eta)
            curved = self.likelihood.curvature(y, eta)
            ends = list(pairwise(bounds))
            for fit, (a, b) in enumerate(ends):
                np.dot(part[a:b], self.beta[fit], out=eta[a:b])
            own[place] = eta + middle.repeat(np.diff(bounds))
            if self.given is None:
                side[:, p] = 1.0
                whole += product(part.T, part)
            else:
                weights = self.given[place]
                residual *= weights
                curved *= weights
                eta *= weights
                side[:, p] = weights
                whole += product(part.T * weights, part)
            pull[place] = residual
            np.multiply(part, curved[:, None], out=side[:, :p])
            side[:, p + 1], side[:, p + 2] = eta, curved
            for fit, (a, b) in enumerate(ends):
                made[fit] += product(side[a:b].T, part[a:b])
                totals[:, fit] += side[a:b, p].sum(), curved[a:b].sum()
        return whole, made, totals

    def _cost(self, operations: int) -> float:
        """Return about what a share takes, with some operations for each number."""
        return 4.0 * self.basis.size * operations / len(self._shares)

    @property
    def _shares(self) -> list[range]:
        """The numbers of the pieces, in shares that threads may take."""
        return ranges(len(self._bounds), SHARES)

    def _pieces(self, share: range) -> Iterator[tuple[Numbers, list[int], Floats]]:
        """Yield the records in pieces, each in the order of the fits.

        These are the records, where those of each fit begin, and a copy of their rows,
        which is overwritten by the next.
        """
        rows = np.empty((min(PIECE, len(self.basis)), self.basis.shape[1]))
        for number in share:
            (start, bounds), order = self._bounds[number], self._orders[number]
            part = rows[: len(order)]
            self.basis[start : start + PIECE].take(order, axis=0, out=part, mode="clip")
            yield order.astype(np.intp) + start, bounds, part

    @cached_property
    def _orders(self) -> list[NDArray[np.uint16]]:
        """The order of the records of each piece, by the fit that leaves them out."""
        return [
            np.argsort(self.owner[start : start + PIECE], kind="stable").astype(
                np.uint16
            )
            for start, _ in self._bounds
        ]

    @cached_property
    def _bounds(self) -> list[tuple[int, list[int]]]:
        """The first record of each piece, and where those of each fit begin."""
        bounds, fits = [], len(self.beta)
        for start in range(0, len(self.basis), PIECE):
            counts = np.bincount(self.owner[start : start + PIECE], minlength=fits)
            bounds.append((start, [0, *np.cumsum(counts).tolist()]))
        return bounds

    # ---- what depends on a metric ----

    def by_coefficients(self, slopes: Floats) -> Floats:
        """Return the derivatives by the coefficients of functions of predictions.

        Parameters
        ----------
        slopes : numpy.ndarray, shape (m, n)
            The derivatives by the linear predictor of each record.

        Returns
        -------
        numpy.ndarray, shape (m, fits, p)
        """

        def add(share: range) -> Floats:
            found = np.zeros((len(slopes), *self.beta.shape))
            for place, bounds, part in self._pieces(share):
                some = slopes.take(place, axis=1)
                for fit, (a, b) in enumerate(pairwise(bounds)):
                    found[:, fit] += product(some[:, a:b], part[a:b])
            return found

        made = shared(add, self._shares, self._cost(len(slopes)))
        return np.asarray(np.sum(made, axis=0))

    def changes(self, targets: Floats) -> list[Changes]:
        """Return the derivatives by the weight of each record, summed over the fits.

        Parameters
        ----------
        targets : numpy.ndarray, shape (m, fits, p)
            The derivatives by the coefficients, of m functions.
        """
        solved = np.einsum("bpq,mbq->mbp", self.inverse, targets)
        every = np.empty((len(targets), len(self.basis)))
        rest = solved.sum(axis=1, keepdims=True) - solved
        pull = self._sums.pull

        def put(share: range) -> None:
            for place, bounds, part in self._pieces(share):
                moved = np.empty((len(targets), len(part)))
                for fit, (a, b) in enumerate(pairwise(bounds)):
                    moved[:, a:b] = product(rest[:, fit], part[a:b].T)
                moved *= pull[place]
                for row, one in zip(every, moved, strict=True):
                    row[place] = one

        shared(put, self._shares, self._cost(len(targets)))
        length = np.sqrt(np.maximum(np.einsum("mbp,mbp->mb", solved, targets), 0.0))
        error, rows, reach = self.doubt * length.sum(axis=1), self._rows.T, self.reach

        def exact(function: int) -> Floats:
            each = solved[function] @ rows
            return np.asarray(np.einsum("bs,bs->s", each, reach))

        found = shared(exact, range(len(targets)), 2.0 * reach.size * len(rows))
        return [
            Changes(one, float(off), self.sample, own)
            for one, off, own in zip(every, error, found, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Changes:
    """The derivatives of a function of predictions by the weight of each record.

    Attributes
    ----------
    every : numpy.ndarray, shape (n,)
        The derivatives, or what is near them.
    error : float
        By how much the root of the sum of their squares may be wrong if those of the
        sample are exact.
    sample : numpy.ndarray of int, shape (s,), or None
        Some of the records; None if all derivatives are exact.
    exact : numpy.ndarray, shape (s,), or None
        The derivatives by the weights of these.
    """

    every: Floats
    error: float = 0.0
    sample: Numbers | None = None
    exact: Floats | None = None

    def plus(self, other: Changes) -> Changes:
        """Add the derivatives of another function, of the same sample if of any."""
        every, error = self.every + other.every, self.error + other.error
        sample = other.sample if self.sample is None else self.sample
        if sample is None:
            return Changes(every)
        one, two = (
            of.every[sample] if of.exact is None else of.exact for of in (self, other)
        )
        return Changes(every, error, sample, one + two)

    def times(self, factor: float) -> Changes:
        """Return the derivatives of a multiple of the function."""
        exact = None if self.exact is None else self.exact * factor
        return Changes(self.every * factor, self.error * factor, self.sample, exact)


@dataclass(frozen=True, eq=False)
class _Sums:
    """What one pass over the records finds.

    Attributes
    ----------
    own, pull : numpy.ndarray, shape (n,)
        The linear predictor of each record in the fit that leaves it out, and the
        derivative of its log-likelihood in the mean fit.
    information : numpy.ndarray, shape (fits, p, p)
        The information of the mean fit in the records that each fit leaves out.
    scale : Scale
        The scale of the linear predictors in the training sets.
    """

    own: Floats
    pull: Floats
    information: Floats
    scale: Scale
