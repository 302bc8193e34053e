import functools
import os
import re
import subprocess
import sys
import time

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from threadpoolctl import threadpool_info, threadpool_limits

from statcv import cv
from statcv.engine import fit_all, run
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConvergenceWarning,
    FitError,
    ModelError,
    OutcomeError,
    SeparationWarning,
    UnseenLevelWarning,
)
from statcv.folds import make_plan
from statcv.formula import make_design
from statcv.models import Linear, Logit, Mean, resolve_model
from statcv.models.base import PlainFit

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning"
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", "b", "c"])
    frame["y"] = (frame["a"] + rng.logistic(size=50) > 0.5).astype(int)
    frame["z"] = frame["b"] + rng.normal(size=50)
    frame["g"] = rng.choice(["p", "q", "r"], 50)
    return frame.set_index(np.arange(100, 150))


class Logger:
    """A model that writes down its training sets and predicts what it is given."""

    label = "logger"

    def __init__(self, answer=None, converged=True, separated=False):
        self.trainings = []
        self.answer = answer or (lambda X: np.full(len(X), 0.5))
        self.converged, self.separated = converged, separated

    def check(self, kind):
        pass

    def fit(self, training):
        self.trainings.append(training)

        def flag(value):
            return value(training) if callable(value) else value

        return PlainFit(
            self.answer, converged=flag(self.converged), separated=flag(self.separated)
        )


@pytest.mark.parametrize(
    ("scheme", "more"),
    [
        ("kfold", {"k": 7, "repeats": 2}),
        ("stratified_kfold", {"k": 5, "repeats": 2}),
        ("loocv", {}),
        ("rloocv", {"repeats": 2}),
    ],
)
def test_predictions_are_those_of_a_naive_loop(data, scheme, more):
    result = cv("y ~ a + b", data, model=Logit(2.0), scheme=scheme, seed=4, **more)
    plan, labels = result.plan, data.index
    X, y = data[["a", "b"]].to_numpy(), data["y"].to_numpy()
    rows, expected, others, expected_others = [], [], [], []
    for split in range(plan.n_splits):
        repeat, fold = plan.name(split)
        held = np.flatnonzero(plan.held_out[repeat - 1] == fold - 1)
        dropped = plan.dropped[split]
        train = [i for i in range(50) if i not in {*held, *dropped}]
        model = LogisticRegression(C=2.0, tol=1e-12, solver="newton-cholesky")
        model.fit(X[train], y[train])
        rows.extend(labels[held])
        expected.extend(model.predict_proba(X[held])[:, 1])
        for partner in dropped:
            others.append((repeat, fold, labels[held[0]], labels[partner]))
            expected_others.extend(model.predict_proba(X[[partner]])[:, 1])
    table = result.predictions
    assert table["row"].tolist() == rows
    np.testing.assert_array_equal(table["observed"], data.loc[rows, "y"])
    np.testing.assert_allclose(table["predicted"], expected, atol=1e-8)
    pairs = result.pairs
    assert len(pairs) == (100 if scheme == "rloocv" else 0)
    keys = ["repeat", "fold", "row", "partner"]
    assert list(pairs[keys].itertuples(index=False, name=None)) == others
    np.testing.assert_allclose(pairs["predicted_partner"], expected_others, atol=1e-8)


def test_partners_of_more_classes_are_one_of_each(data):
    result = cv("g ~ a + b", data, scheme="rloocv", repeats=1, seed=1)
    held = result.held
    assert held.partner_predicted.shape == (100, 3)
    codes = result.design.y
    for split in range(50):
        partners = held.partner_row[held.partner_fit == split]
        assert {*codes[partners], codes[held.row[split]]} == {0, 1, 2}


def test_a_model_gets_the_training_rows_of_the_design(data):
    model = Logger()
    weights = np.linspace(1, 2, 50)
    result = cv("y ~ b + a:c", data, model=model, k=5, seed=1, weights=weights)
    for split, training in enumerate(model.trainings):
        rows = result.plan.train(split)
        part = data.iloc[rows]
        np.testing.assert_array_equal(
            training.X, np.column_stack([np.ones(40), part["b"], part["a"] * part["c"]])
        )
        np.testing.assert_array_equal(training.y, part["y"])
        np.testing.assert_array_equal(training.weights, weights[rows])
        assert training.names == ("Intercept", "b", "a:c")
        assert training.intercept == 0
        assert (training.kind, training.n_classes) == ("binary", 2)
    assert len({training.seed for training in model.trainings}) == 5


@pytest.mark.parametrize("formula", ["y ~ a + b", "z ~ a * g", "g ~ a + center(b)"])
@pytest.mark.parametrize("scheme", ["kfold", "loocv"])
def test_processes_change_no_bit(data, formula, scheme):
    one = cv(formula, data, scheme=scheme, seed=1, n_jobs=1)
    two = cv(formula, data, scheme=scheme, seed=1, n_jobs=2)
    with joblib.parallel_config(n_jobs=2):
        configured = cv(formula, data, scheme=scheme, seed=1)
    with joblib.parallel_config("threading", n_jobs=2):
        threads = cv(formula, data, scheme=scheme, seed=1)
    for other in (two, configured, threads):
        np.testing.assert_array_equal(other.held.predicted, one.held.predicted)
        np.testing.assert_array_equal(other.held.row, one.held.row)
        pd.testing.assert_frame_equal(other.held.coefficients, one.held.coefficients)


def blas_threads():
    pools = threadpool_info()
    return {pool["num_threads"] for pool in pools if pool["user_api"] == "blas"}


@pytest.mark.parametrize("backend", ["sequential", "threading"])
def test_linear_algebra_has_one_thread_in_a_fold_and_its_own_after(data, backend):
    seen = set()

    def note(training):
        seen.update(blas_threads())
        return False

    with threadpool_limits(2, user_api="blas"):
        with joblib.parallel_config(backend, n_jobs=1 if "seq" in backend else 4):
            cv("y ~ a", data, model=failing(None, note), k=10, seed=1)
            with pytest.raises(FitError):
                cv("y ~ a", data, model=failing(ValueError(), lambda t: True))
        assert seen == {1}
        until = time.monotonic() + 20  # other threads may still end their folds
        while blas_threads() != {2} and time.monotonic() < until:
            time.sleep(0.01)
        assert blas_threads() == {2}


def test_threads_of_linear_algebra_change_no_bit():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2000, 40))).add_prefix("x")
    frame["y"] = rng.choice(["p", "q", "r"], 2000)
    with threadpool_limits(2, user_api="blas"):
        one = cv("y ~ .", frame, k=3, seed=1, n_jobs=1)
    two = cv("y ~ .", frame, k=3, seed=1, n_jobs=2)
    np.testing.assert_array_equal(one.held.predicted, two.held.predicted)


def test_the_first_call_of_a_process_gives_the_numbers_of_the_second():
    script = """
import numpy as np, pandas as pd
from statcv import cv
from statcv.models import Logit
rng = np.random.default_rng(1)
frame = pd.DataFrame(rng.normal(size=(800, 300))).add_prefix("x")
frame["y"] = (frame["x0"] + rng.logistic(size=800) > 0).astype(int)
one, two = (cv("y ~ .", frame, model=Logit(C=1.0), k=5, seed=1) for _ in range(2))
assert (one.held.predicted == two.held.predicted).all()
"""
    threads = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    made = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | threads,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr


def test_coefficients_are_those_of_each_fold(data):
    result = cv("z ~ a + b", data, k=5, repeats=2, seed=1)
    table = result.coefficients
    assert table.columns.tolist() == ["repeat", "fold", "Intercept", "a", "b"]
    assert table["repeat"].tolist() == [1] * 5 + [2] * 5
    for split in range(10):
        rows = result.plan.train(split)
        X = np.column_stack([np.ones(len(rows)), data[["a", "b"]].iloc[rows]])
        expected = np.linalg.lstsq(X, data["z"].iloc[rows], rcond=None)[0]
        found = table.loc[split, ["Intercept", "a", "b"]].astype(float)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_each_fold_of_each_repeat_draws_from_its_own_stream(data):
    class Draw(Logger):
        def fit(self, training):
            rng = np.random.default_rng(training.seed)
            return PlainFit(lambda X: rng.random(len(X)))

    run_ = functools.partial(cv, "y ~ a", data, k=5, repeats=3, metrics="auroc")
    first = run_(model=Draw(), seed=1)
    draws = first.predictions.groupby(["repeat", "fold"])["predicted"].first()
    assert draws.nunique() == 15
    again = run_(model=Draw(), seed=1).predictions["predicted"]
    np.testing.assert_array_equal(again, first.predictions["predicted"])
    other = run_(model=Draw(), seed=2).predictions["predicted"]
    assert (other != first.predictions["predicted"]).all()


def test_all_rows_are_fitted_with_another_stream(data):
    design = make_design("y ~ a", data, scope={})
    model = Logger()
    learner = resolve_model(model, "binary")
    fit_all(design, learner, seed=1)
    run(design, make_plan("loocv", design.y, "binary"), learner, seed=1)
    seeds = [training.seed for training in model.trainings]
    assert len(set(seeds)) == 51
    assert len(model.trainings[0].y) == 50
    assert max(seeds) < 2**31


def failing(error, when):
    class Failing(Logger):
        def fit(self, training):
            if when(training):
                raise error
            return super().fit(training)

    return Failing()


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failing_model_names_the_fold(data, n_jobs):
    folds = np.arange(50) % 4
    plan = cv("y ~ a", data, model="mean", scheme=folds).plan
    odd = data["a"].iloc[plan.test(2)[0]]
    model = failing(ZeroDivisionError("no"), lambda t: odd not in t.X[:, 1])
    message = r"^logger failed in fold 2 \(38 training rows\): ZeroDivisionError: no$"
    with pytest.raises(FitError, match=message) as caught:
        cv("y ~ a", data, model=model, scheme=folds, n_jobs=n_jobs)
    assert isinstance(caught.value, RuntimeError)


def test_a_model_that_fails_on_all_records_says_so(data):
    model = failing(ZeroDivisionError("no"), lambda t: len(t.y) == len(data))
    result = cv("y ~ a", data, model=model, k=5, seed=1)
    message = r"^logger failed on all 50 records: ZeroDivisionError: no$"
    for read in (lambda: result.model, lambda: result.apparent):
        with pytest.raises(FitError, match=message):
            read()


def test_a_failing_model_names_the_repeat(data):
    calls = []

    def fails(training):
        calls.append(1)
        return len(calls) == 8

    model = failing(ValueError("no"), fails)
    with pytest.raises(FitError, match="in fold 3 of repeat 2"):
        cv("y ~ a", data, model=model, k=5, repeats=2, seed=1)


def test_errors_of_the_package_keep_their_kind(data):
    model = failing(ModelError("no such"), lambda t: True)
    with pytest.raises(ModelError, match=r"^in fold 1: no such$"):
        cv("y ~ a", data, model=model, k=5, seed=1)
    holes = data.assign(a=data["a"].where(data["b"] > -1))
    with pytest.raises(ModelError, match="cannot take missing"):
        cv("y ~ a", holes, na_action="pass", seed=1)


@pytest.mark.parametrize("columns", [3, 35, 200])
@pytest.mark.parametrize("outcome", ["two", "three", "number"])
def test_missing_covariates_are_refused_whatever_the_size(columns, outcome):
    rng = np.random.default_rng(columns)
    X = rng.normal(size=(40, columns))
    X[7, 1] = np.nan
    y = {"two": X[:, 0] > 0, "three": np.digitize(X[:, 0], [-0.5, 0.5]).astype(str)}
    frame = pd.DataFrame(X).add_prefix("x").assign(y=y.get(outcome, X[:, 0]))
    models = ["linear", "neighbors"] if columns < 35 else ["neighbors"]
    if outcome != "number":
        models = [Logit(C=1.0), Logit(C=1.0, standardize=True), "neighbors"]
    for model in models:
        with pytest.raises(ModelError, match="cannot take missing"):
            cv("y ~ .", frame, model=model, k=3, na_action="pass", seed=1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_interrupts_pass_through(data, error):
    with pytest.raises(error):
        cv("y ~ a", data, model=failing(error(), lambda t: True), k=5, seed=1)


@pytest.mark.parametrize(
    "answer",
    [
        lambda X: np.zeros(len(X) + 1),
        lambda X: np.zeros((len(X), 1)),
        lambda X: np.zeros((len(X), 2)),
        lambda X: 0.5,
    ],
)
def test_predictions_of_another_shape_are_refused(data, answer):
    with pytest.raises(ModelError, match="in fold 1: logger predicted the shape"):
        cv("y ~ a", data, model=Logger(answer), k=5, seed=1)


def test_folds_that_fail_to_converge_or_separate_are_listed(data):
    folds = np.arange(50) % 5 + 1
    few = data["a"].iloc[[1, 3]].tolist()  # held out in folds 2 and 4

    def lacks(training):
        return not np.isin(few, training.X[:, 1]).all()

    model = Logger(converged=lambda t: not lacks(t))
    with pytest.warns(ConvergenceWarning) as caught:
        result = cv("y ~ a", data, model=model, scheme=folds)
    assert str(caught[0].message) == (
        "logger did not converge in 2 of 5 folds (fold 2, fold 4)."
    )
    assert result.folds.query("~converged")["fold"].tolist() == [2, 4]
    model = Logger(separated=True)
    with pytest.warns(
        SeparationWarning, match=r"5 of 5 .*\(fold 1, fold 2, fold 3, …\)"
    ):
        cv("y ~ a", data, model=model, scheme=folds)
    model = Logger(converged=False)
    with pytest.warns(
        ConvergenceWarning, match="fold 1 of repeat 1, fold 2 of repeat 1"
    ):
        cv("y ~ a", data, model=model, k=2, repeats=2, seed=1)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_absent_levels_are_listed_with_their_folds(data, n_jobs):
    rare = data.assign(h=np.where(np.arange(50) == 7, "rare", data["g"]))
    with pytest.warns(UnseenLevelWarning) as caught:
        cv("z ~ h", rare, scheme=np.arange(50) % 5 + 1, n_jobs=n_jobs)
    assert [str(warning.message) for warning in caught] == [
        "level 'rare' of h is absent from 1 training set (fold 3): 1 held-out record "
        "with it is predicted there at the mean of the levels seen."
    ]


def test_training_sets_without_a_class_or_of_one_value_are_refused(data):
    folds = data["y"].to_numpy() + 1
    with pytest.raises(OutcomeError, match=r"of fold 1 has no .*class 0 \(2 of 2"):
        cv("y ~ a", data, scheme=folds)
    flat = data.assign(z=[5.0] * 30 + list(range(20)))
    with pytest.raises(OutcomeError, match=r"constant \(5\) in .* of fold 9"):
        cv("z ~ a", flat, scheme=np.where(np.arange(50) < 30, 8, 9))
    assert cv("z ~ a", flat, scheme=np.where(np.arange(50) < 31, 8, 9)).plan.n == 50


@pytest.mark.parametrize(
    ("n_jobs", "kind"),
    [(0, ArgumentError), ("two", ArgumentTypeError), (1.5, ArgumentTypeError)],
)
def test_n_jobs_that_is_none_is_refused(data, n_jobs, kind):
    with pytest.raises(kind, match="n_jobs"):
        cv("y ~ a", data, n_jobs=n_jobs)


def test_seconds_are_measured_and_tables_are_whole(data):
    result = cv("y ~ a", data, scheme="rloocv", repeats=2, seed=1)
    held = result.held
    assert (held.seconds > 0).all()
    assert len(held.seconds) == len(held.converged) == len(held.separated) == 100
    assert held.absent == {}
    np.testing.assert_array_equal(held.fit, np.arange(100))
    np.testing.assert_array_equal(held.partner_fit, np.arange(100))


def test_a_thousand_folds_of_logistic_regression_are_quick():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1000, 2)), columns=["x1", "x2"])
    frame["y"] = (rng.logistic(size=1000) < frame["x1"]).astype(int)
    result = cv("y ~ x1 + x2", frame, scheme="loocv")
    assert result.held.seconds.sum() < 5
    bounded = float(result.estimate("auroc", "pooled"))
    assert 0.6 < bounded < 0.85


def test_progress_is_shown_when_asked_for_only(data, capsys):
    cv("y ~ a", data, model=Mean(), k=5, seed=1, progress=False)
    cv("y ~ a", data, model=Mean(), k=5, seed=1)
    assert capsys.readouterr().err == ""
    for n_jobs in (1, 2):
        cv("y ~ a", data, model=Mean(), k=5, seed=1, progress=True, n_jobs=n_jobs)
        assert re.search(r"folds: .*5/5", capsys.readouterr().err)


def test_numbers_by_nearest_neighbours_are_those_of_a_loop(data):
    model = KNeighborsRegressor(3)
    result = cv("z ~ a + b - 1", data, model=model, k=6, seed=2)
    X, z = data[["a", "b"]].to_numpy(), data["z"].to_numpy()
    for train, test in result.plan.split():
        model.fit(X[train], z[train])
        found = result.predictions.set_index("row").loc[data.index[test], "predicted"]
        np.testing.assert_allclose(found, model.predict(X[test]), atol=1e-14)


def test_a_stateful_term_is_learnt_on_the_training_rows(data):
    result = cv("z ~ scale(a)", data, model=Linear(), k=5, seed=1)
    rows = result.plan.train(0)
    part = data["a"].iloc[rows]
    scaled = (part - part.mean()) / part.std(ddof=0)
    expected = np.polyfit(scaled, data["z"].iloc[rows], 1)[::-1]
    found = result.coefficients.iloc[0, 2:].astype(float)
    np.testing.assert_allclose(found, expected, atol=1e-12)
