"""Distances of a calibration curve at a horizon from the predicted risks.

The curve is a local quadratic regression of the status of known records on their risk,
with their inverse probabilities as weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from statcv.metrics.probabilities import smooth as smoothing
from statcv.metrics.probabilities.smooth import QUANTILES
from statcv.metrics.survival.horizon import Cut, Gradient, Known
from statcv.numeric.arrays import Bools, Floats, Numbers

_AT_ONCE = 2**21  # kernel weights computed together
_SINGULAR = 1e-12  # ratio of extreme eigenvalues below which a matrix is singular


@dataclass(frozen=True)
class Distance:
    """The mean, a quantile or the maximum of the distance of curve and risk.

    Attributes
    ----------
    name : {"ici", "e50", "e90", "emax"}
    """

    name: str

    def value(self, known: Known, x: Floats, cut: Cut) -> Floats:
        """Return the distance."""
        found = []
        for k, row in enumerate(x):
            own, weights = (
                one[k : k + 1] if min(len(x), len(one)) > 1 else one
                for one in (known.own, known.weights)
            )
            found.append(self._of_curves(Loess.of(known, row), own, weights))
        return np.concatenate(found)

    def _of_curves(self, loess: Loess, own: Floats, weights: Floats) -> Floats:
        distance = np.abs(loess.at_records(loess.fitted(own)[0]) - loess.x)
        odd = np.isnan(distance).any(axis=1)
        if self.name == "ici":
            found = (weights * distance).sum(axis=1) / weights.sum(axis=1)
        elif self.name == "emax":
            found = np.where(weights > 0, distance, 0.0).max(axis=1)
        else:
            each = np.broadcast_to(weights, distance.shape)
            q = QUANTILES[self.name]
            both = zip(distance, each, strict=True)
            found = np.array([_quantile(d, w, q)[0] for d, w in both])
        return np.where(odd, np.nan, found)

    def gradient(self, known: Known, x: Floats, value: float, cut: Cut) -> Gradient:
        """Return the derivatives, with the neighbourhoods of the loess as they are."""
        loess = Loess.of(known, x)
        curve, inside = loess.fitted(known.own)
        gap = loess.at_records(curve)[0] - x
        distance, n = np.abs(gap), len(x)
        if self.name == "ici":
            share, by_weight = np.full(n, 1 / n), (distance - value) / n
        elif self.name == "emax":
            share, by_weight = np.zeros(n), np.zeros(n)
            share[distance.argmax()] = 1.0
        else:
            q = QUANTILES[self.name]
            _, share, by_weight = _quantile(distance, np.ones(n), q)
        by_point = loess.to_points(share * np.sign(gap)) * inside[0]
        return loess.by_own(known.own, by_point), by_weight


def _quantile(
    values: Floats, weights: Floats, q: float
) -> tuple[float, Floats, Floats]:
    """Return a quantile of weighted values, and its derivatives by both.

    The position of a value is the weight below it, with half its own; positions are
    scaled from 0 to 1, as by `numpy.quantile` for equal weights.
    """
    order = np.argsort(values, kind="stable")
    order = order[weights[order] > 0]
    d, w = values[order], weights[order]
    share, slope = np.zeros(len(values)), np.zeros(len(values))
    if len(d) < 2:
        return float(d.sum()), share, slope
    place = np.cumsum(w) - (w + w[0]) / 2
    target = q * place[-1]
    k = min(int(np.searchsorted(place, target, "right")) - 1, len(d) - 2)
    gap = place[k + 1] - place[k]
    part = (target - place[k]) / gap
    share[order[k]], share[order[k + 1]] = 1 - part, part
    by_w = np.full(len(d), q)
    by_w[[0, -1]] -= q / 2
    by_w[: k + 1] -= 1
    by_w[0] += 0.5
    by_w[k] += 0.5
    by_w[[k, k + 1]] -= part / 2
    slope[order] = by_w / gap * (d[k + 1] - d[k])
    return float(d[k] + part * (d[k + 1] - d[k])), share, slope


@dataclass(frozen=True, eq=False)
class Loess:
    """Local regressions at some risks.

    Attributes
    ----------
    x, case : numpy.ndarray, shape (n,)
        Risks, and whether records are cases.
    known : numpy.ndarray of int
        The known records in rising order of their risks.
    at : numpy.ndarray, shape (points,)
    """

    x: Floats
    case: Bools
    known: Numbers
    at: Floats

    @classmethod
    def of(cls, known: Known, x: Floats) -> Loess:
        """Return the regressions at up to 51 quantiles of the risk."""
        some = np.flatnonzero(known.case | known.control)
        rising = some[np.argsort(x[some], kind="stable")]
        return cls(x, known.case, rising, smoothing.some_points(x))

    def _kernels(self) -> Iterator[tuple[slice, Floats, Floats]]:
        """Return the weights of the known records at some points, and powers."""
        x = self.x[self.known]
        step = max(1, _AT_ONCE // max(1, len(x)))
        near = max(1, int(np.floor(smoothing.SPANS["loess"] * len(x) + 1e-5)))
        for begin in range(0, len(self.at), step):
            part = slice(begin, begin + step)
            away = x - self.at[part, None]
            if len(self.at) < 3:  # the share at each value
                yield part, (away == 0).astype(float), np.ones((1, *away.shape))
                continue
            width = np.partition(np.abs(away), near - 1, axis=1)[:, near - 1, None]
            offset = away / width
            near_by = np.abs(offset)
            kernel = np.maximum(1 - near_by * near_by * near_by, 0)
            powers = np.stack([np.ones_like(offset), offset, offset * offset])
            yield part, kernel * kernel * kernel, powers

    def fitted(self, own: Floats) -> tuple[Floats, Bools]:
        """Return the curve, shape (m, points), and where it is between 0 and 1."""
        own, case = own[:, self.known], self.case[self.known]
        curve = np.full((len(own), len(self.at)), np.nan)
        if len(self.at) >= 3 and len(self.known) < smoothing.LEAST:
            return curve, np.isfinite(curve)
        for part, kernel, powers in self._kernels():
            curve[:, part] = _solved(own, case, kernel, powers)[0][0]
        return np.clip(curve, 0, 1), (curve >= 0) & (curve <= 1)

    def by_own(self, own: Floats, by_point: Floats) -> Floats:
        """Return derivatives by weights of known records, from those by the curve."""
        mine, case = own[:, self.known], self.case[self.known]
        found = np.zeros(len(self.x))
        for part, kernel, powers in self._kernels():
            coefficients, first = _solved(mine, case, kernel, powers)
            parts = zip(coefficients[:, 0, :, None], powers, strict=True)
            rest = case - sum(one * power for one, power in parts)
            parts = zip(first[:, 0, :, None], powers, strict=True)
            lever = kernel * sum(one * power for one, power in parts)
            found[self.known] += by_point[part] @ (lever * rest)
        return found

    def at_records(self, curve: Floats) -> Floats:
        """Return the curve at the risks of all records: (m, n)."""
        below, above, share = smoothing.between(self.at, self.x)
        return np.asarray(curve[:, below] * (1 - share) + curve[:, above] * share)

    def to_points(self, by_record: Floats) -> Floats:
        """Return derivatives by the curve, from those by its values at records."""
        (below, above, share), size = smoothing.between(self.at, self.x), len(self.at)
        from_below = np.bincount(below, by_record * (1 - share), size)
        return np.asarray(from_below + np.bincount(above, by_record * share, size))


def _solved(
    own: Floats, case: Bools, kernel: Floats, powers: Floats
) -> tuple[Floats, Floats]:
    """Return local coefficients, and the first row of the inverse: (d, m, points)."""
    degree = len(powers)
    raised, moments = kernel, [own @ kernel.T]
    for _ in range(2 * degree - 2):
        raised = raised * powers[1]
        moments.append(own @ raised.T)
    gram = np.stack([np.stack(moments[k : k + degree], -1) for k in range(degree)], -1)
    right = np.stack([(own * case) @ (kernel * one).T for one in powers], -1)
    values, vectors = np.linalg.eigh(np.nan_to_num(gram))
    low = values[..., :1] <= _SINGULAR * values[..., -1:]
    inverse = np.where(low, np.nan, 1 / values)
    first = np.einsum("mpdk,mpk,mpk->dmp", vectors, inverse, vectors[..., 0, :])
    turned = np.einsum("mpdk,mpd->mpk", vectors, right) * inverse
    return np.einsum("mpdk,mpk->dmp", vectors, turned), first
