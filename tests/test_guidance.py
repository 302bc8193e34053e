"""What is shown unasked: the measures of the field's guidance, each once."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import LinearSVC

import statcv as scv
from statcv.metrics import METRICS, default_metrics, oe_ratio

GUIDANCE = [
    "auroc",
    "auprc",
    "calibration_slope",
    "calibration_intercept",
    "oe_ratio",
    "brier",
    "brier_skill",
    "log_loss",
]
OF_CLASSES = [
    "net_benefit",
    "sensitivity",
    "specificity",
    "accuracy",
    "balanced_accuracy",
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    return frame.assign(y=(frame["a"] + rng.logistic(size=80) > 0).astype(int))


def test_two_classes_have_the_essential_measures(data):
    res = scv.cv("y ~ a + b", data, seed=1)
    assert res.metrics()["metric"].tolist() == GUIDANCE
    assert not any(METRICS[name].reads == "classes" for name in GUIDANCE)


@pytest.mark.parametrize("threshold", [0.3, "youden"])
def test_measures_of_classes_come_with_a_threshold_beside_net_benefit(data, threshold):
    res = scv.cv("y ~ a + b", data, threshold=threshold, seed=1)
    assert res.metrics()["metric"].tolist() == [*GUIDANCE, *OF_CLASSES]
    assert res.metrics()["estimate"].notna().all()


def test_scores_have_no_metrics_of_probabilities(data):
    call = {"model": LinearSVC(), "threshold": -0.2, "metrics": None, "seed": 1}
    res = scv.cv("y ~ a + b", data, **call)
    named = res.metrics().set_index("metric")["estimate"]
    assert not {"net_benefit", "brier", "log_loss"} & set(named.index)
    assert named[["auroc", "accuracy"]].notna().all()


def test_observed_over_expected(data):
    res = scv.cv("y ~ a", data, seed=1)
    table = res.predictions
    ratio = table["observed"].sum() / table["predicted"].sum()
    assert float(res.estimate("oe_ratio")) == pytest.approx(ratio, rel=1e-12)
    assert np.isnan(oe_ratio([0, 1], [0.0, 0.0]))
    calibration = scv.metrics.calibration(table["observed"], table["predicted"])
    assert ratio == pytest.approx(calibration.observed_expected)


def test_the_summary_opens_with_the_headline(data):
    res = scv.cv("y ~ a", data, seed=1)
    summary = res.summary()
    lines = str(summary).splitlines()
    assert lines[0] == str(res.estimate()) == repr(res).partition(" in ")[0]
    assert lines[0].startswith(f"auROC {float(res.estimate()):.2f} (95% CI ")
    assert summary.headline in summary.to_markdown().replace("\\", "")
    assert summary.headline in summary._repr_html_()


def test_digits_agree_within_a_column(data):
    for call in ({}, {"scheme": "rloocv"}, {"scheme": "bootstrap", "repeats": 20}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scv.errors.StatcvWarning)
            shown = scv.cv("y ~ a + b", data, seed=1, **call).summary().shown
        for table in shown.values():
            for name in table:
                numbers = [text for text in table[name] if text[-1].isdigit()]
                places = {len(text.split(".")[-1]) for text in numbers}
                assert len(places) <= 1, (name, numbers)
                assert not any(text.strip("-0.") == "" and "-" in text
                               for text in numbers)  # fmt: skip


def test_no_note_is_printed_twice(data):
    for call in ({}, {"scheme": "kfold"}, {"scheme": "rloocv"}, {"scheme": "loocv"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scv.errors.StatcvWarning)
            notes = scv.cv("y ~ a + b", data, seed=1, **call).summary(notes=True).notes
        assert len(set(notes)) == len(notes)


def test_no_skill_stands_beside_each_estimate(data):
    table = scv.cv("y ~ a", data, seed=1).metrics().set_index("metric")["no_skill"]
    share = data["y"].mean()
    assert table["auroc"] == 0.5
    assert table["brier"] == pytest.approx(share * (1 - share))
    assert table["brier_skill"] == 0.0
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert table["log_loss"] == pytest.approx(entropy)
    of_calibration = ["calibration_slope", "calibration_intercept", "oe_ratio"]
    assert table[of_calibration].isna().all()


def test_every_metric_knows_what_no_skill_is():
    constant = {"binary": 0.4, "multiclass": [0.2, 0.5, 0.3], "continuous": 1.0}
    y = {"binary": [0, 1, 0, 1, 0], "multiclass": [0, 1, 2, 1, 1], "continuous": [0, 2]}
    for metric in METRICS.values():
        for kind in metric.outcomes:
            value = metric.without_skill(3 if kind == "multiclass" else 2)
            if value is None or metric.uses_baseline:
                continue
            flat = np.array([constant[kind]] * len(y[kind]))
            found = metric(y[kind], flat)
            assert np.isnan(found) or found == pytest.approx(value), metric.name


def test_defaults_of_other_outcomes_stay():
    assert default_metrics("continuous") == ("rmse", "mae", "r2")
    assert default_metrics("multiclass", threshold=True)[0] == "accuracy"
