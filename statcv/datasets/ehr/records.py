"""The records of several hospitals, some of them duplicated."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from statcv.arguments import check_whole, resolve_seed
from statcv.datasets.ehr.duplicates import (
    Duplicated,
    held_alone,
    weights_of,
    with_duplicates,
)
from statcv.datasets.ehr.inexact import (
    FIRST_BIRTH,
    LAST_BIRTH,
    Inexact,
    with_inexact_duplicates,
)
from statcv.datasets.ehr.population import (
    COEFFICIENTS,
    DUPLICATED,
    EIGENVALUES,
    INEXACT,
    FloatArray,
    population_of,
    stream,
)
from statcv.datasets.ehr.pseudonyms import Pseudonyms, pseudonymised, with_hashes
from statcv.errors import ArgumentError, ArgumentTypeError


def simulate_ehr(
    n: int = 10_000,
    n_duplicates: int = 2_000,
    n_sites: int | None = 5,
    *,
    eigenvalues: Sequence[float] | FloatArray = EIGENVALUES,
    coefficients: Sequence[float] | FloatArray = COEFFICIENTS,
    rotation: ArrayLike | None = None,
    mean: Sequence[float] | FloatArray | None = None,
    duplicated: Duplicated | None = None,
    inexact: Inexact | None = None,
    pseudonyms: Pseudonyms | None = None,
    key: bytes | str | None = None,
    seed: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Simulate the records of several hospitals, some of them duplicated.

    Parameters
    ----------
    n : int, default 10_000
        Number of people. Each is assigned to one hospital, all equally likely.
    n_duplicates : int, default 2_000
        Number of duplicates added, each of a person drawn at random and to a hospital
        that does not have the record.
    n_sites : int or None, default 5
        Number of hospitals. None: every record has its own holder, as if people kept
        their data themselves.
    eigenvalues : sequence of 10 floats, default 1.0, 1.2, ..., 2.8
        Variances. The first nine belong to orthogonal directions in the space of ``x1``
        to ``x9``, the last is the variance of ``x10``.
    coefficients : sequence of 8 floats, default -2, .4, .8, 1.2, .4, 1.2, 3, 2
        The numbers a0 to a7 of ``statcv.datasets.ehr.log_odds``.
    rotation : array of shape (9, 9), optional
        Orthogonal matrix whose columns are those directions; drawn uniformly unless
        given.
    mean : sequence of 10 floats, optional
        Means of the covariates. Default: 0.
    duplicated : callable or str, optional
        Weights by which people are drawn to be duplicated: a function of the frame of
        people, or an expression of columns such as ``"1 + 3 * (x5 > 1)"``. Default:
        equal weights.
    inexact : Inexact, optional
        Differences of duplicates from their original. Default: none.
    pseudonyms : Pseudonyms, optional
        Changes that each hospital makes to all its records before it shares them.
        Default: none.
    key : bytes or str, optional
        Secret key of all hospitals, with which they hash identifier and birth date.
        Default: nothing is hashed.
    seed : int, numpy.random.Generator or None
        Seed for the simulation. It gives the same people for any `n_duplicates`,
        `duplicated`, `inexact`, `pseudonyms` and `key`.

    Returns
    -------
    pandas.DataFrame
        ``n + n_duplicates`` rows in random order: ``x1`` to ``x10``; ``y``, the outcome
        (0 or 1); ``site`` ("A", "B", ...); ``patient_id`` ("P000123"), one for each
        person; ``birth_date``, independent of all else. All but ``site`` are equal in
        duplicates of one record. With `inexact` or `pseudonyms` also ``person``, the
        right ``patient_id``; with `key` also ``id_hash`` and ``dob_hash``, the hashes
        of the values that the hospital has.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is out of range or of the wrong type.

    Notes
    -----
    Equations (2) to (5) of Bey, Goussault, Grolleau, Benchoufi & Porcher (2020), JAMIA
    27:1244. With the default variances and coefficients about 45 % of outcomes are 1.

    Examples
    --------
    >>> from statcv.datasets import simulate_ehr
    >>> records = simulate_ehr(n=1_000, n_duplicates=200, seed=1)
    >>> len(records), records["patient_id"].nunique()
    (1200, 1000)
    """
    _check_size(n, n_duplicates, n_sites)
    secret = _secret(key, pseudonyms)
    if not isinstance(inexact, (Inexact, type(None))):
        raise ArgumentTypeError(f"inexact is an Inexact(...), not {inexact!r}")
    seed = resolve_seed(seed)
    rng = np.random.default_rng(seed)
    population = population_of(eigenvalues, coefficients, rotation, mean, rng)
    people = population.draw(n, rng)
    weights = weights_of(duplicated, people)

    first, last = np.datetime64(FIRST_BIRTH, "D"), np.datetime64(LAST_BIRTH, "D")
    birth = first + rng.integers((last - first).astype(int) + 1, size=n)
    numbers = rng.permutation(n)
    draws = rng if weights is None else stream(seed, DUPLICATED)
    if n_sites is None:
        person, site = held_alone(n, n_duplicates, draws, weights)
    else:
        home = rng.integers(n_sites, size=n)
        person, site = with_duplicates(home, n_duplicates, n_sites, draws, weights)
    order = rng.permutation(len(person))
    person, site = person[order], site[order]

    records = people.iloc[person].reset_index(drop=True)
    names = site_names(n_sites or len(person))
    records["site"] = np.array(names, dtype=object)[site]
    records["patient_id"] = [f"P{number:06d}" for number in numbers[person]]
    records["birth_date"] = birth[person].astype("datetime64[ns]")
    records = records.astype({"site": str, "patient_id": str})
    if inexact or pseudonyms:
        records["person"] = records["patient_id"]
    if inexact:
        draws = stream(seed, INEXACT)
        duplicate = order >= n
        records = with_inexact_duplicates(
            records, duplicate, inexact, population.sd, draws
        )
    if pseudonyms:
        records = pseudonymised(records, site, pseudonyms, population.sd, seed)
    if secret is not None:
        salt = pseudonyms is not None and bool(pseudonyms.salt)
        records = with_hashes(records, site, secret, salt, seed)
    return records


def site_names(count: int) -> list[str]:
    """Return A, B, ..., Z, AA, AB, ... as spreadsheets name their columns.

    Examples
    --------
    >>> site_names(28)[24:]
    ['Y', 'Z', 'AA', 'AB']
    """

    def name(number: int) -> str:
        higher, last = divmod(number, 26)
        return (name(higher - 1) if higher else "") + ascii_uppercase[last]

    return [name(number) for number in range(count)]


def _check_size(n: int, n_duplicates: int, n_sites: int | None) -> None:
    check_whole(n, "n", least=1)
    check_whole(n_duplicates, "n_duplicates", least=0)
    if n_sites is None:
        return
    check_whole(n_sites, "n_sites", least=1)
    room = n * (n_sites - 1)
    if n_duplicates > room:
        raise ArgumentError(
            f"n_duplicates is at most {room}, not {n_duplicates}: there are {n} "
            f"people, and each can have a duplicate in {n_sites - 1} other sites"
        )


def _secret(key: bytes | str | None, pseudonyms: Pseudonyms | None) -> bytes | None:
    """Return the bytes of the key, if there is one."""
    if not isinstance(pseudonyms, (Pseudonyms, type(None))):
        raise ArgumentTypeError(f"pseudonyms is a Pseudonyms(...), not {pseudonyms!r}")
    if key is None:
        if pseudonyms is not None and pseudonyms.salt:
            raise ArgumentError(
                "salt=True is for hashes, which need a key: give key= as well"
            )
        return None
    if not isinstance(key, (bytes, str)):
        raise ArgumentTypeError(f"key must be bytes or text, not {type(key).__name__}.")
    if not key:
        raise ArgumentError("key is empty; without one nothing is hashed")
    return key.encode() if isinstance(key, str) else key
