"""The influence of records on each metric: its derivative and its weighted form.

A metric that is a mean over records, or a function of the table of classes, has both
from its definition; those of the other metrics are listed here by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from statcv.metrics.influence import weighted
from statcv.metrics.influence.derivative import Derive
from statcv.metrics.influence.losses import (
    DerivativeOfMean,
    DerivativeOfTable,
    discrimination_derivative,
    explained_derivative,
    intercept_derivative,
    oe_derivative,
    slope_derivative,
)
from statcv.metrics.influence.ranks import (
    DerivativeOfPrecision,
    auroc_derivative,
    concordance_derivative,
    hand_till_derivative,
    ovr_derivative,
)
from statcv.metrics.inputs import Floats
from statcv.metrics.probabilities.distances import DISTANCES

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
    return {
        "derive": DerivativeOfMean(casewise, root),
        "weighted": weighted.WeightedMean(casewise, root),
    }


def influence_on_table(of_table: Callable[[Floats], float]) -> dict[str, Any]:
    """Return those of a function of the table of observed and predicted classes."""
    return {
        "derive": DerivativeOfTable(of_table),
        "weighted": weighted.WeightedTable(of_table),
    }
