"""The people who are duplicated, and the hospitals of their duplicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.datasets.ehr.population import FloatArray
from statcv.errors import ArgumentError, ArgumentTypeError, reason

IntArray = NDArray[np.int64]
Duplicated = Callable[[pd.DataFrame], Any] | str


def with_duplicates(
    home: IntArray,
    n_duplicates: int,
    n_sites: int,
    rng: np.random.Generator,
    weights: FloatArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Return person and hospital of every record, originals first.

    Drawing (person, hospital) at random and refusing pairs that exist, until
    enough are accepted, is a simple random sample without replacement from the
    pairs of a person and a hospital other than the person's own. Where people are
    drawn with unequal probabilities, it takes the pairs in the order of independent
    exponential times with those rates, and stops at the last that is wanted (Efraimidis
    and Spirakis, Information Processing Letters 97, 2006, 181-185).

    Parameters
    ----------
    home : numpy.ndarray of int, shape (n,)
        Each person's own hospital, from 0.
    n_duplicates, n_sites : int
    rng : numpy.random.Generator
    weights : numpy.ndarray of float, shape (n,), optional
        Weights in proportion to which people are drawn; some may be 0. Default: equal.

    Raises
    ------
    ArgumentError
        If there are too few people of positive weight for this number of duplicates.
    """
    n, others = len(home), n_sites - 1
    if weights is None:
        pairs = rng.choice(n * others, size=n_duplicates, replace=False)
    else:
        _check_room(weights, n_duplicates, others)
        with np.errstate(divide="ignore"):
            rates = np.repeat(np.log(weights), others)
        times = np.log(rng.standard_exponential(n * others)) - rates
        pairs = np.argsort(times, kind="stable")[:n_duplicates]
    copied = pairs // max(others, 1)
    steps = pairs % max(others, 1) + 1
    person = np.concatenate([np.arange(n), copied])
    site = np.concatenate([home, (home[copied] + steps) % n_sites])
    return person, site


def held_alone(
    n: int,
    n_duplicates: int,
    rng: np.random.Generator,
    weights: FloatArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Return person and holder of every record, with one holder per record.

    No holder can have a record already, so duplicates are drawn with replacement.
    """
    if weights is None:
        copied = rng.integers(n, size=n_duplicates)
    else:
        _check_room(weights, n_duplicates, n_duplicates)
        share = weights / weights.max() if n_duplicates else np.ones(n)
        copied = rng.choice(n, size=n_duplicates, p=share / share.sum())
    person = np.concatenate([np.arange(n), copied])
    return person, np.arange(n + n_duplicates)


def weights_of(
    duplicated: Duplicated | None, people: pd.DataFrame
) -> FloatArray | None:
    """Return one weight per person, or None for equal weights.

    Raises
    ------
    ArgumentError
        If there is no such column, or the result is not one weight per person.
    ArgumentTypeError
        If it is neither a function nor text.
    """
    if duplicated is None:
        return None
    if isinstance(duplicated, str):
        found = _evaluated(duplicated, people)
    elif callable(duplicated):
        found = duplicated(people.copy())
    else:
        raise ArgumentTypeError(
            "duplicated is a function of the frame of people, or a column or an "
            f"expression of it as text, not {type(duplicated).__name__}"
        )
    if isinstance(found, pd.Series) and not found.index.equals(people.index):
        raise ArgumentError(
            "duplicated gives a series whose labels are not those of the people, in "
            "their order"
        )
    try:
        weights = np.asarray(found, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError("duplicated gives no numbers") from None
    if weights.shape != (len(people),):
        raise ArgumentError(
            f"duplicated gives values of shape {weights.shape}, not a weight for each "
            f"of {len(people)} people"
        )
    wrong = int((~(np.isfinite(weights) & (weights >= 0))).sum())
    if wrong:
        raise ArgumentError(
            f"duplicated gives {wrong} of {len(people)} people a weight that is "
            "negative, missing or infinite"
        )
    return weights


def _evaluated(expression: str, people: pd.DataFrame) -> Any:
    try:
        return people.eval(expression, engine="python", local_dict={}, global_dict={})
    except Exception as error:  # whatever pandas makes of a text
        raise ArgumentError(
            f"duplicated={expression!r} cannot be worked out from the columns x1 to "
            f"x10 and y: {reason(error)}"
        ) from None


def _check_room(weights: FloatArray, n_duplicates: int, others: int) -> None:
    able = int((weights > 0).sum())
    if n_duplicates > able * others:
        raise ArgumentError(
            f"n_duplicates is at most {able * others}, not {n_duplicates}: duplicated "
            f"gives {able} of {len(weights)} people a weight above 0"
        )
