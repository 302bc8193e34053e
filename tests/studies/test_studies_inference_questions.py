"""What the study asks of losses and of two models, and what its table says."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas.testing import assert_frame_equal
from scipy.integrate import quad
from scipy.stats import norm

from statcv import compare, cv
from statcv.metrics import accuracy, auroc, brier, log_loss
from statcv.models import Logit
from studies.inference import Population, run_study, study_table
from studies.inference.comparisons import equals, nested
from studies.inference.draws import SCHEMES, Draw
from studies.inference.questions import QUESTIONS, Answers, Cell, Settings, measure
from studies.inference.run import arrays_of
from studies.running import write_part

ONE: dict[str, Any] = {
    "n": [30],
    "balances": [0.5],
    "auroc": [0.7],
    "duplicates": [False],
}


# ---- the true losses ----


@pytest.mark.parametrize(
    ("coefficients", "intercept"),
    [([0.4, 0.2, -0.3, 0.6], -0.7), ([0.0, 3.0, 1.0, 0.0], 0.4)],
)
def test_true_losses_are_those_of_a_million_records(
    coefficients: list[float], intercept: float
) -> None:
    population = Population(1_000_000, 0.3, 0.75)
    sample = population.sample(np.random.default_rng(9))
    beta = np.array(coefficients)
    odds = intercept + sample[list(population.names)].to_numpy() @ beta
    y, p = sample["y"].to_numpy(), 1 / (1 + np.exp(-odds))
    assert population.true_accuracy(beta, intercept) == pytest.approx(
        accuracy(y, (p > 0.5).astype(int)), abs=0.002
    )
    assert population.true_brier(beta, intercept) == pytest.approx(
        brier(y, p), abs=0.002
    )
    assert population.true_log_loss(beta, intercept) == pytest.approx(
        log_loss(y, p), abs=0.01
    )
    assert population.true_auroc(beta) == pytest.approx(auroc(y, p), abs=0.002)


@pytest.mark.parametrize("size", [0.01, 1.0, 4.0, 20.0])
def test_true_losses_are_those_of_adaptive_integration(size: float) -> None:
    population = Population(60, 0.3, 0.8)
    beta, intercept = np.array([0.8, 0.6, 0.0, 0.0]) * size, -1.2
    middle = intercept + np.array([0.0, float(beta @ population.shift)])

    def mean(loss: Any) -> float:
        parts = [
            quad(
                lambda z, c=c: loss(c, middle[c] + size * z) * norm.pdf(z),
                -9,
                9,
                limit=200,
            )[0]
            for c in (0, 1)
        ]
        return 0.7 * float(parts[0]) + 0.3 * float(parts[1])

    def squared(c: int, odds: float) -> float:
        return float((1 / (1 + np.exp(-odds)) - c) ** 2)

    def logarithmic(c: int, odds: float) -> float:
        return float(np.logaddexp(0, odds if c == 0 else -odds))

    assert population.true_brier(beta, intercept) == pytest.approx(
        mean(squared), rel=1e-7
    )
    assert population.true_log_loss(beta, intercept) == pytest.approx(
        mean(logarithmic), rel=1e-7
    )


@pytest.mark.parametrize(("intercept", "right"), [(0.3, 0.3), (-0.3, 0.7), (0.0, 0.7)])
def test_a_fit_without_coefficients_predicts_one_class(
    intercept: float, right: float
) -> None:
    population = Population(60, 0.3, 0.8)
    p = 1 / (1 + math.exp(-intercept))
    nothing = np.zeros(4)
    assert population.true_accuracy(nothing, intercept) == pytest.approx(right)
    assert population.true_brier(nothing, intercept) == pytest.approx(
        0.3 * (1 - p) ** 2 + 0.7 * p**2
    )


# ---- the models ----


def test_equal_models_are_equally_good_and_nested_ones_are_not() -> None:
    population = Population(60, 0.3, 0.8)
    first, second = equals(population)
    assert (first, second) == (("x1", "x2"), ("x3", "x4"))

    def best(names: tuple[str, ...]) -> float:
        return population.true_auroc(
            np.array([float(name in names) for name in population.names])
        )

    assert best(first) == pytest.approx(best(second))
    assert nested(population) == (first, population.names)
    assert best(population.names) == pytest.approx(0.8)
    assert best(population.names) > best(first)


@pytest.mark.parametrize("question", ["equals", "nested"])
def test_the_truth_of_two_models_is_the_difference_of_their_fits(question: str) -> None:
    population = Population(60, 0.5, 0.8)
    draw = Draw.of(population, "rloocv", 9, 1, 0)
    pair, truth = QUESTIONS[question].read(draw)
    assert pair.first.plan.fingerprint == pair.second.plan.fingerprint
    large = Population(200_000, 0.5, 0.8).sample(np.random.default_rng(1))
    y = large["y"].to_numpy()
    before, after = (
        result.predict(large).to_numpy() for result in (pair.first, pair.second)
    )
    for metric, change in zip(QUESTIONS[question].targets, truth, strict=True):
        of = {"auroc": auroc, "brier": brier, "accuracy": _right}[metric]
        assert of(y, after) - of(y, before) == pytest.approx(change, abs=0.006)


def _right(y: Any, p: Any) -> float:
    return accuracy(y, (p > 0.5).astype(int))


# ---- the methods ----


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize(
    ("question", "scheme"),
    [
        (question, scheme)
        for question in ("equals", "losses", "nested")
        for scheme in SCHEMES
        if QUESTIONS[question].methods(scheme, Population(40, 0.5, 0.85))
    ],
)
def test_every_method_answers(question: str, scheme: str, copies: bool) -> None:
    cell = Cell(Population(40, 0.5, 0.85, copies), scheme, question)
    methods = cell.methods
    answers = measure(cell, Settings(seed=3, refits=1, permutations=9), range(1))
    assert np.isfinite(answers.truth).all()
    for method, (estimate, lower, upper, p) in zip(
        methods, answers.values[:, 0], strict=True
    ):
        if copies and method.name == "nested_cv":  # for independent records
            assert math.isnan(lower)
            continue
        if copies and method.how == "per_fold" and method.metric == "auroc":
            continue  # a fold may lack a class
        assert np.isfinite(estimate), method
        if method.kind == "interval":
            assert lower < upper, method
        else:
            assert 0 < p <= 1, method
            if method.name not in ("permutation", "signed_rank"):
                assert lower <= estimate <= upper, method


def test_comparisons_are_those_of_the_same_call_by_a_user() -> None:
    cell = Cell(Population(40, 0.5, 0.7), "rloocv", "equals")
    answers = measure(cell, Settings(seed=3, refits=1, permutations=9), range(1))
    draw = Draw.of(cell.population, "rloocv", 9, 3, 0)
    a = cv(
        "y ~ x1 + x2",
        draw.data,
        model=Logit(C=1.0),
        scheme="rloocv",
        repeats=1,
        seed=draw.seed,
    )
    b = a.update(formula="y ~ x3 + x4")
    for method, values in zip(cell.methods, answers.values[:, 0], strict=True):
        if method.name == "permutation":
            continue
        how = method.how if method.name in ("delong", "t") else None
        made = compare(a, b, metric=method.metric, test=method.name, how=how)
        row = made.differences.iloc[0]
        theirs = row[["difference", "lower", "upper", "p"]].to_numpy(dtype=float)
        assert values == pytest.approx(theirs, rel=1e-6), method


# ---- files and table ----


def test_files_of_no_skill_keep_their_names() -> None:
    population = Population(30, 0.3, 0.7)
    assert Cell(population, "loocv").name == "n30-balance0.3-auroc0.7-plain-loocv"
    assert Cell(population, "loocv", "equals").name.endswith("-plain-loocv-equals")


def test_files_without_a_question_are_of_no_skill(tmp_path: Path) -> None:
    asked: dict[str, Any] = {**ONE, "schemes": ["loocv"], "questions": ["no_skill"]}
    run_study(directory=tmp_path, **asked, data_sets=3, refits=0)
    table = study_table(tmp_path)
    (file,) = tmp_path.glob("*.npz")
    with np.load(file) as stored:
        arrays = {name: stored[name] for name in stored.files}
    about = json.loads(str(arrays["about"]))
    del about["question"]
    np.savez_compressed(file, **arrays | {"about": np.array(json.dumps(about))})
    assert_frame_equal(study_table(tmp_path), table)
    assert set(table["question"]) == {"no_skill"}
    told = file.stat().st_mtime_ns
    run_study(directory=tmp_path, **asked, data_sets=3, refits=0)
    assert file.stat().st_mtime_ns == told  # nothing to do


def test_questions_are_asked_in_one_directory_and_go_on(tmp_path: Path) -> None:
    cell: dict[str, Any] = {**ONE, "schemes": ["loocv", "bootstrap"], "refits": 0}
    run_study(directory=tmp_path / "a", **cell, questions=["equals"], data_sets=2)
    first = {file: file.stat().st_mtime_ns for file in (tmp_path / "a").glob("*.npz")}
    run_study(
        directory=tmp_path / "a", **cell, questions=["equals", "losses"], data_sets=3
    )
    assert all(file.stat().st_mtime_ns == told for file, told in first.items())
    run_study(
        directory=tmp_path / "b", **cell, questions=["losses", "equals"], data_sets=3
    )
    a, b = (study_table(tmp_path / name).drop(columns="seconds") for name in "ab")
    assert_frame_equal(a, b)
    assert a["question"].drop_duplicates().tolist() == ["equals", "losses"]
    assert set(a["scheme"]) == {"loocv"}  # the others are not asked of bootstrap
    assert (a["data_sets"] == 3).all()


def test_the_table_tells_differences_of_two_models(tmp_path: Path) -> None:
    run_study(
        directory=tmp_path,
        **ONE,
        schemes=["loocv"],
        questions=["equals"],
        data_sets=1,
        refits=0,
    )
    for file in tmp_path.glob("*.npz"):
        file.unlink()
    cell = Cell(Population(30, 0.5, 0.7), "loocv", "equals")
    values = np.full((len(cell.methods), 4, 4), np.nan)
    values[0] = [
        [0.10, -0.05, 0.25, 0.20],  # holds 0 and the truth
        [-0.20, -0.35, -0.05, 0.01],  # neither
        [0.15, 0.05, 0.25, 0.04],  # the truth, not 0
        [0.00, np.nan, np.nan, np.nan],
    ]
    truth = np.array([[0.02], [0.02], [0.06], [-0.02]]) + np.zeros(3)
    made = np.zeros((len(cell.methods), 4), dtype=bool)
    made[0] = True
    answers = Answers(made, values, made * 1.0, truth)
    write_part(tmp_path, cell.name, range(4), arrays_of(cell, answers))
    row = study_table(tmp_path).iloc[0]
    assert row[["question", "metric", "method"]].tolist() == [
        "equals",
        "auroc",
        "delong",
    ]
    assert row["truth"] == pytest.approx(0.02)
    assert row["covers"] == pytest.approx(2 / 3)
    assert row["covers_mean"] == pytest.approx(1 / 3)
    assert row["excludes"] == row["rejects"] == pytest.approx(2 / 3)
    assert row["missing"] == 0.25


def test_of_losses_nothing_is_excluded_or_rejected(tmp_path: Path) -> None:
    run_study(
        directory=tmp_path,
        **ONE,
        schemes=["loocv"],
        questions=["losses"],
        data_sets=2,
        refits=0,
    )
    table = study_table(tmp_path)
    assert table[["excludes", "excludes_se", "rejects"]].isna().to_numpy().all()
    assert table["covers"].notna().all()
    truth = table.groupby("metric")["truth"].first()
    assert 0.5 < truth["accuracy"] < 0.7
    assert 0.2 < truth["brier"] < 0.3


def test_fits_of_a_comparison_are_counted_for_both_models() -> None:
    settings, cell = (
        Settings(1, 200, 99),
        Cell(Population(60, 0.3, 0.7), "loocv", "equals"),
    )
    jackknife = next(m for m in cell.methods if m.name == "corrected_jackknife")
    budget = QUESTIONS["equals"].budget
    assert cell.data_sets(jackknife, settings) == budget // (2 * 60 * 60)
    large = Cell(Population(250, 0.3, 0.7), "loocv", "equals")
    assert large.data_sets(jackknife, settings) == 0
