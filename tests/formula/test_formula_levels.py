"""Levels that are absent from training sets, and new data."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from statcv import compare, cv
from statcv.errors import (
    ArgumentError,
    ColumnError,
    ComparisonError,
    DataError,
    SchemeError,
    UnseenLevelWarning,
)
from statcv.formula import make_design
from statcv.models import Linear, Logit, Neighbors

# a site of one record has no slope and separates classes; folds shift training means
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::statcv.errors.{name}")
    for name in (
        "DistributionalBiasWarning",
        "SeparationWarning",
        "CollinearityWarning",
    )
]

N = 40


@pytest.fixture
def data():
    rng = np.random.default_rng(6)
    return pd.DataFrame(
        {
            "x": rng.normal(size=N),
            "g": np.where(np.arange(N) < 3, "rare", rng.choice(["a", "b"], N)),
            "k": rng.integers(0, 3, N),
            "t": rng.random(N) < 0.5,
            "fold": np.repeat([1, 2, 3, 4], N // 4),
            "y": rng.normal(size=N),
        }
    )


def test_a_level_absent_from_a_training_set_is_a_warning(data):
    with pytest.warns(UnseenLevelWarning) as caught:
        result = cv("y ~ x + g", data, scheme="fold", seed=1)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "level 'rare' of g is absent from 1 training set (fold 1)" in message
    assert caught[0].filename == __file__
    assert np.isfinite(result.predictions["predicted"]).all()
    assert result.design.names == ("Intercept", "x", "g[T.b]", "g[T.rare]")
    # the other folds are as those of statsmodels on the same three levels
    training, held_out = data[data["fold"] != 2], data[data["fold"] == 2]
    expected = smf.ols("y ~ x + g", training).fit().predict(held_out)
    found = result.predictions.query("fold == 2").set_index("row")["predicted"]
    np.testing.assert_allclose(found, expected.loc[found.index], rtol=0, atol=1e-8)


def test_factors_made_in_the_formula_are_named_too(data):
    with pytest.warns(UnseenLevelWarning, match=r"level 'RARE' of g\.str\.upper\(\)"):
        cv("y ~ g.str.upper()", data, scheme="fold", seed=1)
    alone = data.assign(k=np.where(np.arange(N) == 39, 7, data["k"]))
    with pytest.warns(UnseenLevelWarning, match=r"level 7 of C\(k\) .*\(fold 4\)"):
        cv("y ~ C(k)", alone, scheme="fold", seed=1)


def test_there_is_no_warning_if_all_levels_are_in_training(data):
    result = cv("y ~ x + g", data.assign(fold=np.arange(N) % 2), scheme="fold", seed=1)
    assert result.predictions["predicted"].notna().all()


# ---- new data ----


@pytest.fixture
def result(data):
    data = data.assign(fold=np.arange(N) % 2)
    return cv("y ~ center(x) * g + C(k) + t + np.exp(x)", data, scheme="fold", seed=1)


def test_new_rows_are_coded_as_those_of_the_fit(data, result):
    fit = smf.ols("y ~ center(x) * g + C(k) + t + np.exp(x)", data).fit()
    new = data.sample(15, random_state=1).assign(x=lambda d: d["x"] + 0.5)
    np.testing.assert_allclose(result.predict(new), fit.predict(new), atol=1e-8)
    assert result.predict(new).index.equals(new.index)
    one = new.iloc[[3]]  # one row knows neither the levels nor the mean
    np.testing.assert_allclose(result.predict(one), fit.predict(one), atol=1e-8)


def test_other_dtypes_and_orders_of_columns_and_levels(data, result):
    expected = result.predict(data)
    for new in (
        data[data.columns[::-1]],
        data.drop(columns=["y", "fold"]),
        data.convert_dtypes(),
        data.astype({"g": "category"}),
        data.assign(g=pd.Categorical(data["g"], categories=["rare", "z", "b", "a"])),
        data.astype({"k": float, "t": int}),
        data.astype({"t": "boolean", "k": "Int64"}),
        data.astype({"t": float}),
        data.astype(object),
        pl.from_pandas(data),
    ):
        np.testing.assert_allclose(result.predict(new), expected, atol=1e-12)


def test_incomplete_new_rows_have_no_prediction(data, result):
    complete = result.predict(data)
    new = data.convert_dtypes()
    new.loc[1, "x"], new.loc[2, "g"] = pd.NA, pd.NA
    new.loc[3, "k"], new.loc[4, "t"] = pd.NA, pd.NA
    found = result.predict(new)
    assert found.isna().to_numpy().nonzero()[0].tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(found.drop([1, 2, 3, 4]), complete.drop([1, 2, 3, 4]))
    nothing = result.predict(data.assign(g=None))
    assert nothing.isna().all()
    assert result.predict(data.assign(t=np.nan)).isna().all()
    assert result.predict(data.assign(x=None)).isna().all()


def test_an_unknown_level_is_an_error(data, result):
    new = data.assign(g="other")
    with pytest.raises(
        DataError, match=r"column 'g' has the level 'other'.*a, b, rare"
    ):
        result.predict(new)
    with pytest.raises(ValueError, match=r"(?s)value 9 .* \[0, 1, 2\].*C\(k\)"):
        result.predict(data.assign(k=9))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"x": "text"}, "column 'x' is text in the new data, but was a number"),
        ({"t": 2}, "column 't' has the value 2, but was true or false"),
        ({"t": "maybe"}, "column 't' is text"),
        ({"g": 3}, "column 'g' has the level 3"),
    ],
)
def test_new_columns_of_another_kind(data, result, change, match):
    with pytest.raises(DataError, match=match):
        result.predict(data.assign(**change))


def test_a_plain_number_that_is_text_in_the_new_data(data):
    plain = cv("y ~ x", data, scheme="fold", seed=1)
    with pytest.raises(DataError, match="column 'x' is text in the new data"):
        plain.predict(data.assign(x="1.5"))


def test_a_column_missing_from_new_data(data, result):
    with pytest.raises(ColumnError, match="the new data lack the column 'x'"):
        result.predict(data.drop(columns="x"))
    with pytest.raises(KeyError, match="Did you mean 'G'"):
        result.predict(data.rename(columns={"g": "G"}))


def test_new_rows_beyond_the_range_of_the_fit(data):
    result = cv("y ~ bs(x, df=4)", data.assign(fold=np.arange(N) % 2), scheme="fold")
    far = pd.DataFrame({"x": [-50.0, 50.0]})
    assert np.isfinite(result.predict(far)).all()


def test_a_factor_of_one_level_adds_no_column(data):
    design = make_design("y ~ x + g", data.assign(g="a"), scope={})
    assert design.names == ("Intercept", "x")


# ---- levels that training sets lack ----

ADDITIVE = [
    "site + x",
    "C(site, Treatment('B')) + x",
    "C(site, Treatment('A')) + x",
    "C(site, Sum) + x",
    "C(site, Helmert) + x",
    "C(site, Poly) + x",
    "0 + site + x",
    "x + Q('site')",
    "site + C(site, Sum) + x",
]
SLOPES = [
    "site * x",
    "C(site, Sum) * x",
    "0 + site + site:x",
    "site + x + C(site, Helmert):x",
    "C(site, Treatment('C')) * scale(x)",
]
ARMS = ["site * arm", "0 + site:arm", "C(site, Sum) * C(arm, Sum)", "site:arm"]
NESTED = ["region + site + x", "0 + site + region + x", "C(region, Sum) + site + x"]


def sites(lone):
    """Return records of sites, of which A has one record or many."""
    rng = np.random.default_rng(4)
    site = np.append(["A"] if lone else np.repeat("A", 18), rng.choice([*"BCD"], 80))
    data = pd.DataFrame({"site": site, "x": rng.normal(size=len(site))})
    data["arm"] = rng.choice(["p", "q"], len(site))
    data["region"] = data["site"].map({"A": "r1", "B": "r1", "C": "r1", "D": "r2"})
    shift = data["site"].map({"A": 3, "B": 0, "C": 4, "D": -3})
    data["y"] = 20 + shift + 2 * data["x"] + rng.normal(size=len(site))
    data["ill"] = (data["x"] + shift / 4 + 2 * rng.normal(size=len(site)) > 0) * 1
    data["fold"] = data["site"].astype("category").cat.codes + 1
    return data


def predictions(formula, data, scheme, **more):
    with pytest.warns(UnseenLevelWarning):
        return cv(formula, data, scheme=scheme, seed=1, **more).held.predicted


@pytest.mark.parametrize("codings", [ADDITIVE, SLOPES, ARMS, NESTED])
@pytest.mark.parametrize("lone", [True, False])
@pytest.mark.parametrize(
    ("outcome", "model"),
    [("y", "linear"), ("ill", "logit"), ("ill", Logit(firth=True))],
)
def test_codings_of_one_model_predict_a_new_level_alike(codings, lone, outcome, model):
    data = sites(lone)
    first, *others = [
        predictions(
            f"{outcome} ~ {one}", data, "loocv" if lone else "fold", model=model
        )
        for one in codings
    ]
    for other in others:
        np.testing.assert_allclose(other, first, rtol=0, atol=1e-6)


@pytest.mark.parametrize("scheme", ["bootstrap", "montecarlo", "rloocv"])
def test_codings_agree_where_records_are_drawn(scheme):
    data = sites(lone=True)
    first, *others = [
        predictions(f"ill ~ {one}", data, scheme, repeats=8, model="linear")
        for one in ADDITIVE
    ]
    for other in others:
        np.testing.assert_allclose(other, first, rtol=0, atol=1e-8)


def test_levels_seen_count_as_often_as_their_training_records():
    data = sites(lone=False).assign(w=lambda d: 1 + (d.index % 3))
    found = predictions("y ~ site * x", data, "fold", model="linear", weights="w")
    for site in "ABCD":
        held = data["site"] == site
        training, expected = data[~held], 0.0
        for _, own in training.groupby("site"):  # a line for each site seen
            line = np.polyfit(own["x"], own["y"], 1, w=np.sqrt(own["w"]))
            share = own["w"].sum() / training["w"].sum()
            expected = expected + share * np.polyval(line, data.loc[held, "x"])
        np.testing.assert_allclose(found[_places(data, site)], expected, atol=1e-8)


def _places(data, site):
    """Return the places of a site's records among predictions in the order of folds."""
    order = np.argsort(data["fold"].to_numpy(), kind="stable")
    return np.flatnonzero(data["site"].to_numpy()[order] == site)


def test_the_linear_predictor_is_averaged_not_the_probability():
    data = sites(lone=False)
    found = predictions("ill ~ site + x", data, "fold", model="logit")
    training, held = data[data["site"] != "A"], data[data["site"] == "A"]
    fit = smf.logit("ill ~ site + x", training).fit(disp=0)
    eta = sum(
        (training["site"] == site).mean()
        * fit.predict(held.assign(site=site), which="linear")
        for site in "BCD"
    )
    np.testing.assert_allclose(found[: len(held)], 1 / (1 + np.exp(-eta)), atol=1e-6)


def test_a_site_without_a_slope_of_its_own_does_not_count():
    data = sites(lone=True)
    data.loc[5, "site"] = "E"  # one record too
    first, *others = [
        predictions(f"y ~ {one}", data, "loocv", model="linear") for one in SLOPES[:3]
    ]
    for other in others:
        np.testing.assert_allclose(other, first, rtol=0, atol=1e-8)


class ColumnShown(RegressorMixin, BaseEstimator):
    """A regressor that predicts one of its columns."""

    def __init__(self, column):
        self.column = column

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, self.column]


@pytest.mark.parametrize("right", ["site + x", "site + scale(x)", "0 + site + x"])
def test_the_row_of_any_model_has_the_shares_of_the_levels(right):
    data = sites(lone=True)
    shares = data["site"][1:].value_counts(normalize=True)
    for column, name in enumerate("ABCD" if right.startswith("0") else "BCD"):
        model = ColumnShown(column)
        found = predictions(f"y ~ {right}", data, "loocv", model=model)
        assert found[0] == pytest.approx(shares.get(name, 0.0))
        assert set(found[1:]) == {0.0, 1.0} if name != "A" else {0.0}


@pytest.mark.parametrize(
    "model", [LinearRegression(), sm.OLS, RandomForestRegressor(5, random_state=0)]
)
def test_other_libraries_predict_new_levels(model):
    data = sites(lone=False)
    found = predictions("y ~ site + x", data, "fold", model=model)
    same = predictions("y ~ site + x", data, "fold", model="linear")
    forest = isinstance(model, RandomForestRegressor)
    np.testing.assert_allclose(found, same, atol=12 if forest else 1e-8)


@pytest.mark.parametrize("right", ["site + x", "site + scale(x)"])
@pytest.mark.parametrize(
    ("outcome", "model"),
    [
        ("y", Linear()),
        ("y", Neighbors(3)),
        ("ill", Logit(C=1.0)),
        ("ill", Logit(firth=True)),
        ("arms", Logit()),
    ],
)
def test_fits_made_together_predict_new_levels_as_those_one_by_one(
    right, outcome, model
):
    data = sites(lone=True)
    data["arms"] = np.where(data.index % 5 == 0, "high", data["arm"])
    together = predictions(f"{outcome} ~ {right}", data, "loocv", model=model)
    alone = predictions(f"{outcome} ~ {right}", data, "loocv", model=OneByOne(model))
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-8)


class OneByOne:
    """A model that is fitted fold by fold."""

    label = "one by one"

    def __init__(self, model):
        self.check, self.fit = model.check, model.fit


def test_tuned_models_and_permuted_outcomes_predict_new_levels():
    data = sites(lone=True)
    codings = ["site + x", "C(site, Treatment('D')) + x"]
    found = [
        predictions(f"ill ~ {one}", data, "loocv", tune={"C": [np.inf, 1e12]})
        for one in codings
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-6)
    with pytest.warns(UnseenLevelWarning):
        fits = [
            cv(f"y ~ {one}", data, scheme="loocv", model="linear") for one in codings
        ]
    tests = [
        fit.test("rmse", method="permutation", n_permutations=19, seed=1)
        for fit in fits
    ]
    assert tests[0].p_value == tests[1].p_value


def test_the_warning_counts_the_records():
    with pytest.warns(UnseenLevelWarning) as caught:
        cv("y ~ site + x", sites(lone=False), scheme="fold", model="linear")
    assert str(caught[0].message) == (
        "level 'A' of site is absent from 1 training set (fold 1): 18 held-out records "
        "with it are predicted there at the mean of the levels seen."
    )
    assert sum(one.category is UnseenLevelWarning for one in caught) == 4


def test_new_levels_may_be_refused():
    data = sites(lone=True)
    with pytest.raises(
        DataError, match=r"level 'A' of site .* refuses 1 record .*\(0\)"
    ):
        cv("y ~ site + x", data, scheme="loocv", new_levels="error")
    with pytest.raises(ArgumentError, match="Did you mean 'mean'"):
        cv("y ~ site + x", data, new_levels="means")
    cv("y ~ site + x", data[1:], scheme="loocv", new_levels="error")


# ---- combinations of levels that training sets lack ----

CELLS = [
    "site * arm + x",
    "0 + site:arm + x",
    "C(site, Sum) * C(arm, Sum) + x",
    "C(site, Treatment('B')) * C(arm, Treatment('q')) + x",
    "site / arm + x",
    "both + x",
    "0 + both + x",
]


def lone_cell():
    """Return records of which one alone is of site A in arm q."""
    data = sites(lone=False)
    data = data[(data["site"] != "A") | (data["arm"] == "p")]
    first = data.iloc[[0]].assign(site="A", arm="q")
    data = pd.concat([first, data], ignore_index=True)
    return data.assign(both=data["site"] + ":" + data["arm"])


@pytest.mark.parametrize(
    ("outcome", "model"), [("y", "linear"), ("ill", "logit"), ("y", OneByOne(Linear()))]
)
def test_codings_predict_a_new_combination_as_a_level_of_one_factor(outcome, model):
    first, *others = [
        predictions(f"{outcome} ~ {one}", lone_cell(), "loocv", model=model)
        for one in CELLS
    ]
    for other in others:
        np.testing.assert_allclose(other, first, rtol=0, atol=1e-6)


def test_a_new_combination_is_named_and_may_be_refused():
    data = lone_cell()
    with pytest.warns(UnseenLevelWarning) as caught:
        cv("y ~ site * arm", data, scheme="loocv", model="linear")
    assert len(caught) == 1
    assert "level 'A:q' of site:arm is absent from 1 train" in str(caught[0].message)
    with pytest.raises(DataError, match="'A:q' of site:arm is absent"):
        cv("y ~ site * arm", data, scheme="loocv", new_levels="error")
    # where a level itself is new, its combinations are not named
    with pytest.warns(UnseenLevelWarning) as caught:
        cv("y ~ site * arm", sites(lone=True), scheme="loocv", model="linear")
    told = [str(one.message) for one in caught if one.category is UnseenLevelWarning]
    assert [one[:17] for one in told] == ["level 'A' of site"]


# ---- records with a new level omitted ----


@pytest.mark.parametrize(
    ("outcome", "scheme", "more"),
    [
        ("y", "loocv", {}),
        ("y", "kfold", {"k": 4, "repeats": 3}),
        ("y", "loocv", {"rebalance": "weight"}),
        ("ill", "stratified_kfold", {"k": 5}),
        ("ill", "loocv", {"rebalance": "weight"}),
        ("ill", "loocv", {"rebalance": "all"}),
        ("ill", "rloocv", {"repeats": 4}),
        ("ill", "leave_pair_out", {}),
        ("ill", "tournament_leave_pair_out", {}),
        ("ill", "bootstrap", {"repeats": 9}),
        ("ill", "montecarlo", {"repeats": 30}),
    ],
)
def test_records_with_a_new_level_may_be_omitted(outcome, scheme, more):
    data = sites(lone=True)[:60]
    model = "linear" if outcome == "y" else Logit(firth=True)
    call = {"scheme": scheme, "model": model, "seed": 1, **more}
    if scheme == "loocv" and outcome == "ill" and more["rebalance"] == "all":
        data = data[:30]
    with pytest.warns(UnseenLevelWarning, match="1 held-out record .* omitted there"):
        omitted = cv(f"{outcome} ~ site + x", data, new_levels="omit", **call)
    with pytest.warns(UnseenLevelWarning):
        whole = cv(f"{outcome} ~ site + x", data, **call)
    assert 0 not in omitted.plan.tests.values
    assert np.isfinite(omitted.held.predicted).all()
    keys = ["repeat", "fold", "row"]
    both = omitted.predictions.merge(whole.predictions, on=keys, how="left")
    if not omitted.plan.fits.holds_out_pairs:
        np.testing.assert_allclose(both["predicted_x"], both["predicted_y"], atol=1e-9)
        assert len(omitted.predictions) == (whole.predictions["row"] != 0).sum()
    for fit in range(omitted.plan.n_fits):
        assert len(omitted.plan.test(int(omitted.plan.fits.split_of[fit])))
    assert "1 held-out record has a level of site" in str(omitted.summary())
    assert "It is not predicted." in str(omitted.summary()).replace("\n  ", " ")
    assert "predicted at the mean of those" in str(whole.summary()).replace("\n  ", " ")


def test_results_that_omit_different_records_are_not_compared():
    data = sites(lone=True)
    with pytest.warns(UnseenLevelWarning):
        full = cv("y ~ site + x", data, k=5, seed=1, new_levels="omit")
    base = cv("y ~ x", data, k=5, seed=1, new_levels="omit")
    with pytest.raises(ComparisonError, match=r"81 and 80 .* new_levels='mean'"):
        compare(base=base, full=full)
    with pytest.warns(UnseenLevelWarning):
        again = full.update(model="mean")
    assert again.plan.fingerprint == full.plan.fingerprint
    compare(null=again, full=full)


def test_folds_in_which_every_level_is_new_hold_out_nothing():
    with pytest.raises(SchemeError, match="no held-out record is left"):
        cv("y ~ site + x", sites(False), scheme="fold", new_levels="omit")
