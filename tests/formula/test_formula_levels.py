"""Levels that are absent from training sets, and new data."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.formula.api as smf

from statcv import cv
from statcv.errors import ColumnError, DataError, UnseenLevelWarning
from statcv.formula import make_design

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
    cv("y ~ x + g", data.assign(fold=np.arange(N) % 2), scheme="fold", seed=1)


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
