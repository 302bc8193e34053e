"""The estimates on the folds of candidates beside the unbiased one."""

import pickle
import re
import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv import errors
from statcv.datasets import Inexact, simulate_ehr
from statcv.models import XGBoost
from statcv.plots.wrapping import overlapping
from statcv.results.stratifier_bias import verdict

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


@pytest.mark.slow
def test_estimates_are_those_of_cv(records, found):
    columns = ["y", "x5", "x6", "x10"]
    table = found.measured.set_index("candidate")
    for name in ("unbiased", "x5 × 20", "birth_date"):
        own = scv.cv(
            FORMULA, records[columns], model=TREES, scheme=found.plans[name], seed=5
        )
        value = found.unbiased if name == "unbiased" else table.loc[name, "estimate"]
        assert value == pytest.approx(float(own.estimate("accuracy")))
    assert table["unbiased"].nunique() == 1
    assert np.allclose(table["bias"], 100 * (table["estimate"] - table["unbiased"]))
    assert np.allclose(table["ratio"], table["estimate"] / table["unbiased"])


@pytest.mark.slow
def test_folds_of_a_candidate_are_those_of_cv(records, found):
    own = scv.cv(
        FORMULA, records, k=5, stratify=scv.by_quantile("x6"), model="mean", seed=5
    )
    assert own.plan.fingerprint == found.plans["x6"].fingerprint


@pytest.mark.slow
def test_a_date_with_typing_errors_is_flagged(records, found):
    table = found.measured.set_index("candidate")
    split = table.loc["birth_date", "duplicates_split"]
    plan = scv.fold_plan("y", records, k=5, stratify="birth_date", repeats=4, seed=5)
    fold, person = plan.held_out, records["person"].to_numpy()
    slow = 0
    for row in fold:
        for p in np.unique(person):
            own = row[person == p]
            slow += sum((own != one).any() for one in own)
    assert split == slow / 4 > 0
    assert table.loc["birth_date", "verdict"].startswith(
        f"leaks: splits {split:,.0f} known duplicates; "
    )
    assert table.loc["hash of person", "duplicates_split"] == 0
    assert "leaks" not in table.loc["hash of person", "verdict"]
    assert found.least != "birth_date"


def values(result, name, records):
    with warnings.catch_warnings():  # folds of x5 are biased, as this page measures
        warnings.simplefilter("ignore", errors.DistributionalBiasWarning)
        own = scv.cv(
            FORMULA,
            records[["y", "x5", "x6", "x10"]],
            model=TREES,
            scheme=result.plans[name],
            seed=5,
        )
    right = (own.predictions["predicted"] > 0.5) == own.predictions["observed"]
    return own, right.groupby(own.predictions["repeat"]).mean().to_numpy()


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert "no interval over records" in str(found.summary(notes=True))


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


@pytest.mark.parametrize(
    ("cost", "half", "of_records", "split", "says"),
    [
        (6.11, 6.015, 5.0, 0.0, "costs 6 points (0.10 to 12)"),  # 0 is not in it
        (-0.51, 0.48, 0.1, np.nan, "flatters by 0.5 points (0.03 to 1.0)"),
        (2.0, 0.5, 1.0, 0.0, "costs 2.0 points (1.5 to 2.5)"),
        (2.0, 0.5, 2.5, 0.0, "costs 2.0 points in these records (1.5 to 2.5), within"),
        (-0.2, 0.5, 0.9, 0.0, "no bias detected: at most 1.1 points"),
        (-3.0, 0.5, 0.9, 1234.0, "leaks: splits 1,234 known duplicates; flatters by 3"),
        (1.5, np.nan, 0.9, 0.0, "costs 1.500 points (no interval over folds)"),
        (0.0, np.nan, np.nan, 0.0, "no difference (no interval over folds)"),
        (np.nan, np.nan, np.nan, 0.0, "accuracy has no value"),
    ],
)
def test_verdicts(found, cost, half, of_records, split, says):
    assert verdict(cost, half, of_records, split, found.setting).startswith(says)


def test_a_ranking_says_what_leaks_and_what_is_not_predicted(records):
    def ranked(candidate, model=TREES):
        return scv.stratifier_bias(
            FORMULA,
            records,
            [candidate],
            model=model,
            duplicates="person",
            measure=False,
            seed=1,
        )

    dates = ranked("birth_date")
    split = dates.ranking["duplicates_split"].item()
    said = f"birth_date leaks: splits {split:,.0f} known duplicates; no prediction of"
    text = " ".join(repr(dates).split())
    assert text.endswith(f"{said} what it costs (no term uses it)")
    both = ranked(["x5", "x6"])
    assert both.ranking["predicted"].isna().all()
    assert repr(both).endswith("x5 + x6 no prediction of what it costs")
    linear = " ".join(repr(ranked("birth_date", None)).split())
    assert f" birth_date leaks: splits {split:,.0f} known duplicates;" in linear
    assert linear.endswith("trees and neighbours only; measure=True measures it")


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


def test_a_dot_keeps_factors_of_which_no_folds_can_be_made(records):
    """Two levels cannot fill five folds: the model is that of ``cv``, with them."""
    few = records[["y", "x5", "patient_id"]].assign(
        sex=np.where(records["x1"] > 0, "f", "m"),
        born=pd.Timestamp("2001-01-01"),
        flag=records["x6"] > 0,
        half=pd.Categorical(records["x7"] > 0),
    )
    found = scv.stratifier_bias("y ~ .", few, measure=False, seed=1)
    assert found.setting.design.formula.columns == ("x5", "sex", "flag", "half")
    assert {"sex", "flag", "half", "born"} == set(found.skipped)
    plain = few.drop(columns=["patient_id", "born"])
    with pytest.warns(errors.FoldWarning, match="of sex has more than 1/2"):
        two = scv.stratifier_bias("y ~ .", plain, ["sex"], k=2, measure=False, seed=1)
    assert "sex" not in two.setting.design.formula.columns


def test_columns_that_are_no_candidates_are_left_out_and_say_why(records):
    data = records[["y", "x5", "x6", "x10", "patient_id"]].assign(
        void=None,
        span=records["birth_date"] - records["birth_date"].min(),
        mixed=[i if i % 2 else f"a{i}" for i in range(len(records))],
        unbiased=records["x7"],
    )
    found = scv.stratifier_bias(FORMULA, data, measure=False, seed=1)
    assert set(found.skipped) == {"void", "span", "unbiased"}
    assert "is missing in 650 of 650" in found.skipped["void"]
    assert "Timedelta cannot be hashed" in found.skipped["span"]
    table = found.ranking.set_index("candidate")
    assert table.loc["mixed", "folds"] == "whole values"
    assert table["mutual_information"].notna().all()
    twice = {"data": data.rename(columns={"x10": "x5 × 20"}), "per_fold": (1, 20)}
    with pytest.raises(errors.ArgumentError, match="'x5 × 20' is given twice"):
        scv.stratifier_bias("y ~ x5 + x6", measure=False, seed=1, **twice)
    for key in (5, ""):
        with pytest.raises(errors.StatcvError, match="key"):
            scv.stratifier_bias(FORMULA, data, key=key, measure=False, seed=1)


def test_an_infinite_value_that_no_term_uses_is_a_value(records):
    data = records.assign(far=records["x5"].where(records["x5"] < 2, np.inf))
    found = scv.stratifier_bias(FORMULA, data, ["far"], measure=False, seed=1)
    assert found.ranking["anova_f"].isna().all()
    assert found.ranking["mutual_information"].notna().all()


def test_equal_records_are_copies_where_all_columns_are_named(records):
    data = records[["y", "x5", "x6", "x10"]]
    found = scv.stratifier_bias(
        FORMULA, data, ["x5"], duplicates=True, measure=False, seed=1
    )
    assert found.setting.distinct == len(data.drop_duplicates()) == 500


@pytest.mark.parametrize(
    ("candidates", "more", "error", "says"),
    [
        (["x66"], {}, errors.ColumnError, "'x66' is not a column.*Did you mean 'x6'"),
        (["one"], {}, errors.DataError, "'one' is constant"),
        (["few"], {}, errors.SchemeError, "few has 3 distinct values.*k=5"),
        (["lacking"], {}, errors.DataError, "'lacking' is missing in .* of 650"),
        (["y"], {}, errors.ArgumentError, "'y' is the outcome"),
        (["unbiased"], {}, errors.ArgumentError, "cannot be called 'unbiased'"),
        (["x6", "x6"], {}, errors.ArgumentError, "'x6' is given twice"),
        ([], {}, errors.ArgumentError, "candidates is empty"),
        ([3], {}, errors.ArgumentTypeError, "not 3"),
        (["x6"], {"scheme": "loocv"}, errors.SchemeError, "'stratified_kfold'"),
        (["x6"], {"metric": "calibration_slope"}, errors.MetricError, "neither larger"),
        (["x6"], {"per_fold": 0}, errors.ArgumentError, "per_fold must be 1 or more"),
        (["x6"], {"repeats": 0}, errors.ArgumentError, "repeats must be 1 or more"),
        (["x6"], {"how": "paired"}, errors.ArgumentError, "how must be"),
        (["x6"], {"duplicates": "idd"}, errors.ColumnError, "idd"),
        (["x6"], {"duplicates": "lacking"}, errors.DataError, "lacking.*is missing"),
    ],
)
def test_what_makes_no_sense_is_refused(records, candidates, more, error, says):
    data = records.assign(
        one=1, few=np.arange(len(records)) % 3, unbiased=records["x5"]
    )
    data["lacking"] = data["x5"].where(data["x5"] > 0)
    with pytest.raises(error, match=says):
        scv.stratifier_bias(FORMULA, data, candidates, **{"seed": 1, **more})


def test_text_and_summary(found):
    lines = re.split(r"\n(?! )", repr(found))
    assert len(lines) == 3
    assert " ".join(lines[0].split()).endswith("n = 650, 500 of them distinct")
    assert "unbiased accuracy (pooled)" in lines[1]
    assert lines[2].startswith("x5 costs ")
    summary = found.summary()
    assert list(summary.tables) == ["Ranking", "Measured"]
    every = str(found.summary(notes=True))
    assert "Monte Carlo t intervals, given these" in every
    assert "Information is mutual information" in every
    assert len(summary.notes) <= 3
    for text in (str(summary), every):
        assert max(map(len, text.splitlines())) <= 80
    assert "duplicates split" in summary.to_markdown()
    assert summary.to_latex()
    assert "<table" in summary._repr_html_()
    again = pickle.loads(pickle.dumps(found))
    pd.testing.assert_frame_equal(again.measured, found.measured)


def test_the_picture_has_a_named_point_a_candidate(found):
    ax = found.plot()
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert set(names) == set(found.measured["candidate"])
    importance = found.ranking.set_index("candidate")["importance"][names]
    assert importance.dropna().is_monotonic_decreasing
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "quantile bins, one per fold" in labels  # three have no correlation
    leaky = found.measured.set_index("candidate")["duplicates_split"] > 0
    (crosses,) = (
        line for line in ax.lines if line.get_label() == "splits known duplicates"
    )
    assert len(crosses.get_xdata()) == leaky.sum() > 0
    assert ax.get_xlabel() == "accuracy: stratified over unbiased"
    other = scv.plots.plot_stratifier_bias(found, against="clamp")
    assert "clamped" in other.get_legend().get_title().get_text()


def test_the_picture_tells_both_correlations_of_five(records):
    names = [f"x{j}" for j in range(2, 7)]
    formula = f"y ~ {' + '.join(names)}"
    result = scv.stratifier_bias(formula, records, names, repeats=2, seed=3)
    x = result.ranking.set_index("candidate")["importance"]
    y = result.measured.set_index("candidate")["ratio"]
    said = f"Pearson r = {x.corr(y):.2f}, Spearman r = {x.corr(y, 'spearman'):.2f} (5)"
    labels = [text.get_text() for text in result.plot().get_legend().get_texts()]
    assert labels == [said.replace("-", "−")]


def test_the_picture_has_intervals_where_there_are_some(found):
    def intervals(ax):
        bars = [bar for lines in ax.collections for bar in lines.get_segments()]
        return [bar for bar in bars if len(bar) and np.isfinite(bar).all()]

    ax = found.plot()
    assert "95% intervals" in ax.get_title()
    assert len(intervals(ax)) == len(found.measured)
    lacking = found.measured.copy()
    lacking.loc[0, ["ratio_lower", "ratio_upper"]] = np.nan
    some = replace(found, measured=lacking).plot()
    assert len(intervals(some)) == len(lacking) - 1
    lacking[["ratio_lower", "ratio_upper"]] = np.nan
    bare = replace(found, measured=lacking).plot()
    assert bare.get_title() == "Bias by stratifier"
    assert not intervals(bare)
    assert len(bare.texts) == len(lacking)


def test_what_the_picture_refuses(records, found):
    with pytest.raises(errors.ArgumentError, match="Did you mean 'clamp'"):
        found.plot("clam")


NAMES = [
    *("systolic_blood_pressure", "body_mass_index", "serum_creatinine"),
    *("haemoglobin_a1c", "age_at_admission", "smoking_pack_years", "ldl_cholesterol"),
    *("heart_rate", "postcode_sector", "length_of_stay"),
]


@pytest.fixture(scope="module", params=[True, False])
def of_long_names(request, records):
    """Biases of stratifiers with long names, measured or predicted."""
    table = records.rename(columns={f"x{i + 1}": n for i, n in enumerate(NAMES)})
    return request.param, scv.stratifier_bias(
        f"y ~ {' + '.join(NAMES)}",
        table,
        [*NAMES, "birth_date", scv.by_hash("person", key="k")],
        model=None if request.param else TREES,
        repeats=2,
        measure=request.param,
        seed=1,
    )


@pytest.mark.parametrize("size", [(6, 5), (4, 3)])
def test_names_are_tied_to_their_marks(of_long_names, size):
    measure, bias = of_long_names
    figure, ax = plt.subplots(figsize=size)
    bias.plot(ax=ax)
    figure.canvas.draw()
    column = "ratio" if measure else "predicted"
    own = bias.measured if measure else bias.ranking
    values = own.set_index("candidate")[column].dropna()
    names = [text for text in ax.get_yticklabels() if text.get_text()]
    assert len(names) == len(values) >= 10
    boxes = [text.get_window_extent() for text in names]
    assert not overlapping(boxes)
    across, rows = np.concatenate([bars.get_xydata() for bars in ax.lines[1:]]).T
    marks = ax.transData.transform(np.column_stack([across, rows]))[:, 1]
    for text, box in zip(names, boxes, strict=True):
        away = np.abs(marks - (box.y0 + box.y1) / 2)
        name = re.sub(r"\s", "", text.get_text())
        (value,) = [v for n, v in values.items() if re.sub(r"\s", "", n) == name]
        assert across[away.argmin()] == pytest.approx(value)


def test_equal_folds_are_fitted_once(records):
    feet = records["x5"] / 0.3048
    both = ["x5", "feet"]
    table = records.assign(feet=feet)
    found = scv.stratifier_bias(FORMULA, table, both, k=3, repeats=2, seed=1)
    assert found.plans["x5"].fingerprint == found.plans["feet"].fingerprint
    same = found.measured.set_index("candidate")
    pd.testing.assert_series_equal(
        same.loc["x5"], same.loc["feet"], check_names=False, check_index=False
    )
    assert found.fits == 3 + 3 * 2 + 3  # ranking, unbiased twice, the folds once
