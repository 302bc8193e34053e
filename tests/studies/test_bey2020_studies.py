"""The studies of Bey et al.: their files, their numbers, and what they share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from xgboost import XGBClassifier

from statcv.datasets.ehr import Inexact
from statcv.errors import ArgumentError, ArgumentTypeError, CheckpointError
from studies.bey2020 import (
    Scale,
    bias,
    figure2,
    figure3,
    figure4,
    fresh_records,
    leak_of_duplicates,
    limits,
    matched_population,
    narrow_bins,
    numbers_of_folds,
    rotations,
)
from studies.bey2020.beyond import right
from studies.bey2020.samples import Sample, records_of
from studies.running import read_part

SMALL = Scale(n=300, n_duplicates=90, rounds=4)
SOME = ("unbiased", "random", "x5")
X = [f"x{number}" for number in range(1, 11)]


def accuracies(table: pd.DataFrame) -> pd.Series:
    return table.set_index("strategy")["accuracy"]


# ---- files ----


def test_numbers_are_the_same_for_any_number_of_jobs(tmp_path: Path) -> None:
    tables = [
        figure3(
            3,
            strategies=SOME,
            rotations="drawn",
            scale=SMALL,
            directory=tmp_path / str(jobs),
            n_jobs=jobs,
        ).table
        for jobs in (1, 2)
    ]
    assert_frame_equal(*tables)
    assert tables[0]["simulation"].tolist() == [1] * 4 + [2] * 4 + [3] * 4
    without = figure3(3, strategies=SOME, rotations="drawn", scale=SMALL).table
    assert_frame_equal(tables[0], without)


def test_a_study_goes_on_where_it_stopped(tmp_path: Path) -> None:
    def run(count: int) -> pd.DataFrame:
        return figure3(count, strategies=SOME, scale=SMALL, directory=tmp_path).table

    first = run(1)
    (file,) = tmp_path.glob("*.npz")
    told = file.stat().st_mtime_ns
    three = run(3)
    assert file.stat().st_mtime_ns == told
    assert_frame_equal(three[three["simulation"] == 1], first)
    # simulations that were not asked for are not shown
    assert_frame_equal(run(1), first)
    sorted(tmp_path.glob("*.npz"))[1].unlink()
    assert_frame_equal(run(3), three)


def test_a_directory_is_of_one_study(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"scale": SMALL, "directory": tmp_path}
    figure3(1, strategies=SOME, **arguments)
    with pytest.raises(CheckpointError, match="strategies="):
        figure3(1, strategies=("unbiased",), **arguments)
    with pytest.raises(CheckpointError, match="seed=1"):
        figure3(1, strategies=SOME, seed=2, **arguments)
    with pytest.raises(CheckpointError, match="study=figure3"):
        figure4(1, **arguments)
    next(tmp_path.glob("*.npz")).write_bytes(b"torn")
    with pytest.raises(CheckpointError, match="cannot be read"):
        figure3(1, strategies=SOME, **arguments)


@pytest.mark.parametrize("content", ["[1, 2]", "{torn", "null"])
def test_a_directory_with_a_file_of_that_name_is_no_study(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / "study.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"study\.json is not of a study"):
        rotations(1, directory=tmp_path)


def test_a_file_in_which_a_byte_changed_cannot_be_read(tmp_path: Path) -> None:
    """Or is as it was, where nothing depends on that byte."""
    file, values, torn = tmp_path / "part.npz", np.arange(500.0), 0
    np.savez_compressed(file, values=values)
    content = file.read_bytes()
    for place in range(0, len(content), 3):
        changed = bytearray(content)
        changed[place] ^= 0xFF
        file.write_bytes(changed)
        try:
            (found,) = read_part(file).values()
        except CheckpointError:
            torn += 1
        else:
            np.testing.assert_array_equal(found, values)
    assert torn > len(content) / 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figure3(0), "simulations must be 1 or more"),
        (lambda: figure3(1, strategies=("x0",)), "'x0'"),
        (lambda: figure2(1, strategies=("x0",)), "'x0'"),
        (lambda: figure3(1, rotations="any"), "rotations"),
        (lambda: fresh_records(1, rotations="any"), "rotations"),
        (lambda: fresh_records(1, n_fresh=0), "n_fresh"),
        (lambda: narrow_bins(1, noises=[-1]), "noise"),
        (lambda: narrow_bins(1, per_fold=[0]), "per_fold"),
        (lambda: numbers_of_folds(1, k=[1]), "k must be 2 or more"),
        (lambda: numbers_of_folds(1, k=[2, 5, 2]), "k has 2 twice"),
        (lambda: narrow_bins(1, noises=[0, 0.0]), "noises has 0.0 twice"),
        (lambda: narrow_bins(1, per_fold=[4, 4]), "'x5 ×4' twice"),
        (lambda: figure2(1, strategies=("x5", "x5")), "strategies has 'x5' twice"),
        (lambda: figure2(1, strategies=()), "strategies is empty"),
        (lambda: bias(pd.DataFrame({"strategy": ["x1"]})), "'unbiased'"),
    ],
)
def test_studies_that_cannot_be(call: Any, message: str) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match=message):
        call()


# ---- what the studies share ----


def test_all_studies_have_the_same_data_sets() -> None:
    found = accuracies(figure3(1, strategies=(*SOME, "hash"), scale=SMALL).table)
    curves = figure2(1, strategies=SOME, scale=SMALL).curves
    last = curves[curves["round"] == SMALL.rounds].set_index("strategy")["held_out"]
    np.testing.assert_allclose(last[list(SOME)], found[list(SOME)], atol=1e-6)
    narrow = narrow_bins(1, stratifiers=["x5"], per_fold=[1], noises=[0], scale=SMALL)
    several = numbers_of_folds(1, k=[5], scale=SMALL)
    fresh = fresh_records(1, n_fresh=10, scale=SMALL)
    limited = limits(1, scale=SMALL)
    leak = leak_of_duplicates(1, scale=SMALL).iloc[0]
    for strategy in ("unbiased", "x5"):
        for table in (narrow, several, fresh):
            assert accuracies(table)[strategy] == found[strategy]
    assert accuracies(limited)["hash"] == accuracies(fresh)["hash"] == found["hash"]
    assert accuracies(fresh)["random"] == leak["random"] == found["random"]
    assert leak["unbiased"] == found["unbiased"]


def test_biases_by_hand() -> None:
    table = pd.DataFrame(
        {
            "k": [2] * 6 + [5] * 2,
            "simulation": [1, 1, 2, 2, 3, 3, 1, 1],
            "strategy": ["unbiased", "x5"] * 4,
            "accuracy": [0.8, 0.7, 0.9, 0.7, 0.7, 0.7, 0.8, 0.75],
        }
    )
    found = bias(table, by=["k"]).set_index("k")
    assert found["strategy"].tolist() == ["x5", "x5"]
    assert found.loc[2, "bias"] == pytest.approx(-10)  # mean of −10, −20 and 0
    assert found.loc[2, "se"] == pytest.approx(10 / np.sqrt(3))
    assert found.loc[5, "bias"] == pytest.approx(-5)
    assert np.isnan(found.loc[5, "se"])
    assert found["simulations"].tolist() == [3, 1]
    against = bias(table[table["k"] == 2], against="x5")
    assert against["bias"].item() == pytest.approx(10)


# ---- fresh records ----


def test_the_share_right_is_that_of_drawn_outcomes() -> None:
    rng = np.random.default_rng(1)
    p, predicted = rng.random(200_000), rng.random(200_000)
    drawn = (rng.random(200_000) < p) == (predicted > 0.5)
    assert right(p, predicted) == pytest.approx(drawn.mean(), abs=0.005)


def test_the_models_on_fresh_records_are_those_of_the_records() -> None:
    found = accuracies(fresh_records(1, n_fresh=500, scale=SMALL))
    population = matched_population()
    sample = Sample.draw(SMALL, population, 1, 0)
    rng = np.random.default_rng(sample.seeds.fresh)
    x = population.draw_covariates(500, rng)
    p = population.probability(x)
    for data, name in (
        (sample.records, "with duplicates, all"),
        (sample.people, "without duplicates, all"),
    ):
        model = XGBClassifier(max_depth=3, n_estimators=4, learning_rate=0.6, n_jobs=1)
        chosen = model.fit(data[X].to_numpy(), data["y"]).predict(x)
        expected = np.where(chosen == 1, p, 1 - p).mean()
        assert found[name] == pytest.approx(expected, abs=1e-12)


# ---- limits ----


@pytest.mark.filterwarnings("ignore:.*records equal another")
def test_limits_split_as_many_duplicates_as_they_should() -> None:
    scale = Scale(n=1_000, n_duplicates=400, rounds=2)
    table = limits(1, scale=scale).set_index("strategy")["duplicates_split"]
    random = leak_of_duplicates(1, scale=scale)["duplicates_split"].item()
    whole = ["unbiased", "hash", "x1", "hash, hard cases"]
    assert (table[whole] == 0).all()
    assert table["hash, salted"] == pytest.approx(random, abs=0.06)
    shares = table[[f"hash, {share} % typos" for share in (5, 20, 50)]]
    assert shares.is_monotonic_increasing
    assert 0 < shares.iloc[0] < shares.iloc[2] < 0.8 * random
    assert 0.05 < table["x1, shifted"] < random


def test_inexact_duplicates_are_split_where_bins_are_narrow() -> None:
    table = narrow_bins(
        1, stratifiers=["x3"], per_fold=[1, 20], noises=[0, 0.01, 0.1], scale=SMALL
    )
    split = table.pivot(index="strategy", columns="noise", values="duplicates_split")
    assert (split[0.0] == 0).all()
    assert (split.loc["x3 ×20"] >= split.loc["x3"]).all()
    assert split.loc["x3 ×20"].is_monotonic_increasing
    sample = Sample.draw(SMALL, matched_population(), 1, 0)
    noisy = records_of(
        SMALL, sample.population, sample.seeds, inexact=Inexact(noise=0.1)
    )
    assert (noisy["person"] == sample.records["patient_id"]).all()  # row by row


def test_the_leak_is_the_share_times_the_optimism() -> None:
    told = leak_of_duplicates(1, scale=SMALL).iloc[0]
    optimism = told["training"] - told["unbiased"]
    assert told["predicted"] == pytest.approx(100 * told["duplicates_split"] * optimism)
    assert told["measured"] == pytest.approx(100 * (told["random"] - told["unbiased"]))


# ---- populations ----


def test_the_matched_rotation_has_both_printed_numbers() -> None:
    table = rotations(5).set_index("seed")
    assert table.index.tolist() == [0, 1, 2, 3, 4]
    assert table["optimum"].between(0.86, 0.91).all()
    assert table["optimum"].nunique() == 5
    from statcv.datasets import optimal_accuracy

    own = optimal_accuracy(**vars(matched_population()), n=400_000, seed=3)
    assert own.accuracy == pytest.approx(0.88, abs=0.005)
    assert own.positives == pytest.approx(0.47, abs=0.005)


def test_each_data_set_of_figure_4_has_its_own_population() -> None:
    table = figure4(2, scale=SMALL).table
    assert table["data_set"].value_counts().tolist() == [10, 10]
    assert table.groupby("data_set")["unbiased"].nunique().tolist() == [1, 1]
    assert table["unbiased"].nunique() == 2
    assert not table.isna().any().any()
