"""The permutation distribution of a metric, with the observed value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from statcv.errors import ArgumentError, ArgumentTypeError
from statcv.inference import HTest, Readable
from statcv.numeric.arrays import Floats
from statcv.plots.base import COLOURS, GREY, draw_bars, finish, ink, new_axes
from statcv.words import p_in_words, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIDES = {"greater": "one-sided", "less": "one-sided", "two-sided": "two-sided"}


def plot_permutation(test: HTest | Readable, ax: Axes | None = None) -> Axes:
    """Draw the permutation distribution of a metric, with the observed value.

    The solid line is the observed value. The dashed line is the mean of the permuted
    values, which is the expected value without skill under this scheme. For auROC a
    dotted line marks 0.5, which can be far from that mean.

    Parameters
    ----------
    test : HTest or CVResult
        Permutation test, from ``result.test()``. For a result the test is computed
        first, for the headline and with the default number of permutations.
    ax : matplotlib.axes.Axes, optional

    Raises
    ------
    ArgumentError
        If the test is not a permutation test, or no permutation has a value.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
    >>> scv.plots.plot_permutation(loo.test(n_permutations=99)).get_xlabel()
    'auROC (paired)'
    """
    test = _tested(test)
    values = test.replicates[np.isfinite(test.replicates)]
    if not len(values):
        why = test.reason.rstrip(".") or "no permutation gave a value"
        raise ArgumentError(f"there is nothing to draw: {why}.")
    ax = new_axes(ax)
    counts, edges = np.histogram(values, _bins(values))
    draw_bars(ax, edges, counts, COLOURS[5])
    if test.label.startswith("auROC"):
        ax.axvline(0.5, color=GREY, linewidth=1.2, linestyle=":", label="0.5")
    ax.axvline(test.null, color=ink(), ls="--", lw=1.2, label=f"mean {test.null:.3f}")
    if np.isfinite(test.estimate):
        named = f"observed {test.estimate:.3f}"
        ax.axvline(test.estimate, color=COLOURS[1], linewidth=2, label=named)
    p = f"{p_in_words(test.p_value, '.3g')} ({SIDES[test.alternative]})"
    p = "no p-value" if np.isnan(test.p_value) else p
    title = f"{plural(len(values), 'permuted outcome')}, {p}"
    lost = len(test.replicates) - len(values)
    if lost:
        title += f"; {plural(lost, 'permutation')} gave no value"
    return finish(ax, test.label, "permutations", title)


def _tested(test: HTest | Readable) -> HTest:
    if isinstance(test, HTest):
        if test.statistic_name in ("t", "z"):
            raise ArgumentError(
                f"{test.method!r} has no permutations; plot_permutation() draws a "
                "permutation test, result.test(method='permutation')."
            )
        return test
    if not hasattr(test, "null_distribution"):
        raise ArgumentTypeError(
            "plot_permutation() draws a permutation test, or that of a result, not "
            f"{type(test).__name__}; compute one with result.test()."
        )
    return test.test(method="permutation")


def _bins(values: Floats) -> Floats | int:
    """Return the number of bars, from 8 to 40, or the edges of a single bar."""
    if np.ptp(values) <= 1e-9 * np.abs(values).max():
        half = 0.005 * max(1.0, float(np.abs(values).max()))
        return np.asarray(values.mean() + np.array([-half, half]))
    return int(np.clip(len(np.histogram_bin_edges(values, "auto")) - 1, 8, 40))
