"""The ranking before any fit on the folds of a candidate."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.models import XGBoost

TREES = XGBoost(max_depth=3, n_estimators=40, learning_rate=0.6)
X = [f"x{i}" for i in range(1, 11)]


@pytest.fixture(scope="module")
def records():
    return scv.simulate_ehr(1_500, 300, seed=1)


@pytest.fixture(scope="module")
def ranked(records):
    with pytest.warns(scv.errors.FoldWarning, match="of site have more than 1/5"):
        return scv.stratifier_bias(
            f"y ~ {' + '.join(X)}",
            records,
            [*X, "patient_id", "site"],
            model=TREES,
            duplicates="patient_id",
            measure=False,
            seed=1,
        )


def by_name(result):
    return result.ranking.set_index("candidate")


@pytest.mark.slow
def test_the_covariate_that_matters_by_its_square_is_first(ranked):
    own = by_name(ranked).loc[X].sort_values("rank")
    assert own.index[0] == "x5"
    assert own.index[-1] == "x10"  # x10 has no effect on the outcome
    assert ranked.measured is None
    assert ranked.ranking["rank"].tolist() == list(range(1, 13))


@pytest.mark.slow
def test_importance_is_total_gain_over_the_fold_models(records, ranked):
    """Fitted again with XGBoost itself, on the folds of the result."""
    import xgboost

    total = pd.Series(0.0, index=X)
    for train, _ in ranked.plans["unbiased"].split():
        data = records[X].to_numpy()[train]
        matrix = xgboost.QuantileDMatrix(data, records["y"].to_numpy()[train])
        settings = {"max_depth": 3, "eta": 0.6, "objective": "binary:logistic"}
        booster = xgboost.train(settings, matrix, 40)
        gain = booster.get_score(importance_type="total_gain")
        values = np.array([gain.get(f"f{j}", 0.0) for j in range(10)])
        total += values / values.sum() / 5
    found = by_name(ranked).loc[X, "importance"]
    assert found.to_numpy() == pytest.approx(total.to_numpy(), rel=1e-5)
    assert found.sum() == pytest.approx(1)
    assert ranked.importance == "total_gain"


@pytest.mark.slow
def test_an_identifier_parts_no_copies_and_a_site_does(records, ranked):
    table = by_name(ranked)
    assert table.loc["patient_id", "duplicates_split"] == 0
    plan = ranked.plans["site"]
    audit = plan.audit(data=records, duplicates="patient_id")
    assert table.loc["site", "duplicates_split"] == audit["duplicates"].value > 0
    assert not table.loc["site", "in_model"]
    unused = table.loc["site", ["clamp", "permutation", "importance"]]
    assert (unused == 0).all()
    assert np.isnan(table.loc["site", "predicted"])
    assert ranked.least == "patient_id"  # no term uses it, and it splits no duplicates


def clamped_in_a_loop(frame, formula, name, plan, folds):
    """Loss of accuracy by clamping, record by record, with statsmodels' logit."""
    import statsmodels.formula.api as smf

    before = after = 0
    values, fold = frame[name].to_numpy(), folds.held_out[0]
    for train, test in plan.split():
        fitted = smf.logit(formula, frame.iloc[train]).fit(disp=0)
        nearest = []
        for i in test:
            outside = values[fold != fold[i]]
            away = np.abs(outside - values[i])
            nearest.append(outside[away == away.min()].min())
        held, y = frame.iloc[test], frame["y"].to_numpy()[test]
        moved = held.assign(**{name: nearest})
        before += ((fitted.predict(held) > 0.5) == y).sum()
        after += ((fitted.predict(moved) > 0.5) == y).sum()
    return 100 * (before - after) / len(frame)


def test_clamping_in_all_terms_of_a_formula_by_brute_force():
    frame = scv.simulate_ehr(240, 0, seed=3)
    formula = "y ~ x3 * x4 + I(x5 ** 2)"
    found = scv.stratifier_bias(
        formula, frame, ["x3", "x4", "x5"], k=3, measure=False, seed=2
    )
    table = by_name(found)
    for name in ("x3", "x4", "x5"):
        plan, own = found.plans["unbiased"], found.plans[name]
        slow = clamped_in_a_loop(frame, formula, name, plan, own)
        assert table.loc[name, "clamp"] == pytest.approx(slow)
    assert (table["clamp"] != 0).any()
    assert table["predicted"].isna().all()  # coefficients change as a whole


def u_shaped(seed, n=500):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["age", "bmi", "lab"])
    z = 1.5 * frame["age"] ** 2 + 0.8 * frame["bmi"] - 1.2
    risk = 1 / (1 + np.exp(-z))
    return frame.assign(y=(rng.uniform(size=n) < risk).astype(int))


@pytest.mark.parametrize("model", ["xgboost", "neighbors"])
def test_predictions_agree_with_measured_losses(model):
    pairs = []
    for seed in range(4):
        found = scv.stratifier_bias(
            "y ~ age + bmi + lab",
            u_shaped(seed),
            ["age", "bmi", "lab"],
            model=model,
            repeats=2,
            seed=1,
        )
        bias = found.measured.set_index("candidate")["bias"]
        pairs.append(pd.DataFrame({"p": by_name(found)["predicted"], "cost": -bias}))
        told = 0.40 + 1.01 * by_name(found)["clamp"].clip(lower=0)
        told += 0.058 * by_name(found)["permutation"]
        assert np.allclose(by_name(found)["predicted"], told.clip(lower=0))
    joined = pd.concat(pairs)
    assert joined["p"].corr(joined["cost"]) > 0.7


@pytest.mark.parametrize("metric", ["accuracy", "auroc", "brier"])
def test_a_linear_model_is_measured_and_not_predicted(metric):
    call = ("y ~ age + bmi + lab", u_shaped(1), ["age", "bmi", "lab"])
    measured = scv.stratifier_bias(*call, metric=metric, repeats=2, seed=1)
    assert measured.measured is not None
    ranked = scv.stratifier_bias(*call, metric=metric, measure=False, seed=1)
    assert ranked.ranking["predicted"].isna().all()
    assert ranked.ranking["candidate"].iloc[0] == "age"  # ranked by mutual information
    assert "predicted for trees and neighbours only" in repr(ranked)
    assert "but -0.25 for linear models" in " ".join(
        str(ranked.summary(notes=True)).split()
    )


def test_terms_that_learn_do_so_on_training_records():
    """With ``center`` the model is the same, and so is all that is said of it."""
    frame = scv.simulate_ehr(200, 0, seed=3)
    plain, centred = (
        scv.stratifier_bias(f, frame, ["x3", "x5"], k=3, measure=False, seed=2)
        for f in ("y ~ x3 + x5", "y ~ center(x3) + center(x5)")
    )
    columns = ["clamp", "permutation", "importance", "mutual_information"]
    pd.testing.assert_frame_equal(plain.ranking[columns], centred.ranking[columns])


def test_linear_importance_is_coefficient_times_sd():
    frame = scv.simulate_ehr(200, 0, seed=3)
    found = scv.stratifier_bias(
        "x3 ~ x1 + x2", frame, ["x1", "x2"], model="linear", measure=False, seed=2
    )
    parts = []
    for train, _ in found.plans["unbiased"].split():
        part = frame.iloc[train]
        design = np.column_stack([np.ones(len(part)), part[["x1", "x2"]]])
        beta = np.linalg.lstsq(design, part["x3"], rcond=None)[0][1:]
        size = np.abs(beta) * part[["x1", "x2"]].std(ddof=0).to_numpy()
        parts.append(size / size.sum())
    own = by_name(found).loc[["x1", "x2"], "importance"].to_numpy()
    assert own == pytest.approx(np.mean(parts, axis=0))
    assert found.importance == "linear"


def test_a_category_is_clamped_to_the_commonest_other_level():
    frame = pd.DataFrame({"g": list("aaaabbbccd") * 12})
    frame["x"] = np.arange(120) % 7
    frame["y"] = (frame["g"].isin(["a", "d"])).astype(float) + frame["x"] / 100
    found = scv.stratifier_bias(
        "y ~ g + x",
        frame,
        [scv.by_value("g")],
        k=2,
        metric="mse",
        measure=False,
        seed=1,
    )
    fold = found.plans["values of g"].held_out[0]
    level = frame["g"].to_numpy()
    counts = frame["g"].value_counts()
    truth = {"a": 1.0, "b": 0.0, "c": 0.0, "d": 1.0}
    losses = []
    for i in range(120):
        outside = counts[[v for v in counts.index if v in level[fold != fold[i]]]]
        losses.append((truth[outside.idxmax()] - truth[level[i]]) ** 2)
    assert found.ranking["clamp"].item() == pytest.approx(np.mean(losses), abs=1e-9)


@pytest.mark.slow
def test_every_process_gives_the_same_numbers(records):
    few = records.iloc[:300]
    one, two = (
        scv.stratifier_bias(
            "y ~ x3 + x5", few, ["x3"], model=TREES, measure=False, seed=4, n_jobs=jobs
        )
        for jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(one.ranking, two.ranking)


def test_what_identifies_is_kept_whole_and_weights_are_no_candidate(records):
    few = records.iloc[:300, :]
    person = few["patient_id"].factorize()[0] * 7 % 1009  # a number that identifies
    table = few[["y", "x3", "x5"]].assign(person=person, w=1.0 + person % 3)
    found = scv.stratifier_bias(
        "y ~ x3 + x5", table, duplicates="person", weights="w", measure=False, seed=1
    )
    folds = by_name(found)["folds"].to_dict()
    one = "quantiles, 1 bin per fold"
    assert folds == {"person": "whole values", "x3": one, "x5": one}
    with pytest.raises(scv.StatcvError, match="'v'"):
        scv.stratifier_bias("y ~ x3", table, weights="v", measure=False)
    both = scv.stratifier_bias(
        "y ~ x3 + x5", table, duplicates=["person", "x3"], measure=False, seed=1
    )
    assert by_name(both)["folds"]["person + x3"] == "whole values"
