"""A regression as integer points that are added up by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from statcv.arguments import is_number
from statcv.errors import ModelError
from statcv.models.base import Capabilities, PlainFit, TrainingSet, refuse_kind
from statcv.models.cox import Cox, ProportionalHazards
from statcv.models.logit import Logit
from statcv.numeric.arrays import Floats, Numbers
from statcv.numeric.logistic import expit

MAX_POINTS = 100  # points at most of one column, more of which nobody adds up
FINENESS = 20  # limits have the digits of the width of a point over this number


@dataclass(frozen=True, eq=False)
class IntegerScale:
    """The points of one column.

    Attributes
    ----------
    limits : numpy.ndarray
        Rising values at which and above which the next number of points begins.
    points : numpy.ndarray of int
        Points below the first limit, between each two, and from the last one on.
    """

    limits: Floats
    points: Numbers

    def of(self, x: Floats) -> Numbers:
        """Return the points of values."""
        place = np.searchsorted(self.limits, x, side="right")
        return np.asarray(self.points[place])


@dataclass(frozen=True, eq=False)
class Score:
    """A fitted scoring system.

    Attributes
    ----------
    scales : dict of int to IntegerScale
        The points of each column of the matrix but the intercept.
    start : float
        The log-odds, or log hazard, of no points.
    point : float
        The log-odds, or log hazard, of a point.
    rests : dict of str to int
        Points of the level without a column of each factor, which other levels replace.
    hazards : ProportionalHazards, optional
        The risks by each horizon that follow from a log hazard.
    """

    scales: Mapping[int, IntegerScale]
    start: float
    point: float
    rests: Mapping[str, int]
    hazards: ProportionalHazards | None = None

    def total(self, X: Floats) -> Numbers:
        """Return the points of each row of the matrix."""
        made = np.full(len(X), sum(self.rests.values()), dtype=np.intp)
        for j, scale in self.scales.items():
            made += scale.of(X[:, j])
        return made

    def risk(self, total: Numbers) -> Floats:
        """Return the probability of the positive class by the points.

        Of times to an event these are the log hazard, and the risk by each horizon.
        """
        linear = np.asarray(self.start + self.point * total, dtype=float)
        return expit(linear) if self.hazards is None else self.hazards(linear)

    def predict(self, X: Floats) -> Floats:
        """Return the risk by the points; NaN for a missing value."""
        made = self.risk(self.total(X))
        made[np.isnan(X).any(axis=1)] = np.nan
        return made


@dataclass(frozen=True)
class Points:
    """Logistic or Cox regression, rounded to integer points (Sullivan et al. 2004).

    In each training set the coefficients are rounded: a covariate has a point for each
    distance whose log-odds are those of the unit, beginning with the values of the
    lowest risk; a level has the nearest number of points. The risk is that of the
    total; of a Cox regression, from Breslow's baseline hazard given the totals.
    Rounding is thus part of what is cross-validated.

    Parameters
    ----------
    unit : mapping of str to float
        A numeric column of the model, and the distance that is one point, such as
        ``{"age": 5}``.
    model : Logit or Cox, optional
        The regression that is rounded; an unpenalised logistic one unless given.

    Examples
    --------
    >>> Points({"GPA": 0.5}).label
    'points by logistic regression, unpenalised; 0.5 of GPA is a point'

    References
    ----------
    Sullivan, Massaro & D'Agostino (2004), Statistics in Medicine 23:1631.
    """

    unit: Mapping[str, float]
    model: Logit | Cox = field(default_factory=Logit)

    @property
    def capabilities(self) -> Capabilities:
        """An offset is a covariate whose coefficient is 1."""
        return Capabilities(offsets=self.model.capabilities.offsets)

    def __post_init__(self) -> None:
        if not (isinstance(self.unit, Mapping) and len(self.unit) == 1):
            raise ModelError(
                "unit must be a mapping of one column to the distance that is a point, "
                f"such as {{'age': 5}}, not {self.unit!r}."
            )
        (distance,) = self.unit.values()
        if not (is_number(distance) and distance > 0):
            raise ModelError(
                f"the distance that is a point must be above 0, not {distance!r}."
            )
        if not isinstance(self.model, (Logit, Cox)):
            raise ModelError(
                f"model must be a Logit or Cox, not {type(self.model).__name__}."
            )

    @property
    def label(self) -> str:
        """How print and summary call it."""
        ((column, distance),) = self.unit.items()
        return f"points by {self.model.label}; {distance:g} of {column} is a point"

    def check(self, kind: str) -> None:
        """Raise ModelError for an outcome that the regression is not for."""
        kinds = ("survival",) if isinstance(self.model, Cox) else ("binary",)
        refuse_kind("a score of points", kind, kinds)
        self.model.check(kind)

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        self.check(training.kind)
        fitted = self.model.fit(training)
        assert fitted.coefficients is not None
        score = self.rounded(training, fitted.coefficients)
        return PlainFit(
            score.predict, fitted.coefficients, fitted.converged, fitted.separated
        )

    def rounded(
        self, training: TrainingSet, coefficients: Mapping[str, float]
    ) -> Score:
        """Return the points of coefficients, beginning with the lowest risks.

        Raises
        ------
        ModelError
            If the unit is not a column of the model or its coefficient is 0, or a
            column would have too many points.
        """
        ((unit, distance),) = self.unit.items()
        if unit not in training.names:
            known = ", ".join(training.names[:8])
            raise ModelError(
                f"unit= names {unit!r}, which is not a numeric column of the model "
                f"({known})."
            )
        # a Cox regression has no coefficient of the intercept
        beta = {name: float(coefficients.get(name, 0.0)) for name in training.names}
        point = abs(beta[unit]) * distance
        if not point > 0:
            raise ModelError(
                f"the coefficient of {unit!r} is 0 in a training set, so that no point "
                "can be that of a distance; name another column."
            )
        scales: dict[int, IntegerScale] = {}
        factors: dict[str, list[int]] = {}
        rests: dict[str, int] = {}
        start = 0.0
        for j, name in enumerate(training.names):
            if j == training.intercept:
                start += beta[name]
                continue
            x = training.X[:, j]
            if np.isin(x, (0.0, 1.0)).all():
                factors.setdefault(name.partition("[")[0], []).append(j)
                continue
            _check_size(name, beta[name] * np.ptp(x) / point)
            scales[j], lowest = _of_covariate(x, beta[name], point)
            start += beta[name] * lowest
        for name, places in factors.items():
            values = np.array([beta[training.names[j]] for j in places])
            _check_size(name, np.ptp([*values, 0.0]) / point)
            # with an intercept, a level without a column has 0
            spare = [] if training.intercept is None else [0.0]
            least = min([*values.tolist(), *spare])
            start += least
            own = np.rint((values - least) / point).astype(np.intp)
            rest = rests[name] = int(np.rint(-least / point)) if spare else 0
            for j, points in zip(places, own.tolist(), strict=True):
                scales[j] = IntegerScale(np.array([0.5]), np.array([0, points - rest]))
        score = Score(scales, start, point, rests)
        if not isinstance(self.model, Cox):
            return score
        eta = start + point * score.total(training.X)
        centred = replace(score, start=start - eta.mean())
        of = ProportionalHazards.of(training, eta - eta.mean())
        return replace(centred, hazards=of)


def _check_size(name: str, points: float) -> None:
    if not abs(points) <= MAX_POINTS:
        raise ModelError(
            f"{name!r} would have {abs(points):.0f} points in a training set, more "
            f"than {MAX_POINTS}; choose a longer distance for a point."
        )


def _of_covariate(x: Floats, beta: float, point: float) -> tuple[IntegerScale, float]:
    """Return the points of a covariate, and the value of which there are none."""
    low, high = float(x.min()), float(x.max())
    if beta == 0:
        return IntegerScale(np.empty(0), np.zeros(1, dtype=np.intp)), low
    width = point / abs(beta)
    digits = int(np.ceil(np.log10(FINENESS / width)))
    start = round(low if beta > 0 else high, digits - 1)
    number = int(np.rint((high - low) / width))
    steps = (np.arange(number) + 0.5) * width
    limits = np.round(start + steps if beta > 0 else (start - steps)[::-1], digits)
    points = np.arange(number + 1)
    return IntegerScale(limits, points if beta > 0 else points[::-1]), start
