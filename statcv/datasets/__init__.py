"""Data sets: some are installed with the package, others are downloaded once.

:func:`load_data` reads data sets that need no network, :func:`fetch_cfs` and
:func:`fetch_ptb` download published files from their authors' repositories,
:func:`load_irae` reads a file that its authors provide on request, and
:func:`available_data` lists all data sets but the last. :func:`read_table` reads files.
"""

from statcv.datasets.catalogue import available_data, load_data
from statcv.datasets.irae import load_irae
from statcv.datasets.published import fetch_cfs, fetch_ptb
from statcv.datasets.reading import read_table

__all__ = [
    "available_data",
    "fetch_cfs",
    "fetch_ptb",
    "load_data",
    "load_irae",
    "read_table",
]
