"""Data sets: some are installed with the package, others are downloaded once.

:func:`load_data` reads data sets that need no network, :func:`fetch_cfs` and
:func:`fetch_ptb` download published files from their authors' repositories,
:func:`load_irae` reads a file that its authors provide on request, and
:func:`available_data` lists all data sets but the last. :func:`read_table` reads files.
:func:`simulate_ehr` simulates hospital records with duplicates.
"""

from statcv.datasets.catalogue import available_data, load_data
from statcv.datasets.ehr import (
    EhrPopulation,
    Inexact,
    Optimum,
    Pseudonyms,
    ehr_population,
    optimal_accuracy,
    random_population,
    simulate_ehr,
)
from statcv.datasets.irae import load_irae
from statcv.datasets.published import fetch_cfs, fetch_ptb
from statcv.datasets.reading import read_table

__all__ = [
    "EhrPopulation",
    "Inexact",
    "Optimum",
    "Pseudonyms",
    "available_data",
    "ehr_population",
    "fetch_cfs",
    "fetch_ptb",
    "load_data",
    "load_irae",
    "optimal_accuracy",
    "random_population",
    "read_table",
    "simulate_ehr",
]


def __dir__() -> list[str]:
    """Offer public names alone."""
    return sorted(__all__)
