"""The cost of refitting everything, estimated before any refit is made."""

from __future__ import annotations

from statcv.engine import Setup
from statcv.inference.refits.refitting import without_equals
from statcv.inference.scores import clusters_of

# Overheads, expressed as the number of multiplications that take as long
FIT = 2000  # per fit
RECORD = 256  # per record that is held out, dropped or repeated
SEPARATED = 2_000_000  # per fit with separated classes, which is made by itself


def jackknife_cost(setup: Setup, how: str, separated: float = 0.0) -> float:
    """Return the approximate number of multiplications in a jackknife with refits.

    The number holds for fits that are made together. It errs on the high side, since
    deleting a record also removes a few fits.

    Parameters
    ----------
    setup : Setup
    how : {"pooled", "per_fold", "paired"}
    separated : float
        Share of the fits in which the classes were separated.
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
