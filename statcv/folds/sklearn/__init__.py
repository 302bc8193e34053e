"""Splitters for scikit-learn's ``cv=``, of schemes that scikit-learn lacks.

They follow its conventions: a constructor stores its arguments, ``split`` yields
positions, ``clone``, ``set_params`` and metadata routing of ``groups`` work. With
an integer as ``random_state``, every call of ``split`` yields the same splits, those
of :func:`statcv.fold_plan` with that ``seed``, scheme and records.

A :class:`statcv.folds.FoldPlan` is a ``cv=`` too, of every scheme, for one data set.
"""

from statcv.folds.sklearn.grouped import FoldStratifiedKFold
from statcv.folds.sklearn.rebalanced import (
    LeavePairOut,
    RebalancedKFold,
    RebalancedLeaveOneGroupOut,
    RebalancedLeaveOneOut,
    RebalancedLeavePOut,
)

__all__ = [
    "FoldStratifiedKFold",
    "LeavePairOut",
    "RebalancedKFold",
    "RebalancedLeaveOneGroupOut",
    "RebalancedLeaveOneOut",
    "RebalancedLeavePOut",
]


def __dir__() -> list[str]:
    """Offer public names alone."""
    return sorted(__all__)
