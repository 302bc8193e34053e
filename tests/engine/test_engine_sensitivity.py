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
from statcv.engine import Sensitivity, Setup, run
from statcv.engine.block import Block
from statcv.engine.checkpoint import from_bytes, to_bytes
from statcv.engine.information import inverted, solve
from statcv.engine.rows import Rows
from statcv.engine.tasks import fit_one_by_one
from statcv.folds import Bags, make_plan
from statcv.formula import make_design
from statcv.models import Linear, Logit, Statsmodels, resolve_model
from statcv.models.batched import information_of, quadratic_of
from statcv.models.likelihood import ARRAYS, Bernoulli, joined_fits
from statcv.models.thresholds import Thresholded

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.FoldWarning",
    "ignore::statcv.errors.DistributionalBiasWarning",
)

N = 48
STEP = 1e-4  # of a weight


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


def changes(setup):
    """Return the derivative of such a sum by the weight of each record."""
    held = held_of(setup)
    target = np.random.default_rng(6).normal(size=held.predicted.shape)
    sensitivity = Sensitivity.of(setup, held)
    assert sensitivity is not None
    slope = sensitivity.likelihood.pull_back(held.predicted, target)
    return sensitivity.influence(held.fit, held.row, slope), target


def refitted(setup, target, record):
    """Return the same from refits with two other weights of a record."""
    given = np.ones(N) if setup.weights is None else setup.weights
    ends = []
    for sign in (1, -1):
        moved = given.copy()
        moved[record] *= 1 + sign * STEP
        again = held_of(replace(setup, weights=moved))
        ends.append((again.predicted * target).sum())
    return (ends[0] - ends[1]) / (2 * STEP)


def assert_like_refits(setup, records=(0, 7, 20, 41), rtol=1e-4):
    found, target = changes(setup)
    slow = np.array([refitted(setup, target, record) for record in records])
    np.testing.assert_allclose(
        found[list(records)], slow, rtol=rtol, atol=rtol * np.abs(found).max()
    )


def logistic(**more):
    return LogisticRegression(solver="newton-cholesky", tol=1e-12, **more)


SCALED = make_pipeline(StandardScaler(), logistic(C=0.3))
FILLED = make_pipeline(SimpleImputer(), StandardScaler(), logistic(C=0.3))
TWICE = make_pipeline(make_pipeline(MinMaxScaler(), RobustScaler()), Ridge(alpha=2.0))
GLM, FAMILIES, LINKS = sm.GLM, sm.families, sm.families.links
MODELS = {
    "unpenalised": (Logit(), "two ~ a + b + c"),
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
def test_influence_is_the_change_that_refits_show(name):
    assert_like_refits(setup_of(*MODELS[name], weights()))


@pytest.mark.parametrize(
    ("scheme", "how"),
    [
        ("rloocv", "weight"),
        ("rloocv", "subsample"),
        ("rkfold", "subsample"),
        ("kfold", "weight"),
        ("kfold", "upsample"),
        ("kfold", Bags(2)),
        ("bootstrap", "weight"),
    ],
)
@pytest.mark.parametrize("given", [None, weights()], ids=["unweighted", "weighted"])
def test_the_totals_of_classes_that_a_plan_evens_out_change_too(scheme, how, given):
    more = {"repeats": 3} if scheme == "bootstrap" else {}
    assert_like_refits(
        setup_of(Logit(C=0.5), "two ~ a + b", given, scheme, how, **more)
    )


@pytest.mark.parametrize("tune", [{"C": [0.01, 0.3]}, {"C": [0.3, 10.0]}])
def test_a_tuned_model_has_the_influence_of_what_each_fold_chose(tune):
    design = make_design("two ~ a + b + c", frame(), scope={})
    tuned = scv.cv("two ~ a + b + c", frame(), k=3, tune=tune, seed=1)
    setup = Setup(design, tuned.plan, tuned.learner, 1)
    found, target = changes(setup)
    parts = np.zeros(N)
    for C in tune["C"]:
        alone = replace(setup, model=Logit(C))
        held = held_of(alone)
        some = (tuned.held.chosen["C"] == C).to_numpy()[held.fit]
        slope = Bernoulli().pull_back(held.predicted, target)[some]
        sensitivity = Sensitivity.of(alone, held)
        parts += sensitivity.influence(held.fit[some], held.row[some], slope)
    np.testing.assert_allclose(found, parts, rtol=1e-6, atol=1e-9)


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
    fit, row = tests.owners, tests.values

    def influence(linear, fits):
        own = np.isin(fit, fits)
        sensitivity = Sensitivity(setup, linear, Bernoulli())
        return sensitivity.influence(fit[own], row[own], np.ones(int(own.sum())))

    apart = [influence(linear, fits) for linear, fits in zip(every, some, strict=True)]
    together = influence(joined_fits(parts), [0, 1, 2])
    np.testing.assert_allclose(together, apart[0] + apart[1], rtol=1e-9, atol=1e-12)


def test_a_chosen_threshold_leaves_the_influence_as_it_is():
    plain = setup_of(Logit(), "two ~ a + b", None)
    found = changes(replace(plain, model=Thresholded(Logit(), "youden")))[0]
    np.testing.assert_array_equal(found, changes(plain)[0])


SAME = [
    (Logit(), [Statsmodels(sm.Logit), logistic(C=np.inf), Logit(C=np.inf)], "two"),
    (Logit(C=0.3), [logistic(C=0.3), make_pipeline("passthrough", SCALED[-1])], "two"),
    (Logit(), [Statsmodels(sm.MNLogit, fit={"method": "newton"})], "C(three)"),
    (Logit(C=0.4), [logistic(C=0.4)], "C(three)"),
    (Linear(), [LinearRegression(), Statsmodels(sm.OLS), Statsmodels(GLM)], "number"),
    (
        Statsmodels(GLM, family=FAMILIES.Binomial(LINKS.Probit()), fit={"tol": 1e-12}),
        [Statsmodels(sm.Probit)],
        "two",
    ),
    (Statsmodels(GLM, family=FAMILIES.Poisson()), [Statsmodels(sm.Poisson)], "count"),
]


@pytest.mark.parametrize(("model", "others", "outcome"), SAME)
def test_models_that_are_the_same_have_the_same_influence(model, others, outcome):
    formula = f"{outcome} ~ a + b + group"
    found, _ = changes(setup_of(model, formula, None))
    for other in others:
        again, _ = changes(setup_of(other, formula, None))
        scale = np.abs(found).max()
        np.testing.assert_allclose(again, found, rtol=1e-5, atol=1e-5 * scale)


def test_fits_may_come_in_any_order_and_in_blocks(monkeypatch):
    setup = setup_of(Logit(), "two ~ a + b", weights(), "rkfold", None, repeats=4)
    held = held_of(setup)
    sensitivity = Sensitivity.of(setup, held)
    slope = np.random.default_rng(1).normal(size=len(held.fit))
    whole = sensitivity.influence(held.fit, held.row, slope)
    monkeypatch.setattr("statcv.engine.sensitivity.CELLS", N)
    monkeypatch.setattr("statcv.engine.sensitivity.BLOCK", 2)
    turned = sensitivity.influence(held.fit[::-1], held.row[::-1], slope[::-1])
    np.testing.assert_allclose(turned, whole, rtol=1e-10, atol=1e-13)
    some = np.isin(held.fit, [1, 5])
    rest = sensitivity.influence(held.fit[~some], held.row[~some], slope[~some])
    part = sensitivity.influence(held.fit[some], held.row[some], slope[some])
    np.testing.assert_allclose(part + rest, whole, rtol=1e-10, atol=1e-13)


def test_matrices_of_many_columns_are_not_held_all_at_once(monkeypatch):
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 20))).add_prefix("x")
    data["two"] = frame()["two"]
    design = make_design("two ~ .", data, scope={})
    plan = make_plan("loocv", design.y, "binary")
    setup = Setup(design, plan, Logit(C=1.0), 1)
    held = held_of(setup)
    sensitivity = Sensitivity.of(setup, held)
    slope, sizes = np.random.default_rng(1).normal(size=len(held.fit)), []
    whole = sensitivity.influence(held.fit, held.row, slope, one_step=True)

    def watched(matrix, penalty):
        sizes.append(matrix.size)
        return inverted(matrix, penalty)

    monkeypatch.setattr("statcv.engine.block.inverted", watched)
    monkeypatch.setattr("statcv.engine.sensitivity.CELLS", 1000)
    monkeypatch.setattr("statcv.engine.sensitivity.BLOCK", 2)
    monkeypatch.setattr("statcv.engine.sensitivity.KEPT", 5000)
    anew = Sensitivity.of(setup, held)
    parts = anew.influence(held.fit, held.row, slope, one_step=True)
    np.testing.assert_allclose(parts, whole, rtol=1e-10, atol=1e-13)
    assert max(sizes) <= 2000
    assert sum(sizes) == N * 21**2
    assert sum(len(block.numbers) for block in anew._kept.values()) * 21**2 <= 5000


def test_a_record_that_a_fit_does_not_know_does_not_change_it():
    setup = setup_of(Logit(), "two ~ a + b", None)
    held = held_of(setup)
    some = held.fit == 1
    slope = np.ones(int(some.sum()))
    moved = Sensitivity.of(setup, held).influence(held.fit[some], held.row[some], slope)
    assert (moved[setup.plan.test(1)] == 0).all()
    assert (moved[setup.plan.train(1)] != 0).all()


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
    found, _ = changes(Setup(design, plan, model, 1))
    assert np.isfinite(found).all()


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


# ---- information of many fits ----


@pytest.mark.parametrize("least", [0.0, -1.0])
@pytest.mark.parametrize(("p", "fits"), [(3, 2), (5, 40), (70, 3)])
def test_information_and_quadratic_forms_are_those_of_a_loop(p, fits, least):
    rng = np.random.default_rng(p)
    X, weights = rng.normal(size=(90, p)), rng.uniform(least, 1, size=(fits, 90))
    found = information_of(X, weights)
    for one, own in zip(found, weights, strict=True):
        np.testing.assert_allclose(one, X.T @ np.diag(own) @ X, rtol=1e-12, atol=1e-12)
    forms = quadratic_of(X, found)
    for form, one in zip(forms, found, strict=True):
        np.testing.assert_allclose(form, np.diag(X @ one @ X.T), rtol=1e-10)


@pytest.mark.parametrize("p", [9, 80])
def test_quadratic_forms_keep_their_digits_far_from_0(p):
    """Large numbers are subtracted column by column, where they nearly cancel."""
    rng = np.random.default_rng(p)
    X = rng.normal(100, 10 ** rng.uniform(-1, 0, p), (250, p))
    X[:, 0] = 1.0
    inverse = inverted(information_of(X, np.full((2, 250), 0.2)), np.full((2, p), 0.2))
    exact = X.astype(np.longdouble) @ inverse[0].astype(np.longdouble) * X
    found = quadratic_of(X, inverse)[0]
    np.testing.assert_allclose(found, exact.sum(axis=1).astype(float), atol=1e-8)


@pytest.mark.parametrize("p", [5, 70])
def test_inverses_of_information_leave_out_what_is_not_determined(p):
    rng = np.random.default_rng(p)
    X, weights = rng.normal(size=(90, p)), rng.uniform(0.1, 1, size=(11, 90))
    X[:, 3] = X[:, 1]  # which a penalty tells apart, but in the last fit
    penalty = rng.uniform(0.5, 2, size=(11, p))
    penalty[:, 2], penalty[-1] = np.inf, 0.0
    made, target = information_of(X, weights), rng.normal(size=(11, p, 2))
    found, solved = inverted(made, penalty), solve(made, penalty, target)
    kept = [one for one in range(p) if one != 2]
    for fit in range(10):
        exact = np.zeros((p, p))
        whole = made[fit] + np.diag(np.where(np.isinf(penalty[fit]), 0, penalty[fit]))
        exact[np.ix_(kept, kept)] = np.linalg.inv(whole[np.ix_(kept, kept)])
        np.testing.assert_allclose(found[fit], exact, atol=1e-9)
        np.testing.assert_allclose(solved[fit], exact @ target[fit], atol=1e-9)
    assert not np.allclose(found[-1] @ made[-1], np.eye(p))


def test_leverages_of_fits_that_are_alike_are_those_of_their_mean(monkeypatch):
    n, rng = 20_000, np.random.default_rng(4)
    X, y = np.column_stack([np.ones(n), rng.normal(size=n)]), rng.integers(0, 2, n)
    times = np.arange(n) % 5 != np.arange(5)[:, None]
    beta = np.array([0.1, 0.3]) + 0.01 * rng.normal(size=(5, 2))
    block = Block(
        numbers=np.arange(5),
        rows=Rows(X),
        y=y,
        beta=beta,
        penalty=np.ones((5, 2)),
        times=times,
        given=None,
        class_weights=None,
        likelihood=Bernoulli(),
    )
    near = block.leverage
    monkeypatch.setattr("statcv.engine.block.TALL", np.inf)
    own = replace(block).leverage
    assert 0 < np.abs(near - own).max() < 1e-5
    weights = times * expit(beta @ X.T) * expit(-beta @ X.T)
    for fit in range(5):
        inverse = np.linalg.inv((X.T * weights[fit]) @ X + np.eye(2))
        exact = weights[fit] * np.einsum("ip,pq,iq->i", X, inverse, X)
        np.testing.assert_allclose(own[fit], exact, rtol=1e-9)
