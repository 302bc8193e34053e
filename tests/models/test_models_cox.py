"""Cox regression against R's survival, separate fits, and slow sums over risk sets."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from statcv import cv
from statcv.engine import Setup
from statcv.errors import ModelError, SeparationWarning
from statcv.folds import make_plan
from statcv.formula import make_design
from statcv.models import Cox, Linear, Logit, Mean, NegMean, TrainingSet
from statcv.models.batched import Folds, fit_all_folds, permuted_folds
from statcv.numeric.survival import signed_times

REFERENCE = Path(__file__).parent.parent / "reference"
HORIZONS = (2.0, 5.0)


def records_of(X, y, weights=None, horizons=HORIZONS):
    """Records with an intercept, which Cox regression does not use."""
    X = np.column_stack([np.ones(len(X)), X])
    names = ("Intercept", *(f"x{j}" for j in range(1, X.shape[1])))
    return TrainingSet(
        X, y, "survival", 0, names, 0, weights, seed=0, horizons=horizons
    )


def sample(seed=0, n=60, p=3, ties=True, signal=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 3
    time = rng.exponential(4 * np.exp(-signal * (X[:, 0] - 3)))
    censored = rng.exponential(6, n)
    y = signed_times(np.minimum(time, censored), time <= censored)
    return X, np.sign(y) * np.ceil(np.abs(y)) if ties else y


def cases():
    data = pd.read_csv(REFERENCE / "cox_cases.csv")
    y = signed_times(data["time"].to_numpy(float), data["status"].to_numpy() == 1)
    return data, data[["a", "b", "c"]].to_numpy(float), y


SETTINGS = {
    "efron": (Cox(), False),
    "breslow": (Cox(ties="breslow"), False),
    "efron weighted": (Cox(), True),
    "efron ridge": (Cox(C=0.5), False),
    "breslow ridge": (Cox(ties="breslow", C=0.5), False),
}


@pytest.mark.parametrize("scheme", ["loocv", "kfold"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_training_set_has_the_fit_of_r(setting, scheme):
    data, X, y = cases()
    model, weighted = SETTINGS[setting]
    expected = pd.read_csv(REFERENCE / "cox_r.csv")
    expected = expected[(expected.setting == setting) & (expected.scheme == scheme)]
    group = np.arange(len(data)) if scheme == "loocv" else data["fold"].to_numpy()
    out = [np.flatnonzero(group == one) for one in np.unique(group)]
    weights = data["weight"].to_numpy() if weighted else None
    fitted = model.fit_folds(records_of(X, y, weights), Folds.leaving_out(out))
    assert fitted.converged.all()
    assert not fitted.separated.any()
    known = expected[["a", "b", "c"]].to_numpy()
    np.testing.assert_allclose(np.asarray(fitted.coefficients), known, atol=1e-8)
    hazard = np.exp(fitted.linear.baseline[:, 0] + fitted.linear.constant[:, None])
    known = expected[["h2", "h5"]].to_numpy()
    np.testing.assert_allclose(hazard, known, rtol=1e-8)


# ---- fits together are those of each training set alone ----


def samples_of(n, fits, seed=1):
    rng = np.random.default_rng(seed)
    return rng.multinomial(n, np.full(n, 1 / n), fits).astype(np.int32)


def assert_together_as_alone(model, records, folds):
    """Check that fits together predict and converge as each alone; return them."""
    fitted = fit_all_folds(model, records, folds)
    found, beta = fitted.predict_all(len(records.X)), np.asarray(fitted.coefficients)
    for fit in range(len(folds)):
        alone = model.fit(folds.training_set(records, fit))
        X = folds.matrix(records, fit, np.arange(len(records.X)))
        # where steps towards infinity end is a matter of rounding, but not the risk
        some = slice(1 if alone.separated else 0, None)
        expected = alone.predict(X)
        np.testing.assert_allclose(found[fit, :, some], expected[:, some], atol=1e-8)
        if not alone.separated:
            known = list(alone.coefficients.values())
            np.testing.assert_allclose(np.nan_to_num(beta[fit]), known, atol=1e-8)
        assert fitted.converged[fit] == alone.converged
        assert fitted.separated[fit] == alone.separated
    rows = np.arange(len(records.X))
    some = fitted.predict(rows, rows % len(folds))
    np.testing.assert_allclose(some, found[rows % len(folds), rows], atol=1e-12)
    return fitted


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("C", [None, 0.3])
def test_bootstrap_samples_are_fitted_as_their_records_repeated(ties, C):
    X, y = sample()
    model, folds = Cox(ties=ties, C=C), Folds.of_times(samples_of(len(X), 20))
    fitted = assert_together_as_alone(model, records_of(X, y), folds)
    assert fitted.converged.all()


@pytest.mark.parametrize(
    "model", [Cox(), Cox(firth=True), Cox(C=0.1, standardize=True)]
)
def test_weights_of_records_and_of_the_plan_multiply(model):
    X, y = sample(1)
    rng = np.random.default_rng(2)
    given, planned = rng.uniform(0.5, 2, len(X)), rng.uniform(0.2, 1, (6, len(X)))
    folds = Folds.leaving_out(np.arange(60).reshape(6, 10))
    folds = replace(folds, weights=lambda fits: planned[fits])
    assert assert_together_as_alone(
        model, records_of(X, y, given), folds
    ).converged.all()


def test_a_weight_of_0_leaves_a_record_out():
    X, y = sample(2)
    weights = np.ones(len(X))
    weights[:15] = 0
    centre = np.append(1.0, X.mean(axis=0))
    one = Cox().fit(replace(records_of(X, y, weights), centre=centre))
    other = Cox().fit(replace(records_of(X[15:], y[15:]), centre=centre))
    at = np.column_stack([np.ones(len(X)), X])
    np.testing.assert_allclose(one.predict(at), other.predict(at), atol=1e-10)


@pytest.mark.parametrize(
    "model", [Cox(), Cox(firth=True), Cox(C=1.0, standardize=True)]
)
def test_permuted_outcomes_are_fitted_as_each_by_itself(model):
    X, y = sample(3, n=40, p=2)
    rng = np.random.default_rng(3)
    outcomes = np.stack([y, *(rng.permutation(y) for _ in range(4))])
    plan = Folds.leaving_out(np.arange(40).reshape(5, 8))
    records = replace(records_of(X, y), y=outcomes)
    assert_together_as_alone(model, records, permuted_folds(plan, 5))


@pytest.mark.parametrize(
    "model", [Cox(), Cox(firth=True), Cox(C=0.5, standardize=True)]
)
def test_terms_that_are_learnt_in_each_training_set(model):
    X, y = sample(15)
    data = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "z": y})
    design = make_design("z ~ bs(a, df=4) + scale(b)", data, scope={})
    plan = make_plan("kfold", design.y, "continuous", k=6, seed=1)
    setup = Setup(design, plan, Linear(), 1)
    assert setup.folds.matrices is not None
    records = replace(setup.records, y=y, kind="survival", horizons=HORIZONS)
    assert assert_together_as_alone(model, records, setup.folds).converged.all()


@pytest.mark.parametrize("standardize", [False, True])
def test_a_ridge_of_more_columns_than_records(standardize):
    X, y = sample(4, n=30, p=50)
    model, folds = Cox(C=0.2, standardize=standardize), Folds.leaving_out([[0], [1, 2]])
    fitted = assert_together_as_alone(model, records_of(X, y), folds)
    assert fitted.converged.all()
    assert not fitted.separated.any()
    # the optimum of the penalised likelihood: its derivatives are 0
    train = folds.training_set(records_of(X, y), 1)
    beta, ridge = np.asarray(fitted.coefficients)[1], model.ridge(train)[1:]
    for j in (0, 20):
        step = np.zeros(50)
        step[j] = 1e-5
        values = [
            slow_log_likelihood(beta + k * step, train.X[:, 1:], train.y)
            - (ridge * (beta + k * step) ** 2).sum() / 2
            for k in (-1, 1)
        ]
        assert abs(values[1] - values[0]) / 2e-5 < 1e-5


def slow_log_likelihood(beta, X, y, ties="efron"):
    """Sums over risk sets by definition, one event after the other."""
    time, event, eta = np.abs(y), y > 0, X @ beta
    total = 0.0
    for one in np.unique(time[event]):
        dying = event & (time == one)
        d, at_risk = dying.sum(), np.exp(eta[time >= one]).sum()
        total += eta[dying].sum()
        for turn in range(d):
            share = turn / d if ties == "efron" else 0.0
            total -= np.log(at_risk - share * np.exp(eta[dying]).sum())
    return total


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_the_fit_maximises_the_partial_likelihood(ties):
    X, y = sample(5)
    beta = list(Cox(ties=ties).fit(records_of(X, y)).coefficients.values())
    slow = minimize(lambda b: -slow_log_likelihood(b, X, y, ties), np.zeros(3))
    np.testing.assert_allclose(beta, slow.x, atol=1e-4)


# ---- training sets that say little ----


def test_without_covariates_risk_is_that_of_the_baseline():
    y = signed_times(np.array([1.0, 2, 2, 3, 4]), np.array([1, 1, 0, 1, 0]))
    records = records_of(np.empty((5, 0)), y, horizons=(0.5, 2.0, 9.0))
    fitted = assert_together_as_alone(Cox(), records, Folds.leaving_out([[], [0]]))
    assert fitted.names == ()
    hazard = np.array([[0, 1 / 5 + 1 / 4, 1 / 5 + 1 / 4 + 1 / 2], [0, 1 / 4, 3 / 4]])
    np.testing.assert_allclose(fitted.predict_all(5)[:, 0, 1:], 1 - np.exp(-hazard))
    assert (fitted.predict_all(5)[:, :, 0] == 0).all()


def test_a_training_set_without_events_predicts_no_risk_and_is_flagged():
    X, y = sample(6)
    rest = np.flatnonzero(y > 0)
    for model in (Cox(), Cox(C=1.0)):
        folds = Folds.leaving_out([rest, [0]])
        fitted = assert_together_as_alone(model, records_of(X, y), folds)
        assert fitted.converged.tolist() == [False, True]
        assert (fitted.predict_all(len(X))[0] == 0).all()
    censored = assert_together_as_alone(Cox(), records_of(X, -np.abs(y)), folds)
    assert not censored.converged.any()


def test_constant_and_dependent_columns_leave_other_predictions_as_they_are():
    X, y = sample(7)
    folds = Folds.leaving_out(np.arange(60).reshape(6, 10))
    plain = assert_together_as_alone(Cox(), records_of(X, y), folds).predict_all(60)
    more = np.column_stack([X, np.full(60, 0.1), X[:, 0] - 2 * X[:, 1]])
    fitted = assert_together_as_alone(Cox(), records_of(more, y), folds)
    assert fitted.converged.all()
    np.testing.assert_allclose(fitted.predict_all(60), plain, atol=1e-8)


def test_a_column_that_is_constant_in_one_training_set_has_no_part_in_it():
    X, y = sample(8)
    rare = np.zeros(60)
    rare[:3] = 1
    folds = Folds.leaving_out([[0, 1, 2], [10]])
    fitted = assert_together_as_alone(
        Cox(), records_of(np.column_stack([X, rare]), y), folds
    )
    plain = assert_together_as_alone(Cox(), records_of(X, y), folds)
    assert fitted.converged.all()
    assert np.isnan(np.asarray(fitted.coefficients)).tolist() == [
        [False, False, False, True],
        [False] * 4,
    ]
    beta = np.asarray(fitted.coefficients)[0, :3]
    np.testing.assert_allclose(beta, np.asarray(plain.coefficients)[0], atol=1e-8)


def test_monotone_likelihood_is_called_separated():
    X, y = sample(9, n=40, p=2)
    X[:, 1] = (y > 0) & (np.abs(y) <= np.sort(np.abs(y[y > 0]))[4])
    X = np.column_stack([X, np.arange(40) % 3])
    folds = Folds.leaving_out([[39], np.flatnonzero(X[:, 1])[1:]])
    fitted = assert_together_as_alone(Cox(), records_of(X, y), folds)
    assert fitted.separated.tolist() == [True, True]
    assert np.isfinite(fitted.predict_all(40)).all()
    assert not Cox(C=10.0).fit(records_of(X, y)).separated
    wide = sample(10, n=20, p=30)
    assert Cox().fit(records_of(*wide)).separated


def penalised(beta, X, y, efron):
    """Minus the log partial likelihood and half the log determinant, by risk sets."""
    time, event, hazard = np.abs(y), y > 0, np.exp(X @ beta)
    value, information = 0.0, np.zeros((len(beta), len(beta)))
    for end in np.unique(time[event]):
        dead = (time == end) & event
        value += (X[dead] @ beta).sum()
        for turn in range(dead.sum()):
            left = turn / dead.sum() if efron else 0.0
            rate = hazard * ((time >= end) - left * dead)
            value -= np.log(rate.sum())
            share = rate / rate.sum()
            away = X - share @ X
            information += away.T @ (away * share[:, None])
    return -value - np.linalg.slogdet(information)[1] / 2


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("monotone", [False, True])
def test_firths_penalty_has_its_maximum_where_it_is_by_definition(ties, monotone):
    X, y = sample(12, n=40)
    X[:, 2] = np.arange(40) % 4 == 0
    if monotone:  # no event where the last column is 1
        y = np.where(X[:, 2] == 1, -np.abs(y), y)
    folds = Folds.leaving_out([[], [3], [0, 7, 20]])
    model = Cox(ties=ties, firth=True)
    fitted = assert_together_as_alone(model, records_of(X, y), folds)
    assert fitted.converged.all()
    assert not fitted.separated.any()
    plain = Cox(ties=ties).fit_folds(records_of(X, y), folds)
    assert plain.separated.all() == monotone
    for fit, out in enumerate([[], [3], [0, 7, 20]]):
        rest = np.setdiff1d(np.arange(40), out)
        args = (X[rest] - X.mean(axis=0), y[rest], ties == "efron")
        best = minimize(penalised, np.zeros(3), args, options={"gtol": 1e-8})
        np.testing.assert_allclose(fitted.coefficients[fit], best.x, atol=1e-5)
        assert penalised(fitted.coefficients[fit], *args) < best.fun + 1e-11


def test_firths_penalty_is_that_of_repeated_records_and_of_independent_columns():
    X, y = sample(13, n=30, p=2, ties=False)
    weights = np.where(np.arange(30) % 3 == 0, 2.0, 1.0)
    many = np.repeat(np.arange(30), weights.astype(int))
    model = Cox(ties="breslow", firth=True)
    weighted = model.fit(records_of(X, y, weights))
    twice = model.fit(records_of(X[many], y[many]))
    for name, value in twice.coefficients.items():
        assert weighted.coefficients[name] == pytest.approx(value, abs=1e-9)
    wide = records_of(np.column_stack([X, X[:, 0] - X[:, 1], np.ones(30)]), y)
    np.testing.assert_allclose(
        model.fit(wide).predict(wide.X),
        model.fit(records_of(X, y)).predict(wide.X[:, :3]),
        atol=1e-9,
    )


def test_firths_penalty_does_not_depend_on_scales_and_admits_few_events():
    X, y = sample(14, n=30)
    plain = Cox(firth=True).fit(records_of(X, y)).coefficients
    scaled = Cox(firth=True).fit(records_of(X * [1e-3, 1.0, 1e4], y)).coefficients
    for name, factor in zip(plain, [1e-3, 1.0, 1e4], strict=True):
        assert scaled[name] * factor == pytest.approx(plain[name], abs=1e-8)
    y = -np.abs(y)
    y[np.argmax(X[:, 0])] *= -1
    one = Cox(firth=True).fit(records_of(X[:, :1], y))
    assert one.converged
    assert 0 < one.coefficients["x1"] < 10


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"firth": 1}, "firth must be True"),
        ({"firth": True, "C": 1.0}, "two penalties"),
    ],
)
def test_firths_penalty_is_used_alone(given, message):
    with pytest.raises(ModelError, match=message):
        Cox(**given)


def test_monotone_likelihood_is_reported_with_what_to_do():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.normal(size=40), "b": np.arange(40) % 4 == 0})
    data["time"] = rng.exponential(size=40)
    data["status"] = (~data["b"]).astype(int)
    with pytest.warns(SeparationWarning, match=r"monotone .* in 4 of 4 .*firth=True"):
        cv("Surv(time, status) ~ x + b", data, k=4, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparationWarning)
        result = cv("Surv(time, status) ~ x + b", data, model=Cox(firth=True), k=4)
    assert float(result.estimate("harrell_c")) > 0.5


def test_one_event_determines_nothing():
    X, y = sample(11, n=20, p=1)
    y = -np.abs(y)
    y[np.argmax(X[:, 0])] *= -1
    assert Cox().fit(records_of(X, y)).separated


def test_a_scale_or_shift_of_covariates_changes_no_prediction():
    X, y = sample(12)
    folds = Folds.leaving_out([[i] for i in range(60)])
    plain = Cox().fit_folds(records_of(X, y), folds).predict_all(60)
    other = X * np.array([1e-6, 1e5, 1.0]) + np.array([0, 0, 2000.0])
    moved = Cox().fit_folds(records_of(other, y), folds).predict_all(60)
    np.testing.assert_allclose(moved, plain, atol=1e-8)


def test_large_linear_predictors_do_not_overflow():
    X, y = sample(13)
    fit = Cox(C=1.0).fit(records_of(X * 1e4, y))
    assert fit.converged
    assert np.isfinite(fit.predict(np.column_stack([np.ones(60), X * 1e4]))).all()


def test_what_does_not_fit_is_refused():
    X, y = sample()
    with pytest.raises(ModelError, match="does not fit a continuous outcome"):
        Cox().check("continuous")
    for model in (Logit(), Linear()):
        with pytest.raises(ModelError, match="a time-to-event outcome; use Cox"):
            model.check("survival")
    X[3, 1] = np.nan
    with pytest.raises(ModelError, match="missing covariates"):
        Cox().fit(records_of(X, y))
    for wrong in ({"C": 0}, {"C": "a"}, {"ties": "exact"}, {"standardize": 2}):
        with pytest.raises(ModelError, match=next(iter(wrong))):
            Cox(**wrong)


@pytest.mark.parametrize(("model", "sign"), [(Mean(), 1), (NegMean(), -1)])
def test_a_model_without_predictors_predicts_the_baseline_for_all(model, sign):
    X, y = sample(14, n=30)
    records, folds = records_of(X, y), Folds.leaving_out([[0, 1], [5]])
    baseline = Cox().fit_folds(records_of(np.empty((30, 0)), y), folds).predict_all(30)
    found = model.fit_folds(records, folds)
    np.testing.assert_allclose(found.predict_all(30), sign * baseline)
    alone = model.fit(folds.training_set(records, 1))
    np.testing.assert_allclose(alone.predict(records.X), sign * baseline[1])


@pytest.mark.parametrize("seed", range(30))
def test_few_records_of_any_kind_have_fits_or_flags(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(3, 20)), int(rng.choice([0, 1, 3, 25]))
    X = rng.normal(size=(n, p))
    X[:, :1] = X[:, :1] > 0
    time = np.ceil(3 * rng.exponential(size=n))
    y = signed_times(time, rng.uniform(size=n) < rng.choice([0.1, 0.5, 1.0]))
    model = Cox(C=rng.choice([None, 1.0]), ties=str(rng.choice(["efron", "breslow"])))
    folds = Folds.of_times(samples_of(n, 10, seed))
    fitted = model.fit_folds(records_of(X, y), folds)
    predicted = fitted.predict_all(n)
    assert np.isfinite(predicted).all()
    assert (predicted[..., 1:] >= 0).all()
    assert (predicted[..., 1:] <= 1).all()
    events = [(y[folds.train(fit, n)] > 0).any() for fit in range(10)]
    assert fitted.converged.tolist() == events
