"""Fits from sums are those of the pooled records."""

import numpy as np
import pandas as pd
import pytest
from hospitals import FORMULA, agreed, by_person, hospitals, pooled

import statcv as scv
from statcv import sites
from statcv.errors import ComparisonError, ConvergenceWarning, ModelError
from statcv.folds import FoldPlan
from statcv.models import Linear, Logit

EXACT = 1e-10
MODELS = {
    "logit": Logit(),
    "ridge": Logit(C=1.0),
    "firth": Logit(firth=True),
    "linear": Linear(),
}


def coefficients(result) -> np.ndarray:
    return result.coefficients.drop(columns=["repeat", "fold"]).to_numpy()


@pytest.mark.parametrize("model", MODELS)
def test_fits_are_those_of_the_pooled_records(model):
    data = hospitals()
    formula = FORMULA.replace("y ~", "z ~") if model == "linear" else FORMULA
    result = sites.run(agreed(formula, model=model), data)
    one = scv.cv(
        formula,
        pooled(data),
        model=MODELS[model],
        scheme="kfold",
        k=5,
        stratify=by_person(),
    )
    assert np.abs(coefficients(result) - coefficients(one)).max() < EXACT
    whole = one.model.coefficients
    assert np.abs(result.model["estimate"].to_numpy() - np.asarray(whole)).max() < EXACT
    new = data["A"].head(7)
    assert np.allclose(result.predict(new), one.predict(new), atol=EXACT)
    assert result.folds["converged"].all()
    shared = ["fold", "n_train", "n_test"]
    assert np.array_equal(result.folds[shared], one.folds[shared])


def test_held_out_predictions_are_those_of_the_pooled_records():
    """Each site can compute those of its own records."""
    data = hospitals()
    plan = agreed()
    result = sites.run(plan, data)
    one = scv.cv(FORMULA, pooled(data), scheme="kfold", k=5, stratify=by_person())
    parts = []
    for site, frame in data.items():
        X = np.column_stack(
            [np.ones(len(frame)), frame["sex"] == "m", frame[["x0", "x1", "x2"]]]
        )
        order = [result.plan.columns.index(name) for name in plan.columns]
        names = ["Intercept", "sex[T.m]", "x0", "x1", "x2"]
        beta = result.coefficients[names].to_numpy()
        folds = sites.site_folds(plan, frame, site)
        fold = np.empty(len(frame), dtype=int)
        for number in range(5):
            fold[folds.test(number)] = number
        assert order == list(range(5))
        parts.append((X * beta[fold]).sum(axis=1))
    p = 1 / (1 + np.exp(-np.concatenate(parts)))
    assert np.abs(p - one.predictions.sort_values("row")["predicted"]).max() < EXACT


@pytest.mark.parametrize(
    "more",
    [
        {"stratify": None},
        {"rebalance": True},
        {"rebalance": True, "stratify": None},
        {"stratify": scv.by_quantile("age", thresholds=[35, 48, 62, 75])},
        {"stratify": scv.by_quantile("age", 2, list(range(27, 87, 7))), "seed": 3},
    ],
)
def test_other_folds_are_those_of_the_joined_plans(more):
    data = hospitals()
    plan = agreed(**more)
    result = sites.run(plan, data)
    folds = FoldPlan.concat(
        {site: sites.site_folds(plan, one, site) for site, one in data.items()}
    )
    one = scv.cv(FORMULA, pd.concat(data), scheme=folds)
    assert np.abs(coefficients(result) - coefficients(one)).max() < EXACT
    assert np.array_equal(result.folds["n_train"], one.folds["n_train"])


def test_rebalanced_training_sets_have_equal_classes():
    plan = agreed(rebalance=True)
    for site, one in hospitals().items():
        folds, y = sites.site_folds(plan, one, site), one["y"].to_numpy()
        for fit in range(5):
            assert y[folds.train(fit)].mean() == 0.5
            smaller = min(np.bincount(np.delete(y, folds.test(fit))))
            assert len(folds.train(fit)) == 2 * smaller


def test_incomplete_rows_and_levels_of_numbers():
    data = hospitals()
    for seed, one in enumerate(data.values()):
        rng = np.random.default_rng(seed)
        one["stage"] = rng.integers(1, 4, len(one))
        one.loc[rng.choice(len(one), 20, replace=False), "x1"] = np.nan
    data["B"]["stage"] = data["B"]["stage"].astype("Int64")
    formula = "y ~ x0 + x1 + C(stage)"
    plan = agreed(formula, levels={"stage": [1, 2, 3]})
    with pytest.warns(scv.errors.MissingDataWarning) as left_out:
        result = sites.run(plan, data)
    assert ["20 of 400" in str(one.message) for one in left_out] == [True, False, False]
    with pytest.warns(scv.errors.MissingDataWarning):
        one = scv.cv(
            formula,
            pooled(data).astype({"stage": int}),
            scheme="kfold",
            k=5,
            stratify=by_person(),
        )
    assert result.n == one.design.n
    assert np.abs(coefficients(result) - coefficients(one)).max() < EXACT


def test_an_outcome_of_text_and_a_site_without_a_level():
    data = hospitals()
    for one in data.values():
        one["y"] = np.where(one["y"] == 1, "ill", "well")
    data["B"]["sex"] = "f"
    plan = agreed(levels={"sex": ["f", "m"], "y": ["well", "ill"]})
    result = sites.run(plan, data)
    one = scv.cv(
        FORMULA, pooled(data), positive="ill", scheme="kfold", k=5, stratify=by_person()
    )
    assert np.abs(coefficients(result) - coefficients(one)).max() < EXACT


def test_correlated_columns_on_odd_scales():
    data = hospitals()
    for one in data.values():
        one["x1"] = 2020 + 5 * (one["x0"] + 0.05 * one["x1"])
        one["x2"] = 1e-6 * one["x2"]
    result = sites.run(agreed(), data)
    one = scv.cv(FORMULA, pooled(data), scheme="kfold", k=5, stratify=by_person())
    apart = coefficients(result) - coefficients(one)
    assert (np.abs(apart) < 1e-8 * np.abs(coefficients(one)) + EXACT).all()


def test_dependent_columns_are_named():
    data = hospitals()
    for one in data.values():
        one["twice"] = 2 * one["x0"]
    with pytest.raises(ModelError, match="'x0' and 'twice', are linearly dependent"):
        sites.run(agreed("y ~ x0 + x1 + twice", levels=None), data)
    ridge = sites.run(agreed("y ~ x0 + x1 + twice", levels=None, model="ridge"), data)
    beta = ridge.model["estimate"]
    assert np.allclose(beta["twice"], 2 * beta["x0"])


@pytest.mark.parametrize("model", ["ridge", "firth", "logit"])
def test_a_level_that_a_training_set_lacks_is_named(model):
    data = hospitals()
    formula = "y ~ x0 + sex + ward"
    plan = agreed(formula, levels={"sex": ["f", "m"], "ward": [*"abc"]}, model=model)
    for site, one in data.items():
        one["ward"] = np.where(one["x1"] > 0, "a", "b")
        fold = sites.site_folds(plan, one, site).held_out[0]
        one["ward"] = one["ward"].mask(fold == 1, "c")
    with pytest.raises(ModelError, match=r"'ward\[T.c\]' is 0 .* fold 2, so that no"):
        sites.run(plan, data)


def test_results_over_sites_are_compared_by_site():
    data = hospitals()
    a, b = sites.run(agreed(), data), sites.run(agreed(model="ridge"), data)
    with pytest.raises(ComparisonError, match="compare_settings") as told:
        scv.compare(a=a, b=b)
    call = str(told.value).partition("compared by ")[2].rstrip(".")
    names = {"a": a, "b": b, "compare_settings": scv.compare_settings}
    assert len(eval(call, names).table) == len(data)


def test_separated_classes_do_not_end():
    data = hospitals()
    for one in data.values():
        one["y"] = (one["x0"] > 0).astype(int)
    plan = agreed("y ~ x0", levels=None)
    with pytest.warns(ConvergenceWarning, match="may be separated"):
        result = sites.run(plan, data)
    assert not result.folds["converged"].any()
    assert result.estimate("auroc").value == 1
    assert np.isnan(result.estimate("auroc").lower)
    assert np.isnan(result.estimate("calibration_slope").value)
    ridge = sites.run(agreed("y ~ x0", levels=None, model="ridge"), data)
    assert ridge.folds["converged"].all()


def test_results_do_not_depend_on_the_order_of_sites():
    data = hospitals()
    one = sites.run(agreed(), data)
    other = sites.run(agreed(), dict(reversed(data.items())))
    assert np.array_equal(coefficients(one), coefficients(other))
    assert one.metrics().equals(other.metrics())
