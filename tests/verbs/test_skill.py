"""result.test, metrics by group, and thresholds, through the one call."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import statcv as scv
from statcv.errors import CostWarning, FoldWarning, MetricError, SchemeError
from statcv.results.refits import warn_of_permutations


@pytest.fixture(scope="module")
def spector():
    return scv.load_data("spector")


@pytest.fixture(scope="module")
def rloocv(spector):
    ridge = scv.models.Logit(C=1.0)
    return scv.cv(
        "GRADE ~ GPA + PSI", spector, model=ridge, scheme="rloocv", repeats=1, seed=1
    )


def test_a_permutation_test_is_the_null_distribution_counted(rloocv):
    test = rloocv.test(n_permutations=99, seed=5)
    null = rloocv.null_distribution(times=99, seed=5)
    np.testing.assert_array_equal(test.replicates, null)
    as_good = int((null >= float(rloocv.estimate()) - 1e-12).sum())
    assert test.p_value == (1 + as_good) / 100
    assert test.null == pytest.approx(null.mean())


def test_the_side_is_that_of_better_predictions(rloocv):
    assert rloocv.test("auroc", n_permutations=9).alternative == "greater"
    assert rloocv.test("brier", n_permutations=9).alternative == "less"


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_under_loocv_the_centre_is_not_one_half(spector):
    res = scv.cv("GRADE ~ TUCE", spector, scheme="loocv", seed=1)
    test = res.test(n_permutations=199)
    assert test.null < 0.4
    assert f"the mean is {test.null:.3f}" in str(test)


def test_wald_tests_by_the_name_of_an_interval(spector):
    res = scv.cv("GRADE ~ GPA + PSI", spector, k=4, repeats=2, seed=1)
    found = res.estimate("auroc", "per_fold", interval="corrected_t")
    test = res.test("auroc", "per_fold", method="corrected_t")
    assert test.statistic == pytest.approx((float(found) - 0.5) / found.se)
    assert test.df == 7
    with pytest.raises(MetricError, match="give null="):
        res.test("brier", method="corrected_t", how="per_fold")
    with pytest.raises(MetricError, match="cannot be tested by permutation"):
        res.test("auroc", null=0.7)


def test_the_plain_t_test_quotes_its_size(spector):
    res = scv.cv("GRADE ~ GPA + PSI", spector, k=4, seed=1)
    with pytest.warns(FoldWarning, match="rejected in"):
        test = res.test("auroc", method="t")
    assert test.estimate == pytest.approx(float(res.estimate("auroc", "per_fold")))


def test_the_cost_is_said_before_refits_one_by_one(spector):
    res = scv.cv("GRADE ~ GPA", spector, model=LogisticRegression(), k=3, seed=1)
    # the first fit includes loading
    held = replace(res.held, seconds=np.array([30.0, 0.1, 0.1]))
    slow = replace(res, held=held)
    said = "100 permutations fit 3 training sets each, one by one: about 30 s"
    with pytest.warns(CostWarning, match=said):
        warn_of_permutations(slow, 100)
    warn_of_permutations(slow, 30)  # 9 seconds, without the loading
    two = scv.cv("GRADE ~ GPA", spector, model=LogisticRegression(), k=2, seed=1)
    held = replace(two.held, seconds=np.array([30.0, 0.01]))
    warn_of_permutations(replace(two, held=held), 100)  # 2 seconds


def test_clusters_that_cannot_change_places_leave_no_test():
    df = pd.DataFrame(
        {
            "y": [0, 1] * 10 + [1],
            "x": np.arange(21.0) % 7,
            "who": [*range(0, 18), 18, 18, 18],
        }
    )
    odd = df.assign(who=np.repeat([0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]))
    kfold = {"scheme": "kfold", "k": 3, "stratify": scv.by_value("who"), "seed": 1}
    res = scv.cv("y ~ x", odd, **kfold)
    test = res.test(n_permutations=19)
    assert np.isnan(test.p_value)
    assert "the same number of records" in str(test)
    alike = scv.cv("y ~ x", df, **kfold)
    assert alike.test(n_permutations=19).p_value > 0


def of_clusters(sizes, outcomes):
    who = np.repeat(np.arange(len(sizes)), sizes)
    df = pd.DataFrame({"who": who, "x": np.arange(len(who)) * 7 % 11, "y": outcomes})
    stratify = scv.by_value("who")
    return scv.cv("y ~ x", df, scheme="kfold", k=3, stratify=stratify, seed=1)


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_clusters_whose_permutations_change_nothing_leave_no_test():
    """All permutations are one: p would be 1 whatever the predictors are."""
    first, last = [0, 1, 1, 0, 0, 0, 1, 1, 0], [1, 0, 1, 1, 0, 0]
    res = of_clusters([2, 3, 4, 6, 6], [*first, *last, *last])
    test = res.test(n_permutations=19)
    assert np.isnan(test.p_value)
    assert "have the same outcomes" in test.reason
    with pytest.raises(SchemeError, match="5 clusters of who, those with the same"):
        res.test(method="permutation", n_permutations=19)
    with pytest.raises(SchemeError, match="changes nothing"):
        res.null_distribution(times=3)


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_few_distinct_permutations_are_counted():
    first, last = [0, 1, 1, 0, 0, 0, 1, 1, 0], [1, 0, 1, 1, 0, 0]
    res = of_clusters([2, 3, 4, 6, 6], [*first, *last, *last[::-1]])
    test = res.test(n_permutations=99)
    assert len(set(test.replicates.round(9))) <= 2
    assert test.p_value > 0.3
    assert "in only 2 distinct ways" in str(test)
    assert "below 0.5" in str(test)
    many = of_clusters([2] * 20, [0, 0, 0, 1, 1, 1, 1, 0] * 5)
    assert "ways" not in str(many.test(n_permutations=19))


@pytest.mark.parametrize("model", [None, LogisticRegression(solver="liblinear")])
def test_groups_have_the_metrics_of_their_own_records(spector, model):
    res = scv.cv(
        "GRADE ~ GPA + TUCE", spector, model=model, scheme="kfold", k=4, seed=1
    )
    table = res.metrics(by="PSI").set_index(["metric", "PSI"])
    for group in (0, 1):
        rows = spector.index[spector["PSI"] == group]
        own = res.predictions[res.predictions["row"].isin(rows)]
        expected = scv.metrics.delong(own["observed"], own["predicted"])
        found = table.loc[("auroc", group)]
        assert found["estimate"] == pytest.approx(expected.auc)
        if model is None:  # the fits vary as well
            assert expected.se < found["se"] < 1.5 * expected.se
        else:  # each of 4 folds holds out a quarter of the records
            assert found["se"] == pytest.approx(expected.se * np.sqrt(1.75))
        assert found["n"] == len(rows)
        brier = scv.metrics.brier(own["observed"], own["predicted"])
        assert table.loc[("brier", group), "estimate"] == pytest.approx(brier)


def test_the_pairs_of_a_group_are_both_in_it(rloocv, spector):
    table = rloocv.metrics(by="PSI").set_index(["metric", "PSI"])
    group = spector["PSI"]
    pairs = rloocv.pairs
    for value in (0, 1):
        own = pairs[
            (group.loc[pairs["row"]].to_numpy() == value)
            & (group.loc[pairs["partner"]].to_numpy() == value)
        ]
        lead = own["predicted"] - own["predicted_partner"]
        won = np.where(lead == 0, 0.5, (lead > 0) == (own["observed"] == 1))
        assert table.loc[("auroc", value), "how"] == "paired"
        assert table.loc[("auroc", value), "estimate"] == pytest.approx(won.mean())


def test_held_out_sites_are_joined_by_random_effects():
    ehr = scv.load_data("ehr")
    res = scv.cv("y ~ x1 + x3 + x5", ehr, scheme="kfold", k=5, seed=1)
    site = np.arange(len(ehr)) % 4
    table = res.metrics(by=site)
    joined = res.heterogeneity("auroc", by=site)
    own = table[table["metric"] == "auroc"]
    assert joined.n == 4
    assert own["estimate"].min() < joined.estimate < own["estimate"].max()
    assert joined.prediction_lower <= joined.lower < joined.upper <= 1


def test_a_group_without_a_class_is_counted(rloocv, spector):
    groups = np.where(spector["GRADE"] == 1, "a", "b")
    with pytest.warns(scv.errors.UndefinedMetricWarning, match="have no value"):
        table = rloocv.metrics(by=groups)
    own = table[table["metric"] == "auroc"]
    assert own["estimate"].isna().all()


def test_a_fixed_threshold(spector):
    res = scv.cv("GRADE ~ GPA + PSI", spector, k=4, threshold=0.3, seed=1)
    table = res.predictions
    hits = (table["predicted"] > 0.3) == (table["observed"] == 1)
    assert float(res.estimate("accuracy")) == pytest.approx(hits.mean())
    fitted = res.predict(spector)
    apparent = ((fitted > 0.3) == (spector["GRADE"] == 1)).mean()
    assert res.apparent["accuracy"] == pytest.approx(apparent)
    plain = res.update(threshold=None)
    assert float(plain.estimate("auroc")) == float(res.estimate("auroc"))


def test_thresholds_of_the_training_sets_are_used_fold_by_fold(spector):
    res = scv.cv("GRADE ~ GPA + PSI", spector, k=4, threshold="youden", seed=1)
    cut = res.tuned.set_index("fold")["threshold"]
    assert cut.nunique() > 1
    table = res.predictions
    above = table["predicted"].to_numpy() > cut.loc[table["fold"]].to_numpy()
    hits = above == (table["observed"] == 1)
    assert float(res.estimate("accuracy")) == pytest.approx(hits.mean())
    null = res.null_distribution("accuracy", times=20)
    assert null.nunique() > 3
    share = scv.cv("GRADE ~ GPA", spector, k=4, threshold="prevalence", seed=1)
    counts = share.folds["train_1"] / share.folds["n_train"]
    np.testing.assert_allclose(share.tuned["threshold"], counts)


def test_a_metric_of_ones_own(spector):
    def misses_loss(y, p):
        return float(np.mean((p < 0.5) & (y == 1)))

    res = scv.cv("GRADE ~ GPA", spector, k=4, metrics=["auroc", misses_loss], seed=1)
    assert res.metric_names == ("auroc", "misses_loss")
    table = res.predictions
    expected = misses_loss(table["observed"].to_numpy(), table["predicted"].to_numpy())
    assert float(res.estimate("misses_loss")) == pytest.approx(expected)


def test_a_slope_is_tested_on_both_sides(rloocv):
    test = rloocv.test("calibration_slope", n_permutations=19)
    assert test.alternative == "two-sided"


def test_a_plain_t_test_takes_the_level_and_folds_alone(spector):
    res = scv.cv("GRADE ~ GPA", spector, k=4, seed=1)
    with pytest.warns(FoldWarning, match="independent"):
        wide = res.test(method="t", level=0.99)
    assert wide.level == 0.99
    values = res.predictions.groupby("fold").apply(
        lambda fold: scv.metrics.auroc(fold["observed"], fold["predicted"]),
        include_groups=False,
    )
    mean, se = values.mean(), values.std(ddof=1) / 2
    assert wide.lower == pytest.approx(mean - 5.840909309733355 * se)  # t of 3 df
    with pytest.raises(MetricError, match="how='pooled' does not apply"):
        res.test(method="t", how="pooled")


def test_the_seed_is_that_of_what_a_test_draws(rloocv):
    def limits(seed):
        test = rloocv.test("brier", method="bootstrap", null=0.25, seed=seed)
        return test.lower, test.upper

    assert limits(5) == limits(5)
    assert limits(5) != limits(6)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"alternative": "bigger"}, "alternative must be"),
        ({"n_permutations": 0}, "n_permutations must be 1 or more"),
        ({"n_permutations": 2.5}, "n_permutations must be an integer"),
        ({"method": "delongs"}, "not a test; .* Did you mean 'delong'"),
        ({"method": "pairs", "null": 1.5}, "lies between 0 and 1"),
    ],
)
def test_arguments_of_a_test_out_of_range(rloocv, arguments, match):
    with pytest.raises(scv.StatcvError, match=match):
        rloocv.test(**arguments)


def test_repeats_needed_for_an_error_of_nothing_are_refused(rloocv):
    with pytest.raises(scv.StatcvError, match="monte_carlo_error must be above 0"):
        rloocv.summary(monte_carlo_error=0)


def test_held_out_sites_are_joined_whether_given_as_folds_or_as_sources():
    df = scv.load_data("ehr").query("site != 'E'")
    df = df.assign(fold=df["site"].astype("category").cat.codes)
    whole = scv.cv("y ~ x2 + x3", df, scheme="loocv", stratify="site", seed=1)
    folds = scv.cv("y ~ x2 + x3", df, scheme="fold", seed=1)
    ours, theirs = (res.heterogeneity("auroc", by="site") for res in (whole, folds))
    assert ours.n == 4
    near = pytest.approx((theirs.estimate, theirs.lower), abs=0.01)
    assert (ours.estimate, ours.lower) == near
