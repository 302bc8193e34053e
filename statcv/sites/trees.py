"""Boosted trees over sites as they are agreed: cuts, and sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import check_types, check_whole
from statcv.errors import ModelError, suggestion
from statcv.sites.plan import MAX_COLUMN_BINS, TREES
from statcv.tables import Constructed
from statcv.words import plural

Floats = NDArray[np.float64]

# largest size of the trees of one fit, in bytes, as part of a message
MAX_TREE_BYTES: Final = 2**21
# largest sizes of the frame of a tree and of a node, in bytes
_BYTES_PER_TREE, _BYTES_PER_NODE = 800, 40


@dataclass(frozen=True, eq=False, repr=False)
class Trees(Constructed):
    """Gradient boosted trees over sites, for two classes.

    XGBoost grows them, with its federated plugin (``pip install
    "statcv[sites-trees]"``); they are those of the pooled records, with values replaced
    by the numbers of their bins. Sums of gradients by node and bin go from each site to
    XGBoost's server: no least number of records guards them, and no log has them; see
    :func:`statcv.sites.disclosure_sheet`.

    Parameters
    ----------
    cuts : mapping of str to iterable of float
        For each column of the design that is not 0 or 1 throughout, the rising values
        at which a tree may split it, at most 255: public ones, such as decades of age,
        or those of :func:`statcv.sites.thresholds`. A value that equals a cut lies
        above it.
    rounds : int, default 100
        Number of trees of each fit.
    depth : int, default 3
        Largest depth of a tree.
    learning_rate : float, default 0.3
    leaf : int, default 20
        Least number of records of all sites in a leaf.
    ridge : float, default 1
        Ridge on the values of leaves (``lambda`` of XGBoost).

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> trees = sites.Trees({"age": [30, 50, 70], "crp": [1, 3, 10]}, rounds=50)
    >>> sheet = sites.disclosure_sheet(sites.agree("ill ~ age + crp", model=trees))
    >>> sheet.set_index("array").loc["histograms", "smallest_cell"]
    '1 record: not guarded'
    """

    cuts: Mapping[str, Iterable[float]] = field(default_factory=dict)
    rounds: int = 100
    depth: int = 3
    learning_rate: float = 0.3
    leaf: int = 20
    ridge: float = 1.0

    def __post_init__(self) -> None:
        check_types(Trees, vars(self))
        check_whole(self.rounds, "rounds", least=1)
        check_whole(self.depth, "depth", least=1)
        check_whole(self.leaf, "leaf", least=1)
        if not 0 < self.learning_rate <= 1:
            raise ModelError(
                f"learning_rate={self.learning_rate} is out of range: above 0, at most "
                "1."
            )
        if not 0 <= self.ridge < np.inf:
            raise ModelError(f"ridge={self.ridge} is out of range: 0 or more.")
        if (size := bytes_of(self.rounds, self.depth)) > MAX_TREE_BYTES:
            most = MAX_TREE_BYTES * self.rounds // size
            raise ModelError(
                f"{plural(self.rounds, 'tree')} of depth {self.depth} are too long for "
                f"a message; at most {most} of this depth are not."
            )

    def agreed(
        self, columns: Sequence[str], matrix: Floats, cell: int
    ) -> dict[str, Any]:
        """Return what a plan says of the trees.

        Parameters
        ----------
        columns : sequence of str
            Columns of the design.
        matrix : numpy.ndarray
            The design of made-up rows, which shows which columns are of 0 and 1.
        cell : int
            Least number of records behind a count that leaves a site.

        Raises
        ------
        ModelError
            If cuts are missing, of no column, or not rising.
        """
        if self.leaf < cell:
            raise ModelError(
                f"leaf={self.leaf} is less than cell={cell}, the least number of "
                "records behind a number that leaves a site."
            )
        cuts: dict[str, list[float]] = {}
        for name, column in zip(columns, matrix.T, strict=True):
            if name in self.cuts:
                cuts[name] = _rising(name, self.cuts[name])
            elif set(np.unique(column)) == {0.0, 1.0}:
                cuts[name] = [0.5]
            elif column.min() < column.max():
                raise ModelError(
                    f"trees need cuts= of column {name!r}, such as {{{name!r}: [1, 2, "
                    "5]}; sites.thresholds() finds them from counts."
                )
        if other := [name for name in self.cuts if name not in columns]:
            raise ModelError(
                f"cuts are given for {other[0]!r}, which is not a column of the "
                f"design; it has {', '.join(map(repr, cuts))}."
                + suggestion(other[0], columns)
            )
        if not cuts:
            raise ModelError("trees need at least one predictor.")
        return {
            "kind": TREES,
            "C": None,
            "firth": False,
            "cuts": cuts,
            "rounds": int(self.rounds),
            "depth": int(self.depth),
            "learning_rate": float(self.learning_rate),
            "leaf": int(self.leaf),
            "ridge": float(self.ridge),
        }


def bytes_of(rounds: int, depth: int) -> int:
    """Return how many bytes the trees of a fit have at most."""
    nodes = int(2 ** min(depth + 1, 40))
    return rounds * (_BYTES_PER_TREE + _BYTES_PER_NODE * nodes)


def _rising(name: str, given: Iterable[float]) -> list[float]:
    """Return cuts as floats, or raise if they are not some rising numbers."""
    try:
        values = [float(one) for one in given]
    except (TypeError, ValueError):
        raise ModelError(f"the cuts of {name!r} must be numbers.") from None
    if not values or not np.isfinite(values).all() or (np.diff(values) <= 0).any():
        raise ModelError(f"the cuts of {name!r} must be rising, finite numbers.")
    if len(values) >= MAX_COLUMN_BINS:
        raise ModelError(
            f"{name!r} has {len(values)} cuts, and {MAX_COLUMN_BINS - 1} are the most."
        )
    return values
