"""Figure 5: covariates two by two, by outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import check_whole, resolve_seed
from statcv.datasets.ehr import COVARIATES
from statcv.errors import ArgumentError
from statcv.plots.base import COLOURS
from studies.bey2020.samples import Seeds, matched_population

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = ("x1", "x3", "x5", "x10")
DOTS = 1_000  # largest number of people of each outcome in a scatter plot
LEARNT = 3_000  # number of people from whom a density is estimated
GRID = 60
LEVELS = 5  # number of contours


@dataclass(frozen=True, eq=False)
class Figure5:
    """People, with plots of their covariates in pairs; made by :func:`figure5`.

    Attributes
    ----------
    people : pandas.DataFrame
        Covariates and the outcome ``y``.

    Examples
    --------
    >>> from studies.bey2020 import figure5
    >>> figure5(n=100).people.shape
    (100, 11)
    """

    people: pd.DataFrame = field(repr=False)

    def plot(self, covariates: tuple[str, ...] = SHOWN) -> NDArray[Any]:
        """Draw densities on the diagonal, points above it and contours below.

        Parameters
        ----------
        covariates : tuple of str
            Two or more of ``"x1"`` to ``"x10"``.

        Returns
        -------
        numpy.ndarray of matplotlib.axes.Axes
            One row and one column per covariate.
        """
        import matplotlib.pyplot as plt

        names = tuple(covariates)
        if len(names) < 2 or not set(names) <= set(COVARIATES):
            raise ArgumentError(
                f"covariates are two or more of x1 to x10, not {names!r}."
            )
        many, size = len(names), 1.9 * len(names)
        figure, axes = plt.subplots(
            many, many, figsize=(size, size), sharex="col", layout="constrained"
        )
        grids = {name: _grid(self.people[name]) for name in names}
        for row, below in enumerate(names):
            for column, beside in enumerate(names):
                ax = axes[row, column]
                for y, colour in enumerate(COLOURS[:2]):
                    own = self.people[self.people["y"] == y]
                    if row == column:
                        share = len(own) / len(self.people)
                        _draw_density(ax, own[below], grids[below], share, colour, y)
                    elif row < column:
                        _draw_points(ax, own[beside], own[below], colour)
                    else:
                        pair = own[[beside, below]]
                        _draw_contours(ax, pair, grids[beside], grids[below], colour)
                if row != column:
                    ax.set_ylim(grids[below][[0, -1]])
                ax.set_xlim(grids[beside][[0, -1]])
                _label_edges(ax, row, column, names)
        curves = axes[0, 0].get_legend_handles_labels()
        figure.legend(*curves, loc="outside upper center", ncols=2, frameon=False)
        return np.asarray(axes)


def figure5(n: int = 10_000, *, seed: int = 1) -> Figure5:
    """Draw people, and show four covariates by outcome.

    Parameters
    ----------
    n : int, default 10_000
        People, two at least, of the population that has the two numbers which the
        paper prints of its own.
    seed : int, default 1

    Returns
    -------
    Figure5

    Notes
    -----
    Bey et al. (2020), JAMIA 27:1244-1251, Figure 5.

    Examples
    --------
    >>> from studies.bey2020 import figure5
    >>> figure5(500).people.shape
    (500, 11)
    """
    check_whole(n, "n", least=2)
    rng = np.random.default_rng(Seeds.of(resolve_seed(seed), 0).fresh)
    return Figure5(matched_population().draw(n, rng))


def _grid(values: pd.Series[Any]) -> NDArray[np.float64]:
    low, high = float(values.min()), float(values.max())
    edge = 0.05 * (high - low)
    return np.linspace(low - edge, high + edge, GRID)


def _draw_density(
    ax: Axes,
    values: pd.Series[Any],
    grid: NDArray[np.float64],
    share: float,
    colour: str,
    y: int,
) -> None:
    """Draw a density times the share of the outcome, so that areas compare."""
    from scipy.stats import gaussian_kde

    if values.nunique() > 1:
        density = share * gaussian_kde(values[:LEARNT])(grid)
        ax.plot(grid, density, color=colour, label=f"y = {y}")
        ax.fill_between(grid, density, color=colour, alpha=0.25, linewidth=0)
    ax.set_yticks([])


def _draw_points(ax: Axes, x: pd.Series[Any], y: pd.Series[Any], colour: str) -> None:
    ax.scatter(
        x[:DOTS], y[:DOTS], s=2, color=colour, alpha=0.4, linewidths=0, rasterized=True
    )


def _draw_contours(
    ax: Axes,
    pair: pd.DataFrame,
    across: NDArray[np.float64],
    along: NDArray[np.float64],
    colour: str,
) -> None:
    from scipy.stats import gaussian_kde

    if len(pair) <= 2:
        return
    x, y = np.meshgrid(across, along)
    density = gaussian_kde(pair[:LEARNT].T.to_numpy())(np.stack([x.ravel(), y.ravel()]))
    ax.contour(
        x, y, density.reshape(x.shape), levels=LEVELS, colors=colour, linewidths=0.9
    )


def _label_edges(ax: Axes, row: int, column: int, names: tuple[str, ...]) -> None:
    """Label the outer axes; both axes of a covariate have the same ticks."""
    from matplotlib.ticker import MaxNLocator

    if row == len(names) - 1:
        ax.set_xlabel(f"$x_{{{names[column][1:]}}}$")
    if column == 0:
        ax.set_ylabel(f"$x_{{{names[row][1:]}}}$")
    elif row != column:
        ax.tick_params(labelleft=False, left=False)
    if row < len(names) - 1:
        ax.tick_params(bottom=False)
    axes = [ax.xaxis] if row == column else [ax.xaxis, ax.yaxis]
    for axis in axes:
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    ax.tick_params(labelsize="small")
