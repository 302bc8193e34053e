"""Offsets of logistic, linear and Cox regressions, in all folds, against R's."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv import sites
from statcv.models import Backward, Cox, Linear, Logit
from statcv.results.comparison.likelihood_ratio import likelihood_ratio

REFERENCE = Path(__file__).parent.parent / "reference"
CASES = pd.read_csv(REFERENCE / "offsets_cases.csv")
OF_R = pd.read_csv(REFERENCE / "offsets_r.csv")
TIMES = "Surv(time, status) ~ x + g + offset(z)"
MODELS = {
    "logit": ("y ~ x + g + offset(z)", Logit()),
    "ridge": ("y ~ x + g + offset(z)", Logit(C=1.0)),
    "firth": ("y ~ x + g + offset(z)", Logit(firth=True)),
    "flic": ("y ~ x + g + offset(z)", Logit(flic=True)),
    "scaled": ("y ~ x + g + offset(z)", Logit(C=1.0, standardize=True)),
    "linear": ("v ~ x + g + offset(z)", Linear()),
    "efron": (TIMES, Cox()),
    "breslow": (TIMES, Cox(ties="breslow")),
    "cox firth": (TIMES, Cox(firth=True)),
    "cox ridge": (TIMES, Cox(C=1.0, standardize=True)),
}


def fitted(name, data=CASES, scheme=None, **more):
    formula, model = MODELS[name]
    more = {"horizon": 2.0, **more} if "Surv" in formula else more
    scheme = CASES["fold"] if scheme is None else scheme
    return scv.cv(formula, data, model=model, scheme=scheme, seed=1, **more)


@pytest.mark.parametrize("weighted", [0, 1])
@pytest.mark.parametrize("name", [one for one in MODELS if one in set(OF_R["model"])])
def test_fits_of_all_folds_equal_those_of_r(name, weighted):
    res = fitted(name, weights="weight" if weighted else None)
    known = OF_R.query("model == @name and weighted == @weighted")
    known = known.pivot(index="fold", columns="name", values="value")
    found = res.held.coefficients.rename(columns={"Intercept": "(Intercept)"})
    found = found.rename(columns=lambda name: re.sub(r"\[T\.(.)\]", r"\1", name))
    assert (found["offset(z)"] == 1).all()
    for column in known.columns.drop("risk", errors="ignore"):
        np.testing.assert_allclose(found[column], known[column], rtol=1e-8, atol=1e-10)
    if "risk" in known:
        table = res.predictions.query("row == 0")
        risk = known["risk"][CASES["fold"][0]]
        assert table["risk_2"].item() == pytest.approx(risk, rel=1e-8)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("scheme", ["loocv", "bootstrap"])
def test_folds_together_equal_separate_fits(name, scheme):
    repeats = 5 if scheme == "bootstrap" else None
    res = fitted(name, CASES.head(60), scheme, repeats=repeats)
    setup = res.refits.setup
    assert setup.fits_together
    assert res.held.converged.all()
    for fit in range(0, res.plan.n_fits, 13):
        alone = setup.model.fit(setup.folds.training_set(setup.records, fit))
        known = list(alone.coefficients.values())
        found = res.held.coefficients.iloc[fit]
        np.testing.assert_allclose(found, known, rtol=1e-8, atol=1e-10)


def test_terms_are_chosen_as_by_r_and_the_offset_stays():
    for weighted in (0, 1):
        weights = "weight" if weighted else None
        res = fitted("logit", select="backward", weights=weights)
        known = OF_R.query("model == 'backward' and weighted == @weighted")
        known = known.pivot(index="fold", columns="name", values="value").fillna(0)
        assert (res.held.coefficients["offset(z)"] == 1).all()
        for name in known.columns.drop("(Intercept)"):
            column = re.sub(r"^g(.)$", r"g[T.\1]", name)
            found = res.held.coefficients[column].fillna(0)
            np.testing.assert_allclose(found, known[name], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["linear", "efron"])
@pytest.mark.parametrize("select", ["backward", "forward", Backward(by="p")])
def test_chosen_terms_are_fitted_beside_the_offset(name, select):
    res = fitted(name, select=select)
    chosen = [c for c in res.final.coefficients.index if c[0] in "xg"]
    terms = sorted({c.partition("[")[0] for c in chosen})
    other = fitted(name).update(f"~ {' + '.join(terms)} + offset(z)")
    one, two = (np.asarray(r.final.predict(CASES)) for r in (res, other))
    np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


def test_firths_score_is_zero_beside_an_offset():
    res = fitted("firth")
    X, y = res.design.matrix, res.design.y
    beta = res.final.coefficients.to_numpy()
    p = 1 / (1 + np.exp(-X @ beta))
    X, v = X[:, :-1], p * (1 - p)
    leverage = v * np.einsum("ij,ji->i", X, np.linalg.solve((X.T * v) @ X, X.T))
    score = X.T @ (y - p + leverage * (0.5 - p))
    np.testing.assert_allclose(score, 0, atol=1e-9)


def test_flic_has_the_right_mean_beside_an_offset():
    res = fitted("flic")
    assert res.final.predict(CASES).mean() == pytest.approx(CASES["y"].mean())


@pytest.mark.parametrize("scheme", ["loocv", "kfold"])
def test_without_predictors_the_offset_remains(scheme):
    res = fitted("logit", scheme=scheme)
    bare = res.update("~ offset(z)")
    for row in res.without_predictors:
        if not np.isnan(row.found):
            assert row.found == pytest.approx(bare.estimate(row.metric.name).value)
            assert row.value == pytest.approx(row.found, abs=0.04)
    assert not res.suspect


def test_permutations_leave_the_offset_with_the_outcome():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=150), "z": 3 * rng.normal(size=150)})
    data["y"] = (rng.uniform(size=150) < 1 / (1 + np.exp(-data["z"]))).astype(int)
    res = scv.cv("y ~ x + offset(z)", data, seed=1, k=5)
    test = res.test("auroc", n_permutations=39, method="permutation")
    assert np.mean(test.replicates) == pytest.approx(res.estimate().value, abs=0.03)


def of_many(name):
    rng = np.random.default_rng(2)
    x, z, noise = rng.normal(size=(3, 200))
    eta = 0.7 * x + z
    data = pd.DataFrame({"x": x, "g": np.arange(200) % 3, "z": z, "v": eta + noise})
    data["y"] = (rng.uniform(size=200) < 1 / (1 + np.exp(-eta))).astype(int)
    times, censored = rng.exponential(np.exp(-eta)), rng.exponential(2, 200)
    data["time"] = np.minimum(times, censored).round(3) + 0.001
    data["status"] = (times <= censored).astype(int)
    return fitted(name, data, "kfold", k=5)


@pytest.mark.parametrize(
    ("name", "metric"),
    [("logit", "brier"), ("firth", "brier"), ("linear", "rmse"), ("efron", "brier@2")],
)
def test_the_default_interval_is_near_that_of_the_jackknife(name, metric):
    res = of_many(name)
    values = res.jackknife(metric).values
    se = np.sqrt((len(values) - 1) * np.var(values))
    assert res.estimate(metric).interval.se == pytest.approx(se, rel=0.12)


def test_terms_are_dropped_and_hyperparameters_tuned_beside_the_offset():
    res = fitted("logit")
    assert list(res.drop1().comparison.results) == ["<none>", "x", "g"]
    tuned = scv.cv(
        MODELS["logit"][0],
        CASES,
        model=Logit(C=[0.01, 1.0]),
        scheme=CASES["fold"],
        seed=1,
    )
    ones = {C: fitted_ridge(C) for C in (0.01, 1.0)}
    for fold, C in enumerate(tuned.tuned["C"]):
        np.testing.assert_allclose(
            tuned.held.coefficients.iloc[fold],
            ones[C].held.coefficients.iloc[fold],
            rtol=1e-8,
        )


def fitted_ridge(C):
    formula, folds = MODELS["logit"][0], CASES["fold"]
    return scv.cv(formula, CASES, model=Logit(C=C), scheme=folds, seed=1)


@pytest.mark.parametrize("name", ["logit", "linear", "efron"])
def test_equations_have_the_offset_as_a_column(name, tmp_path):
    res = fitted(name)
    res.final.save(tmp_path / "m.json")
    loaded, known = scv.load_model(tmp_path / "m.json"), res.final.predict(CASES)
    np.testing.assert_allclose(loaded.predict(CASES), known, rtol=1e-9)
    found = res.final.equation(digits=3)
    assert str(found).splitlines()[5].strip() == "+ z"
    with pytest.raises(scv.errors.StatcvError):
        loaded.update(CASES)


def test_points_count_the_offset_as_a_covariate():
    res = fitted("logit")
    score = res.final.points({"x": 0.5})
    assert "z" in score.table["predictor"].tolist()
    assert score.cost() is not None


def test_ratios_of_likelihoods_need_the_same_offset():
    res = fitted("logit")
    less, other = res.update("~ x + offset(z)"), res.update("~ x + g")
    assert likelihood_ratio(res, less, ("a", "b")).df == 2
    assert likelihood_ratio(res, other, ("a", "b")) is None


@pytest.mark.parametrize(
    ("formula", "more", "said"),
    [
        ("y ~ x + offset(z)", {"model": "xgboost"}, "XGBoost has no offset"),
        ("y ~ x + offset(z)", {"model": Logit(C=1.0, l1_ratio=1)}, "lasso does not"),
        (
            "y ~ x + offset(z)",
            {"model": Logit(C=1.0), "tune": {"l1_ratio": [0.0, 0.5]}},
            "has no offset",
        ),
        ("g ~ x + offset(z)", {}, "no offset for several classes"),
    ],
)
def test_models_without_offsets_refuse_them(formula, more, said):
    with pytest.raises(scv.errors.ModelError, match=said):
        scv.cv(formula, CASES, **more)


def test_other_verbs_refuse_offsets_that_would_be_covariates():
    with pytest.raises(scv.errors.ModelError, match="XGBoost has no offset"):
        scv.stratifier_bias("y ~ x + offset(z)", CASES, model="xgboost", seed=1)
    with pytest.raises(scv.errors.FormulaError, match="over sites do not take"):
        sites.agree("y ~ x + offset(z)")
