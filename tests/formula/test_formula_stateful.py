"""Stateful terms learn from the training rows alone."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import patsy
import pytest
import statsmodels.api as sm
from scipy.interpolate import BSpline

from statcv import cv
from statcv.errors import DistributionalBiasWarning, FormulaError
from statcv.formula import make_design
from statcv.formula.language.functions import poly

REFERENCE = Path(__file__).parents[1] / "reference"
N = 60
FOLDS = np.arange(N) * 7 % 5  # the two lowest and highest z lie in different folds


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    x, z = rng.normal(3, 2, N), rng.uniform(-1, 1, N)
    z[[0, 1]], z[[2, 3]] = z.min() - 0.1, z.max() + 0.1  # always some in training
    x[[4, 5]], x[[6, 7]] = x.min() - 0.1, x.max() + 0.1
    mean = 1 + 0.3 * x + np.sin(3 * z)
    return pd.DataFrame(
        {
            "x": x,
            "z": z,
            "g": rng.choice(["u", "v", "w"], N),
            "number": mean + rng.normal(size=N),
            "class": (rng.random(N) < 1 / (1 + np.exp(1.5 - mean))).astype(int),
        }
    )


def halves():
    training = np.flatnonzero(FOLDS != 2)
    return training, np.flatnonzero(FOLDS == 2)


TERMS = [
    "center(x)",
    "scale(x)",
    "standardize(z)",
    "bs(x, df=4)",
    "bs(z, df=6, degree=2)",
    "bs(x, knots=(2, 3), include_intercept=True)",
    "cr(x, df=4)",
    "cc(z, df=4)",
    "te(cr(x, df=3), cr(z, df=3))",
    "center(x):g",
    "scale(center(np.exp(z)))",
    "bs(x, df=4) + g * center(z)",
]


@pytest.mark.parametrize("right", TERMS)
def test_a_fold_learns_what_patsy_learns_on_the_training_rows(data, right):
    training, others = halves()
    design = make_design(f"number ~ {right}", data, scope={"np": np})
    assert design.terms.stateful
    fitted, held_out = design.fold(training, others)

    learnt = patsy.dmatrix(right, data.iloc[training], return_type="dataframe")
    names = list(design.names)
    np.testing.assert_allclose(fitted, learnt[names], rtol=1e-10, atol=1e-12)
    applied = patsy.build_design_matrices(
        [learnt.design_info], data.iloc[others], return_type="dataframe"
    )[0]
    np.testing.assert_allclose(held_out, applied[names], rtol=1e-10, atol=1e-12)

    if "knots" not in right:  # given knots, and the same range in training
        assert np.abs(design.matrix[others] - held_out).max() > 1e-3
        assert np.abs(design.matrix[training] - fitted).max() > 1e-3


def test_rowwise_terms_are_the_same_in_every_fold(data):
    training, others = halves()
    design = make_design("number ~ np.exp(z) * g + I(x**2)", data, scope={"np": np})
    assert not design.terms.stateful
    fitted, held_out = design.fold(training, others)
    np.testing.assert_array_equal(fitted, design.matrix[training])
    np.testing.assert_array_equal(held_out, design.matrix[others])


def refits(data, right, fit):
    """Predict every fold by patsy and statsmodels, without statcv."""
    predicted = np.empty(N)
    for fold in range(5):
        out = FOLDS == fold  # noqa: SIM300
        X = patsy.dmatrix(right, data[~out])
        held_out = patsy.build_design_matrices([X.design_info], data[out])[0]
        predicted[out] = fit(data[~out], X).predict(np.asarray(held_out))
    return predicted


RIGHT = "center(x) + bs(z, df=4)"


@pytest.mark.parametrize("how", ["whole", "per fold"])
def test_predictions_of_numbers_are_those_of_refits(data, how):
    result = cv(f"number ~ {RIGHT}", data, scheme=FOLDS, seed=1)
    predicted = result.predictions.set_index("row")["predicted"].loc[data.index]
    if how == "per fold":
        expected = refits(data, RIGHT, lambda d, X: sm.OLS(d["number"], X).fit())
        np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-8)
    else:  # knots from all rows, held-out ones too: not what is done
        X = np.asarray(patsy.dmatrix(RIGHT, data))
        leaking = np.empty(N)
        for fold in range(5):
            out = FOLDS == fold  # noqa: SIM300
            leaking[out] = sm.OLS(data["number"][~out], X[~out]).fit().predict(X[out])
        assert np.abs(predicted - leaking).max() > 1e-3


def test_predictions_of_classes_are_those_of_refits(data):
    result = cv(f"Q('class') ~ {RIGHT}", data, scheme=FOLDS, metrics="brier", seed=1)
    predicted = result.predictions.set_index("row")["predicted"].loc[data.index]

    def fit(rows, X):
        return sm.Logit(rows["class"], X).fit(disp=0, tol=1e-14, maxiter=200)

    expected = refits(data, RIGHT, fit)
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-8)


@pytest.mark.slow
def test_jobs_do_not_change_what_is_learnt(data):
    one = cv(f"number ~ {RIGHT}", data, scheme=FOLDS, seed=1)
    two = cv(f"number ~ {RIGHT}", data, scheme=FOLDS, seed=1, n_jobs=2)
    pd.testing.assert_frame_equal(one.predictions, two.predictions)


# ---- held-out rows beyond the training range ----


def basis_by_hand(learnt_on, at, df=4, degree=3):
    inner = np.quantile(learnt_on, np.linspace(0, 1, df - degree + 2)[1:-1])
    ends = [[learnt_on.min()] * (degree + 1), [learnt_on.max()] * (degree + 1)]
    knots = np.concatenate([ends[0], inner, ends[1]])
    count = len(knots) - degree - 1
    columns = [
        BSpline(knots, np.eye(count)[j], degree, extrapolate=True)(at)
        for j in range(1, count)
    ]
    return np.column_stack([np.ones(len(at)), *columns])


def test_bs_under_loocv_predicts_the_extremes(data):
    data = data.drop(index=[0, 2, 4, 6])  # leave each extreme by itself
    data = data.reset_index(drop=True)
    result = cv("number ~ bs(x, df=4)", data, scheme="loocv")
    expected = np.empty(len(data))
    x, y = data["x"].to_numpy(), data["number"].to_numpy()
    for i in range(len(data)):
        rest = np.arange(len(data)) != i
        beta = np.linalg.lstsq(basis_by_hand(x[rest], x[rest]), y[rest], rcond=None)[0]
        expected[i] = (basis_by_hand(x[rest], x[[i]]) @ beta)[0]
    np.testing.assert_allclose(
        result.predictions["predicted"], expected, rtol=0, atol=1e-8
    )


def test_bs_under_loocv_of_classes(data):
    with pytest.warns(DistributionalBiasWarning):
        result = cv("Q('class') ~ bs(x, df=4)", data, scheme="loocv")
    assert result.predictions["predicted"].between(0, 1).all()


@pytest.mark.parametrize("df", [4, 6])
def test_bs_extrapolates_by_the_outermost_polynomial(data, df):
    training = np.flatnonzero(data["x"].between(1.5, 4.5))
    others = np.flatnonzero(~data["x"].between(1.5, 4.5))
    design = make_design(f"number ~ bs(x, df={df}) - 1", data, scope={})
    fitted, beyond = design.fold(training, others)
    inner = np.quantile(data["x"].iloc[training], np.linspace(0, 1, df - 1)[1:-1])
    learnt_on, x = data["x"].to_numpy()[training], data["x"].to_numpy()[others]
    for piece, side in (
        (learnt_on <= inner[0], x < 1.5),
        (learnt_on >= inner[-1], x > 4.5),
    ):
        cubic = np.polynomial.polynomial.polyfit(learnt_on[piece], fitted[piece], 3)
        expected = np.polynomial.polynomial.polyval(x[side], cubic).T
        near = 1e-7 * np.abs(expected).max()
        np.testing.assert_allclose(beyond[side], expected, rtol=0, atol=near)


def test_cr_extrapolates_by_a_straight_line(data):
    new = data.iloc[:4].assign(x=[20.0, 30.0, 40.0, 50.0])
    joined = pd.concat([data, new], ignore_index=True)
    design = make_design("number ~ cr(x, df=4) - 1", joined, scope={})
    _, beyond = design.fold(np.arange(N), np.arange(N, N + 4))
    np.testing.assert_allclose(np.diff(beyond, n=2, axis=0), 0, atol=1e-9)


# ---- against R ----


def reference():
    with (REFERENCE / "poly_r.csv").open() as lines:
        return pd.DataFrame(csv.DictReader(lines)).astype({"x": float, "value": float})


@pytest.mark.parametrize("term", sorted(set(reference()["term"])))
def test_poly_and_bs_equal_those_of_r(term):
    table = reference().query("term == @term")
    learnt_on = table.query("rows == 'training' and column == '1'")["x"]
    new = table.query("rows == 'new' and column == '1'")["x"]
    data = pd.DataFrame({"x": [*learnt_on, *new]}).assign(y=lambda d: d["x"] ** 2)
    design = make_design(f"y ~ {term} - 1", data, scope={})
    n = len(learnt_on)
    found = design.fold(np.arange(n), np.arange(n, len(data)))
    for rows, matrix in zip(("training", "new"), found, strict=True):
        part = table[table["rows"] == rows]
        expected = part["value"].to_numpy().reshape(matrix.shape[::-1]).T
        np.testing.assert_allclose(matrix, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_poly_is_orthonormal_on_the_training_rows_only(data, degree):
    training, others = halves()
    design = make_design(f"number ~ poly(x, {degree})", data, scope={})
    fitted, held_out = design.fold(training, others)
    np.testing.assert_allclose(fitted.T[1:] @ fitted[:, 1:], np.eye(degree), atol=1e-10)
    np.testing.assert_allclose(fitted[:, 1:].sum(axis=0), 0, atol=1e-10)
    assert np.abs(design.matrix[training] - fitted).max() > 1e-3
    # the same polynomial in x everywhere
    shared = np.polynomial.polynomial.polyfit(
        data["x"][training], fitted[:, -1], degree
    )
    line = np.polynomial.polynomial.polyval(data["x"].to_numpy()[others], shared)
    np.testing.assert_allclose(held_out[:, -1], line, atol=1e-8)


def test_poly_called_by_itself():
    x = np.array([0.0, 1, 2, 5, 9])
    Q = poly(x, 2)
    np.testing.assert_allclose(Q.T @ Q, np.eye(2), atol=1e-12)


@pytest.mark.parametrize(
    ("term", "match"),
    [
        ("poly(x, 0)", "degree of 1 or more, not 0"),
        ("poly(x, 2.0)", "degree of 1 or more"),
        ("poly(k, 3)", "more than 3 distinct values"),
        ("bs(x, df=2)", "df=2 is too small"),
        ("center(g)", r"center\(g\)|failed"),
        ("scale(nothing)", "no column 'nothing'"),
    ],
)
def test_terms_that_cannot_be_learnt_raise_an_error(data, term, match):
    data = data.assign(k=np.arange(N) % 3)
    with pytest.raises((FormulaError, KeyError), match=match):
        make_design(f"number ~ {term}", data, scope={})


@pytest.mark.parametrize(
    ("left_to_r", "spelt_out"),
    [
        ("bs(x)", "bs(x, df=3)"),
        ("bs(x, degree=2)", "bs(x, df=2, degree=2)"),
        ("bs(x, include_intercept=True)", "bs(x, df=4, include_intercept=True)"),
        ("bs(x, knots=2.5)", "bs(x, knots=[2.5])"),
    ],
)
def test_degrees_of_freedom_of_a_spline_are_by_default_those_of_r(
    data, left_to_r, spelt_out
):
    ours, told = (
        cv(f"number ~ {term} - 1", data, scheme=FOLDS).predictions["predicted"]
        for term in (left_to_r, spelt_out)
    )
    np.testing.assert_allclose(ours, told, rtol=1e-12)


def test_a_training_set_with_too_few_values_is_named(data):
    few = data.assign(k=np.where(FOLDS == 1, np.arange(N) % 3, 0.0))
    with pytest.raises(FormulaError, match=r"in fold 1: poly\(\) of degree 2"):
        cv("number ~ poly(k, 2)", few, scheme=FOLDS)


def test_a_stateful_transform_of_the_script(data):
    class Shift:
        def memorize_chunk(self, x):
            self.low = min(x)

        def memorize_finish(self):
            pass

        def transform(self, x):
            return x - self.low

    shift = patsy.stateful_transform(Shift)
    training = np.flatnonzero(data["x"] > 3)
    design = make_design("number ~ shift(x)", data, scope={"shift": shift})
    fitted, _ = design.fold(training, training[:1])
    assert fitted[:, 1].min() == 0
    assert design.matrix[training, 1].min() > 0


def test_df_and_knots_of_the_script_may_be_optional(data):
    class Powers:
        def memorize_chunk(self, x, df=None, knots=None):
            pass

        def memorize_finish(self):
            pass

        def transform(self, x, df=None, knots=None):
            return x ** (df or 2)

    powers = patsy.stateful_transform(Powers)
    design = make_design("number ~ powers(x)", data, scope={"powers": powers})
    np.testing.assert_allclose(design.matrix[:, 1], data["x"] ** 2)


@pytest.mark.parametrize("first", ["poly(x, 2)", "bs(x, df=4)", "cr(x, df=3)"])
def test_products_of_any_bases(data, first):
    design = make_design(f"number ~ te({first}, cr(z, df=3))", data, scope={})
    assert design.matrix.shape[1] == 1 + 3 * int(first[-2])
