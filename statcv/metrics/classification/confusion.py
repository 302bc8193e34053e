"""Metrics of the confusion matrix of observed and predicted classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from statcv.arguments import check_types
from statcv.errors import MetricError
from statcv.metrics import inputs
from statcv.metrics.classification import classwise
from statcv.numeric.arrays import ArrayLike, Floats, Numbers

# With two classes 1 is predicted if `p` is at least the threshold, which may differ
# between records. A share of an empty set of records is undefined and NaN.


def share(part: float, whole: float) -> float:
    """Return a ratio; NaN if it is 0/0."""
    return part / whole if whole else float("nan")


def accuracy_of(table: Floats) -> float:
    """Return the share that is predicted correctly."""
    return share(float(table.trace()), float(table.sum()))


def balanced_accuracy_of(table: Floats) -> float:
    """Return the mean over classes of the share that is predicted correctly."""
    with np.errstate(invalid="ignore"):
        return float((table.diagonal() / table.sum(axis=1)).mean())


def ber_of(table: Floats) -> float:
    """Return the balanced error rate."""
    return 1 - balanced_accuracy_of(table)


def sensitivity_of(table: Floats) -> float:
    """Return the share of class 1 that is predicted correctly."""
    return share(float(table[1, 1]), float(table[1].sum()))


def specificity_of(table: Floats) -> float:
    """Return the share of class 0 that is predicted correctly."""
    return share(float(table[0, 0]), float(table[0].sum()))


def precision_of(table: Floats) -> float:
    """Return the share of class 1 among the predictions of class 1."""
    return share(float(table[1, 1]), float(table[:, 1].sum()))


def npv_of(table: Floats) -> float:
    """Return the share of class 0 among the predictions of class 0."""
    return share(float(table[0, 0]), float(table[:, 0].sum()))


def f1_of(table: Floats) -> float:
    """Return the F1 score of class 1."""
    found = 2 * float(table[1, 1])
    return share(found, found + float(table[0, 1]) + float(table[1, 0]))


def each_f1_of(table: Floats) -> Floats:
    """Return the F1 score of each class."""
    both = table.sum(axis=0) + table.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(2 * table.diagonal() / both)


def f1_macro_of(table: Floats) -> float:
    """Return the mean of the F1 scores of the classes."""
    return float(each_f1_of(table).mean())


def matthews_of(table: Floats) -> float:
    """Return the Matthews correlation, for several classes Gorodkin's R_K."""
    n, observed, predicted = table.sum(), table.sum(axis=1), table.sum(axis=0)
    together = n * table.trace() - observed @ predicted
    spread = (n**2 - observed @ observed) * (n**2 - predicted @ predicted)
    return share(float(together), float(np.sqrt(spread)))


@dataclass(frozen=True)
class MetricOfTables:
    """A metric of the confusion matrix, in each of many groups of records at once.

    Attributes
    ----------
    of_table : callable
        The metric as a function of the counts of records by observed (row) and
        predicted (column) class, shape (K, K).

    Examples
    --------
    >>> y, p = [0, 1, 1, 1], [0.2, 0.9, 0.4, 0.7]
    >>> MetricOfTables(sensitivity_of)(y, p, [0, 0, 1, 1], 3)
    array([1. , 0.5, nan])
    """

    of_table: Callable[[Floats], float]

    def __call__(
        self,
        y: ArrayLike,
        p: ArrayLike,
        group: ArrayLike,
        groups: int,
        threshold: ArrayLike = 0.5,
    ) -> Floats:
        """Return the metric in each group; NaN where it has no value."""
        tables = _tables(y, p, np.asarray(group), groups, threshold)
        distinct, of = np.unique(tables, axis=0, return_inverse=True)
        values = np.array([self.of_table(one) for one in distinct])
        return np.asarray(values[of.ravel()])


def tables_of(
    group: Numbers,
    observed: Numbers,
    chosen: Numbers,
    size: tuple[int, int],
    weights: Floats | None = None,
) -> Floats:
    """Sum weights by observed and chosen class in each of some groups of classes."""
    groups, classes = size
    cells = (group * classes + observed) * classes + chosen
    own = None if weights is None else np.broadcast_to(weights, cells.shape).ravel()
    counts = np.bincount(cells.ravel(), own, groups * classes**2)
    return counts.reshape(groups, classes, classes).astype(float)


def _tables(
    y: ArrayLike, p: ArrayLike, group: Numbers, groups: int, threshold: ArrayLike
) -> Floats:
    """Count records by observed (row) and predicted (column) class in each group.

    All counts of a group are NaN if a prediction or threshold is.
    """
    codes, p = classwise.outcome_and_prediction(y, p)
    classes = 2 if p.ndim == 1 else p.shape[1]
    chosen = classwise.predicted_class(p, threshold)
    known = ~np.isnan(chosen)
    sides = codes[known], chosen[known].astype(np.intp)
    tables = tables_of(group[known], *sides, (groups, classes))
    tables[group[~known]] = np.nan
    return np.asarray(tables)


_AVERAGES = ("binary", "micro", "macro")


def sensitivity(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> float:
    """Share of the positive records that are predicted positive (recall).

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1.
    p : array_like of shape (n,) or (n, 2)
        Probability (or score) of 1, or of each class.
    threshold : float or array_like of shape (n,), default 0.5
        As in `accuracy`.

    Returns
    -------
    float
        The share; NaN if there are no positive records, or if a value of `p` or a
        threshold is NaN.

    Raises
    ------
    MetricError
        If the shapes or outcomes are not valid, or there are more than two classes.

    Examples
    --------
    >>> sensitivity([0, 1, 1, 0], [0.2, 0.9, 0.4, 0.3])
    0.5
    >>> sensitivity([0, 1, 1, 0], [0.2, 0.9, 0.4, 0.3], threshold=[0.5, 0.5, 0.3, 0.3])
    1.0
    """
    return sensitivity_of(_two_by_two(y, p, threshold, "sensitivity"))


def specificity(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> float:
    """Share of the negative records that are predicted negative.

    Parameters
    ----------
    y, p, threshold
        As in `sensitivity`.

    Returns
    -------
    float
        The share; NaN if there are no negative records, or if a value of `p` or a
        threshold is NaN.

    Raises
    ------
    MetricError
        As in `sensitivity`.

    Examples
    --------
    >>> specificity([0, 1, 1, 0], [0.2, 0.9, 0.4, 0.7])
    0.5
    """
    return specificity_of(_two_by_two(y, p, threshold, "specificity"))


def precision(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> float:
    """Share of positive records among those predicted positive (PPV).

    Parameters
    ----------
    y, p, threshold
        As in `sensitivity`.

    Returns
    -------
    float
        The share; NaN if no record is predicted positive (0 in scikit-learn), or if a
        value of `p` or a threshold is NaN.

    Raises
    ------
    MetricError
        As in `sensitivity`.

    Examples
    --------
    >>> precision([0, 1, 1, 0], [0.7, 0.9, 0.4, 0.3])
    0.5
    """
    return precision_of(_two_by_two(y, p, threshold, "precision"))


def npv(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> float:
    """Share of negative records among those predicted negative (NPV).

    Parameters
    ----------
    y, p, threshold
        As in `sensitivity`.

    Returns
    -------
    float
        The share; NaN if no record is predicted negative, or if a value of `p` or a
        threshold is NaN.

    Raises
    ------
    MetricError
        As in `sensitivity`.

    Examples
    --------
    >>> npv([0, 1, 1, 0], [0.2, 0.9, 0.4, 0.7])
    0.5
    """
    return npv_of(_two_by_two(y, p, threshold, "npv"))


def f1(
    y: ArrayLike,
    p: ArrayLike,
    threshold: ArrayLike = 0.5,
    *,
    average: Literal["binary", "micro", "macro"] | None = "binary",
) -> Any:
    """F1 score: the harmonic mean of precision and sensitivity.

    It is computed as 2 TP / (2 TP + FP + FN), which also exists if only one of
    precision and sensitivity does.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome: 0 or 1, or the codes 0 … K-1.
    p : array_like of shape (n,) or (n, K)
        Probability (or score) of 1, or of each class.
    threshold : float or array_like of shape (n,), default 0.5
        As in `accuracy`.
    average : {"binary", "micro", "macro"} or None
        The F1 of class 1, for two classes; the F1 of the summed counts of all classes,
        which equals the accuracy; the mean over the classes; or one F1 per class.

    Returns
    -------
    float or ndarray of shape (K,)
        The F1. It is 0 for a class that is observed or predicted, but never correctly
        predicted. It is NaN for a class that is neither observed nor predicted, and so
        is the mean (scikit-learn omits such a class, so that folds are averaged over
        different classes). It is NaN if a value of `p` or a threshold is NaN.

    Raises
    ------
    MetricError
        If the shapes or outcomes are not valid, a threshold is given for K classes, or
        `average` is unknown, or is "binary" for more than two classes.

    Notes
    -----
    The mean of F1 over folds is biased if classes are rare; the F1 of the pooled counts
    is nearly unbiased (Forman & Scholz 2010).

    References
    ----------
    van Rijsbergen (1979), Information Retrieval, ch. 7; Forman & Scholz (2010),
    ACM SIGKDD Explorations 12(1):49.

    Examples
    --------
    >>> f1([0, 1, 1, 0], [0.7, 0.9, 0.4, 0.3])
    0.5
    >>> y, p = [0, 1, 2], [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.5, 0.3, 0.2]]
    >>> f1(y, p, average=None).round(3).tolist()
    [0.667, 1.0, 0.0]
    """
    check_types(f1, locals(), MetricError)
    if average == "binary":
        return f1_of(_two_by_two(y, p, threshold, "binary F1"))
    if average is not None:
        inputs.one_of(average, _AVERAGES, "average")
    table = _table(y, p, threshold)
    if average == "micro":
        return accuracy_of(table)
    return f1_macro_of(table) if average == "macro" else each_f1_of(table)


def balanced_accuracy(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> float:
    """Mean over classes of the share of their records predicted correctly.

    Parameters
    ----------
    y, p, threshold
        As in `accuracy`.

    Returns
    -------
    float
        The mean; NaN if a value of `p` or a threshold is NaN, or a class has no
        records. (The average over the remaining classes would be biased if small folds
        lack a rare class.)

    Raises
    ------
    MetricError
        As in `accuracy`.

    Examples
    --------
    >>> balanced_accuracy([0, 0, 0, 1], [0.1, 0.2, 0.3, 0.4])
    0.5
    """
    return balanced_accuracy_of(_table(y, p, threshold))


def ber(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> float:
    """Balanced error rate: mean over classes of the share predicted wrongly.

    Parameters
    ----------
    y, p, threshold
        As in `accuracy`.

    Returns
    -------
    float
        1 minus `balanced_accuracy`; NaN if that is NaN.

    Raises
    ------
    MetricError
        As in `accuracy`.

    Examples
    --------
    >>> ber([0, 0, 0, 1], [0.1, 0.2, 0.7, 0.8], threshold=0.75)
    0.0
    >>> ber([0, 0, 0, 1], [0.1, 0.2, 0.3, 0.4])
    0.5
    """
    return 1 - balanced_accuracy(y, p, threshold)


def matthews(y: ArrayLike, p: ArrayLike, threshold: ArrayLike = 0.5) -> float:
    """Matthews correlation of observed and predicted classes.

    For two classes this is the correlation of two columns of 0 and 1. For K classes it
    is Gorodkin's R_K, in which covariances are summed over the classes.

    Parameters
    ----------
    y, p, threshold
        As in `accuracy`.

    Returns
    -------
    float
        The correlation, at least -1 (for K classes the minimum lies between -1 and 0)
        and at most 1. NaN if all records, or all predictions, are of one class (0 in
        scikit-learn), since a constant has no correlation; and if a value of `p` or a
        threshold is NaN.

    Raises
    ------
    MetricError
        As in `accuracy`.

    References
    ----------
    Matthews (1975), Biochim. Biophys. Acta 405:442; Gorodkin (2004), Comput. Biol.
    Chem. 28:367, eq. 8.

    Examples
    --------
    >>> round(matthews([0, 1, 1, 0], [0.2, 0.9, 0.4, 0.3]), 3)
    0.577
    >>> matthews([0, 1, 2], [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
    1.0
    """
    return matthews_of(_table(y, p, threshold))


def _table(y: ArrayLike, p: ArrayLike, threshold: ArrayLike) -> Floats:
    every = np.zeros(np.size(y), dtype=np.intp)
    return np.asarray(_tables(y, p, every, 1, threshold)[0])


def _two_by_two(y: ArrayLike, p: ArrayLike, threshold: ArrayLike, name: str) -> Floats:
    """Return [[TN, FP], [FN, TP]]."""
    table = _table(y, p, threshold)
    if len(table) != 2:
        raise MetricError(f"{name} is for two classes, but p has {len(table)} columns.")
    return table
