"""The mean calibration curve over groups, beside R's lrm and its meta-analysis."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    MetricError,
    OutcomeError,
    UndefinedMetricWarning,
)
from statcv.inference.meta.clustered_calibration import clustered_calibration

REFERENCE = Path(__file__).parents[1] / "reference"
LEFT_OUT = r"2 groups .* left out: none \(all records are negative\) and tiny \(p sep"


def people():
    return pd.read_csv(REFERENCE / "clustered_cases.csv")


def validated(frame, **more):
    return scv.from_predictions(frame, observed="y", predicted="p", **more)


@pytest.mark.parametrize("hartung_knapp", [False, True])
def test_the_mean_curve_is_that_of_r(hartung_knapp):
    r = pd.read_csv(REFERENCE / "calibration_curves_r.csv")
    r = r[r["case"] == "clustered"].pivot(index="at", columns="what", values="value")
    frame = people()
    with pytest.warns(UndefinedMetricWarning, match=LEFT_OUT):
        found = clustered_calibration(
            validated(frame).scores,
            frame["hospital"],
            "hospital",
            "y = 1",
            at=r.index,
            hartung_knapp=hartung_knapp,
        )
    names = {"observed": "observed", "tau": "tau", "lower": "lower", "upper": "upper"}
    names |= {"prediction_lower": "prediction_lower"}
    if hartung_knapp:
        names = {"observed": "observed", "lower": "hk_lower"}
        names |= {"prediction_upper": "hk_prediction_upper"}
    for ours, theirs in names.items():
        np.testing.assert_allclose(getattr(found, ours), r[theirs], rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.curves[0], r["first"], rtol=0, atol=1e-10)
    assert found.groups == tuple("abcdefgh")
    assert (found.n_left_out, found.curves.shape) == (2, (8, 9))


def test_a_result_gives_the_table_and_the_picture():
    res = validated(people())
    with pytest.warns(UndefinedMetricWarning, match=LEFT_OUT):
        curve = res.clustered_calibration(by="hospital", level=0.9)
    table = curve.to_frame()
    assert list(table)[:4] == ["predicted", "observed", "lower", "upper"]
    assert (table["prediction_lower"] <= table["lower"]).all()
    assert "Mean calibration curve over 8 groups of hospital" in repr(table)
    assert "left out 2" in repr(curve)
    ax = scv.plots.plot_clustered_calibration(curve)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"8 groups of hospital", "90% limits of a new group"} <= set(labels)
    plt.close(ax.figure)
    with pytest.raises(ArgumentTypeError, match="clustered_calibration"):
        scv.plots.plot_clustered_calibration(res)


def test_patients_of_a_hospital_are_clusters_within_it():
    frame = people().query("hospital < 'e'")
    twice = frame.loc[frame.index.repeat(2)].reset_index(names="patient")
    once = validated(frame).clustered_calibration(by="hospital")
    apart = validated(twice).clustered_calibration(by="hospital")
    whole = validated(twice, cluster="patient").clustered_calibration(by="hospital")
    np.testing.assert_allclose(whole.curves, once.curves, atol=1e-9)
    width = (once.upper - once.lower).mean()
    assert (whole.upper - whole.lower).mean() == pytest.approx(width, rel=0.15)
    assert (apart.tau >= once.tau - 1e-6).all()  # less is ascribed to chance


def test_two_groups_have_no_limits_for_a_third():
    res = validated(people().query("hospital < 'c'"))
    curve = res.clustered_calibration(by="hospital")
    assert np.isnan(curve.prediction_lower).all()
    assert np.isfinite(curve.upper).all()
    ax = scv.plots.plot_clustered_calibration(curve)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "95% limits of a new group" not in labels
    plt.close(ax.figure)


def test_groups_without_a_curve_are_named():
    frame = people().query("hospital in ['a', 'none', 'tiny']")
    with pytest.raises(ArgumentError, match=r"there are 1 in hospital; .* none \(all"):
        validated(frame).clustered_calibration(by="hospital")
    sure = people().query("hospital < 'd'").assign(p=lambda d: d["p"].round(1))
    with pytest.raises(ArgumentError, match="exactly 0 or 1"):
        validated(sure).clustered_calibration(by="hospital")
    numbers = people().assign(y=lambda d: d["y"] + d["p"])
    with pytest.raises(OutcomeError, match="two classes"):
        validated(numbers).clustered_calibration(by="hospital")
    scores = people().assign(p=lambda d: 5 * d["p"] - 2)
    read = validated(scores)
    with pytest.raises(MetricError, match="needs probabilities"):
        read.clustered_calibration(by="hospital")
