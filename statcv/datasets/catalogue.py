"""The list of data sets."""

from __future__ import annotations

import pandas as pd

from statcv.datasets import published
from statcv.datasets.cache import is_here


def available_data() -> pd.DataFrame:
    """List the data sets, how to obtain each, and whether it is on this machine.

    Returns
    -------
    pandas.DataFrame
        One row per data set, with the columns ``name``; ``rows`` and ``columns``,
        its size; ``outcome``, the column that is usually predicted; ``how``:
        "shipped", "with statsmodels" or "download"; ``call``, the call that reads
        it; ``source``; and ``here``, False where the call would need a network.
        Nothing is downloaded to fill the table.

    See Also
    --------
    load_data : Read a data set that is shipped.
    fetch_cfs, fetch_ptb : Download a published data set, once.

    Examples
    --------
    >>> from statcv.datasets import available_data
    >>> available_data()[["name", "rows", "columns", "outcome", "how"]]
          name  rows  columns  outcome               how
    0  spector    32        4    GRADE  with statsmodels
    1      ehr  2000       14        y           shipped
    2      cfs    80       40      cfs          download
    3      ptb   135       49  preterm          download
    """
    return pd.DataFrame(
        {
            "name": ["spector", "ehr", "cfs", "ptb"],
            "rows": [32, 2000, 80, 135],
            "columns": [4, 14, 40, 49],
            "outcome": ["GRADE", "y", "cfs", "preterm"],
            "how": ["with statsmodels", "shipped", "download", "download"],
            "call": [
                'load_data("spector")',
                'load_data("ehr")',
                "fetch_cfs()",
                "fetch_ptb()",
            ],
            "source": [
                "Spector and Mazzeo (1980)",
                "simulated after Bey et al. (2020)",
                "Vogl et al. (2022)",
                "Fettweis et al. (2019), as processed by Huang et al. (2023)",
            ],
            "here": [
                True,
                True,
                is_here(published.CFS["data"]),
                is_here(published.PTB["data"]),
            ],
        }
    )
