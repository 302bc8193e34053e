"""The interval of the distance between a calibration curve and the predictions."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

import statcv as scv
from statcv.errors import UndefinedMetricWarning
from statcv.inference.intervals.curve import curve_interval
from statcv.inference.intervals.request import IntervalRequest
from statcv.metrics import METRICS
from statcv.metrics.probabilities.distances import DISTANCES, curve_parts

NAMES = [*DISTANCES]


def validated(n=400, slope=1.0, shift=0.0, seed=1, **more):
    """Return predictions whose logits are off by a slope and a shift."""
    rng = np.random.default_rng(seed)
    p = expit(rng.normal(size=n))
    y = (rng.random(n) < expit(slope * logit(p) + shift)).astype(int)
    frame = pd.DataFrame({"y": y, "p": p, "id": np.arange(n) // 2})
    return scv.from_predictions(
        frame, observed="y", predicted="p", metrics=NAMES, **more
    )


def test_the_interval_of_calibrated_predictions_includes_0():
    """A one-sided test excludes it, at level 25% in as many of 30 as expected."""
    lower = [
        validated(100, seed=seed).estimate("ici", level=0.5).lower for seed in range(30)
    ]
    above = np.mean(np.array(lower) > 0)
    assert 0.05 < above < 0.5  # within three Monte Carlo errors


def test_the_lower_limit_of_the_largest_distance_is_that_of_a_simultaneous_band():
    """It is above 0 exactly if the band around the curve excludes the diagonal."""
    rng, above = np.random.default_rng(7), []
    for seed in range(12):
        res = validated(300, shift=0.4, seed=seed)
        parts = curve_parts(res.scores.y == 1, res.scores.predicted)
        root = parts.deviations(None)
        errors, se = (
            rng.normal(size=(4000, len(root))) @ root,
            np.linalg.norm(root, axis=0),
        )
        most = np.quantile(np.abs(errors / se).max(axis=1), 0.975)
        limits = np.abs(parts.curve - parts.at) - most * se
        found = res.estimate("emax")
        assert found.lower == pytest.approx(max(limits.max(), 0), abs=0.02)
        above.append(found.lower > 0)
    assert 0 < sum(above) < 12


@pytest.mark.slow
def test_extreme_probabilities_that_are_right_are_no_difference():
    """Where the curve of a spline is nearly 0, its own slope understates its error."""
    above = []
    for seed in range(60):
        p = np.random.default_rng(seed).beta(1, 4, 300)
        y = (np.random.default_rng(seed + 60).random(300) < p).astype(int)
        frame = pd.DataFrame({"y": y, "p": np.clip(p, 1e-4, 1 - 1e-4)})
        res = scv.from_predictions(frame, observed="y", predicted="p", metrics=NAMES)
        above.append([res.estimate(f"emax{end}").lower > 0 for end in ("", "_spline")])
    # 1.5 intervals in 60 lie above 0 if their one-sided level is 2.5%
    assert (np.sum(above, axis=0) <= 6).all()


@pytest.mark.parametrize("seed", range(4))
def test_errors_among_extreme_records_hide_no_difference_elsewhere(seed):
    """Risks are too low by 0.1, but for four records where the curve is uncertain."""
    rng = np.random.default_rng(seed)
    p = np.append(rng.uniform(0.1, 0.3, 2000), [0.7, 0.8, 0.9, 0.95])
    y = (rng.random(2004) < p + 0.1 * (p < 0.5)).astype(int)
    frame = pd.DataFrame({"y": y, "p": p})
    res = scv.from_predictions(frame, observed="y", predicted="p", metrics=NAMES)
    found = res.estimate("emax")
    assert 0.05 < found.lower <= 0.1 < found.upper


@pytest.mark.parametrize("name", NAMES)
def test_the_interval_of_predictions_that_are_far_off_excludes_0(name):
    res = validated(shift=1.5)
    found = res.estimate(name)
    assert found.interval.name == "curve"
    assert 0 < found.lower < found.value < found.upper
    assert float(found) == METRICS[name](res.scores.y, res.scores.predicted)
    wider = res.estimate(name, level=0.99)
    assert wider.lower < found.lower
    assert wider.upper > found.upper


def test_more_records_have_a_shorter_interval():
    widths = [
        found.upper - found.lower
        for found in (validated(n, shift=1.0).estimate("ici") for n in (200, 800, 3200))
    ]
    assert widths[0] > 1.5 * widths[1] > 2 * widths[2]


def test_the_interval_has_no_random_part():
    res = validated()
    table = res.metrics().set_index("metric").loc["ici"]
    found = res.estimate("ici", seed=5)
    assert (table["lower"], table["upper"]) == (found.lower, found.upper)


def test_an_unexpectedly_small_distance_has_an_interval_of_some_width():
    """The predictions are shares of blocks, from which no record can be nearer."""
    p = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 20)
    y = np.concatenate([np.arange(20) < 20 * one for one in (0.1, 0.3, 0.5, 0.7, 0.9)])
    frame = pd.DataFrame({"y": y.astype(int), "p": p + 1e-3})
    res = scv.from_predictions(frame, observed="y", predicted="p", metrics=NAMES)
    found = res.estimate("ici")
    assert found.value < 0.005
    assert found.lower == 0
    assert found.upper > 0.01


def test_predictions_of_clusters_count_once_each():
    """Copies of a record do not add information."""
    once = validated(n=200, shift=1.0)
    frame = pd.DataFrame({"y": once.scores.y, "p": once.scores.predicted})
    frame = frame.loc[frame.index.repeat(3)].reset_index(names="id")
    given = {"observed": "y", "predicted": "p", "metrics": NAMES}
    apart = scv.from_predictions(frame, **given).estimate("ici")
    whole = scv.from_predictions(frame, cluster="id", **given).estimate("ici")
    width = once.estimate("ici").upper - once.estimate("ici").lower
    assert whole.upper - whole.lower == pytest.approx(width, rel=0.1)
    assert apart.upper - apart.lower < 0.7 * width


def test_where_the_curve_is_the_diagonal_the_upper_limit_is_that_of_a_shift():
    same = pd.DataFrame({"y": [0, 1] * 10, "p": [0.5] * 20})
    given = {"observed": "y", "predicted": "p", "metrics": NAMES}
    found = scv.from_predictions(same, **given).estimate("ici")
    assert (found.value, found.lower) == (0, 0)
    assert 0.15 < found.upper < 0.45  # two standard errors of the share are 0.22


def test_what_has_no_interval_says_why():
    request = IntervalRequest(validated(20).scores, METRICS["ici"], "pooled", 0.95)
    request.__dict__["values"] = np.array([np.nan])
    assert curve_interval(request).method == "none"


@pytest.mark.parametrize("scheme", ["stratified_kfold", "rloocv", "bootstrap"])
def test_held_out_predictions_of_thirty_records_have_one(scheme):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.integers(0, 2, 30), "y": np.arange(30) % 2})
    repeats = 20 if scheme == "bootstrap" else None
    with warnings.catch_warnings():  # a held-out outcome moves the fits of few records
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        res = scv.cv(
            "y ~ x", frame, scheme=scheme, repeats=repeats, metrics=NAMES, seed=1
        )
        found = [res.estimate(name, "pooled") for name in NAMES]
        assert any(np.isfinite(one.lower) for one in found) or scheme == "rloocv"
    for one in found:
        assert np.isnan(one.value) or one.lower <= one.value <= one.upper


@pytest.mark.parametrize("name", ["ici", "emax", "emax_spline"])
def test_the_corrected_distance_stays_at_least_0(name):
    data, ridge = scv.load_data("spector"), scv.models.Logit(C=1.0)
    res = scv.cv("GRADE ~ GPA", data, model=ridge, metrics=NAMES, k=4, seed=1)
    found = res.optimism_corrected(name, n_boot=20)
    around = res.estimate(name)
    assert found.lower == pytest.approx(around.lower * found.value / around.value)
    assert found.upper == pytest.approx(around.upper * found.value / around.value)


def test_two_models_differ_in_their_distances():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400)})
    frame["y"] = (rng.random(400) < expit(frame["a"] ** 2 - 1)).astype(int)
    good = scv.cv("y ~ a + I(a**2)", frame, metrics=NAMES, seed=1)
    bad = good.update(model="xgboost")
    found = scv.compare(good, bad, metric="ici")
    row = found.differences.iloc[0]
    assert row["lower"] < row["difference"] < row["upper"]
    assert row["p"] < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "least"),
    [("ici", 0.85), ("emax", 0.87)],  # the least measured, minus three errors
)
@pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (0.6, 0.0), (1.0, 0.5)])
def test_intervals_contain_the_true_distance(slope, shift, name, least):
    held = []
    for seed in range(100):
        res = validated(300, slope, shift, seed=1000 + seed)
        p, found = res.scores.predicted, res.estimate(name)
        far = np.abs(expit(slope * logit(p) + shift) - p)
        true = far.mean() if name == "ici" else far.max()
        held.append(found.lower <= true + 1e-12 <= found.upper + 1e-12)
    assert np.mean(held) > least
