"""Tasks, and who does them: the same numbers, data sent once, one thread each."""

import os
import pickle
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits
from xgboost import XGBClassifier
from xgboost.callback import TrainingCallback

import statcv as scv
from statcv import cv
from statcv.engine import Setup, parallel, tasks
from statcv.engine.parallel import LARGE, SharedObject, _limited
from statcv.engine.tasks import cut, ways
from statcv.errors import FitError, WorkerError
from statcv.folds import make_plan
from statcv.formula import make_design
from statcv.models import Logit, Mean, resolve_model
from statcv.models.base import Capabilities, PlainFit

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning"
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    frame["y"] = (frame["a"] + rng.logistic(size=60) > 0.3).astype(int)
    frame["z"] = frame["b"] + rng.normal(size=60)
    frame["w"] = rng.uniform(0.5, 2, 60)
    frame["id"] = rng.integers(0, 25, 60)
    return frame


def assert_same(one, two):
    for name in ("fit", "row", "predicted", "partner_row", "partner_predicted"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(one.converged, two.converged)
    assert (one.coefficients is None) == (two.coefficients is None)
    if one.coefficients is not None:
        pd.testing.assert_frame_equal(one.coefficients, two.coefficients)


# ---- tasks ----


@pytest.mark.parametrize(("fits", "size"), [(1, 5), (7, 3), (9, 3), (10, 1)])
def test_ranges_are_the_fits_once_each_in_order(fits, size):
    ranges = cut(fits, size)
    assert [fit for one in ranges for fit in one] == list(range(fits))
    assert max(map(len, ranges)) <= size


def test_the_cut_knows_nothing_of_jobs(data):
    design = make_design("y ~ a + b", data, scope={})
    plan = make_plan("loocv", design.y, "binary")
    setup = Setup(design, plan, Logit(1.0), 1)
    cuts = [[way.ranges for way in ways(setup)]]
    with joblib.parallel_config(n_jobs=2):
        cuts.append([way.ranges for way in ways(setup)])
    assert cuts[0] == cuts[1]
    assert cuts[0][0] == (range(60),)  # little work is one task
    assert len(cuts[0][1]) == 60  # fold by fold, a fit is a task while they are few


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "arguments"),
    [
        ("y ~ a + b", {"model": Logit(1.0), "scheme": "rloocv", "repeats": 2}),
        ("y ~ a + b", {"model": Logit(), "scheme": "rloocv", "weights": "w"}),
        ("y ~ a", {"model": Logit(0.5), "scheme": "kfold", "rebalance": "weight"}),
        ("y ~ a", {"model": Logit(0.5), "scheme": "bootstrap", "repeats": 9}),
        ("z ~ a + b + c", {"scheme": "loocv"}),
        ("y ~ a", {"model": "mean", "scheme": "rloocv", "stratify": "id"}),
    ],
)
def test_many_small_tasks_give_what_one_gives(data, formula, arguments, monkeypatch):
    whole = cv(formula, data, seed=1, **arguments).held
    monkeypatch.setattr(tasks, "WORK", 2**9)
    pieces = cv(formula, data, seed=1, **arguments).held
    np.testing.assert_allclose(pieces.predicted, whole.predicted, atol=1e-10)
    np.testing.assert_allclose(
        pieces.partner_predicted, whole.partner_predicted, atol=1e-10
    )
    np.testing.assert_array_equal(pieces.partner_row, whole.partner_row)
    shared = cv(formula, data, seed=1, n_jobs=2, **arguments).held
    assert_same(shared, pieces)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["multiprocessing", "threading", "loky"])
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_every_backend_of_joblib_gives_the_same(data, backend, tmp_path):
    call = {"model": Refuses(), "scheme": "loocv", "seed": 1}
    here = cv("y ~ a + b", data, **call).held
    with joblib.parallel_config(backend, n_jobs=2):
        there = cv("y ~ a + b", data, checkpoint=tmp_path, **call).held
    assert_same(there, here)
    assert len(list(tmp_path.glob("fits-*.npz"))) == 60


@pytest.mark.slow
def test_there_are_never_more_workers_than_tasks(data):
    from joblib.externals.loky import reusable_executor

    cv("y ~ a", data, model=Refuses(), k=3, seed=1, n_jobs=40)
    assert reusable_executor._executor._max_workers == 3


class Refuses:
    """Fits folds together by name only, as a model may for some outcomes."""

    label = "refuses"

    def check(self, kind):
        pass

    def fit(self, training):
        return PlainFit(lambda X: np.full(len(X), training.y.mean()))

    def fit_folds(self, records, folds):
        return None


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_that_declines_is_fitted_fold_by_fold(data, n_jobs, monkeypatch):
    monkeypatch.setattr(tasks, "WORK", 2**9)
    found = cv("y ~ a", data, model=Refuses(), k=5, seed=1, n_jobs=n_jobs).held
    expected = cv("y ~ a", data, model=Mean(), k=5, seed=1).held
    np.testing.assert_allclose(found.predicted, expected.predicted, atol=1e-14)


# ---- what a fold's model receives ----


class Notes(Refuses):
    def __init__(self):
        self.trainings = []

    def fit(self, training):
        self.trainings.append(training)
        return super().fit(training)


def test_records_that_never_part_are_told_to_the_model(data):
    model = Notes()
    plan = cv("y ~ a", data, model=model, stratify="id", scheme="loocv").plan
    for fit, training in enumerate(model.trainings):
        ids = data["id"].to_numpy()[plan.train(fit)]
        same = ids[:, None] == ids
        np.testing.assert_array_equal(training.strata[:, None] == training.strata, same)
    model = Notes()
    cv("y ~ a", data, model=model, k=5, seed=1)
    assert all(training.strata is None for training in model.trainings)


class Watches(Refuses):
    def fit_following(self, training, held):
        fit = super().fit(training)
        rounds = np.column_stack([training.X[:3, 1], held.X[:3, 1]])
        curves = {"x": rounds, "y": np.array([[training.y.sum(), held.y.sum()]])}
        weights = None if held.weights is None else held.weights.sum()
        object.__setattr__(fit, "curves", curves)
        object.__setattr__(fit, "chosen", {"best": np.int64(3), "w": weights})
        return fit


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("scheme", ["kfold", "rkfold"])
def test_a_model_that_watches_is_shown_who_is_held_out(data, n_jobs, scheme):
    arguments = {"scheme": scheme, "k": 4, "seed": 1, "weights": "w"}
    result = cv("y ~ a", data, model=Watches(), n_jobs=n_jobs, **arguments)
    plan, held = result.plan, result.held
    assert len(held.curves) == 4
    for fit, curves in enumerate(held.curves):
        train, test = plan.train(fit), plan.test(fit)
        first = data["a"].to_numpy()[np.stack([train[:3], test[:3]])]
        np.testing.assert_array_equal(curves["x"], first.T)
        sums = [[data["y"].iloc[train].sum(), data["y"].iloc[test].sum()]]
        np.testing.assert_array_equal(curves["y"], sums)
        assert held.chosen["w"][fit] == pytest.approx(data["w"].iloc[test].sum())
    assert held.chosen["best"].tolist() == [3] * 4
    plain = cv("y ~ a", data, model=Refuses(), **arguments).held
    assert (plain.chosen, plain.curves) == (None, None)
    np.testing.assert_array_equal(plain.predicted, held.predicted)


# ---- data go to workers once ----


def mapped_file(array):
    """Return the file behind the memory of an array, from the kernel's own list."""
    address = array.__array_interface__["data"][0]
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, *rest = line.split()
            start, stop = (int(end, 16) for end in span.split("-"))
            if start <= address < stop:
                return rest[4] if len(rest) > 4 else ""
    return None


def look(shared):
    matrix = shared.value.design.matrix
    file = mapped_file(matrix)
    return os.getpid(), file, matrix.flags.writeable, float(matrix.sum())


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs /proc")
def test_a_large_design_is_mapped_into_workers_and_not_copied():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20_000, 20))).add_prefix("x")
    frame["y"] = rng.integers(0, 2, 20_000)
    design = make_design("y ~ .", frame, scope={})
    plan = make_plan("stratified_kfold", design.y, "binary", k=10, seed=1)
    shared = SharedObject(Setup(design, plan, Mean(), 1))
    assert len(pickle.dumps(design)) > 5e6
    seen = Parallel(n_jobs=2)(delayed(look)(shared) for _ in range(6))
    processes, files, writeable, totals = map(set, zip(*seen, strict=True))
    assert os.getpid() not in processes
    (file,) = files
    assert "joblib_memmapping_folder" in file
    assert writeable == {False}
    assert totals == {float(design.matrix.sum())}


def test_what_every_task_carries_along_is_small():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20_000, 20))).add_prefix("x")
    frame["y"] = rng.integers(0, 2, 20_000)
    design = make_design("y ~ .", frame, scope={})
    plan = make_plan("stratified_kfold", design.y, "binary", k=10, seed=1)
    shared = SharedObject(Setup(design, plan, Mean(), 1))
    _ = pickle.dumps(shared)
    sent = shared.__reduce__()[1][1:]
    carried = [one for one in sent if one.nbytes <= LARGE]
    assert sum(one.nbytes for one in carried) < LARGE
    # The largest is not a copy, but the memory of the design itself.
    assert any(np.shares_memory(one, design.matrix) for one in sent)


def test_an_object_is_put_together_once_in_a_process():
    shared = SharedObject(
        {"large": np.arange(LARGE), "small": np.arange(3), "none": []}
    )
    sent = pickle.dumps(shared)
    first, second = pickle.loads(sent), pickle.loads(sent)
    assert first is second
    np.testing.assert_array_equal(first.value["large"], np.arange(LARGE))
    np.testing.assert_array_equal(first.value["small"], np.arange(3))
    other = pickle.loads(pickle.dumps(SharedObject({"large": 0})))
    assert other.value == {"large": 0}
    again = pickle.loads(sent)
    np.testing.assert_array_equal(again.value["large"], np.arange(LARGE))


# ---- threads of libraries ----


class Threads(Refuses):
    """Notes, beside its fits, how many threads linear algebra has, and where."""

    def fit(self, training):
        pools = threadpool_info()
        blas = [p["num_threads"] for p in pools if p["user_api"] == "blas"]
        fit = super().fit(training)
        chosen = {
            "blas": max(blas),
            "pid": os.getpid(),
            "thread": threading.get_ident(),
        }
        object.__setattr__(fit, "chosen", chosen)
        time.sleep(0.02)
        return fit


class CountsOpenmp(Refuses):
    """Notes how many threads OpenMP has in a fit."""

    capabilities = Capabilities(any_threads=True)

    def fit(self, training):
        pools = threadpool_info()
        openmp = [p["num_threads"] for p in pools if p["user_api"] == "openmp"]
        fit = super().fit(training)
        object.__setattr__(fit, "chosen", {"openmp": max(openmp)})
        return fit


class DependsOnOpenmp(CountsOpenmp):
    capabilities = Capabilities()


def test_openmp_is_limited_unless_fits_are_the_same_for_any_threads(data):
    def threads(model, **how):
        res = cv("y ~ a", data, model=model, k=4, seed=1, **how)
        return set(res.held.chosen["openmp"])

    with threadpool_limits(2, user_api="openmp"):
        assert threads(CountsOpenmp()) == {2}
        assert threads(DependsOnOpenmp()) == {1}
        assert threads(CountsOpenmp(), n_jobs=2) == {1}
        assert threads(CountsOpenmp()) == {2}  # again, after the limits
    with threadpool_limits(1, user_api="openmp"):
        assert threads(CountsOpenmp()) == {1}


BOOSTED = {
    "trees": (XGBClassifier(n_estimators=5), True),
    "own trees": (scv.models.XGBoost(n_estimators=5), True),
    "histograms": (HistGradientBoostingClassifier(max_iter=5), True),
    "scaled": (make_pipeline(StandardScaler(), XGBClassifier(n_estimators=5)), True),
    "clusters": (make_pipeline(KMeans(3), XGBClassifier(n_estimators=5)), False),
    "lines": (XGBClassifier(booster="gblinear"), False),
    "own lines": (scv.models.XGBoost(booster="gblinear"), False),
    "own curves": (scv.models.XGBoost(n_estimators=5, curves=True), False),
    "scaled lines": (make_pipeline(StandardScaler(), LogisticRegression()), False),
}


@pytest.mark.parametrize("name", BOOSTED)
def test_which_models_are_the_same_for_any_threads(name):
    model, same = BOOSTED[name]
    assert resolve_model(model, "binary").capabilities.any_threads is same


@pytest.mark.parametrize("name", ["trees", "own trees", "histograms", "scaled"])
def test_the_number_of_threads_changes_no_bit(name):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 5))
    wide = pd.DataFrame(X, columns=[*"abcde"])
    wide["y"] = (X[:, 0] * X[:, 1] + rng.logistic(size=3000) > 0).astype(int)
    found = []
    for count in (1, 2):
        with threadpool_limits(count, user_api="openmp"):
            res = cv("y ~ .", wide, model=BOOSTED[name][0], k=2, seed=1)
        found.append(res.held.predicted)
    np.testing.assert_array_equal(*found)


class ReleasesGil(Threads):
    capabilities = Capabilities(releases_gil=True)


def test_libraries_of_one_thread_are_left_alone():
    from threadpoolctl import ThreadpoolController, threadpool_limits

    libraries = ThreadpoolController().select(user_api="blas")
    with threadpool_limits(1, user_api="blas"):
        assert _limited(libraries) is None
    with threadpool_limits(2, user_api="blas"):
        before = [one.get_num_threads() for one in libraries.lib_controllers]
        limits = _limited(libraries)
        if max(before) > 1:
            assert all(one.get_num_threads() == 1 for one in libraries.lib_controllers)
            limits.restore_original_limits()
        assert before == [one.get_num_threads() for one in libraries.lib_controllers]


def test_each_worker_has_one_thread_of_linear_algebra(data):
    with threadpool_limits(2, user_api="blas"):
        here = cv("y ~ a", data, model=Threads(), k=10, seed=1).held.chosen
        there = cv("y ~ a", data, model=Threads(), k=10, seed=1, n_jobs=2).held.chosen
        blas = [p for p in threadpool_info() if p["user_api"] == "blas"]
        assert {pool["num_threads"] for pool in blas} == {2}
    for chosen in (here, there):
        assert set(chosen["blas"]) == {1}
    assert set(here["pid"]) == {os.getpid()}
    assert os.getpid() not in set(there["pid"])


def test_what_releases_the_interpreter_runs_in_threads_unless_said_otherwise(data):
    threads = cv("y ~ a", data, model=ReleasesGil(), k=10, seed=1, n_jobs=2)
    assert set(threads.held.chosen["pid"]) == {os.getpid()}
    assert threads.held.chosen["thread"].nunique() == 2
    with joblib.parallel_config("loky", n_jobs=2):
        said = cv("y ~ a", data, model=ReleasesGil(), k=10, seed=1)
    assert os.getpid() not in set(said.held.chosen["pid"])
    with joblib.parallel_config("threading", n_jobs=2):
        said = cv("y ~ a", data, model=Threads(), k=10, seed=1)
    assert set(said.held.chosen["pid"]) == {os.getpid()}
    np.testing.assert_array_equal(said.held.predicted, threads.held.predicted)


class AnyThreads(Threads):
    capabilities = Capabilities(any_threads=True, releases_gil=True)


def test_threads_share_small_folds_of_what_they_leave_alike(data, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")

    def fitted(**how):
        return cv("y ~ a", data, model=AnyThreads(), k=10, seed=1, **how).held

    both, one = fitted(), fitted(n_jobs=1)
    assert set(both.chosen["pid"]) == {os.getpid()}
    assert both.chosen["thread"].nunique() == 2
    assert set(one.chosen["thread"]) == {threading.get_ident()}
    np.testing.assert_array_equal(both.predicted, one.predicted)
    monkeypatch.setattr(parallel, "SMALL", len(data))
    assert set(fitted().chosen["thread"]) == {threading.get_ident()}


def squares(y, predicted):
    return predicted - y, np.ones_like(y)


SHARED = {
    "trees": (XGBClassifier(n_estimators=5), True),
    "one thread": (XGBClassifier(n_estimators=5, n_jobs=1), True),
    "own trees": (scv.models.XGBoost(n_estimators=5), True),
    "scaled": (make_pipeline(StandardScaler(), XGBClassifier()), False),
    "own threads": (XGBClassifier(n_estimators=5, n_jobs=3), False),
    "own trees, own threads": (scv.models.XGBoost(n_estimators=5, n_jobs=3), False),
    "a function": (XGBClassifier(objective=squares), False),
    "a callback": (
        XGBClassifier(n_estimators=5, callbacks=[TrainingCallback()]),
        False,
    ),
    "histograms": (HistGradientBoostingClassifier(max_iter=5), False),
}


@pytest.mark.parametrize("name", SHARED)
def test_which_models_wait_for_no_other_thread(name):
    model, alone = SHARED[name]
    assert resolve_model(model, "binary").capabilities.releases_gil is alone


LATER = """
import numpy as np
from threadpoolctl import threadpool_info
from statcv.engine.parallel import one_thread

def threads():
    blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return [pool["num_threads"] for pool in blas]

with one_thread():
    print(threads())
import scipy.linalg
with one_thread():
    print(threads())
print(threads())
"""


@pytest.mark.slow
def test_libraries_that_are_loaded_later_are_found():
    more = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    printed = subprocess.run(
        [sys.executable, "-c", LATER],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    first, second, after = printed.splitlines()
    assert set(eval(first)) == set(eval(second)) == {1}
    assert len(eval(second)) >= len(eval(first))
    assert 2 in eval(after)


class Killed(LogisticRegression):
    """A model whose worker process the system ends, as where memory is short."""

    def __init__(self, caller=0):
        super().__init__()
        self.caller = caller

    def fit(self, X, y):
        if os.getpid() != self.caller:
            os.kill(os.getpid(), 9)
        return super().fit(X, y)


@pytest.mark.slow
def test_a_worker_that_is_killed_is_named_with_what_to_do(data):
    with pytest.raises(FitError, match=r"ended one of 2 worker processes.*n_jobs=1"):
        cv("y ~ a", data, model=Killed(os.getpid()), k=4, n_jobs=2, seed=1)
    alone = cv("y ~ a", data, model=Killed(os.getpid()), k=4, seed=1)
    assert len(alone.predictions) == len(data)
    with pytest.raises(WorkerError, match="ended one of 2 worker processes"):
        alone.test(n_permutations=99, n_jobs=2)
