"""The result of a hypothesis test: what was tested, the numbers, and the assumptions.

A test that is not possible is a result too: its numbers are NaN, and it states why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from textwrap import fill
from typing import Any

import numpy as np

from statcv.arguments import one_of
from statcv.numeric.arrays import Floats
from statcv.words import p_in_words, percent, sentence

WIDTH = 78
ALTERNATIVES = ("two-sided", "greater", "less")


@dataclass(frozen=True, eq=False)
class HTest:
    """The test of one null hypothesis, similar to R's ``htest``; ``print`` shows it.

    Attributes
    ----------
    method, about, label : str
        Name of the test, what was tested, and the tested quantity, such as "auROC
        (paired)".
    estimate, null : float
        Estimate of the quantity, and its value under the null hypothesis.
    alternative : {"two-sided", "greater", "less"}
    statistic, df, p_value : float
        Test statistic, degrees of freedom of t (otherwise NaN), and p-value.
    statistic_name : str
        "z", "t", or the label if the estimate itself is the statistic.
    lower, upper, level : float
        Confidence interval of the quantity, with its level; NaN if the test gives none.
    assumes, notes : str, tuple of str
        Assumptions of the test, and further remarks.
    reason : str
        Reason why there is no test, or why it says little; empty otherwise.
    replicates : numpy.ndarray
        Values on which the test is based, such as those under permuted outcomes.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> ridge = res.update(model=scv.models.Logit(C=1.0))
    >>> ridge.test("auroc", n_permutations=99, seed=1).p_value
    0.01
    """

    method: str
    about: str
    label: str
    estimate: float
    null: float
    alternative: str
    statistic: float
    statistic_name: str
    p_value: float
    assumes: str
    df: float = np.nan
    lower: float = np.nan
    upper: float = np.nan
    level: float = 0.95
    notes: tuple[str, ...] = ()
    reason: str = ""
    replicates: Floats = field(default_factory=lambda: np.empty(0))

    def __str__(self) -> str:
        lines = [fill(self.method, WIDTH), _indented(self.about), ""]
        if math.isnan(self.p_value):
            lines.append(_sentence(f"no test: {self.reason}"))
        else:
            lines.append(f"  {self._numbers()}")
            lines.append(f"  alternative: {self.label} is {self._side()}")
            if not math.isnan(self.lower):
                limits = f"{shown(self.lower)} to {shown(self.upper)}"
                lines.append(f"  {percent(self.level)} interval: {limits}")
            lines.append(f"  estimate: {shown(self.estimate)}")
        texts = [self.assumes, *self.notes]
        if self.reason and not math.isnan(self.p_value):
            texts.append(self.reason)
        lines += ["", *(_sentence(text) for text in texts if text)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _numbers(self) -> str:
        degrees = "" if math.isnan(self.df) else f", df = {self.df:g}"
        counts = self.statistic_name.startswith("pairs")
        statistic = f"{self.statistic:g}" if counts else shown(self.statistic)
        return (
            f"{self.statistic_name} = {statistic}{degrees}, {p_in_words(self.p_value)}"
        )

    def _side(self) -> str:
        side = {"two-sided": "not equal to", "greater": "greater than"}
        return f"{side.get(self.alternative, 'less than')} {self.null:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name, as one row of a table."""
        said = ("method", "label", "alternative")
        numbers = ("estimate", "null", "statistic", "df", "p_value", "lower", "upper")
        return {name: getattr(self, name) for name in (*said, *numbers, "reason")}


def shown(value: float, places: int = 4) -> str:
    """Return a number with decimals, or significant digits if it is too small.

    >>> shown(0.51234), shown(1.2712e-07)
    ('0.5123', '1.271e-07')
    """
    small = 0 < abs(value) < 10.0 ** (1 - places)
    return f"{value:.{places}{'g' if small else 'f'}}"


def check_alternative(alternative: str) -> None:
    """Check that an alternative is one of :data:`ALTERNATIVES`.

    Raises
    ------
    ArgumentError
    """
    one_of(alternative, ALTERNATIVES, "alternative")


def _sentence(text: str) -> str:
    return _indented(sentence(text))


def _indented(text: str) -> str:
    return fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
