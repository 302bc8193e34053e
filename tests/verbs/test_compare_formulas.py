"""compare() of formulas: common rows, one plan."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnError,
    ComparisonError,
    DataError,
)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 3))
    y = (x.sum(axis=1) + rng.normal(size=60) > 0).astype(int)
    table = pd.DataFrame(x, columns=["age", "crp", "bmi"], index=range(100, 160))
    table["y"] = y
    table["site"] = rng.integers(0, 15, 60)
    return table


@pytest.fixture(scope="module")
def gaps(frame):
    table = frame.copy()
    table.loc[[103, 110], "crp"] = np.nan
    table.loc[[110, 120, 121], "bmi"] = np.nan
    return table


def test_formulas_are_fitted_as_cv_fits_them(frame):
    formulas = {"base": "y ~ age", "full": "y ~ age + crp"}
    call = {"data": frame, "scheme": "rloocv", "repeats": 2, "seed": 3}
    found = scv.compare(**formulas, **call)
    by_hand = {name: scv.cv(text, **call) for name, text in formulas.items()}
    assert found.differences.equals(scv.compare(**by_hand).differences)
    plans = {result.plan.fingerprint for result in found.results.values()}
    assert len(plans) == 1
    assert found.differences["caveat"].tolist() == [""]


def test_rows_complete_for_all(gaps):
    with pytest.warns(scv.errors.MissingDataWarning, match=r"4 of 60.*bmi 3, crp 2"):
        found = scv.compare(
            base="y ~ age", crp=". ~ . + crp", bmi="y ~ bmi", data=gaps, seed=1
        )
    kept = gaps.dropna().index
    for result in found.results.values():
        assert result.design.labels.equals(kept)
    assert found.results["crp"].design.names == ("Intercept", "age", "crp")
    said = " ".join(str(found.summary()).split())
    assert "4 of 60 rows are incomplete (bmi 3, crp 2)" in said


def test_nothing_is_said_of_columns_that_no_formula_uses(gaps):
    found = scv.compare("y ~ age", "y ~ age + site", data=gaps, seed=1)
    assert list(found.results) == ["y ~ age", "y ~ age + site"]
    assert found.left_out == ""


def test_what_is_given_by_row_goes_with_the_rows(gaps):
    rng = np.random.default_rng(4)
    weights, folds = rng.uniform(1, 2, 60), rng.integers(0, 4, 60)
    with pytest.warns(scv.errors.MissingDataWarning):
        found = scv.compare(
            a="y ~ age", b="y ~ crp", data=gaps, weights=weights, scheme=folds, seed=1
        )
    complete = gaps["crp"].notna().to_numpy()
    for result in found.results.values():
        assert np.array_equal(result.weights, weights[complete])
        assert np.array_equal(result.plan.held_out[0], folds[complete])


def test_a_dot_leaves_the_stratifier_out_of_every_formula(frame):
    found = scv.compare(
        some="y ~ age",
        every="y ~ .",
        data=frame,
        stratify=scv.by_value("site"),
        k=5,
        seed=1,
    )
    assert found.results["every"].design.names == ("Intercept", "age", "crp", "bmi")
    plans = {result.plan.fingerprint for result in found.results.values()}
    assert len(plans) == 1


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_a_random_splitter_splits_once(frame):
    from sklearn.model_selection import KFold

    found = scv.compare(
        a="y ~ age", b="y ~ crp", data=frame, scheme=KFold(4, shuffle=True)
    )
    assert len({r.plan.fingerprint for r in found.results.values()}) == 1


def test_functions_of_the_caller(frame):
    def doubled(x):
        return 2 * x

    found = scv.compare(a="y ~ age", b="y ~ doubled(crp)", data=frame, seed=1)
    plain = scv.compare(a="y ~ age", b="y ~ crp", data=frame, seed=1)
    assert doubled(1) == 2
    assert found.differences["p"][0] == pytest.approx(plain.differences["p"][0])


def test_other_ways_with_missing_values(gaps):
    with pytest.raises(DataError, match="na_action='raise'"):
        scv.compare(a="y ~ age", b="y ~ crp", data=gaps, na_action="raise")


def test_results_called_as_arguments_are(frame):
    res = scv.cv("y ~ age", frame, seed=1)
    for name in ("metric", "test", "reference"):
        with pytest.raises(ArgumentError, match=f"{name}= is an argument of compare"):
            scv.compare(res, **{name: res})
    for name in ("data", "model", "tune"):
        with pytest.raises(ArgumentError, match=f"{name}= is an argument of cv"):
            scv.compare(res, **{name: res})
    with pytest.raises(ArgumentError, match="weights= is an argument of cv"):
        scv.compare(a="y ~ age", weights="y ~ crp", data=frame)


def test_refusals(frame, tmp_path):
    res = scv.cv("y ~ age", frame, seed=1)
    with pytest.raises(ComparisonError, match="a formula needs data="):
        scv.compare("y ~ age", "y ~ crp")
    with pytest.raises(ComparisonError, match="either results or formulas"):
        scv.compare(a=res, b="y ~ crp", data=frame)
    with pytest.raises(ArgumentTypeError, match="k= is for formulas"):
        scv.compare(res, res.update(formula="y ~ crp"), k=5)
    with pytest.raises(ArgumentTypeError, match="formulas need data"):
        scv.compare(a="y ~ age", b="y ~ crp", k=5)
    with pytest.raises(ComparisonError, match="a int is not a formula: 7"):
        scv.compare(a="y ~ age", b=7, data=frame)
    with pytest.raises(ArgumentError, match="checkpoint= keeps the fits of one call"):
        scv.compare(a="y ~ age", b="y ~ crp", data=frame, checkpoint=tmp_path)
    with pytest.raises(ColumnError, match="agee"):
        scv.compare(a="y ~ age", b="y ~ agee", data=frame)
    with pytest.raises(ComparisonError, match="at least two results"):
        scv.compare(a="y ~ age", data=frame)
    with pytest.raises(ComparisonError, match="do not have the same outcome"):
        scv.compare(a="y ~ age", b="site ~ age", data=frame, scheme="kfold", seed=1)
    with pytest.raises(ArgumentError, match="named twice"):
        scv.compare("y ~ age", "y ~ crp", **{"y ~ age": "y ~ bmi"}, data=frame)
