"""What the figures show, the tables that ship, and what is set beside the paper."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy.integrate import trapezoid
from sklearn.linear_model import LinearRegression

from statcv.errors import ArgumentError, DataError, FoldWarning
from studies.__main__ import main
from studies.bey2020 import (
    Figure2,
    Figure3,
    Figure4,
    Scale,
    bias,
    figure2,
    figure3,
    figure4,
    figure5,
    paper_and_ours,
    stored,
)
from studies.bey2020.paper import PAPER

SMALL = Scale(n=300, n_duplicates=90, rounds=4)
TINY = {"scale": 0.03, "rounds": 1}


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    for name, table in made(folder).items():
        PAPER.write(name, table, folder)
    return folder


def made(folder: Path) -> dict[str, pd.DataFrame]:
    """Run everything once, and afterwards read it."""
    parts, found = folder / "parts", {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldWarning)  # 200 bins a fold need a thousand
        for name in PAPER.tables:
            count = 2 if name.startswith("figure") else 1
            found[name] = PAPER.make(name, parts, most=count, **TINY)
    return found


# ---- figures ----


def test_figure_2_shows_both_accuracies_of_every_strategy() -> None:
    figure = figure2(2, scale=SMALL)
    ax = figure.plot()
    for strategy, own in figure.curves.groupby("strategy"):
        for part in ("training", "held_out"):
            drawn = [
                line
                for line in ax.lines
                if np.array_equal(line.get_ydata(), own[part].to_numpy())
            ]
            assert len(drawn) == 1, (strategy, part)
            symbols = drawn[0].get_marker() not in ("None", None)
            assert symbols == (part == "training")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sum(label.endswith(", training") for label in labels) == 3
    assert sum(label.endswith(", held out") for label in labels) == 3
    assert not ax.get_legend().get_window_extent().overlaps(ax.get_window_extent())
    heights = [line.get_ydata() for line in ax.lines]
    assert any(list(height) == [figure.optimum] * 2 for height in heights)


def test_figure_2_of_one_data_set_is_its_first() -> None:
    one, two = figure2(1, scale=SMALL).curves, figure2(2, scale=SMALL).curves
    np.testing.assert_array_equal(one["held_out"], two["first_held_out"])
    assert one["held_out_se"].isna().all()
    ax = Figure2(two).plot(first=True)
    first = two.loc[two["strategy"] == "random", "first_held_out"]
    assert any(np.array_equal(line.get_ydata(), first) for line in ax.lines)


def test_figure_3_shows_a_violin_a_strategy() -> None:
    rng = np.random.default_rng(1)
    names = ("unbiased", "random", "x5", "x5 ×20", "optimum")
    table = pd.DataFrame(
        {
            "simulation": np.repeat(np.arange(1, 9), len(names)),
            "strategy": names * 8,
            "accuracy": 0.8 + 0.02 * rng.random(8 * len(names)),
        }
    )
    figure = Figure3(table)
    ax = figure.plot()
    assert len(ax.collections) == 2 * 4  # a body, and a line at its mean
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert labels == ["unbiased", "random", "$x_{5}$", "$x_{5}$ ×20"]
    lines = sorted(line.get_ydata()[0] for line in ax.lines)
    means = table.groupby("strategy")["accuracy"].mean()
    assert lines == pytest.approx(sorted(means[["unbiased", "optimum"]]))
    assert figure.bias["strategy"].tolist() == ["random", "x5", "x5 ×20"]


def test_figure_3_of_one_simulation_can_be_drawn() -> None:
    figure = figure3(1, strategies=("unbiased", "x5"), scale=SMALL)
    assert len(figure.plot().collections) == 4
    assert figure.bias["se"].isna().all()


def test_figure_4_shows_the_ratio_against_the_importance() -> None:
    figure = figure4(2, scale=SMALL)
    for importance in ("total_gain", "clamp"):
        ax = figure.plot(importance)
        points = np.asarray(ax.collections[0].get_offsets())
        expected = figure.table[[importance, "ratio"]].to_numpy()
        np.testing.assert_array_equal(points, expected)
        r = np.corrcoef(expected.T)[0, 1]
        assert f"r = {r:.2f}".replace("-", "−") in ax.get_title()
    with pytest.raises(ArgumentError, match="total_gain"):
        figure.plot("total_gian")


def test_figure_5_shows_covariates_two_by_two() -> None:
    figure = figure5(400)
    axes = figure.plot(("x1", "x5", "x10"))
    assert axes.shape == (3, 3)
    counts = figure.people["y"].value_counts()
    drawn = [len(points.get_offsets()) for points in axes[0, 1].collections]
    assert sorted(drawn) == sorted(counts)
    diagonal = axes[1, 1].lines
    areas = [trapezoid(*line.get_data()[::-1]) for line in diagonal]
    assert sum(areas) == pytest.approx(1, abs=0.02)
    assert areas[1] / sum(areas) == pytest.approx(counts[1] / 400, abs=0.02)
    with pytest.raises(ArgumentError, match="x1 to x10"):
        figure.plot(("x1", "y"))


def test_figure_5_clips_no_point_and_has_one_set_of_ticks() -> None:
    axes = figure5(500).plot()
    axes[0, 0].figure.draw_without_rendering()
    for row, column in itertools.product(range(4), repeat=2):
        ax = axes[row, column]
        if row < column:
            for points in ax.collections:
                places = np.asarray(points.get_offsets())
                for side, (low, high) in enumerate((ax.get_xlim(), ax.get_ylim())):
                    assert low < places[:, side].min()
                    assert places[:, side].max() < high
        if row != column:
            assert ax.get_yticks().tolist() == axes[row, row].get_xticks().tolist()
    plt.close("all")


def test_figure_5_of_very_few_people_can_be_drawn() -> None:
    assert figure5(2).plot().shape == (4, 4)
    with pytest.raises(ArgumentError, match="n must be 2 or more"):
        figure5(1)


# ---- stored tables ----


def test_tables_are_read_as_they_were_written(tables: Path) -> None:
    for name, table in made(tables).items():
        found = stored(name, tables)
        if isinstance(found, Figure2):
            found = found.curves
        elif isinstance(found, (Figure3, Figure4)):
            found = found.table
        assert_frame_equal(found, table, rtol=0.05, atol=1e-4, check_dtype=False)


def test_ours_beside_the_paper_are_the_numbers_of_the_tables(tables: Path) -> None:
    told = paper_and_ours(tables).set_index(["part", "quantity"])
    assert told.index.is_unique
    x5 = told.loc[("Figure 3", "bias, x5")]
    expected = stored("figure3", tables).bias.set_index("strategy").loc["x5"]
    assert x5["paper"] == "roughly −5 %"
    assert (x5["ours"], x5["se"]) == (expected["bias"], expected["se"])
    r = told.loc[("Figure 4", "Pearson's r, total_gain")]
    figure = stored("figure4", tables).table
    pearson = np.corrcoef(figure["total_gain"], figure["ratio"])[0, 1]
    assert (r["paper"], r["ours"]) == ("−0.77", pytest.approx(pearson))
    fresh = bias(stored("fresh", tables), against="with duplicates")
    hashed = told.loc[("against fresh records, with duplicates", "bias, hash"), "ours"]
    assert hashed == fresh.set_index("strategy").loc["hash", "bias"]
    drop = 100 * figure["unbiased"] * (1 - figure["ratio"])
    given = 100 * figure[["clamp", "permutation"]]
    fit = LinearRegression().fit(given.clip(lower=[0, -np.inf], axis=1), drop)
    name = "drop by clamp and permutation: "
    found = [told.loc[("Figure 4", name + x), "ours"] for x in ("clamp", "permutation")]
    assert found == pytest.approx(fit.coef_)


def test_tables_that_there_are_not(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="figure3"):
        stored("figure33")
    with pytest.raises(DataError, match=r"bey2020_figure3\.csv"):
        stored("figure3", tmp_path)


def test_the_stored_tables_are_small() -> None:
    sizes = [(PAPER.place / PAPER.file(name)).stat().st_size for name in PAPER.tables]
    assert sum(sizes) <= 200_000


def test_the_command_writes_the_tables(tmp_path: Path) -> None:
    parts, folder = str(tmp_path / "parts"), tmp_path / "tables"
    asked = ["--only", "rotations", "leak", "--scale", "0.03", "--rounds", "2"]
    main(["bey2020", parts, str(folder), *asked, "--most", "2"])
    assert sorted(file.name for file in folder.iterdir()) == [
        "bey2020_leak.csv",
        "bey2020_rotations.csv",
    ]
    assert stored("leak", folder)["simulation"].tolist() == [1, 2]
