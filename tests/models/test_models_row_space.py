"""Ridge fits of more columns than records, against fits in the columns as given."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import statcv as scv
from statcv.errors import CollinearityWarning, ModelError
from statcv.models import Logit, TrainingSet
from statcv.models.batched import Computed, Folds
from statcv.models.batched import row_space as module

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning"
)


def sample(seed, n, p, classes=2, intercept=0, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.arange(n) % classes
    X[:, 1] += y
    if intercept is not None:
        X[:, intercept] = 1.0
    kind = "binary" if classes == 2 else "multiclass"
    names = tuple(f"x{j}" for j in range(p))
    weights = rng.uniform(0.5, 2.0, n) if weighted else None
    return TrainingSet(X, y, kind, classes, names, intercept, weights, seed=0)


def exact(training, C):
    """Return scikit-learn's fit, by a solver whose last step rounding does not stop."""
    for solver in ("newton-cholesky", "newton-cg"):
        fitted = LogisticRegression(
            C=C,
            tol=1e-13,
            max_iter=10_000,
            solver=solver,
            fit_intercept=training.intercept is not None,
        )
        with warnings.catch_warnings():
            # warnings of a last step that rounding stopped
            warnings.simplefilter("ignore")
            fitted.fit(training.without_intercept, training.y, training.weights)
        if largest_slope(fitted, training, C) < 1e-9:
            return fitted
    return reject()  # scikit-learn does not find the optimum of this draw


def largest_slope(fitted, training, C):
    """Return the largest derivative of the penalised likelihood, which is 0 at best.

    The coefficients are at most as far from the optimum: the ridge has curvature 1.
    """
    X, classes = training.without_intercept, training.n_classes
    pull = (training.y[:, None] == np.arange(classes)) - fitted.predict_proba(X)
    if training.weights is not None:
        pull = pull * training.weights[:, None]
    pull = pull[:, 1:] if classes == 2 else pull
    slopes = C * pull.T @ X - fitted.coef_
    constant = 0.0 if training.intercept is None else np.abs(pull.sum(axis=0)).max()
    return max(np.abs(slopes).max(), constant)


@given(
    seed=st.integers(0, 10**6),
    classes=st.sampled_from([2, 3]),
    C=st.sampled_from([0.01, 1.0, 30.0]),
    intercept=st.sampled_from([None, 0, 4]),
    weighted=st.booleans(),
)
def test_predictions_and_coefficients_are_those_of_the_columns(
    seed, classes, C, intercept, weighted
):
    records = sample(seed, 30, 45, classes, intercept, weighted)
    folds = Folds.leaving_out([range(6), range(6, 12), [29]])
    fitted = Logit(C=C).fit_folds(records, folds)
    assert isinstance(fitted.coefficients, Computed)
    table = np.asarray(fitted.coefficients)
    assert len(fitted.coefficients) == 3
    assert table.shape == (3, len(fitted.names))
    for fit in range(3):
        training = folds.training_set(records, fit)
        peer = exact(training, C)
        probability = peer.predict_proba(records.without_intercept)
        made = fitted.predict(np.arange(30), np.full(30, fit))
        probability = probability[:, 1] if classes == 2 else probability
        np.testing.assert_allclose(made, probability, atol=1e-8)
        beta = table[fit].reshape(-1, 45)
        if intercept is not None:
            beta = np.delete(beta, intercept, axis=1)
        np.testing.assert_allclose(beta, peer.coef_, atol=1e-8)
        alone = Logit(C=C).fit(training)
        np.testing.assert_allclose(alone.predict(records.X), made, atol=1e-9)
        np.testing.assert_allclose(
            list(alone.coefficients.values()), table[fit], atol=1e-9
        )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_few_fits_that_go_far_are_those_of_the_columns(scale, weighted):
    records = sample(6, 40, 90, weighted=weighted)
    records.X[:, 1:] *= scale
    folds = Folds.leaving_out(np.arange(40).reshape(5, 8).tolist())
    fitted = Logit(C=1.0).fit_folds(records, folds)
    assert fitted.converged.all()
    for fit in range(5):
        alone = Logit(C=1.0).fit(folds.training_set(records, fit))
        made = fitted.predict(np.arange(40), np.full(40, fit))
        np.testing.assert_allclose(made, alone.predict(records.X), atol=1e-9)


def test_records_there_twice_make_the_space_smaller():
    records = sample(1, 20, 50)
    X = np.vstack([records.X[:10], records.X[:10]])
    space = module.row_space(replace(records, X=X), Logit(C=1.0).ridge(records))
    assert space.rows.shape == (20, 10)
    free = np.delete(X, 0, axis=1)
    np.testing.assert_allclose(space.rows @ space.rows.T, free @ free.T, atol=1e-10)


@pytest.mark.parametrize("C", [1.0, 1e4, 1e8])
def test_records_there_twice_are_fitted_under_any_penalty(C):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        records = sample(seed, 12, 14)
        records.X[:, 1:] *= rng.lognormal(size=13)
        times = np.r_[1, 1, rng.integers(0, 3, size=10)]
        rows = np.repeat(np.arange(12), times)
        several = replace(records, X=records.X[rows], y=records.y[rows])
        weighted = replace(records, weights=times.astype(float))
        found, expected = (Logit(C=C).fit(one) for one in (several, weighted))
        made, alike = found.predict(records.X), expected.predict(records.X)
        np.testing.assert_allclose(made, alike, atol=1e-7)


def test_columns_of_large_numbers_are_decomposed_with_all_digits():
    records = sample(2, 25, 300)
    scale = 1e7
    large = replace(records, X=np.where(records.X == 1, 1.0, records.X * scale))
    folds = Folds.leaving_out([[i] for i in range(25)])
    small = Logit(C=1.0).fit_folds(records, folds)
    again = Logit(C=1 / scale**2).fit_folds(large, folds)
    rows = np.arange(25)
    np.testing.assert_allclose(
        again.predict(rows, rows), small.predict(rows, rows), atol=1e-10
    )
    np.testing.assert_allclose(
        np.asarray(again.coefficients)[:, 1:] * scale,
        np.asarray(small.coefficients)[:, 1:],
        atol=1e-9,
    )


def test_no_space_for_few_columns_or_none_penalised():
    records = sample(3, 30, 20)
    assert module.row_space(records, Logit(C=1.0).ridge(records)) is None
    wide = sample(3, 30, 60)
    assert module.row_space(wide, Logit().ridge(wide)) is None


def test_a_column_without_training_rows_has_no_coefficient():
    records = sample(4, 20, 40)
    records.X[:, 7] = np.arange(20) == 5
    folds = Folds.leaving_out([[5], [6]])
    fitted = Logit(C=1.0).fit_folds(records, folds)
    table = np.asarray(fitted.coefficients)
    assert np.isnan(table[0, 7])
    assert np.isfinite(np.delete(table[0], 7)).all()
    assert np.isfinite(table[1]).all()


def wide_frame(seed=0, n=50, p=120, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.arange(n) % classes
    X[:, 0] += y
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])
    return frame.assign(y=[f"c{code}" for code in y])


@pytest.mark.parametrize(
    "given",
    [
        {"scheme": "loocv"},
        {"scheme": "rloocv", "repeats": 2},
        {"k": 5, "repeats": 2},
        {"k": 5, "tune": {"C": [0.01, 0.1, 1.0]}},
    ],
)
def test_a_result_is_that_of_fits_in_the_columns(monkeypatch, given):
    def call():
        made = {"model": Logit(C=1.0), **given}
        if "tune" in given:
            made.pop("model")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return scv.cv("y ~ .", wide_frame(), seed=1, metrics=["auroc"], **made)

    made = call()
    monkeypatch.setattr("statcv.models.logit.in_row_space", lambda *given: None)
    monkeypatch.setattr("statcv.models.logit.row_space", lambda *given: None)
    plain = call()
    np.testing.assert_allclose(made.held.predicted, plain.held.predicted, atol=1e-9)
    pd.testing.assert_frame_equal(
        made.held.coefficients, plain.held.coefficients, atol=1e-9, rtol=0
    )
    mine, theirs = made.estimate("auroc"), plain.estimate("auroc")
    assert mine.lower == pytest.approx(theirs.lower, abs=1e-8)
    assert mine.upper == pytest.approx(theirs.upper, abs=1e-8)


def test_a_result_pickles_with_its_coefficients():
    made = scv.cv("y ~ .", wide_frame(), model=Logit(C=1.0), k=5, seed=1)
    again = pickle.loads(pickle.dumps(made))
    pd.testing.assert_frame_equal(again.held.coefficients, made.held.coefficients)
    assert str(again.summary()) == str(made.summary())


def test_a_checkpoint_keeps_the_rows(tmp_path):
    def call():
        return scv.cv(
            "y ~ .", wide_frame(), model=Logit(C=1.0), k=5, seed=1, checkpoint=tmp_path
        )

    first, second = call(), call()
    pd.testing.assert_frame_equal(first.held.coefficients, second.held.coefficients)
    assert first.estimate("auroc").lower == second.estimate("auroc").lower


def test_unpenalised_fits_of_too_many_columns_are_refused_at_once():
    with pytest.raises(ModelError, match="121 columns on 45 training records"):
        scv.cv("y ~ .", wide_frame(), seed=1)
    frame = wide_frame().assign(y=np.arange(50.0) % 7)
    with pytest.warns(CollinearityWarning, match="every training value"):
        scv.cv("y ~ .", frame, k=5, seed=1)
