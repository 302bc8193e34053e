"""The design, the folds, the model and the seed of a run."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from statcv.arguments import FIT, FULL_FIT, fit_seeds
from statcv.errors import FitError, ModelError, StatcvError
from statcv.folds import FoldPlan
from statcv.formula import Design, Factors, Learnt, TrainingSets
from statcv.models import Fit, Model, TrainingSet, with_given_weights
from statcv.models.batched import Folds
from statcv.models.imputation import Imputed
from statcv.numeric.arrays import Floats, Ints, Numbers
from statcv.tables import Printed


@dataclass(frozen=True, eq=False, repr=False)
class Setup(Printed):
    """A design, the plan of its rows, and the model for every training set.

    Attributes
    ----------
    design : Design
    plan : FoldPlan
    model : Model
    seed : int
    weights : numpy.ndarray or None
        The caller's weights of the rows, shape (n,).
    numbers : numpy.ndarray of int or None
        Numbers from which the fits get the seeds of their models, shape (n_fits,);
        None if they are numbered as in the plan.
    new_levels : {"mean", "omit", "error"}
        What becomes of a held-out record whose level a training set lacks.
    """

    design: Design
    plan: FoldPlan
    model: Model
    seed: int
    weights: Floats | None = None
    numbers: Numbers | None = None
    new_levels: str = "mean"

    def __getstate__(self) -> dict[str, Any]:
        """Keep what was given; everything derived from it can be derived again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def fits_together(self) -> bool:
        """Whether all folds may be fitted as one problem, not one by one.

        They may not if the held-out records are followed, or if a term learns from data
        and the model or the term needs each training set by itself.
        """
        able = self.model.capabilities
        if not able.fits_together or able.follows_held_out:
            return False
        if not self.design.terms.stateful:
            return True
        return able.own_matrices and isinstance(self.folds.matrices, Learnt)

    @cached_property
    def records(self) -> TrainingSet:
        """All records, with the matrix in which every term is learnt on all."""
        _check_offsets(self.model, self.design)
        strata = self.plan.strata
        codes = None if strata is None else strata.codes
        return records_of(self.design, self.weights, codes, (self.seed, FIT))

    @cached_property
    def folds(self) -> Folds:
        """The records on which each fit trains."""
        folds = with_given_weights(Folds.of(self.plan), self.plan, self.weights)
        folds = replace(folds, seeds=partial(seeds_of, self.seed, self.numbers))
        return self.with_matrices(folds)

    def with_matrices(self, folds: Folds) -> Folds:
        """Return folds with a matrix for each, if terms learn from training rows."""
        if isinstance(self.model, Imputed):  # completions have matrices of their own
            return folds
        return with_matrices(folds, self.design)


def seeds_of(seed: int, numbers: Numbers | None, fits: Numbers) -> Ints:
    """Return the seeds of some fits, by their numbers if these are given."""
    return fit_seeds(seed, fits if numbers is None else numbers[fits])


def with_matrices(folds: Folds, design: Design) -> Folds:
    """Return the folds with a matrix for each, if terms learn from training rows."""
    if not design.terms.stateful:
        return folds
    sets = training_sets(folds, design.n)
    learnt = design.terms.learn_together(sets)
    return replace(folds, matrices=learnt or LearntByPatsy(design, sets))


def training_sets(folds: Folds, n: int) -> TrainingSets:
    """Return the records on which each fold trains, of n."""
    changes, times = folds.changes
    owner, row = changes.owners.astype(np.int64), changes.values.astype(np.int64)
    return TrainingSets(n, len(folds), owner, row, times.astype(np.int64))


@dataclass(frozen=True, eq=False)
class LearntByPatsy:
    """The matrices of folds whose terms are learnt in one training set after the other.

    Attributes
    ----------
    design : Design
    sets : TrainingSets
    numbers : numpy.ndarray of int, or None
        The training set of each fold; None if they are numbered alike.
    """

    design: Design
    sets: TrainingSets
    numbers: Numbers | None = None
    _last: dict[int, Any] = field(default_factory=dict)

    def matrix(self, fit: int, rows: Numbers) -> Floats:
        """Return the matrix of some records, as learnt in the training set of a fit."""
        number = fit if self.numbers is None else int(self.numbers[fit])
        terms = self.design.terms
        if number not in self._last:
            self._last.clear()
            self._last[number] = terms.learn(self.sets.rows(number))
        return terms.matrix(terms.frame.iloc[rows], self._last[number])

    def chosen(self, fits: Numbers) -> LearntByPatsy:
        """Return the matrices of some fits."""
        numbers = fits if self.numbers is None else self.numbers[fits]
        return replace(self, numbers=numbers)


def fit_all(
    design: Design,
    model: Model,
    *,
    seed: int,
    weights: Floats | None = None,
    strata: Numbers | None = None,
) -> Fit:
    """Fit all rows of the design: the model itself, not cross-validated.

    Raises
    ------
    FitError
        If the model fails.
    """
    _check_offsets(model, design)
    records = records_of(design, weights, strata, (seed, FULL_FIT))
    try:
        if isinstance(model, Imputed):
            return model.fit_all(design, records)
        return model.fit(records)
    except StatcvError:
        raise
    except Exception as error:
        raise FitError(
            f"{model.label} failed on all {design.n} records: "
            f"{type(error).__name__}: {error}"
        ) from error


def records_of(
    design: Design,
    weights: Floats | None = None,
    strata: Numbers | None = None,
    key: tuple[int, int] = (0, FULL_FIT),
) -> TrainingSet:
    """Return all records of a design as a training set, with a seed by its key."""
    stream = np.random.SeedSequence(key[0], spawn_key=key[1:])
    records = TrainingSet(
        X=design.matrix,
        y=design.y,
        kind=design.outcome.kind,
        n_classes=len(design.outcome.levels),
        names=design.names,
        intercept=design.intercept,
        weights=weights,
        seed=int(stream.generate_state(1)[0] // 2),
        strata=strata,
        factors=Factors.of(design.terms),
        horizons=design.outcome.horizons,
        offsets=design.offsets,
    )
    vars(records)["is_finite"] = design.is_finite  # known already
    return records


def _check_offsets(model: Model, design: Design) -> None:
    """Refuse offsets beside a model that has no coefficient of 1 for them."""
    several = design.outcome.kind == "multiclass"
    if design.offsets and (several or not model.capabilities.offsets):
        raise ModelError(
            f"{model.label} has no offset{' for several classes' * several}, and the "
            f"formula has {design.names[design.offsets[0]]}; Logit() of two classes, "
            "Linear(), Cox(), Poisson() and NegativeBinomial() take one, without flic= "
            "or a lasso."
        )
