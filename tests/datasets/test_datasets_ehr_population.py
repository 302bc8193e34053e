"""People against the equations they are drawn by."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy import stats

from statcv.datasets import (
    EhrPopulation,
    ehr_population,
    random_population,
    simulate_ehr,
)
from statcv.datasets.ehr import COEFFICIENTS, EIGENVALUES, log_odds, uniform_rotation
from statcv.errors import ArgumentError, ArgumentTypeError

X = [f"x{i}" for i in range(1, 11)]
FloatArray = np.ndarray


def test_covariance_is_that_of_the_equations() -> None:
    population = ehr_population(seed=4)
    inner = population.covariance[:9, :9]
    assert np.linalg.eigvalsh(inner) == pytest.approx(EIGENVALUES[:9], abs=1e-12)
    directions = inner @ population.rotation
    wanted = population.rotation * np.array(EIGENVALUES[:9])
    assert directions == pytest.approx(wanted, abs=1e-12)
    assert population.covariance[9].tolist() == [0.0] * 9 + [2.8]
    assert population.sd**2 == pytest.approx(np.diag(population.covariance))


def test_people_have_the_mean_and_the_covariance() -> None:
    n, mean = 200_000, np.arange(10.0)
    population = ehr_population(mean=mean, seed=4)
    people = population.draw(n, np.random.default_rng(5))
    error = population.sd / math.sqrt(n)
    assert (np.abs(people[X].mean() - mean) < 5 * error).all()
    # the variance of a covariance is (Σii Σjj + Σij²) / n
    wanted = population.covariance
    allowed = np.sqrt((np.outer(population.sd, population.sd) ** 2 + wanted**2) / n)
    assert (np.abs(np.cov(people[X], rowvar=False) - wanted) < 5 * allowed).all()
    residual = people["y"] - population.probability(people[X])
    p = population.probability(people[X])
    assert abs(residual.sum()) < 5 * math.sqrt((p * (1 - p)).sum())


def test_it_is_the_population_of_the_records() -> None:
    n = 100_000
    records = simulate_ehr(n, 0, seed=3)
    population = ehr_population(seed=3)
    wanted = population.covariance
    allowed = np.sqrt((np.outer(population.sd, population.sd) ** 2 + wanted**2) / n)
    assert (np.abs(np.cov(records[X], rowvar=False) - wanted) < 5 * allowed).all()
    other = ehr_population(seed=4).covariance
    assert (np.abs(np.cov(records[X], rowvar=False) - other) > 5 * allowed).any()


def test_records_of_a_population_have_its_parameters() -> None:
    population = random_population(seed=8)
    records = simulate_ehr(50_000, 0, **vars(population), seed=1)
    found = np.linalg.eigvalsh(np.cov(records[X[:9]], rowvar=False))
    wanted = np.sort(population.eigenvalues[:9])
    assert (np.abs(found - wanted) < 8 * wanted * math.sqrt(2 / 50_000)).all()
    p = population.probability(records[X])
    assert abs((records["y"] - p).sum()) < 5 * math.sqrt((p * (1 - p)).sum())


def test_random_populations_are_uniform() -> None:
    drawn = [random_population(seed) for seed in range(300)]
    variances = np.concatenate([one.eigenvalues for one in drawn])
    effects = np.concatenate([one.coefficients for one in drawn])
    entries = np.array([one.rotation[2, 5] for one in drawn])
    assert stats.kstest(variances, stats.uniform(1, 2).cdf).pvalue > 1e-3
    assert stats.kstest(effects, stats.uniform(-5, 10).cdf).pvalue > 1e-3
    # an entry of a unit vector of 9 dimensions: its square is beta(1/2, 4)
    assert stats.kstest(entries**2, stats.beta(0.5, 4).cdf).pvalue > 1e-3
    assert all((one.mean == 0).all() for one in drawn)


def test_seeds() -> None:
    first, again = random_population(1), random_population(1)
    assert all((vars(first)[name] == vars(again)[name]).all() for name in vars(first))
    assert (random_population(2).rotation != first.rotation).any()
    assert (ehr_population(seed=1).rotation == ehr_population(seed=1).rotation).all()
    assert (ehr_population(seed=2).rotation != ehr_population(seed=1).rotation).any()


def test_rotations_are_uniform() -> None:
    """Entries of a Haar matrix have mean 0, variance 1/9, fourth moment 3/99."""
    rng = np.random.default_rng(5)
    drawn = np.array([uniform_rotation(rng) for _ in range(4000)])
    assert drawn[7] @ drawn[7].T == pytest.approx(np.eye(9), abs=1e-12)
    error = 1 / 3 / math.sqrt(4000)
    assert np.abs(drawn.mean(axis=0)).max() < 5 * error
    assert (drawn**2).mean(axis=0) == pytest.approx(1 / 9, abs=5 * error / 2)
    assert (drawn**4).mean() == pytest.approx(3 / 99, abs=1e-3)
    assert abs((np.linalg.det(drawn) > 0).mean() - 0.5) < 5 * 0.5 / math.sqrt(4000)


def test_log_odds_against_a_slow_loop() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 10))
    a = rng.normal(size=8)
    wanted = []
    for row in x:
        x1, x2, x3, x4, x5, x6, x7, x8, x9, _ = row
        total = a[0] + a[1] * x1 + a[2] * x2 + a[3] * x3 + a[4] * x1 * x2
        if x4 > 0:
            total += a[5] * x3
        if x6 > 0:
            total += a[6] * x5**2
        if x8 * x9 > 0:
            total += a[7] * x7
        wanted.append(total)
    assert log_odds(x, a) == pytest.approx(wanted, abs=1e-12)
    population = EhrPopulation(EIGENVALUES, a, np.eye(9))  # type: ignore[arg-type]
    probability = 1 / (1 + np.exp(-np.array(wanted)))
    assert population.probability(x) == pytest.approx(probability, abs=1e-14)


def test_extreme_log_odds_do_not_overflow() -> None:
    sure = EhrPopulation(EIGENVALUES, [1e300, *[0] * 7], np.eye(9))  # type: ignore[arg-type]
    assert (sure.draw(100, np.random.default_rng(1))["y"] == 1).all()
    assert sure.probability(np.zeros((1, 10))).tolist() == [1.0]


def test_a_population_does_not_change() -> None:
    axes = np.eye(9)
    population = EhrPopulation(EIGENVALUES, COEFFICIENTS, axes)  # type: ignore[arg-type]
    axes[0, 0] = 5
    assert population.rotation[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        population.mean[0] = 1
    with pytest.raises(FrozenInstanceError):
        population.mean = np.ones(10)  # type: ignore[misc]
    again = pickle.loads(pickle.dumps(population))
    first, second = (
        one.draw(10, np.random.default_rng(1)) for one in (population, again)
    )
    assert first.equals(second)


def test_constant_covariates_are_allowed() -> None:
    still = EhrPopulation(np.zeros(10), np.zeros(8), np.eye(9), np.ones(10))
    people = still.draw(5, np.random.default_rng(1))
    assert (people[X] == 1).all(axis=None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"eigenvalues": [1, 2]}, "eigenvalues are 10 finite numbers"),
        ({"eigenvalues": [-1] * 10}, "none may be negative"),
        ({"coefficients": [math.nan] * 8}, "coefficients are 8 finite numbers"),
        ({"mean": [0] * 9}, "mean are 10 finite numbers"),
        ({"mean": [math.inf] * 10}, "mean are 10 finite numbers"),
        ({"rotation": np.ones((9, 9))}, "not orthogonal"),
        ({"rotation": np.eye(10)}, "9 by 9"),
    ],
)
def test_parameters_that_make_no_sense(change: dict[str, object], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        ehr_population(**change)  # type: ignore[arg-type]


@pytest.mark.parametrize("x", [np.zeros(10), np.zeros((3, 9))])
def test_log_odds_of_a_wrong_shape(x: FloatArray) -> None:
    with pytest.raises(ArgumentError, match=r"shape \(n, 10\)"):
        log_odds(x)


def test_draws_that_cannot_be() -> None:
    population = ehr_population(seed=1)
    with pytest.raises(ArgumentTypeError, match="rng is a numpy Generator, not int"):
        population.draw(10, 1)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="n must be 1 or more, not 0"):
        population.draw(0, np.random.default_rng(1))
    with pytest.raises(ArgumentTypeError, match="rotation are 9 by 9 numbers"):
        ehr_population(rotation="abc")
