"""The class of metrics, with the properties that the rest of statcv reads."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from statcv.errors import MetricError
from statcv.metrics.discrimination.rounding import round_probabilities
from statcv.metrics.influence.weighted import Derive, Weighted
from statcv.numeric.arrays import Array, ArrayLike, Floats
from statcv.numeric.survival import events_by, free_at
from statcv.tables import Printed, Said, fields_of

Pairs = Literal["classes", "each two classes", "numbers", "slope", "horizon"]
RANDOM_ORDER = "_in_random_order"  # the ending of such a metric's name


@dataclass(frozen=True, repr=False)
class Metric(Printed):
    """A metric and its properties.

    Attributes
    ----------
    name, label : str
        The name that a user types, and the label in tables and plots.
    function : callable
        ``function(y, prediction)``, which returns a float; also called with
        ``threshold`` if the metric reads classes.
    greater_is_better : bool
        Whether greater values are better.
    outcomes : frozenset of str
        Kinds of outcome: "binary", "multiclass", "continuous", "survival".
    reads : {"order", "classes", "probabilities", "numbers"}
        Aspect of the predictions that the metric depends on.
    casewise : callable or None
        ``casewise(y, prediction)``, one value per record, whose mean is the metric,
        with ``threshold`` as above. None for a metric that is not a mean over records.
    uses_baseline : bool
        Whether the metric takes ``baseline``, a prediction made without a model.
    takes : {"", "uncensored", "dispersion"}
        What the metric takes of the training set besides each prediction:
        ``uncensored``, the probability of not being censored before the time of the
        record or, if it outlives that, at the horizon; or the ``dispersion`` of counts.
    takes_threshold : bool
        Whether the metric takes ``threshold`` although it reads probabilities. (All
        metrics that read classes take one.)
    target : float, optional
        The value of a calibrated model, for measures of calibration.
    limits : tuple of float or callable, optional
        Smallest and largest possible value, if they are not those of a share or a
        loss; a function of the number of classes if they depend on it.
    pairs : {"classes", "each two classes", "numbers", "slope", "horizon"}, optional
        How the metric can be computed from pairs of records held out by the same fit:
        as the share of pairs that are ranked correctly, for a positive and a negative
        record (the auROC), for records of two classes, averaged over every two
        classes, or for records with different numbers; as a slope over pairs; or for a
        record with the event by the horizon and one without. None if the metric cannot
        be computed from pairs.
    no_skill : float or callable, optional
        The value without skill if it is the same for every outcome, such as 0.5 for
        auROC; a function of the number of classes if it depends on that. None if it
        depends on the outcome, as for accuracy.
    perfect : float, optional
        The value of perfect predictions if it is the same for every outcome, such as 1
        for auROC. None if it depends on the outcome, or is not known.
    root_of : Metric, optional
        The mean over records of which the metric is the square root.
    against_mean : bool
        Whether the metric compares the model with a prediction of the mean outcome, as
        the metrics that take ``baseline`` do.
    in_random_order : callable, optional
        ``in_random_order(y, prediction)``, the mean of the metric over all orders of
        the predictions, with their ties unchanged. None if this mean does not depend
        on the ties, and for metrics that are not rank metrics. The function of a metric
        that has it also takes predictions of shape (m, n), and returns m values.
    by_group : callable, optional
        ``by_group(y, prediction, group, groups)``, the metric in each of many groups of
        records at once, NaN where it has no value, with ``baseline`` and ``threshold``
        as above. None if groups are computed one by one.
    derive : callable, optional
        The function that returns the derivative of the metric by the weight of each
        record, from which intervals without refits are made.
    weighted : callable, optional
        The metric of weighted records, for many sets of weights and predictions at
        once; see ``statcv.metrics.influence.weighted``.
    horizon : float, optional
        The time by which the predicted event is to happen, for a metric of the risk by
        then.
    column : int, slice or callable, optional
        The columns of a survival model's predictions that the metric reads: 0 is the
        linear predictor, others the risks at the horizons. Or the function of the
        probabilities of ordered classes that it reads.

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
    takes: str = ""
    takes_threshold: bool = False
    target: float | None = None
    limits: tuple[float, float] | Callable[[int], tuple[float, float]] | None = None
    pairs: Pairs | None = None
    no_skill: float | Callable[[int], float] | None = None
    perfect: float | None = None
    root_of: Metric | None = None
    against_mean: bool = False
    in_random_order: Callable[..., float] | None = None
    by_group: Callable[..., Floats] | None = None
    derive: Derive | None = None
    weighted: Weighted | None = None
    horizon: float | None = None
    column: int | slice | Callable[[Floats], Floats] | None = None

    def _said(self) -> Said:
        wanted = ("outcomes", "greater_is_better", "limits", "no_skill", "perfect")
        shown = fields_of(self)
        below = {name: shown[name] for name in wanted if name in shown}
        return f"{self.label}, the metric {self.name!r}", below

    def without_skill(self, classes: int) -> float | None:
        """Return the value without skill; None if it depends on the outcome.

        >>> from statcv.metrics import METRICS
        >>> METRICS["balanced_accuracy"].without_skill(4)
        0.25
        >>> METRICS["accuracy"].without_skill(2) is None
        True
        """
        return self.no_skill(classes) if callable(self.no_skill) else self.no_skill

    @property
    def is_auroc(self) -> bool:
        """Whether the metric is the share of correctly ranked pairs of two classes."""
        return self.pairs == "classes"

    @property
    def is_of_random_order(self) -> bool:
        """Whether the metric is the mean of another metric over all orders."""
        return self.name.endswith(RANDOM_ORDER)

    def of_random_order(self, **how: Any) -> Metric | None:
        """Return the mean over all orders as a metric of its own, if there is one.

        Settings of the function that has the mean can be given, such as
        ``of_ties=True`` for the orders of tied predictions alone.

        >>> from statcv.metrics import METRICS
        >>> METRICS["auprc"].of_random_order()([0, 1], [0.2, 0.8])
        0.75
        """
        if self.in_random_order is None:
            return None
        mean = self.in_random_order  # as it is without settings, so that it compares
        function = partial(mean, **how) if how else mean
        forms = ("in_random_order", "by_group", "derive", "weighted")
        lacking: dict[str, Any] = dict.fromkeys(forms)
        name = f"{self.name}{RANDOM_ORDER}"
        return replace(self, name=name, function=function, **lacking)

    def check_outcome(self, kind: str, name: str) -> None:
        """Raise MetricError if the metric does not apply to this kind of outcome."""
        if kind not in self.outcomes:
            raise MetricError(
                f"{self.label} needs a {' or '.join(sorted(self.outcomes))} outcome, "
                f"but {name!r} is {kind}."
            )

    @property
    def cuts(self) -> bool:
        """Whether the metric depends on a threshold of the predictions."""
        return self.takes_threshold or self.reads == "classes"

    @property
    def rank(self) -> bool:
        """Whether the metric depends only on the order of the predictions.

        Pooled over folds, such a metric compares predictions of different fits.
        """
        return self.reads == "order"

    @property
    def pools_splits(self) -> bool:
        """Whether overlapping splits are pooled, and folds always are.

        The area under the precision-recall curve and measures of calibration are not
        means over records or pairs, and have little meaning in a small fold.
        """
        of_all = self.rank and self.pairs is None and self.no_skill is None
        return of_all or (self.target is not None and self.reads == "probabilities")

    def readable(
        self,
        prediction: Floats,
        probabilities: bool = True,
        threshold: ArrayLike | None = None,
    ) -> Floats:
        """Return predictions in the form that the metric reads.

        Predictions that are scores and not probabilities, with scores of at least 0
        for class 1, have an order and a class; a metric of probabilities reads them as
        NaN. Probabilities of two classes are rounded by `round_probabilities` before
        they are ranked, so that it does not matter which class is positive.

        Parameters
        ----------
        prediction : numpy.ndarray
            Predictions of a model.
        probabilities : bool
            Whether the predictions are probabilities (or means) and not scores.
        threshold : float or array_like of shape (n,), optional
            Threshold with which the metric will be called. Scores are then returned
            unchanged; without a threshold they are compared with 0.

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
        prediction = self.column_of(prediction)
        of_two = prediction.ndim == 1 and not self.of_numbers
        if self.rank and probabilities and of_two:
            return round_probabilities(prediction)
        if probabilities or self.reads in ("order", "numbers"):
            return prediction
        if self.reads == "classes":
            if threshold is not None:
                return prediction
            return np.where(np.isnan(prediction), np.nan, prediction >= 0)
        return np.full_like(prediction, np.nan)

    def column_of(self, prediction: Floats) -> Floats:
        """Return the predictions that the metric reads, of those of all columns."""
        if callable(self.column):
            return self.column(prediction)
        return prediction if self.column is None else prediction[..., self.column]

    @property
    def of_numbers(self) -> bool:
        """Whether the metric reads numbers that are not probabilities."""
        linear = "survival" in self.outcomes and self.horizon is None
        return linear or "continuous" in self.outcomes or self.pairs == "numbers"

    @property
    def ranks_classes(self) -> bool:
        """Whether the metric ranks records of one class against another class."""
        numbers = self.pairs == "numbers" or self.outcomes & {"continuous", "survival"}
        return self.rank and not numbers

    def sides(self, y: Array) -> Array:
        """Return 1 and 0 for the two sides of the pairs, and -1 for records in none.

        They are the classes themselves, if the outcome has classes; of survival, those
        with the event by the horizon, and those known to be without it.
        """
        if self.pairs != "horizon" or self.horizon is None:
            return y
        free, case = free_at(y, self.horizon), events_by(y, self.horizon)
        return np.where(free, 0, np.where(case, 1, -1))

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest possible value: from 0 for a loss, to 1 for a share."""
        return self.bounds_with(3)

    def bounds_with(self, classes: int) -> tuple[float, float]:
        """Return the smallest and largest possible value for a number of classes.

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
        """Return the value of the metric.

        Parameters
        ----------
        y : array_like of shape (n,)
            Outcome.
        prediction : array_like of shape (n,) or (n, K)
            Scores, probabilities or numbers; or the probabilities of K classes.
        baseline : array_like of shape (n,), optional
            Predictions made without a model, or what the metric `takes` of the
            training set. Others ignore them, so that all can be called in the same way.
        threshold : float or array_like of shape (n,), optional
            Smallest prediction for which class 1 is predicted; 0.5 by default. A
            metric that does not depend on a threshold ignores it. With a threshold
            there must be two classes.

        Returns
        -------
        float
            The value; NaN if it is undefined.
        """
        named = {} if self.beside is None else {self.beside: baseline}
        if self.cuts and threshold is not None:
            named["threshold"] = threshold
        return self.function(y, prediction, **named)

    @property
    def beside(self) -> str | None:
        """The name of what the metric takes besides each prediction, if anything."""
        return self.takes or ("baseline" if self.uses_baseline else None)
