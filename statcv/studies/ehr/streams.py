"""Random number streams of a seed, apart from those of the people.

People, hospitals and duplicates come from the seed directly. All else has a stream of
its own, so that the same seed gives the same people whatever else is asked for.
"""

from __future__ import annotations

import numpy as np

OPTIMUM, DUPLICATED, INEXACT = range(3)
SITE_DATES, SITE_SHIFT, SITE_NOISE, SITE_GRID, SITE_KEY = range(3, 8)
_ROOM = 2020  # separates these streams from those of folds and models


def stream(seed: int, who: int) -> np.random.Generator:
    """Return the generator of a stream."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_ROOM, who)))
