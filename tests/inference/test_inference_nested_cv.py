"""Nested cross-validation, compared with a loop for Algorithm 1 of Bates et al."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import statcv as scv
from statcv.engine import Setup
from statcv.errors import ArgumentError, ArgumentTypeError, MetricError, SchemeError
from statcv.folds import make_plan
from statcv.inference.refits import nested_cv as module
from statcv.inference.refits.nested_cv import nested_cv, nested_cv_interval, nested_fits
from statcv.metrics import METRICS
from statcv.models import Linear, Logit, Mean


def frame(n=30, seed=4):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    data["y"] = (data["a"] + rng.logistic(size=n) > 0).astype(int)
    data["z"] = data["a"] + rng.normal(size=n)
    return data


def setup_of(result):
    return Setup(
        result.design, result.plan, result.learner, result.seed, result.weights
    )


def algorithm(X, y, fit, loss, folds, z):
    """Return estimate and interval; ``folds`` has the fold number of each row."""
    a_list, b_list, inner, outer, sizes = [], [], [], [], []
    K = folds.max() + 1
    for fold in folds:
        alone = []
        for out in range(K):
            e_in = []
            for held in range(K):
                if held == out:
                    continue
                train, test = (fold != out) & (fold != held), fold == held
                e_in += list(loss(y[test], fit(X[train], y[train], X[test])))
            train, test = fold != out, fold == out
            e_out = loss(y[test], fit(X[train], y[train], X[test]))
            a_list.append((np.mean(e_in) - np.mean(e_out)) ** 2)
            b_list.append(np.var(e_out, ddof=1) / len(e_out))
            inner += e_in
            alone += list(e_out)
        outer.append(np.mean(alone))
        sizes.append(len(alone))
    mse = np.mean(a_list) - np.mean(b_list)
    err_ncv, err_cv = np.mean(inner), np.mean(outer)
    naive = np.std(inner, ddof=1) / np.sqrt(np.mean(sizes))
    se = np.sqrt((K - 1) / K) * np.sqrt(max(mse, 0))
    se = min(max(se, naive), np.sqrt(K) * naive)
    value = err_ncv - (1 + (K - 2) / K) * (err_ncv - err_cv)
    return value, value - z * se, value + z * se, mse


def ridge(X, y, new):
    model = LogisticRegression(C=1.0, tol=1e-12, solver="newton-cholesky")
    return model.fit(X, y).predict_proba(new)[:, 1]


def least_squares(X, y, new):
    return LinearRegression().fit(X, y).predict(new)


LOSSES = {
    "accuracy": lambda y, p: ((p > 0.5) == y).astype(float),
    "brier": lambda y, p: (y - p) ** 2,
    "log_loss": lambda y, p: -np.log(np.where(y == 1, p, 1 - p)),
    "mse": lambda y, p: (y - p) ** 2,
    "mae": lambda y, p: abs(y - p),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("k", [3, 4])
def test_it_is_algorithm_1(name, k):
    data, outcome = frame(), "z" if name.startswith("m") else "y"
    scheme = "kfold" if outcome == "z" else "stratified_kfold"
    model, fit = (Linear(), least_squares) if outcome == "z" else (Logit(C=1.0), ridge)
    result = scv.cv(f"{outcome} ~ a + b", data, model=model, scheme=scheme, k=k, seed=5)
    made = nested_cv(setup_of(result), METRICS[name], level=0.9, repeats=3, seed=8)
    y = data[outcome].to_numpy()
    kind = "continuous" if outcome == "z" else "binary"
    folds = make_plan(scheme, y, kind, k=k, repeats=3, seed=8).held_out
    X = data[["a", "b"]].to_numpy()
    expected = algorithm(X, y, fit, LOSSES[name], folds, 1.6448536269514722)
    found = made.value, made.lower, made.upper, made.mse
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    assert made.k == k
    assert 1 <= made.se / made.naive_se <= np.sqrt(k)


def test_batches_and_processes_change_nothing(monkeypatch):
    setup = setup_of(scv.cv("y ~ a", frame(), model=Logit(C=1.0), k=3, seed=1))
    whole = nested_cv(setup, METRICS["brier"], repeats=7)
    monkeypatch.setattr(module, "PREDICTIONS", 200)
    parts = nested_cv(setup, METRICS["brier"], repeats=7, n_jobs=2)
    assert parts.value == pytest.approx(whole.value, abs=1e-12)
    assert parts.mse == pytest.approx(whole.mse, abs=1e-12)
    assert nested_cv(setup, METRICS["brier"], repeats=7, seed=2) != whole


def test_without_anything_to_learn_the_spread_is_that_of_independent_losses():
    """Over random divisions the mean of a - b is s²/n_in if all fits are equal."""
    data = frame(300, seed=2)
    result = scv.cv("z ~ 1", data, model=Mean(), scheme="kfold", k=3, seed=1)
    made = nested_cv(setup_of(result), METRICS["mae"], repeats=400)
    losses = (data["z"] - data["z"].mean()).abs()
    assert made.naive_se == pytest.approx(losses.std() / np.sqrt(300), rel=0.02)
    assert made.mse == pytest.approx(losses.var() / 200, rel=0.3)
    assert made.se / made.naive_se < 1.1
    assert made.value == pytest.approx(losses.mean(), rel=0.02)


def test_interval_of_the_root_is_the_root():
    data = frame()
    result = scv.cv("z ~ a", data, model=Linear(), scheme="kfold", k=3, seed=1)
    setup = setup_of(result)
    square = nested_cv_interval(setup, METRICS["mse"], 0.95, repeats=4)
    root = nested_cv_interval(setup, METRICS["rmse"], 0.95, repeats=4)
    assert root.upper == pytest.approx(np.sqrt(square.upper))
    assert root.lower == pytest.approx(np.sqrt(max(square.lower, 0)))
    assert square.method == "nested cross-validation"
    assert "4 random divisions into 3 folds" in square.assumes


def test_fits_are_counted_in_advance():
    assert nested_fits(5, 50) == 50 * (5 + 10)


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_unavailable_intervals_have_a_reason():
    data = frame().assign(who=np.arange(30) // 2)
    setup = setup_of(scv.cv("y ~ a", data, k=3, seed=1))
    with pytest.raises(MetricError, match="auROC is not a mean over records"):
        nested_cv(setup, METRICS["auroc"])
    with pytest.raises(ArgumentTypeError, match="repeats"):
        nested_cv(setup, METRICS["brier"], repeats=2.5)
    with pytest.raises(ArgumentError, match="repeats"):
        nested_cv(setup, METRICS["brier"], repeats=0)
    for arguments in (
        {"scheme": "loocv"},
        {"scheme": "rkfold", "k": 3},
        {"scheme": "kfold", "k": 3, "stratify": scv.by_value("who")},
        {"scheme": "kfold", "k": 2},
        {"scheme": "kfold", "k": 16},
    ):
        other = setup_of(scv.cv("y ~ a", data, seed=1, **arguments))
        with pytest.raises(SchemeError, match="nested cross-validation"):
            nested_cv(other, METRICS["brier"])
        assert nested_cv_interval(other, METRICS["brier"], 0.95).method == "none"
    data["told"] = 10 * data["y"]
    alike = setup_of(scv.cv("y ~ told", data, model=Logit(C=1.0), k=3, seed=1))
    same = nested_cv_interval(alike, METRICS["accuracy"], 0.95, repeats=2)
    assert same.assumes == "all records have the same loss"


@pytest.mark.filterwarnings("ignore::statcv.errors.UnseenLevelWarning")
@pytest.mark.parametrize("alone", [0, 1])  # records whose level no other one has
def test_nested_folds_treat_new_levels_as_the_folds_of_the_result_do(alone):
    """Records whose level a training set lacks are omitted by a loop as well."""
    data = frame(31).assign(site=["A"] * alone + ["D", "D", *"BC" * 15][: 31 - alone])
    call = {"formula": "z ~ site + a", "data": data, "k": 4, "seed": 2}
    res = scv.cv(**call, new_levels="omit")
    assert bool(res.held.omitted) == bool(alone)
    made = nested_cv(res.refits.setup, METRICS["mse"], repeats=6, seed=8, level=0.9)

    def of_levels_seen(X, y, new):
        seen = np.unique(X[:, 0])
        coded = [np.column_stack([one[:, :1] == seen, one[:, 1:]]) for one in (X, new)]
        made = LinearRegression(fit_intercept=False).fit(coded[0], y)
        return np.where(np.isin(new[:, 0], seen), made.predict(coded[1]), np.nan)

    def loss(y, p):
        return ((y - p) ** 2)[~np.isnan(p)]

    y, X = data["z"].to_numpy(), data[["a"]].to_numpy()
    X = np.column_stack([pd.factorize(data["site"])[0], X])
    folds = make_plan("kfold", y, "continuous", k=4, repeats=6, seed=8).held_out
    expected = algorithm(X, y, of_levels_seen, loss, folds, 1.6448536269514722)
    found = made.value, made.lower, made.upper, made.mse
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    if alone:  # the other record of its fold of two is the only one that counts
        pairs = scv.cv(**call | {"k": 15}, new_levels="omit").refits.setup
        assert np.isnan(nested_cv(pairs, METRICS["mse"], repeats=6).se)
    else:
        strict = scv.cv(**call, new_levels="error").refits.setup
        said = nested_cv_interval(strict, METRICS["mse"], 0.95, repeats=6).assumes
        assert "new_levels='error' refuses" in said
        at_mean = scv.cv(**call).refits.setup
        assert nested_cv(at_mean, METRICS["mse"], repeats=6, seed=8).mse != made.mse
