"""A final model as a table of points and the risk of each total."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.arguments import is_number
from statcv.errors import ArgumentError, EquationError, ModelError
from statcv.formula import Design
from statcv.inference import metric_of
from statcv.models import Cox, Logit, Points, Score
from statcv.numeric.arrays import Floats
from statcv.numeric.survival import kaplan_meier
from statcv.results.final.columns import column_factors
from statcv.results.final.expressions import Column, Expression, Levels
from statcv.results.final.written import labelled
from statcv.tables import WIDTH, Table, Values
from statcv.words import joined

if TYPE_CHECKING:
    from statcv.results.result import CVResult


COSTS = ("auroc", "calibration_slope", "brier", "net_benefit")


@dataclass(frozen=True, eq=False)
class PointScore:
    """The points of a final model, to be added up by hand.

    Attributes
    ----------
    label : str
        How the score was made.
    table : pandas.DataFrame
        The points of each value of each predictor: ``predictor``, ``value``,
        ``points``.
    risks : pandas.DataFrame
        The risk of each total that can occur: ``points``, ``risk``; of a Cox
        regression, ``risk_90`` for a horizon of 90.
    """

    label: str
    table: pd.DataFrame
    risks: pd.DataFrame
    _score: Score
    _rounding: Points
    _exact: CVResult

    def total(self, new: object) -> pd.Series[Any]:
        """Return the points of each row of a frame; missing for incomplete rows."""
        matrix, labels = self._exact.design.new_matrix(new)
        complete = np.asarray(~np.isnan(matrix).any(axis=1))
        total = pd.array(self._score.total(matrix), dtype="Int64")
        made = pd.Series(total, index=labels, name="points").where(complete)
        return Values(made, "Points by the score of the final model")

    def predict(self, new: object) -> pd.Series[Any] | pd.DataFrame:
        """Return the risk of the total of each row; NaN for incomplete rows."""
        design, said = self._exact.design, "Risks by the points of the final model"
        matrix, rows = design.new_matrix(new)
        return labelled(self._score.predict(matrix), rows, design.outcome.columns, said)

    def cross_validated(self) -> CVResult:
        """Return the result of the score in the same folds, each rounded by itself.

        :func:`statcv.compare` with the result of the exact model tells what rounding
        costs.
        """
        return self._exact.update(model=self._rounding)

    def cost(
        self, metrics: Sequence[str] | None = None, *, threshold: float | None = None
    ) -> pd.DataFrame:
        """Return metrics of the exact model and of the score, cross-validated.

        Parameters
        ----------
        metrics : sequence of str, optional
            Names of metrics; auROC, calibration slope, Brier score and net benefit,
            at each horizon if there are any, unless given.
        threshold : float, optional
            Risk from which on the positive class is predicted, for the net benefit;
            that of the result or, if it has none, the prevalence (at a horizon, that of
            the Kaplan-Meier curve), unless given.

        Returns
        -------
        pandas.DataFrame
            ``exact``, ``points`` and their ``difference`` with a 95% confidence
            interval (``lower``, ``upper``), as :func:`statcv.compare` has it, one row
            per metric.
        """
        from statcv.results.comparison import make_comparison  # compares such models

        horizons = self._exact.design.outcome.horizons
        if metrics is None:
            metrics = [f"{name}@{at:g}" for name in COSTS for at in horizons] or COSTS
        if threshold is None:
            threshold = self._exact.threshold
        elif not (is_number(threshold) and 0 < threshold < 1):
            raise ArgumentError(f"threshold must be a risk, not {threshold!r}.")
        both = {"exact": self._exact, "points": self.cross_validated()}
        each, used = {}, dict[str, float]()
        for metric in metrics:
            at = metric_of(self._exact, metric).horizon
            risk = self._prevalence(at) if threshold is None else threshold
            used[f"{risk:.3g}"] = risk
            own = {name: replace(one, threshold=risk) for name, one in both.items()}
            found = make_comparison(own, metric)
            difference = found.differences[["difference", "lower", "upper"]]
            each[metric] = {**found.table["estimate"], **difference.iloc[0]}
        caption = "Cross-validated cost of rounding, positive at a risk of "
        caption += joined([*used])
        limits, heads = {"difference": ("lower", "upper")}, [*both, "difference"]
        frame = pd.DataFrame(each).T.rename_axis("metric")
        return Table(frame, caption, heads, indexed=True, limits=limits)

    def _prevalence(self, horizon: float | None) -> float:
        y, outcome = self._exact.design.y, self._exact.design.outcome
        if outcome.kind == "binary":
            return float(y.mean())
        at = outcome.horizons[-1] if horizon is None else horizon
        return 1 - float(kaplan_meier(y).at(at).item())

    def __str__(self) -> str:
        label = textwrap.fill(self.label, WIDTH)
        return f"{label}\n\n{self.table}\n\n{self.risks}"

    __repr__ = __str__


def points_of(result: CVResult, unit: Mapping[str, float]) -> PointScore:
    """Return the points of a logistic or Cox regression of main effects.

    Raises
    ------
    ModelError
        If the model is neither, or the unit does not suit it.
    EquationError
        If a term is an interaction or a function, of which nobody adds up points.
    """
    design, model = result.design, result.learner
    if not isinstance(model, (Logit, Cox)):
        raise ModelError(
            "points are made of a logistic or Cox regression that chooses nothing, not "
            f"{model.label}; nomogram() has points of others, which are not rounded."
        )
    rounding = Points(unit, model)
    rounding.check(design.outcome.kind)
    factors = list(map(_predictor, design.names, column_factors(design.terms)))
    found = result.refits.all_rows.coefficients or {}
    coefficients = {str(name): b for name, b in found.items()}
    score = rounding.rounded(result.refits.setup.records, coefficients)
    heads = ["predictor", "value", "points"]
    table = pd.DataFrame(_rows(design, factors, score), columns=heads)
    ends = table.groupby("predictor")["points"].agg(["min", "max"]).sum()
    totals = np.arange(ends["min"], ends["max"] + 1)
    risk, named = score.risk(totals), ["risk"]
    if risk.ndim > 1:
        risk, named = risk[:, 1:], list(design.outcome.columns[1:])
        if not named:
            raise ModelError("points have risks by a horizon; give cv() horizon=.")
    risks = pd.DataFrame(np.column_stack([totals, risk]), columns=["points", *named])
    risks = risks.astype({"points": int})
    table = Table(table, "Points of each predictor")
    risks = Table(risks, "Risk of each total of points")
    return PointScore(rounding.label, table, risks, score, rounding, result)


def _predictor(name: str, own: tuple[Expression, ...]) -> Expression | None:
    """Return the column or the level of a column of the matrix; None if it is 1."""
    if not own:
        return None
    one = own[0]
    levels = isinstance(one, Levels) and {code for _, code in one.values} <= {0.0, 1.0}
    if len(own) > 1 or not (levels or isinstance(one, Column)):
        raise EquationError(
            f"{name!r} is an interaction, a function or a contrast; points are those "
            "of columns and levels as they are. Put what it computes into a column."
        )
    return one


def _rows(
    design: Design, factors: list[Expression | None], score: Score
) -> Iterator[tuple[str, str, int]]:
    """Yield predictor, value and points of each line of the table."""
    predictors: dict[Expression, list[int]] = {}
    for j, factor in enumerate(factors):
        if factor is not None:
            of = factor.of if isinstance(factor, Levels) else factor
            predictors.setdefault(of, []).append(j)
    for of, places in predictors.items():
        first, scale = design.names[places[0]], score.scales[places[0]]
        rest = score.rests.get(first.partition("[")[0], 0)
        name = of.name if isinstance(of, Column) else first
        levels = [
            (score.scales[j], dict(one.values))
            for j, one in enumerate(factors)
            if isinstance(one, Levels) and one.of == of
        ]
        if not levels:
            values = ["0", "1"] if name in score.rests else _ranges(scale.limits)
            for shown, points in zip(values, scale.points, strict=True):
                yield name, shown, rest + int(points)
        for level in levels[0][1] if levels else ():
            each = (int(own.of(np.array([of[level]]))[0]) for own, of in levels)
            shown = level if isinstance(level, str) else f"{level:g}"
            yield name, shown, rest + sum(each)


def _ranges(limits: Floats) -> list[str]:
    shown = [f"{limit:g}" for limit in limits]
    if not shown:
        return ["any"]
    between = [f"{low} to below {high}" for low, high in pairwise(shown)]
    return [f"below {shown[0]}", *between, f"{shown[-1]} or more"]
