"""The models of the simulations, by name."""

from __future__ import annotations

from typing import Any

from statcv.errors import ArgumentError
from statcv.models import Linear, Logit, Neighbors

DUMMIES = ("mean", "negmean")


def learner_of(name: str, seed: int = 0) -> Any:
    """Return a model by name.

    Parameters
    ----------
    name : str
        ``"logit C"`` with the penalty ``C`` of scikit-learn's convention,
        ``"neighbors k"``, ``"forest"`` with scikit-learn's defaults, ``"forest m"``
        with m trees, ``"linear"``, ``"mean"``, ``"negmean"``.
    seed : int
        Seed of a forest.

    Examples
    --------
    >>> learner_of("logit 0.01").C
    0.01
    """
    kind, _, size = name.partition(" ")
    if kind == "logit" and size:
        return Logit(C=float(size))
    if kind == "neighbors" and size:
        return Neighbors(k=int(size))
    if kind == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(int(size or 100), random_state=seed)
    if name == "linear":
        return Linear()
    if name in DUMMIES:
        return name
    raise ArgumentError(
        f"there is no model {name!r}; there are 'logit C', 'neighbors k', 'forest', "
        "'linear', 'mean' and 'negmean'."
    )
