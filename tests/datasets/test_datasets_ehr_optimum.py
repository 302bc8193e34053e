"""The optimal accuracy against integrals, samples and the published number."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit

from statcv.datasets import ehr_population, optimal_accuracy
from statcv.datasets.ehr import EIGENVALUES
from statcv.errors import ArgumentError, ArgumentTypeError

X = [f"x{i}" for i in range(1, 11)]
AXES = np.eye(9)


def normal_mean(of: Callable[[float], float]) -> float:
    """Return the mean of a function of a standard normal number, by quadrature."""
    halves = ((-12, 0), (0, 12))
    parts = [
        integrate.quad(lambda z: of(z) * stats.norm.pdf(z), *half, epsabs=1e-12)[0]
        for half in halves
    ]
    return math.fsum(parts)


def coefficients(**values: float) -> list[float]:
    return [values.get(f"a{number}", 0.0) for number in range(8)]


def test_nothing_is_known_without_coefficients() -> None:
    optimum = optimal_accuracy(coefficients=coefficients(), n=1000, seed=1)
    assert (optimum.accuracy, optimum.se, optimum.positives) == (0.5, 0, 0.5)


@pytest.mark.parametrize("a0", [-3.0, 0.5, 800.0])
def test_an_intercept_alone(a0: float) -> None:
    optimum = optimal_accuracy(coefficients=coefficients(a0=a0), n=1000, seed=1)
    assert optimum.accuracy == pytest.approx(expit(abs(a0)), abs=1e-14)
    assert optimum.positives == pytest.approx(expit(a0), abs=1e-14)
    assert optimum.se == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(("a0", "a1", "mean"), [(0, 2, 0), (-1, 0.7, 0), (0.5, -3, 2)])
def test_one_linear_term(a0: float, a1: float, mean: float) -> None:
    rotation = ehr_population(seed=7).rotation
    sd = ehr_population(rotation=rotation).sd[0]
    optimum = optimal_accuracy(
        coefficients=coefficients(a0=a0, a1=a1),
        rotation=rotation,
        mean=[mean] * 10,
        n=200_000,
        seed=1,
    )

    def logit(z: float) -> float:
        return a0 + a1 * (mean + sd * z)

    best = normal_mean(lambda z: expit(abs(logit(z))))
    positives = normal_mean(lambda z: expit(logit(z)))
    second = normal_mean(lambda z: expit(abs(logit(z))) ** 2)
    assert abs(optimum.accuracy - best) < 5 * optimum.se
    assert optimum.se == pytest.approx(math.sqrt((second - best**2) / 2e5), rel=0.02)
    assert abs(optimum.positives - positives) < 5 * 0.5 / math.sqrt(200_000)


def test_terms_that_are_switched() -> None:
    """Half of the people have no such term: they are a coin's toss each."""
    sd = np.sqrt(EIGENVALUES)
    bent = optimal_accuracy(coefficients=coefficients(a6=3), rotation=AXES, seed=1)
    wanted = 0.25 + 0.5 * normal_mean(lambda z: expit(3 * (sd[4] * z) ** 2))
    assert abs(bent.accuracy - wanted) < 5 * bent.se
    for name, covariate in (("a5", 2), ("a7", 6)):
        term = coefficients(**{name: 2.0})
        optimum = optimal_accuracy(coefficients=term, rotation=AXES, seed=2)
        slope = 2 * sd[covariate]
        wanted = 0.25 + 0.5 * normal_mean(lambda z, s=slope: expit(abs(s * z)))
        assert abs(optimum.accuracy - wanted) < 5 * optimum.se


def test_the_best_rule_scores_so_on_a_large_sample() -> None:
    n, population = 400_000, ehr_population(seed=3)
    people = population.draw(n, np.random.default_rng(1))
    said = population.probability(people[X]) > 0.5
    scored = float((said == (people["y"] == 1)).mean())
    optimum = optimal_accuracy(seed=3)
    error = math.hypot(optimum.se, math.sqrt(scored * (1 - scored) / n))
    assert abs(scored - optimum.accuracy) < 4 * error
    share = people["y"].mean()
    assert abs(share - optimum.positives) < 4 * 0.5 * math.sqrt(1 / n + 1e-5)


def test_the_standard_error_is_that_of_the_accuracy() -> None:
    rotation = ehr_population(seed=3).rotation
    found = [optimal_accuracy(rotation=rotation, n=400, seed=s) for s in range(300)]
    spread = np.std([one.accuracy for one in found], ddof=1)
    # A standard deviation of 300 values is known to 4 %.
    assert spread == pytest.approx(np.mean([one.se for one in found]), rel=0.17)


def test_the_published_numbers_lie_among_rotations() -> None:
    found = [optimal_accuracy(n=20_000, seed=seed) for seed in range(60)]
    accuracy = np.array([one.accuracy for one in found])
    positives = np.array([one.positives for one in found])
    assert abs(0.88 - accuracy.mean()) < 2.5 * accuracy.std()
    assert abs(0.47 - positives.mean()) < 2.5 * positives.std()
    assert accuracy.mean() == pytest.approx(0.885, abs=4 * 0.0043 / math.sqrt(60))
    assert positives.mean() == pytest.approx(0.450, abs=4 * 0.012 / math.sqrt(60))


def test_a_rotation_gives_both_published_numbers() -> None:
    optimum = optimal_accuracy(seed=341)
    assert round(optimum.accuracy, 2) == 0.88
    assert round(optimum.positives, 2) == 0.47


def test_blocks_are_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = optimal_accuracy(n=1000, seed=1)
    monkeypatch.setattr("statcv.datasets.ehr.population.PEOPLE_AT_ONCE", 300)
    parts = optimal_accuracy(n=1000, seed=1)
    assert parts.accuracy == pytest.approx(whole.accuracy, abs=1e-12)
    assert parts.se == pytest.approx(whole.se, abs=1e-12)
    assert parts.positives == pytest.approx(whole.positives, abs=1e-12)


def test_sizes_that_make_no_sense() -> None:
    with pytest.raises(ArgumentError, match="n must be 2 or more, not 1"):
        optimal_accuracy(n=1)
    with pytest.raises(ArgumentTypeError, match="n must be an integer"):
        optimal_accuracy(n=1e5)  # type: ignore[arg-type]
