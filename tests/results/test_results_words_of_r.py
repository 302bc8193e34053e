"""tidy, glance, augment and drop1 of R and broom, read from a result."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import statcv as scv
from statcv.errors import CoefficientError, FormulaError, ModelError, StatcvWarning

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning",
    "ignore::statcv.errors.MissingDataWarning",
)
N = 160


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(2)
    made = pd.DataFrame(rng.normal(size=(N, 3)), columns=list("xzw"))
    made["g"] = rng.choice(list("abc"), N)
    made["y"] = (rng.random(N) < 1 / (1 + np.exp(-made["x"]))).astype(int)
    made["c"] = made["x"] + rng.normal(size=N)
    made["n"] = rng.poisson(np.exp(0.3 * made["x"]))
    made["k"] = np.where(made["c"] > 1, "hi", np.where(made["z"] > 0, "mid", "lo"))
    made["id"] = rng.integers(0, 50, N)
    made.index = [f"r{i}" for i in range(N)]
    return made


POISSON = sm.families.Poisson()
GAMMA = sm.families.Gamma(sm.families.links.Log())


@pytest.mark.parametrize(
    ("formula", "fit", "family"),
    [
        ("y ~ x * g + z", smf.logit, None),
        ("c ~ x * g + z", smf.ols, None),
        ("y ~ 0 + x + z", smf.logit, None),
        ("n ~ x + z", smf.glm, POISSON),
        ("exp(c) ~ x + z", smf.glm, GAMMA),
    ],
)
def test_tidy_has_the_numbers_of_statsmodels(data, formula, fit, family):
    keywords = {} if family is None else {"family": family}
    other = fit(formula.replace("exp", "np.exp"), data, **keywords).fit(
        **({"disp": 0} if fit is smf.logit else {})
    )
    model = scv.models.Statsmodels(fit, **keywords) if keywords else None
    table = scv.cv(formula, data, model=model, k=4, seed=1).tidy(0.9).set_index("term")
    known = family is not GAMMA  # where R takes t, and statsmodels the normal
    np.testing.assert_allclose(table["estimate"], other.params[table.index], rtol=1e-5)
    np.testing.assert_allclose(table["std.error"], other.bse[table.index], rtol=1e-5)
    if known:
        limits = other.conf_int(0.1).loc[table.index]
        np.testing.assert_allclose(table[["conf.low", "conf.high"]], limits, rtol=1e-4)
        p = other.pvalues[table.index]
        np.testing.assert_allclose(table["p.value"], p, rtol=1e-3, atol=1e-9)
    assert (table["fold.min"] <= table["fold.max"]).all()


@pytest.mark.filterwarnings("ignore::statcv.errors.CollinearityWarning")
@pytest.mark.parametrize(
    ("formula", "model"),
    [
        ("y ~ x + z", None),
        ("c ~ x + z", None),
        ("n ~ x + z", "poisson"),
        ("k ~ x + z", None),
        ("n ~ x + z", "proportional_odds"),
        ("Surv(exp(c), y) ~ x + z", None),
    ],
)
def test_only_coefficients_that_are_not_identified_have_no_standard_error(
    data, formula, model
):
    """Those of R's summary() of the model without the columns, which are NA there."""
    more = data.assign(twice=2 * data["x"], always=7.0, n=data["n"].clip(upper=3))
    whole = scv.cv(formula, more, model=model, k=4, seed=1).tidy().set_index("term")
    for added, lost in (("twice", ["x", "twice"]), ("always", ["Intercept", "always"])):
        res = scv.cv(f"{formula} + {added}", more, model=model, k=4, seed=1)
        with pytest.warns(StatcvWarning, match="constant, or determined by others"):
            table = res.tidy().set_index("term")
        gone = table.index.str.replace(r"\[.*", "", regex=True).isin(lost)
        assert table.loc[gone, "std.error"].isna().all()
        same = table[~gone]
        assert len(same) > 0
        assert same["std.error"].notna().all()
        columns = ["estimate", "std.error", "p.value"]
        expected = whole.loc[same.index, columns]
        np.testing.assert_allclose(same[columns], expected, rtol=1e-4)


def test_tidy_of_several_classes(data):
    codes = data.assign(k=data["k"].astype("category").cat.codes)
    other = smf.mnlogit("k ~ x + z", codes).fit(disp=0)
    table = scv.cv("k ~ x + z", data, k=4, seed=1).tidy()
    np.testing.assert_allclose(table["std.error"], other.bse.T.to_numpy().ravel())
    assert table["term"].tolist()[:2] == ["Intercept[lo]", "x[lo]"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"model": scv.models.Logit(C=1.0)}, "the model is penalised"),
        ({"model": scv.models.Logit(firth=True)}, "the model is penalised"),
        ({"weights": "w2"}, "weighted"),
    ],
)
def test_tidy_says_why_there_is_no_standard_error(data, more, why):
    result = scv.cv("y ~ x + z", data.assign(w2=data["w"] ** 2), k=4, seed=1, **more)
    with pytest.warns(StatcvWarning, match=f"3 standard errors .*{why}"):
        table = result.tidy()
    assert table["estimate"].notna().all()
    assert table["fold.min"].notna().all()
    assert table[["std.error", "p.value", "conf.low"]].isna().all(axis=None)


def test_tidy_of_a_model_without_coefficients(data):
    with pytest.raises(CoefficientError, match="has no coefficients"):
        scv.cv("y ~ x", data, model="neighbors", k=4, seed=1).tidy()


@pytest.mark.parametrize("formula", ["y ~ x", "c ~ x", "k ~ x"])
def test_glance_is_one_row(data, formula):
    result = scv.cv(formula, data, k=4, repeats=2, seed=1)
    row = result.glance(0.9)
    table = result.metrics(0.9)
    assert len(row) == 1
    assert row.loc[0, ["nobs", "folds", "repeats"]].tolist() == [N, 4, 2]
    first, second = table.iloc[0], table.iloc[1]
    shown = row.loc[0, ["metric", "estimate", "conf.low", "conf.high"]].tolist()
    assert shown == first[["metric", "estimate", "lower", "upper"]].tolist()
    name = second["metric"]
    shown = row.loc[0, [name, f"{name}.low", f"{name}.high"]].tolist()
    assert shown == second[["estimate", "lower", "upper"]].tolist()


def test_augment_is_the_data_with_held_out_predictions(data):
    missing = data.assign(x=data["x"].where(data["x"] < 1.5))
    result = scv.cv("y ~ x + z", missing, k=4, repeats=2, seed=1)
    table = result.augment()
    assert len(table) == 2 * result.design.n < 2 * N
    kept = missing.dropna().index
    first = table[table[".repeat"] == 1]
    assert first.index.tolist() == kept.tolist()
    pd.testing.assert_frame_equal(first[data.columns], missing.loc[kept])
    pairs = result.predictions.set_index(["repeat", "row"])["predicted"]
    expected = pairs.loc[list(zip(table[".repeat"], table.index, strict=True))]
    assert table[".fitted"].tolist() == expected.tolist()
    assert (table[".observed"] == table["y"]).all()
    np.testing.assert_allclose(table[".resid"], table["y"] - table[".fitted"])
    several = scv.cv("k ~ x + z", data, k=4, seed=1).augment()
    assert {".fitted_hi", ".fitted_lo", ".fitted_mid"} <= set(several)
    assert ".resid" not in several


def test_augment_of_a_fitted_result_of_statsmodels(data):
    fitted = smf.logit("y ~ x + z", data).fit(disp=0)
    result = scv.cv(fitted, k=4, seed=1)
    assert result.augment().index.tolist() == data.index.tolist()
    assert result.update(". ~ . - z").design.formula.text == "y ~ x"


# ---- drop1 ----


def test_drop1_compares_with_refits_on_the_same_folds(data):
    missing = data.assign(z=data["z"].where(data["z"] < 1.5))
    full = scv.cv("y ~ x + z + poly(w, 2)", missing, k=4, seed=1)
    found = full.drop1("brier")
    table = found.table.set_index("term")
    assert table.index.tolist() == ["<none>", "x", "z", "poly(w, 2)"]
    complete = missing.dropna()
    for term in table.index[1:]:
        less = full.update(f". ~ . - {term}", data=complete)
        assert less.plan.fingerprint == full.plan.fingerprint
        both = scv.compare(full=full, less=less, metric="brier")
        expected = both.differences.loc[0, ["difference", "lower", "upper", "p"]]
        shown = table.loc[term, ["difference", "lower", "upper", "p"]]
        np.testing.assert_allclose(shown.astype(float), expected.astype(float))
        ratio = both.likelihood_ratios[0]
        assert table.loc[term, ["df", "lr", "lr_p"]].tolist() == pytest.approx(
            [ratio.df, ratio.statistic, ratio.p_value]
        )
    assert found.table["difference"].isna().tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    ("formula", "dropped"),
    [
        ("y ~ x * z + w", ["w", "x:z"]),
        ("y ~ x * z * w", ["x:z:w"]),
        ("y ~ x + z + x:z + g", ["g", "x:z"]),
        ("y ~ x", ["x"]),
        ("y ~ 0 + x + z", ["x", "z"]),
        ("y ~ log(abs(x) + 1)^2 + `odd name`", ["log(abs(x) + 1)", "Q('odd name')"]),
    ],
)
def test_drop1_respects_marginality(data, formula, dropped):
    given = data.assign(**{"odd name": data["w"]})
    table = scv.cv(formula, given, k=4, seed=1).drop1().table
    assert table["term"].tolist() == ["<none>", *dropped]


@pytest.mark.parametrize(
    ("formula", "more"),
    [
        ("y ~ x + z", {"scheme": "rloocv", "repeats": 2}),
        ("y ~ x + z", {"scheme": "loocv"}),
        ("y ~ x + z", {"k": 4, "stratify": "id"}),
        ("y ~ x + z", {"k": 4, "repeats": 2, "rebalance": "weight"}),
        ("y ~ x + z", {"k": 4, "model": "neighbors"}),
        ("y ~ x", {"k": 4, "model": "neighbors"}),
        ("y ~ x + z", {"k": 4, "threshold": 0.4, "metrics": "accuracy"}),
        ("c ~ x + z", {"k": 4}),
        ("k ~ x + z", {"k": 4}),
        ("y ~ C(g, levels=['c', 'b', 'a']):poly(w, 2) + x", {"k": 4}),
    ],
)
def test_drop1_prints_within_80_columns(data, formula, more):
    found = scv.cv(formula, data.head(80), seed=1, **more).drop1()
    text = str(found)
    assert max(map(len, text.splitlines())) <= 80
    assert "<none>" in text
    assert "Single term deletions" in text
    assert "difference" in found._repr_html_()
    assert np.isfinite(found.table["p"].to_numpy(float)[1:]).all()


def test_drop1_without_terms_or_without_a_model(data):
    for formula in ("y ~ 1", "y ~ 0 + x"):
        with pytest.raises(FormulaError, match="no term that can be dropped"):
            scv.cv(formula, data, k=4, seed=1).drop1()
    given = pd.DataFrame({"y": data["y"], "p": 0.5, "fold": np.arange(N) % 4})
    result = scv.from_predictions(given, observed="y", predicted="p", fold="fold")
    with pytest.raises(ModelError, match="come from other software"):
        result.drop1()


# ---- words that a result does not have ----


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *(("coef", "tidy()"), ("coef_", "tidy()")),
        *(("fitted", "predictions"), ("confint", "tidy()"), ("anova", "compare(a, b)")),
        *(("residuals", "augment()"), ("AIC", "compare(a, b)"), ("step", "drop1()")),
        *(("best_params_", "tuned"), ("estimates", "Did you mean 'estimate'?")),
    ],
)
def test_words_of_r_and_scikit_learn_are_answered(data, name, said):
    result = scv.cv("y ~ x", data, k=4, seed=1)
    with pytest.raises(AttributeError) as error:
        getattr(result, name)
    assert said in str(error.value)
    assert not hasattr(result, name)
    assert not hasattr(result, "_ipython_display_")


def test_errors_of_properties_stay_as_they_are(data):
    result = scv.cv("y ~ x", data, model="neighbors", k=4, seed=1)
    with pytest.raises(CoefficientError, match="has no coefficients"):
        _ = result.coefficients
    for other in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert float(other.estimate()) == float(result.estimate())


def test_words_of_r_are_answered_at_the_top():
    for name, said in [
        ("anova", r"compare\(a, b\)"),
        ("glm", r"cv\('y ~ x'"),
        ("drop1", "belongs to a result"),
        ("foldplan", "Did you mean 'fold_plan'"),
    ]:
        with pytest.raises(AttributeError, match=said):
            getattr(scv, name)
