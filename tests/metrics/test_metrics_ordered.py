"""Metrics of ordered classes, against their definitions and R's numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import MetricError
from statcv.metrics import METRICS, concordance
from statcv.metrics.named import ordered_metrics, ordered_rps

REFERENCE = Path(__file__).parent.parent / "reference"
RNG = np.random.default_rng(4)
Y = RNG.integers(0, 4, 60)
P = RNG.dirichlet(np.ones(4) + np.eye(4)[0], 60)
KNOWN = ordered_metrics("I", "II", "III", "IV")


def test_the_ranked_probability_score_is_the_sum_of_brier_scores_at_the_cuts():
    at_cuts = [
        METRICS["brier"]((k <= Y).astype(int), P[:, k:].sum(axis=1)) for k in (1, 2, 3)
    ]
    assert ordered_rps(Y, P) == pytest.approx(sum(at_cuts), rel=1e-12)
    assert ordered_rps(Y, np.eye(4)[Y]) == 0
    assert np.isnan(ordered_rps([0, 1], [[0.5, 0.6], [0.2, 0.8]]))
    assert np.isnan(ordered_rps([], np.empty((0, 3))))
    with pytest.raises(MetricError):
        ordered_rps([0, 3], [[0.5, 0.5], [0.2, 0.8]])


def test_the_ordinal_c_is_that_of_rcorr_cens():
    cases = pd.read_csv(REFERENCE / "ordered_cases.csv")
    known = pd.read_csv(REFERENCE / "ordered_r.csv").query("by == 'rcorr.cens'")
    for row in known.itertuples():
        found = concordance(cases[row.outcome], cases["x"])
        assert found == pytest.approx(row.value, rel=1e-10)
    expected = P @ np.arange(4)
    metric = KNOWN["ordinal_c"]
    assert metric(Y, metric.readable(P)) == concordance(Y, expected)


@pytest.mark.parametrize("name", KNOWN)
def test_derivatives_are_those_of_the_weighted_metric(name):
    metric, step = KNOWN[name], 1e-5
    read = metric.readable(P)
    found, weights = metric.derive(Y, read).weight, np.ones((2, len(Y)))
    value = metric.weighted(Y, read[None], weights[:1])[0]
    assert value == pytest.approx(metric(Y, read), rel=1e-6)
    for record in (0, 17, 40):
        weights[:] = 1.0
        weights[:, record] += [step, -step]
        up, down = metric.weighted(Y, read[None], weights)
        assert found[record] == pytest.approx((up - down) / (2 * step), rel=1e-4)


@pytest.mark.parametrize("code", [1, 2, 3])
@pytest.mark.parametrize("base", ["calibration_slope", "oe_ratio"])
def test_calibration_at_a_cut_point_is_that_of_two_classes(base, code):
    metric = KNOWN[f"{base}@{['I', 'II', 'III', 'IV'][code]}"]
    two = METRICS[base]((code <= Y).astype(int), P[:, code:].sum(axis=1))
    assert metric(Y, metric.readable(P)) == pytest.approx(two, rel=1e-12)


def result(**more):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 60))
    y = np.digitize(x[0] + rng.logistic(size=60), [-1, 0.5])
    stage = pd.Categorical.from_codes(y, ["I", "II", "III"], ordered=True)
    data = pd.DataFrame({"stage": stage, "x": x[0], "z": x[1]})
    return scv.cv("stage ~ x + z", data, seed=1, **more)


def test_a_forest_is_measured_by_the_order_of_its_probabilities():
    from sklearn.ensemble import RandomForestClassifier

    res = result(model=RandomForestClassifier(30, random_state=1), k=5)
    table = res.metrics().set_index("metric")
    p = res.predictions.filter(like="predicted_").to_numpy()
    y = res.predictions["observed"].map({"I": 0, "II": 1, "III": 2}).to_numpy()
    assert table.loc["rps", "estimate"] == pytest.approx(ordered_rps(y, p))
    pooled = concordance(y, p @ [0, 1, 2])
    assert table.loc["ordinal_c", "pooled"] == pytest.approx(pooled)
    assert table.loc["ordinal_c", "no_skill"] == 0.5
    limits = table.loc[["rps", "ordinal_c"], ["lower", "estimate", "upper"]]
    assert (np.diff(limits) > 0).all()


def test_metrics_at_cut_points_are_named():
    res = result(metrics=["oe_ratio@III", "calibration_slope"])
    assert [one.name for one in res.chosen_metrics] == [
        *("oe_ratio@III", "calibration_slope@II", "calibration_slope@III")
    ]
    assert res.chosen_metrics[0].label == "O:E, III or higher"
    with pytest.raises(MetricError, match="no metric 'oe_ratio@V'"):
        result(metrics="oe_ratio@V")


def test_the_order_of_pairs_is_compared_where_pairs_are_left_out():
    res = result(scheme="leave_pair_out", model="proportional_odds")
    assert (res.chosen_metrics[0].name, res.estimate().how) == ("ordinal_c", "paired")


def test_leave_one_out_warns_of_the_bias_of_the_ordinal_c():
    with pytest.warns(scv.errors.DistributionalBiasWarning, match="ordinal C 0.000"):
        result(scheme="loocv", model="proportional_odds")


def test_text_has_no_order():
    data = pd.DataFrame({"s": list("abc") * 10, "x": np.arange(30.0)})
    with pytest.raises(MetricError, match="rps needs classes with an order"):
        scv.cv("s ~ x", data, metrics="rps")


def test_results_are_compared_and_tuned_by_the_order():
    res = result(model="proportional_odds")
    compared = scv.compare(a=res, b=res.update(model="logit"))
    assert compared.metric.name == "ordinal_c"
    tuned = result(model="proportional_odds", tune=scv.Tuning({"C": [0.1, 1]}, "rps"))
    assert set(tuned.tuned["C"]) <= {0.1, 1.0}


def test_curves_are_drawn_at_each_cut_point(tmp_path):
    res = result(model="proportional_odds")
    axes = res.plot().ravel()
    assert axes[1].get_title() == "Calibration at each cut point"
    labels = axes[0].get_legend().get_texts()
    assert [one.get_text()[:5].split(":")[0].strip() for one in labels] == [
        "≥ II",
        "≥ III",
    ]
    text = Path(res.report(tmp_path / "r.html")).read_text()
    assert "Calibration at each cut point" in text
