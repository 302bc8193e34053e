"""Hospital records with duplicates, as Bey et al. (2020) simulate them.

People have ten covariates and a binary outcome; each is a patient of one of a
few hospitals, and some are, with the same record, patients of further ones.
Arguments control what makes such duplicates hard to keep together: inexact
duplicates, hospitals that make pseudonyms each in its own way, people who are
duplicated more often than others, and records that each have their own holder.
"""

from statcv.datasets.ehr.duplicates import Duplicated, held_alone, with_duplicates
from statcv.datasets.ehr.inexact import Inexact, mistyped, mistyped_date
from statcv.datasets.ehr.optimum import Optimum, optimal_accuracy
from statcv.datasets.ehr.population import (
    COEFFICIENTS,
    COVARIATES,
    EIGENVALUES,
    EhrPopulation,
    ehr_population,
    log_odds,
    random_population,
    uniform_rotation,
)
from statcv.datasets.ehr.pseudonyms import Pseudonyms
from statcv.datasets.ehr.records import simulate_ehr, site_names

__all__ = [
    "COEFFICIENTS",
    "COVARIATES",
    "EIGENVALUES",
    "Duplicated",
    "EhrPopulation",
    "Inexact",
    "Optimum",
    "Pseudonyms",
    "ehr_population",
    "held_alone",
    "log_odds",
    "mistyped",
    "mistyped_date",
    "optimal_accuracy",
    "random_population",
    "simulate_ehr",
    "site_names",
    "uniform_rotation",
    "with_duplicates",
]
