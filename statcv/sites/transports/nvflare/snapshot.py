"""The snapshot of a site's records, which its home holds while the site takes part.

The processes that NVFLARE starts find the home by the environment.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any, Final

import pandas as pd

from statcv.errors import SiteError
from statcv.formula import as_frame
from statcv.sites.plan import SitesPlan
from statcv.sites.records import columns_read
from statcv.sites.site import NO_SERVER
from statcv.sites.transports.homes import OWN, Home
from statcv.sites.transports.parties import SiteParty

VARIABLE: Final = "STATCV_SITE"  # environment variable with the path of the home
RECORDS: Final = "records.pickle"


def prepare(folder: Path, name: str, plan: SitesPlan, data: Any) -> None:
    """Put the plan, and a snapshot of the records, into the home of a site.

    Parameters
    ----------
    folder : Path
    name : str
        Name of the site.
    plan : SitesPlan
    data : data frame
        Records of the site. The snapshot has only the columns that the plan reads, and
        the owner alone can read it.
    """
    frame = as_frame(data)
    read = [name for name in columns_read(plan) if name in frame]
    Home.make(folder, name, plan, {})
    new = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with open(os.open(folder / RECORDS, new, OWN), "wb") as file:
        frame[read].to_pickle(file)


def clear(folder: Path) -> None:
    """Remove the snapshot of the records."""
    (folder / RECORDS).unlink(missing_ok=True)


def answering(folder: Path) -> SiteParty:
    """Return the site that answers from its home, with its log and its ledger there.

    A run that was interrupted begins again with the same messages, to which a site
    gives the same answers.
    """
    home = Home.open(folder)
    if home.plan.grown:
        raise SiteError(NO_SERVER)
    return SiteParty(home, partial(_records, folder))


def _records(folder: Path) -> pd.DataFrame:
    """Read the file that the site itself has written."""
    try:
        return pd.DataFrame(pd.read_pickle(folder / RECORDS))
    except FileNotFoundError:
        raise SiteError(
            f"its home has no {RECORDS}; `statcv sites client` puts it there."
        ) from None
