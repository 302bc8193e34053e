"""What the fits of a plan predicted, how they went, and the warnings about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.engine.setup import Setup
from statcv.errors import (
    ConvergenceWarning,
    DataError,
    ModelError,
    OutcomeError,
    SeparationWarning,
    UndefinedMetricWarning,
    UnseenLevelWarning,
    warn,
)
from statcv.folds import FoldPlan
from statcv.formula import Design, shown_label
from statcv.metrics.classification.classwise import predicted_as
from statcv.models import Model
from statcv.models.batched import Computed
from statcv.models.likelihood import Bernoulli, LinearFits, joined_fits
from statcv.models.tuning import chosen_table
from statcv.words import listed as in_short
from statcv.words import plural

Floats = NDArray[np.float64]
Curves = Mapping[str, Floats]
Absent = dict[tuple[str, Any], tuple[list[int], NDArray[np.intp]]]


@dataclass(frozen=True, eq=False)
class Part:
    """What a range of fits predicted, and how they went.

    Attributes
    ----------
    fits : range
        Numbers of the fits in the plan.
    predicted, partner_predicted : numpy.ndarray, shape (m,) or (m, classes)
        Predictions at held-out records and at partners, in the order of the plan.
    converged, separated : numpy.ndarray of bool, shape (fits,)
    seconds : numpy.ndarray, shape (fits,)
    probabilities : bool
        Whether predictions are probabilities or means, not decision scores.
    names : tuple of str
        What coefficients are called.
    coefficients : numpy.ndarray, shape (fits, names), or Computed, or None
    chosen : list of dict, or None
        Hyperparameters chosen in the training set of each fit.
    curves : list of dict, or None
        A metric's values after every round of each fit, shape (rounds, 2).
    linear : LinearFits or None
        The linear predictors of fits by maximum likelihood.
    decided : numpy.ndarray, shape (m,) or (m, classes), or None
        The classes that the fits themselves predict, as 0 and 1.
    """

    fits: range
    predicted: Floats
    partner_predicted: Floats
    converged: NDArray[np.bool_]
    separated: NDArray[np.bool_]
    seconds: Floats
    probabilities: bool
    names: tuple[str, ...] = ()
    coefficients: Floats | Computed | None = None
    chosen: Sequence[Mapping[str, Any]] | None = None
    curves: Sequence[Curves] | None = None
    linear: LinearFits | None = None
    decided: Floats | None = None


def joined_coefficients(
    parts: Sequence[Part],
) -> tuple[tuple[str, ...], Floats | Computed | None]:
    """Return names and coefficients of all fits, NaN where one has no such term."""
    tables = [part.coefficients for part in parts if part.coefficients is not None]
    if len(tables) < len(parts):
        return (), None
    if len(parts) == 1:
        return parts[0].names, tables[0]
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    if all(part.names == names for part in parts):
        return names, np.concatenate([np.asarray(table) for table in tables])
    rows = []
    for part, table in zip(parts, tables, strict=True):
        rows.append(np.full((len(table), len(names)), np.nan))
        rows[-1][:, [names.index(name) for name in part.names]] = np.asarray(table)
    return names, np.concatenate(rows)


def listed(
    parts: Iterable[Sequence[Mapping[str, Any]] | None],
) -> list[Mapping[str, Any]] | None:
    """Concatenate the dicts of all fits; None if a part has no such dicts."""
    made: list[Mapping[str, Any]] = []
    for part in parts:
        if part is None:
            return None
        made += part
    return made


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values, as text unless a table or a file can hold them.

    >>> plain({"C": np.float64(0.1), "kernel": "rbf", "shape": (2, 3)})
    {'C': 0.1, 'kernel': 'rbf', 'shape': '(2, 3)'}
    """
    return {str(name): _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return " ".join(repr(value).split())


# ---- what all fits predicted ----


@dataclass(frozen=True, eq=False)
class Held:
    """What all folds predicted, record by record.

    Attributes
    ----------
    fit, row : numpy.ndarray of int, shape (m,)
        The fit, and the position of the record in the design.
    predicted : numpy.ndarray, shape (m,) or (m, classes)
    partner_fit, partner_row, partner_predicted
        The same for the records dropped for balance; empty without such records.
    converged, separated : numpy.ndarray of bool, shape (n_fits,)
    seconds : numpy.ndarray, shape (n_fits,)
    probabilities : bool
        Whether predictions are probabilities or means, not decision scores.
    names : tuple of str
        What coefficients are called.
    learnt : numpy.ndarray, shape (n_fits, names), or Computed, or None
        The coefficients.
    absent : dict
        (factor, level) → the fits whose training set lacks it, and the records with it
        that they hold out.
    chosen : pandas.DataFrame or None
        Hyperparameters chosen inside each training set: one row per fit.
    curves : list of dict, or None
        A metric's values after every round of each fit, shape (rounds, 2): at training
        and at held-out records.
    linear : LinearFits or None
        The linear predictors of the fits, if they maximise a likelihood.
    decided : numpy.ndarray, shape (m,) or (m, classes), or None
        The classes that the fits themselves predict, as 0 and 1; None if these are the
        classes that :attr:`by_half` gives.
    """

    fit: NDArray[np.intp]
    row: NDArray[np.intp]
    predicted: Floats
    partner_fit: NDArray[np.intp]
    partner_row: NDArray[np.intp]
    partner_predicted: Floats
    converged: NDArray[np.bool_]
    separated: NDArray[np.bool_]
    seconds: Floats
    probabilities: bool
    names: tuple[str, ...]
    learnt: Floats | Computed | None
    absent: Absent
    chosen: pd.DataFrame | None = None
    curves: list[Curves] | None = None
    linear: LinearFits | None = None
    decided: Floats | None = None

    @classmethod
    def joined(cls, parts: Sequence[Part], setup: Setup) -> Held:
        """Put the parts, in order, beside the records of the plan."""
        design, plan = setup.design, setup.plan
        tests, partner = plan.fits.tests_by_fit, np.flatnonzero(plan.fits.unseen)
        names, learnt = joined_coefficients(parts)
        chosen = listed(part.chosen for part in parts)
        made = cls(
            fit=tests.owners,
            row=tests.values.astype(np.intp),
            predicted=_joined([part.predicted for part in parts]),
            partner_fit=plan.dropped.owners[partner],
            partner_row=plan.dropped.values[partner].astype(np.intp),
            partner_predicted=_joined([part.partner_predicted for part in parts]),
            converged=_joined([part.converged for part in parts]),
            separated=_joined([part.separated for part in parts]),
            seconds=_joined([part.seconds for part in parts]),
            probabilities=all(part.probabilities for part in parts),
            names=design.outcome.named(names),
            learnt=learnt,
            absent=absent_levels(setup),
            chosen=None if chosen is None else chosen_table(chosen),
            curves=listed(part.curves for part in parts),
            linear=joined_fits([part.linear for part in parts]),
            decided=joined_decisions([part.decided for part in parts]),
        )
        alike = made.decided is None or not made.decided_otherwise.any()
        return replace(made, decided=None) if alike else made

    @property
    def by_half(self) -> Floats:
        """The classes predicted at a threshold of one half, or 0 for scores."""
        return predicted_as(self.predicted, 0.5 if self.probabilities else 0.0)

    @property
    def decided_otherwise(self) -> NDArray[np.bool_]:
        """Which of the predictions the fits themselves do not cut at one half."""
        off: NDArray[np.bool_] = np.asarray(self.by_half != self.decided)
        return np.asarray(off if off.ndim == 1 else off.any(axis=1))

    @cached_property
    def coefficients(self) -> pd.DataFrame | None:
        """Coefficients, if any: one row per fit and one column per term."""
        if self.learnt is None:
            return None
        return pd.DataFrame(np.asarray(self.learnt), columns=list(self.names))

    def averaged(self, plan: FoldPlan) -> Floats:
        """Return the mean over the fits of each split, in the order of its tests."""
        if plan.n_fits == plan.n_splits:
            return self.predicted
        first = np.searchsorted(self.fit, np.arange(plan.n_fits))
        within = np.arange(len(self.fit)) - first[self.fit]
        place = plan.tests.starts[plan.fits.split_of[self.fit]] + within
        total = np.zeros((len(plan.tests.values), *self.predicted.shape[1:]))
        np.add.at(total, place, self.predicted)
        times = np.diff(plan.first_fit)[plan.tests.owners]
        return total / times.reshape(-1, *[1] * (total.ndim - 1))


def joined_decisions(parts: Sequence[Floats | None]) -> Floats | None:
    """Concatenate the decisions of all fits; None if a part has none."""
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def absent_levels(setup: Setup) -> Absent:
    """Return which levels of factors are absent from which training sets."""
    new, tests = setup.folds.new_levels(setup.records), setup.plan.fits.tests_by_fit
    fits: dict[tuple[str, int], list[int]] = {}
    for fit, lacks in sorted(new.absent.items()) if new is not None else ():
        for name, lacked in lacks.items():
            for level in np.flatnonzero(lacked).tolist():
                fits.setdefault((name, level), []).append(fit)
    absent = {}
    for (name, level), numbers in sorted(fits.items()):
        codes, labels = setup.design.terms.levels[name]
        own = np.isin(tests.owners, numbers) & (codes == level)[tests.values]
        rows = np.unique(tests.values[own]).astype(np.intp)
        absent[name, labels[level]] = numbers, rows
    return absent


def refuse_new_levels(setup: Setup) -> None:
    """Refuse held-out records with a level that their training set lacks.

    Raises
    ------
    DataError
        The message names level, factor and records.
    """
    for (factor, level), (fits, rows) in absent_levels(setup).items():
        if len(rows):
            shown = in_short([shown_label(setup.design.labels[row]) for row in rows])
            raise DataError(
                f"level {level!r} of {factor} is absent from "
                f"{plural(len(fits), 'training set')} ({_listed(setup.plan, fits)}), "
                f"and new_levels='error' refuses {plural(len(rows), 'record')} with it "
                f"({shown}); merge rare levels, omit {factor}, or use other folds."
            )


# ---- messages about fits: where they are in the plan, and what went wrong ----


def where(plan: FoldPlan, fit: int) -> str:
    """Return the name of a fit in messages: its draw, fold and repeat."""
    split = int(plan.fits.split_of[fit])
    repeat, fold = plan.name(split)
    named = f"fold {fold} of repeat {repeat}" if plan.repeats > 1 else f"fold {fold}"
    if len(plan.labels[repeat - 1]) == 1:
        named = f"repeat {repeat}"
    several = plan.first_fit[split + 1] - plan.first_fit[split] > 1
    return f"draw {fit - plan.first_fit[split] + 1} of {named}" if several else named


def warn_of_fits(held: Held, plan: FoldPlan, model: Model) -> None:
    """Warn of fits that did not converge, are separated, or lack a level."""
    plain = plan.n_fits == plan.n_splits and plan.n_splits > plan.repeats
    fits_of = f"of {plan.n_fits} {'folds' if plain else 'fits'}"
    failed = np.flatnonzero(~held.converged)
    if len(failed):
        warn(
            f"{model.label} did not converge in {len(failed)} {fits_of} "
            f"({_listed(plan, failed)}).",
            ConvergenceWarning,
        )
    apart = np.flatnonzero(held.separated)
    if len(apart):
        warn(
            f"fitted probabilities of 0 or 1 in {len(apart)} {fits_of} "
            f"({_listed(plan, apart)}): the classes are separated there and "
            f"coefficients have no finite value; consider {_remedy(plan)}.",
            SeparationWarning,
        )
    unpredicted = np.isnan(held.predicted.reshape(len(held.row), -1)).any(axis=1)
    if unpredicted.any():
        silent = np.unique(held.fit[unpredicted])
        warn(
            f"{model.label} predicts NaN for {int(unpredicted.sum())} of "
            f"{plural(len(held.row), 'held-out record')}, in {len(silent)} {fits_of} "
            f"({_listed(plan, silent)}): metrics that need them are NaN.",
            UndefinedMetricWarning,
        )
    for metric, unknown in _unknown_curves(held).items():
        warn(
            f"the learning curve of {metric} is not a number on the held-out records "
            f"of {unknown} {fits_of}: they do not admit that metric.",
            UndefinedMetricWarning,
        )
    for (factor, level), (fits, rows) in held.absent.items():
        sets = plural(len(fits), "training set")
        told = "nothing was learnt of it there"
        if len(rows) and model.capabilities.uses_predictors:
            told = (
                f"{plural(len(rows), 'held-out record')} with it "
                f"{'is' if len(rows) == 1 else 'are'} predicted there at the mean of "
                "the levels seen"
            )
        warn(
            f"level {level!r} of {factor} is absent from {sets} "
            f"({_listed(plan, fits)}): {told}.",
            UnseenLevelWarning,
        )


def _unknown_curves(held: Held) -> dict[str, int]:
    """Return, by metric, in how many fits the held-out curve has no value."""
    unknown: dict[str, int] = {}
    for curves in held.curves or []:
        for metric, values in curves.items():
            if np.isnan(values[:, 1]).all():
                unknown[metric] = unknown.get(metric, 0) + 1
    return unknown


def _remedy(plan: FoldPlan) -> str:
    """Name what stays finite where classes are separated."""
    binary = plan.response is not None and plan.response.kind == "binary"
    firth = "Firth's penalty, Logit(firth=True), or " if binary else ""
    return f"{firth}a ridge, Logit(C=1.0)"


def _listed(plan: FoldPlan, fits: Iterable[int]) -> str:
    chosen = [int(fit) for fit in fits]
    shown = ", ".join(where(plan, fit) for fit in chosen[:3])
    return shown + (", …" if len(chosen) > 3 else "")


# ---- training sets on which nothing can be learnt are refused before any fit ----


def check_training_sets(design: Design, plan: FoldPlan) -> None:
    """Refuse a training set that lacks a class, or whose outcome is constant.

    Raises
    ------
    OutcomeError
        The message names the fold.
    """
    outcome = design.outcome
    if outcome.kind == "continuous":
        _check_not_constant(design, plan)
        return
    training, _ = plan.counts(outcome.y, len(outcome.levels))
    if not training.all():
        bad = np.argwhere(training == 0)
        fit, level = bad[0]
        raise OutcomeError(
            f"the training set of {where(plan, int(fit))} has no record of class "
            f"{outcome.levels[level]!r} ({len(np.unique(bad[:, 0]))} of "
            f"{plan.n_fits} training sets lack a class); use fewer folds, or a "
            "scheme that spreads the classes."
        )


def _check_not_constant(design: Design, plan: FoldPlan) -> None:
    """Only a value that nearly all rows share can fill a training set."""
    values, counts = np.unique(design.y, return_counts=True)
    common = values[counts.argmax()]
    odd = np.flatnonzero(design.y != common)
    out = plan.n - plan.n_train + plan.copied.sizes
    for fit in np.flatnonzero(out >= len(odd)).tolist():
        if (design.y[plan.train(fit)] == common).all():
            raise OutcomeError(
                f"the outcome is constant ({common:g}) in the training set of "
                f"{where(plan, fit)}; use more folds, or another model."
            )


def check_columns(design: Design, plan: FoldPlan, model: Model) -> None:
    """Refuse an unpenalised regression of classes on too many columns.

    With as many independent columns as training records, each way to label the records
    is separated, and no coefficient has a finite value.

    Raises
    ------
    ModelError
        The message says how many columns and records there are.
    """
    able = model.capabilities
    if not (able.needs_full_rank and isinstance(able.likelihood, Bernoulli)):
        return
    least, columns = int(plan.n_train.min(initial=plan.n)), design.matrix.shape[1]
    if columns < least or np.isnan(design.matrix).any():
        return
    if np.linalg.matrix_rank(design.matrix) < least:
        return
    raise ModelError(
        f"{model.label} of {columns} columns on {least} training records has no "
        "finite coefficients, since so many columns separate any two classes; use a "
        "ridge, such as Logit(C=1.0), or fewer terms."
    )
