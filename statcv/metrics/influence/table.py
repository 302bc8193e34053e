"""How metrics change with the weights of records: the derivatives, and their table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from statcv.metrics.classification.classwise import predicted_class
from statcv.metrics.classification.confusion import tables_of
from statcv.metrics.discrimination.by_value import CountsByValue, RankedRecords
from statcv.metrics.discrimination.ranking import concordance_counts
from statcv.metrics.influence import weighted
from statcv.metrics.influence.weighted import Derivative, Derive, Placements
from statcv.metrics.probabilities.distances import DISTANCES
from statcv.metrics.probabilities.recalibration import recalibration
from statcv.numeric.arrays import Array, Bools, Floats
from statcv.numeric.logistic import expit

if TYPE_CHECKING:
    from statcv.metrics.metric import Metric

# ---- areas under ROC curves ----


def placements(positive: Bools, x: Floats, weights: Floats | float = 1.0) -> Placements:
    """Return the share of the other class that each record is on the right side of.

    Parameters
    ----------
    positive : numpy.ndarray of bool, shape (n,)
    x : numpy.ndarray, shape (n,)
        Scores; a tie counts one half.
    weights : numpy.ndarray, shape (n,), optional
        The weight of each record.

    Examples
    --------
    >>> found = placements(np.array([True, False, False]), np.array([0.4, 0.4, 0.1]))
    >>> found.share, found.area, found.tied
    (array([0.75, 0.5 , 1.  ]), 0.75, 0.5)
    """
    ranked = RankedRecords.of(x)
    each = np.broadcast_to(np.asarray(weights, dtype=float), x.shape)
    ones, zeros = (ranked.sums(each * side) for side in (positive, ~positive))
    high, low = float(ones.sum()), float(zeros.sum())
    below, above = CountsByValue(ones, zeros, ranked.bounds).beside
    won, lost = ranked.of_records(below), ranked.of_records(above)
    share = np.where(positive, won / (low or 1.0), lost / (high or 1.0))
    pairs = high * low or 1.0
    area = min(float(ones @ below) / pairs, 1.0)  # rounding may exceed it
    return Placements(share, area if high else np.nan, float(ones @ zeros) / pairs)


def auroc_derivative(y: Array, x: Floats) -> Derivative:
    """Return the derivatives of the area under the ROC curve.

    That by the weight of a record is its placement minus the area, over the number of
    records of its class (DeLong, DeLong & Clarke-Pearson 1988).
    """
    positive = y == 1
    ones = int(positive.sum())
    if ones in (0, len(y)):
        return Derivative(np.full(len(y), np.nan))
    placed = placements(positive, x)
    size = np.where(positive, ones, len(y) - ones)
    return Derivative((placed.share - placed.area) / size, placed, placed.area)


def hand_till_derivative(y: Array, x: Floats) -> Derivative:
    """Return the derivatives of Hand and Till's mean area."""
    classes = x.shape[1]
    weight = np.zeros(len(x))
    pairs = list(permutations(range(classes), 2))
    for a, b in pairs:
        own = np.flatnonzero((y == a) | (y == b))
        found = auroc_derivative(y[own] == a, x[own, a])
        weight[own] += found.weight / len(pairs)
    return Derivative(weight)


def ovr_derivative(y: Array, x: Floats) -> Derivative:
    """Return the derivatives of the mean area of each class against the rest."""
    classes = x.shape[1]
    found = [auroc_derivative(y == a, x[:, a]) for a in range(classes)]
    return Derivative(np.mean([one.weight for one in found], axis=0))


# ---- the area under the precision-recall curve ----


@dataclass(frozen=True)
class DerivativeOfPrecision:
    """The derivatives of the area under the precision-recall curve.

    Attributes
    ----------
    method : {"average_precision", "trapezoid", "interpolated"}
        As in :func:`statcv.metrics.auprc`. Ties are not interpolated.
    """

    method: str

    def __call__(self, y: Array, x: Floats) -> Derivative:
        """Return the derivatives.

        The average precision is the mean over positive records of the precision P among
        the N records that are ranked as high. A record j that is ranked as high as a
        positive record i changes the precision of i by (y_j - P_i) / N_i. For the other
        areas P is replaced by its mean with the precision among the records that are
        ranked higher.
        """
        positive = (y == 1).astype(float)
        ones = positive.sum()
        if not ones:
            return Derivative(np.full(len(x), np.nan))
        ranked = RankedRecords.of(x)
        values = len(ranked.begins)
        place = ranked.of_records(np.arange(values, dtype=float)).astype(np.intp)
        after = place + 1
        hits, above = ranked.sums(positive), len(x) - ranked.begins
        precision = np.cumsum(hits[::-1])[::-1] / above
        share = np.full(values, 1.0 if self.method == "average_precision" else 0.5)
        if self.method == "interpolated":  # constant below one positive record
            share[np.flatnonzero(hits)[-1]] = 1.0
        before = np.append(precision[1:], 1.0)
        height = precision
        if self.method != "average_precision":
            height = share * precision + (1 - share) * before
        area = float(hits @ height / ones)
        weight = positive * (height - area)[place]
        # the sums over the positive records whose precisions a record changes
        parts = [(share, precision, above, after)]
        if self.method != "average_precision":
            later = np.append(above[1:], np.inf)
            parts.append((1 - share, before, later, place))
        for part, level, count, reach in parts:
            rate = part * hits / count
            moved = np.append(0.0, np.cumsum(rate))
            lost = np.append(0.0, np.cumsum(rate * level))
            weight += positive * moved[reach] - lost[reach]
        value = area if self.method == "average_precision" else None
        return Derivative(weight / ones, value=value)


# ---- the concordance with a continuous outcome ----


def concordance_derivative(y: Array, x: Floats) -> Derivative:
    """Return the derivatives of the share of concordant pairs."""
    counts = concordance_counts(y, x)
    total = counts.rivals.sum() / 2
    with np.errstate(divide="ignore", invalid="ignore"):  # no two outcomes differ
        share = counts.won.sum() / 2 / total
        moved = counts.won - share * counts.rivals
        return Derivative(moved / total)


# ---- means over records ----


@dataclass(frozen=True)
class DerivativeOfMean:
    """The derivatives of the mean of a function of single records, or of its root.

    Attributes
    ----------
    casewise : callable
        The function of outcomes and predictions, and of a threshold if there is one.
    root : bool
        Whether the metric is the square root of the mean.
    """

    casewise: Callable[..., Floats]
    root: bool = False

    def __call__(self, y: Array, x: Floats, **named: Any) -> Derivative:
        """Return the derivatives."""
        own = self.casewise(y, x, **named)
        mean = own.mean()
        weight = (own - mean) / len(own)
        if self.root:
            with np.errstate(invalid="ignore"):  # a perfect prediction
                weight = weight / (2 * np.sqrt(mean))
        return Derivative(weight)


def explained_derivative(
    y: Array, p: Floats, baseline: Floats | None = None
) -> Derivative:
    """Return the derivatives of the explained share: R², and the scaled Brier score.

    Without a baseline, the squared errors are compared with those of the mean outcome,
    which changes with the weights too, but only to the second order.
    """
    centre = y.mean() if baseline is None else baseline
    remaining, removable = (p - y) ** 2, (y - centre) ** 2
    total = removable.sum()
    with np.errstate(divide="ignore", invalid="ignore"):  # nothing to explain
        ratio = remaining.sum() / total
        return Derivative((ratio * removable - remaining) / total)


# ---- discrimination ----


def discrimination_derivative(y: Array, p: Floats) -> Derivative:
    """Return the derivatives of the difference between the mean probabilities."""
    weight = np.full(len(p), np.nan)
    positive = np.asarray(y) == 1
    if positive.any() and not positive.all():
        for own, sign in ((positive, 1.0), (~positive, -1.0)):
            weight[own] = sign * (p[own] - p[own].mean()) / own.sum()
    return Derivative(weight)


# ---- calibration ----


def oe_derivative(y: Array, p: Floats) -> Derivative:
    """Return the derivatives of the ratio of observed to expected events."""
    expected = p.sum()
    with np.errstate(all="ignore"):  # infinite where next to nothing is expected
        ratio = y.sum() / expected
        return Derivative((y - ratio * p) / expected)


def intercept_derivative(y: Array, p: Floats) -> Derivative:
    """Return the derivatives of the calibration intercept."""
    return _recalibration(y, p, slope=False)


def slope_derivative(y: Array, p: Floats) -> Derivative:
    """Return the derivatives of the calibration slope."""
    return _recalibration(y, p, slope=True)


def _recalibration(y: Array, p: Floats, slope: bool) -> Derivative:
    """Differentiate the equations that the maximum of the likelihood solves."""
    start, turn = recalibration(y == 1, p, slope=slope)
    if np.isnan(start):
        return Derivative(np.full(len(p), np.nan))
    logit = np.log(p / (1 - p))
    fitted = expit(start + turn * logit)
    variance = fitted * (1 - fitted)
    return Derivative(weighted.by_record(logit, y - fitted, variance, slope))


# ---- functions of the table of classes ----


STEP = 1e-4  # change of a count in the numerical derivatives of a metric


@dataclass(frozen=True)
class DerivativeOfTable:
    """The derivatives of a metric that is a function of the table of classes.

    Attributes
    ----------
    of_table : callable
        The metric as a function of the counts of records by observed (row) and
        predicted (column) class, shape (K, K), or of the shares of these counts.
    added : float
        The records that are added to the table and spread evenly.
    """

    of_table: Callable[[Floats], float]
    added: float = 0.0

    def __call__(
        self, y: Array, x: Floats, threshold: Floats | float | None = None
    ) -> Derivative:
        """Return the derivatives."""
        codes = y.astype(np.intp)
        chosen = predicted_class(x, 0.5 if threshold is None else threshold)
        cells = codes, np.nan_to_num(chosen).astype(np.intp)
        classes = 2 if x.ndim == 1 else x.shape[1]
        table = tables_of(0 * codes, *cells, (1, classes))[0]
        if np.isnan(self.of_table(table)):
            return Derivative(np.full(len(codes), np.nan))
        table += self.added / table.size
        rates = np.empty_like(table)  # the derivatives by the count of each cell
        for cell in np.ndindex(table.shape):
            up, down = table.copy(), table.copy()
            up[cell] += STEP
            down[cell] -= STEP
            rates[cell] = (self.of_table(up) - self.of_table(down)) / (2 * STEP)
        own = rates[cells]
        if not self.added:
            return Derivative(own - own.mean())
        unseen = self.added * float(np.mean(rates**2))
        return Derivative(own - own.mean(), None, self.of_table(table), unseen)


# metrics whose denominators depend on the predicted classes, so that they may count few
OF_FEW = ("precision", "npv", "f1", "f1_macro", "matthews")
ADDED = 2.0  # records added to a table, ½ per cell of two classes (Agresti & Min 2005)


def with_added(metric: Metric) -> Metric:
    """Return a metric with records added to the table, if it may count few."""
    derive = metric.derive
    if metric.name not in OF_FEW or not isinstance(derive, DerivativeOfTable):
        return metric
    form = weighted.WeightedTable(derive.of_table, ADDED)
    return replace(metric, derive=replace(derive, added=ADDED), weighted=form)


# ---- the table ----


_EXPLAINED = (explained_derivative, weighted.explained)
_INFLUENCES: dict[str, tuple[Derive, weighted.Weighted | None]] = {
    "auroc": (auroc_derivative, weighted.auroc),
    "auroc_ovr": (ovr_derivative, weighted.auroc_ovr),
    "auroc_hand_till": (hand_till_derivative, weighted.auroc_hand_till),
    "auprc": (DerivativeOfPrecision("average_precision"), weighted.average_precision),
    "auprc_trapezoid": (DerivativeOfPrecision("trapezoid"), weighted.average_precision),
    "auprc_interpolated": (
        DerivativeOfPrecision("interpolated"),
        weighted.average_precision,
    ),
    "concordance": (concordance_derivative, weighted.concordance),
    "brier_skill": _EXPLAINED,
    "r2": _EXPLAINED,
    "r2_training": _EXPLAINED,
    "discrimination_slope": (discrimination_derivative, weighted.discrimination_slope),
    "calibration_slope": (slope_derivative, weighted.WeightedRecalibration(slope=True)),
    "calibration_intercept": (
        intercept_derivative,
        weighted.WeightedRecalibration(slope=False),
    ),
    "oe_ratio": (oe_derivative, weighted.observed_expected),
    **{name: (derive, None) for name, derive in DISTANCES.items()},
}


def listed_influence(name: str) -> dict[str, Any]:
    """Return the derivative and the weighted form of a metric of the list."""
    derive, form = _INFLUENCES[name]
    return {"derive": derive, "weighted": form}


def influence_on_mean(
    casewise: Callable[..., Floats], root: bool = False
) -> dict[str, Any]:
    """Return those of the mean of a function of single records, or of its root."""
    form = weighted.WeightedMean(casewise, root)
    return {"derive": DerivativeOfMean(casewise, root), "weighted": form}


def influence_on_table(of_table: Callable[[Floats], float]) -> dict[str, Any]:
    """Return those of a function of the table of observed and predicted classes."""
    form = weighted.WeightedTable(of_table)
    return {"derive": DerivativeOfTable(of_table), "weighted": form}
