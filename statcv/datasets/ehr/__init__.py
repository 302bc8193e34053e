"""Hospital records with duplicates, as Bey et al. (2020) simulate them.

People have ten covariates and a binary outcome; each is a patient of one of a
few hospitals, and some are, with the same record, patients of further ones.
Arguments control what makes such duplicates hard to keep together: inexact
duplicates, hospitals that make pseudonyms each in its own way, people who are
duplicated more often than others, and records that each have their own holder.
"""

from statcv.datasets.ehr.duplicates import (
    Duplicated,
    Inexact,
    held_alone,
    mistyped,
    mistyped_date,
    with_duplicates,
)
from statcv.datasets.ehr.population import (
    COEFFICIENTS,
    COVARIATES,
    EIGENVALUES,
    EhrPopulation,
    Optimum,
    ehr_population,
    log_odds,
    optimal_accuracy,
    random_population,
    uniform_rotation,
)
from statcv.datasets.ehr.records import Pseudonyms, simulate_ehr, site_names

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
