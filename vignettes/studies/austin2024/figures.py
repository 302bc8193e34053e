"""The paper's figures by number, drawn from the tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.errors import ArgumentError, suggestion
from statcv.plots.base import COLOURS, GREY, draw_legend, new_axes
from studies.austin2024.paper import stored
from studies.austin2024.samples import RECORDS, held_out, noise_of
from studies.austin2024.simulations import PAPERS_GROUP, PAPERS_PENALTY
from studies.contrast import ink_on
from studies.papers import Folder

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Draw = Callable[[Folder, "Axes | None"], "Axes"]

LEFT_OUT = "records left out together"
TITLES = {
    "logit 1": "logistic regression, C = 1",
    "forest": "random forest",
    "neighbors 5": "5 nearest neighbours",
}
BLUE, RED, GREEN = COLOURS[:3]
HALF: dict[str, Any] = {"color": "black", "linestyle": (0, (5, 4)), "linewidth": 0.9}
# the height of a row of a swarm, the step across, and the width in all
NEAR, ASIDE, WIDEST = 0.012, 0.045, 0.84
FOLDS = 5  # number of folds in the drawing of an evaluation
# largest number of distinct predictions of which shares, not a density, are drawn
FEW = 12


def figure(name: str, *, folder: Folder = None, ax: Axes | None = None) -> Axes:
    """Draw a figure of the paper from our results.

    Parameters
    ----------
    name : str
        ``"1b"`` (ROC curve of the negative mean under leave-one-out), ``"1c"`` (its
        auROC under leave-P-out), ``"2a"`` (logistic regression under leave-one-out),
        ``"2b"``, ``"2c"`` (stratified leave-P-out), ``"3b"``, ``"3c"`` (rebalanced
        leave-one-out), ``"5a"``, ``"5b"`` (penalties), ``"S1a"``, ``"S1b"`` (evaluation
        by fold and of pooled predictions), ``"S2a"`` to ``"S2d"``
        (dummies), ``"S3a"``, ``"S3b"`` (random forest, nearest neighbours), ``"S4a"``
        to ``"S4c"`` (predictions), ``"S5a"``, ``"S5b"`` (standardised scores).
    folder : str or path, optional
        Folder of your own tables, as written by
        ``python -m studies austin2024``.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ArgumentError
        If there is no such figure.
    DataError
        If its table does not exist.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> figure("2a").get_ylabel()
    'auROC, pooled'
    """
    if name in ("1a", "3a"):
        raise ArgumentError(
            f"figure {name} is an illustration, without data; {name[0]}b has data."
        )
    if not isinstance(name, str) or name not in FIGURES:
        raise ArgumentError(
            f"there is no figure {name!r}; there are {', '.join(FIGURES)}."
            f"{suggestion(str(name), FIGURES)}"
        )
    return FIGURES[name](folder, ax)


def _dummy(kind: str, scheme: str, model: str) -> Draw:
    """Return what draws a curve of a predictor that knows the training mean only."""

    def draw(folder: Folder, ax: Axes | None) -> Axes:
        from statcv.plots import plot_pr, plot_roc

        frame = noise_of(1, 0, 0.5, RECORDS, covariates=1)
        result = held_out(frame, model, 1, scheme=scheme)
        if kind == "roc":
            return plot_roc(result, ax=ax)
        return plot_pr(result, ax=ax, method="trapezoid")  # the paper's area

    return draw


def _boxes(name: str, value: str, keep: Callable[[pd.DataFrame], pd.DataFrame]) -> Draw:
    def draw(folder: Folder, ax: Axes | None) -> Axes:
        return draw_boxes(keep(stored(name, folder)), value, ax)

    return draw


def _evaluation(pooled: bool) -> Draw:
    """Return what draws how held-out predictions are evaluated: by fold, or pooled."""

    def draw(folder: Folder, ax: Axes | None) -> Axes:
        ax, folds = new_axes(ax), np.arange(1, FOLDS + 1)
        ax.barh(folds, FOLDS, 0.7, color=GREY, alpha=0.25, label="trained on")
        ax.barh(folds, 1, 0.7, folds - 1, color=BLUE, label="held out")
        end, past = FOLDS + 0.4, FOLDS + 1.0
        arrow: dict[str, Any] = {"arrowstyle": "->", "color": "black"}
        if pooled:
            height = FOLDS + 1.3
            ax.barh(height, FOLDS, 0.7, color=BLUE)
            for fold in folds.tolist():
                at = fold - 0.5
                faint = arrow | {"alpha": 0.5}
                ax.annotate("", (at, height - 0.4), (at, fold), arrowprops=faint)
            heights, said = [height], "auROC of all\npredictions"
        else:
            heights, said = [float(fold) for fold in folds], "auROC"
        for height in heights:
            ax.annotate("", (past, height), (end - 0.3, height), arrowprops=arrow)
            ax.text(past + 0.1, height, said, va="center", fontsize="small")
        ax.set(
            xlim=(-0.1, FOLDS + 2.9),
            ylim=(FOLDS + 2.0, 0.4),
            xlabel="records",
            ylabel="fold",
            title="pooled predictions" if pooled else "evaluation by fold",
            xticks=[],
        )
        ax.set_yticks(folds)
        draw_legend(ax)
        return ax

    return draw


def _rebalanced(folder: Folder, ax: Axes | None) -> Axes:
    return draw_boxes(_papers_penalty(stored("penalties", folder)), "rloocv", ax, GREEN)


def _swarm(folder: Folder, ax: Axes | None) -> Axes:
    table = stored("swarm", folder)
    return draw_swarm(table, "auroc", draw_boxes(table, "auroc", ax))


def _heat(name: str, across: str, value: str, label: str) -> Draw:
    def draw(folder: Folder, ax: Axes | None) -> Axes:
        table = stored(name, folder)
        ax = draw_heat(table, across, value, ax, label)
        count = table["data_set"].nunique()
        ax.set_title(f"mean auROC of {count} data sets, pooled")
        return ax

    return draw


def _predicted(model: str) -> Draw:
    def draw(folder: Folder, ax: Axes | None) -> Axes:
        table = stored("predictions", folder)
        ax = draw_violins(table[table["model"] == model], ax)
        ax.set_title(TITLES[model])
        return ax

    return draw


def _papers_penalty(table: pd.DataFrame) -> pd.DataFrame:
    return table[np.isclose(table["C"], PAPERS_PENALTY)]


def _papers_group(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["group"] == PAPERS_GROUP]


def _of_model(model: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table[table["model"] == model]


def _whole(table: pd.DataFrame) -> pd.DataFrame:
    return table


FIGURES: dict[str, Draw] = {
    "1b": _dummy("roc", "loocv", "negmean"),
    "1c": _heat("dummies", "group", "auroc", LEFT_OUT),
    "2a": _boxes("penalties", "loocv", _papers_penalty),
    "2b": _boxes("stratified", "auroc", _papers_group),
    "2c": _heat("stratified", "group", "auroc", LEFT_OUT),
    "3b": _dummy("roc", "rloocv", "negmean"),
    "3c": _rebalanced,
    "5a": _heat("penalties", "C", "loocv", "C (small: strong penalty)"),
    "5b": _heat("penalties", "C", "rloocv", "C (small: strong penalty)"),
    "S1a": _evaluation(pooled=False),
    "S1b": _evaluation(pooled=True),
    "S2a": _dummy("pr", "loocv", "negmean"),
    "S2b": _swarm,
    "S2c": _dummy("roc", "loocv", "mean"),
    "S2d": _dummy("pr", "loocv", "mean"),
    "S3a": _boxes("forest", "loocv", _whole),
    "S3b": _boxes("neighbours", "loocv", _whole),
    "S4a": _predicted("logit 1"),
    "S4b": _predicted("forest"),
    "S4c": _predicted("neighbors 5"),
    "S5a": _boxes("standardised", "auroc", _of_model("logit 0.01")),
    "S5b": _boxes("standardised", "auroc", _of_model("neighbors 1")),
}


def draw_boxes(
    table: pd.DataFrame, value: str, ax: Axes | None, colour: str = BLUE
) -> Axes:
    """Draw a box per class balance: quartiles and whiskers to 1.5 times their range."""
    ax = new_axes(ax)
    groups = {share: own[value].dropna() for share, own in _by_balance(table)}
    drawn = ax.boxplot(
        list(groups.values()),
        positions=range(len(groups)),
        widths=0.65,
        patch_artist=True,
        medianprops={"color": "black"},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": GREY},
    )
    for box in drawn["boxes"]:
        box.set(facecolor=colour, alpha=0.6)
    ax.axhline(0.5, **HALF)
    ax.set_xticks(range(len(groups)), [f"{share:g}" for share in groups])
    count = table["data_set"].nunique()
    ax.set(
        xlabel="share of positive records",
        ylabel="auROC, pooled",
        title=f"{count} data sets a balance",
        ylim=(-0.02, 1.02),
    )
    return ax


def draw_swarm(table: pd.DataFrame, value: str, ax: Axes) -> Axes:
    """Draw a point per data set over the boxes, with equal ones side by side."""
    for place, (_, own) in enumerate(_by_balance(table)):
        height = np.sort(own[value].dropna().to_numpy())
        row = np.round(height / NEAR).astype(int)
        number = np.arange(len(row)) - np.searchsorted(row, row)
        last = np.bincount(row - row[0])[row - row[0]] - 1
        step = np.minimum(ASIDE, WIDEST / np.maximum(last, 1))
        ax.plot(
            place + (number - last / 2) * step,
            height,
            ".",
            color="black",
            markersize=2.5,
        )
    return ax


def draw_heat(
    table: pd.DataFrame, across: str, value: str, ax: Axes | None, label: str
) -> Axes:
    """Draw the mean of every class balance and of what goes across, and write it."""
    ax = new_axes(ax)
    means = table.pivot_table(index=across, columns="balance", values=value)
    image = ax.imshow(means, cmap="RdBu", vmin=0, vmax=1, aspect="auto")
    for (row, column), mean in np.ndenumerate(means.to_numpy()):
        colour = ink_on(image.to_rgba(np.array([mean]))[0].tolist())
        text = f"{mean:.2f}"
        ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
    ax.set_xticks(range(means.shape[1]), [f"{share:g}" for share in means.columns])
    ax.set_yticks(range(means.shape[0]), [f"{one:g}" for one in means.index])
    ax.set(xlabel="share of positive records", ylabel=label)
    return ax


def draw_violins(table: pd.DataFrame, ax: Axes | None) -> Axes:
    """Draw a violin of predictions per class balance, and a line at the balance.

    Predictions of few distinct values, such as shares of five neighbours, have a bar
    each, whose width is in proportion to the share of the predictions.
    """
    ax = new_axes(ax)
    groups = {share: own["predicted"] for share, own in _by_balance(table)}
    if table["predicted"].nunique() <= FEW:
        _draw_shares(ax, list(groups.values()))
    else:
        drawn = ax.violinplot(
            list(groups.values()), range(len(groups)), widths=0.85, showextrema=False
        )
        for body in drawn["bodies"]:  # type: ignore[attr-defined]
            body.set(facecolor=BLUE, alpha=0.6)
    for place, share in enumerate(groups):
        ax.hlines(share, place - 0.45, place + 0.45, color=RED)
    ax.set_xticks(range(len(groups)), [f"{share:g}" for share in groups])
    ax.set(
        xlabel="share of positive records",
        ylabel="held-out prediction",
        ylim=(-0.07, 1.07),
    )
    return ax


def _draw_shares(ax: Axes, groups: list[pd.Series[float]]) -> None:
    """Draw a bar per distinct value, as wide as its share of the group."""
    values = np.unique(np.concatenate([own.to_numpy() for own in groups]))
    high = 0.5 * float(np.diff(values).min()) if len(values) > 1 else 0.1
    for place, own in enumerate(groups):
        share = np.array([(own == value).mean() for value in values])
        width = 0.85 * share / share.max()
        ax.barh(values, width, high, place - width / 2, color=BLUE, alpha=0.6)


def _by_balance(table: pd.DataFrame) -> list[tuple[float, pd.DataFrame]]:
    return [(float(str(share)), own) for share, own in table.groupby("balance")]
