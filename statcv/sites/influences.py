"""How the records of a site move an estimate: the infinitesimal jackknife over sites.

A record moves an estimate as a held-out record, and through the fits that it trained.
Each site computes both for its own records from published numbers, and sends sums of
their squares. The area under the ROC curve is compared within folds; its derivatives
are those of linear predictors that are standardised in each training set, and whose
distribution is known from the published counts.

Variances are computed from the sums over all sites. Influences through the fits are of
first order, and half of what they add to the variance is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from statcv.numeric.arrays import Array, Floats
from statcv.sites.plan import SitesPlan
from statcv.sites.site_records import SiteRecords
from statcv.sites.site_sums import loss_names, losses_of, symmetric_matrix

if TYPE_CHECKING:
    from statcv.sites.progress import Progress


MAX_LEVERAGE: Final = 0.8  # for which a step is five times the derivative
# half-width of a parabolic kernel whose sd is 1
KERNEL_HALF_WIDTH: Final = math.sqrt(5)
# power of the number of records in the kernel's standard deviation
KERNEL_POWER: Final = -0.25
QUADRATURE: Final = np.polynomial.legendre.leggauss(16)
# average number of a site's records in a bucket
PER_BUCKET: Final = 9
BUCKETS: Final = (8, 256)  # least and largest number of buckets
MIX: Final = np.uint64(0xD6E8FEB86659FD93)  # odd, so that products are all different
QUANTILE: Final = 1.645  # 95 % quantile of the normal distribution
N_MOMENTS: Final = 10  # second moments of two class sums and two counts of a cluster


@dataclass(frozen=True, eq=False)
class Published:
    """What follows from the sums that were published before variances are asked for.

    Attributes
    ----------
    progress : Progress
        The progress after the round of scores, with their sums over all sites.
    """

    progress: Progress

    @property
    def plan(self) -> SitesPlan:
        """The plan that all sites signed."""
        return self.progress.plan

    @property
    def n(self) -> float:
        """Number of records."""
        return float(self.progress.by_class.sum())

    @cached_property
    def means(self) -> dict[str, float]:
        """Mean over all held-out records of each loss."""
        total = self.progress.scored["losses"].sum(axis=0) / self.n
        return dict(zip(loss_names(self.plan), total.tolist(), strict=True))

    @cached_property
    def moments(self) -> Floats:
        """Training means of columns, and of products with the predictor, (k, 2, q)."""
        trained = self.progress.trained[: self.plan.k, None, None]
        return np.asarray(self.progress.scored["moments"] / trained)

    @cached_property
    def along(self) -> Floats:
        """Covariance of each column with the predictor, shape (k, q)."""
        centre, products = self.moments[:, 0], self.moments[:, 1]
        return np.asarray(products - self.mean[:, None] * centre)

    @cached_property
    def mean(self) -> Floats:
        """Mean of the predictor in each training set; trees are taken as they are."""
        if self.plan.grown:
            return np.zeros(self.plan.k)
        beta = self.progress.fits.beta[: self.plan.k]
        return np.asarray(np.einsum("kq,kq->k", beta, self.moments[:, 0]))

    @cached_property
    def rate(self) -> Floats:
        """One over the standard deviation of the predictor in each training set."""
        if self.plan.grown:
            return np.ones(self.plan.k)
        beta = self.progress.fits.beta[: self.plan.k]
        variance = np.einsum("kq,kq->k", beta, self.along)
        return np.asarray(1 / np.sqrt(np.maximum(variance, 1e-300)))

    @cached_property
    def inverse(self) -> Floats:
        """Inverse information of each fold's fit, shape (k, q, q)."""
        return np.asarray(np.linalg.inv(self.progress.fits.information[: self.plan.k]))

    # ---- the distribution of standardised predictors ----

    @cached_property
    def knots(self) -> Floats:
        """The edges, with those that are taken to be the outermost."""
        edges = self.progress.edges
        width = float(np.diff(edges).max(initial=0.0)) or 1.0
        return np.concatenate([[edges[0] - width], edges, [edges[-1] + width]])

    def below(self, z: Floats, code: int) -> Floats:
        """Return the share of a class whose standardised predictor is below z."""
        share = np.zeros_like(z)
        for fold in range(self.plan.k):
            at = self.mean[fold] + z / self.rate[fold]
            counts = self.progress.scored["counts"][fold, code]
            share += np.interp(at, self.knots, np.append(0.0, np.cumsum(counts)))
        return np.asarray(share / self.progress.by_class[:, code].sum())

    def density(self, z: Floats, code: int) -> Floats:
        """Return the density of a class at z, smoothed by a parabolic kernel."""
        value = np.zeros_like(z)
        for at, by in np.transpose(QUADRATURE).tolist():
            value += by * at * self.below(z + self.width * at, code)
        return np.asarray(1.5 * value / self.width)

    @cached_property
    def width(self) -> float:
        """Half-width of the kernel."""
        middle = (self.knots[1:] + self.knots[:-1]) / 2
        z = (middle - self.mean[:, None]) * self.rate[:, None]
        number = self.progress.scored["counts"].sum(axis=1)
        mean = (number * z).sum() / number.sum()
        variance = (number * (z - mean) ** 2).sum() / number.sum()
        sd = math.sqrt(max(variance, 1e-300))
        return float(KERNEL_HALF_WIDTH * sd * self.n**KERNEL_POWER)


@dataclass(frozen=True, eq=False)
class Influence:
    """How the records of a site move one estimate.

    Attributes
    ----------
    weight : numpy.ndarray, shape (n,)
        The change by the weight of a held-out record.
    slope : numpy.ndarray, shape (n,)
        The derivative by its linear predictor, or by the standardised one.
    standardised : numpy.ndarray, shape (n,), or None
        Standardised predictors, if the slope is by them.
    share : numpy.ndarray, shape (n,), or None
        Share of the other class that a record is on the right side of.
    """

    weight: Floats
    slope: Floats
    standardised: Floats | None = None
    share: Floats | None = None


def moved(records: SiteRecords, published: Published, metric: str) -> Influence:
    """Return how the records of a site move a metric."""
    eta, y, n = published.progress.predictor.held_out(records), records.y, published.n
    if metric == "auroc":
        return _of_area(records, published, eta)
    if not published.plan.binary:
        return _of_errors(published, metric, eta, y)
    p = expit(eta)
    if metric in ("brier", "log_loss"):
        loss = losses_of(published.plan, eta, y)[metric]
        slope = 2 * (p - y) * p * (1 - p) if metric == "brier" else p - y
        return Influence((loss - published.means[metric]) / n, slope / n)
    if metric == "oe_ratio":
        expected = published.means["predicted"] * n
        ratio = float(published.progress.by_class[:, 1].sum()) / expected
        return Influence((y - ratio * p) / expected, -ratio * p * (1 - p) / expected)
    fit = published.progress.recalibrated
    if math.isnan(fit.slope):
        return Influence(np.zeros(len(y)), np.zeros(len(y)))
    if metric == "calibration_intercept":
        own = expit(fit.alone + eta)
        return Influence((y - own) / fit.weight, -own * (1 - own) / fit.weight)
    fitted = expit(fit.intercept + fit.slope * eta)
    residual, weight = y - fitted, fitted * (1 - fitted)
    (total, across), (_, square) = fit.information.tolist()
    apart = eta - across / total
    level = 1 / (square - across**2 / total)
    slope = level * (residual - fit.slope * weight * apart)
    return Influence(level * apart * residual, slope)


def _of_area(records: SiteRecords, published: Published, eta: Floats) -> Influence:
    """Return how records move the area that is compared within folds."""
    high, fold = records.y == 1, records.fold
    z = (eta - published.mean[fold]) * published.rate[fold]
    share = np.where(high, published.below(z, 0), 1 - published.below(z, 1))
    size = published.progress.by_class.sum(axis=0)[records.code]
    slope = np.where(high, published.density(z, 0), -published.density(z, 1)) / size
    return Influence(share / size, slope, z, share)


def _of_errors(published: Published, metric: str, eta: Floats, y: Floats) -> Influence:
    """Return how records move a metric of a continuous outcome."""
    n, means, error = published.n, published.means, eta - y
    if metric == "mae":
        return Influence((np.abs(error) - means["mae"]) / n, np.sign(error) / n)
    weight, slope = (error**2 - means["mse"]) / n, 2 * error / n
    if metric == "rmse":
        twice = 2 * math.sqrt(means["mse"])
        return Influence(weight / twice, slope / twice)
    if metric == "r2":
        total = means["observed_squared"] - means["observed"] ** 2
        ratio = means["mse"] / total
        around = (y - means["observed"]) ** 2
        return Influence((ratio * around - error**2) / total / n, -slope / total)
    return Influence(weight, slope)


# ---- what a site sends ----


def slope_sums(records: SiteRecords, published: Published) -> NDArray[np.float32]:
    """Return derivatives by the coefficients of each fold, shape (metrics, k, q).

    Single precision serves, since no more than a standard error depends on them.
    """
    k = records.plan.k
    held = (np.arange(k)[:, None] == records.fold).astype(float)
    made = []
    for metric in records.plan.metrics:
        one = moved(records, published, metric)
        target = (held * one.slope) @ records.X
        if one.standardised is not None:
            rate = published.rate[:, None]
            sums = (held @ one.slope)[:, None]
            products = (held @ (one.slope * one.standardised))[:, None]
            target = (target - sums * published.moments[:, 0]) * rate
            target -= products * published.along * rate**2
        made.append(target)
    return np.stack(made).astype("<f4")


def variation_sums(
    records: SiteRecords, published: Published, targets: Floats
) -> dict[str, Array]:
    """Return sums of influences and of their squares.

    Parameters
    ----------
    records : SiteRecords
    published : Published
    targets : numpy.ndarray, shape (metrics, k, q)
        Derivatives by the coefficients, summed over sites.

    Returns
    -------
    dict of numpy.ndarray
        ``first``, shape (metrics, ways, 2): sums of the influences of each class, with
        the fits as given and, if these are not trees, with their variation;
        ``second``, shape (metrics, ways, 10): second moments of the class sums and
        class counts of clusters; ``shares``, shape (2, 2): sums of placements and of
        their squares; ``units``, shape (3,): numbers of clusters, and of those with a
        record of each class; ``buckets``, if folds are made by hash: see
        :func:`bucket_sums`.
    """
    y = records.code
    reach = None if records.plan.grown else _reach(records, published)
    first, second = [], []
    shares, middle = np.zeros((2, 2)), np.zeros(records.n)
    for metric, target in zip(records.plan.metrics, targets, strict=True):
        one = moved(records, published, metric)
        if one.share is not None:
            for power in (1, 2):
                shares[power - 1] = np.bincount(y, one.share**power, 2)
        ways = [one.weight]
        if reach is not None:
            through = np.einsum("kpq,kq->kp", published.inverse, target)
            fits = ((through @ records.X.T) * reach).sum(axis=0)
            ways.append(one.weight + fits)
        if metric == records.plan.metrics[0]:
            middle = (ways[0] + ways[-1]) / 2
        for values in ways:
            each = [one * (y == code) for one in (values, 1.0) for code in (0, 1)]
            sums = np.stack([np.bincount(records.unit, one) for one in each])
            first.append(sums[:2].sum(axis=1))
            second.append((sums @ sums.T)[np.triu_indices(4)])
    metrics = len(records.plan.metrics)
    some = [np.unique(records.unit[y == code]).size for code in (0, 1)]
    every = np.unique(records.unit).size
    made = {
        "first": np.reshape(first, (metrics, -1, 2)),
        "second": np.reshape(second, (metrics, -1, N_MOMENTS)).astype("<f4"),
        "shares": shares,
        "units": np.array([every, *some], dtype=float),
    }
    if records.digest is not None:
        n, n_sites = published.n, published.progress.n_sites
        made["buckets"] = bucket_sums(records, middle, n, n_sites)
    return made


def _reach(records: SiteRecords, published: Published) -> Floats:
    """Return residuals as long as a step without the record, shape (k, n)."""
    k, fits = records.plan.k, published.progress.fits
    eta = fits.beta[:k] @ records.X.T
    mean, weight = eta, np.ones_like(eta)
    if records.plan.binary:
        mean = expit(eta)
        weight = mean * (1 - mean)
    trained = records.training[:k]
    quadratic = np.einsum("nq,kqp,np->kn", records.X, published.inverse, records.X)
    leverage = np.clip(trained * weight * quadratic, 0.0, MAX_LEVERAGE)
    return np.asarray(trained * (records.y - mean) / (1 - leverage))


# ---- variances from the sums over all sites ----


@dataclass(frozen=True)
class Variation:
    """The variance of one estimate.

    Attributes
    ----------
    given_fits : float
        Variance with the fits as given.
    total : float
        Variance with half of what the fits add; with trees it is corrected for fits
        that share training records.
    df : float
        Degrees of freedom.
    area : float
        Area that the influences belong to; NaN for other metrics.
    """

    given_fits: float
    total: float
    df: float
    area: float = math.nan


def variations(
    plan: SitesPlan, by_class: Floats, totals: Mapping[str, Floats], shared: float = 0.0
) -> dict[str, Variation]:
    """Return the variance of each metric from the sums over all sites.

    Parameters
    ----------
    plan : SitesPlan
    by_class : numpy.ndarray, shape (k, 2)
        Numbers of held-out records of each fold and class.
    totals : dict of numpy.ndarray
        As :func:`variation_sums` returns them.
    shared : float
        Share by which persons at several sites raise variances.
    """
    made, sizes = {}, by_class.sum(axis=0)
    every, *own = totals["units"].tolist()
    for number, metric in enumerate(plan.metrics):
        ranked, both = metric == "auroc", (totals["first"], totals["second"])
        ways = [
            variance_of_sum(first, second, sizes, every, own if ranked else None)
            for first, second in zip(*(one[number] for one in both), strict=True)
        ]
        given, with_fits = ways[0], ways[-1]
        total = given + max(with_fits - given, 0.0) / 2
        df, area = every - 1, math.nan
        if ranked:
            area = float(totals["shares"][0, 1] / sizes[1])
            total += _interaction(area, by_class, totals["shares"])
            df = min(df, 2 * (min(own) - 1))
        if plan.grown:  # fits share training records (Nadeau & Bengio 2003)
            total *= 2 - 1 / plan.k
        made[metric] = Variation(given, total * (1 + shared), df, area)
    return made


def variance_of_sum(
    first: Floats,
    second: Floats,
    sizes: Floats,
    every: float,
    own: list[float] | None = None,
) -> float:
    """Return the variance of a sum of influences, as Obuchowski (1997) has it.

    It is the sum of squares over clusters of their sums about the mean of each class,
    or of all records if ``own`` is None.
    """
    matrix = symmetric_matrix(second)
    if own is None:
        mean = first.sum() / sizes.sum()
        about = np.array([1.0, 1.0, -mean, -mean])
        return float(every / (every - 1) * about @ matrix @ about)
    means = first / sizes
    about = np.array([1.0, 1.0, *-means])
    total = every / (every - 1) * float(about @ matrix @ about)
    for code, units in enumerate(own):
        alone = np.zeros(4)
        alone[[code, code + 2]] = 1.0, -means[code]
        more = (every - units) / ((units - 1) * (every - 1))
        total += more * float(alone @ matrix @ alone)
    return total


def _interaction(area: float, by_class: Floats, shares: Floats) -> float:
    """Return the variance that comparing records of one fold only adds."""
    sizes = by_class.sum(axis=0)
    own = shares[1, 1] / sizes[1] + shares[1, 0] / sizes[0]
    each = max(area - own + area**2, 0.0)
    pairs = by_class.prod(axis=1)
    concentration = (1 / pairs).sum() / len(pairs) ** 2 - 1 / sizes.prod()
    return float(each * max(concentration, 0.0))


# ---- persons at several sites ----


def n_buckets(n: float, n_sites: int) -> int:
    """Return the number of buckets of identifiers, about nine records each at a site.

    >>> n_buckets(12_000, 5), n_buckets(1_200, 3)
    (256, 32)
    """
    number = max(n / n_sites / PER_BUCKET, 1.0)
    return int(np.clip(2 ** math.floor(math.log2(number)), *BUCKETS))


def bucket_sums(
    records: SiteRecords, influence: Floats, n: float, n_sites: int
) -> NDArray[np.float32]:
    """Return sums of influences over buckets of identifiers, with random signs.

    A second hash of the keyed digest gives the bucket and the sign, which are the same
    for a person at every site. The product of two sites' sums is then on average the
    sum over shared persons, and 0 without any (the count sketch of Charikar, Chen
    & Farach-Colton 2004, Theor. Comput. Sci. 312:3). A bucket with fewer records than
    the least cell is sent as 0.

    Parameters
    ----------
    records : SiteRecords
    influence : numpy.ndarray, shape (n,)
        Influence of each record of the site.
    n, n_sites : int
        Numbers of records at all sites, and of sites.
    """
    assert records.digest is not None
    number = n_buckets(n, n_sites)
    mixed = records.digest * MIX
    mixed = (mixed ^ (mixed >> np.uint64(29))) * MIX
    bucket = (mixed >> np.uint64(40)).astype(np.intp) % number
    sign = np.where((mixed >> np.uint64(32)) & np.uint64(1), 1.0, -1.0)
    sums = np.bincount(bucket, sign * (influence - influence.mean()), number)
    sums[np.bincount(bucket, minlength=number) < records.plan.cell] = 0.0
    return sums.astype("<f4")


def shared_share(buckets: Floats) -> float:
    """Return by which share persons at several sites raise a variance.

    It is 0 unless it is larger than chance explains, at the 5 % level.

    Parameters
    ----------
    buckets : numpy.ndarray, shape (sites, buckets)
    """
    squares = (buckets**2).sum(axis=1)
    total = float(squares.sum())
    across = float((buckets.sum(axis=0) ** 2).sum()) - total
    pairs = float(squares.sum() ** 2 - (squares**2).sum())
    chance = math.sqrt(2 * pairs / buckets.shape[1])
    return across / total if across > QUANTILE * chance else 0.0
