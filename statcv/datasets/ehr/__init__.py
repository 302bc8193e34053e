"""Hospital records with duplicates, as Bey et al. (2020) simulate them.

People have ten covariates and a binary outcome; each is a patient of one of a
few hospitals, and some are, with the same record, patients of further ones.
Arguments control what makes such duplicates hard to keep together: inexact
duplicates, hospitals that make pseudonyms each in its own way, people who are
duplicated more often than others, and records that each have their own holder.
"""

from statcv.arguments import offered as _offered
from statcv.datasets.ehr.duplicates import Duplicated as Duplicated
from statcv.datasets.ehr.duplicates import Inexact as Inexact
from statcv.datasets.ehr.duplicates import held_alone as held_alone
from statcv.datasets.ehr.duplicates import mistyped as mistyped
from statcv.datasets.ehr.duplicates import mistyped_date as mistyped_date
from statcv.datasets.ehr.duplicates import with_duplicates as with_duplicates
from statcv.datasets.ehr.population import COEFFICIENTS as COEFFICIENTS
from statcv.datasets.ehr.population import COVARIATES as COVARIATES
from statcv.datasets.ehr.population import EIGENVALUES as EIGENVALUES
from statcv.datasets.ehr.population import EhrPopulation as EhrPopulation
from statcv.datasets.ehr.population import Optimum as Optimum
from statcv.datasets.ehr.population import ehr_population as ehr_population
from statcv.datasets.ehr.population import log_odds as log_odds
from statcv.datasets.ehr.population import optimal_accuracy as optimal_accuracy
from statcv.datasets.ehr.population import random_population as random_population
from statcv.datasets.ehr.population import uniform_rotation as uniform_rotation
from statcv.datasets.ehr.records import Pseudonyms as Pseudonyms
from statcv.datasets.ehr.records import simulate_ehr as simulate_ehr
from statcv.datasets.ehr.records import site_names as site_names

__all__ = _offered(globals())
