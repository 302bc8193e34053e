"""The questions of the study: skill, losses, and two models."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from statcv.studies.inference import comparisons, losses, no_skill
from statcv.studies.inference.draws import Draw
from statcv.studies.inference.methods import Method
from statcv.studies.inference.population import Population


@dataclass(frozen=True)
class Question:
    """What is read of every data set, and which methods answer.

    Attributes
    ----------
    targets : tuple of str
        Metrics whose truth is known.
    null : float
        Value of the estimand without skill; NaN if there is no such value.
    budget : int
        Largest number of refits that a method makes in a cell.
    modest : int
        Number of fits per data set that is small enough for a method to be tried on the
        least number of data sets for which a share is reported, whatever the budget.
    methods : callable
        Scheme and population → what is measured; nothing for a scheme that is not
        asked.
    read : callable
        `Draw` → what the methods read, and the true value of each target.
    """

    targets: tuple[str, ...]
    null: float
    budget: int
    methods: Callable[[str, Population], tuple[Method, ...]]
    read: Callable[[Draw], tuple[Any, tuple[float, ...]]]
    modest: int = 0


def _of_scheme(
    methods: Callable[[str], tuple[Method, ...]],
) -> Callable[[str, Population], tuple[Method, ...]]:
    return lambda scheme, population: methods(scheme)


def _compared(models: Callable[..., Any], budget: int, signed: bool) -> Question:
    return Question(
        targets=comparisons.TARGETS,
        null=0.0,
        budget=budget,
        methods=partial(comparisons.methods_of, signed=signed),
        read=partial(comparisons.read, models=models),
    )


QUESTIONS = {
    "no_skill": Question(
        targets=no_skill.TARGETS,
        null=no_skill.NO_SKILL,
        budget=2_300_000,
        modest=4_000_000,
        methods=_of_scheme(no_skill.methods_of),
        read=no_skill.read,
    ),
    "equals": _compared(comparisons.equals, 1_000_000, signed=True),
    "losses": Question(
        targets=losses.TARGETS,
        null=math.nan,
        budget=700_000,
        methods=_of_scheme(losses.methods_of),
        read=losses.read,
    ),
    "nested": _compared(comparisons.nested, 500_000, signed=False),
}
"""The questions by name: no skill, two equally good models, losses, nested models."""
