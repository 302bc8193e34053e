"""The records of several hospitals, some duplicated, and what hospitals change."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

import numpy as np
import pandas as pd

from statcv.arguments import check_whole, resolve_seed
from statcv.datasets.ehr import duplicates, population
from statcv.errors import ArgumentError, ArgumentTypeError
from statcv.numeric.arrays import ArrayLike, Floats, Ints
from statcv.tables import Constructed


def simulate_ehr(
    n: int = 10_000,
    n_duplicates: int = 2_000,
    n_sites: int | None = 5,
    *,
    eigenvalues: Sequence[float] | Floats = population.EIGENVALUES,
    coefficients: Sequence[float] | Floats = population.COEFFICIENTS,
    rotation: ArrayLike | None = None,
    mean: Sequence[float] | Floats | None = None,
    duplicated: duplicates.Duplicated | None = None,
    inexact: duplicates.Inexact | None = None,
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
    if not isinstance(inexact, (duplicates.Inexact, type(None))):
        raise ArgumentTypeError(f"inexact is an Inexact(...), not {inexact!r}")
    seed = resolve_seed(seed)
    rng = np.random.default_rng(seed)
    source = population.population_of(eigenvalues, coefficients, rotation, mean, rng)
    people = source.draw(n, rng)
    weights = duplicates.weights_of(duplicated, people)

    first = np.datetime64(duplicates.FIRST_BIRTH, "D")
    days = (duplicates.LAST_BIRTH - duplicates.FIRST_BIRTH).days
    birth = first + rng.integers(days + 1, size=n)
    numbers = rng.permutation(n)
    draws = rng if weights is None else population.stream(seed, "duplicated")
    if n_sites is None:
        person, site = duplicates.held_alone(n, n_duplicates, draws, weights)
    else:
        person, site = duplicates.with_duplicates(
            rng.integers(n_sites, size=n), n_duplicates, n_sites, draws, weights
        )
    order = rng.permutation(len(person))
    person, site = person[order], site[order]

    records = people.iloc[person].reset_index(drop=True)
    records["site"] = np.array(site_names(n_sites or len(person)), dtype=object)[site]
    records["patient_id"] = [f"P{number:06d}" for number in numbers[person]]
    records["birth_date"] = birth[person].astype("datetime64[ns]")
    records = records.astype({"site": str, "patient_id": str})
    if inexact or pseudonyms:
        records["person"] = records["patient_id"]
    if inexact:
        records = duplicates.with_inexact_duplicates(
            records, order >= n, inexact, source.sd, population.stream(seed, "inexact")
        )
    if pseudonyms:
        records = pseudonymised(records, site, pseudonyms, source.sd, seed)
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
    if not isinstance(pseudonyms, Pseudonyms | None):
        raise ArgumentTypeError(f"pseudonyms is a Pseudonyms(...), not {pseudonyms!r}")
    if key is None and pseudonyms is not None and pseudonyms.salt:
        raise ArgumentError(
            "salt=True is for hashes, which need a key: give key= as well"
        )
    if not isinstance(key, bytes | str | None):
        raise ArgumentTypeError(f"key must be bytes or text, not {type(key).__name__}.")
    if key is not None and not key:
        raise ArgumentError("key is empty; without one nothing is hashed")
    return key.encode() if isinstance(key, str) else key


# ---- what each hospital changes and hashes before it shares its records ----


CENTURY = 36_525  # days
_DIGEST = 7  # bytes of a hash, as many as statcv's keyed digest has
_SALT = 16  # bytes


@dataclass(frozen=True, repr=False)
class Pseudonyms(Constructed):
    """The way in which each hospital makes pseudonyms, independently of the others.

    Attributes
    ----------
    date_shift : int, default 0
        Each hospital moves all its birth dates by the same number of days, drawn from
        the integers between plus and minus this one.
    quantise : float, optional
        Each hospital rounds a covariate to a grid of this width, in units of the
        covariate's standard deviation, with a random origin, after shifts and noise.
    noise : float, default 0
        Standard deviation of the noise added to each covariate of each record, in the
        same units.
    salt : bool, default False
        Each hospital hashes with its own key, made from the common key and a random
        text that it keeps secret.
    shift : float, default 0
        Each hospital adds a constant to all its values of a covariate, drawn for each
        covariate uniformly between plus and minus this many standard deviations.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If one is out of range or of the wrong type.

    Examples
    --------
    >>> from statcv.datasets import Pseudonyms, simulate_ehr
    >>> shifted = Pseudonyms(date_shift=30)
    >>> records = simulate_ehr(1_000, 200, pseudonyms=shifted, seed=1)
    >>> int(records.groupby("person")["birth_date"].nunique().max())
    3
    """

    date_shift: int = 0
    quantise: float | None = None
    noise: float = 0.0
    salt: bool = False
    shift: float = 0.0

    def __post_init__(self) -> None:
        check_whole(self.date_shift, "date_shift", least=0, most=CENTURY)
        population.check_amount(self.noise, "noise")
        population.check_amount(self.shift, "shift")
        if not isinstance(self.salt, (bool, np.bool_)):
            raise ArgumentTypeError(f"salt is True or False, not {self.salt!r}")
        if self.quantise is not None:
            population.check_amount(self.quantise, "quantise")
            if self.quantise == 0:
                raise ArgumentError("quantise is above 0; None rounds nothing")


def pseudonymised(
    records: pd.DataFrame, site: Ints, pseudonyms: Pseudonyms, sd: Floats, seed: int
) -> pd.DataFrame:
    """Return the records that the hospitals share, without hashes.

    Parameters
    ----------
    records : pandas.DataFrame
        With covariates and ``birth_date``.
    site : numpy.ndarray of int, shape (n,)
        The hospital of each record, from 0.
    pseudonyms : Pseudonyms
    sd : numpy.ndarray of float, shape (10,)
        Standard deviations of the covariates in the population.
    seed : int
        Seed for the changes, with a separate stream for each kind of change.
    """
    records, sites = records.copy(), int(site.max()) + 1
    x = records[list(population.COVARIATES)].to_numpy(copy=True)
    each_site = sites, x.shape[1]
    if pseudonyms.shift:
        moved = population.stream(seed, "site shift").uniform(-1, 1, size=each_site)
        x += pseudonyms.shift * sd * moved[site]
    if pseudonyms.noise:
        added = population.stream(seed, "site noise").standard_normal(x.shape)
        x += pseudonyms.noise * sd * added
    if pseudonyms.quantise is not None:
        width = np.where(sd > 0, pseudonyms.quantise * sd, 1.0)
        start = population.stream(seed, "site grid").random(each_site)[site]
        x = np.where(sd > 0, (np.rint(x / width - start) + start) * width, x)
    records[list(population.COVARIATES)] = x
    most = pseudonyms.date_shift
    days = population.stream(seed, "site dates").integers(-most, most + 1, size=sites)
    records["birth_date"] += pd.to_timedelta(days[site], unit="D")
    return records


def with_hashes(
    records: pd.DataFrame, site: Ints, key: bytes, salt: bool, seed: int
) -> pd.DataFrame:
    """Return the records with the hashes of identifier and birth date.

    Parameters
    ----------
    records : pandas.DataFrame
        As the hospitals hold them.
    site : numpy.ndarray of int, shape (n,)
        The hospital of each record, from 0.
    key : bytes
        Key that all hospitals share.
    salt : bool
        Whether each hospital adds its own random text to the key.
    seed : int
        Seed for those texts.
    """
    length = _SALT * salt  # each site appends its own salt to the key
    drawn = population.stream(seed, "site key").bytes(length * (int(site.max()) + 1))
    keys = [key + drawn[length * at : length * (at + 1)] for at in site.tolist()]
    written = {
        "id_hash": records["patient_id"],
        "dob_hash": records["birth_date"].dt.strftime("%Y-%m-%d"),
    }
    hashes = {
        name: [
            hmac.digest(own, text.encode(), "sha256")[:_DIGEST].hex()
            for own, text in zip(keys, texts, strict=True)
        ]
        for name, texts in written.items()
    }
    return records.assign(**hashes).astype(dict.fromkeys(hashes, str))
