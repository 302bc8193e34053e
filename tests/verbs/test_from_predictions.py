"""Predictions from other software are read like those of cv()."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeRegressor

import statcv as scv
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnError,
    DataError,
    MetricError,
    ModelError,
    PrecisionWarning,
    StatcvWarning,
    UndefinedMetricWarning,
)


@pytest.fixture(scope="module")
def made_here():
    df = scv.load_data("spector")
    return scv.cv("GRADE ~ GPA + PSI", df, k=4, repeats=3, seed=1)


def elsewhere(table, **more):
    given = {"observed": "observed", "predicted": "predicted", **more}
    return scv.from_predictions(table, **given)


def test_metrics_are_those_of_the_call_that_made_the_predictions(made_here):
    read = elsewhere(
        made_here.predictions, fold="fold", repeat="repeat", row="row", seed=1
    )
    limits = [
        "lower",
        "upper",
        "interval",
    ]  # Limits made here include the variation of the fits.
    pd.testing.assert_frame_equal(
        read.metrics().drop(columns=limits), made_here.metrics().drop(columns=limits)
    )
    ours = made_here.estimate("auroc", "pooled", interval="delong")
    theirs = read.estimate("auroc", "pooled", interval="delong")
    assert (ours.lower, ours.upper) == (theirs.lower, theirs.upper)
    assert read.plan.fingerprint == made_here.plan.fingerprint


def test_the_order_of_the_rows_does_not_matter(made_here):
    shuffled = made_here.predictions.sample(frac=1, random_state=2)
    shuffled = shuffled.reset_index(drop=True)
    read = elsewhere(shuffled, fold="fold", repeat="repeat", row="row")
    in_order = elsewhere(made_here.predictions, fold="fold", repeat="repeat", row="row")
    pd.testing.assert_frame_equal(read.metrics(), in_order.metrics())


def test_a_comparison_with_a_result_of_cv(made_here):
    once = made_here.update(repeats=None)
    read = elsewhere(once.predictions, fold="fold", row="row")
    compared = scv.compare(here=once, there=read)
    assert compared.differences["difference"].tolist() == [0]


def test_without_folds_the_model_is_external(made_here):
    once = made_here.predictions.query("repeat == 1").set_index("row")
    read = elsewhere(once)
    estimate = read.estimate("auroc")
    expected = scv.metrics.delong(once["observed"], once["predicted"])
    assert estimate.how == "pooled"
    assert float(estimate) == expected.auc
    assert estimate.se == pytest.approx(expected.se)
    assert "other records" in str(read)
    assert "does not vary" in estimate.assumes
    assert read.summary() is not None


def test_it_says_which_class_it_took_as_positive():
    risk = np.linspace(0.1, 0.9, 10)
    table = pd.DataFrame({"y": ["ill"] * 4 + ["well"] * 6, "p": risk})
    with pytest.warns(StatcvWarning, match="'well' is the positive class"):
        taken = scv.from_predictions(table, observed="y", predicted="p")
    assert "in 10 records, 6 with y = well" in str(taken)
    assert "well (6) against ill (4); well is positive" in taken.summary().to_markdown()
    given = scv.from_predictions(table, observed="y", predicted="p", positive="ill")
    assert "in 10 records, 4 with y = ill" in str(given)
    numbers = scv.from_predictions(
        table.assign(y=risk + 1), observed="y", predicted="p"
    )
    assert "in 10 records\n" in str(numbers)


def columns_printed(result):
    (table,) = result.summary().shown.values()
    return list(table.columns)


def test_the_summary_leaves_out_columns_with_nothing_in_them(made_here):
    once = made_here.predictions.query("repeat == 1").set_index("row")
    always = ["estimate (95% CI)"]
    one_fit = elsewhere(once)
    assert columns_printed(one_fit) == always
    assert one_fit.metrics().loc[0, ["per_fold", "paired"]].notna().all()
    in_folds = elsewhere(once, fold="fold")
    assert columns_printed(in_folds) == [*always, "no skill"]
    assert list(one_fit.metrics().columns) == list(in_folds.metrics().columns)
    assert columns_printed(elsewhere(once, metrics="auprc")) == always
    unknown = replace(scv.metrics.METRICS["auprc"], derive=None)
    no_limits = elsewhere(once, metrics=unknown)
    assert columns_printed(no_limits) == ["estimate"]
    assert "95%" not in str(no_limits.summary())


def test_what_needs_refits_says_so(made_here):
    read = elsewhere(made_here.predictions, fold="fold", repeat="repeat", row="row")
    for refit in (
        lambda: read.model,
        lambda: read.apparent,
        lambda: read.null_distribution(times=2),
        lambda: read.test(method="permutation", n_permutations=9),
    ):
        with pytest.raises(ModelError, match="from other software"):
            refit()
    test = read.test()
    own = made_here.test(method="corrected_influence")
    assert test.p_value == pytest.approx(own.p_value)
    for unused in (
        lambda: read.test(n_permutations=9),
        lambda: made_here.test(method="t", n_permutations=9),
    ):
        with pytest.raises(ArgumentError, match="n_permutations=9 has no effect"):
            unused()


@pytest.mark.parametrize("more", [{}, {"fold": "fold"}, {"cluster": "fold"}])
def test_there_are_no_permutations_with_or_without_folds(made_here, more):
    once = made_here.predictions.query("repeat == 1").set_index("row")
    read = elsewhere(once, **more)
    for metric in ("auroc", "brier", "accuracy"):
        with pytest.raises(ModelError, match="can be fitted to permuted outcomes"):
            read.test(metric, method="permutation")
        with pytest.raises(ModelError, match="without method= tests by the interval"):
            read.null_distribution(metric, times=2)
    assert 0 < read.test().p_value < 0.5


def test_update_reads_the_same_predictions_again(made_here):
    read = elsewhere(made_here.predictions, fold="fold", repeat="repeat", row="row")
    again = read.update(metrics="brier")
    assert again.metric_names == ("brier",)
    assert float(again.estimate()) == float(read.estimate("brier"))


def test_several_classes_and_numbers():
    iris = (
        scv.load_data("ehr")
        .head(200)
        .assign(kind=lambda d: pd.qcut(d["x1"], 3, labels=["a", "b", "c"]))
    )
    neighbors = KNeighborsClassifier(15)
    res = scv.cv("kind ~ x2 + x3", iris, model=neighbors, k=4, seed=1)
    columns = {level: f"predicted_{level}" for level in "abc"}
    read = elsewhere(res.predictions, predicted=columns, fold="fold", row="row")
    pd.testing.assert_frame_equal(read.metrics(), res.metrics())
    listed = elsewhere(
        res.predictions, predicted=list(columns.values()), fold="fold", row="row"
    )
    pd.testing.assert_frame_equal(listed.metrics(), res.metrics())
    number = scv.cv(
        "x1 ~ x2 + x3", iris, model=DecisionTreeRegressor(max_depth=3), k=4, seed=1
    )
    read = elsewhere(number.predictions, fold="fold", row="row")
    pd.testing.assert_frame_equal(read.metrics(), number.metrics())


def test_scores_are_told_from_probabilities():
    table = pd.DataFrame({"observed": [0, 1, 0, 1], "predicted": [-2.0, 3, 1, 0.5]})
    read = elsewhere(table)
    assert float(read.estimate("accuracy")) == 0.75
    assert read.metrics()["metric"].tolist() == ["auroc", "auprc"]
    asked = elsewhere(table, metrics=["auroc", "brier"])
    with pytest.warns(scv.errors.UndefinedMetricWarning):
        assert np.isnan(asked.metrics().set_index("metric")["estimate"]["brier"])
    with pytest.raises(DataError, match="not probabilities"):
        elsewhere(table, probabilities=True)


@pytest.mark.parametrize("odd", [-0.4, -9.0, 999.0])
def test_an_odd_value_makes_no_scores_of_probabilities(odd):
    p = np.linspace(0.05, 0.95, 20)
    p[6] = odd
    table = pd.DataFrame({"observed": np.arange(20) % 2, "predicted": p})
    with pytest.raises(DataError, match=rf"is {odd:g} in row 6"):
        elsewhere(table)
    assert not elsewhere(table, probabilities=False).held.probabilities


def test_clusters_are_units_of_the_interval():
    rng = np.random.default_rng(3)
    y = np.repeat(rng.integers(0, 2, 40), 2)
    table = pd.DataFrame(
        {
            "observed": y,
            "predicted": np.repeat(rng.uniform(size=40), 2),
            "patient": np.repeat(np.arange(40), 2),
        }
    )
    alone, clustered = elsewhere(table), elsewhere(table, cluster="patient")
    assert clustered.estimate("auroc").se > 1.3 * alone.estimate("auroc").se
    assert clustered.estimate("brier").se > 1.3 * alone.estimate("brier").se


def test_wrong_tables_are_refused():
    good = pd.DataFrame(
        {
            "observed": [0, 1, 0, 1],
            "predicted": [0.1, 0.9, 0.4, 0.6],
            "id": [1, 2, 1, 2],
            "run": [1, 1, 2, 2],
        }
    )
    with pytest.raises(ColumnError, match="Did you mean 'predicted'"):
        elsewhere(good, predicted="predictd")
    with pytest.raises(ArgumentError, match="repeat= needs row="):
        elsewhere(good, repeat="run")
    with pytest.raises(DataError, match="more than once in a repeat"):
        elsewhere(good, row="id")
    with pytest.raises(DataError, match="missing in 1 of 4"):
        elsewhere(good.assign(predicted=[0.1, None, 0.2, 0.3]))
    with pytest.raises(DataError, match="'observed' differs"):
        elsewhere(good.assign(observed=[0, 1, 1, 1]), row="id", repeat="run")
    with pytest.raises(ArgumentError, match="needs 1"):
        elsewhere(good, predicted=["predicted", "run"])
    with pytest.raises(MetricError, match="no metric"):
        elsewhere(good, metrics="nothing")


def test_groups_are_those_of_the_records_whatever_the_order_of_the_rows():
    rng = np.random.default_rng(1)
    one = pd.DataFrame({"id": rng.permutation(30), "observed": np.arange(30) % 2})
    one["sex"] = rng.choice(["f", "m"], 30)
    one["fold"] = 1 + one["observed"].groupby(one["observed"]).cumcount() % 3
    parts = [one.assign(predicted=rng.random(30), time=t) for t in (1, 2)]
    both = pd.concat([parts[0], parts[1].sample(frac=1, random_state=2)])
    read = elsewhere(both, fold="fold", repeat="time", row="id", metrics="auroc")
    table = read.metrics(by="sex").set_index("sex")["estimate"]
    for sex in ("f", "m"):
        areas = [
            scv.metrics.auroc(own["observed"], own["predicted"])
            for own in (part[part["sex"] == sex] for part in parts)
        ]
        assert table[sex] == pytest.approx(np.mean(areas))
    with pytest.raises(ArgumentError, match="'time' differs among the rows"):
        read.metrics(by="time")
    with pytest.raises(ArgumentError, match=r"30 records, too many.*pd\.qcut"):
        read.metrics(by="id")


def test_folds_of_types_without_an_order():
    df = pd.DataFrame({"observed": [0, 1] * 6, "predicted": np.linspace(0, 1, 12)})
    read = elsewhere(df.assign(fold=[1, 1, (1, 2), (1, 2), "a", "a"] * 2), fold="fold")
    assert read.plan.n_splits == 3


def test_a_test_without_a_model_names_none_that_needs_it(made_here):
    read = elsewhere(made_here.predictions, fold="fold", repeat="repeat", row="row")
    with pytest.raises(MetricError, match=r"give null=\.$"):
        read.test("brier")


def test_repeats_of_a_model_fitted_elsewhere_have_no_corrected_t():
    df = pd.DataFrame({"id": [1, 2, 3, 4] * 2, "observed": [0, 1, 0, 1] * 2})
    df["predicted"] = [0.1, 0.2, 0.3, 0.4, 0.4, 0.3, 0.2, 0.1]
    read = elsewhere(df.assign(time=[1] * 4 + [2] * 4), row="id", repeat="time")
    found = read.estimate("auroc", "per_fold")
    assert np.isnan(found.lower)
    assert "fewer than two different folds" in found.assumes


def test_compared_they_are_not_told_apart_by_seeds(made_here):
    a, b = (elsewhere(made_here.predictions.query("repeat == 1")) for _ in range(2))
    assert "seed" not in str(scv.compare(a=a, b=b, test="permutation"))


def test_against_the_null_model_no_refits_are_recommended(made_here):
    table = made_here.predictions.query("repeat == 1")
    said = str(scv.compare(a=elsewhere(table, fold="fold"), reference="null"))
    assert "permutes" not in said


# ---- leave-pair-out ----


@pytest.mark.parametrize("how", [{}, {"pairs": 60}, {"pairs": 60, "repeats": 3}])
def test_leave_pair_out_comes_back_from_its_predictions(how):
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"y": np.arange(24) % 2, "x": rng.normal(size=24)})
    made = scv.cv(
        "y ~ x", data, scheme="leave_pair_out", metrics="auroc", seed=1, **how
    )
    table = made.predictions.sample(frac=1, random_state=1)  # in any order
    columns = {"repeat": "repeat"} if "repeat" in table else {}
    read = scv.from_predictions(
        table,
        observed="observed",
        predicted="predicted",
        fold="fold",
        row="row",
        metrics="auroc",
        seed=1,
        **columns,
    )
    assert read.plan.scheme == "leave_pair_out"
    for kind in ("paired", "pooled"):
        own, other = (r.estimate("auroc", how=kind) for r in (made, read))
        assert other.value == pytest.approx(own.value)
    simple = {"how": "paired", "interval": "pairs"}
    own, other = (r.estimate("auroc", **simple) for r in (made, read))
    assert (other.lower, other.upper) == pytest.approx((own.lower, own.upper))
    assert other.assumes == own.assumes
    assert read.estimate("auroc").how == "paired"


def test_records_in_several_folds_that_are_no_pairs_are_refused():
    table = pd.DataFrame(
        {
            "id": ["a", "b", "a", "c", "b", "c"],
            "fold": [1, 1, 2, 2, 3, 3],
            "y": [0, 1, 0, 1, 1, 1],
            "p": [0.2, 0.6, 0.3, 0.7, 0.5, 0.8],
        }
    )
    with pytest.raises(DataError, match=r"3 records occur more than once.*pair-out"):
        scv.from_predictions(table, observed="y", predicted="p", fold="fold", row="id")


# ---- classes and probabilities of others ----

FOUR = pd.DataFrame(
    {
        "a": [0.1, 0.5, 0.2, 0.2],
        "b": [0.15, 0.2, 0.4, 0.2],
        "c": [0.25, 0.1, 0.2, 0.35],
        "d": [0.5, 0.2, 0.2, 0.25],
        "y": ["c", "a", "b", "c"],
        "code": [2, 0, 1, 2],
    }
)
OF_FOUR = {name: name for name in "abcd"}


def test_a_class_that_the_sample_lacks_can_still_be_predicted():
    wanted = ["accuracy", "log_loss", "auroc_hand_till"]
    res = elsewhere(FOUR, observed="y", predicted=OF_FOUR, metrics=wanted)
    assert res.design.outcome.levels == ("a", "b", "c", "d")
    assert float(res.estimate("accuracy")) == 0.75
    loss = -np.mean(np.log([0.25, 0.5, 0.4, 0.35]))
    assert float(res.estimate("log_loss")) == pytest.approx(loss)
    with pytest.warns(UndefinedMetricWarning, match="no record is of class 'd'"):
        res.metrics()
    by_code = dict(enumerate("abcd"))
    res = elsewhere(FOUR, observed="code", predicted=by_code, metrics="accuracy")
    assert float(res.estimate()) == 0.75
    two = FOUR.assign(y=["a", "b", "a", "b"])
    res = elsewhere(two, observed="y", predicted=OF_FOUR, metrics="accuracy")
    assert float(res.estimate()) == 0
    seen, three = FOUR.assign(y=["c", "a", "b", "d"]), {name: name for name in "abc"}
    with pytest.raises(ArgumentError, match="does not name a column for 'd'"):
        elsewhere(seen, observed="y", predicted=three)


def test_probabilities_that_were_rounded_are_corrected_and_counted():
    risks = pd.DataFrame({"y": [0, 1, 0, 1], "p": [-1e-9, 1 + 1e-9, 0.2, 0.6]})
    with pytest.warns(PrecisionWarning, match="of 2 rows"):
        res = elsewhere(risks, observed="y", predicted="p")
    assert res.predictions["predicted"].tolist() == [0, 1, 0.2, 0.6]
    with pytest.warns(PrecisionWarning, match="of 1 row are"):
        res = elsewhere(
            FOUR.assign(a=[0.1, 0.5005, 0.2, 0.2]), observed="y", predicted=OF_FOUR
        )
    np.testing.assert_allclose(res.scores.predicted.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("p", [[10.0, 80.0, 20.0, 60.0], [0.1, 1.2, 0.2, 0.6]])
def test_other_numbers_are_refused_by_value_and_row(p):
    risks = pd.DataFrame({"y": [0, 1, 0, 1], "p": p}, index=list("klmn"))
    with pytest.raises(DataError, match=r"in row .[kl]..*Divide percentages by 100"):
        elsewhere(risks, observed="y", predicted="p")
    res = elsewhere(risks, observed="y", predicted="p", probabilities=False)
    assert not res.scores.probabilities
    percent = FOUR.assign(**{name: 100 * FOUR[name] for name in "abcd"})
    with pytest.raises(DataError, match="is 10, 15, 25, 50 in row 0"):
        elsewhere(percent, observed="y", predicted=OF_FOUR)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_scores_of_any_scale_are_ranked(scale):
    table = pd.DataFrame({"y": [0, 1, 0, 1, 1], "p": [-0.4, 0.3, 0.1, -0.2, 0.6]})
    table["p"] *= scale
    res = elsewhere(table, observed="y", predicted="p", metrics=["auroc", "accuracy"])
    assert float(res.estimate("auroc")) == pytest.approx(5 / 6)
    assert float(res.estimate("accuracy")) == 0.6


def test_probabilities_near_0_and_1_are_ranked_and_saturated_ones_counted():
    y = np.array([0, 1, 0, 1, 1, 0])
    p = np.array([1e-15, 3e-15, 2e-15, 1 - 1e-15, 1.0, 1.0])
    table = pd.DataFrame({"y": y, "p": p, "q": 1 - p})
    res = elsewhere(table, observed="y", predicted="p", metrics=["auroc", "log_loss"])
    assert float(res.estimate("auroc")) == pytest.approx(6.5 / 9)
    said = " ".join(str(res.summary()).split())
    assert "2 of 6 predictions are 0 or 1, and tie in ranks; 1 of them" in said
    other = elsewhere(table, observed="y", predicted="q", positive=0, metrics="auroc")
    assert float(other.estimate()) == float(res.estimate("auroc"))


def test_one_table_counts_predictions_at_the_threshold_alike():
    table = pd.DataFrame({"y": [1, 1, 1, 0, 0, 0, 1], "p": [0.5] * 5 + [0.2, 0.8]})
    wanted = ["sensitivity", "specificity", "net_benefit"]
    res = elsewhere(table, observed="y", predicted="p", metrics=wanted)
    sensitivity, specificity, benefit = (float(res.estimate(m)) for m in wanted)
    assert sensitivity == 1
    assert benefit == pytest.approx(sensitivity * 4 / 7 - (1 - specificity) * 3 / 7)


# ---- an external validation: predictions of a model fitted to other records ----

OF_FOLDS = r"(?i)\bfolds?\b|\bseeds?\b|\bfits\b|held.out|cross-valid|training record"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def hospitals():
    rng = np.random.default_rng(3)
    patient = rng.integers(0, 150, 400)
    z = rng.normal(size=150)[patient] + rng.normal(size=400) / 2
    risk = 1 / (1 + np.exp(1.2 - 1.2 * z))
    return pd.DataFrame(
        {
            "died": (rng.random(400) < 1 / (1 + np.exp(1 - z))).astype(int),
            "risk": risk,
            "other": np.clip(risk + rng.normal(size=400) / 9, 0.01, 0.99),
            "patient": patient,
            "site": np.array(["A", "B", "C"])[patient % 3],
        }
    )


def validated(table, predicted="risk", **more):
    given = {"observed": "died", "cluster": "patient", **more}
    return scv.from_predictions(table, predicted=predicted, **given)


def test_an_external_validation_is_called_that_and_speaks_of_no_folds(hospitals):
    read = validated(hospitals, threshold=0.3)
    said = [repr(read), str(read.summary()), read.sentence(), str(read.audit)]
    assert all("External validation: the model was fitted" in text for text in said[:2])
    assert read.summary().title == "External validation of died ~ risk"
    assert "by external validation" in said[2]
    assert [re.findall(OF_FOLDS, text) for text in said] == [[], [], [], []]


@pytest.mark.parametrize(
    ("extension", "style"),
    [
        *(("md", None), ("html", "tripod+ai")),
        *(("md", "probast+ai"), ("html", "tripod-cluster")),
    ],
)
def test_its_report_speaks_of_no_folds(hospitals, tmp_path, style, extension):
    read = validated(hospitals, threshold=0.3)
    by = "site" if style == "tripod-cluster" else None
    path = read.report(tmp_path / f"out.{extension}", style=style, by=by)
    text = re.sub(r"data:image\S+|<style.*?</style>", "", path.read_text(), flags=re.S)
    topic = "no leakage between training and held-out records"  # a topic of PROBAST+AI
    assert re.findall(OF_FOLDS, text.replace(topic, "")) == []
    assert "Bey R" not in text
    assert "Austin" not in text
    assert "External validation of died" in text.replace("\\", "")


def test_its_comparison_speaks_of_no_folds(hospitals, tmp_path):
    both = scv.compare(ours=validated(hospitals), theirs=validated(hospitals, "other"))
    path = both.report(tmp_path / "out.md", style="tripod+ai")
    for text in (str(both.summary(notes=True)), path.read_text()):
        assert re.findall(OF_FOLDS, text) == []
        assert "do not vary" in text
    own = scv.cv("died ~ risk", hospitals, stratify="patient", k=4, seed=1)
    mixed = scv.compare(own=own, theirs=validated(hospitals))
    assert "one is an external validation" in mixed.differences["caveat"][0]


def test_with_folds_it_remains_a_cross_validation(made_here):
    once = made_here.predictions.query("repeat == 1").set_index("row")
    read = elsewhere(once, fold="fold")
    assert read.summary().title.startswith("Cross-validation")
    assert "seed" in dict(read.summary().facts)


def test_predictions_are_judged_at_a_threshold(hospitals):
    read = validated(hospitals, threshold=0.3)
    positive, died = hospitals["risk"] >= 0.3, hospitals["died"] == 1
    assert float(read.estimate("sensitivity")) == positive[died].mean()
    worth = (positive & died).mean() - (positive & ~died).mean() * 3 / 7
    assert float(read.estimate("net_benefit")) == pytest.approx(worth)
    assert read.update(threshold=0.5).threshold == 0.5
    assert "threshold 0.3" in legend_texts(scv.plots.plot_decision(read))
    odds = hospitals.assign(risk=np.log(hospitals["risk"]))
    assert validated(odds, threshold=-1.0).threshold == -1
    for wrong, error in ((20, "threshold=0.2"), (float("nan"), "finite")):
        with pytest.raises(ArgumentError, match=error):
            validated(hospitals, threshold=wrong)
    with pytest.raises(ArgumentTypeError, match="must be a number"):
        validated(hospitals, threshold="youden")
    with pytest.raises(ModelError, match="two classes"):
        validated(hospitals, observed="risk", predicted="other", threshold=0.3)
    with pytest.raises(ArgumentTypeError, match=r"result\.metrics\(by='site'\)"):
        validated(hospitals, by="site")


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_share_in_these_records_is_the_model_without_predictors(hospitals):
    def scaled(table):
        share = table["died"].mean()
        loss = ((table["risk"] - table["died"]) ** 2).mean()
        return 1 - loss / (share * (1 - share))

    read = validated(hospitals)
    one = read.estimate("brier_skill")
    assert float(one) == pytest.approx(scaled(hospitals))
    assert "clustered" in one.method or "cluster" in one.method
    table = read.metrics(by="site").query("metric == 'brier_skill'")
    each = [scaled(own) for _, own in hospitals.groupby("site")]
    assert table["estimate"].tolist() == pytest.approx(each)
    share = f"the share of died = 1, {hospitals['died'].mean():.3f}, in these records"
    assert share in " ".join(str(read.summary(notes=True)).split())
    numbers = validated(hospitals, "other", observed="risk")
    off, y = hospitals["risk"] - hospitals["other"], hospitals["risk"]
    r2 = 1 - (off**2).mean() / y.var(ddof=0)
    assert float(numbers.estimate("r2")) == pytest.approx(r2)
    assert "the R² refers" in " ".join(str(numbers.summary(notes=True)).split())


def test_groups_of_an_external_validation(hospitals):
    read = validated(hospitals)
    assert read.heterogeneity(by="site").n == 3
    assert len(read.compare_groups("auroc", by="site")) == 3


def test_repeats_of_an_external_validation_hold_the_same_records(hospitals):
    first = hospitals.assign(record=range(400), imputation=1)
    second = first.assign(imputation=2, risk=first["other"])
    both = pd.concat([first, second])
    read = validated(both, row="record", repeat="imputation")
    each = [float(validated(one).estimate("auroc")) for one in (first, second)]
    assert read.estimate("auroc").how == "pooled"
    assert float(read.estimate("auroc")) == pytest.approx(np.mean(each))


def test_it_is_drawn_as_the_four_panels_for_a_referee(hospitals):
    axes = validated(hospitals).plot()
    titles = [ax.get_title() for ax in axes.ravel()]
    assert titles == ["ROC", "Calibration", "Decision curve", "Risk by outcome"]
    assert axes[0, 0].figure.get_suptitle().endswith("external validation")
    assert "held-out" not in " ".join(
        ax.get_xlabel() + ax.get_ylabel() for ax in axes.ravel()
    )
    assert validated(hospitals, "other", observed="risk").plot().shape == (2, 2)
    scores = hospitals.assign(risk=np.log(hospitals["risk"]))
    assert validated(scores).plot().shape == (2, 2)
