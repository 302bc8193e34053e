"""What it would cost to make all fits again, told before any is made."""

from __future__ import annotations

from statcv.engine import Setup
from statcv.inference.refits.refitting import without_equals
from statcv.inference.scores import clusters_of

# Multiplications that take as long as what else there is to do
FIT = 2000  # for a fit
RECORD = 256  # for a record that is held out, dropped or repeated
SEPARATED = 2_000_000  # for a fit whose classes are separated, which is made alone


def made_together(setup: Setup) -> bool:
    """Tell whether the fits of a plan are made as one problem, not one by one."""
    return setup.fits_together


def jackknife_cost(setup: Setup, how: str, separated: float = 0.0) -> float:
    """Return about how many multiplications take as long as a jackknife with refits.

    Of fits that are made together. It errs on the high side, since a few fits are
    gone with the record that is deleted.

    Parameters
    ----------
    setup : Setup
    how : {"pooled", "per_fold", "paired"}
    separated : float
        The share of the fits whose classes were separated.
    """
    design, clusters = setup.design, clusters_of(setup.plan)
    plan = without_equals(setup.plan, how, design.y)
    each = max(1, setup.model.capabilities.fits_per_training_set)
    cells = design.matrix.size * each
    changed = (plan.fits.tests_by_fit, plan.dropped, plan.kept_out, plan.copied)
    records = sum(len(lists.values) for lists in changed)
    units = design.n if clusters is None else int(clusters.max()) + 1
    return units * (
        plan.n_fits * (cells + FIT + separated * SEPARATED) + records * RECORD
    )
