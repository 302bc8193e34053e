"""What the fits of a plan predicted, how they went, and the warnings about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from statcv.engine.setup import Setup
from statcv.folds import FoldPlan
from statcv.metrics.classification.classwise import predicted_as
from statcv.models.batched import Computed, joined_coefficients
from statcv.models.linear_fits import LinearFits, joined_fits
from statcv.models.tuning import chosen_table
from statcv.numeric.arrays import Array, Bools, Floats, Numbers
from statcv.tables import Printed, Said, heading_of

Curves = Mapping[str, Floats]
ALL = ("predicted", "partner_predicted", "converged", "separated", "seconds")
OPTIONAL = ("decided", "corrected", "unstable")
AS_THEY_ARE = ("probabilities", "curves", "linear")
Absent = dict[tuple[str, Any], tuple[list[int], Numbers]]


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
    corrected : numpy.ndarray of bool, shape (fits,), or None
        Whether probabilities were corrected that were off by rounding.
    unstable : numpy.ndarray of int, shape (fits,), or None
        The number of columns whose imputation has not converged.
    """

    fits: range
    predicted: Floats
    partner_predicted: Floats
    converged: Bools
    separated: Bools
    seconds: Floats
    probabilities: bool
    names: tuple[str, ...] = ()
    coefficients: Floats | Computed | None = None
    chosen: Sequence[Mapping[str, Any]] | None = None
    curves: Sequence[Curves] | None = None
    linear: LinearFits | None = None
    decided: Floats | None = None
    corrected: Bools | None = None
    unstable: Numbers | None = None

    @classmethod
    def averaged(cls, parts: Sequence[Part]) -> Part:
        """Average fits of the same records, in which covariates were imputed."""

        def mean(name: str) -> Floats:
            return np.asarray(np.mean([getattr(one, name) for one in parts], axis=0))

        first = parts[0]
        same = first.names and all(one.names == first.names for one in parts)
        made = mean("predicted"), mean("partner_predicted")
        converged, separated = mean("converged") == 1, mean("separated") > 0
        seconds, alike = mean("seconds") * len(parts), first.probabilities
        part = cls(first.fits, *made, converged, separated, seconds, alike)
        if not same:
            return part
        return replace(part, names=first.names, coefficients=mean("coefficients"))

    @classmethod
    def joined(cls, parts: Sequence[Part]) -> Part:
        """Put the parts of successive fits together."""
        names, coefficients = joined_coefficients(parts)
        return cls(
            fits=range(parts[0].fits.start, parts[-1].fits.stop),
            **{name: _joined([getattr(part, name) for part in parts]) for name in ALL},
            probabilities=all(part.probabilities for part in parts),
            names=names,
            coefficients=coefficients,
            chosen=listed(parts, "chosen"),
            curves=listed(parts, "curves"),
            linear=joined_fits([part.linear for part in parts]),
            **{name: joined_where_known(parts, name) for name in OPTIONAL},
        )


def listed(parts: Sequence[Part], name: str) -> list[Mapping[str, Any]] | None:
    """Concatenate a list of dicts, one per fit; None if no fit has such a dict."""
    made: list[Mapping[str, Any]] = []
    for part in parts:
        made += getattr(part, name) or [{}] * len(part.fits)
    return made if any(made) else None


# ---- what all fits predicted ----


@dataclass(frozen=True, eq=False, repr=False)
class Held(Printed):
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
    corrected : numpy.ndarray of bool, shape (n_fits,), or None
        Whether probabilities were corrected that were off by rounding.
    unstable : numpy.ndarray of int, shape (n_fits,), or None
        The number of columns whose imputation has not converged.
    omitted : dict
        As ``absent``, for records that are not held out because their level is absent.
    """

    fit: Numbers
    row: Numbers
    predicted: Floats
    partner_fit: Numbers
    partner_row: Numbers
    partner_predicted: Floats
    converged: Bools
    separated: Bools
    seconds: Floats
    probabilities: bool
    names: tuple[str, ...]
    learnt: Floats | Computed | None
    absent: Absent
    chosen: pd.DataFrame | None = None
    curves: Sequence[Curves] | None = None
    linear: LinearFits | None = None
    decided: Floats | None = None
    corrected: Bools | None = None
    unstable: Numbers | None = None
    omitted: Absent = field(default_factory=dict)

    @classmethod
    def joined(
        cls, parts: Sequence[Part], setup: Setup, omitted: Absent | None = None
    ) -> Held:
        """Put the parts, in order, beside the records of the plan."""
        design, plan = setup.design, setup.plan
        tests, partner = plan.fits.tests_by_fit, np.flatnonzero(plan.fits.unseen)
        whole = Part.joined(parts)
        made = cls(
            fit=tests.owners,
            row=tests.values.astype(np.intp),
            partner_fit=plan.dropped.owners[partner],
            partner_row=plan.dropped.values[partner].astype(np.intp),
            **{name: getattr(whole, name) for name in (*ALL, *OPTIONAL, *AS_THEY_ARE)},
            names=design.outcome.named(whole.names),
            learnt=whole.coefficients,
            absent=absent_levels(setup),
            chosen=None if whole.chosen is None else chosen_table(whole.chosen),
            omitted=omitted or {},
        )
        alike = made.decided is None or not made.decided_otherwise.any()
        return replace(made, decided=None) if alike else made

    def _said(self) -> Said:
        counts = {"records": len(self.row), "fits": len(self.converged)}
        return heading_of(type(self)), {**counts, "failed": self.failed}

    @property
    def failed(self) -> int:
        """The number of fits that did not converge, or whose classes are separated."""
        return int((~self.converged | self.separated).sum())

    @property
    def by_half(self) -> Floats:
        """The classes predicted at a threshold of one half, or 0 for scores."""
        return predicted_as(self.predicted, 0.5 if self.probabilities else 0.0)

    @property
    def decided_otherwise(self) -> Bools:
        """Which of the predictions the fits themselves do not cut at one half."""
        off: Bools = np.asarray(self.by_half != self.decided)
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


def joined_where_known(parts: Sequence[Part], name: str) -> Any:
    """Concatenate an array of all parts; None if a part has none."""
    every = [getattr(part, name) for part in parts]
    return None if any(one is None for one in every) else np.concatenate(every)


def _joined(arrays: list[Array]) -> Array:
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
