"""The simulations of distributional bias, at a small scale."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from statcv import cv
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    CheckpointError,
    DataError,
    StatcvWarning,
)
from statcv.models import Logit
from studies.__main__ import main
from studies.austin2024 import (
    ESTIMATES,
    dummies,
    figure,
    null_aurocs,
    null_classes,
    null_kinds,
    null_numbers,
    off_centre,
    other_models,
    paper_and_ours,
    penalties,
    predictions,
    public_data,
    signal_aurocs,
    standardised,
    stored,
    stratified,
)
from studies.austin2024.estimates import Cell, estimates_of
from studies.austin2024.figures import FIGURES
from studies.austin2024.paper import PAPER
from studies.austin2024.public_data import TASKS, records_of
from studies.austin2024.samples import (
    BALANCES,
    Noise,
    Signal,
    against_half,
    learner_of,
    next_multiple,
    stream_of,
)
from studies.austin2024.simulations import exact
from studies.contrast import contrast


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the parts that the figures need, of two small data sets each."""
    folder = tmp_path_factory.mktemp("made")
    small = {"n": 40, "balances": [0.1, 0.4, 0.5], "directory": folder / "parts"}
    few = {**small, "penalties": [1e-3, 1e-2, 1.0]}
    tables = {
        "penalties": penalties(2, **{**few, "directory": None}),
        "stratified": stratified(2, **{**small, "directory": None}),
        "dummies": dummies(2, n=40, balances=[0.1, 0.5], groups=[1, 4]),
        "swarm": dummies(3, n=100, balances=[0.1, 0.5], groups=[4]),
        "neighbours": other_models(2, n=40, balances=[0.3, 0.5]),
        "forest": other_models(2, model="forest 3", n=30, balances=[0.3, 0.5]),
        "predictions": predictions(n=40, balances=[0.2, 0.5], models=["logit 1"]),
        "standardised": standardised(2, n=40, balances=[0.2, 0.5]),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"austin2024_{name}.csv", index=False)
    return folder


def test_noise_has_its_balance_and_its_own_stream() -> None:
    frame = Noise(20, 3, 0.3).sample(stream_of(1, 0))
    again = Noise(20, 3, 0.3).sample(stream_of(1, 0))
    other = Noise(20, 3, 0.3).sample(stream_of(1, 1))
    pd.testing.assert_frame_equal(frame, again)
    assert frame["y"].sum() == 6
    assert not frame.equals(other)
    assert frame.drop(columns="y").to_numpy().min() >= 0


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"n": 3}, ArgumentError, "n must be"),
        ({"n": 20.5}, ArgumentTypeError, "integer"),
        ({"n": 20, "balance": 0.01}, ArgumentError, "each class needs two"),
        ({"features": "normall"}, ArgumentError, "'normal'"),
    ],
)
def test_noise_that_cannot_be(
    wrong: dict[str, object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        Noise(**wrong)  # type: ignore[arg-type]


def test_every_estimate_is_what_its_call_gives() -> None:
    frame = Noise(24, 2).sample(stream_of(3, 0))
    model = Logit(C=1.0)
    table = estimates_of(frame, model, ESTIMATES, seed=5).set_index("estimate")
    assert set(table.index) == set(ESTIMATES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        pairs = cv("y ~ .", frame, model=model, scheme="leave_pair_out", seed=5)
        every = cv("y ~ .", frame, model=model, scheme="loocv", rebalance="all", seed=5)
    assert table.loc["leave_pair_out", "auroc"] == float(pairs.estimate("auroc"))
    # every pair is left out by two of the fits to all subsamples
    in_pairs = float(every.estimate("auroc", how="paired"))
    assert np.isclose(in_pairs, table.loc["leave_pair_out", "auroc"], atol=1e-12)
    assert table.loc["leave_pair_out", "fits"] == 144
    assert table.loc["all", "fits"] == 2 * 144


def test_cells_share_no_data_set() -> None:
    one = Cell(Noise(20, 2), "logit 1", ("rloocv",)).measure(1, 0)
    other = Cell(Noise(20, 2), "logit 1.5", ("rloocv",)).measure(1, 0)
    assert one["auroc"].item() != other["auroc"].item()


def test_a_study_goes_on_where_it_stopped(tmp_path: Path) -> None:
    asked = {"n": [20], "covariates": [1], "penalties": [1.0], "estimates": ["rloocv"]}
    first = null_aurocs(5, directory=tmp_path, **asked)  # type: ignore[arg-type]
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.npz")}
    more = null_aurocs(30, directory=tmp_path, **asked)  # type: ignore[arg-type]
    whole = null_aurocs(30, n_jobs=2, **asked)  # type: ignore[arg-type]
    assert first["data_sets"].item() == 5
    columns = ["mean", "se", "sd", "data_sets"]
    pd.testing.assert_frame_equal(more[columns], whole[columns])
    assert kept
    with pytest.raises(CheckpointError):
        null_aurocs(5, directory=tmp_path, **{**asked, "estimates": ["loocv"]})  # type: ignore[arg-type]


def test_the_mean_model_leans_as_it_must() -> None:
    table = null_kinds(3, n=30, estimates=["loocv", "rloocv", "leave_pair_out"])
    mean = table[table["model"] == "mean"].set_index("estimate")["mean"]
    assert mean.tolist() == [0.0, 0.5, 0.5]


def test_pairs_are_centred_where_pooled_estimates_are_not() -> None:
    asked = ["loocv", "rloocv", "rloocv_paired", "leave_pair_out"]
    table = null_aurocs(
        150, n=[30], covariates=[1], penalties=[1.0], estimates=asked, seed=4
    )
    gap = ((table["mean"] - 0.5) / table["se"]).set_axis(table["estimate"])
    assert gap["loocv"] < -6
    assert gap["rloocv"] < -1.5
    assert abs(gap["rloocv_paired"]) < 3
    assert abs(gap["leave_pair_out"]) < 3


def test_cells_off_their_centre_are_counted() -> None:
    from scipy.stats import binom

    rng = np.random.default_rng(1)
    fair = pd.DataFrame(
        {"estimate": "fair", "mean": rng.normal(0.5, 0.01, 36), "se": 0.01}
    )
    unfair = fair.assign(estimate="unfair", mean=fair["mean"] - 0.05)
    found = off_centre(pd.concat([fair, unfair])).set_index("estimate")
    assert found.loc["fair", "off"] <= found.loc["fair", "chance"]
    assert found.loc["unfair", "off"] > 30
    assert found["chance"].tolist() == [int(binom.ppf(0.95, 36, 0.05))] * 2


def test_truth_and_power_under_signal() -> None:
    table = signal_aurocs(
        40,
        n=[40],
        covariates=[2],
        aurocs=[0.9],
        estimates=["leave_pair_out", "loocv"],
        seed=2,
    )
    nothing, strong = (own for _, own in table.groupby("auroc"))
    assert (nothing["truth"] == 0.5).all()
    assert (strong["truth"] > 0.87).all()
    assert (strong["truth"] <= 0.9).all()
    assert (nothing["power"] <= 0.05).all()
    assert (strong["power"] > 0.9).all()
    pairs = strong.set_index("estimate").loc["leave_pair_out"]
    assert abs(pairs["bias"]) < 4 * pairs["bias_se"] + 0.01


def test_a_model_without_coefficients_has_its_truth_by_new_records() -> None:
    population = Signal(40, 2, 0.5, 0.9)
    table = Cell(population, "neighbors 5", ("rloocv",)).measure(1, 0)
    assert 0.7 < table["truth"].item() < 0.9


def test_dummies_agree_with_their_closed_form() -> None:
    table = dummies(40, n=60, balances=[0.2], groups=[3], seed=3)
    spread = table["auroc"].std() / np.sqrt(40)
    assert abs(table["auroc"].mean() - table["expected"].iloc[0]) < 4 * spread


def test_groups_divide_the_records() -> None:
    for group in range(1, 101):
        records = next_multiple(250, group)
        assert records % group == 0
        assert 250 <= records < 250 + group
    assert [b for b in (0.1, 0.2, 0.3, 0.4, 0.5) if exact(b, 5)] == [0.2, 0.4]


def test_exact_stratification_mends_what_other_groups_do_not() -> None:
    table = stratified(12, n=60, balances=[0.5], groups=[1, 2, 3], seed=2)
    of_group = table.groupby("group")["auroc"]
    mean, error = of_group.mean(), of_group.std() / np.sqrt(12)
    assert mean[1] == 0
    assert abs(mean[2] - 0.5) < 4 * error[2]
    assert mean[3] < 0.5 - 4 * error[3]


def test_a_t_test_against_half() -> None:
    from scipy.stats import ttest_1samp

    values = np.random.default_rng(1).normal(0.47, 0.05, 30)
    told = against_half(values)
    assert told["p"] == ttest_1samp(values, 0.5).pvalue
    assert np.isclose(told["se"], values.std(ddof=1) / np.sqrt(30))


def test_models_that_there_are_not() -> None:
    for name in ("logit", "tree", "neighbours"):
        with pytest.raises(ArgumentError, match="there is no model"):
            learner_of(name)
    with pytest.raises(ArgumentError, match="'rloocv'"):
        null_aurocs(1, estimates=["rlocv"])


@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"S4b", "S4c"}))
def test_figures_are_drawn_of_a_folder(name: str, made: Path) -> None:
    ax = figure(name, folder=made)
    assert ax.get_xlabel()
    assert ax.get_ylabel()


@pytest.mark.parametrize("name", ["1c", "2c", "5a", "5b"])
def test_numbers_can_be_read_on_the_colours_of_their_cells(name: str) -> None:
    ax = figure(name)
    (image,) = ax.images
    for text in ax.texts:
        column, row = text.get_position()
        mean = image.get_array()[int(row), int(column)]
        colour = image.cmap(float(image.norm(mean)))
        assert contrast(colour, to_rgb(text.get_color())) >= 4.5
    plt.close("all")


def test_few_distinct_predictions_are_drawn_as_shares() -> None:
    ax = figure("S4c")
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(9, 6)
    table = stored("predictions")
    own = table[table["model"] == "neighbors 5"]
    counts = pd.crosstab(own["balance"], own["predicted"]).to_numpy()
    shares = counts / counts.max(axis=1, keepdims=True)
    np.testing.assert_allclose(widths, 0.85 * shares)
    plt.close("all")


def test_the_mean_has_the_papers_area_of_precision_and_recall() -> None:
    ax = figure("S2d")
    (line,) = [line for line in ax.lines if line.get_gid() == "curve"]
    recall, precision = (np.asarray(side) for side in line.get_data())
    area = (np.diff(recall) * (precision[1:] + precision[:-1]) / 2).sum()
    assert np.isclose(area, 0.25)
    assert line.get_drawstyle() == "default"
    assert "0.25" in ax.get_legend().get_texts()[0].get_text()


def test_figures_that_there_are_not(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="there is no figure"):
        figure("2d")
    with pytest.raises(ArgumentError, match="figure 1a is an illustration"):
        figure("1a")
    with pytest.raises(DataError, match=r"austin2024_penalties\.csv"):
        figure("2a", folder=tmp_path)


def test_the_command_writes_the_tables(tmp_path: Path) -> None:
    parts, folder = str(tmp_path / "parts"), tmp_path / "tables"
    asked = ["--only", "swarm", "--most", "2"]
    main(["austin2024", parts, str(folder), *asked])
    table = stored("swarm", folder)
    assert table["data_set"].max() == 2
    assert set(table["group"]) == {4}
    assert (tmp_path / "parts" / "swarm" / "study.json").is_file()


def test_the_stored_tables() -> None:
    table = paper_and_ours().set_index("quantity")
    exactly = {
        "negative mean, LOOCV": 1,
        "auPR, negative mean, LOOCV": 1,
        "mean, LOOCV, balance .5": 0,
        "auPR, mean, LOOCV, balance .5": 0.25,
        "negative mean, RLOOCV": 0.5,
    }
    for name, value in exactly.items():
        assert np.isclose(table.loc[name, "mean"], value, atol=1e-12), name
    near = {
        "LOOCV": (0.23, 0.03),
        "LOOCV, weakest penalty": (0.48, 0.03),
        "leave-5-out, exact": (0.5, 0.03),
        "leave-2-out, balance .5": (0.5, 0.03),
        "random forest, LOOCV": (0.48, 0.03),
        "5 nearest neighbours, LOOCV": (0.492, 0.007),
        "P = 4, N = 100, balance 0.1": (0.8801, 0.004),
        "P = 4, N = 100, balance 0.5": (0.7640, 0.004),
        "P = 4, N = 100, balance 0.9": (0.8801, 0.004),
        "P = 100": (0.5462, 0.005),
        "P = 100, least balance": (0.5376, 0.01),
        "P = 100, greatest balance": (0.5626, 0.01),
        "average precision, mean, LOOCV, balance .5": (0.5, 1e-12),
        "LOOCV, C = 1": (0.490, 0.03),
        "LOOCV, C = 0.1": (0.456, 0.03),
        "LOOCV, C = 0.001": (0, 0.03),
        "LOOCV, strongest penalty": (0, 0.03),
        "5 nearest neighbours, RLOOCV": (0.498, 0.007),
    }
    by_balance = (0.03, 0.21, 0.32, 0.34, 0.31, 0.34, 0.29, 0.24, 0.02)
    for balance, value in zip(BALANCES, by_balance, strict=True):
        near[f"LOOCV, balance {balance:g}"] = (value, 0.05)
    for balance in BALANCES:
        one = f"1-NN, standardised, balance {balance:g}"
        near[one] = (1 - balance * (1 - balance), 0.01)
    for name, (value, width) in near.items():
        assert abs(table.loc[name, "mean"] - value) < width, name
    sizes = [(PAPER.place / PAPER.file(name)).stat().st_size for name in PAPER.tables]
    assert sum(sizes) < 1_000_000


@pytest.mark.parametrize(
    ("name", "centred", "biased"),
    [
        (
            "null",
            ("rloocv_paired", "rloocv_paired_x4", "leave_pair_out", "folds_mean"),
            ("loocv", "rloocv", "weight", "upsample", "all", "bag", "folds_pooled"),
        ),
        (
            "null_250",
            ("rloocv_paired", "rloocv_paired_x4", "pairs", "folds_mean"),
            ("loocv", "rloocv", "weight", "folds_pooled"),
        ),
    ],
)
def test_only_estimates_within_fits_are_centred_where_there_is_nothing(
    name: str, centred: tuple[str, ...], biased: tuple[str, ...]
) -> None:
    table = stored(name)
    assert (
        table["data_sets"].min() == table["data_sets"].max() == PAPER.tables[name].count
    )
    found = off_centre(table).set_index("estimate")
    assert found["cells"].nunique() == 1
    for estimate in centred:
        assert found.loc[estimate, "off"] <= found.loc[estimate, "chance"], estimate
    for estimate in biased:
        assert found.loc[estimate, "off"] > found.loc[estimate, "chance"], estimate


def test_under_signal_pairs_have_the_least_bias() -> None:
    table = stored("signal").query("auroc > 0.5")
    mean = table.groupby("estimate")[["bias", "rmse"]].mean()
    pairs = ["rloocv_paired", "rloocv_paired_x4", "leave_pair_out"]
    assert (mean.loc[pairs, "bias"].abs() < 0.004).all()
    assert mean.loc["loocv", "bias"] < -0.03 < mean.loc["rloocv", "bias"] < -0.01
    assert mean["rmse"].idxmin() in ("leave_pair_out", "rloocv_paired_x4")


def test_public_tasks_have_two_classes_and_whole_records() -> None:
    for task in TASKS:
        records = records_of(task)
        assert set(records["y"]) == {0, 1}, task
        assert np.isfinite(records.to_numpy()).all(), task
        assert np.allclose(records.drop(columns="y").std(), 1), task
    with pytest.raises(ArgumentError, match="'wine'"):
        public_data(1, tasks=["whine"])


def test_the_truth_of_a_sample_is_on_the_rest() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    table = public_data(1, n=50, tasks=["wine"], estimates=["loocv"], seed=7)
    records = records_of("wine")
    rng = stream_of(7, 0, 0)
    positives = round(50 * records["y"].mean())
    drawn = [
        rng.choice(np.flatnonzero(records["y"] == label), size, replace=False)
        for label, size in ((0, 50 - positives), (1, positives))
    ]
    few = records.loc[np.concatenate(drawn)]
    rest = records.drop(index=few.index)
    fit = LogisticRegression(C=1.0, tol=1e-10).fit(few.drop(columns="y"), few["y"])
    score = fit.decision_function(rest.drop(columns="y"))
    assert np.isclose(table["truth"].item(), roc_auc_score(rest["y"], score))


def test_scores_of_the_nearest_neighbour_know_the_label_when_standardised() -> None:
    table = standardised(15, n=60, balances=[0.2], models=["neighbors 1"], seed=3)
    error = table["auroc"].std() / np.sqrt(15)
    assert abs(table["auroc"].mean() - (1 - 0.2 * 0.8)) < 4 * error + 0.01


def test_numbers_that_are_left_out_move_the_mean() -> None:
    table = null_numbers(12, n=[20], covariates=[1], models=["mean", "linear"], seed=2)
    of_mean = table[table["model"] == "mean"].pivot_table(
        index="metric", columns="scheme", values="mean"
    )
    assert np.allclose(of_mean.loc[["pearson", "spearman"], "loocv"], -1)
    assert np.isclose(of_mean.loc["r2", "loocv"], 1 - (20 / 19) ** 2)
    assert abs(of_mean.loc["r2_training", "loocv"]) < 1e-12
    assert of_mean.loc["concordance", "loocv"] == 0
    assert of_mean.loc["concordance_paired", "leave_pair_out"] == 0.5
    assert "weight" not in of_mean.loc["pearson"].dropna()  # constant predictions
    linear = table[table["model"] == "linear"].set_index(["metric", "scheme"])
    pairs = linear.loc[("concordance_paired", "leave_pair_out")]
    assert abs(pairs["mean"] - 0.5) < 4 * pairs["se"]


def test_one_of_three_classes_left_out() -> None:
    table = null_classes(8, n=[30], covariates=[1], models=["logit 0.01"], seed=2)
    found = table.set_index(["metric", "scheme"])
    assert found.loc[("hand_till", "loocv"), "mean"] < 0.2
    pairs = found.loc[("hand_till_paired", "leave_pair_out")]
    assert abs(pairs["mean"] - 0.5) < 4 * pairs["se"]
