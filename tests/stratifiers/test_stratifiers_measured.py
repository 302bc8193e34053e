"""The estimates on the folds of candidates beside the unbiased one."""

import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv import errors
from statcv.models import XGBoost
from statcv.studies import Inexact, simulate_ehr

TREES = XGBoost(max_depth=3, n_estimators=30, learning_rate=0.6)
FORMULA = "y ~ x5 + x6 + x10"


@pytest.fixture(scope="module")
def records():
    return simulate_ehr(500, 150, inexact=Inexact(typos=0.5), seed=2)


@pytest.fixture(scope="module")
def found(records):
    candidates = ["x5", "x6", "x10", "birth_date", scv.by_hash("person", key="k")]
    return scv.stratifier_bias(
        FORMULA,
        records,
        candidates,
        model=TREES,
        duplicates="person",
        repeats=4,
        per_fold=(1, 20),
        seed=5,
    )


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_estimates_are_those_of_cv(records, found):
    columns = ["y", "x5", "x6", "x10"]
    table = found.measured.set_index("candidate")
    for name in ("unbiased", "x5", "x5 × 20", "birth_date", "hash of person"):
        own = scv.cv(
            FORMULA, records[columns], model=TREES, scheme=found.plans[name], seed=5
        )
        value = found.unbiased if name == "unbiased" else table.loc[name, "estimate"]
        assert value == pytest.approx(float(own.estimate("accuracy")))
    assert table["unbiased"].nunique() == 1
    assert np.allclose(table["bias"], 100 * (table["estimate"] - table["unbiased"]))
    assert np.allclose(table["ratio"], table["estimate"] / table["unbiased"])


def test_folds_of_a_candidate_are_those_of_cv(records, found):
    own = scv.cv(FORMULA, records, k=5, stratify="x6", model="mean", seed=5)
    assert own.plan.fingerprint == found.plans["x6"].fingerprint


def test_a_date_with_typing_errors_is_flagged(records, found):
    table = found.measured.set_index("candidate")
    parted = table.loc["birth_date", "parted"]
    plan = scv.fold_plan("y", records, k=5, stratify="birth_date", repeats=4, seed=5)
    fold, person = plan.held_out, records["person"].to_numpy()
    slow = 0
    for row in fold:
        for p in np.unique(person):
            own = row[person == p]
            slow += sum((own != one).any() for one in own)
    assert parted == slow / 4 > 0
    assert table.loc["birth_date", "verdict"].startswith(
        f"leaks: parts {parted:,.0f} known duplicates; "
    )
    assert table.loc["hash of person", "parted"] == 0
    assert "leaks" not in table.loc["hash of person", "verdict"]
    assert found.least != "birth_date"


def values(result, name, records):
    own = scv.cv(
        FORMULA,
        records[["y", "x5", "x6", "x10"]],
        model=TREES,
        scheme=result.plans[name],
        seed=5,
    )
    right = (own.predictions["predicted"] > 0.5) == own.predictions["observed"]
    return own, right.groupby(own.predictions["repeat"]).mean().to_numpy()


def test_intervals_over_folds(records, found):
    """A t interval of differences; fixed folds count as one draw more."""
    from scipy import stats

    table, t = found.measured.set_index("candidate"), stats.t.ppf(0.975, 3)
    _, unbiased = values(found, "unbiased", records)
    half = 100 * t * unbiased.std(ddof=1) * np.sqrt(1 + 1 / 4)
    row = table.loc["x5"]
    assert row["upper"] - row["bias"] == pytest.approx(half)
    assert row["bias"] - row["lower"] == pytest.approx(half)
    assert row["repeats"] == 1
    _, drawn = values(found, "x5 × 20", records)
    half = 100 * t * (drawn - unbiased).std(ddof=1) / 2
    row = table.loc["x5 × 20"]
    assert row["upper"] - row["bias"] == pytest.approx(half)
    assert row["repeats"] == 4


def test_intervals_over_records_pair_records_and_sum_copies(records, found):
    right = {}
    for name in ("unbiased", "x5"):
        own, _ = values(found, name, records)
        hit = (own.predictions["predicted"] > 0.5) == own.predictions["observed"]
        right[name] = hit.groupby(own.predictions["row"]).mean()
    change = right["x5"] - right["unbiased"]
    people = (change - change.mean()).groupby(records["person"]).sum()
    se = 100 * np.sqrt((people**2).sum()) / len(records)
    row = found.measured.set_index("candidate").loc["x5"]
    assert row["records_upper"] - row["bias"] == pytest.approx(1.959963985 * se)


def test_many_bins_a_fold_take_the_bias_away(found):
    table = found.measured.set_index("candidate")
    assert table.loc["x5", "upper"] < -1
    assert table.loc["x5", "verdict"].startswith("costs ")
    assert table.loc["x5 × 20", "bias"] > table.loc["x5", "bias"] / 2
    ranking = found.ranking.set_index("candidate")
    assert ranking.loc["x5 × 20", "predicted"] < ranking.loc["x5", "predicted"] / 2


def test_a_model_of_chance_is_fitted_again_on_fixed_folds(records):
    from sklearn.ensemble import RandomForestClassifier

    few = records.iloc[:150]
    forest = RandomForestClassifier(n_estimators=5)
    fixed = RandomForestClassifier(n_estimators=5, random_state=1)
    repeats = [
        scv.stratifier_bias(FORMULA, few, "x6", model=model, repeats=3, seed=1)
        .measured["repeats"]
        .item()
        for model in (forest, fixed)
    ]
    assert repeats == [3, 1]


@pytest.mark.parametrize(
    ("formula", "more"),
    [
        (FORMULA, {"metric": "auroc"}),
        (FORMULA, {"metric": "log_loss", "scheme": "kfold"}),
        ("x6 ~ x1 + x5", {"metric": "r2"}),
        ("x6 ~ x1 + x5", {}),
        (FORMULA, {"model": "neighbors"}),
        ("C(site) ~ x1 + x5", {}),
        ("y ~ bs(x5, df=4) + x6:x10 + site", {}),
    ],
)
def test_every_kind_of_model_and_metric(records, formula, more):
    found = scv.stratifier_bias(
        formula, records, ["x5", "patient_id"], repeats=3, seed=1, **more
    )
    assert found.measured["bias"].notna().all()
    assert found.measured["lower"].notna().all()
    assert found.ranking["clamp"].notna().all()
    sign = 1 if found.setting.metric.greater_is_better else -1
    cost = -sign * found.measured["bias"].iloc[0]
    verdict = found.measured["verdict"].iloc[0]
    assert verdict.startswith(("no bias", "costs" if cost > 0 else "flatters"))
    assert str(found.summary()).count("\n") > 10


def test_a_metric_that_is_no_mean_has_no_interval_over_records(records):
    found = scv.stratifier_bias(
        FORMULA, records, ["x6"], metric="f1", repeats=3, seed=1
    )
    assert found.measured["records_lower"].isna().all()
    assert found.ranking["clamp_se"].isna().all()
    assert "no interval over records" in str(found.summary())


def test_one_repeat_has_no_interval(records):
    found = scv.stratifier_bias(FORMULA, records, ["x6"], repeats=1, seed=1)
    assert found.measured["lower"].isna().all()
    assert "no interval over folds" in found.measured["verdict"].item()


def test_repeats_that_do_not_differ_have_no_interval(records):
    """A model without predictors has the same accuracy in all random folds."""
    found = scv.stratifier_bias(
        FORMULA, records, ["x6"], model="mean", repeats=3, seed=1
    )
    assert found.chance.sd == 0
    assert found.measured["lower"].isna().all()
    assert found.ranking["clamp"].item() == 0


def test_every_column_is_a_candidate_where_none_is_named(records):
    data = records.drop(columns=["x1", "x2", "x3", "x4", "x7", "x8", "x9"])
    data = data.assign(one=1, flag=data["x6"] > 0)
    data["lacking"] = data["x5"].where(data["x5"] > 0)
    with pytest.warns(errors.FoldWarning, match="of site have more than 1/5"):
        found = scv.stratifier_bias(
            "y ~ x6 + x5", data, duplicates="person", measure=False, seed=1
        )
    names = {"x5", "x6", "x10", "site", "patient_id", "birth_date", "person"}
    assert set(found.ranking["candidate"]) == names
    assert set(found.skipped) == {"one", "flag", "lacking"}
    assert "'one' is constant" in str(found.summary())


def test_a_dot_leaves_out_what_identifies(records):
    few = records.drop(columns=["site", "birth_date"])
    found = scv.stratifier_bias(
        "y ~ .", few, ["x5", "patient_id"], duplicates="person", measure=False, seed=1
    )
    assert found.setting.design.formula.columns == tuple(f"x{i}" for i in range(1, 11))


def test_equal_records_are_copies_where_all_columns_are_named(records):
    data = records[["y", "x5", "x6", "x10"]]
    found = scv.stratifier_bias(
        FORMULA, data, ["x5"], duplicates=True, measure=False, seed=1
    )
    assert found.setting.distinct == len(data.drop_duplicates()) == 500


@pytest.mark.parametrize(
    ("candidates", "more", "error", "says"),
    [
        (["x66"], {}, errors.ColumnError, "'x66' is no column.*Did you mean 'x6'"),
        (["one"], {}, errors.DataError, "'one' is constant"),
        (["few"], {}, errors.SchemeError, "few has 3 distinct values.*k=5"),
        (["lacking"], {}, errors.DataError, "'lacking' is missing in .* of 650"),
        (["y"], {}, errors.ArgumentError, "'y' is the outcome"),
        (["x6", "x6"], {}, errors.ArgumentError, "'x6' is given twice"),
        ([], {}, errors.ArgumentError, "candidates is empty"),
        ([3], {}, errors.ArgumentTypeError, "not 3"),
        (["x6"], {"scheme": "loocv"}, errors.SchemeError, "'stratified_kfold'"),
        (["x6"], {"metric": "calibration_slope"}, errors.MetricError, "neither more"),
        (["x6"], {"per_fold": 0}, errors.ArgumentError, "per_fold=0"),
        (["x6"], {"repeats": 0}, errors.ArgumentError, "repeats=0"),
        (["x6"], {"how": "paired"}, errors.ArgumentError, "how must be"),
        (["x6"], {"duplicates": "idd"}, errors.ColumnError, "idd"),
        (["x6"], {"duplicates": "lacking"}, errors.DataError, "lacking.*is missing"),
    ],
)
def test_what_makes_no_sense_is_refused(records, candidates, more, error, says):
    data = records.assign(one=1, few=np.arange(len(records)) % 3)
    data["lacking"] = data["x5"].where(data["x5"] > 0)
    with pytest.raises(error, match=says):
        scv.stratifier_bias(FORMULA, data, candidates, **{"seed": 1, **more})


def test_text_and_summary(found):
    lines = repr(found).splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("n = 650, 500 of them distinct")
    assert "unbiased accuracy (pooled)" in lines[1]
    assert lines[2].startswith("x5 costs ")
    summary = found.summary()
    assert list(summary.tables) == ["Ranking", "Measured"]
    assert "Monte Carlo, given these records" in str(summary)
    assert "known copies parted" in summary.to_markdown()
    assert summary.to_latex()
    assert "<table" in summary._repr_html_()
    again = pickle.loads(pickle.dumps(found))
    pd.testing.assert_frame_equal(again.measured, found.measured)


def test_the_picture_has_a_named_point_a_candidate_and_both_correlations(found):
    ax = found.plot()
    assert {text.get_text() for text in ax.texts} == set(found.measured["candidate"])
    ranking = found.ranking.set_index("candidate")
    names = ["x5", "x6", "x10"]  # one bin a fold, and in the formula
    x = ranking.loc[names, "importance"]
    y = found.measured.set_index("candidate").loc[names, "ratio"]
    said = f"Pearson r = {x.corr(y):.2f}, Spearman r = {x.corr(y, 'spearman'):.2f} (3)"
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[0] == said.replace("-", "−")
    assert ax.get_ylabel() == "accuracy: stratified over unbiased"
    other = scv.plot_stratifier_bias(found, against="clamp")
    assert "clamped" in other.get_xlabel()


def test_what_the_picture_refuses(records, found):
    with pytest.raises(errors.ArgumentError, match="Did you mean 'clamp'"):
        found.plot("clam")
    bare = scv.stratifier_bias(FORMULA, records, ["x6"], measure=False, seed=1)
    with pytest.raises(errors.ArgumentError, match="nothing was measured"):
        bare.plot()
