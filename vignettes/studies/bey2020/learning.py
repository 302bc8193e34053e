"""Figure 2: accuracies after every round of boosting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from statcv.datasets import optimal_accuracy
from statcv.results import CVResult
from studies.bey2020.samples import Sample, Scale, matched_population, simulate
from studies.bey2020.strategies import check_strategies, cross_validate
from studies.running import Directory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWN = ("unbiased", "random", "x1")
PARTS = ("training", "held_out")


@dataclass(frozen=True, eq=False)
class Figure2:
    """Learning curves by strategy; made by :func:`figure2`.

    Attributes
    ----------
    curves : pandas.DataFrame
        One row per strategy and round: ``training`` and ``held_out`` are accuracies,
        means over simulations of means over folds; ``held_out_se`` is the Monte Carlo
        standard error of the latter, NaN for one simulation. ``first_training`` and
        ``first_held_out`` are those of the first simulation.

    Examples
    --------
    >>> from studies import bey2020
    >>> figure = bey2020.stored("figure2")
    >>> figure.curves["strategy"].unique().tolist(), round(figure.optimum, 2)
    (['unbiased', 'random', 'x1'], 0.88)
    """

    curves: pd.DataFrame = field(repr=False)

    @property
    def optimum(self) -> float:
        """The accuracy of a model that knows each probability."""
        return optimal_accuracy(**vars(matched_population()), seed=1).accuracy

    def plot(self, ax: Axes | None = None, first: bool = False) -> Axes:
        """Draw training accuracies as symbols and held-out ones as lines.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
        first : bool
            Whether to draw the first simulation only, as the paper draws one, in place
            of the mean over simulations.
        """
        from studies.bey2020.drawing import draw_learning

        return draw_learning(self.curves, self.optimum, ax, first)


def figure2(
    simulations: int = 30,
    *,
    strategies: tuple[str, ...] = DRAWN,
    scale: Scale | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Figure2:
    """Follow training and held-out accuracy over the rounds of boosting.

    Parameters
    ----------
    simulations : int, default 30
        Data sets of the population that has the two numbers which the paper prints of
        its own. The paper shows one data set.
    strategies : tuple of str
        As in :func:`figure3`.
    scale, directory, seed, n_jobs, progress
        As in :func:`figure3`.

    Returns
    -------
    Figure2

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is not what it should be.
    CheckpointError
        If the directory holds another study.

    Notes
    -----
    Bey et al. (2020), JAMIA 27:1244-1251, Figure 2.

    Examples
    --------
    >>> from studies.bey2020 import Scale, figure2
    >>> found = figure2(1, scale=Scale(n=400, n_duplicates=80, rounds=10))
    >>> found.curves.groupby("strategy", sort=False)["round"].max().to_dict()
    {'unbiased': 10, 'random': 10, 'x1': 10}
    """
    strategies = tuple(strategies)
    check_strategies(strategies)
    table = simulate(
        "figure2",
        _measure,
        simulations,
        scale=scale,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        strategies=strategies,
    )
    return Figure2(_means(table))


def learning_of(result: CVResult) -> pd.DataFrame:
    """Return the accuracies after every round, means over folds."""
    table = result.learning_curves
    means = 1 - table.groupby("round")[list(PARTS)].mean()
    return means.reset_index()


def _measure(
    scale: Scale, seed: int, number: int, strategies: tuple[str, ...]
) -> pd.DataFrame:
    sample = Sample.draw(scale, matched_population(), seed, number)
    tables = []
    for strategy in strategies:
        result = cross_validate(strategy, sample, scale, curves=True)
        tables.append(learning_of(result).assign(strategy=strategy))
    return pd.concat(tables, ignore_index=True)


def _means(table: pd.DataFrame) -> pd.DataFrame:
    groups = table.groupby(["strategy", "round"], sort=False)
    means = groups[list(PARTS)].mean()
    means["held_out_se"] = groups["held_out"].sem()
    first = table[table["simulation"] == 1].set_index(["strategy", "round"])
    return means.join(first[list(PARTS)].add_prefix("first_")).reset_index()
