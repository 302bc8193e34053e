"""Seeds, and the streams of random numbers that are derived from one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.arguments.checks import MAX_SEED, check_whole, is_whole
from statcv.errors import ArgumentTypeError

# Streams of random numbers that are derived from one seed.
PLAN, FIT, FULL_FIT, PERMUTATION = 0, 1, 2, 4
RESERVE, PAIR_SAMPLE, RESAMPLE, RESAMPLE_HELD = 8, 9, 10, 11
PERMUTED_COLUMN = 12


def resolve_seed(seed: object) -> int:
    """Return the integer that a seed stands for.

    Parameters
    ----------
    seed : int, numpy.random.Generator or None
        Seed. From a Generator one integer is drawn, and None gives a fresh seed. The
        integer that is returned reproduces the results.

    Raises
    ------
    ArgumentTypeError
        If `seed` is of another type.
    ArgumentError
        If `seed` is negative.

    Examples
    --------
    >>> resolve_seed(7)
    7
    """
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**32))
    if not is_whole(seed):
        raise ArgumentTypeError(
            "seed must be an integer, a numpy Generator or None, not "
            f"{type(seed).__name__} ({seed!r})."
        )
    check_whole(seed, "seed", least=0, most=MAX_SEED)
    return int(seed)


def fit_seeds(seed: int, fits: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the seeds of the models of some fits.

    Parameters
    ----------
    seed : int
        Seed of the call.
    fits : numpy.ndarray of int
        Numbers of the fits.

    Examples
    --------
    >>> bool(fit_seeds(7, np.array([0, 3]))[1] == fit_seeds(7, np.array([3]))[0])
    True
    """
    streams = (np.random.SeedSequence(seed, spawn_key=(FIT, int(fit))) for fit in fits)
    first = [int(stream.generate_state(1)[0] // 2) for stream in streams]
    return np.array(first, dtype=np.int64)
