"""Threads that share the work of fits made together."""

import os
import threading

import numpy as np
import pandas as pd
import pytest

from statcv import cv
from statcv.models import Linear, Logit
from statcv.numeric.threads import allow_threads, product, shared, usual_threads

PLENTY = 1e9  # operations


def test_results_are_in_the_order_of_the_items():
    with allow_threads(3):
        made = shared(lambda item: item**2, range(10), PLENTY)
    assert made == [item**2 for item in range(10)]


def test_costly_work_is_done_by_as_many_threads_as_are_allowed():
    meeting = threading.Barrier(3, timeout=20)  # broken unless three come at once

    def work(item):
        meeting.wait()
        return threading.get_ident()

    with allow_threads(3):
        assert len(set(shared(work, range(3), PLENTY))) == 3
    assert (
        shared(lambda item: threading.get_ident(), range(3), PLENTY)
        == [threading.get_ident()] * 3
    )


@pytest.mark.parametrize(("cost", "number"), [(1.0, 4), (PLENTY, 1)])
def test_cheap_work_and_one_thread_stay_here(cost, number):
    with allow_threads(number):
        found = shared(lambda item: threading.get_ident(), range(4), cost)
    assert set(found) == {threading.get_ident()}


def test_work_inside_other_work_is_not_shared_again():
    def inner(item):
        return threading.get_ident()

    def outer(item):
        return set(shared(inner, range(4), PLENTY)) == {threading.get_ident()}

    with allow_threads(2):
        assert all(shared(outer, range(4), PLENTY))


def test_an_error_of_any_item_is_raised_and_the_rest_is_finished():
    done = []

    def work(item):
        if item == 1:
            raise ZeroDivisionError("of an item")
        done.append(item)

    with allow_threads(2), pytest.raises(ZeroDivisionError, match="of an item"):
        shared(work, range(5), PLENTY)
    assert {0, 2, 4} <= set(done)


def test_floating_point_errors_are_handled_as_in_the_calling_thread():
    def work(item):
        return np.float64(1.0) / np.zeros(3)[item]

    with allow_threads(2), np.errstate(divide="ignore"):
        assert np.isinf(shared(work, range(3), PLENTY)).all()
    with (
        allow_threads(2),
        np.errstate(divide="raise"),
        pytest.raises(FloatingPointError),
    ):
        shared(work, range(3), PLENTY)


@pytest.mark.parametrize("columns", [3, 300])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_product_is_that_of_two_matrices(columns, kind):
    rng = np.random.default_rng(4)
    left, right = rng.integers(0, 9, (3, 5)), rng.integers(0, 9, (5, columns))
    left, right = left.astype(kind), right.astype(kind)
    assert (product(left, right) == left @ right).all()


def test_the_usual_number_is_that_of_the_environment_or_of_the_cores(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert usual_threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    assert 1 <= usual_threads() <= os.cpu_count()


@pytest.mark.parametrize(("classes", "C"), [(2, 1.0), (3, 1.0), (2, None), (0, None)])
def test_the_number_of_threads_changes_no_bit(classes, C, monkeypatch):
    monkeypatch.setattr("statcv.models.batched.fits.ROWS", 3000)
    monkeypatch.setattr("statcv.models.batched.fits.RECORD", PLENTY)
    rng = np.random.default_rng(7)
    X = rng.standard_normal((10_000, 50))
    signal = X[:, :5].sum(axis=1) + rng.standard_normal(10_000)
    data = pd.DataFrame(X, columns=[f"x{j}" for j in range(50)])
    if classes:
        quantiles = np.linspace(0, 1, classes + 1)[1:-1]
        data["y"] = np.searchsorted(np.quantile(signal, quantiles), signal).astype(str)
    else:
        data["y"] = signal
    model = Logit(C=C) if classes else Linear()
    scheme = "stratified_kfold" if classes else "kfold"
    one, two, five = (
        cv("y ~ .", data=data, model=model, scheme=scheme, k=5, seed=1, n_jobs=number)
        for number in (1, 2, 5)
    )
    for other in (two, five):
        pd.testing.assert_frame_equal(one.predictions, other.predictions, rtol=0)
        pd.testing.assert_frame_equal(one.coefficients, other.coefficients, rtol=0)
