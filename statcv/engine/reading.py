"""Every fit of a plan read as it is made, and then let go."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.engine.checks import check_training_sets
from statcv.engine.messages import where
from statcv.engine.part import Floats
from statcv.engine.setup import Setup
from statcv.engine.workers import check_jobs, do_tasks
from statcv.errors import FitError, StatcvError
from statcv.models import Fit, TrainingSet

Read = TypeVar("Read")


@dataclass(frozen=True, eq=False)
class FoldFit:
    """A model fitted to the training set of a fold.

    Attributes
    ----------
    setup : Setup
    number : int
        Of the fit in the plan.
    fit : Fit
    training : TrainingSet
    learnt : optional
        What stateful terms learnt there; None where there are none.
    """

    setup: Setup
    number: int
    fit: Fit
    training: TrainingSet
    learnt: Any = None

    @property
    def held_out(self) -> NDArray[np.intp]:
        """The records that its split holds out."""
        plan = self.setup.plan
        return plan.test(int(plan.split_of[self.number])).astype(np.intp)

    def predict(self, frame: pd.DataFrame) -> Floats:
        """Return predictions for rows of prepared columns, as ``terms.frame`` has."""
        X = self.setup.design.terms.matrix(frame, self.learnt)
        return np.asarray(self.fit.predict(X), dtype=float)


def read_fits(
    setup: Setup,
    read: Callable[[FoldFit], Read],
    n_jobs: int | None = None,
    bar: Any = None,
) -> list[Read]:
    """Fit every training set by itself, and return what is read of each fit.

    Parameters
    ----------
    setup : Setup
    read : callable
        From a fit to what is kept of it. It is called where the fit is made, so that
        only what it returns is sent between processes.
    n_jobs : int, optional
        As :func:`statcv.engine.run` takes it.
    bar : optional
        A bar to move on.

    Returns
    -------
    list
        What was read, in the order of the plan's fits.

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
    number, terms = fits.start, setup.design.terms
    try:
        training, learnt = setup.folds.training_set(setup.records, number), None
        if terms.stateful:
            rows = setup.plan.train(number)
            learnt = terms.learn(rows)
            X = terms.matrix(terms.frame.iloc[rows], learnt)
            training = replace(training, X=X)
        return read(FoldFit(setup, number, setup.model.fit(training), training, learnt))
    except StatcvError as error:
        raise type(error)(f"in {where(setup.plan, number)}: {error}") from error
    except Exception as error:
        raise FitError(
            f"{setup.model.label} failed in {where(setup.plan, number)}: "
            f"{type(error).__name__}: {error}"
        ) from error
