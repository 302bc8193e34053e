"""Chained equations in many training sets at once, with and without the outcome.

A *batch* has one training set, completed once, in each place. The Bayesian draws are
those of Rubin (1987, sections 5.3 and 5.4) and van Buuren (2018, algorithms 3.1 to
3.5): normal regression, predictive mean matching (of type 1, with 5 donors), and
logistic or multinomial regression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import ColumnError, DataError, suggestion
from statcv.formula import Design
from statcv.models.batched.blocks import Block
from statcv.models.batched.problem import Problem
from statcv.models.batched.separate import Penalised
from statcv.models.families import Classes
from statcv.numeric.arrays import Array, Bools, Floats, Numbers
from statcv.numeric.newton import minimise

# ---- imputation models of one column ----


DONORS = 5  # records among which predictive mean matching draws
RIDGE = 1e-5  # share that is added to the diagonal of sums of squares
PRIOR = 0.1  # precision of the coefficients of classes, of standardised columns
CLOSE = 1e-12  # gain in log-likelihood of the last step


@dataclass(frozen=True, eq=False)
class ChainEquation:
    """A model of a column, with coefficients drawn from their posterior.

    Attributes
    ----------
    drawn : numpy.ndarray, shape (batch, columns, classes - 1 or 1)
    sigma : numpy.ndarray, shape (batch,), or None
        Residual standard deviations, for a number that is drawn.
    sorted : numpy.ndarray, shape (batch, n), or None
        Means of the training records, rising, and then infinite, if values are matched.
    donors : numpy.ndarray, shape (batch, n), or None
        The values of these records.
    present : numpy.ndarray of bool, shape (batch, classes), or None
        Which classes the training records have, if it is a factor.
    """

    drawn: Floats
    sigma: Floats | None = None
    sorted: Floats | None = None
    donors: Floats | None = None
    present: Bools | None = None

    def draw(self, rows: Floats, batch: Numbers, u: Floats) -> Floats:
        """Draw values, standardised if numbers are not matched.

        Parameters
        ----------
        rows : numpy.ndarray, shape (k, q, columns)
        batch : numpy.ndarray of int, shape (k,)
            The place in the batch for each q of the rows.
        u : numpy.ndarray, shape (k, q)
            Uniform random numbers.
        """
        from scipy.special import ndtri

        eta = rows @ self.drawn[batch, : rows.shape[2]]
        if self.present is not None:
            eta = np.concatenate([np.zeros_like(eta[..., :1]), eta], axis=-1)
            eta = np.where(self.present[batch][:, None], eta, -np.inf)
            share = np.exp(eta - eta.max(axis=-1, keepdims=True)).cumsum(axis=-1)
            below = share <= u[..., None] * share[..., -1:]
            return np.asarray(below.sum(axis=-1), dtype=float)
        if self.sigma is not None:
            return np.asarray(eta[..., 0] + self.sigma[batch][:, None] * ndtri(u))
        return self._matched(eta[..., 0], batch, u)

    def _matched(self, mean: Floats, batch: Numbers, u: Floats) -> Floats:
        """Draw among the donors whose means are nearest."""
        assert self.sorted is not None and self.donors is not None
        place = np.broadcast_to(batch[:, None], mean.shape)
        n = self.sorted.shape[1]
        count = np.isfinite(self.sorted).sum(axis=1)[place]
        low, high = np.zeros(mean.shape, dtype=np.intp), count.copy()
        for _ in range(n.bit_length()):  # bisection, of all records at once
            middle = (low + high) // 2
            open_ = low < high
            less = self.sorted[place, np.minimum(middle, n - 1)] < mean
            low = np.where(open_ & less, middle + 1, low)
            high = np.where(open_ & ~less, middle, high)
        first = np.clip(low - DONORS, 0, np.maximum(count - 2 * DONORS, 0))
        near = np.minimum(first[..., None] + np.arange(2 * DONORS), n - 1)
        away = np.abs(self.sorted[place[..., None], near] - mean[..., None])
        which = (u * np.minimum(DONORS, count)).astype(np.intp)
        chosen = np.take_along_axis(
            near, np.argsort(away, axis=-1, kind="stable"), axis=-1
        )
        picked = np.take_along_axis(chosen, which[..., None], axis=-1)[..., 0]
        return np.asarray(self.donors[place, picked])


def _correlated(precision: Floats, z: Floats) -> Floats:
    """Return draws of the given precision from standard normal ones, (batch, p)."""
    upper = np.linalg.cholesky(precision).swapaxes(1, 2)
    return np.asarray(np.linalg.solve(upper, z[..., None])[..., 0])


def _spread(beta: Floats, use: Bools) -> Floats:
    """Return coefficients of the used columns among those of all, (batch, d, k)."""
    made = np.zeros((len(beta), len(use), beta.shape[2]))
    made[:, use] = beta
    return made


def numeric_equation(
    D: Floats,
    target: Floats,
    weights: Floats,
    use: Bools,
    z: Floats,
    u: Floats,
    matched: Floats | None,
) -> ChainEquation:
    """Fit a column by least squares, and draw its coefficients.

    Parameters
    ----------
    D : numpy.ndarray, shape (batch, n, d)
    target, weights : numpy.ndarray, shape (batch, n)
    use : numpy.ndarray of bool, shape (d,)
        The columns on which it is regressed.
    z, u : numpy.ndarray, shapes (batch, p) and (batch, n + 1)
        Standard normal and uniform random numbers.
    matched : numpy.ndarray, shape (batch, n), or None
        Values of the records, if values are matched.
    """
    from scipy.special import gammaincinv

    weighted = (D * weights[..., None]).swapaxes(1, 2)
    A, b = (weighted @ D)[:, use][:, :, use], (weighted @ target[..., None])[:, use]
    diagonal = np.einsum("bii->bi", A)
    diagonal += np.where(diagonal > 0, RIDGE * diagonal, 1.0)
    beta = np.linalg.solve(A, b)
    mean = (D @ _spread(np.asarray(beta), use))[..., 0]
    squares = (weights * (target - mean) ** 2).sum(axis=1)
    free = np.maximum(weights.sum(axis=1) - use.sum(), 1.0)
    sigma = np.sqrt(squares / (2 * gammaincinv(free / 2, u[:, 0])))
    # coefficients from their posterior, given the drawn standard deviation (Rubin 1987)
    drawn = _spread(beta + sigma[:, None, None] * _correlated(A, z)[..., None], use)
    if matched is None:
        return ChainEquation(drawn, sigma)
    mean = np.where(weights > 0, mean + 1e-9 * u[:, 1:], np.inf)  # ties at random
    order = np.argsort(mean, axis=1)
    means, donors = (np.take_along_axis(one, order, axis=1) for one in (mean, matched))
    return ChainEquation(drawn, sorted=means, donors=donors)


def class_equation(
    D: Floats, codes: Floats, levels: int, weights: Floats, use: Bools, z: Floats
) -> ChainEquation:
    """Fit a logistic or multinomial regression, and draw its coefficients.

    A weak normal prior keeps the coefficients of separated classes finite.
    """
    X, k = D[..., use], levels - 1
    batch, _, p = X.shape
    own = codes[..., None] == np.arange(levels)
    present = (own & (weights > 0)[..., None]).any(axis=1)
    second = (weights[:, :, None] * X**2).sum(axis=1)
    prior = PRIOR * second / weights.sum(axis=1)[:, None]
    prior[:, 0] = 1e-6  # the constant
    # every class but the first has its own
    prior = np.tile(np.where(prior > 0, prior, 1.0), k)
    family = Classes(codes.astype(np.intp), np.eye(levels)[:, 1:])
    block = Block.of_counts(weights)
    problem = Penalised(Problem(X, None, family, block, None, prior[:, None]))
    beta = minimise(problem, CLOSE).beta
    precision = problem.hessian(problem.linear(beta))
    drawn = (beta + _correlated(precision, z)).reshape(batch, k, p).swapaxes(1, 2)
    return ChainEquation(_spread(drawn, use), present=present)


# ---- the columns that impute each other, as numbers and as codes ----


@dataclass(frozen=True, eq=False)
class Variables:
    """Columns of a design, before the formula is applied.

    Attributes
    ----------
    columns : mapping of str to pandas.Series
        With provisional values where one is missing.
    labels : tuple of numpy.ndarray, or None
        The values that codes stand for: the levels of a factor, or two numbers.
    absent : numpy.ndarray of bool, shape (n, columns)
    """

    columns: Mapping[str, pd.Series[Any]]
    labels: tuple[Array | None, ...]
    absent: Bools

    @classmethod
    def of(cls, design: Design) -> Variables:
        """Take the columns of a design."""
        columns, labels = design.terms.columns, list[Array | None]()
        absent = np.zeros((design.n, len(columns)), dtype=bool)
        for j, (name, column) in enumerate(columns.items()):
            absent[:, j] = design.absent.get(name, False)
            if isinstance(column.dtype, pd.CategoricalDtype):
                labels.append(np.asarray(column.cat.categories))
            elif column.dtype.kind == "M":
                raise DataError(f"impute= has no model for the dates of {name!r}.")
            else:
                distinct = np.unique(column[~absent[:, j]].to_numpy(float))
                labels.append(distinct if len(distinct) == 2 else None)
        return cls(columns, tuple(labels), absent)

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    @cached_property
    def incomplete(self) -> list[int]:
        """The columns in which values are missing."""
        return np.flatnonzero(self.absent.any(axis=0)).tolist()

    @cached_property
    def rows(self) -> Numbers:
        """The records that lack a value."""
        return np.flatnonzero(self.absent.any(axis=1))

    @cached_property
    def place(self) -> Numbers:
        """The place of each record among the incomplete ones, or -1."""
        lacks = self.absent.any(axis=1)
        return np.where(lacks, np.cumsum(lacks) - 1, -1)

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where the columns are among those of an imputation model, after 1."""
        widths = [1 if own is None else len(own) - 1 for own in self.labels]
        ends = np.cumsum([1, *widths])
        return tuple(map(slice, ends[:-1].tolist(), ends[1:].tolist()))

    @cached_property
    def values(self) -> Floats:
        """The numbers and codes of all records."""
        return self.read(self.columns)

    def read(self, columns: Mapping[str, Any] | pd.DataFrame) -> Floats:
        """Return the numbers and codes of columns, shape (rows, columns)."""
        made = []
        for own, (name, learnt) in zip(self.labels, self.columns.items(), strict=True):
            if isinstance(learnt.dtype, pd.CategoricalDtype):
                made.append(columns[name].cat.codes.to_numpy(float))
                continue
            given = columns[name].to_numpy(float, na_value=np.nan)
            made.append(given if own is None else (given >= own[1]).astype(float))
        return np.column_stack(made)

    def frame(self, values: Floats, index: pd.Index[Any]) -> pd.DataFrame:
        """Return rows of numbers and codes as the columns that the formula reads."""
        made: dict[str, Any] = {}
        for j, (name, column) in enumerate(self.columns.items()):
            own, given = self.labels[j], values[:, j]
            made[name] = given if own is None else own[given.astype(np.intp)]
            if isinstance(column.dtype, pd.CategoricalDtype):
                made[name] = pd.Categorical(made[name], dtype=column.dtype)
            elif column.dtype.kind == "b":
                made[name] = made[name].astype(bool)
        return pd.DataFrame(made, index=index)


# ---- chains ----


MOST_LEVELS = 20  # levels of a factor that a multinomial regression imputes, at most
REDUCTION = 1.2  # factor of the spread that longer chains might save, at most
SURE = 0.9999  # share of converged chains, without autocorrelation, that pass
Streams = Sequence[np.random.Generator]


@dataclass(frozen=True, eq=False)
class Chains:
    """Completed training sets, and what imputes other records like them.

    Attributes
    ----------
    variables : Variables
    m, iterations : int
    counts : numpy.ndarray, shape (fits, n)
        How often a fit trains on each record.
    completed : numpy.ndarray, shape (fits, m, n, columns)
        All records with the imputed values of training records, which use the outcome.
        Values of other records are of no use.
    traces : numpy.ndarray, shape (iterations, fits, m, columns)
        The mean imputed value of the training records.
    equations : dict
        The model of a column without the outcome, by number.
    """

    variables: Variables
    m: int
    iterations: int
    counts: Floats
    completed: Floats
    traces: Floats
    equations: dict[int, ChainEquation]

    @cached_property
    def usual(self) -> Floats:
        """The medians or most frequent codes in the training sets, (fits, columns)."""
        own = self.variables
        made = np.empty((len(self.counts), len(own.names)))
        for fit, times in enumerate(self.counts.astype(np.intp)):
            for j, name in enumerate(own.names):
                # a bootstrap sample has a record as often as it was drawn
                given = np.repeat(own.values[:, j], times * ~own.absent[:, j])
                if not len(given):
                    raise DataError(
                        f"column {name!r} has no value at all in a training set, so "
                        "that it cannot be imputed there; leave it out of the formula."
                    )
                if own.labels[j] is None:
                    made[fit, j] = np.median(given)
                else:
                    made[fit, j] = np.bincount(given.astype(np.intp)).argmax()
        return made

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """Means and standard deviations in the training sets, (fits, columns)."""
        known, values = ~self.variables.absent, self.variables.values
        total = self.counts @ known
        mean = self.counts @ (values * known) / total
        apart = (values - mean[:, None]) ** 2 * known
        square = np.einsum("fn,fnc->fc", self.counts, apart) / total
        return mean, np.sqrt(np.where(square > 1e-20 * mean**2, square, 1.0))

    @property
    def unstable(self) -> Numbers:
        """The number of columns of each fit whose chains have not converged.

        The means of a chain in the later half of its iterations differ by more from
        those of others than from each other (Gelman & Rubin 1992): their F statistic
        exceeds what a scale reduction of 1.2 means, and what chance explains.
        """
        from scipy.special import fdtri

        late = self.traces[self.iterations // 2 :]
        k, m = len(late), self.m
        if min(k, m) < 2:
            return np.zeros(len(self.counts), dtype=np.intp)
        within = late.var(axis=0, ddof=1).mean(axis=1)
        between = k * late.mean(axis=0).var(axis=1, ddof=1)
        least = max(k * (REDUCTION**2 - 1 + 1 / k), fdtri(m - 1, m * (k - 1), SURE))
        return np.asarray((between > least * within).sum(axis=1))

    def code(self, j: int, values: Floats, fit: Numbers) -> Floats:
        """Return values, (fits, k), as the columns of an imputation model."""
        own, (centre, scale) = self.variables.labels[j], self.moments
        if own is None:
            return ((values - centre[fit, j, None]) / scale[fit, j, None])[..., None]
        return np.asarray(values[..., None] == np.arange(1, len(own)), dtype=float)

    def decode(
        self, j: int, made: ChainEquation, drawn: Floats, fit: Numbers
    ) -> Floats:
        """Return what a model drew, (fits, k), as values."""
        if made.sigma is None:
            return drawn
        centre, scale = self.moments
        return drawn * scale[fit, j, None] + centre[fit, j, None]

    def fill(self, fit: Numbers, values: Floats, absent: Bools, u: Floats) -> Floats:
        """Impute records without their outcome, shape (k, m, columns).

        Parameters
        ----------
        fit : numpy.ndarray of int, shape (k,)
            The training set from which each record is imputed.
        values, absent : numpy.ndarray, shape (k, columns)
        u : numpy.ndarray, shape (k, iterations, columns, m)
            Uniform random numbers.
        """
        start = np.where(absent, self.usual[fit], values)
        made, places = np.repeat(start[:, None], self.m, axis=1), self.variables.places
        if not self.iterations:
            return made
        coded = [self.code(j, start[:, [j]], fit) for j in range(len(places))]
        D = np.concatenate([np.ones((len(fit), 1, 1)), *coded], axis=2)
        D = np.repeat(D, self.m, axis=1)
        for t in range(self.iterations):
            for j in np.flatnonzero(absent.any(axis=0)).tolist():
                rows, own = np.flatnonzero(absent[:, j]), self.equations[j]
                batch = (fit[rows][:, None] * self.m + np.arange(self.m)).ravel()
                some = D[rows].reshape(len(batch), 1, -1)
                drawn = own.draw(some, batch, u[rows, t, j].reshape(-1, 1))
                drawn = drawn.reshape(-1, self.m)
                made[rows, :, j] = self.decode(j, own, drawn, fit[rows])
                D[rows, :, places[j]] = self.code(j, made[rows, :, j], fit[rows])
        return made

    def check(self, outcome: Floats, normal: Sequence[str]) -> None:
        """Refuse columns that chained equations cannot impute."""
        own = self.variables
        for name in set(normal) - set(own.names):
            raise ColumnError(
                f"normal= names {name!r}, which the formula does not use."
                + suggestion(name, own.names)
            )
        width = own.places[-1].stop + outcome.shape[2]
        for j in own.incomplete:
            name, levels = own.names[j], own.labels[j]
            if levels is not None and len(levels) > MOST_LEVELS:
                raise DataError(
                    f"column {name!r} has missing values and {len(levels)} levels, "
                    f"more than the {MOST_LEVELS} that are imputed; merge rare levels, "
                    "or use impute='median'."
                )
            known = int((self.counts @ ~own.absent[:, j]).min())
            if known <= width:
                raise DataError(
                    f"{name!r} is known in {known} records of a training set, too few "
                    f"for an imputation model of {width} columns; use fewer columns, "
                    "or impute='median'."
                )


def run_chains(
    chains: Chains,
    outcome: Floats,
    streams: Streams,
    normal: Sequence[str],
    every: bool,
) -> None:
    """Impute training sets with their outcome, and learn to impute without it.

    Parameters
    ----------
    chains : Chains
        Without equations; values and traces are written to its arrays.
    outcome : numpy.ndarray, shape (fits, n, columns of the outcome)
        As it is used in each training set, 0 outside.
    streams : sequence of numpy.random.Generator
        That of each fit.
    normal : sequence of str
        Columns that are drawn from a normal distribution.
    every : bool
        Whether columns without missing values get a model, too.
    """
    chains.check(outcome, normal)
    own, V, counts = chains.variables, chains.completed, chains.counts
    (fits, m, n, _), width = V.shape, own.places[-1].stop
    lacking = {j: np.flatnonzero(own.absent[:, j]) for j in own.incomplete}
    for j, rows in lacking.items():
        for fit, stream in enumerate(streams):
            donors = own.values[(counts[fit] > 0) & ~own.absent[:, j], j]
            V[fit, :, rows, j] = stream.choice(donors, (len(rows), m))
    D = np.empty((fits, m, n, width + outcome.shape[2]))
    D[..., 0], D[..., width:] = 1.0, outcome[:, None]
    flat, whole = D.reshape(fits * m, n, -1), np.arange(fits)

    def draw(kind: str, width: int) -> Floats:
        """Draw random numbers for each fit by its own stream."""
        return np.concatenate([getattr(one, kind)((m, width)) for one in streams])

    def write(j: int, rows: Numbers) -> None:
        made = chains.code(j, V[:, :, rows, j].reshape(fits, -1), whole)
        D[:, :, rows, own.places[j]] = made.reshape(fits, m, len(rows), -1)

    def equation(j: int, counted: Floats, with_outcome: bool) -> ChainEquation:
        use = np.ones(D.shape[3], dtype=bool)
        use[own.places[j]] = False
        use[width:] &= with_outcome
        current, levels = V[..., j].reshape(fits * m, n), own.labels[j]
        w, k = np.repeat(counted, m, axis=0), 1 if levels is None else len(levels) - 1
        z = draw("standard_normal", int(use.sum()) * k)
        if levels is not None:
            return class_equation(flat, current, k + 1, w, use, z)
        u, target = draw("random", n + 1), flat[..., own.places[j].start]
        matched = None if own.names[j] in normal else current
        return numeric_equation(flat, target, w, use, z, u, matched)

    for j in range(len(own.names)):
        write(j, np.arange(n))
    for t in range(chains.iterations):
        for j, rows in lacking.items():
            made = equation(j, counts * ~own.absent[:, j], with_outcome=True)
            batch = np.arange(fits * m)
            drawn = made.draw(flat[:, rows], batch, draw("random", len(rows)))
            values = chains.decode(j, made, drawn.reshape(fits, -1), whole)
            V[:, :, rows, j] = values.reshape(fits, m, -1)
            write(j, rows)
            trained = counts[:, None, rows] > 0
            total = (D[:, :, rows, own.places[j].start] * trained).sum(axis=2)
            chains.traces[t, ..., j] = total / trained.sum(axis=2).clip(1)
    for j in range(len(own.names)) if every else own.incomplete:
        chains.equations[j] = equation(j, counts, with_outcome=False)
