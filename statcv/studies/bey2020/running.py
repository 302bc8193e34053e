"""What is measured of data sets that are drawn at a scale, from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import pandas as pd

from statcv.seeds import resolve_seed
from statcv.studies.bey2020.scale import Scale
from statcv.studies.running import Directory, Study, run


def simulate(
    name: str,
    measure: Callable[..., pd.DataFrame],
    simulations: int,
    *,
    scale: Scale | None,
    directory: Directory,
    seed: int,
    n_jobs: int | None,
    counts: str = "simulation",
    **asked: Any,
) -> pd.DataFrame:
    """Measure data sets of a scale that are drawn from a seed.

    Parameters
    ----------
    name, counts
        As `Study` has them.
    measure : callable
        From scale, seed and number of a data set, and what else is asked, to a table.
    simulations : int
        Data sets.
    scale : Scale or None
        The paper's, where not given.
    directory, n_jobs
        As :func:`run` has them.
    seed : int
    **asked
        What else the tables depend on.
    """
    scale, seed = scale or Scale(), resolve_seed(seed)
    said = {**asked, "scale": asdict(scale), "seed": seed}
    study = Study(name, partial(measure, scale, seed, **asked), said, counts=counts)
    return run(study, simulations, directory, n_jobs)
