"""What each hospital changes and hashes before it shares its records."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import check_whole
from statcv.datasets.ehr.duplicates import IntArray
from statcv.datasets.ehr.population import (
    COVARIATES,
    SITE_DATES,
    SITE_GRID,
    SITE_KEY,
    SITE_NOISE,
    SITE_SHIFT,
    FloatArray,
    check_amount,
    stream,
)
from statcv.errors import ArgumentError, ArgumentTypeError
from statcv.tables import Constructed

CENTURY = 36_525  # days
HASHED = {"id_hash": "patient_id", "dob_hash": "birth_date"}
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
        check_amount(self.noise, "noise")
        check_amount(self.shift, "shift")
        if not isinstance(self.salt, (bool, np.bool_)):
            raise ArgumentTypeError(f"salt is True or False, not {self.salt!r}")
        if self.quantise is not None:
            check_amount(self.quantise, "quantise")
            if self.quantise == 0:
                raise ArgumentError("quantise is above 0; None rounds nothing")


def pseudonymised(
    records: pd.DataFrame,
    site: IntArray,
    pseudonyms: Pseudonyms,
    sd: FloatArray,
    seed: int,
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
    x = records[list(COVARIATES)].to_numpy(copy=True)
    each_site, each_record = (sites, x.shape[1]), x.shape
    if pseudonyms.shift:
        moved = stream(seed, SITE_SHIFT).uniform(-1, 1, size=each_site)
        x += pseudonyms.shift * sd * moved[site]
    if pseudonyms.noise:
        added = stream(seed, SITE_NOISE).standard_normal(each_record)
        x += pseudonyms.noise * sd * added
    if pseudonyms.quantise is not None:
        width = np.where(sd > 0, pseudonyms.quantise * sd, 1.0)
        start = stream(seed, SITE_GRID).random(each_site)[site]
        x = np.where(sd > 0, (np.rint(x / width - start) + start) * width, x)
    records[list(COVARIATES)] = x
    most = pseudonyms.date_shift
    days = stream(seed, SITE_DATES).integers(-most, most + 1, size=sites)
    births = records["birth_date"].to_numpy(dtype="datetime64[D]")
    births = births + days[site].astype("timedelta64[D]")
    records["birth_date"] = births.astype("datetime64[ns]")
    return records


def with_hashes(
    records: pd.DataFrame, site: IntArray, key: bytes, salt: bool, seed: int
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
    if salt:
        drawn = stream(seed, SITE_KEY).bytes(_SALT * (int(site.max()) + 1))
        keys = [key + drawn[at : at + _SALT] for at in range(0, len(drawn), _SALT)]
    else:
        keys = [key] * (int(site.max()) + 1)
    hashes = {
        name: _hashes(records[column], [keys[number] for number in site])
        for name, column in HASHED.items()
    }
    return records.assign(**hashes).astype(dict.fromkeys(HASHED, str))


def _hashes(values: pd.Series[Any], keys: list[bytes]) -> list[str]:
    """Hash identifiers, or days written as 1970-12-31, each with its own key."""
    is_date = pd.api.types.is_datetime64_dtype(values)
    texts = (values.dt.strftime("%Y-%m-%d") if is_date else values).tolist()
    return [
        hmac.digest(key, text.encode(), "sha256")[:_DIGEST].hex()
        for key, text in zip(keys, texts, strict=True)
    ]
