"""Studies: the simulators and experiments of the papers behind the package."""

from statcv.studies.ehr import (
    EhrPopulation,
    Inexact,
    Optimum,
    Pseudonyms,
    ehr_population,
    optimal_accuracy,
    random_population,
    simulate_ehr,
)

__all__ = [
    "EhrPopulation",
    "Inexact",
    "Optimum",
    "Pseudonyms",
    "ehr_population",
    "optimal_accuracy",
    "random_population",
    "simulate_ehr",
]
