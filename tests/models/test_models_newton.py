import numpy as np
import pytest

from statcv.models.newton import column_units, minimise


@pytest.mark.parametrize("start", [0.5, 2.0, -30.0])
def test_steps_that_overshoot_are_halved(start):
    """Newton on √(1 + x²) runs away from every start beyond 1."""
    found = minimise(
        np.array([start]),
        np.eye(1),
        loss=lambda eta, beta: float(np.sqrt(1 + eta**2).sum()),
        direction=lambda eta, beta: -eta * (1 + eta**2),
        extreme=lambda eta: False,
    )
    assert found.converged
    assert abs(found.beta[0]) < 1e-6


def test_a_direction_that_only_leads_up_is_no_convergence():
    found = minimise(
        np.array([1.0]),
        np.eye(1),
        loss=lambda eta, beta: 1 + float(eta[0] ** 2),
        direction=lambda eta, beta: np.array([1e12]),
        extreme=lambda eta: False,
    )
    assert not found.converged
    assert found.beta.tolist() == [1.0]


def test_a_loss_that_is_no_number_is_no_convergence():
    found = minimise(
        np.array([1.0]),
        np.eye(1),
        loss=lambda eta, beta: 1.0 if eta[0] == 1 else np.nan,
        direction=lambda eta, beta: np.array([1.0]),
        extreme=lambda eta: True,
    )
    assert not found.converged
    assert not found.separated


def test_units_are_powers_of_two_near_the_largest_cell():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 6)) * 10.0 ** np.arange(-9, 9, 3)
    X[:, 2] = 0
    units = column_units(X)
    assert units[2] == 1
    assert (np.frexp(units)[0] == 0.5).all()
    scaled = np.abs(np.delete(X / units, 2, axis=1)).max(axis=0)
    assert ((scaled > 0.7) & (scaled < 1.5)).all()
