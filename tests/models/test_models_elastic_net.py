"""The elastic net against R's glmnet, and the conditions of its optimum."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statcv as scv
from statcv.errors import ArgumentError, ModelError
from statcv.models import Logit, TrainingSet
from statcv.models.batched import Folds
from statcv.models.tuning.tuned import fit_candidates

REFERENCE = Path(__file__).parent.parent / "reference"
RNG = np.random.default_rng

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning",
    "ignore::statcv.errors.TuningWarning",
)


def case(name):
    rows = pd.read_csv(REFERENCE / "elastic_net_cases.csv").query("case == @name")
    X = np.array([line.split() for line in rows["values"]], dtype=float)
    data = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(X.shape[1])])
    return data.assign(y=rows["y"].to_numpy(), fold=rows["fold"].to_numpy())


def drawn(n, p, seed):
    rng = RNG(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p)) * rng.uniform(0.5, 2, p)])
    y = (rng.random(n) < 1 / (1 + np.exp(-X[:, 1]))).astype(int)
    y[:2] = 0, 1
    return X, y


def records_of(X, y, weights=None):
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    return TrainingSet(X, y, "binary", 2, names, 0, weights, seed=0)


@pytest.mark.parametrize("name", ["long", "wide"])
@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_coefficients_and_curve_are_those_of_glmnet(name, alpha):
    data = case(name)
    known = pd.read_csv(REFERENCE / "elastic_net_r.csv")
    known = known.query("case == @name and alpha == @alpha")
    size = len(data) * 3 // 4
    for strength, of_strength in known.groupby("lambda"):
        model = Logit(C=1 / (strength * size), l1_ratio=alpha, standardize=True)
        res = scv.cv(
            "y ~ . - fold", data, model=model, scheme="fold", metrics="log_loss", seed=1
        )
        found = res.coefficients.set_index("fold").drop(columns="repeat")
        expected = of_strength[of_strength["fold"] > 0].pivot_table(
            index="fold", columns="name", values="value", fill_value=0.0
        )
        expected = expected.rename(columns={"(Intercept)": "Intercept"})
        expected = expected.reindex(columns=found.columns, fill_value=0.0)
        np.testing.assert_allclose(found, expected, rtol=5e-6, atol=1e-6)
        (cvm,) = of_strength.loc[of_strength["fold"] == 0, "value"]
        assert 2 * float(res.estimate("log_loss")) == pytest.approx(cvm, abs=1e-6)


@given(
    st.integers(0, 10**6),
    st.sampled_from([(12, 3), (30, 1), (30, 8), (20, 60)]),
    st.sampled_from([0.05, 0.5, 1.0]),
    st.floats(0.01, 3.0),
)
def test_derivatives_are_within_the_bounds_of_the_penalty(seed, shape, ratio, C):
    X, y = drawn(*shape, seed)
    weights = RNG(seed).integers(1, 4, len(y)).astype(float)
    model = Logit(C=C, l1_ratio=ratio)
    fit = model.fit(records_of(X, y, weights))
    beta = np.array(list(fit.coefficients.values()))
    slope = (weights * (y - fit.predict(X))) @ X
    slope[1:] -= (1 - ratio) / C * beta[1:]
    bound, used = ratio / C, beta[1:] != 0
    assert fit.converged
    assert abs(slope[0]) < 1e-8 * weights.sum()
    assert np.allclose(
        slope[1:][used],
        bound * np.sign(beta[1:])[used],
        rtol=0,
        atol=1e-9 * weights.sum(),
    )
    assert (np.abs(slope[1:]) <= bound + 1e-9 * weights.sum()).all()


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("shape", [(40, 6), (24, 50)])
def test_folds_together_are_fits_alone(shape, standardize):
    X, y = drawn(*shape, 5)
    records = records_of(X, y)
    folds = Folds.of_times(RNG(1).integers(0, 3, (6, len(y))).astype(np.int32))
    model = Logit(C=0.3, l1_ratio=0.7, standardize=standardize)
    together = model.fit_folds(records, folds)
    for number in range(len(folds)):
        alone = model.fit(folds.training_set(records, number))
        expected = list(alone.coefficients.values())
        np.testing.assert_allclose(
            np.asarray(together.coefficients)[number], expected, atol=1e-7
        )


def test_a_strong_penalty_leaves_the_share_of_the_class():
    X, y = drawn(30, 4, 2)
    fit = Logit(C=1e-4, l1_ratio=0.5).fit(records_of(X, y))
    assert fit.predict(X) == pytest.approx(y.mean())
    assert set(list(fit.coefficients.values())[1:]) == {0.0}


def test_a_small_part_on_absolute_values_is_nearly_a_ridge():
    X, y = drawn(50, 5, 3)
    net = Logit(C=0.5, l1_ratio=1e-8).fit(records_of(X, y))
    ridge = Logit(C=0.5).fit(records_of(X, y))
    assert list(net.coefficients.values()) == pytest.approx(
        list(ridge.coefficients.values()), abs=1e-6
    )


def test_several_strengths_are_chosen_inside_as_by_tune():
    data = scv.load_data("spector")
    Cs = [0.01, 0.2, 50.0]
    own = scv.cv("GRADE ~ .", data, model=Logit(C=Cs, l1_ratio=1.0), k=4, seed=1)
    tuned = scv.cv(
        "GRADE ~ .", data, model=Logit(C=1.0, l1_ratio=1.0), tune={"C": Cs}, k=4, seed=1
    )
    assert own.tuned.equals(tuned.tuned)
    assert own.predictions["predicted"].equals(tuned.predictions["predicted"])
    ruled = scv.cv(
        "GRADE ~ .",
        data,
        model=Logit(C=Cs, l1_ratio=1.0),
        tune=scv.Tuning({"l1_ratio": [0.5, 1.0]}, rule="one_se"),
        k=4,
        seed=1,
    )
    assert set(ruled.tuned["C"]) <= set(Cs)
    with pytest.raises(ArgumentError, match="give them once"):
        scv.cv("GRADE ~ .", data, model=Logit(C=Cs), tune={"C": Cs}, k=4, seed=1)


def test_the_terms_that_a_lasso_leaves_are_counted():
    data = scv.load_data("spector")
    model = Logit(C=0.3, l1_ratio=1.0, standardize=True)
    res = scv.cv("GRADE ~ GPA + TUCE + PSI", data, model=model, k=4, seed=1)
    used = (res.coefficients[["GPA", "TUCE", "PSI"]] != 0).mean()
    found = res.selection.set_index("term")["frequency"]
    assert found.sort_index().to_dict() == used.sort_index().to_dict()
    assert "different models in 4 training sets" in str(res.summary())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"l1_ratio": 0.5}, "needs the strength"),
        ({"C": 1.0, "l1_ratio": 2}, "from 0 to 1"),
        ({"C": [1.0, -1.0]}, "positive number"),
        ({"C": []}, "no values"),
    ],
)
def test_a_penalty_that_means_nothing_is_refused(arguments, said):
    with pytest.raises(ModelError, match=said):
        Logit(**arguments)


def test_three_classes_are_refused():
    data = pd.DataFrame({"y": list("abc") * 10, "x": np.arange(30.0)})
    with pytest.raises(ModelError, match="two classes only"):
        scv.cv("y ~ x", data, model=Logit(C=1.0, l1_ratio=1.0), seed=1)


def test_it_keeps_the_level_of_its_permutation_test_on_noise():
    rng = RNG(4)
    data = pd.DataFrame(rng.normal(size=(40, 8)), columns=list("abcdefgh"))
    data["y"] = rng.permutation([0, 1] * 20)
    res = scv.cv("y ~ .", data, model=Logit(C=0.5, l1_ratio=1.0), k=5, seed=1)
    assert 0.02 < res.test("auroc", n_permutations=99).p_value <= 1


@pytest.mark.parametrize("shape", [(40, 6), (30, 80)])
@pytest.mark.parametrize("standardize", [False, True])
def test_fits_along_a_path_are_those_of_each_strength(shape, standardize):
    X, y = drawn(*shape, 6)
    records = records_of(X, y, RNG(2).uniform(0.5, 2, len(y)))
    folds = Folds.of_times(RNG(3).integers(0, 3, (7, len(y))).astype(np.int32))
    strengths = [*np.geomspace(0.02, 5, 25), 0.1, 1e-6, 3.0]  # and some out of order
    models = [
        Logit(C=C, l1_ratio=ratio, standardize=standardize)
        for C in strengths
        for ratio in (0.3, 1.0)
    ]
    along = fit_candidates(models, records, folds)
    for model, fitted in zip(models, along, strict=True):
        alone = model.fit_folds(records, folds)
        assert fitted.converged.all()
        found, expected = (
            np.asarray(fitted.coefficients),
            np.asarray(alone.coefficients),
        )
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
        assert np.array_equal(found[:, 1:] == 0, expected[:, 1:] == 0)


def test_a_path_without_an_intercept_may_end_at_no_columns():
    X, y = drawn(40, 5, 8)
    names = tuple(f"x{j}" for j in range(5))
    records = TrainingSet(X[:, 1:], y, "binary", 2, names, None, None, seed=0)
    models = [Logit(C=C, l1_ratio=0.9) for C in (1e3, 1.0, 1e-3)]
    *_, last = fit_candidates(models, records, Folds.leaving_out([[0], [1]]))
    assert last.converged.all()
    assert not np.asarray(last.coefficients).any()


def test_columns_far_from_zero_are_fitted_as_those_near_it():
    X, y = drawn(40, 5, 8)
    far, folds = X.copy(), Folds.leaving_out([[k] for k in range(5)])
    far[:, 1:] = 2**20 + np.round(X[:, 1:] * 2**10) / 2**10
    near = far - 2**20 * (np.arange(6) > 0)
    models = [Logit(C=C, l1_ratio=0.5) for C in (0.1, 1.0, 10.0)]
    made = (fit_candidates(models, records_of(one, y), folds) for one in (far, near))
    for shifted, own in zip(*made, strict=True):
        assert shifted.converged.all()
        ours, theirs = (np.asarray(one.coefficients)[:, 1:] for one in (shifted, own))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


def test_an_intercept_of_zero_is_not_a_column_left_out():
    X, y = drawn(30, 4, 2)
    y[:] = np.arange(30) % 2
    fit = Logit(C=1e-4, l1_ratio=0.5).fit(records_of(X, y))
    assert fit.coefficients["x0"] == 0
    assert np.isfinite(fit.linear.penalty[0]).tolist() == [True, *[False] * 4]
