"""The intervals of the literature, each against a slow version or its definition."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from statcv import cv
from statcv.errors import MetricError, OutcomeError, SchemeError
from statcv.metrics import METRICS
from statcv.models import Logit
from statcv.results import CVResult
from studies.inference.rivals import (
    between_variance,
    cai_interval,
    conservative_z_interval,
    cv_tmle,
    cv_tmle_interval,
    draw_halves,
    draw_samples,
    folds_of_samples,
    sample_values,
)
from studies.inference.shapes import SHAPES

Floats = NDArray[np.float64]
Z = 1.959963984540054


@cache
def data() -> pd.DataFrame:
    return SHAPES["skewed"].sample(np.random.default_rng(4), 60)


@cache
def result(k: int = 5) -> CVResult:
    scheme = "stratified_kfold"
    return cv("y ~ .", data(), model=Logit(C=1.0), scheme=scheme, k=k, seed=2)


def fitted(times: NDArray[np.int32]) -> Floats:
    """Predict all records by scikit-learn's fit to some of them, with repetitions."""
    X, y = data().drop(columns="y").to_numpy(), data()["y"].to_numpy()
    rows = np.repeat(np.arange(len(y)), times)
    model = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000)
    return np.asarray(model.fit(X[rows], y[rows]).predict_proba(X)[:, 1])


def brier(y: Floats, p: Floats) -> float:
    return float(((y - p) ** 2).mean())


def around(value: float, variance: float) -> tuple[float, float]:
    return value - Z * math.sqrt(variance), value + Z * math.sqrt(variance)


# ---- Cai et al. ----


@pytest.mark.parametrize(
    ("metric", "how", "measure"),
    [
        ("auroc", "per_fold", roc_auc_score),
        ("auroc", "pooled", roc_auc_score),
        ("brier", "pooled", brier),
    ],
)
def test_cai_equals_a_loop_over_samples_and_folds(
    metric: str, how: str, measure: Callable[[Floats, Floats], float]
) -> None:
    setup, y = result().refits.setup, data()["y"].to_numpy()
    times, fold = draw_samples(setup, 15, 2, np.random.default_rng(7))
    found = np.empty((15, 2))
    for b in range(15):
        for f in range(2):
            held = []
            for number in range(fold.max() + 1):
                inside = fold[b, f] == number
                p = fitted(times[b] * ~inside)
                rows = np.repeat(np.arange(len(y)), times[b] * inside)
                held.append((y[rows], p[rows]))
            if how == "pooled":
                found[b, f] = measure(*map(np.concatenate, zip(*held, strict=True)))
            else:
                found[b, f] = np.mean(
                    [measure(*one) for one in held if len(set(one[0])) == 2]
                )
    values = sample_values(setup, METRICS[metric], how, times, fold)
    np.testing.assert_allclose(values, found, atol=2e-6)

    means = found.mean(axis=1)
    within = found.var(axis=1, ddof=1).mean()
    variance = means.var(ddof=1) - within / 2
    assert variance > 0
    estimate = result().estimate(metric, how)
    limits = cai_interval(result(), metric, how=how, samples=15, foldings=2, seed=7)
    assert limits == pytest.approx(around(estimate.value, variance), abs=1e-5)


def test_the_copies_of_a_record_share_a_fold_and_every_class_is_trained_on() -> None:
    setup, y = result().refits.setup, data()["y"].to_numpy()
    times, fold = draw_samples(setup, 20, 3, np.random.default_rng(1))
    assert fold.shape == (20, 3, 60)  # one fold for all repeats of a record
    assert (times.sum(axis=1) == 60).all()
    assert fold.max() + 1 == folds_of_samples(60, 5)
    for b, f, number in np.ndindex(20, 3, fold.max() + 1):
        assert set(y[(times[b] > 0) & (fold[b, f] != number)]) == {0, 1}


def test_the_folds_of_samples_minimise_the_loss() -> None:
    n, k = 80, 5
    sizes = np.linspace(64, 79, 100_000)
    loss = (0.632 * sizes / 64 - 1) ** 2 + 0.368 * (16 / (80 - sizes) - 1) ** 2
    assert folds_of_samples(n, k) == round(80 / (80 - sizes[loss.argmin()])) == 6


def test_the_random_effects_variance_is_unbiased_and_not_negative() -> None:
    rng = np.random.default_rng(5)
    found = [
        between_variance(rng.normal(0, 2, (40, 1)) + rng.normal(0, 1, (40, 2)))
        for _ in range(400)
    ]
    assert np.mean(found) == pytest.approx(4, abs=0.15)
    assert between_variance(np.array([[0.0, 2.0], [2.0, 0.0]])) == 0
    assert math.isnan(between_variance(np.array([[np.nan, 2.0], [2.0, 0.0]])))


# ---- conservative Z ----


def test_conservative_z_equals_a_loop_over_halves_and_splits() -> None:
    setup, y = result().refits.setup, data()["y"].to_numpy()
    trained, held = draw_halves(setup, 3, 4, np.random.default_rng(9))
    squares = []
    for m in range(3):
        means = []
        for half in range(2):
            losses = []
            for j in range(4):
                p = fitted(trained[m, half, j])
                out = held[m, half, j] == 1
                losses.append(brier(y[out], p[out]))
            means.append(np.mean(losses))
        squares.append((means[0] - means[1]) ** 2)
    value = result().estimate("brier").value
    limits = conservative_z_interval(result(), "brier", halvings=3, splits=4, seed=9)
    assert limits == pytest.approx(around(value, np.mean(squares) / 2), abs=1e-6)


def test_halves_are_disjoint_and_every_split_divides_its_half() -> None:
    trained, held = draw_halves(result().refits.setup, 6, 5, np.random.default_rng(3))
    half = trained + held
    assert half.max() == 1
    assert (half == half[:, :, :1]).all()  # the same for all splits
    assert (half[:, 0, 0] + half[:, 1, 0] == 1).all()
    assert (held.sum(axis=-1) == 6).all()  # a tenth of all records


def test_conservative_z_is_wider_than_the_interval_that_takes_losses_as_given() -> None:
    lower, upper = conservative_z_interval(result(), "brier", halvings=40, seed=1)
    p = result().predictions
    plain = 2 * Z * ((p["observed"] - p["predicted"]) ** 2).std() / math.sqrt(60)
    assert 1 < (upper - lower) / plain < 3


# ---- CV-TMLE ----


def by_loops(shape: tuple[Floats, ...], shifts: tuple[float, float]) -> float:
    """Return the area under two stepwise distributions, point by point."""
    low, reached_low, high, reached_high = shape
    area, before = 0.0, 0.0
    for place, u in enumerate(low):
        F = (
            1.0
            if place == len(low) - 1
            else expit(logit(reached_low[place]) + shifts[0])
        )
        below = [r for h, r in zip(high, reached_high, strict=True) if h <= u]
        G = expit(logit(max([*below, 1e-3])) + shifts[1])
        area += (F - before) * (1 - G)
        before = F
    return area


def test_the_initial_area_is_that_of_the_nested_distributions() -> None:
    made = result()
    y, fold = data()["y"].to_numpy(), made.refits.setup.plan.held_out[0]
    areas, one_step = [], []
    for outer in range(5):
        reached = {}
        inner = {
            j: fitted(((fold != outer) & (fold != j)).astype(np.int32))
            for j in range(5)
            if j != outer
        }
        for code in (0, 1):
            parts = [inner[j][(fold == j) & (y == code)] for j in inner]
            grid = np.unique(np.concatenate(parts))
            mean = [np.mean([(part <= u).mean() for part in parts]) for u in grid]
            reached[code] = grid, np.clip(mean, 1e-3, 1 - 1e-3)
        areas.append(by_loops((*reached[0], *reached[1]), (0.0, 0.0)))
        p = fitted((fold != outer).astype(np.int32))
        for code in (0, 1):
            for score in p[(fold == outer) & (y == code)]:
                grid, other = reached[1 - code]
                mass = np.diff(np.append(other[:-1], 1), prepend=0)
                own = [
                    max(
                        [r for g, r in zip(*reached[code], strict=True) if g <= u],
                        default=1e-3,
                    )
                    for u in grid
                ]
                part = float(((score <= grid) - np.array(own)) @ mass)
                one_step.append((-1) ** code * part / (y == code).mean())
    found = cv_tmle(made)
    assert found.initial == pytest.approx(np.mean(areas), abs=1e-6)
    assert found.one_step == pytest.approx(np.mean(areas) + np.mean(one_step), abs=1e-6)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_the_targeted_area_solves_its_estimating_equation(seed: int | None) -> None:
    found = cv_tmle(result(), seed=seed)
    assert abs(found.influence.mean()) <= 1 / 60
    assert 0 < found.value < 1
    assert found.value == pytest.approx(found.one_step, abs=0.05)
    usual = result().estimate("auroc").value
    assert found.value == pytest.approx(usual, abs=0.08)


def test_repeats_are_averaged() -> None:
    twice = cv(
        "y ~ .",
        data(),
        model=Logit(C=1.0),
        scheme="stratified_kfold",
        k=5,
        repeats=2,
        seed=3,
    )
    once = cv_tmle(twice.update(repeats=1))
    both = cv_tmle(twice)
    assert len(both.influence) == 60
    assert both.se <= 1.5 * once.se


# ---- all of them ----


@pytest.mark.parametrize(
    "interval", [cai_interval, conservative_z_interval, cv_tmle_interval]
)
def test_a_seed_gives_the_same_limits_and_a_lower_level_closer_ones(
    interval: Callable[..., tuple[float, float]],
) -> None:
    limits = interval(result(), seed=11)
    assert interval(result(), seed=11) == limits
    assert interval(result(), seed=12) != limits
    lower, upper = interval(result(), seed=11, level=0.5)
    assert limits[0] < lower < upper < limits[1]


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_what_cannot_be_had_is_refused() -> None:
    balanced = cv("y ~ .", data(), model=Logit(C=1.0), scheme="rloocv", seed=1)
    with pytest.raises(SchemeError, match="rloocv"):
        cai_interval(balanced)
    with pytest.raises(SchemeError, match="not balanced"):
        conservative_z_interval(balanced)
    with pytest.raises(SchemeError, match="three folds"):
        cv_tmle_interval(result(2))
    with pytest.raises(MetricError, match="not a mean over records"):
        conservative_z_interval(result(), "auroc")
    together = data().assign(id=np.arange(60) // 2)
    grouped = cv(
        "y ~ . - id", together, model=Logit(C=1.0), scheme="kfold", stratify="id"
    )
    for interval in (cai_interval, conservative_z_interval, cv_tmle_interval):
        with pytest.raises(SchemeError, match="independent records"):
            interval(grouped)
    amounts = data().assign(y=np.arange(60.0))
    linear = cv("y ~ .", amounts, scheme="kfold", k=5, seed=1)
    with pytest.raises(OutcomeError, match="two classes"):
        cv_tmle_interval(linear)
