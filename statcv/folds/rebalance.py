"""Records dropped from training so that every training set has equal class totals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.folds.plan import Rows


def drop_partners(codes: NDArray[np.intp], rng: np.random.Generator) -> list[Rows]:
    """Return for each held-out record one record of each other class to drop.

    Then every training set has one record of each class less than the data
    (Austin, Pe'er & Korem 2024, Fig. 3a). Partners are dealt evenly: the other
    class is shuffled and dealt round, so that its members are dropped equally
    often, give or take one.

    >>> import numpy as np
    >>> drops = drop_partners(np.array([0, 0, 1, 1]), np.random.default_rng(1))
    >>> sorted(int(rows[0]) for rows in drops)
    [0, 1, 2, 3]
    """
    members = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
    partner = np.full((len(codes), len(members)), -1)
    for own, rows in enumerate(members):
        for other, pool in enumerate(members):
            if other != own:
                rounds = -(-len(rows) // len(pool))
                deck = np.concatenate([rng.permutation(pool) for _ in range(rounds)])
                partner[rng.permutation(rows), other] = deck[: len(rows)]
    return list(partner[partner >= 0].reshape(len(codes), len(members) - 1))
