"""Every fit of a plan, summarised as it is made and then released."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from statcv.engine.fit_messages import check_training_sets, naming, where
from statcv.engine.parallel import check_jobs, do_tasks
from statcv.engine.setup import Setup
from statcv.models import Fit, TrainingSet
from statcv.numeric.arrays import Floats, Numbers

Read = TypeVar("Read")


@dataclass(frozen=True, eq=False)
class FoldFit:
    """A model fitted to the training set of a fold.

    Attributes
    ----------
    setup : Setup
    number : int
        Number of the fit in the plan.
    fit : Fit
    training : TrainingSet
    """

    setup: Setup
    number: int
    fit: Fit
    training: TrainingSet

    @property
    def held_out(self) -> Numbers:
        """The records that its split holds out."""
        return self.setup.plan.fits.held_out_by(self.number)

    @cached_property
    def _learnt(self) -> Any:
        """What stateful terms learnt there; None without stateful terms."""
        terms = self.setup.design.terms
        if not terms.stateful:
            return None
        return terms.learn(self.setup.plan.train(self.number))

    def predict(self, frame: pd.DataFrame) -> Floats:
        """Return predictions for rows of prepared columns, such as ``terms.frame``."""
        X = self.setup.design.terms.matrix(frame, self._learnt)
        new = self.setup.folds.new_levels(self.setup.records)
        if new is not None:
            X = new.replaced(X, frame, self.number)
        return np.asarray(self.fit.predict(X), dtype=float)


def read_fits(
    setup: Setup,
    read: Callable[[FoldFit], Read],
    n_jobs: int | None = None,
    bar: Any = None,
) -> list[Read]:
    """Fit every training set by itself, and return a summary of each fit.

    Parameters
    ----------
    setup : Setup
    read : callable
        Function of a fit that returns what is kept of it. It is called where the fit is
        made, so that only what it returns is sent between processes.
    n_jobs : int, optional
        As :func:`statcv.engine.run` takes it.
    bar : optional
        A bar to move on.

    Returns
    -------
    list
        What ``read`` returned, in the order of the plan's fits.

    Raises
    ------
    OutcomeError
        If a training set lacks a class, or its outcome is constant.
    FitError
        If the model fails; the message names the fold.
    """
    check_jobs(n_jobs)
    check_training_sets(setup.design, setup.plan)
    ranges = [range(fit, fit + 1) for fit in range(setup.plan.n_fits)]
    made: dict[int, Read] = {}
    with closing(do_tasks(partial(_read, read), setup, ranges, n_jobs)) as doing:
        for task, found in doing:
            made[task.start] = found
            if bar is not None:
                bar.update(1)
    return [made[fit] for fit in range(len(ranges))]


def _read(read: Callable[[FoldFit], Read], setup: Setup, fits: range) -> Read:
    number = fits.start
    with naming(setup.model, partial(where, setup.plan, number)):
        training = setup.folds.training_set(setup.records, number)
        return read(FoldFit(setup, number, setup.model.fit(training), training))
