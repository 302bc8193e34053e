"""Studies: the simulators and experiments of the papers behind the package.

The experiments are subpackages, ``statcv.studies.austin2024``,
``statcv.studies.bey2020``, ``statcv.studies.geroldinger2023``,
``statcv.studies.inference`` and ``statcv.studies.smith2014``, which are imported when
they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from statcv.studies import austin2024 as austin2024
    from statcv.studies import bey2020 as bey2020
    from statcv.studies import geroldinger2023 as geroldinger2023
    from statcv.studies import inference as inference
    from statcv.studies import smith2014 as smith2014
    from statcv.studies.standardised import standardise_scores

__all__ = [
    "EhrPopulation",
    "Inexact",
    "Optimum",
    "Pseudonyms",
    "ehr_population",
    "optimal_accuracy",
    "random_population",
    "simulate_ehr",
    "standardise_scores",
]

_ROOMS = ("austin2024", "bey2020", "geroldinger2023", "inference", "smith2014")
_HOME_OF = {"standardise_scores": "standardised"}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"statcv.studies.{name}")
    if name in _HOME_OF:
        return getattr(import_module(f"statcv.studies.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'statcv.studies' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})
