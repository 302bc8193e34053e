import functools
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.miscmodels.ordinal_model import OrderedModel

import statcv as scv
from statcv import cv
from statcv.errors import (
    ConvergenceWarning,
    FitError,
    MissingDataWarning,
    ModelError,
    SeparationWarning,
)
from statcv.models import Statsmodels

BINOMIAL = sm.families.Binomial()
CAUCHY = sm.families.Binomial(sm.families.links.Cauchy())
POISSON = sm.families.Poisson()
RHS = "a + b:c + C(group)"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n = 90
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["y"] = (frame["a"] + rng.logistic(size=n) > 0).astype(int)
    frame["z"] = frame["b"] + rng.standard_t(3, size=n)
    frame["count"] = rng.poisson(np.exp(0.4 * frame["a"] + 1) * rng.gamma(1.5, size=n))
    frame["class_"] = rng.integers(0, 3, n)
    frame["group"] = rng.choice(["p", "q", "r"], n)
    frame["w"] = rng.integers(1, 5, n).astype(float)
    return frame


def by_hand(plan, make, data):
    predicted = [
        np.asarray(make(data.iloc[train]).predict(data.iloc[test]))
        for train, test in plan.split()
    ]
    return np.concatenate(predicted)


MODELS = {
    "logit": ("y", smf.logit, lambda d: smf.logit("y ~ " + RHS, d).fit(disp=0)),
    "probit class": ("y", sm.Probit, lambda d: smf.probit("y ~ " + RHS, d).fit(disp=0)),
    "glm by partial": (
        "y",
        functools.partial(smf.glm, family=CAUCHY),
        lambda d: smf.glm("y ~ " + RHS, d, family=CAUCHY).fit(),
    ),
    "glm by keyword": (
        "count",
        Statsmodels(sm.GLM, family=POISSON),
        lambda d: smf.glm("count ~ " + RHS, d, family=POISSON).fit(),
    ),
    "ols": ("z", smf.ols, lambda d: smf.ols("z ~ " + RHS, d).fit()),
    "ols of classes": ("y", sm.OLS, lambda d: smf.ols("y ~ " + RHS, d).fit()),
    "rlm": (
        "z",
        functools.partial(sm.RLM, M=sm.robust.norms.TukeyBiweight()),
        lambda d: smf.rlm("z ~ " + RHS, d, M=sm.robust.norms.TukeyBiweight()).fit(),
    ),
    "poisson": (
        "count",
        smf.poisson,
        lambda d: smf.poisson("count ~ " + RHS, d).fit(disp=0),
    ),
    "negative binomial": (
        "count",
        Statsmodels(smf.negativebinomial, fit={"maxiter": 200}),
        lambda d: smf.negativebinomial("count ~ " + RHS, d).fit(disp=0, maxiter=200),
    ),
    "quantile regression": (
        "z",
        Statsmodels(smf.quantreg, fit={"q": 0.8}),
        lambda d: smf.quantreg("z ~ " + RHS, d).fit(q=0.8),
    ),
    "mnlogit": (
        "C(class_)",
        smf.mnlogit,
        lambda d: smf.mnlogit("class_ ~ " + RHS, d).fit(disp=0),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_folds_are_fits_by_formula_of_their_training_rows(data, name):
    outcome, model, make = MODELS[name]
    metrics = {"y": "auroc", "C(class_)": "accuracy"}.get(outcome, "rmse")
    result = cv(f"{outcome} ~ {RHS}", data, model=model, k=4, seed=2, metrics=metrics)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # statsmodels' own, on slow convergence
        expected = by_hand(result.plan, make, data)
    found = result.held.predicted
    np.testing.assert_allclose(found, expected, atol=1e-6 if "neg" in name else 1e-9)


def test_mnlogit_of_two_classes_gives_the_second(data):
    result = cv("y ~ a", data, model=smf.mnlogit, k=3, seed=1)
    peer = cv("y ~ a", data, model=smf.logit, k=3, seed=1)
    np.testing.assert_allclose(result.held.predicted, peer.held.predicted, atol=1e-6)


def test_coefficients_are_those_of_the_training_rows(data):
    result = cv("z ~ a + b", data, model=smf.ols, k=4, seed=2)
    part = data.iloc[result.plan.train(2)]
    expected = smf.ols("z ~ a + b", part).fit().params
    found = result.coefficients.loc[2, ["Intercept", "a", "b"]].astype(float)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("formula", "model", "make"),
    [
        (
            "y ~ a + b",
            Statsmodels(smf.glm, family=BINOMIAL),
            lambda d: smf.glm("y ~ a + b", d, family=BINOMIAL, freq_weights=d["w"]),
        ),
        ("z ~ a + b", smf.wls, lambda d: smf.wls("z ~ a + b", d, weights=d["w"])),
    ],
)
def test_weights_are_cut_to_the_training_rows(data, formula, model, make):
    result = cv(formula, data, model=model, weights="w", k=4, seed=1)
    expected = by_hand(result.plan, lambda d: make(d).fit(), data)
    np.testing.assert_allclose(result.held.predicted, expected, atol=1e-10)
    with pytest.raises(ModelError, match="takes no weights; WLS and GLM do"):
        cv("z ~ a", data, model=smf.ols, weights="w")


FITTED = {
    "logit": (lambda d: smf.logit("y ~ a + C(group)", d).fit(disp=0), smf.logit),
    "glm": (
        lambda d: smf.glm("y ~ a * b", d, family=CAUCHY).fit(),
        functools.partial(smf.glm, family=CAUCHY),
    ),
    "glm counts": (
        lambda d: smf.glm("count ~ np.exp(a)", d, family=POISSON).fit(),
        functools.partial(smf.glm, family=POISSON),
    ),
    "ols": (lambda d: smf.ols("np.sinh(z) ~ a + b", d).fit(), smf.ols),
    "quantreg": (
        lambda d: smf.quantreg("z ~ b", d).fit(q=0.9),
        Statsmodels(smf.quantreg, fit={"q": 0.9}),
    ),
    "rlm": (
        lambda d: smf.rlm("z ~ b", d, M=sm.robust.norms.Hampel()).fit(),
        functools.partial(smf.rlm, M=sm.robust.norms.Hampel()),
    ),
    "probit": (lambda d: smf.probit("y ~ a - 1", d).fit(disp=0), smf.probit),
    "negative binomial": (
        lambda d: smf.negativebinomial("count ~ a", d).fit(disp=0),
        smf.negativebinomial,
    ),
}


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("name", FITTED)
def test_a_fitted_result_is_its_formula_data_and_model(data, name, holes):
    make, model = FITTED[name]
    if holes:
        data = data.assign(a=data["a"].where(data.index % 9 > 0), b=data["b"] + 0)
        data.loc[5, "b"] = np.nan
    fitted = make(data)
    used = len(fitted.fittedvalues) < len(data)

    def call(*arguments, **keywords):
        if not used:
            return cv(*arguments, **keywords)
        with pytest.warns(MissingDataWarning):
            return cv(*arguments, **keywords)

    metrics = "auroc" if fitted.model.formula.startswith("y") else "rmse"
    found = call(fitted, k=4, seed=1, metrics=metrics)
    text = fitted.model.formula
    expected = call(text, data, model=model, k=4, seed=1, metrics=metrics)
    np.testing.assert_allclose(
        found.held.predicted, expected.held.predicted, atol=1e-12
    )
    assert found.design.n == len(fitted.fittedvalues)
    assert found.plan.fingerprint == expected.plan.fingerprint


@pytest.mark.parametrize("as_array", [False, True])
def test_a_fitted_result_brings_its_weights_by_row(data, as_array):
    data = data.assign(a=data["a"].where(data.index % 9 > 0))
    weights = data["w"].to_numpy() if as_array else data["w"]
    for fitted, text, model in (
        (smf.wls("z ~ a", data, weights=weights).fit(), "z ~ a", smf.wls),
        (
            smf.glm("y ~ a", data, family=BINOMIAL, freq_weights=weights).fit(),
            "y ~ a",
            functools.partial(smf.glm, family=BINOMIAL),
        ),
    ):
        with pytest.warns(MissingDataWarning):
            found = cv(fitted, k=4, seed=1)
        with pytest.warns(MissingDataWarning):
            expected = cv(text, data, model=model, weights="w", k=4, seed=1)
        np.testing.assert_allclose(
            found.held.predicted, expected.held.predicted, atol=1e-12
        )
        np.testing.assert_array_equal(found.weights, expected.weights)


def test_a_fitted_mnlogit_keeps_its_classes(data):
    fitted = smf.mnlogit("class_ ~ a", data).fit(disp=0)
    found = cv(fitted, k=4, seed=1)
    expected = cv("C(class_) ~ a", data, model=smf.mnlogit, k=4, seed=1)
    np.testing.assert_array_equal(found.held.predicted, expected.held.predicted)
    assert found.held.predicted.shape == (90, 3)


REFUSED = {
    "two columns": (
        lambda d: smf.glm("group2 ~ a", d, family=sm.families.Binomial()).fit(),
        "two columns",
    ),
    "sigma": (
        lambda d: smf.gls("z ~ a", d, sigma=d["w"].to_numpy()).fit(),
        "sigma= has one value per row",
    ),
    "groups": (
        lambda d: smf.gee("y ~ a", "group", d, family=BINOMIAL).fit(),
        "GEE is not supported",
    ),
    "penalty": (
        lambda d: smf.logit("y ~ a + b", d).fit_regularized(alpha=5, disp=0),
        "penalty, a constraint or a choice",
    ),
    "elastic net": (
        lambda d: smf.ols("z ~ a + b", d).fit_regularized(alpha=0.2),
        "penalty, a constraint or a choice",
    ),
    "selection": (
        lambda d: smf.ols("z ~ a + b", d).fit_regularized(alpha=0.2, refit=True),
        "penalty, a constraint or a choice",
    ),
    "constraint": (
        lambda d: smf.glm("y ~ a", d, family=BINOMIAL).fit_constrained("a = 0"),
        "penalty, a constraint or a choice",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_results_that_cannot_be_fitted_again_are_refused(data, name):
    make, message = REFUSED[name]
    fitted = make(data.assign(group2=np.where(data["y"] == 1, "ill", "well")))
    with pytest.raises(ModelError, match=message):
        cv(fitted, seed=1)


@pytest.mark.parametrize("name", ["weights", "freq_weights", "offset", "sigma"])
def test_keywords_with_a_value_a_row_are_refused(data, name):
    with pytest.raises(ModelError, match=f"{name}= has one value per row") as caught:
        Statsmodels(sm.GLM, **{name: np.ones(90)})
    assert ("cv(weights=" in str(caught.value)) == ("weights" in name)


def test_folds_that_do_not_converge_are_counted(data):
    model = Statsmodels(smf.logit, fit={"maxiter": 1})
    with pytest.warns(ConvergenceWarning, match="did not converge in 4 of 4 folds"):
        result = cv("y ~ a + b", data, model=model, k=4, seed=1)
    assert not result.folds["converged"].any()


def test_separation_is_told_and_linear_models_of_classes_are_not(data):
    apart = data.assign(s=10.0 * data["y"] + 0.1 * data["b"])
    model = Statsmodels(smf.glm, family=BINOMIAL)
    with pytest.warns(SeparationWarning, match="4 of 4 folds"):
        result = cv("y ~ s", apart, model=model, k=4, seed=1)
    assert np.isfinite(result.held.predicted).all()
    # a far record on its own side has a fitted probability of 1, no more than that
    side = 200.0 * (2 * data["y"] - 1)
    far = data.assign(s=np.where(data.index == 3, side, data["a"]))
    result = cv("y ~ s", far, model=model, k=4, seed=1)
    assert (np.abs(result.held.predicted - 0.5) > 0.5 - 1e-9).any()
    assert not result.folds["separated"].any()
    line = cv("y ~ s", apart, model=smf.ols, k=4, seed=1)
    assert not line.folds["separated"].any()


def test_a_failing_fit_names_the_fold(data):
    model = Statsmodels(smf.logit, fit={"method": "no such"})
    with pytest.raises(
        FitError, match=r"statsmodels Logit.* failed in fold 1 .*ValueError"
    ):
        cv("y ~ a", data, model=model, k=4, seed=1)


# ---- likelihoods of the package's own, fitted in all folds together ----


def simulated(n=90):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    logistic = 1 / (1 + np.exp(-frame["a"]))
    return frame.assign(
        y=(rng.uniform(size=n) < logistic).astype(int),
        z=frame["a"] + rng.normal(size=n),
        m=rng.integers(0, 3, n),
        w=rng.integers(1, 4, n).astype(float),
        t=rng.uniform(1, 3, n),
        count=rng.poisson(np.exp(0.5 * frame["a"])),
    )


BUILT_IN = {
    "logit": lambda d: smf.logit("y ~ a + b", d).fit(disp=0),
    "glm": lambda d: smf.glm("y ~ scale(a) + b", d, family=BINOMIAL).fit(),
    "weighted": lambda d: smf.glm(
        "y ~ a + b", d, family=BINOMIAL, freq_weights=d["w"]
    ).fit(),
    "mnlogit": lambda d: smf.mnlogit("m ~ a + b", d).fit(disp=0),
    "ols": lambda d: smf.ols("z ~ a * b", d).fit(),
    "wls": lambda d: smf.wls("z ~ a + b", d, weights=d["w"]).fit(),
    "gaussian": lambda d: smf.glm("z ~ bs(a, df=4) + b", d).fit(),
}


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_result_is_fitted_together_and_as_statsmodels_fits_it(name):
    data = simulated()
    together = scv.cv(BUILT_IN[name](data), k=6, seed=1)
    model = together.learner
    assert together.refits.setup.fits_together
    slow = Statsmodels(model.family, fit={"method": "newton"}, **model.keywords)
    if "GLM" in model.label:
        slow = Statsmodels(model.family, fit={"maxiter": 100}, **model.keywords)
    elif "LS" in model.label:
        slow = Statsmodels(model.family, fit={"method": "pinv"}, **model.keywords)
    alone = together.call.unwrapped()
    again = scv.cv(
        alone.formula, data, model=slow, weights=alone.weights, scheme=together.plan
    )
    assert not again.refits.setup.fits_together
    one, other = (r.held.predicted for r in (together, again))
    assert np.abs(one - other).max() < 1e-6


def test_model_takes_a_fitted_result():
    data = simulated()
    fitted = smf.glm("y ~ a", data, family=BINOMIAL).fit()
    result = scv.cv("y ~ b", data, model=fitted, k=5, seed=1)
    assert result.design.formula.text == "y ~ b"
    assert result.learner.label == "statsmodels GLM, Binomial"
    bare = sm.Logit(data["y"], sm.add_constant(data[["a"]])).fit(disp=0)
    assert scv.cv("y ~ b", data, model=bare, k=5, seed=1).learner.label == (
        "statsmodels Logit"
    )
    weighted = smf.glm("y ~ a", data, family=BINOMIAL, freq_weights=data["w"]).fit()
    with pytest.raises(ModelError, match="weights of its own records"):
        scv.cv("y ~ b", data, model=weighted, k=5, seed=1)


def with_exposure(kind, data):
    X, t = sm.add_constant(data[["a"]]), data["t"]
    dispersed = sm.families.NegativeBinomial(alpha=0.4)
    return {
        "glm": lambda: smf.glm("count ~ a", data, family=POISSON, exposure=t),
        "offset": lambda: smf.glm("count ~ a", data, family=POISSON, offset=np.log(t)),
        "fixed": lambda: smf.glm("count ~ a", data, family=dispersed, exposure=t),
        "poisson": lambda: smf.poisson("count ~ a", data, exposure=t),
        "negbin": lambda: smf.negativebinomial("count ~ a", data, exposure=t),
        "arrays": lambda: sm.GLM(data["count"], X, family=POISSON, exposure=t),
        "numbers": lambda: sm.Poisson(
            data["count"].values, X.values, exposure=t.values
        ),
        "logit": lambda: smf.glm("c ~ a", data, family=BINOMIAL, offset=data["b"]),
        "ols": lambda: sm.OLS(data["b"].values, X.values),
    }[kind]()


KINDS = [
    "glm",
    "offset",
    "fixed",
    "poisson",
    "negbin",
    "arrays",
    "numbers",
    "logit",
    "ols",
]


@pytest.mark.parametrize("kind", KINDS)
def test_offsets_and_exposures_of_results_are_cut_to_training_sets(kind):
    data = simulated().assign(c=lambda d: (d["count"] > 2).astype(int))
    model = with_exposure(kind, data)
    fitted = model.fit() if "GLM" in type(model).__name__ else model.fit(disp=0)
    res = scv.cv(fitted, k=5, seed=1)
    assert (res.chosen_metrics[0].name == "poisson_deviance") == (
        kind not in ("logit", "ols")
    )
    held = res.predictions.query("fold == 0")
    rows = held["row"].to_numpy()
    others = np.setdiff1d(np.arange(len(data)), rows)
    again = with_exposure(kind, data.iloc[others])
    one = again.fit() if "GLM" in type(again).__name__ else again.fit(disp=0)
    beside = {"logit": {"offset": data["b"]}, "ols": {}}
    own = beside.get(kind, {"exposure": data["t"]})
    own = {name: values.iloc[rows] for name, values in own.items()}
    expected = one.predict(model.exog[rows], transform=False, **own)
    np.testing.assert_allclose(held["predicted"], expected, rtol=1e-8)


def test_an_exposure_keeps_the_name_of_its_column():
    data = simulated()
    res = scv.cv(with_exposure("poisson", data).fit(disp=0), k=5, seed=1)
    assert res.design.names == ("Intercept", "a", "offset(log(t))")
    rates = scv.cv("count ~ a", data, model="poisson", exposure="t", k=5, seed=1)
    known = list(rates.model.coefficients)
    assert list(res.model.coefficients) == pytest.approx(known, abs=1e-6)
    usual, own = (r.estimate().interval for r in (rates, res))
    assert own.se == pytest.approx(usual.se, rel=1e-4)


def test_a_negative_binomial_does_not_repeat_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        family = sm.families.NegativeBinomial()
    model = Statsmodels(sm.GLM, family=family)  # warnings are errors in tests
    assert scv.cv("count ~ a", simulated(), model=model, k=5, seed=1).learner is model


@pytest.mark.parametrize("formula", ["m ~ a", "m ~ 0 + a"])
@pytest.mark.parametrize("distr", ["logit", "probit"])
def test_a_fitted_ordered_model_is_fitted_again_in_every_fold(distr, formula):
    data = simulated()
    ordered = data.assign(m=pd.Categorical(data["m"], ordered=True))
    known = {"disp": 0, "method": "bfgs"}
    fitted = OrderedModel.from_formula(formula, ordered, distr=distr).fit(**known)
    res = scv.cv(fitted, k=5, seed=1)
    assert res.chosen_metrics[0].name == "ordinal_c"
    first = res.predictions.query("fold == 1")
    train = ordered.drop(index=first["row"])
    alone = OrderedModel(train["m"], train[["a"]], distr=distr).fit(**known)
    expected = alone.predict(data.loc[first["row"], ["a"]])
    found = first.filter(like="predicted_").to_numpy()
    np.testing.assert_allclose(found, expected, atol=1e-4)
