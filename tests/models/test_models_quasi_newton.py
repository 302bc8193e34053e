"""Quasi-Newton steps on quadratic functions, whose optima are known."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.models.batched import Until, Whole, climb
from statcv.numeric.arrays import Floats


@dataclass
class Bowls:
    """Minus half the sum of curvature times squared distance from the top."""

    top: Floats
    curved: Floats

    def gradient(self, theta):
        return self.curved * (self.top - theta)

    def part(self, chosen):
        return Bowls(self.top[chosen], self.curved[chosen])


def precise(noise):
    return Until(1e-13, noise=noise)


def inverse_of(*diagonals):
    return Whole(np.stack([np.diag(one) for one in diagonals]))


@pytest.mark.parametrize("small", [1e-10, 1e-9, 1e-8])
def test_a_step_right_in_one_direction_only_is_no_end(small):
    """The first step is right where it is long, and too short where it is not."""
    problem = Bowls(np.array([[1e-3, small]]), np.array([[1.0, 0.6]]))
    inverse = inverse_of([1.0, 1.0])
    found, done = climb(problem, np.zeros((1, 2)), inverse, precise(1e-16))
    assert done.all()
    np.testing.assert_allclose(found, problem.top, atol=2e-13, rtol=0)


@given(
    curved=st.lists(st.floats(0.4, 1.8), min_size=3, max_size=3),
    top=st.lists(st.floats(-0.9, 0.9), min_size=3, max_size=3),
)
def test_fits_come_to_their_own_optima(curved, top):
    problem = Bowls(np.array([top, [0.0] * 3]), np.array([curved, [1.0] * 3]))
    inverse = inverse_of([1.0] * 3, [1.0] * 3)
    found, done = climb(problem, np.zeros((2, 3)), inverse, precise(1e-15))
    assert done[1]
    np.testing.assert_allclose(found[done], problem.top[done], atol=1e-10, rtol=0)


def test_a_gradient_that_is_known_is_not_computed_again():
    problem = Bowls(np.array([[0.9, 0.5], [0.2, 0.1]]), np.array([[1.0, 0.6]] * 2))
    start, inverse = np.zeros((2, 2)), inverse_of([1.0, 1.0], [1.0, 1.0])
    known = problem.gradient(start)
    ends = [
        climb(problem, start, inverse, precise(1e-16), gradient=gradient)[0]
        for gradient in (None, known)
    ]
    np.testing.assert_array_equal(*ends)


def test_a_step_too_far_is_shortened_and_no_matrix_is_no_step():
    problem = Bowls(np.array([[2.0], [0.5], [0.5]]), np.array([[3.0], [1.0], [1.0]]))
    inverse = inverse_of([1.0], [1.0], [np.nan])
    found, done = climb(problem, np.zeros((3, 1)), inverse, precise(1e-15))
    assert done.tolist() == [True, True, False]
    np.testing.assert_allclose(found[:, 0], [2.0, 0.5, 0.0], atol=1e-12)


@dataclass
class Rounded(Bowls):
    """The same functions, whose gradients have few digits and are counted."""

    asked: int = 0

    def gradient(self, theta):
        self.asked += 1
        return super().gradient(theta).astype(np.float32).astype(float)

    def part(self, chosen):
        return Rounded(self.top[chosen], self.curved[chosen])


def test_steps_of_few_digits_end_at_the_same_optima():
    top = np.array([[0.9, 1 / 3], [2.0, 5.0]]) * 1e3
    problem = Bowls(top, np.array([[1.0, 1.1]] * 2))
    inverse, until = inverse_of([1.0, 1.0], [1.0, 1.0]), Until(1e-10, noise=1e-12)
    rough = Rounded(problem.top, problem.curved)
    start = np.zeros((2, 2))
    found, done = climb(problem, start, inverse, until, rough=rough)
    assert done.all()
    assert rough.asked > 1
    np.testing.assert_allclose(found, problem.top, atol=1e-9, rtol=0)


@dataclass
class Walls:
    """Functions whose slope is even, and then falls without end, beyond a place."""

    place: Floats
    asked: list[int]

    def gradient(self, theta):
        self.asked.append(len(theta))
        beyond = np.maximum(theta - self.place, 0)
        return 1.0 - theta / 20 - 9e3 * beyond**3

    def part(self, chosen):
        return Walls(self.place[chosen], self.asked)


def test_a_step_that_is_shortened_too_much_gets_longer():
    problem = Walls(np.array([[0.6], [0.9]]), [])
    found, _ = climb(
        problem, np.zeros((2, 1)), inverse_of([1.0], [1.0]), Until(1e-9, 0, 1)
    )
    slope = problem.gradient(found)
    assert (found < problem.place + 0.1).all()
    assert (np.abs(slope) <= 0.9).all()
    assert (slope <= 0.5)[0]
