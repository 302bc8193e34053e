"""How predictions change with training records, beside refits with other weights."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.special import expit
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import statcv as scv
from statcv.engine import Setup, fit_all, run
from statcv.engine.checkpoint import from_bytes, to_bytes
from statcv.engine.tasks import fit_one_by_one
from statcv.folds import Bags, make_plan
from statcv.formula import make_design
from statcv.models import Linear, Logit, Statsmodels, Updating, resolve_model
from statcv.models.likelihood import Bernoulli
from statcv.models.linear_fits import ARRAYS, joined_fits
from statcv.numeric.inverses import inverted
from statcv.sensitivity import Sensitivity

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.FoldWarning",
    "ignore::statcv.errors.DistributionalBiasWarning",
    "ignore::statcv.errors.ConvergenceWarning",
)

N = 48
STEP = 1e-4  # step of a weight


def frame():
    rng = np.random.default_rng(4)
    a, b, c = rng.normal(size=(3, N))
    lean = rng.logistic(size=N) + a - 0.5 * b
    made = pd.DataFrame({"a": 3 * a + 5, "b": b, "c": c})
    made["hole"] = np.where(rng.uniform(size=N) < 0.2, np.nan, c)
    made["group"] = rng.choice(["u", "v", "w"], N)
    made["two"] = (lean > 0.4).astype(int)
    made["three"] = np.digitize(lean, [-0.5, 0.9])
    made["number"] = lean
    made["count"] = rng.poisson(np.exp(0.3 * a + 0.5))
    made["share"] = 1 / (1 + np.exp(-lean))
    made["above"] = np.exp(0.2 * lean)
    return made


def weights():
    return np.random.default_rng(5).uniform(0.3, 2.0, N)


def setup_of(model, formula, given, scheme="kfold", how=None, **more):
    na = "pass" if "hole" in formula else "drop"
    design = make_design(formula, frame(), scope={}, na_action=na)
    kind, y = design.outcome.kind, design.y
    size = {"k": 3} if scheme in ("kfold", "rkfold") else {}
    plan = make_plan(scheme, y, kind, rebalance=how, seed=3, **size, **more)
    return Setup(design, plan, resolve_model(model, kind), 1, given)


def held_of(setup):
    given = setup.weights
    parts = setup.design, setup.plan, setup.model
    return run(*parts, seed=setup.seed, weights=given, n_jobs=1)


def sensitivity_of(setup, held):
    sensitivity = Sensitivity.of(setup, held)
    assert sensitivity is not None
    return sensitivity


def moved(setup, record, change):
    """Return held-out predictions with another weight of a record, by one step."""
    held = held_of(setup)
    reference = sensitivity_of(setup, held).reference
    weights = np.zeros((1, N))
    weights[0, record] = change
    eta = reference.likelihood.link(held.predicted).reshape(len(held.fit), -1)
    shifted = eta + reference.shifts(weights, held.fit, held.row)[0]
    mean = reference.likelihood.mean(shifted)
    return mean.reshape(held.predicted.shape) - held.predicted


def refitted(setup, record, change):
    """Return the same by refits."""
    given = np.ones(N) if setup.weights is None else setup.weights.copy()
    given[record] *= 1 + change
    again = held_of(replace(setup, weights=given))
    return again.predicted - held_of(setup).predicted


def assert_like_refits(setup, records=(0, 7, 20, 41), least=0.97, within=(0.75, 1.5)):
    """Check direction and size of what a small change of a weight does.

    Steps are longer than the derivative by 1/(1 - h), and all fits have the information
    of the fit to all records.
    """
    pairs = [(moved(setup, j, STEP), refitted(setup, j, STEP)) for j in records]
    found, slow = (
        np.concatenate([one.ravel() for one in of]) for of in zip(*pairs, strict=True)
    )
    assert found @ slow / np.sqrt((found @ found) * (slow @ slow)) > least
    assert within[0] < found @ slow / (slow @ slow) < within[1]


def logistic(**more):
    return LogisticRegression(solver="newton-cholesky", tol=1e-12, **more)


SCALED = make_pipeline(StandardScaler(), logistic(C=0.3))
FILLED = make_pipeline(SimpleImputer(), StandardScaler(), logistic(C=0.3))
TWICE = make_pipeline(make_pipeline(MinMaxScaler(), RobustScaler()), Ridge(alpha=2.0))
OLD = {"Intercept": -2.0, "a": 0.4, "b": -0.2}
GLM, FAMILIES, LINKS = sm.GLM, sm.families, sm.families.links
MODELS = {
    "unpenalised": (Logit(), "two ~ a + b + c"),
    **{
        f"updated: {method}, {kind}": (Updating(OLD, method, kind=kind), f"{y} ~ a + b")
        for method in ("intercept", "slope", "refit")
        for kind, y in [("binary", "two"), ("continuous", "number")]
    },
    "updated: shrink": (
        Updating(OLD, "shrink", strength=3.0, kind="binary"),
        "two ~ a + b",
    ),
    "ridge": (Logit(C=0.2), "two ~ a + b + group"),
    "Firth": (Logit(firth=True), "two ~ a + b"),
    "FLIC": (Logit(flic=True), "two ~ a + b"),
    "FLIC, learnt terms": (Logit(flic=True), "two ~ scale(a) + b"),
    "without an intercept": (Logit(C=1.0), "two ~ 0 + a + b"),
    "center": (Logit(C=0.2), "two ~ center(a) + b"),
    "splines": (Logit(C=0.5), "two ~ bs(a, df=4) + b"),
    "three classes": (Logit(), "C(three) ~ a + b"),
    "three classes, ridge": (Logit(C=0.2), "C(three) ~ a + scale(b)"),
    "least squares": (Linear(), "number ~ a + bs(b, df=4)"),
    "linear probabilities": (Linear(), "two ~ a + b"),
    "sklearn, no penalty": (logistic(C=np.inf), "two ~ a + b"),
    "sklearn, no intercept": (logistic(fit_intercept=False), "two ~ a + b"),
    "sklearn adds an intercept": (logistic(), "two ~ 0 + a + b"),
    "sklearn, classes": (logistic(C=0.4), "C(three) ~ a + b"),
    "class weights": (logistic(class_weight={0: 1, 1: 3}), "two ~ a + b"),
    "balanced": (logistic(class_weight="balanced"), "two ~ a + b"),
    "balanced classes": (logistic(class_weight="balanced"), "C(three) ~ a"),
    "scaled": (SCALED, "two ~ a + b"),
    "filled in": (FILLED, "two ~ a + hole"),
    "LinearRegression": (LinearRegression(), "number ~ a + b"),
    "Ridge": (Ridge(alpha=3.0), "number ~ a + b"),
    "Ridge, scaled twice": (TWICE, "number ~ a + b"),
    "WLS": (Statsmodels(sm.WLS), "number ~ a + b"),
    "GLM, logit": (Statsmodels(GLM, family=FAMILIES.Binomial()), "two ~ a"),
    "GLM, shares": (Statsmodels(GLM, family=FAMILIES.Binomial()), "share ~ a + b"),
    "GLM, log": (Statsmodels(GLM, family=FAMILIES.Poisson()), "count ~ a + b"),
    "GLM, identity": (Statsmodels(GLM), "number ~ a + b"),
    "GLM, probit": (
        Statsmodels(GLM, family=FAMILIES.Binomial(LINKS.Probit()), fit={"tol": 1e-12}),
        "two ~ a + b",
    ),
    "GLM, gamma with a log link": (
        Statsmodels(GLM, family=FAMILIES.Gamma(LINKS.Log()), fit={"tol": 1e-14}),
        "above ~ a + b",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_predictions_move_as_refits_show(name):
    assert_like_refits(setup_of(*MODELS[name], weights(), scheme="loocv"))


@pytest.mark.parametrize(
    ("scheme", "how"),
    [
        ("kfold", None),
        ("montecarlo", None),
        ("bootstrap", None),
        ("leave_pair_out", None),
    ],
)
def test_predictions_move_as_refits_show_under_any_plan(scheme, how):
    more = {"repeats": 3} if scheme in ("bootstrap", "montecarlo") else {}
    setup = setup_of(Logit(C=0.5), "two ~ a + b", weights(), scheme, how, **more)
    assert_like_refits(setup, least=0.9, within=(0.6, 1.7))


@pytest.mark.parametrize(
    ("scheme", "how"),
    [
        ("rloocv", "weight"),
        ("rloocv", "subsample"),
        ("rkfold", "subsample"),
        ("kfold", "upsample"),
        ("kfold", Bags(2)),
    ],
)
@pytest.mark.parametrize("given", [None, weights()], ids=["unweighted", "weighted"])
def test_a_class_whose_total_is_fixed_moves_nothing_as_a_whole(scheme, how, given):
    setup = setup_of(Logit(C=0.5), "two ~ a + b", given, scheme, how)
    reference = sensitivity_of(setup, held_of(setup)).reference
    classes = setup.design.y[None] == np.array([[0], [1]])
    moved = reference.predictors(classes.astype(float)) - reference.eta
    one = reference.predictors(np.eye(N)) - reference.eta
    assert np.abs(moved).max() < 1e-9
    assert np.abs(one).max() > 1e-3


def test_a_step_of_least_squares_is_exactly_a_deletion():
    setup = setup_of(Linear(), "number ~ a + b", None, scheme="kfold")
    reference = sensitivity_of(setup, held_of(setup)).reference
    X, y = setup.design.matrix, setup.design.y
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(reference.eta[:, 0], X @ beta, rtol=1e-10)
    without = np.zeros((1, N))
    without[0, 5] = -1
    kept = np.arange(N) != 5
    beta = np.linalg.lstsq(X[kept], y[kept], rcond=None)[0]
    found = reference.predictors(without)[0, :, 0]
    np.testing.assert_allclose(found, X @ beta, rtol=1e-9)


def test_the_fit_to_all_records_is_near_after_one_step():
    setup = setup_of(Logit(C=1.0), "two ~ a + b + group", None, scheme="loocv")
    eta = sensitivity_of(setup, held_of(setup)).reference.eta[:, 0]
    fit = fit_all(setup.design, setup.model, seed=1)
    np.testing.assert_allclose(expit(eta), fit.predict(setup.design.matrix), atol=5e-3)


def test_few_and_many_changes_of_a_training_set_move_predictions_alike(monkeypatch):
    setup = setup_of(Logit(C=0.5), "two ~ a + b", weights(), "rkfold", None, repeats=4)
    held = held_of(setup)
    reference = sensitivity_of(setup, held).reference
    change = np.random.default_rng(1).exponential(size=(5, N)) - 1
    few = reference.shifts(change, held.fit, held.row)
    monkeypatch.setattr("statcv.sensitivity.reference.MAX_CHANGES", 0)
    many = reference.shifts(change, held.fit, held.row)
    np.testing.assert_allclose(few, many, rtol=1e-10, atol=1e-13)


def test_a_record_that_a_fit_does_not_know_does_not_move_it():
    setup = setup_of(Logit(), "two ~ a + b", None)
    held = held_of(setup)
    change = np.zeros((1, N))
    change[0, setup.plan.test(1)] = 1
    shifts = sensitivity_of(setup, held).reference.shifts(change, held.fit, held.row)
    assert np.abs(shifts[0, held.fit == 1]).max() < 1e-12
    assert np.abs(shifts[0, held.fit == 0]).max() > 1e-3


def test_more_columns_than_records_are_replaced_by_as_many_as_records():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 100))
    data = pd.DataFrame(X).add_prefix("x").assign(two=frame()["two"])
    design = make_design("two ~ .", data, scope={})
    plan = make_plan("kfold", design.y, "binary", k=4, seed=2)
    setup = Setup(design, plan, Logit(C=0.05), 1)
    assert sensitivity_of(setup, held_of(setup)).reference.X.shape[1] <= N + 1
    assert_like_refits(setup, least=0.95)


def test_copies_of_a_record_move_predictions_as_one_record_does():
    once = frame()[["two", "a", "b"]].assign(id=np.arange(N))
    twice = pd.concat([once, once], ignore_index=True)
    ridge = (Logit(C=1.0), Logit(C=0.5))  # twice the likelihood, twice the ridge
    shifts = []
    for data, model in zip((once, twice), ridge, strict=True):
        fold = data["id"] % 4
        result = scv.cv("two ~ a + b", data, scheme=fold, model=model, stratify="id")
        left, sensitivity = result.scores.left, result.scores.sensitivity
        change = np.sin(np.arange(N))[None, data["id"]]
        found = sensitivity.reference.shifts(change, left.fit, left.row)[0, :, 0]
        order = np.argsort(data["id"].to_numpy()[left.row], kind="stable")
        shifts.append(found[order][:: len(data) // N])
    np.testing.assert_allclose(shifts[1], shifts[0], rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
@pytest.mark.parametrize(
    "model", [Logit(), Logit(C=1.0), Logit(firth=True), Logit(flic=True)]
)
@pytest.mark.parametrize("formula", ["two ~ level + a", "two ~ apart", "two ~ a + d"])
def test_what_data_do_not_determine_gives_no_warning(model, formula):
    made = frame()
    made["level"] = np.where(np.arange(N) < 2, "rare", made["group"])
    made["apart"] = made["two"] * 20.0 + made["b"] - 10
    made["d"] = 2 * made["a"] + 1
    design = make_design(formula, made, scope={})
    plan = make_plan("kfold", design.y, "binary", k=4, seed=2)
    assert np.isfinite(moved(Setup(design, plan, model, 1), 3, 1.0)).all()


def test_hyperparameters_may_change_the_weights_of_classes():
    """One fold chooses balanced classes, and the others do not."""
    setup = setup_of(logistic(), "two ~ a + b", None)
    every = []
    for given in ("balanced", None):
        own = resolve_model(logistic(class_weight=given), "binary")
        every.append(fit_one_by_one(replace(setup, model=own), range(3)).linear)
    some = np.array([0]), np.array([1, 2])
    parts = [linear.chosen(fits) for linear, fits in zip(every, some, strict=True)]
    tests = setup.plan.fits.tests_by_fit
    together = Sensitivity(setup, joined_fits(parts), Bernoulli())
    shifts = together.reference.shifts(np.ones((1, N)), tests.owners, tests.values)
    assert np.isfinite(shifts).all()


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(), LogisticRegression(solver="liblinear")]
)
def test_a_model_without_a_likelihood_has_no_sensitivity(model):
    setup = setup_of(model, "two ~ a + b", None)
    assert Sensitivity.of(setup, held_of(setup)) is None


def test_an_interrupted_run_keeps_its_linear_predictors(tmp_path):
    for name in ("balanced", "filled in", "sklearn adds an intercept", "FLIC"):
        setup = setup_of(*MODELS[name], None)
        parts, call = (setup.design, setup.plan, setup.model), {"seed": 1, "n_jobs": 1}
        first = run(*parts, checkpoint=tmp_path / name, **call)
        again = run(*parts, checkpoint=tmp_path / name, **call)
        for array in ARRAYS:
            one, two = (getattr(held.linear, array) for held in (first, again))
            np.testing.assert_equal(two, one)
    part = fit_one_by_one(setup_of(DecisionTreeClassifier(), "two ~ a", None), range(3))
    assert from_bytes(to_bytes(part, "x"), "x").linear is None


@pytest.mark.parametrize("p", [5, 70])
def test_inverses_of_information_leave_out_what_is_not_determined(p):
    rng = np.random.default_rng(p)
    X = rng.normal(size=(3 * p, p)) * np.exp(rng.normal(size=p))
    X[:, 2] = 0
    penalty = np.where(np.arange(p) == 3, np.inf, 0.5 * (np.arange(p) != 2))
    found = inverted(X.T @ X, penalty)
    used = ~np.isin(np.arange(p), [2, 3])
    inside = np.ix_(used, used)
    slow = np.linalg.inv((X.T @ X)[inside] + np.diag(penalty[used]))
    np.testing.assert_allclose(found[inside], slow, rtol=1e-6, atol=1e-9)
    assert (found[~used] == 0).all()
    assert (found[:, ~used] == 0).all()


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_an_elastic_net_moves_along_the_columns_that_it_has_not_left_out(ratio):
    rng = np.random.default_rng(4)
    data = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
    data["y"] = (rng.random(80) < 1 / (1 + np.exp(-1.5 * data.a + data.b))).astype(int)
    data["c"] *= 0.01  # too small a column to enter
    net = Logit(C=0.15, l1_ratio=ratio)
    res = scv.cv("y ~ a + b + c + d", data, model=net, scheme="loocv", seed=1)
    reference, records = res.scores.sensitivity.reference, res.refits.setup.records
    once = net.fit(records)
    used = np.array([*once.coefficients.values()]) != 0
    assert 2 < used.sum() < 5
    assert np.array_equal(reference.X, records.X[:, used])
    near = records.X @ np.array([*once.coefficients.values()])
    assert np.abs(reference.eta[:, 0] - near).max() < 0.1
    step, made = 1e-4, []
    for record in range(5):
        weights = np.ones(80)
        weights[record] += step
        more = net.fit(replace(records, weights=weights)).coefficients.values()
        made.append((np.array([*more]) - [*once.coefficients.values()])[used] / step)
    # a step without the record is longer than to first order, by its leverage
    longer = (reference.influence[:5, 0] * made).sum(axis=1) / np.square(made).sum(1)
    assert (longer > 1).all()
    assert (longer < 1.3).all()
    expected = longer[:, None] * made
    np.testing.assert_allclose(reference.influence[:5, 0], expected, atol=0.01)
