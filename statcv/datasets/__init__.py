"""Data sets: some are installed with the package, some are fetched once.

:func:`load_data` reads what is there without a network, :func:`fetch_cfs` and
:func:`fetch_ptb` download published files from their authors' repositories,
:func:`load_irae` reads one that has to be asked for, and :func:`available_data` lists
what can be had without.
"""

from statcv.datasets.catalogue import available_data
from statcv.datasets.irae import load_irae
from statcv.datasets.published import fetch_cfs, fetch_ptb
from statcv.datasets.shipped import load_data

__all__ = ["available_data", "fetch_cfs", "fetch_ptb", "load_data", "load_irae"]
