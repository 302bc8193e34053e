"""Warnings of fits in several threads."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import statcv as scv
from statcv.models.other_libraries.thread_warnings import collected


def test_each_thread_collects_its_own_and_nothing_changes_after():
    both = threading.Barrier(2)

    def fit(name):
        both.wait()
        with collected() as given:
            both.wait()  # both are inside
            warnings.warn(name, stacklevel=1)
            both.wait()
        return [str(one.message) for one in given]

    filters, shown = list(warnings.filters), warnings.showwarning
    with ThreadPoolExecutor(2) as pool:
        for _ in range(20):
            assert list(pool.map(fit, ["one", "two"])) == [["one"], ["two"]]
    assert warnings.filters == filters
    assert warnings.showwarning is shown


def test_what_a_thread_without_a_fit_warns_of_is_shown():
    begun, told = threading.Event(), threading.Event()

    def fit():
        with collected() as given:
            begun.set()
            told.wait(20)
        return given

    with ThreadPoolExecutor(1) as pool:
        fitting = pool.submit(fit)
        begun.wait(20)
        try:
            with pytest.warns(UserWarning, match="elsewhere"):
                warnings.warn("elsewhere", stacklevel=1)
        finally:
            told.set()
        assert fitting.result() == []


def test_threads_count_the_folds_that_do_not_converge():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(60, 6)), columns=list("abcdef"))
    data["y"] = (data["a"] + rng.logistic(size=60) > 0).astype(int)
    short = LogisticRegression(max_iter=2)
    for _ in range(3):
        with (
            joblib.parallel_config("threading", n_jobs=4),
            pytest.warns(
                scv.errors.ConvergenceWarning, match="in 20 of 20 folds"
            ) as given,
        ):
            scv.cv("y ~ .", data, model=short, k=20, seed=1)
        assert {warning.category for warning in given} == {
            scv.errors.ConvergenceWarning
        }


def test_what_another_thread_puts_back_late_shows_warnings_once():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        late = warnings.catch_warnings()
        with collected():
            late.__enter__()
        late.__exit__(None, None, None)
        with collected():
            other = threading.Thread(target=warnings.warn, args=["from elsewhere"])
            other.start()
            other.join()
        warnings.warn("afterwards", stacklevel=1)
    assert [str(one.message) for one in shown] == ["from elsewhere", "afterwards"]
