"""A ridge on standardised columns, beside scikit-learn's pipelines and slow fits."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import statcv as scv
from statcv.engine import Setup, run
from statcv.errors import ModelError
from statcv.folds import make_plan
from statcv.formula import make_design
from statcv.models import Logit, TrainingSet
from statcv.models.batched import Folds, fit_all_folds
from statcv.models.spread import fold_variances, variances
from statcv.models.tuning.tuned import fit_candidates
from statcv.sensitivity import Sensitivity

pytestmark = [
    pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning"),
    pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning"),
]

N = 60


def frame():
    rng = np.random.default_rng(3)
    age, income, marker = rng.normal(size=(3, N))
    lean = rng.logistic(size=N) + age - 0.5 * income
    made = pd.DataFrame({"age": 50 + 10 * age, "income": 40000 + 15000 * income})
    made["marker"] = 0.01 * marker
    made["two"] = (lean > 0.4).astype(int)
    made["three"] = np.array(list("uvw"))[np.digitize(lean, [-0.5, 0.9])]
    return made


RIGHT = "age + income + marker"
COLUMNS = ["age", "income", "marker"]


def pipeline(C):
    return make_pipeline(
        StandardScaler(),
        LogisticRegression(C=C, tol=1e-12, solver="newton-cg", max_iter=10**4),
    )


def setup_of(outcome, scheme="loocv", C=1.0, right=RIGHT, weights=None, **more):
    design = make_design(f"{outcome} ~ {right}", frame(), scope={})
    plan = make_plan(scheme, design.y, design.outcome.kind, seed=3, **more)
    return Setup(design, plan, Logit(C, standardize=True), seed=1, weights=weights)


@pytest.mark.slow
@pytest.mark.parametrize("outcome", ["two", "three"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("scheme", ["loocv", "kfold", "rloocv"])
def test_predictions_are_those_of_a_pipeline(outcome, C, scheme):
    setup = setup_of(outcome, scheme, C, **({"k": 4} if scheme == "kfold" else {}))
    held = run(setup.design, setup.plan, setup.model, seed=1)
    X, y = frame()[COLUMNS], setup.design.y
    for fit in range(0, setup.plan.n_fits, 7):
        train, test = setup.plan.train(fit), setup.plan.fits.held_out_by(fit)
        made = pipeline(C).fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])
        expected = made if outcome == "three" else made[:, 1]
        place = slice(
            *np.searchsorted(setup.plan.fits.tests_by_fit.owners, [fit, fit + 1])
        )
        np.testing.assert_allclose(held.predicted[place], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("outcome", ["two", "three"])
@pytest.mark.parametrize("right", [RIGHT, "scale(age) + income + poly(marker, 2)"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scheme", ["loocv", "bootstrap", "kfold"])
def test_folds_together_are_fitted_as_each(outcome, right, weighted, scheme):
    weights = np.random.default_rng(5).uniform(0.3, 2.0, N) if weighted else None
    more = {"loocv": {}, "bootstrap": {"repeats": 5}, "kfold": {"k": 4}}[scheme]
    setup = setup_of(outcome, scheme, 0.5, right, weights, **more)
    fitted = fit_all_folds(setup.model, setup.records, setup.folds)
    assert fitted is not None
    every = fitted.predict_all(N)
    for fit in range(setup.plan.n_fits):
        training = setup.folds.training_set(setup.records, fit)
        alone = setup.model.fit(training)
        X = setup.folds.matrix(setup.records, fit, np.arange(N))
        np.testing.assert_allclose(every[fit], alone.predict(X), rtol=0, atol=1e-8)
        expected = np.array(list(alone.coefficients.values()))
        scale = np.maximum(np.abs(expected), 1e-3 * np.abs(expected).max())
        np.testing.assert_allclose(
            np.asarray(fitted.coefficients)[fit] / scale, expected / scale, atol=1e-6
        )
        np.testing.assert_allclose(
            fitted.linear.penalty[fit], alone.linear.penalty[0], rtol=1e-9
        )


@pytest.mark.parametrize("outcome", ["two", "three"])
def test_tuned_strengths_are_those_of_fits_one_by_one(outcome):
    tune = {"C": [0.01, 0.3, None, 10.0]}
    data = frame()
    model = Logit(standardize=True)
    result = scv.cv(f"{outcome} ~ {RIGHT}", data, model=model, tune=tune, k=4, seed=1)
    assert result.learner.label.startswith("ridge logistic regression")

    class Alone(Logit):
        def fit(self, training):
            return super().fit(training)

    other = scv.cv(
        f"{outcome} ~ {RIGHT}",
        data,
        model=Alone(standardize=True),
        tune=tune,
        k=4,
        seed=1,
    )
    names = [c for c in result.predictions if "predicted" in c]
    pd.testing.assert_frame_equal(
        result.predictions[names], other.predictions[names], atol=1e-8
    )
    assert result.tuned["C"].tolist() == other.tuned["C"].tolist()


def test_many_columns_are_tuned_in_all_folds_together():
    rng = np.random.default_rng(7)
    wide = pd.DataFrame(rng.normal(size=(24, 60)) * rng.uniform(0.1, 9, 60))
    wide = wide.add_prefix("x").assign(y=np.arange(24) % 2)
    records = make_design("y ~ .", wide, scope={})
    training = TrainingSet(
        records.matrix, records.y, "binary", 2, records.names, 0, None, seed=0
    )
    folds = Folds.leaving_out([[0], [3, 4], [9]])
    models = [Logit(C=C, standardize=True) for C in (0.001, 0.1, 10.0)]
    found = fit_candidates(models, training, folds)
    assert found is not None
    for model, fitted in zip(models, found, strict=True):
        for number, out in enumerate(([0], [3, 4], [9])):
            kept = np.setdiff1d(np.arange(24), out)
            part = replace(training, X=training.X[kept], y=training.y[kept])
            slow = model.fit(part).predict(training.X[out])
            rows = np.array(out)
            fast = fitted.predict(rows, np.full(len(rows), number))
            assert np.abs(fast - slow).max() < 1e-8


def test_the_standard_deviation_is_weighted_and_constants_are_left_alone():
    rng = np.random.default_rng(1)
    X = rng.normal(5, 2, (20, 3))
    X[:, 2] = 1e8 / 3
    weights = rng.integers(1, 4, 20).astype(float)
    scaler = StandardScaler().fit(X, sample_weight=weights)
    np.testing.assert_allclose(variances(X, weights), scaler.scale_**2, rtol=1e-10)
    repeated = np.repeat(X, weights.astype(int), axis=0)
    np.testing.assert_allclose(variances(X, weights), variances(repeated), rtol=1e-10)


@pytest.mark.parametrize("outlier", [0.0, 1e6])
def test_variances_of_training_sets_are_those_of_each(outlier):
    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(20), rng.normal(1000, 2, (20, 2))])
    X[:, 2] = np.where(np.arange(20) == 4, 1.0, 0.0)  # constant without a record
    X[7, 1] += outlier
    records = TrainingSet(
        X, np.arange(20) % 2, "binary", 2, ("i", "a", "b"), 0, None, 0
    )
    times = np.stack([np.ones(20), np.ones(20), rng.multinomial(20, np.full(20, 0.05))])
    times[0, 4] = times[1, 7] = 0
    folds = Folds.of_times(times.astype(np.int32))
    expected = [variances(np.repeat(X, one.astype(int), axis=0)) for one in times]
    np.testing.assert_allclose(fold_variances(records, folds), expected, rtol=1e-9)


def test_units_of_columns_do_not_matter():
    data = frame()
    ours = scv.cv(f"two ~ {RIGHT}", data, model=Logit(1.0, standardize=True), seed=1)
    scaled = data.assign(income=data["income"] / 1e6, age=data["age"] * 365 + 7)
    other = scv.cv(f"two ~ {RIGHT}", scaled, model=ours.learner, seed=1)
    found, expected = (r.predictions["predicted"] for r in (other, ours))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_the_influence_takes_standard_deviations_as_given(monkeypatch):
    """A strong ridge, whose strengths would else change much with each record."""
    monkeypatch.setattr("statcv.sensitivity.reference.MAX_LEVERAGE", 0.0)  # derivatives
    setup = setup_of("two", "loocv", C=0.05)
    held = run(setup.design, setup.plan, setup.model, seed=1)
    reference = Sensitivity.of(setup, held).reference
    strengths = held.linear.penalty[0]

    class Given(Logit):
        def ridge(self, training):
            return strengths

    def predictors(model, record, step):
        weights = np.full(N, 1 - 1 / N)  # each fit lacks one of the records
        weights[record] *= 1 + step
        fit = model.fit(replace(setup.records, weights=weights))
        return setup.records.X @ np.array(list(fit.coefficients.values()))

    def slope(model, record):
        ends = [predictors(model, record, step) for step in (1e-4, -1e-4)]
        return (ends[0] - ends[1]) / 2e-4

    start = reference.predictors(np.zeros((1, N)))
    for record in (0, 11, 30):
        moved = reference.predictors(np.eye(N)[[record]]) - start
        expected = slope(Given(0.05), record)
        size = np.abs(expected).max()
        np.testing.assert_allclose(moved[0, :, 0], expected, atol=1e-3 * size)
        away = slope(Logit(0.05, standardize=True), record) - expected
        assert np.abs(away).max() > 0.05 * size


def test_labels_and_what_is_refused():
    assert (
        Logit(C=1, standardize=True).label
        == "ridge logistic regression, C = 1, standardized columns"
    )
    assert Logit(standardize=True).label == "logistic regression, unpenalised"
    with pytest.raises(ModelError, match="Firth's penalty does not depend"):
        Logit(firth=True, standardize=True)
    with pytest.raises(ModelError, match="standardize must be True or False"):
        Logit(C=1.0, standardize="yes")


@pytest.mark.parametrize("more", [{}, {"threshold": "youden"}, {"tune": {"C": [1, 2]}}])
def test_the_summary_says_where_a_ridge_treats_uneven_columns_alike(more):

    def notes(right, model):
        made = scv.cv(f"two ~ {right}", frame(), model=model, k=4, seed=1, **more)
        return " ".join(made.summary(notes=True).notes)

    ratio = frame()["income"].std() / frame()["marker"].std()
    times = f"{float(f'{ratio:.2g}'):,.0f}".replace(",", " ")
    said = f"'income' varies {times} times as much as 'marker'; Logit(C=..., standard"
    assert notes(RIGHT, Logit(C=1.0)).count(said) == 1
    assert said not in notes(RIGHT, Logit(C=1.0, standardize=True))
    assert "very different spread" not in notes("age", Logit(C=1.0))
    assert "very different" not in notes("scale(income) + scale(age)", Logit(C=1.0))
    if "tune" not in more:
        assert "very different spread" not in notes(RIGHT, Logit())
