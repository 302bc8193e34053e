"""Data sets: some are installed with the package, others are downloaded once.

:func:`load_data` reads data sets that need no network, :func:`fetch_cfs` and
:func:`fetch_ptb` download published files from their authors' repositories,
:func:`load_irae` reads a file that its authors provide on request, and
:func:`available_data` lists all data sets but the last. :func:`read_table` reads files.
:func:`simulate_ehr` simulates hospital records with duplicates.
"""

from statcv.arguments import offered as _offered
from statcv.datasets.catalogue import available_data as available_data
from statcv.datasets.catalogue import load_data as load_data
from statcv.datasets.ehr import EhrPopulation as EhrPopulation
from statcv.datasets.ehr import Inexact as Inexact
from statcv.datasets.ehr import Optimum as Optimum
from statcv.datasets.ehr import Pseudonyms as Pseudonyms
from statcv.datasets.ehr import ehr_population as ehr_population
from statcv.datasets.ehr import optimal_accuracy as optimal_accuracy
from statcv.datasets.ehr import random_population as random_population
from statcv.datasets.ehr import simulate_ehr as simulate_ehr
from statcv.datasets.irae import load_irae as load_irae
from statcv.datasets.published import fetch_cfs as fetch_cfs
from statcv.datasets.published import fetch_ptb as fetch_ptb
from statcv.datasets.reading import read_table as read_table

__all__ = _offered(globals())


def __dir__() -> list[str]:
    """Offer public names alone."""
    return sorted(__all__)
