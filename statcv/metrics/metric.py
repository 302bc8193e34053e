"""A metric, with what the other rooms must know of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError
from statcv.metrics.discrimination.ranking import round_probabilities
from statcv.metrics.inputs import Floats

Pairs = Literal["classes", "each two classes", "numbers", "slope"]
RANDOM_ORDER = "_in_random_order"  # what the name of such a metric ends in


@dataclass(frozen=True)
class Metric:
    """A metric, and what it means.

    Attributes
    ----------
    name, label : str
        What a user types, and what tables and plots show.
    function : callable
        ``function(y, prediction)``, a float; with ``threshold`` where it reads
        classes.
    greater_is_better : bool
        Its direction.
    outcomes : frozenset of str
        Kinds of outcome: "binary", "multiclass", "continuous".
    reads : {"order", "classes", "probabilities", "numbers"}
        What it reads of the predictions.
    casewise : callable or None
        ``casewise(y, prediction)``, the records' values whose mean the metric is,
        with ``threshold`` as above; None where it is no such mean.
    uses_baseline : bool
        Whether it takes ``baseline``, a prediction made without a model.
    takes_threshold : bool
        Whether it takes ``threshold`` though it reads probabilities; a metric that
        reads classes does anyhow.
    target : float, optional
        The value of a perfect model, where neither more nor less is better.
    limits : tuple of float or callable, optional
        Its least and largest value, where they are not those of a share or a loss; a
        function of the number of classes where they depend on that.
    pairs : {"classes", "each two classes", "numbers", "slope"}, optional
        What it is of pairs of records that one fit left out: the share ranked right of
        a positive and a negative record (the auROC), of records of two classes,
        averaged over every two classes, or of records with different numbers; or a
        slope over pairs. None where it is no metric of pairs.
    no_skill : float or callable, optional
        Its value without skill under every outcome, such as 0.5 for auROC; a function
        of the number of classes where it depends on that. None where it depends on
        the outcome, as for accuracy.
    root_of : Metric, optional
        The mean over records whose square root it is.
    against_mean : bool
        Whether it compares the model with a prediction of the mean outcome, as do the
        metrics that take ``baseline``.
    in_random_order : callable, optional
        ``in_random_order(y, prediction)``, its mean over all orders of predictions of
        which as many are equal; None for a metric of ranks that then has one value,
        and for others.

    Examples
    --------
    >>> from statcv.metrics import METRICS
    >>> METRICS["brier"]([0, 1], [0.5, 1.0])
    0.125
    >>> METRICS["brier"].greater_is_better
    False
    """

    name: str
    label: str
    function: Callable[..., float]
    greater_is_better: bool
    outcomes: frozenset[str]
    reads: str = "numbers"
    casewise: Callable[..., Floats] | None = None
    uses_baseline: bool = False
    takes_threshold: bool = False
    target: float | None = None
    limits: tuple[float, float] | Callable[[int], tuple[float, float]] | None = None
    pairs: Pairs | None = None
    no_skill: float | Callable[[int], float] | None = None
    root_of: Metric | None = None
    against_mean: bool = False
    in_random_order: Callable[..., float] | None = None

    def without_skill(self, classes: int) -> float | None:
        """Return its value without skill; None where it depends on the outcome.

        >>> from statcv.metrics import METRICS
        >>> METRICS["balanced_accuracy"].without_skill(4)
        0.25
        >>> METRICS["accuracy"].without_skill(2) is None
        True
        """
        return self.no_skill(classes) if callable(self.no_skill) else self.no_skill

    @property
    def is_auroc(self) -> bool:
        """Whether it is the share of pairs of two classes that are ranked right."""
        return self.pairs == "classes"

    @property
    def is_of_random_order(self) -> bool:
        """Whether it is the mean of another metric over all orders."""
        return self.name.endswith(RANDOM_ORDER)

    def of_random_order(self) -> Metric | None:
        """Return its mean over all orders as a metric by itself, if it has one.

        >>> from statcv.metrics import METRICS
        >>> METRICS["auprc"].of_random_order()([0, 1], [0.2, 0.8])
        0.75
        """
        if self.in_random_order is None:
            return None
        name = f"{self.name}{RANDOM_ORDER}"
        return replace(
            self, name=name, function=self.in_random_order, in_random_order=None
        )

    def check_outcome(self, kind: str, name: str) -> None:
        """Raise MetricError where it is not for outcomes of this kind."""
        if kind not in self.outcomes:
            raise MetricError(
                f"{self.label} needs a {' or '.join(sorted(self.outcomes))} outcome, "
                f"but {name!r} is {kind}."
            )

    @property
    def cuts(self) -> bool:
        """Whether it depends on a threshold of the predictions."""
        return self.takes_threshold or self.reads == "classes"

    @property
    def rank(self) -> bool:
        """Whether it depends on the order of the predictions only.

        Pooled over folds, such a metric compares predictions of different fits.
        """
        return self.reads == "order"

    def readable(
        self,
        prediction: Floats,
        probabilities: bool = True,
        threshold: ArrayLike | None = None,
    ) -> Floats:
        """Return what the metric reads of predictions.

        Predictions that are no probabilities but scores, positive where they speak
        for class 1, have an order and a class; a metric of probabilities then
        reads NaN. Probabilities of two classes are rounded before they are ranked, as
        by `round_probabilities`, so that it does not matter which class is positive.

        Parameters
        ----------
        prediction : numpy.ndarray
        probabilities : bool
            Whether they are probabilities (or means), not scores.
        threshold : float or array_like of shape (n,), optional
            What the metric is about to be called with. Scores then stay scores, to
            be compared with it; without one they are compared with 0.

        Examples
        --------
        >>> import numpy as np
        >>> from statcv.metrics import METRICS
        >>> accuracy, scores = METRICS["accuracy"], np.array([-2.0, 0.3])
        >>> accuracy.readable(scores, probabilities=False)
        array([0., 1.])
        >>> read = accuracy.readable(scores, probabilities=False, threshold=0.7)
        >>> accuracy([0, 0], read, threshold=0.7)
        1.0
        """
        of_two = prediction.ndim == 1 and "continuous" not in self.outcomes
        if self.rank and probabilities and of_two:
            return round_probabilities(prediction)
        if probabilities or self.reads in ("order", "numbers"):
            return prediction
        if self.reads == "classes":
            if threshold is not None:
                return prediction
            return np.where(np.isnan(prediction), np.nan, prediction > 0)
        return np.full_like(prediction, np.nan)

    @property
    def bounds(self) -> tuple[float, float]:
        """The values it can take: a loss from 0, a share to 1, R² below 1."""
        return self.bounds_with(3)

    def bounds_with(self, classes: int) -> tuple[float, float]:
        """Return the values it can take with so many classes.

        >>> from statcv.metrics import METRICS
        >>> METRICS["brier"].bounds_with(2), METRICS["brier"].bounds_with(3)
        ((0.0, 1.0), (0.0, 2.0))
        """
        if callable(self.limits):
            return self.limits(classes)
        if self.limits is not None:
            return self.limits
        if not self.greater_is_better:
            return 0.0, math.inf
        return (-math.inf if self.uses_baseline else 0.0), 1.0

    def __call__(
        self,
        y: ArrayLike,
        prediction: ArrayLike,
        baseline: ArrayLike | None = None,
        threshold: ArrayLike | None = None,
    ) -> float:
        """Return the metric.

        Parameters
        ----------
        y : array_like of shape (n,)
            Outcome.
        prediction : array_like of shape (n,) or (n, K)
            Score, probability or number; probabilities of K classes.
        baseline : array_like of shape (n,), optional
            Handed on where `uses_baseline`; the other metrics have no use for it,
            so that all can be called alike.
        threshold : float or array_like of shape (n,), optional
            Above which class 1 is predicted, 0.5 where not given. Handed on where
            the metric depends on it; of classes there must then be two.

        Returns
        -------
        float
            The value; NaN where it is undefined.
        """
        if self.uses_baseline:
            return self.function(y, prediction, baseline=baseline)
        if self.cuts and threshold is not None:
            return self.function(y, prediction, threshold=threshold)
        return self.function(y, prediction)
