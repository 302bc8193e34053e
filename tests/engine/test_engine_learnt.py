"""Folds whose terms are learnt together, beside patsy's refits one after the other."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import statcv as scv
from statcv.engine import OutcomePermutations, Setup, run, run_permuted, run_resampled
from statcv.engine.setup import LearntByPatsy, training_sets
from statcv.engine.tasks import fit_one_by_one
from statcv.errors import FormulaError
from statcv.folds import make_plan
from statcv.formula import make_design
from statcv.models import Linear, Logit, Neighbors, resolve_model
from statcv.models.batched import own_matrices
from statcv.models.thresholds import Thresholded
from statcv.sensitivity import Sensitivity

pytestmark = [
    pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning"),
    pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning"),
]

N = 60
LONG = "scale(a) + poly(c, 2) + center(d) + bs(e, df=4)"
FORMULAS = [
    LONG,
    "g * scale(a) + b",
    "C(g):scale(a)",
    "cr(b, df=4, constraints='center') - 1",
    "I(scale(a)**2) + np.exp(scale(b))",
]


def frame():
    rng = np.random.default_rng(4)
    made = pd.DataFrame(rng.normal(size=(N, 5)), columns=list("abcde"))
    lean = rng.logistic(size=N) + made["a"] - 0.5 * made["b"]
    made["a"] = 50 + 20 * made["a"]
    made["g"] = rng.choice(list("uvw"), N)
    made["two"] = (lean > 0.4).astype(int)
    made["three"] = np.array(list("uvw"))[np.digitize(lean, [-0.5, 0.9])]
    made["number"] = 1000 * lean
    return made


def setup_of(model, outcome, right, scheme="loocv", weights=None, how=None, **more):
    design = make_design(f"{outcome} ~ {right}", frame(), scope={"np": np})
    kind = design.outcome.kind
    plan = make_plan(scheme, design.y, kind, rebalance=how, seed=3, **more)
    return Setup(design, plan, resolve_model(model, kind), seed=1, weights=weights)


def by_patsy(setup):
    """Return the same setup, whose terms patsy learns in each training set."""
    other = Setup(setup.design, setup.plan, setup.model, setup.seed, setup.weights)
    matrices = LearntByPatsy(setup.design, training_sets(setup.folds, N))
    other.__dict__["folds"] = replace(setup.folds, matrices=matrices)
    return other


def compare(setup):
    """Compare fits of folds together with refits to what patsy learns.

    The largest difference of predictions is returned, relative to their size.
    """
    assert setup.fits_together
    expected = fit_one_by_one(by_patsy(setup), range(setup.plan.n_fits))
    found = run(
        setup.design, setup.plan, setup.model, seed=setup.seed, weights=setup.weights
    )
    size = np.abs(expected.predicted).max()
    near = {"rtol": 0, "atol": 1e-8 * size}
    np.testing.assert_allclose(found.predicted, expected.predicted, **near)
    np.testing.assert_allclose(
        found.partner_predicted, expected.partner_predicted, **near
    )
    coefficients = found.learnt
    assert found.names == setup.design.outcome.named(expected.names)
    scale = np.nanmax(np.abs(expected.coefficients), axis=0)
    np.testing.assert_allclose(
        coefficients / scale, expected.coefficients / scale, rtol=0, atol=1e-8
    )
    np.testing.assert_array_equal(found.converged, expected.converged)
    np.testing.assert_array_equal(found.separated, expected.separated)
    return np.abs(found.predicted - expected.predicted).max() / size


MODELS = [
    (Logit(C=1.0), "two"),
    (Logit(), "two"),
    (Logit(C=0.1), "three"),
    (Logit(C=np.inf), "three"),
    (Linear(), "number"),
    (Logit(firth=True), "two"),
]


def combinations():
    """Yield every model with every formula; most of them are slow."""
    for (model, outcome), right in itertools.product(MODELS, FORMULAS):
        usual = right == LONG or (model, outcome) == MODELS[0]
        marks = () if usual else (pytest.mark.slow,)
        yield pytest.param(model, outcome, right, marks=marks)


@pytest.mark.filterwarnings("ignore::statcv.errors.SeparationWarning")
@pytest.mark.parametrize(("model", "outcome", "right"), list(combinations()))
def test_fits_together_are_refits_to_what_patsy_learns(model, outcome, right):
    assert compare(setup_of(model, outcome, right)) <= 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("shared", [2, 10**6])
@pytest.mark.parametrize(("model", "outcome"), MODELS[:3] + MODELS[4:])
def test_folds_are_fitted_alike_in_their_basis_and_side_by_side(
    monkeypatch, model, outcome, shared
):
    monkeypatch.setattr(own_matrices, "SHARED", shared)
    assert compare(setup_of(model, outcome, "scale(a) + bs(e, df=4)")) <= 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "how", "more"),
    [
        ("rloocv", "subsample", {"repeats": 2}),
        ("stratified_kfold", None, {"k": 10}),
        ("kfold", "weight", {"k": 5}),
        ("kfold", "upsample", {"k": 5}),
        ("bootstrap", None, {"repeats": 12}),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_plans_and_weights_count_as_in_refits(scheme, how, more, weighted):
    weights = np.random.default_rng(5).uniform(0.3, 2.0, N) if weighted else None
    setup = setup_of(Logit(C=1.0), "two", LONG, scheme, weights, how, **more)
    assert compare(setup) <= 1e-8


def test_a_level_that_a_training_set_lacks_has_no_coefficient():
    data = frame().assign(g=lambda d: np.where(np.arange(N) == 7, "zz", d["g"]))
    with pytest.warns(scv.errors.UnseenLevelWarning):
        result = scv.cv("two ~ scale(a) + g", data, model=Logit(C=1.0), scheme="loocv")
    lacking = result.coefficients["g[T.zz]"].isna()
    assert np.flatnonzero(lacking).tolist() == [7]


@pytest.mark.filterwarnings("ignore::statcv.errors.SeparationWarning")
def test_separated_folds_are_judged_as_by_themselves():
    data = frame().assign(two=lambda d: (d["a"] > d["a"].median()).astype(int))
    data.loc[3, "two"] = 1 - data.loc[3, "two"]  # without it, the others are separated
    design = make_design("two ~ scale(a) + center(b)", data, scope={})
    plan = make_plan("loocv", design.y, "binary")
    setup = Setup(design, plan, Logit(), seed=1)
    compare(setup)
    assert setup.folds.matrices is not None
    held = run(design, plan, Logit(), seed=1)
    assert np.flatnonzero(held.separated).tolist() == [3]


def test_a_threshold_is_chosen_on_what_was_learnt():
    setup = setup_of(Thresholded(Logit(C=1.0), "youden"), "two", LONG)
    expected = fit_one_by_one(by_patsy(setup), range(N)).chosen
    held = run(setup.design, setup.plan, setup.model, seed=1)
    found = held.chosen["threshold"].to_numpy(dtype=float)
    wanted = [one["threshold"] for one in expected]
    np.testing.assert_allclose(found, wanted, atol=1e-8)


@pytest.mark.parametrize("with_plan", [False, True])
def test_permuted_outcomes_are_fitted_to_what_patsy_learns(with_plan):
    setup = setup_of(Logit(C=1.0), "two", "scale(a) + bs(e, df=4)", "kfold", k=4)
    rng = np.random.default_rng(6)
    places = np.stack([rng.permutation(N) for _ in range(3)])
    permutations = OutcomePermutations(places, with_plan)
    found = run_permuted(setup, permutations)
    for number, y in enumerate(permutations.outcomes(setup.design.y)):
        design = setup.design
        if with_plan:
            design = design.taken(places[number])
        else:
            design = replace(design, outcome=replace(design.outcome, y=y))
        other = Setup(design, setup.plan, setup.model, seed=1)
        expected = fit_one_by_one(by_patsy(other), range(4)).predicted
        np.testing.assert_allclose(found[number].predicted, expected, atol=1e-8)


@pytest.mark.parametrize("model", [Logit(C=1.0), Neighbors(3)])
def test_samples_are_fitted_to_what_patsy_learns(model):
    setup = setup_of(model, "two", LONG)
    rng = np.random.default_rng(6)
    times = np.stack([rng.multinomial(N, np.full(N, 1 / N)) for _ in range(4)])
    found = run_resampled(setup, times.astype(np.int32), np.arange(4)).predicted
    for number, counts in enumerate(times):
        rows = np.repeat(np.arange(N), counts)
        fitted, every = setup.design.fold(rows, np.arange(N))
        training = replace(setup.records, X=fitted, y=setup.design.y[rows])
        expected = setup.model.fit(training).predict(every)
        np.testing.assert_allclose(found[number], expected, atol=1e-8)


@pytest.mark.parametrize(
    ("model", "outcome"),
    [
        (LogisticRegression(tol=1e-10), "two"),
        (DecisionTreeRegressor(random_state=0, max_depth=3), "number"),
        (Logit(firth=True), "two"),
        (Neighbors(3), "two"),
    ],
)
def test_models_that_are_fitted_one_by_one_have_the_same_matrices(model, outcome):
    setup = setup_of(model, outcome, "scale(a) + poly(c, 2)", "kfold", k=5)
    expected = fit_one_by_one(by_patsy(setup), range(5)).predicted
    found = fit_one_by_one(setup, range(5)).predicted
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("right", FORMULAS[:3])
@pytest.mark.parametrize(("model", "outcome"), MODELS[:3] + MODELS[4:])
def test_shifts_are_those_of_each_fit_by_itself(model, outcome, right):
    setup = setup_of(model, outcome, right)
    held = run(setup.design, setup.plan, setup.model, seed=1)
    rng = np.random.default_rng(2)
    fit, row = rng.integers(0, N, 80), rng.integers(0, N, 80)
    change = rng.normal(size=(3, N))
    one, other = Sensitivity.of(setup, held), Sensitivity.of(by_patsy(setup), held)
    found, expected = (each.reference.shifts(change, fit, row) for each in (one, other))
    near = {"rtol": 0, "atol": 1e-9 * np.abs(expected).max()}
    np.testing.assert_allclose(found, expected, **near)
    if outcome != "three":
        scaled = one.standardised(fit, row)
        np.testing.assert_allclose(scaled, other.standardised(fit, row), atol=1e-9)


def refitted(result):
    """Return refits to what patsy learns, of the call that made a result."""
    setup = Setup(
        result.design, result.plan, result.learner, result.seed, result.weights
    )
    assert setup.fits_together
    return fit_one_by_one(by_patsy(setup), range(result.plan.n_fits))


TUNED = [
    (Logit(), "two", {"C": [0.01, 0.1, 1.0]}),
    (Logit(standardize=True), "two", {"C": [0.01, 0.1, 1.0]}),
    (Logit(), "three", {"C": [0.01, 0.1, 1.0]}),
    (Neighbors(), "two", {"k": [1, 4, 9]}),
    (Neighbors(), "number", {"k": [1, 4, 9], "scale": [True]}),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::statcv.errors.TuningWarning")
@pytest.mark.parametrize("call", [{"scheme": "loocv"}, {"k": 4, "repeats": 2}])
@pytest.mark.parametrize(("model", "outcome", "grid"), TUNED)
def test_tuning_chooses_on_what_patsy_learns(model, outcome, grid, call):
    formula = f"{outcome} ~ scale(a) + poly(c, 2) + bs(e, df=4)"
    result = scv.cv(formula, frame(), model=model, tune=grid, seed=2, **call)
    expected = refitted(result)
    size = np.abs(expected.predicted).max()
    np.testing.assert_allclose(
        result.held.predicted, expected.predicted, rtol=0, atol=1e-8 * size
    )
    for name in (*grid, "score"):
        wanted = [one[name] for one in expected.chosen]
        found = result.held.chosen[name].tolist()
        assert found == (pytest.approx(wanted, rel=1e-7))


@pytest.mark.filterwarnings("ignore::statcv.errors.TuningWarning")
@pytest.mark.parametrize("rebalance", ["weight", "subsample", "upsample"])
def test_tuning_of_rebalanced_folds_is_that_of_each(rebalance):
    weights = np.random.default_rng(5).uniform(0.3, 2.0, N)
    data = frame().assign(w=weights)
    call = {"k": 4, "rebalance": rebalance, "weights": "w", "seed": 1}
    grid = {"C": [0.01, 0.1, 1.0]}
    result = scv.cv("two ~ scale(a) + bs(e, df=4)", data, tune=grid, **call)
    expected = refitted(result)
    np.testing.assert_allclose(result.held.predicted, expected.predicted, atol=1e-8)
    wanted = [one["C"] for one in expected.chosen]
    assert result.held.chosen["C"].tolist() == wanted


@pytest.mark.filterwarnings("ignore::statcv.errors.TuningWarning")
def test_a_threshold_of_a_tuned_model_is_chosen_on_what_was_learnt():
    grid = {"C": [0.01, 0.1, 1.0]}
    call = {"threshold": "youden", "tune": grid, "k": 4, "seed": 2}
    result = scv.cv("two ~ scale(a) + bs(e, df=4)", frame(), **call)
    expected = refitted(result)
    np.testing.assert_allclose(result.held.predicted, expected.predicted, atol=1e-8)
    for name in ("C", "threshold"):
        wanted = [one[name] for one in expected.chosen]
        np.testing.assert_allclose(result.held.chosen[name], wanted, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("votes", ["uniform", "distance"])
@pytest.mark.parametrize("outcome", ["two", "three", "number"])
@pytest.mark.parametrize(
    ("scheme", "how", "more"),
    [
        ("loocv", None, {}),
        ("kfold", None, {"k": 5}),
        ("kfold", "weight", {"k": 5}),
        ("bootstrap", None, {"repeats": 12}),
    ],
)
def test_neighbours_are_those_of_what_patsy_learns(
    scheme, how, more, outcome, votes, scale
):
    how = None if outcome == "number" else how
    weights = np.random.default_rng(5).integers(0, 4, N) / 2 if how else None
    model = Neighbors(4, weights=votes, scale=scale)
    setup = setup_of(model, outcome, LONG + " + g", scheme, weights, how, **more)
    assert setup.fits_together
    expected = fit_one_by_one(by_patsy(setup), range(setup.plan.n_fits))
    found = run(setup.design, setup.plan, model, seed=1, weights=weights)
    size = np.abs(expected.predicted).max()
    near = {"rtol": 0, "atol": 1e-8 * size}
    np.testing.assert_allclose(found.predicted, expected.predicted, **near)


@pytest.mark.parametrize("votes", ["uniform", "distance"])
def test_equal_records_are_neighbours_of_the_same_distance(votes):
    """Whatever rounding makes of their rows, in the matrix of each fold."""
    data = pd.concat([frame().iloc[:17]] * 3, ignore_index=True)
    data["two"] = np.random.default_rng(1).integers(0, 2, len(data))
    model = Neighbors(1, weights=votes)
    call = {"scheme": "loocv", "model": model, "progress": False}
    result = scv.cv("two ~ scale(a) + poly(c, 2) + bs(e, df=4)", data, **call)
    others = data["two"].groupby(np.arange(len(data)) % 17).transform("sum")
    expected = (others - data["two"]) / 2
    np.testing.assert_allclose(result.held.predicted, expected, atol=1e-12)


def test_a_training_set_in_which_a_term_fails_is_named():
    data = frame().assign(k=lambda d: np.where(np.arange(N) < 3, np.arange(N), 0))
    folds = np.where(np.arange(N) < 3, 1, np.arange(N) % 2 * 2)
    with pytest.raises(FormulaError, match=r"in fold 1: poly\(\) of degree 2"):
        scv.cv("number ~ poly(k, 2) + scale(a)", data, scheme=folds)
