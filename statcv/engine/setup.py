"""The design, the folds, the model and the seed of a run."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import FIT, FULL_FIT, fit_seeds
from statcv.folds import FoldPlan
from statcv.formula import Design
from statcv.models import Fit, Model, TrainingSet, with_given_weights
from statcv.models.batched import Folds

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Setup:
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
    """

    design: Design
    plan: FoldPlan
    model: Model
    seed: int
    weights: Floats | None = None
    numbers: NDArray[np.intp] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Keep what was given; everything derived from it can be derived again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def fits_together(self) -> bool:
        """Whether all folds may be fitted as one problem, not one by one.

        They may not if a term learns from data, or the held-out records are followed.
        """
        able = self.model.capabilities
        alone = self.design.terms.stateful or able.follows_held_out
        return able.fits_together and not alone

    @cached_property
    def records(self) -> TrainingSet:
        """All records, with the matrix in which every term is learnt on all."""
        strata = self.plan.strata
        codes = None if strata is None else strata.codes
        return _records(self.design, self.weights, codes, (self.seed, FIT))

    @cached_property
    def folds(self) -> Folds:
        """The records on which each fit trains."""
        folds = with_given_weights(Folds.of(self.plan), self.plan, self.weights)
        return replace(folds, seeds=partial(_seeds, self.seed, self.numbers))


def _seeds(
    seed: int, numbers: NDArray[np.intp] | None, fits: NDArray[np.intp]
) -> NDArray[np.int64]:
    return fit_seeds(seed, fits if numbers is None else numbers[fits])


def fit_all(
    design: Design,
    model: Model,
    *,
    seed: int,
    weights: Floats | None = None,
    strata: NDArray[np.intp] | None = None,
) -> Fit:
    """Fit all rows of the design: the model itself, not cross-validated."""
    return model.fit(_records(design, weights, strata, (seed, FULL_FIT)))


def _records(
    design: Design,
    weights: Floats | None,
    strata: NDArray[np.intp] | None,
    key: tuple[int, int],
) -> TrainingSet:
    stream = np.random.SeedSequence(key[0], spawn_key=key[1:])
    return TrainingSet(
        X=design.matrix,
        y=design.y,
        kind=design.outcome.kind,
        n_classes=len(design.outcome.levels),
        names=design.names,
        intercept=design.intercept,
        weights=weights,
        seed=int(stream.generate_state(1)[0] // 2),
        strata=strata,
    )
