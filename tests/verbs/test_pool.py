"""Results over imputed data sets, pooled."""

import pickle
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import t as student
from sklearn.ensemble import RandomForestRegressor

import statcv as scv
from statcv.errors import (
    CoefficientError,
    ComparisonError,
    StatcvError,
    StatcvWarning,
    UndefinedMetricWarning,
)

mpl.use("Agg")

REFERENCE = Path(__file__).parents[1] / "reference"
FORMULA = "GRADE ~ GPA + PSI"


@pytest.fixture(scope="module")
def filled():
    data = pd.read_csv(REFERENCE / "pooling_data.csv")
    data["points"] = data["GPA"].round()
    return [one.reset_index(drop=True) for _, one in data.groupby("imputation")]


@pytest.fixture(scope="module")
def each(filled):
    return [scv.cv(FORMULA, data, k=4, seed=1) for data in filled]


@pytest.fixture(scope="module")
def pooled(each):
    return scv.pool(each)


# ---- estimates ----


def by_hand(values, variances, df):
    """Return estimate, variance, degrees of freedom and fraction missing."""
    m, q = len(values), np.mean(values)
    u, b = np.mean(variances), np.var(values, ddof=1)
    total = u + (1 + 1 / m) * b
    share = (1 + 1 / m) * b / total
    old, com = (m - 1) / share**2, 1 / np.mean(1 / np.array(df))
    seen = (com + 1) / (com + 3) * com * (1 - share)
    nu = old * seen / (old + seen)
    r = (1 + 1 / m) * b / u
    return q, total, nu, (r + 2 / (nu + 3)) / (r + 1)


def test_the_auroc_is_pooled_on_the_logit_scale(each, pooled):
    ones = [one.estimate("auroc") for one in each]
    values = np.array([one.value for one in ones])
    variances = [(one.se / (one.value * (1 - one.value))) ** 2 for one in ones]
    df = [one.interval.df for one in ones]
    q, total, nu, missing = by_hand(logit(values), variances, df)
    found = pooled.estimate("auroc")
    assert float(found) == pytest.approx(expit(q))
    assert found.se == pytest.approx(np.sqrt(total) * float(found) * (1 - float(found)))
    assert found.interval.df == pytest.approx(nu)
    row = pooled.metrics().set_index("metric").loc["auroc"]
    assert row["fmi"] == pytest.approx(missing)
    assert row["scale"] == "logit"


def test_the_brier_score_is_pooled_as_it_is(each, pooled):
    ones = [one.estimate("brier") for one in each]
    df = [one.interval.df for one in ones]
    values = [one.value for one in ones]
    q, _, nu, _ = by_hand(values, [one.se**2 for one in ones], df)
    below = [one.interval.sides[0] ** 2 for one in ones]
    side = np.mean(below) + (1 + 1 / len(ones)) * np.var(values, ddof=1)
    found = pooled.estimate("brier", level=0.9)
    assert float(found) == pytest.approx(np.mean(values))
    assert found.interval.df == pytest.approx(nu)
    lower = q - student.ppf(0.95, nu) * np.sqrt(side)
    assert found.lower == pytest.approx(lower)


def test_a_ratio_is_pooled_by_its_logarithm(each, pooled):
    values = [float(one.estimate("oe_ratio")) for one in each]
    found = float(pooled.estimate("oe_ratio"))
    assert found == pytest.approx(np.exp(np.mean(np.log(values))))


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"scheme": "rloocv"},
        {"formula": "GRADE ~ GPA", "data": scv.load_data("spector").head(30)},
        {"formula": "TUCE ~ GPA"},
        {"formula": "g ~ GPA + TUCE"},
        {"scheme": "montecarlo", "repeats": 5},
    ],
    ids=["k folds", "rloocv", "thirty records", "a number", "classes", "random splits"],
)
@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_equal_results_have_the_interval_of_one(change):
    data = scv.load_data("spector").assign(g=list("abcd") * 8)
    call = {"formula": FORMULA, "data": data, "seed": 1} | change
    one = scv.cv(**call)
    pooled = scv.pool(scv.cv(**call) for _ in range(3))
    ends, single = ["estimate", "lower", "upper"], one.metrics()
    together = pooled.metrics()
    np.testing.assert_allclose(together[ends], single[ends], rtol=1e-12)
    assert together["how"].equals(single["how"])
    assert not together["fmi"].any()
    assert str(pooled.estimate()) == str(one.estimate())
    assert "what was missing changes nothing" in str(pooled.summary())


def test_the_interval_changes_little_with_the_data(filled):
    near = filled[0].assign(GPA=filled[0]["GPA"] + 1e-7 * np.arange(32))
    one, other = (scv.cv(FORMULA, data, k=4, seed=1) for data in (filled[0], near))
    both, single = scv.pool(one, other).metrics(), one.metrics()
    ends = ["estimate", "lower", "upper"]
    np.testing.assert_allclose(both[ends], single[ends], atol=0.05)


def test_a_forest_has_an_interval_of_its_root_mean_square(filled):
    model = RandomForestRegressor(5, random_state=1)
    each = [scv.cv("TUCE ~ GPA", data, model=model, k=4, seed=1) for data in filled]
    found = scv.pool(each).estimate("rmse")
    values = [float(one.estimate("rmse")) for one in each]
    assert float(found) == pytest.approx(np.exp(np.mean(np.log(values))))
    assert found.lower < min(values) < max(values) < found.upper


def test_predictions_of_others_and_validations_can_be_pooled(each, filled):
    tables = [one.predictions for one in each]
    read = [
        scv.from_predictions(
            table, observed="observed", predicted="predicted", fold="fold"
        )
        for table in tables
    ]
    found = scv.pool(read).estimate("brier")
    assert float(found) == pytest.approx(
        np.mean([float(r.estimate("brier")) for r in read])
    )
    validated = scv.pool(each[0].final.validate(data) for data in filled)
    assert "External validation" in repr(validated)
    assert validated.metrics()["estimate"].notna().all()


def test_updated_results_are_pooled_as_results_of_their_own(each, filled, pooled):
    again = scv.pool([each[0].update(data=data) for data in filled])
    assert again.metrics().equals(pooled.metrics())
    assert scv.pool(*each).metrics().equals(pooled.metrics())
    assert scv.pool(dict(enumerate(each))).metrics().equals(pooled.metrics())


def test_an_auroc_of_one_in_some_imputations_has_no_interval():
    data = pd.DataFrame({"y": [0, 1] * 15, "x": np.arange(30.0)})
    apart = data.assign(x=data["y"] + data["x"] / 1000)
    with pytest.warns(StatcvWarning):
        each = [scv.cv("y ~ x", one, k=3, seed=1) for one in (data, apart, apart)]
    found = scv.pool(each).estimate("auroc")
    assert float(found) == pytest.approx((float(each[0].estimate("auroc")) + 2) / 3)
    assert "2 of 3 imputations have no standard error" in found.assumes
    assert np.isnan(found.lower)


def test_a_metric_without_a_value_is_counted(each):
    middle = np.median([one.predictions["predicted"].mean() for one in each])

    def half(y, p):
        return np.nan if p.mean() > middle + 1e-9 else 0.5

    named = scv.metrics.make_metric(half, greater_is_better=True)
    results = [one.update(metrics=["brier", named]) for one in each]
    with pytest.warns(UndefinedMetricWarning, match="imputations: half in 2"):
        table = scv.pool(results).metrics().set_index("metric")
    assert np.isnan(table.loc["half", "estimate"])
    assert "2 of 5 imputations" in table.loc["half", "interval"]


# ---- coefficients ----


@pytest.mark.parametrize(
    ("name", "formula"), [("linear", "TUCE ~ GPA + PSI"), ("logistic", FORMULA)]
)
def test_coefficients_agree_with_mice(filled, name, formula):
    there = pd.read_csv(REFERENCE / "pooling_r.csv").pivot(
        index="case", columns="what", values="value"
    )
    pooled = scv.pool(scv.cv(formula, data, k=4, seed=1) for data in filled)
    for row in pooled.tidy().itertuples():
        term = row.term.replace("Intercept", "(Intercept)")
        own = there.loc[f"{name} {term}"]
        assert row.estimate == pytest.approx(own["estimate"], rel=1e-8)
        assert row._3**2 == pytest.approx(own["t"], rel=1e-7)
        assert row.df == pytest.approx(own["df"], rel=1e-7)
        assert row.fmi == pytest.approx(own["fmi"], rel=1e-7)


def test_coefficients_that_differ_are_refused(filled):
    text = [data.assign(g=list("ab") * 16) for data in filled]
    text[1]["g"] = list("abbc") * 8
    pooled = scv.pool(scv.cv("TUCE ~ GPA + g", data, k=4, seed=1) for data in text)
    with pytest.raises(CoefficientError, match="1 of 5 imputations have other"):
        pooled.tidy()


def test_a_penalised_model_has_no_standard_errors(filled):
    model = scv.models.Logit(C=1.0)
    pooled = scv.pool(scv.cv(FORMULA, d, model=model, k=4, seed=1) for d in filled)
    with pytest.warns(StatcvWarning, match="5 of 5 imputations have no standard"):
        table = pooled.tidy()
    assert table["estimate"].notna().all()
    assert table["std.error"].isna().all()


# ---- comparison ----


def test_differences_are_pooled_after_each_imputation(each, pooled):
    less = [one.update(". ~ . - PSI") for one in each]
    found = scv.compare(less=scv.pool(less), more=pooled, metric="brier")
    rows = [
        scv.compare(less=a, more=b, metric="brier").differences.iloc[0]
        for a, b in zip(less, each, strict=True)
    ]
    value, se = ([row[name] for row in rows] for name in ("difference", "se"))
    q, u, b = np.mean(value), np.mean(np.square(se)), np.var(value, ddof=1)
    own = found.differences.iloc[0]
    assert own["difference"] == pytest.approx(q)
    assert own["se"] == pytest.approx(np.sqrt(u + 1.2 * b))
    # the standard errors where the nested models perform equally well are pooled too
    equal = [row["difference"] / row["statistic"] for row in rows]
    assert np.less(equal, se).any()
    at_0 = np.sqrt(np.mean(np.square(equal)) + 1.2 * b)
    assert own["statistic"] == pytest.approx(q / at_0)
    assert own["p"] == pytest.approx(2 * student.sf(abs(own["statistic"]), own["df"]))
    single = pooled.estimate("brier")
    ends = [float(single), single.lower, single.upper]
    shown = found.table.loc["more", ["estimate", "lower", "upper"]]
    assert shown.tolist() == pytest.approx(ends)
    assert "pooled over 5 imputations" in " ".join(str(found.summary()).split())
    assert found.plot().get_xlabel() == "difference in Brier score"


def test_a_pooled_result_without_missing_values_compares_as_one(each):
    less = each[0].update(". ~ . - PSI")
    single = scv.compare(a=less, b=each[0]).differences
    found = scv.compare(a=scv.pool([less] * 3), b=scv.pool([each[0]] * 3)).differences
    names = ["difference", "se", "lower", "upper", "p"]
    np.testing.assert_allclose(found[names], single[names], rtol=1e-12)


def test_skill_is_compared_with_the_model_without_predictors(pooled):
    found = scv.compare(pooled, metric="brier", reference="null")
    assert found.differences["first"].tolist() == ["null"]


def test_a_pooled_comparison_is_a_comparison(each, pooled):
    less = scv.pool(one.update(". ~ . - PSI") for one in each)
    found = scv.compare(less=less, more=pooled)
    text = scv.table(found, digits=3).to_markdown()
    assert f"{float(pooled.estimate()):.3f}" in text
    combined = scv.meta_analysis(a=found, b=found).table
    assert combined.loc["a", "p"] == found.differences.loc[0, "p"]
    assert found.likelihood_ratios == []


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda both, one: both.plot("roc"), "kind must be 'forest'"),
        (lambda both, one: both.report("x.html", style="tripod+ai"), "of one data set"),
        (lambda both, one: scv.plots.plot_roc(both), "not a Pooled"),
        (lambda both, one: scv.plots.plot_roc(one), "not a Pooled"),
        (lambda both, one: one.metrics(by="points"), "not imputed"),
        (lambda both, one: scv.pool(one, one), "not a result of cv"),
    ],
)
def test_what_needs_a_result_of_one_data_set_says_so(pooled, call, says):
    with pytest.raises(StatcvError, match=says):
        call(scv.compare(pooled, pooled), pooled)


def test_what_cannot_be_compared(each, pooled):
    with pytest.raises(ComparisonError, match="'b' is a CVResult, and others are"):
        scv.compare(a=pooled, b=each[0])
    with pytest.raises(ComparisonError, match=r"imputations differ \(a 5, b 2\)"):
        scv.compare(a=pooled, b=scv.pool(each[:2]))
    with pytest.raises(ComparisonError, match="permutation' has no standard error"):
        scv.compare(a=pooled, b=pooled, test="permutation")


# ---- groups, tables, reports ----


def test_groups_are_pooled_as_results_of_their_records(filled, each, pooled):
    found = pooled.metrics(by="PSI").set_index(["metric", "PSI"])["estimate"]
    own = [one.metrics(by="PSI").set_index(["metric", "PSI"]) for one in each]
    values = np.array([one.loc[("brier", 1), "estimate"] for one in own])
    assert found["brier", 1] == pytest.approx(values.mean())
    values = np.array([one.loc[("auroc", 0), "estimate"] for one in own])
    assert found["auroc", 0] == pytest.approx(expit(logit(values).mean()))


def test_tables_of_a_paper_show_pooled_estimates(each, pooled):
    table = scv.table(pooled=pooled, first=each[0], metrics="brier", digits=3)
    assert (
        table.cells["pooled"]
        .iloc[0]
        .startswith(f"{float(pooled.estimate('brier')):.3f}")
    )
    assert "over 5 imputations" in pooled.to_markdown(metrics="auroc")
    groups = scv.table(pooled, by="PSI", metrics="brier").cells
    assert groups.index.tolist() == ["0 (n = 18)", "1 (n = 14)"]


def test_reports_state_the_estimate_of_each_imputation(each, pooled, tmp_path):
    text = pooled.report(tmp_path / "a.md").read_text()
    assert str(pooled.estimate()) in text
    for one in each:
        assert f"{float(one.estimate()):.3f}"[:4] in text
    both = scv.compare(pooled, scv.pool(one.update(". ~ GPA") for one in each))
    assert "Differences" in both.report(tmp_path / "b.html").read_text()


# ---- text, pictures, files ----


def test_it_prints_in_three_lines(pooled):
    lines = repr(pooled).splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("over 5 imputations of 32 records")
    assert max(map(len, lines)) < 80


def test_the_plot_has_a_row_for_each_imputation(pooled):
    ax = pooled.plot("brier")
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [*(f"imputation {k}" for k in range(1, 6)), "summary"]


def test_it_can_be_pickled(pooled):
    again = pickle.loads(pickle.dumps(pooled))
    assert again.metrics().equals(pooled.metrics())


# ---- what is refused ----


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"formula": "GRADE ~ GPA"}, "another formula"),
        ({"model": "neighbors"}, "another model"),
        ({"seed": 2}, "another fold plan than the first"),
        ({"k": 5}, "another fold plan than the first"),
        ({"formula": "PSI ~ GPA"}, "another outcome than the first: PSI"),
        ({"threshold": 0.3}, "another threshold"),
    ],
)
def test_results_that_differ(each, change, says):
    with pytest.raises(ComparisonError, match=says):
        scv.pool(each[0], each[1].update(**change))


def test_records_that_differ(each, filled):
    short = filled[1].assign(GPA=filled[1]["GPA"].where(np.arange(32) > 1))
    with pytest.warns(StatcvWarning):
        fewer = each[0].update(data=short)
    with pytest.raises(ComparisonError, match="result 2 has 30 records, and the first"):
        scv.pool(each[0], fewer)
    other = each[0].update(data=filled[1].set_axis(range(1, 33)))
    with pytest.raises(ComparisonError, match="other row labels"):
        scv.pool(each[0], other)
    changed = filled[1].assign(GRADE=filled[1]["GRADE"].where(np.arange(32) != 4, 0))
    with pytest.raises(ComparisonError, match="different in 1 record; cross-validate"):
        scv.pool(each[0], each[0].update(data=changed))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "at least two imputed data sets, not 0"),
        (["a", "b"], "item 1 of 2 is 'a', not a result"),
        ([pd.DataFrame({"a": [1]})], "item 1 of 1 is a value of type DataFrame"),
        ([1.5, None], "item 1 of 2 is 1.5"),
    ],
)
def test_what_is_not_a_result(given, says):
    with pytest.raises(ComparisonError, match=says):
        scv.pool(*given)


def test_a_single_result(each):
    with pytest.raises(ComparisonError, match="at least two imputed data sets, not 1"):
        scv.pool(each[0])
