"""The study of tests and intervals: its populations, its methods, its files."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from scipy.special import logit

from statcv import cv
from statcv.errors import ArgumentError, CheckpointError
from statcv.metrics import auroc, slope_of_pairs
from statcv.models import Logit
from studies.inference import SCHEMES, Population, run_study, study_table
from studies.inference.draws import LEVEL
from studies.inference.no_skill import Reading, harrell_slope, methods_of, paired_slope
from studies.inference.questions import Answers, Cell, Settings, measure
from studies.inference.run import arrays_of
from studies.running import write_part

ONE: dict[str, Any] = {
    "n": [30],
    "balances": [0.5],
    "auroc": [0.7],
    "questions": ["no_skill"],
}
PLAIN: dict[str, Any] = {**ONE, "duplicates": [False]}


# ---- the populations ----


@given(
    n=st.integers(20, 120),
    balance=st.floats(0.2, 0.8),
    copies=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_a_sample_has_its_counts_and_its_duplicates(
    n: int, balance: float, copies: bool, seed: int
) -> None:
    population = Population(n, balance, 0.7, copies)
    sample = population.sample(np.random.default_rng(seed))
    positives = round(n * balance)
    assert len(sample) == n
    assert sample["y"].sum() == positives
    expected = [round(0.2 * count) * copies for count in (n - positives, positives)]
    again = sample[sample.duplicated("id")]
    assert [int((again["y"] == label).sum()) for label in (0, 1)] == expected
    content = sample.drop_duplicates("id").drop(columns="id")
    assert len(sample.drop_duplicates()) == len(content)  # equal id, equal record
    assert not content.duplicated().any()


def test_the_true_values_are_those_of_a_large_sample() -> None:
    population = Population(400_000, 0.3, 0.8)
    sample = population.sample(np.random.default_rng(3))
    x, y = sample[list(population.names)].to_numpy(), sample["y"].to_numpy()
    for coefficients in ([1.0, 1.0, 1.0, 1.0], [1.0, -0.2, 0.4, 0.0]):
        beta = np.array(coefficients)
        score = x @ beta
        assert auroc(y, score) == pytest.approx(population.true_auroc(beta), abs=0.004)
        fitted = sm.Logit(y, sm.add_constant(score)).fit(disp=False)
        assert fitted.params[1] == pytest.approx(population.true_slope(beta), abs=0.02)


def test_without_signal_no_score_has_any() -> None:
    nothing = Population(50, 0.5, 0.5)
    assert nothing.true_auroc(np.array([1.0, 2.0, 3.0, 4.0])) == 0.5
    assert nothing.true_slope(np.array([1.0, 2.0, 3.0, 4.0])) == 0
    some = Population(50, 0.5, 0.8)
    assert some.true_auroc(np.zeros(4)) == 0.5
    assert math.isnan(some.true_slope(np.zeros(4)))
    assert some.true_auroc(-np.ones(4)) == pytest.approx(0.2)


@pytest.mark.parametrize(
    "changed", [{"auroc": 0.4}, {"auroc": 1.0}, {"balance": 0.01}, {"covariates": 0}]
)
def test_populations_that_are_none_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        Population(**{"n": 30, "balance": 0.5, "auroc": 0.7, **changed})


# ---- slopes ----


@given(
    st.lists(
        st.floats(-5, 5).filter(lambda d: abs(d) > 0.01), min_size=4, max_size=30
    ).filter(lambda d: min(d) < 0 < max(d))
)
def test_the_slope_of_pairs_is_where_the_likelihood_is_flat(d: list[float]) -> None:
    difference = np.array(d)
    slope = slope_of_pairs(difference)
    left = 1 / (1 + np.exp(np.clip(slope * difference, -700, 700)))
    scale = (np.abs(difference) * left).sum()
    assert abs((difference * left).sum()) <= 1e-9 * max(scale, 1e-3)


def test_the_slope_of_pairs_is_a_logistic_regression_through_the_origin() -> None:
    rng = np.random.default_rng(2)
    difference = rng.normal(0.8, 1.5, size=200)
    # sign: the member of a pair that is named first
    sign = rng.choice([-1.0, 1.0], size=200)
    fitted = sm.Logit(sign > 0, sign * difference).fit(disp=False)
    assert slope_of_pairs(difference) == pytest.approx(fitted.params[0], rel=1e-6)


def test_the_slope_of_pairs_is_unknown_where_they_are_separated() -> None:
    assert math.isnan(slope_of_pairs([0.5, 1.0, 0.2]))
    assert math.isnan(slope_of_pairs([-0.5, -1.0]))
    assert math.isnan(slope_of_pairs([]))
    assert math.isnan(slope_of_pairs([1.0, math.inf, -1.0]))


def sample_of(n: int = 60, auroc: float = 0.8) -> pd.DataFrame:
    return Population(n, 0.5, auroc, covariates=2).sample(np.random.default_rng(8))


def test_the_slope_of_a_result_is_that_of_its_pairs() -> None:
    data = sample_of()
    result = cv("y ~ x1 + x2", data, scheme="rloocv", seed=4)
    difference = []
    for pair in result.pairs.itertuples():
        odds = logit(pair.predicted) - logit(pair.predicted_partner)
        difference.append(odds if pair.observed else -odds)
    assert paired_slope(result) == pytest.approx(slope_of_pairs(difference), rel=1e-9)


def test_harrells_slope_takes_the_optimism_of_each_sample() -> None:
    data = sample_of()
    result = cv("y ~ x1 + x2", data, scheme="bootstrap", repeats=8, seed=4)
    x, y = sm.add_constant(data[["x1", "x2"]]).to_numpy(), data["y"].to_numpy()

    def slope(outcome: np.ndarray, score: np.ndarray) -> float:
        fit = sm.Logit(outcome, sm.add_constant(score)).fit(disp=False)
        return float(fit.params[1])

    optimism = []
    for train, _ in result.plan.split():
        beta = sm.Logit(y[train], x[train]).fit(disp=False).params
        optimism.append(slope(y[train], x[train] @ beta) - slope(y, x @ beta))
    assert harrell_slope(result, data) == pytest.approx(1 - np.mean(optimism), abs=1e-5)


def test_harrells_slope_is_unknown_where_every_sample_is_separated() -> None:
    data = sample_of().assign(x1=lambda frame: 10.0 * frame["y"])
    result = cv(
        "y ~ x1 + x2", data, model=Logit(C=1.0), scheme="bootstrap", repeats=4, seed=4
    )
    assert math.isnan(harrell_slope(result, data))


# ---- methods ----


def test_methods_are_the_intervals_of_the_result() -> None:
    data = Population(30, 0.5, 0.7).sample(np.random.default_rng(5))
    result = cv(
        "y ~ x1 + x2 + x3 + x4", data, model=Logit(C=1.0), scheme="rloocv", seed=2
    )
    reading = Reading(result, data, 9, 1)
    for method in methods_of("rloocv"):
        if method.kind == "interval":
            public = result.estimate("auroc", method.how, LEVEL, interval=method.name)
            found = method.of(reading)
            assert (found.lower, found.upper) == (public.lower, public.upper)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("copies", [False, True])
def test_every_method_of_every_scheme_answers(scheme: str, copies: bool) -> None:
    cell = Cell(Population(40, 0.5, 0.85, copies, covariates=2), scheme)
    answers = measure(cell, Settings(seed=3, refits=1, permutations=9), range(2))
    for method, made, values in zip(
        cell.methods, answers.made, answers.values, strict=True
    ):
        assert made.tolist() == [True, not method.slow], method
        estimate, lower, upper, p = values[0]
        assert np.isfinite(estimate), method
        if method.kind == "interval" and np.isfinite(lower):
            assert 0 <= lower <= estimate <= upper <= 1, method
        if method.kind == "test":
            assert 0 < p <= 1, method


def test_a_scheme_that_refuses_a_data_set_says_nothing(tmp_path: Path) -> None:
    run_study(
        directory=tmp_path,
        n=[6],  # four distinct records for six folds
        balances=[0.5],
        auroc=[0.7],
        duplicates=[True],
        schemes=["stratified_kfold"],
        questions=["no_skill"],
        data_sets=3,
        refits=0,
    )
    table = study_table(tmp_path)
    assert (table["missing"] == 1).all()
    assert (
        table[["truth", "estimate", "covers", "rejects", "width"]]
        .isna()
        .to_numpy()
        .all()
    )


# ---- the files ----


def test_the_numbers_are_the_same_for_any_number_of_jobs(tmp_path: Path) -> None:
    for jobs in (1, 2):
        run_study(
            directory=tmp_path / str(jobs),
            **ONE,
            schemes=["loocv", "stratified_kfold"],
            data_sets=3,
            refits=1,
            n_permutations=9,
            n_jobs=jobs,
        )
    one, two = (
        study_table(tmp_path / jobs).drop(columns="seconds") for jobs in ("1", "2")
    )
    assert_frame_equal(one, two)
    assert set(one["duplicates"]) == {False, True}


def test_a_study_goes_on_where_it_stopped_and_grows(tmp_path: Path) -> None:
    cell: dict[str, Any] = {**PLAIN, "schemes": ["loocv"], "refits": 0}
    run_study(directory=tmp_path / "a", **cell, data_sets=4)
    first = sorted((tmp_path / "a").glob("*.npz"))
    told = [file.stat().st_mtime_ns for file in first]
    run_study(directory=tmp_path / "a", **cell, data_sets=4)
    assert [file.stat().st_mtime_ns for file in first] == told  # nothing to do
    run_study(directory=tmp_path / "a", **cell, data_sets=7)
    assert [file.stat().st_mtime_ns for file in first] == told
    run_study(directory=tmp_path / "b", **cell, data_sets=7)
    a, b = (study_table(tmp_path / name).drop(columns="seconds") for name in "ab")
    assert (a["data_sets"] == 7).all()
    assert_frame_equal(a, b)


def test_all_schemes_get_the_same_data_sets(tmp_path: Path) -> None:
    run_study(
        directory=tmp_path,
        **PLAIN,
        schemes=["loocv", "rloocv", "stratified_kfold"],
        data_sets=3,
        refits=0,
    )
    table = study_table(tmp_path).query("metric == 'auroc'")
    assert table["truth"].nunique() == 1
    assert 0.5 < table["truth"].iloc[0] < 0.7


def test_slow_methods_are_tried_on_the_first_data_sets(tmp_path: Path) -> None:
    run_study(
        directory=tmp_path,
        **PLAIN,
        schemes=["loocv"],
        data_sets=4,
        refits=2,
        n_permutations=9,
    )
    counts = study_table(tmp_path).set_index("method")["data_sets"]
    assert counts["delong"] == 4
    assert counts["corrected_jackknife"] == counts["permutation"] == 2
    for n, tried in ((30, 200), (250, 40), (400, 0)):  # too many fits
        cell = Cell(Population(n, 0.5, 0.7), "leave_pair_out")
        jackknife = next(m for m in cell.methods if m.name == "jackknife")
        assert cell.data_sets(jackknife, Settings(1, 200, 99)) == tried


def test_the_table_counts_what_the_methods_said(tmp_path: Path) -> None:
    run_study(directory=tmp_path, **PLAIN, schemes=["loocv"], data_sets=1, refits=0)
    for file in tmp_path.glob("*.npz"):
        file.unlink()
    cell = Cell(Population(30, 0.5, 0.7), "loocv")
    values = np.full((len(cell.methods), 4, 4), np.nan)
    values[0] = [
        [0.60, 0.45, 0.75, 0.09],  # holds both targets
        [0.70, 0.55, 0.85, 0.01],  # holds the mean, not its own 0.54
        [0.90, 0.80, 0.95, 0.05],  # holds neither
        [0.80, np.nan, np.nan, np.nan],
    ]
    truth = np.array([[0.64, 1.0], [0.54, 1.0], [0.64, 1.0], [0.66, 1.0]])
    made = np.zeros((len(cell.methods), 4), dtype=bool)
    made[0] = True
    answers = Answers(made, values, made * 2.0, truth)
    write_part(tmp_path, cell.name, range(4), arrays_of(cell, answers))
    row = study_table(tmp_path).iloc[0]
    assert row["method"] == "delong"
    assert row["data_sets"] == 4
    assert row["missing"] == 0.25
    assert row["truth"] == pytest.approx(0.62)
    assert row["covers"] == pytest.approx(1 / 3)
    assert row["covers_mean"] == pytest.approx(2 / 3)
    assert row["excludes"] == row["rejects"] == pytest.approx(2 / 3)
    assert row["width"] == pytest.approx((0.3 + 0.3 + 0.15) / 3)
    assert row["seconds"] == 2
    assert row["estimate"] == pytest.approx(0.75)
    assert row["covers_se"] == pytest.approx(math.sqrt(0.4 * 0.6 / 3))


def test_directories_of_other_studies_are_refused(tmp_path: Path) -> None:
    run_study(
        directory=tmp_path / "a", **PLAIN, schemes=["loocv"], data_sets=1, refits=0
    )
    with pytest.raises(CheckpointError, match="seed=1"):
        run_study(
            directory=tmp_path / "a", **PLAIN, schemes=["loocv"], refits=0, seed=2
        )
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mine.txt").write_text("mine")
    with pytest.raises(CheckpointError, match="other files"):
        run_study(directory=tmp_path / "b", **PLAIN, schemes=["loocv"])
    with pytest.raises(CheckpointError, match="no part"):
        study_table(tmp_path / "b")
    next((tmp_path / "a").glob("*.npz")).write_bytes(b"torn")
    with pytest.raises(CheckpointError, match="cannot be read"):
        study_table(tmp_path / "a")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"schemes": ["rlocv"]}, "rloocv"),
        ({"questions": ["equal"]}, "equals"),
        ({"data_sets": 0}, "data_sets"),
        ({"refits": -1}, "refits"),
        ({"n_permutations": 0.5}, "n_permutations"),
        ({"balances": [0.01]}, "each class"),
    ],
)
def test_studies_that_cannot_be_are_refused(
    tmp_path: Path, argument: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        run_study(directory=tmp_path / "study", **{**PLAIN, **argument})
    assert not (tmp_path / "study").exists()
