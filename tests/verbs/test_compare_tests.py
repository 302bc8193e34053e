"""compare(): its tests, contrasts and adjusted p-values."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control

import statcv as scv
from statcv.errors import ArgumentError, ComparisonError, UndefinedMetricWarning
from statcv.inference import values_by_split
from statcv.metrics import METRICS, auroc, delong, delong_test


def simulated(seed, n=80, sites=None):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    y = (x[:, 0] + 0.5 * x[:, 1] + rng.normal(size=n) > 0).astype(int)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=y)
    return frame if sites is None else frame.assign(site=rng.integers(0, sites, n))


@pytest.fixture(scope="module")
def pair():
    small = scv.cv("y ~ a", simulated(1), k=5, repeats=3, seed=1)
    return {"small": small, "large": small.update(formula="y ~ a + b")}


def mean_predictions(result):
    return result.predictions.groupby("row")[["observed", "predicted"]].mean()


# ---- tests ----


def test_corrected_t_over_the_folds(pair):
    row = scv.compare(**pair, test="corrected_t").differences.iloc[0]
    a, b = (values_by_split(r.scores, METRICS["auroc"]) for r in (pair.values()))
    change = b - a
    folds = pair["small"].folds
    ratio = (folds["n_test"] / folds["n_train"]).mean()
    se = np.sqrt((1 / 15 + ratio) * change.var(ddof=1))
    assert row["difference"] == pytest.approx(change.mean())
    assert row["se"] == pytest.approx(se)
    assert row["caveat"] == ""


def test_corrected_t_needs_the_same_folds(pair):
    other = pair["large"].update(seed=2)
    with pytest.raises(ComparisonError, match="do not have the same folds"):
        scv.compare(small=pair["small"], large=other, test="corrected_t")


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_corrected_t_with_a_fold_without_value():
    plan = [1] * 5 + [2] * 20 + [3] * 15
    frame = simulated(3, 40).sort_values("y").reset_index(drop=True)
    a = scv.cv("y ~ a", frame, scheme=plan, seed=1)
    b = a.update(formula="y ~ a + b")
    with pytest.warns(UndefinedMetricWarning, match="no value in 2 of 3 folds"):
        row = scv.compare(a, b, test="corrected_t").differences.iloc[0]
    assert np.isnan(row["p"])
    assert "no value in" in row["caveat"]
    assert "of 3 folds" in row["caveat"]


def test_permutation(pair):
    comparison = scv.compare(**pair, test="permutation", n_permutations=499, seed=3)
    row = comparison.differences.iloc[0]
    y, a = mean_predictions(pair["small"]).to_numpy().T
    delongs = delong_test(y, mean_predictions(pair["large"])["predicted"], a)
    assert row["difference"] == pytest.approx(delongs.estimate)
    assert (row["p"] * 500) % 1 == pytest.approx(0, abs=1e-9)
    assert row["se"] == pytest.approx(delongs.se, rel=0.3)
    again = scv.compare(**pair, test="permutation", n_permutations=499, seed=3)
    assert again.differences.equals(comparison.differences)
    assert "499 random swaps" in str(comparison.summary(notes=True))
    shown = comparison.summary().shown["Differences"]
    assert list(shown) == ["difference", "p"]


@pytest.mark.parametrize("metric", ["auprc", "balanced_accuracy"])
def test_permutation_of_metrics_without_another_test(pair, metric):
    row = scv.compare(
        **pair, metric=metric, test="permutation", n_permutations=99
    ).differences.iloc[0]
    y, a = mean_predictions(pair["small"]).to_numpy().T
    _, b = mean_predictions(pair["large"]).to_numpy().T
    function = METRICS[metric]
    assert row["difference"] == pytest.approx(function(y, b) - function(y, a))
    assert 0 < row["p"] <= 1


def test_out_of_sample_r2_is_against_the_training_mean():
    frame = simulated(4)
    a = scv.cv("c ~ a", frame, k=4, seed=1)
    b = a.update(formula="c ~ a + b")
    comparison = scv.compare(
        a=a, b=b, metric="r2", test="permutation", n_permutations=99
    )
    expected = [float(r.estimate("r2", "pooled")) for r in (a, b)]
    assert comparison.table["estimate"].tolist() == pytest.approx(expected)


def test_clusters_where_a_stratifier_tells_them():
    frame = simulated(5, 120, sites=30)
    a = scv.cv("y ~ a", frame, k=4, stratify=scv.by_value("site"), seed=1)
    b = a.update(formula="y ~ a + b")
    comparison = scv.compare(a=a, b=b, test="delong", how="pooled")
    usual = scv.compare(a=a, b=b)
    assert usual.method.name == "infinitesimal_jackknife"
    notes = " ".join(str(usual.summary(notes=True)).split())
    assert "infinitesimal jackknife, clustered" in notes
    first, second = (r.predictions.set_index("row").sort_index() for r in (a, b))
    expected = delong_test(
        first["observed"],
        second["predicted"],
        first["predicted"],
        clusters=frame["site"],
    )
    row = comparison.differences.iloc[0]
    assert row["p"] == pytest.approx(expected.p_value)
    assert row["se"] != pytest.approx(
        delong_test(first["observed"], second["predicted"], first["predicted"]).se
    )
    assert "clustered" in str(comparison.summary(notes=True))
    brier = scv.compare(a=a, b=b, metric="brier", test="t").differences.iloc[0]
    losses = (second["predicted"] - second["observed"]) ** 2 - (
        first["predicted"] - first["observed"]
    ) ** 2
    total = (losses - losses.mean()).groupby(frame["site"]).sum()
    g = len(total)
    assert brier["se"] == pytest.approx(
        np.sqrt(g / (g - 1) * (total**2).sum()) / len(frame)
    )


def test_clusters_of_one_result_count_for_both():
    frame = simulated(5, 120, sites=30)
    a = scv.cv("y ~ a", frame, k=4, stratify=scv.by_value("site"), seed=1)
    b = scv.cv("y ~ a", frame, k=4, seed=1)
    both = [
        scv.compare(x=x, y=y, test="delong").differences.iloc[0]
        for x, y in ((a, b), (b, a))
    ]
    assert both[0]["se"] == pytest.approx(both[1]["se"])
    assert both[0]["difference"] == pytest.approx(-both[1]["difference"])


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_thresholds_are_heeded():
    frame = simulated(6)
    a = scv.cv("y ~ a", frame, k=4, seed=1, threshold=0.3)
    b = a.update(formula="y ~ a + b", threshold="youden")
    comparison = scv.compare(a=a, b=b, metric="accuracy")
    expected = [float(r.estimate("accuracy", "pooled")) for r in (a, b)]
    assert comparison.table["estimate"].tolist() == pytest.approx(expected)
    difference = comparison.differences["difference"][0]
    assert difference == pytest.approx(expected[1] - expected[0])


def test_arguments_that_mean_nothing(pair):
    with pytest.raises(ArgumentError, match="n_permutations=99 has no effect"):
        scv.compare(**pair, n_permutations=99)
    with pytest.raises(ArgumentError, match="must be 1 or more"):
        scv.compare(**pair, test="permutation", n_permutations=0)
    with pytest.raises(ComparisonError, match="Did you mean 'delong'"):
        scv.compare(**pair, test="delongs")
    with pytest.raises(ArgumentError, match="adjust must be 'holm' or 'bh' or 'none'"):
        scv.compare(**pair, adjust="bonferroni")


# ---- several p-values ----


@pytest.fixture(scope="module")
def several():
    a = scv.cv("y ~ a", simulated(1), k=5, seed=1)
    terms = {"ab": "a + b", "ac": "a + c", "c": "c"}
    return {"a": a} | {
        name: a.update(formula=f"y ~ {right}") for name, right in terms.items()
    }


@pytest.mark.slow
def test_holm_and_benjamini_hochberg_stand_side_by_side(several):
    table = scv.compare(**several, adjust="bh").differences
    assert len(table) == 6
    assert np.allclose(table["p_bh"], false_discovery_control(table["p"]))
    assert (table["p_holm"] >= table["p_bh"] - 1e-12).all()
    assert "p (BH)" in str(scv.compare(**several, adjust="bh").summary())
    plain = str(scv.compare(**several, adjust="none").summary(notes=True))
    assert "6 p-values are not adjusted" in plain
    assert "p (Holm)" not in plain


def test_pairs_without_a_p_value_do_not_count(several):
    scores = several["a"].predictions.assign(score=lambda d: 3 * d["predicted"] - 1)
    elsewhere = scv.from_predictions(
        scores, observed="observed", predicted="score", row="row"
    )
    mixed = {"scores": elsewhere} | several
    with pytest.warns(UndefinedMetricWarning, match="no value in 1 of 1"):
        table = scv.compare(**mixed, metric="brier", test="t").differences
    lacking = table["first"] == "scores"
    assert table.loc[lacking, ["p", "p_holm", "p_bh"]].isna().all(axis=None)
    plain = scv.compare(**several, metric="brier", test="t").differences
    for column in ("p_holm", "p_bh"):
        assert table.loc[~lacking, column].tolist() == pytest.approx(plain[column])


def test_all_against_one(several):
    table = scv.compare(**several, reference="ab").differences
    assert table["first"].tolist() == ["ab"] * 3
    assert table["second"].tolist() == ["a", "ac", "c"]
    every = scv.compare(**several).differences
    known = every.query("first == 'a' and second == 'ab'")["difference"].iloc[0]
    assert table["difference"][0] == pytest.approx(-known)
    with pytest.raises(ArgumentError, match="not among the results: a, ab, ac, c"):
        scv.compare(**several, reference="b")


# ---- the model without predictors ----


def test_against_the_null_model_by_a_casewise_loss(several):
    a = several["a"]
    comparison = scv.compare(a=a, reference="null", metric="brier", test="t")
    mean = a.update(model="mean")
    by_hand = scv.compare(null=mean, a=a, metric="brier", test="t").differences
    found = comparison.differences
    assert found["first"].tolist() == ["null"]
    numbers = ["difference", "se", "p"]
    assert found[numbers].to_numpy() == pytest.approx(by_hand[numbers].to_numpy())
    null = comparison.results["null"]
    assert null.plan.fingerprint == a.plan.fingerprint
    assert null.update().held.predicted == pytest.approx(mean.held.predicted)


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
@pytest.mark.parametrize("scheme", ["loocv", "stratified_kfold"])
def test_the_null_model_ranks_nobody(scheme):
    """Whatever the training means give away, it has no skill: auROC 0.5."""
    res = scv.cv("y ~ a", simulated(7, 41), scheme=scheme, metrics="auroc", seed=1)
    comparison = scv.compare(a=res, reference="null", how="pooled", test="delong")
    row = comparison.differences.iloc[0]
    y, p = mean_predictions(res).to_numpy().T
    expected = delong(y, p)
    assert row["difference"] == pytest.approx(expected.auc - 0.5)
    assert row["se"] == pytest.approx(expected.se)
    assert comparison.table.loc["null", "estimate"] == 0.5
    if scheme == "loocv":
        assert "auROC 0.000 under loocv" in row["caveat"]
    assert "result.test()" in str(comparison.summary())


def test_a_result_called_null_is_the_reference(several):
    comparison = scv.compare(null=several["a"], b=several["ab"], reference="null")
    assert list(comparison.results) == ["null", "b"]
    plain = scv.compare(null=several["a"], b=several["ab"])
    assert comparison.differences.equals(plain.differences)


def test_predictions_of_a_model_fitted_elsewhere_have_no_null_model():
    frame = pd.DataFrame({"y": [0, 1, 0, 1, 1], "p": [0.1, 0.8, 0.4, 0.3, 0.9]})
    res = scv.from_predictions(frame, observed="y", predicted="p")
    with pytest.raises(ComparisonError, match="fitted to other records"):
        scv.compare(a=res, reference="null")


# ---- records ----


def test_records_in_another_order_are_matched_by_their_labels():
    frame = simulated(8, 40)
    frame["p"] = np.random.default_rng(1).uniform(size=40)
    frame["q"] = frame["a"].rank() / 41
    a = scv.from_predictions(frame, observed="y", predicted="p")
    b = scv.from_predictions(frame.sort_values("p"), observed="y", predicted="q")
    difference = scv.compare(a=a, b=b).differences["difference"][0]
    y = frame["y"]
    assert difference == pytest.approx(auroc(y, frame["q"]) - auroc(y, frame["p"]))


def test_schemes_are_called_schemes():
    a = scv.cv("y ~ a", simulated(1), scheme="rloocv", metrics="auroc", seed=1)
    b = a.update(scheme="leave_pair_out")
    assert (
        scv.compare(a, b).summary().title.startswith("Comparison of schemes by auROC")
    )
    models = scv.compare(a, a.update(formula="y ~ b"))
    assert models.summary().title.startswith("Paired comparison of auROC")
