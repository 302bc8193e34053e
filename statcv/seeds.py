"""What counts as a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ArgumentError, ArgumentTypeError
from statcv.whole import is_whole

# Streams of a seed: who draws from it.
PLAN, FIT, FULL_FIT, PERMUTATION = 0, 1, 2, 4
RESERVE, PAIR_SAMPLE, RESAMPLE, RESAMPLE_HELD = 8, 9, 10, 11
PERMUTED_COLUMN = 12


def resolve_seed(seed: object) -> int:
    """Return the whole number that stands for a seed.

    Parameters
    ----------
    seed : int, numpy.random.Generator or None
        A Generator gives its next number; None a fresh one. The number returned
        gives the same results again.

    Raises
    ------
    ArgumentTypeError
        If it is none of these.
    ArgumentError
        If it is negative.

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
            "seed must be a whole number, a numpy Generator or None, not "
            f"{type(seed).__name__} ({seed!r})."
        )
    if seed < 0:
        raise ArgumentError(f"seed must be 0 or more, not {seed}.")
    return int(seed)


def fit_seeds(seed: int, fits: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the seeds from which the models of some fits draw.

    Parameters
    ----------
    seed : int
        Of the call.
    fits : numpy.ndarray of int
        The numbers of the fits.

    Examples
    --------
    >>> bool(fit_seeds(7, np.array([0, 3]))[1] == fit_seeds(7, np.array([3]))[0])
    True
    """
    streams = (np.random.SeedSequence(seed, spawn_key=(FIT, int(fit))) for fit in fits)
    first = [int(stream.generate_state(1)[0] // 2) for stream in streams]
    return np.array(first, dtype=np.int64)
