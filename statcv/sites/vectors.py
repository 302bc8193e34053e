"""Values with their hashes, by which a site checks its own software."""

from __future__ import annotations

import pandas as pd

from statcv.folds.strata import TEST_VECTORS
from statcv.tables import Table


def test_vectors() -> pd.DataFrame:
    """Return values whose written form, hash and fold any software must reproduce.

    Returns
    -------
    pandas.DataFrame
        One row per value: ``key`` in hexadecimal digits, ``value`` as Python has it,
        its ``written`` form, which is hashed as UTF-8, its ``hmac`` by SHA-256 in
        hexadecimal digits, and its ``fold``, which is the first 14 digits of that
        modulo 5, from 0. The first three are those of RFC 4231.

    Examples
    --------
    >>> from statcv import sites
    >>> sites.test_vectors()[["written", "fold"]].iloc[[4, 5]]
      written  fold
    4     007     1
    5       7     3
    """
    table = pd.DataFrame(
        [
            (key.hex(), repr(value), text, digest, fold)
            for key, value, text, digest, fold in TEST_VECTORS
        ],
        columns=["key", "value", "written", "hmac", "fold"],
    )
    return Table(
        table,
        "Values with their written form and fold, which any software must reproduce",
        ["value", "written", "fold"],
    )
