"""A model whose linear predictor is shrunk towards its mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ArgumentError
from statcv.formula import Design
from statcv.models import intercept_beside
from statcv.results.final.equation import Equation, Part

Floats = NDArray[np.float64]


def shrunk_equation(
    equation: Equation, slope: float, design: Design, weights: Floats | None
) -> Equation:
    """Return an equation with coefficients times a slope, and its intercept refitted.

    The intercept is that of the maximum likelihood with the rest as an offset (van
    Houwelingen & le Cessie 1990), so that the mean prediction for the rows is the mean
    outcome.

    Raises
    ------
    ArgumentError
        If there are more than two classes, or the slope is not a number above 0.
    """
    if equation.kind == "multiclass":
        raise ArgumentError("shrunk() is for two classes, or a continuous outcome.")
    if not (np.isfinite(slope) and slope > 0):
        raise ArgumentError(
            f"the slope must be a number above 0, not {slope:.3g}: a model with a "
            "slope of 0 or less has no predictive value that could be shrunk."
        )
    (parts,) = equation.parts
    kept = tuple(_scaled(part, slope) for part in parts if part.factors)
    eta = replace(equation, parts=(kept,)).linear(design.terms.frame)[:, 0]
    each = np.ones(len(eta)) if weights is None else weights
    value = intercept_beside(equation.kind, design.y, eta, each)
    intercept = Part("Intercept", value)
    return replace(equation, parts=((intercept, *kept),))


def _scaled(part: Part, slope: float) -> Part:
    return replace(part, coefficient=slope * part.coefficient)
