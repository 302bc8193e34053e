"""Keyed hashes of the identifiers that a hospital holds."""

from __future__ import annotations

import hmac
from typing import Any

import pandas as pd

from statcv.folds.strata.identifiers import written
from statcv.studies.ehr.duplicates import IntArray
from statcv.studies.ehr.streams import SITE_KEY, stream

HASHED = {"id_hash": "patient_id", "dob_hash": "birth_date"}
_DIGEST = 7  # bytes of a hash, as statcv.folds.strata.hashing.keyed_digest has it
_SALT = 16  # bytes


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
    texts, codes = written(values)
    return [
        hmac.digest(key, texts[code].encode(), "sha256")[:_DIGEST].hex()
        for key, code in zip(keys, codes, strict=True)
    ]
