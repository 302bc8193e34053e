"""Figure 3: the accuracies that strategies estimate, over many data sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import pandas as pd

from statcv.errors import ArgumentError
from statcv.studies.bey2020.differences import bias
from statcv.studies.bey2020.running import simulate
from statcv.studies.bey2020.samples import Sample, rotated_population
from statcv.studies.bey2020.scale import Scale, matched_population
from statcv.studies.bey2020.strategies import (
    STRATEGIES,
    accuracy,
    check_strategies,
    cross_validate,
)
from statcv.studies.ehr import EhrPopulation, optimal_accuracy
from statcv.studies.running import Directory

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
        ``simulation``, ``strategy``, ``accuracy``: the mean over folds. Of the strategy
        ``"optimum"`` the accuracy is that of a model that knows each probability.
    """

    table: pd.DataFrame = field(repr=False)

    @property
    def bias(self) -> pd.DataFrame:
        """Mean difference of each strategy from the unbiased estimate, in points."""
        return bias(self.table[self.table["strategy"] != OPTIMUM])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a violin per strategy, with lines at optimum and unbiased mean."""
        from statcv.studies.bey2020.drawing import draw_violins

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
    >>> from statcv.studies.bey2020 import Scale, figure3
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
        rotations=rotations,
        strategies=strategies,
    )
    return Figure3(table)


def check_rotations(rotations: object) -> None:
    """Raise where there are no such rotations."""
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
