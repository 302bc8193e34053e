"""Cholesky's decomposition, beside scipy's and beside another thread."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg.lapack import dpotrf, spotrf

from statcv.numeric.inverses import decompose, invert


def definite(size: int, kind: type) -> np.ndarray:
    rows = np.random.default_rng(size).normal(size=(2 * size, size)).astype(kind)
    return rows.T @ rows + np.eye(size, dtype=kind)


@given(st.integers(1, 40), st.sampled_from([np.float32, np.float64]))
def test_the_factor_is_that_of_scipy(size, kind):
    matrix = definite(size, kind)
    theirs, failed = (spotrf if kind is np.float32 else dpotrf)(matrix, lower=1)
    assert decompose(matrix)
    assert not failed
    assert (np.triu(matrix) == theirs.T).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("odd", [-1.0, 0.0])
def test_other_matrices_are_told_apart(kind, odd):
    matrix = definite(5, kind)
    matrix[3, 3] = odd
    assert not decompose(matrix)


def test_another_thread_goes_on():
    matrix, begun, ended = np.eye(2500) + 1e-3, threading.Event(), []

    def work():
        begun.set()
        ended.append(decompose(matrix))

    thread, turns = threading.Thread(target=work), 0
    thread.start()
    begun.wait()
    while not ended:
        time.sleep(1e-3)  # after which this thread asks for the interpreter
        turns += 1
    thread.join()
    assert ended == [True]
    assert turns > 10


@given(st.integers(1, 40), st.sampled_from([np.float32, np.float64]))
def test_the_inverse_is_that_of_the_upper_triangle(size, kind):
    matrix = definite(size, kind)
    exact = np.linalg.inv(matrix.astype(float))
    matrix[np.tril_indices(size, -1)] = np.nan
    assert invert(matrix)
    digits = 1e-3 if kind is np.float32 else 1e-9
    np.testing.assert_allclose(matrix, exact, atol=digits * np.abs(exact).max())
    assert (matrix == matrix.T).all()
    assert not invert(-matrix)
