"""The arrays of all messages, as the table ``arrays.txt`` describes them.

A row has the round, the name of an array, and what becomes of it: sites send it and it
is ``summed``, it is only ``sent``, or it is ``published`` alone. Its shape is written
in numbers and in the names of :func:`sizes_of`, and the least number of records behind
a number of it, with the condition under which it is part of a run, in words.
"""

from __future__ import annotations

from itertools import starmap
from typing import NamedTuple

from statcv.sites.influences import BUCKETS
from statcv.sites.plan import SitesPlan
from statcv.sites.site_sums import loss_names
from statcv.words import stored_rows


class DescribedArray(NamedTuple):
    """A row of the table."""

    round: str
    name: str
    role: str
    shape: str
    least: str
    condition: str
    what: str

    def shape_in(self, sizes: dict[str, int]) -> tuple[int, ...]:
        """Return the shape, given the sizes of its axes."""
        axes = self.shape.split()
        return tuple(int(axis) if axis.isdigit() else sizes[axis] for axis in axes)


def arrays_of(plan: SitesPlan) -> list[DescribedArray]:
    """Return the arrays of a run of a plan, in order."""
    conditions = {
        "always": True,
        "trees": plan.grown,
        "coefficients": not plan.grown,
        "firth": plan.model["firth"],
        "classes": plan.binary,
        "permutations": plan.binary and plan.permutations > 0,
        "hash": plan.stratify["by"] == "hash",
    }
    rows = starmap(DescribedArray, stored_rows("statcv.sites", "arrays.txt")[1:])
    return [row for row in rows if conditions[row.condition]]


def sizes_of(plan: SitesPlan, **known: int) -> dict[str, int]:
    """Return the largest sizes of axes by name, or those that are known meanwhile."""
    k, q = plan.k, plan.n_columns
    largest = {
        "k": k,
        "fits": k + 1,
        "open": k + 1,  # fits that have not ended
        "q": q,
        "triangle": q * (q + 1) // 2,
        "m": len(plan.metrics),
        "ways": 1 if plan.grown else 2,
        "losses": len(loss_names(plan)),
        "bins": plan.bins + len(plan.decisions),
        "ranks": plan.permutations + 1,
        "buckets": BUCKETS[1],
    }
    return largest | known
