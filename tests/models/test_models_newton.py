from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from statcv.models.batched import inverse_gram
from statcv.numeric.gram import column_units
from statcv.numeric.inverses import solve_well
from statcv.numeric.newton import minimise


@dataclass
class Function:
    """A function of one coefficient, and where its steps lead.

    Steps are from 0: a coefficient is the distance from where the function starts.
    """

    value: Any
    slope: Any
    newton_step: Any
    cautious_step: Any
    end: bool = False
    start: float = 0.0
    size = (1, 1)

    def part(self, chosen):
        return self

    def linear(self, beta):
        return beta[:, :, None]

    def loss(self, eta, beta):
        return np.array([self.value(one + self.start) for one in beta[:, 0]], float)

    def gradient(self, eta, beta):
        return -np.array([[self.slope(one + self.start)] for one in beta[:, 0]])

    def newton(self, eta, gradient):
        return np.reshape(self.newton_step(eta[:, 0] + self.start), (1, 1))

    def cautious(self, eta, gradient):
        return np.reshape(self.cautious_step(eta[:, 0] + self.start), (1, 1))

    def furthest(self, eta):
        return np.abs(eta).max(axis=(1, 2))

    def extreme(self, eta):
        return np.array([self.end])


def root(start, newton, cautious):
    """Minimise √(1 + x²), where Newton runs away from every start beyond 1."""
    function = Function(
        value=lambda x: np.sqrt(1 + x**2),
        slope=lambda x: x / np.sqrt(1 + x**2),
        newton_step=newton,
        cautious_step=cautious,
        start=start,
    )
    return minimise(function)


def newton(beta):
    return -beta * (1 + beta**2)


def down(beta):
    return -beta


def nowhere(beta):
    return np.full(1, np.nan)


@pytest.mark.parametrize("start", [0.5, 2.0, -30.0])
@pytest.mark.parametrize("cautious", [down, nowhere])
def test_steps_that_overshoot_are_halved(start, cautious):
    found = root(start, newton=newton, cautious=cautious)
    assert found.converged
    assert abs(found.beta[0, 0] + start) < 1e-6


@pytest.mark.parametrize("start", [2.0, 1e4])
def test_cautious_steps_lead_on_where_no_other_does(start):
    far = root(start, newton=lambda beta: np.array([-1e30]), cautious=down)
    assert not far.converged  # the last step is one of Newton's
    assert abs(far.beta[0, 0] + start) < 1e-6
    flat = root(start, newton=lambda beta: 0 * beta, cautious=down)
    assert flat.converged
    assert abs(flat.beta[0, 0] + start) < 1e-6


def test_a_direction_that_only_leads_up_is_no_convergence():
    found = root(1.0, newton=lambda beta: 1e12 * beta, cautious=nowhere)
    assert not found.converged
    assert found.beta.tolist() == [[0.0]]


def test_a_loss_that_is_no_number_is_no_convergence():
    function = Function(
        value=lambda x: 1.0 if x == 1 else np.nan,
        slope=lambda x: -1.0,
        newton_step=lambda beta: np.array([1.0]),
        cautious_step=lambda beta: np.array([1.0]),
        end=True,
        start=1.0,
    )
    found = minimise(function)
    assert not found.converged
    assert not found.separated


def test_exp_has_no_minimum_but_a_distant_one_is_not_taken_for_none():
    """exp(−x) falls forever; with a slope of 1e-16 it ends near 36.8."""

    def falling(slope):
        return Function(
            value=lambda x: np.exp(-x) + slope * x,
            slope=lambda x: slope - np.exp(-x),
            newton_step=lambda beta: 1 - slope * np.exp(beta),
            cautious_step=lambda beta: 1 - slope * np.exp(beta),
            end=True,
        )

    assert minimise(falling(0.0)).separated
    held = minimise(falling(1e-12))
    assert held.converged
    assert not held.separated
    assert held.beta[0, 0] == pytest.approx(12 * np.log(10), abs=0.1)


@pytest.mark.parametrize("slope", [0.1, 1e-3, 1e-6])
def test_the_minimum_is_found_to_all_digits_not_only_those_that_the_loss_tells(slope):
    function = Function(
        value=lambda x: 1e4 * (np.exp(-x) + slope * x),
        slope=lambda x: 1e4 * (slope - np.exp(-x)),
        newton_step=lambda beta: 1 - slope * np.exp(beta),
        cautious_step=lambda beta: 1 - slope * np.exp(beta),
    )
    found = minimise(function)
    assert found.converged
    assert found.beta[0, 0] == pytest.approx(-np.log(slope), abs=1e-13)


def test_inverse_of_a_gram_matrix_is_that_on_the_span_of_the_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(9, 3))
    vector = rng.normal(size=3)
    expected = np.linalg.solve(rows.T @ rows, vector)
    np.testing.assert_allclose(inverse_gram(rows, vector), expected, rtol=1e-10)
    twice = np.column_stack([rows, rows[:, 0]])
    vector = np.append(vector, vector[0])
    expected = np.linalg.pinv(twice.T @ twice) @ vector
    np.testing.assert_allclose(inverse_gram(twice, vector), expected, rtol=1e-10)
    assert inverse_gram(np.empty((4, 0)), np.empty(0)).shape == (0,)


def test_a_matrix_is_solved_as_it_is_only_where_that_costs_few_digits():
    rng = np.random.default_rng(0)
    unit = np.array([1e-8, 1.0, 1e8])
    rows = rng.normal(size=(9, 3))
    vector = rng.normal(size=3)
    expected = inverse_gram(rows, vector / unit) / unit
    rows *= unit
    solved, well = solve_well((rows.T @ rows)[None], vector[None])
    assert well.all()
    np.testing.assert_allclose(solved[0], expected, rtol=1e-10)
    rows[:, 2] = 1e8 * rows[:, 1] + rows[:, 2] * 1e-6
    assert not solve_well((rows.T @ rows)[None], vector[None])[1]
    doubtful = np.array([[[1.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]])
    assert not solve_well(doubtful, np.ones((2, 2)))[1].any()


def test_units_are_powers_of_two_near_the_largest_cell():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 6)) * 10.0 ** np.arange(-9, 9, 3)
    X[:, 2] = 0
    units = column_units(X)
    assert units[2] == 1
    assert (np.frexp(units)[0] == 0.5).all()
    scaled = np.abs(np.delete(X / units, 2, axis=1)).max(axis=0)
    assert ((scaled > 0.7) & (scaled < 1.5)).all()
