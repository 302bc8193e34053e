"""Figure 3: the accuracies that strategies estimate, and their biases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from statcv.datasets import EhrPopulation, optimal_accuracy
from statcv.errors import ArgumentError
from studies.bey2020.samples import (
    Sample,
    Scale,
    matched_population,
    rotated_population,
    simulate,
)
from studies.bey2020.strategies import (
    STRATEGIES,
    accuracy,
    check_strategies,
    cross_validate,
)
from studies.running import Directory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Rotations = Literal["matched", "drawn"]

OPTIMUM = "optimum"


@dataclass(frozen=True, eq=False)
class Figure3:
    """Estimates of accuracy by strategy; made by :func:`figure3`.

    Attributes
    ----------
    table : pandas.DataFrame
        ``simulation``, ``strategy``, ``accuracy``: the mean over folds. The strategy
        ``"optimum"`` has the accuracy of a model that knows each probability.

    Examples
    --------
    >>> from studies import bey2020
    >>> figure = bey2020.stored("figure3")
    >>> bias = figure.bias.set_index("strategy")["bias"].round(1)
    >>> bias[["random", "hash", "x5"]].to_dict()
    {'random': 3.2, 'hash': 0.1, 'x5': -6.3}
    """

    table: pd.DataFrame = field(repr=False)

    @property
    def bias(self) -> pd.DataFrame:
        """Mean difference of each strategy from the unbiased estimate, in points."""
        return bias(self.table[self.table["strategy"] != OPTIMUM])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a violin per strategy, with lines at optimum and unbiased mean."""
        from studies.bey2020.drawing import draw_violins

        return draw_violins(self.table, ax)


def figure3(
    simulations: int = 30,
    *,
    rotations: Rotations = "matched",
    strategies: tuple[str, ...] = STRATEGIES,
    scale: Scale | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Figure3:
    """Estimate the accuracy by every strategy, on many data sets.

    Parameters
    ----------
    simulations : int, default 30
        Number of data sets.
    rotations : {"matched", "drawn"}
        Whether all data sets are from one population, which has the two numbers that
        the paper prints of its own, or each from one whose rotation is drawn.
    strategies : tuple of str
        ``"unbiased"``: people without duplicates, in random folds of equal size in each
        hospital; ``"random"``: with duplicates, in such folds; ``"x1"`` to ``"x10"``:
        along quantiles of a covariate, ``"x5 ×20"`` in 20 bins per fold; ``"hash"``: by
        a keyed hash of the identifier.
    scale : Scale, optional
        Scale of the study; the paper's unless given.
    directory : str or path, optional
        Directory for the results. An interrupted study, or one with more
        simulations, continues from there.
    seed : int, default 1
        The data set of one number is the same in all studies with one seed.
    n_jobs : int, optional
        Number of processes, as in joblib; the results do not depend on it.
    progress : bool, optional
        Whether to show a bar; by default at a terminal, after two seconds.

    Returns
    -------
    Figure3

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is not what it should be.
    CheckpointError
        If the directory holds another study.

    Notes
    -----
    R. Bey, R. Goussault, F. Grolleau, M. Benchoufi and R. Porcher, "Fold-stratified
    cross-validation for unbiased and privacy-preserving federated learning", JAMIA 27
    (2020) 1244-1251, Figure 3.

    Examples
    --------
    >>> from studies.bey2020 import Scale, figure3
    >>> small = Scale(n=400, n_duplicates=80, rounds=10)
    >>> found = figure3(2, strategies=("unbiased", "random", "x5"), scale=small)
    >>> found.bias["strategy"].tolist()
    ['random', 'x5']
    """
    strategies = tuple(strategies)
    check_strategies(strategies)
    check_rotations(rotations)
    table = simulate(
        "figure3",
        _measure,
        simulations,
        scale=scale,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        rotations=rotations,
        strategies=strategies,
    )
    return Figure3(table)


def check_rotations(rotations: object) -> None:
    """Raise an error for other rotations than ``"matched"`` and ``"drawn"``."""
    if rotations not in ("matched", "drawn"):
        raise ArgumentError(f"rotations is 'matched' or 'drawn', not {rotations!r}.")


def population_of(rotations: Rotations, seed: int, number: int) -> EhrPopulation:
    """Return the population of the data set of that number."""
    if rotations == "matched":
        return matched_population()
    return rotated_population(seed, number)


def _measure(
    scale: Scale,
    seed: int,
    number: int,
    rotations: Rotations,
    strategies: tuple[str, ...],
) -> pd.DataFrame:
    population = population_of(rotations, seed, number)
    sample = Sample.draw(scale, population, seed, number)
    found = {
        strategy: accuracy(cross_validate(strategy, sample, scale))
        for strategy in strategies
    }
    optimum = optimal_accuracy(**vars(population), seed=sample.seeds.population)
    found[OPTIMUM] = optimum.accuracy
    return pd.DataFrame({"strategy": list(found), "accuracy": list(found.values())})


def bias(
    table: pd.DataFrame, against: str = "unbiased", by: Sequence[str] = ()
) -> pd.DataFrame:
    """Return mean differences from a strategy, in points of accuracy.

    Parameters
    ----------
    table : pandas.DataFrame
        With ``simulation``, ``strategy`` and ``accuracy``, such as ``figure3().table``.
    against : str
        A strategy of the table.
    by : sequence of str
        Columns; differences are computed within each combination of their values.

    Returns
    -------
    pandas.DataFrame
        One row per strategy, without the reference: ``bias`` is the mean difference
        over simulations, in points; ``se`` its Monte Carlo standard error, NaN for one
        simulation; ``simulations`` their number.

    Raises
    ------
    ArgumentError
        If there is no such strategy to compare with.

    Examples
    --------
    >>> table = pd.DataFrame({
    ...     "simulation": [1, 1, 2, 2],
    ...     "strategy": ["unbiased", "x5"] * 2,
    ...     "accuracy": [0.84, 0.78, 0.85, 0.77],
    ... })
    >>> bias(table)
      strategy  bias   se  simulations
    0       x5  -7.0  1.0            2
    """
    if against not in set(table["strategy"]):
        raise ArgumentError(f"the table has no strategy {against!r} to compare with.")
    keys = [*by, "simulation"]
    wide = table.pivot(index=keys, columns="strategy", values="accuracy")
    names = [name for name in table["strategy"].unique() if name != against]
    points = 100 * wide[names].sub(wide[against], axis=0)
    columns = ["bias", "se", "simulations"]
    if by:
        groups = points.groupby(level=by[0] if len(by) == 1 else list(by), sort=False)
        parts = {key: _summary(group) for key, group in groups}
        found = pd.concat(parts, names=[*by, "strategy"])
    else:
        found = _summary(points)
    found = found[found["simulations"] > 0]
    return found.reset_index()[[*by, "strategy", *columns]]


def _summary(points: pd.DataFrame) -> pd.DataFrame:
    count = points.count()
    error: pd.Series[float] = points.std(ddof=1) / np.sqrt(count)
    summary = pd.DataFrame({"bias": points.mean(), "se": error, "simulations": count})
    return summary.rename_axis("strategy")
