"""The caller's weights together with those of a plan that evens out classes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from statcv import by_value, cv
from statcv.engine import Setup
from statcv.engine.tasks import fit_one_by_one, fit_together
from statcv.errors import SchemeError
from statcv.folds import Bags, make_plan
from statcv.folds.audit import mean_model_auroc
from statcv.folds.user_folds import assemble
from statcv.formula import make_design
from statcv.models import Logit, Mean, TrainingSet
from statcv.models.batched import Folds
from statcv.models.weights import with_given_weights

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.FoldWarning",
    "ignore::statcv.errors.DistributionalBiasWarning",
)

BALANCED = [
    ("rloocv", "subsample"),
    ("rloocv", "weight"),
    ("rloocv", "upsample"),
    ("rloocv", "all"),
    ("rloocv", Bags(3)),
    ("rkfold", "subsample"),
    ("kfold", "weight"),
    ("kfold", "upsample"),
    ("kfold", Bags(2)),
    ("rlpocv", "subsample"),
    ("montecarlo", "subsample"),
    ("bootstrap", "weight"),
]


def plan_of(scheme, how, y, kind="binary", **more):
    size = {"k": 3} if scheme in ("kfold", "rkfold") else {}
    size |= {"p": 3} if scheme == "rlpocv" else {}
    return make_plan(scheme, y, kind, rebalance=how, seed=3, **size, **more)


def training_weights(plan, fit, rows, given):
    """Return the weights of a training set as a model is handed them."""
    zeros = np.zeros(plan.n)
    records = TrainingSet(zeros[:, None], zeros, "binary", 2, ("x",), None, given, 0)
    folds = with_given_weights(Folds.of(plan), plan, given)
    np.testing.assert_array_equal(folds.train(fit, plan.n), rows)
    return folds.training_set(records, fit).weights


def slow_weights(plan, fit, y, given):
    """Scale weights so that each class weighs its count times its mean weight."""
    rows = plan.train(fit).tolist()
    planned = plan.weights(fit, np.array(rows))
    planned = [1.0] * len(rows) if planned is None else planned.tolist()
    weights = []
    for row, own in zip(rows, planned, strict=True):
        mates = [(r, w) for r, w in zip(rows, planned, strict=True) if y[r] == y[row]]
        count = sum(w for _, w in mates)
        mean = np.mean([given[i] for i in range(len(y)) if y[i] == y[row]])
        total = sum(w * given[r] for r, w in mates)
        weights.append(own * given[row] * count * mean / total)
    return weights


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "how"), BALANCED)
@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_a_class_weighs_the_same_in_every_training_set(scheme, how, kind):
    rng = np.random.default_rng(2)
    y = rng.permutation(np.repeat([0, 1, 2], [8, 5, 4]) % (3 - (kind == "binary")))
    given = rng.uniform(0.1, 3, len(y))
    plan = plan_of(scheme, how, y, kind)
    totals = []
    for fit in range(plan.n_fits):
        rows = plan.train(fit)
        weights = training_weights(plan, fit, rows, given)
        np.testing.assert_allclose(weights, slow_weights(plan, fit, y, given))
        totals.append(np.bincount(y[rows], weights))
    assert np.ptp(totals, axis=0).max() < 1e-9
    raw = [np.bincount(y[rows], given[rows]) for rows in map(plan.train, range(3))]
    assert np.ptp(raw, axis=0).max() > 0.05  # what it is good for


@given(
    st.lists(st.floats(0, 50), min_size=14, max_size=14),
    st.sampled_from(["rloocv", "rkfold"]),
)
def test_within_a_class_weights_keep_their_ratios(given_weights, scheme):
    y = np.arange(14) % 2
    weights = np.array(given_weights) + 0.01
    frame = pd.DataFrame({"site": np.arange(14) // 2})
    plan = plan_of(scheme, None, y, stratify=by_value("site"), data=frame, repeats=2)
    for fit in range(plan.n_fits):
        rows = plan.train(fit)
        factor = training_weights(plan, fit, rows, weights) / weights[rows]
        for code in (0, 1):
            own = factor[y[rows] == code]
            np.testing.assert_allclose(own, own[0])
        # where all records weigh the same, none is scaled
        alike = training_weights(plan, fit, rows, np.full(14, 2.5))
        np.testing.assert_allclose(alike, 2.5)


def test_weights_alone_are_as_they_were_given():
    y, weights = np.arange(12) % 2, np.linspace(1, 2, 12)
    plain, weighted = plan_of("kfold", None, y), plan_of("kfold", "weight", y)
    for fit in range(3):
        rows = plain.train(fit)
        np.testing.assert_array_equal(
            training_weights(plain, fit, rows, weights), weights[rows]
        )
        assert training_weights(plain, fit, rows, None) is None
        np.testing.assert_array_equal(
            training_weights(weighted, fit, rows, None), weighted.weights(fit, rows)
        )


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.normal(size=(18, 2)), columns=["a", "z"])
    frame["y"] = rng.permutation(np.repeat([0, 1], [11, 7]))
    frame["w"] = rng.uniform(0.2, 4, 18)
    return frame


@pytest.mark.filterwarnings("ignore::statcv.errors.UndefinedMetricWarning")
@pytest.mark.parametrize(("scheme", "how"), BALANCED)
def test_the_mean_alone_has_no_skill_whatever_the_weights(data, scheme, how):
    plan = plan_of(scheme, how, data["y"].to_numpy())
    for model in ("mean", "negmean"):
        result = cv("y ~ a", data, model=model, scheme=plan, weights="w")
        assert float(result.estimate("auroc", "pooled")) == 0.5
        assert result.mean_model_auroc == 0.5


@pytest.mark.parametrize("scheme", ["loocv", "kfold", "stratified_kfold"])
def test_without_balance_the_weighted_mean_tells_the_label(data, scheme):
    y, w = data["y"].to_numpy(), data["w"].to_numpy() ** 3
    more = {} if scheme == "loocv" else {"k": 4}
    result = cv("y ~ a", data, model="mean", scheme=scheme, weights=w, seed=2, **more)
    plan, means = result.plan, np.empty(18)
    for fit in range(plan.n_fits):
        rows = plan.train(fit)
        means[plan.test(fit)] = sum(w[rows] * y[rows]) / sum(w[rows])
    expected = roc_auc_score(y, means.round(12))
    assert mean_model_auroc(plan, y, w) == pytest.approx(expected)
    assert result.mean_model_auroc == pytest.approx(expected)
    assert float(result.estimate("auroc", "pooled")) == pytest.approx(expected)
    said = " ".join(str(result.summary(notes=True)).split())
    assert f"has pooled auROC {expected:.3f} (0.5 is no skill)" in said


def test_weights_may_turn_the_training_means_round():
    y, fold = np.array([0, 1, 1, 0, 0, 1]), np.array([0, 0, 0, 1, 1, 1])
    plan = assemble("given", "", [fold])  # training means of 1/3 and 2/3
    assert mean_model_auroc(plan, y) == pytest.approx(3 / 9)
    weights = np.array([1, 1, 1, 1, 1, 10])  # training means of 10/12 and 2/3
    assert mean_model_auroc(plan, y, weights) == pytest.approx(6 / 9)
    assert mean_model_auroc(plan, y, np.full(6, 7.0)) == pytest.approx(3 / 9)


def test_the_summary_of_a_balanced_fit_with_weights_has_the_note(data):
    result = cv(
        "y ~ a", data, scheme="rloocv", repeats=1, weights="w", model=Logit(1.0), seed=2
    )
    said = " ".join(str(result.summary(notes=True)).split())
    assert "pooled auROC 0.500 (0.5 is no skill)" in said


@pytest.mark.parametrize("how", ["subsample", "weight", "upsample", "all"])
def test_predictions_are_those_of_fits_with_scaled_weights(data, how):
    X, y, w = data[["a", "z"]].to_numpy(), data["y"].to_numpy(), data["w"].to_numpy()
    plan = plan_of("rkfold" if how == "subsample" else "kfold", how, y)
    result = cv("y ~ a + z", data, model=Logit(1.0), scheme=plan, weights="w")
    expected, fits = np.zeros(18), np.zeros(18)
    model = LogisticRegression(C=1.0, tol=1e-12, max_iter=10_000)
    for fit in range(plan.n_fits):
        rows, test = plan.train(fit), plan.fits.held_out_by(fit)
        model.fit(X[rows], y[rows], slow_weights(plan, fit, y, w))
        expected[test] += model.predict_proba(X[test])[:, 1]
        fits[test] += 1
    found = result.predictions.set_index("row").loc[data.index, "predicted"]
    np.testing.assert_allclose(found, expected / fits, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "how"), BALANCED)
@pytest.mark.parametrize("model", [Logit(1.0), Mean()])
def test_together_and_one_by_one_weights_are_the_same(data, scheme, how, model):
    design = make_design("y ~ a + z", data, scope={})
    plan = plan_of(scheme, how, design.y)
    setup = Setup(design, plan, model, 1, data["w"].to_numpy())
    together = fit_together(setup, range(plan.n_fits))
    alone = fit_one_by_one(setup, range(plan.n_fits))
    np.testing.assert_allclose(together.predicted, alone.predicted, atol=1e-10)
    partners = together.partner_predicted
    np.testing.assert_allclose(partners, alone.partner_predicted, atol=1e-10)
    half = range(plan.n_fits // 2, plan.n_fits)
    tests = plan.fits.tests_by_fit
    part = together.predicted[tests.starts[half.start] :]
    np.testing.assert_allclose(fit_together(setup, half).predicted, part, atol=1e-10)


@pytest.mark.parametrize(("scheme", "how"), BALANCED)
def test_folds_give_each_fit_the_weights_of_its_training_set(data, scheme, how):
    design = make_design("y ~ a", data, scope={})
    plan, given = plan_of(scheme, how, design.y), data["w"].to_numpy()
    setup = Setup(design, plan, Mean(), 1, given)
    for fit in range(0, plan.n_fits, 3):
        training = setup.folds.training_set(setup.records, fit)
        slow = slow_weights(plan, fit, design.y, given)
        np.testing.assert_allclose(training.weights, slow)
        np.testing.assert_array_equal(training.y, design.y[plan.train(fit)])


def test_a_class_that_has_no_weight_in_training_is_named(data):
    alone = data.assign(kind=np.where(data["y"] == 1, "ill", "well"))
    only = data.index[data["y"] == 1][0]
    alone["w"] = alone["w"].where((data["y"] == 0) | (data.index == only), 0.0)
    # rows of weight 0 are not records of cv()
    with pytest.raises(SchemeError, match="class 'ill' has 1: without it"):
        cv(
            "kind ~ a",
            alone,
            scheme="rloocv",
            repeats=1,
            weights="w",
            positive="ill",
            seed=1,
        )


@pytest.mark.parametrize(
    "arguments",
    [
        {"scheme": "rloocv", "repeats": 1},
        {"scheme": "loocv", "rebalance": "weight"},
        {"scheme": "kfold", "k": 3, "rebalance": "weight"},
    ],
)
def test_numbers_are_balanced_or_weighted_but_not_both(data, arguments):
    with pytest.raises(SchemeError, match="weights= cannot be combined with rebal"):
        cv("z ~ a", data, weights="w", **arguments)
    assert cv("z ~ a", data, **arguments).plan.rebalanced
    plain = {**arguments, "scheme": "loocv", "rebalance": None}
    plain.pop("k", None)
    assert cv("z ~ a", data, weights="w", **plain).weights is not None
