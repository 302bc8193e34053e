"""Run a study on data sets that are drawn at a scale, from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import pandas as pd

from statcv.studies import running
from statcv.studies.bey2020.scale import Scale


def simulate(
    name: str,
    measure: Callable[..., pd.DataFrame],
    simulations: int,
    *,
    scale: Scale | None,
    **how: Any,
) -> pd.DataFrame:
    """Run a study on data sets of a scale that are drawn from a seed.

    Parameters
    ----------
    name : str
        Prefix of its file names.
    measure : callable
        Function of scale, seed and number of a data set, and further arguments, that
        returns a table.
    simulations : int
        Number of data sets.
    scale : Scale or None
        Scale of the study; the paper's unless given.
    **how
        As in :func:`statcv.studies.running.simulate`.
    """
    scale = scale or Scale()
    of_scale = partial(measure, scale)
    said = {"scale": asdict(scale)}
    return running.simulate(name, of_scale, simulations, said=said, **how)
