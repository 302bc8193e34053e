"""The fits of a plan cut into tasks, each of which a worker does alone.

Where they are cut depends on the design, the plan and the model, never on who does
them or what is done already: so the numbers are the same whatever becomes of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from statcv.engine.one_by_one import fit_one_by_one
from statcv.engine.part import Part
from statcv.engine.setup import Setup
from statcv.engine.together import fit_together

WORK = 2**30  # records × columns × fits of a task: a second or so
MOST = 32  # fits of a task that are made fold by fold
TASKS = 32  # of fits made fold by fold, where that leaves no more than MOST


@dataclass(frozen=True)
class Tasks:
    """All fits of a plan in ranges, and what makes them.

    Attributes
    ----------
    fit : callable
        From the setup and a range of fits to what they gave, or None if the model
        does not fit them that way.
    ranges : tuple of range
    """

    fit: Callable[[Setup, range], Part | None]
    ranges: tuple[range, ...]


def ways(setup: Setup) -> Iterator[Tasks]:
    """Yield the ways to make all fits, the quicker first; the last always works."""
    fits = setup.plan.n_fits
    if not (setup.design.terms.stateful or getattr(setup.model, "watches", False)):
        yield Tasks(fit_together, cut(fits, _fits_together(setup)))
    size = min(max(fits // TASKS, 1), MOST) // max(_fits_each(setup), 1)
    yield Tasks(fit_one_by_one, cut(fits, max(size, 1)))


def cut(fits: int, size: int) -> tuple[range, ...]:
    """Cut fits into ranges of a size, the last of which may be smaller.

    Examples
    --------
    >>> cut(7, 3)
    (range(0, 3), range(3, 6), range(6, 7))
    """
    starts = range(0, fits, size)
    return tuple(range(start, min(start + size, fits)) for start in starts)


def _fits_each(setup: Setup) -> int:
    """Return how many fits are in one, such as those by which it is tuned."""
    return int(getattr(setup.model, "fits_each", 1))


def _fits_together(setup: Setup) -> int:
    """Return how many fits make a task."""
    n, p = setup.records.X.shape
    work = n * max(p, 1) * _fits_each(setup)
    return max(1, WORK // work) if work else setup.plan.n_fits
