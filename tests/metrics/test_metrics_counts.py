"""Metrics of expected counts, against other software and their definitions."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import poisson
from sklearn.metrics import mean_poisson_deviance

import statcv as scv
from statcv.errors import MetricError
from statcv.inference import random_effects
from statcv.metrics.counts import COUNT_METRICS

REFERENCE = Path(__file__).parent.parent / "reference"
RNG = np.random.default_rng(3)
MEAN = RNG.gamma(2.0, 1.5, 60)
Y = RNG.poisson(MEAN**0.8 * 1.2).astype(float)


def test_they_equal_other_software():
    known = {
        "poisson_deviance": mean_poisson_deviance(Y, MEAN),
        "log_score": -poisson.logpmf(Y, MEAN).mean(),
        "rps": np.mean(
            [
                ((poisson.cdf(np.arange(200), m) - (np.arange(200) >= y)) ** 2).sum()
                for y, m in zip(Y, MEAN, strict=True)
            ]
        ),
        "slope_counts": sm.GLM(
            Y, sm.add_constant(np.log(MEAN)), family=sm.families.Poisson()
        )
        .fit(tol=1e-14)
        .params[1],
        "oe_counts": Y.sum() / MEAN.sum(),
    }
    for name, value in known.items():
        assert COUNT_METRICS[name](Y, MEAN) == pytest.approx(value, rel=1e-9), name


def test_calibration_by_group_is_that_of_r():
    cases = pd.read_csv(REFERENCE / "counts_cases.csv")
    cases["mean"] = cases["days"] * np.exp(-4 + 0.4 * cases["x"])
    names = ["slope_counts", "oe_counts"]
    res = scv.from_predictions(
        cases, observed="y", predicted="mean", metrics=names, seed=1
    )
    known = pd.read_csv(REFERENCE / "rates_r.csv", index_col="group")
    slope, ratio = (res.estimate(name).value for name in names)
    whole = known.loc["all"]
    np.testing.assert_allclose([slope, ratio], whole[["slope", "oe"]], rtol=1e-9)
    assert np.log(ratio) == pytest.approx(whole["intercept"], rel=1e-9)
    table = res.metrics(by=cases["g"]).set_index(["metric", "g"])["estimate"]
    for group, row in known.drop(index="all").iterrows():
        assert table["slope_counts", group] == pytest.approx(row["slope"], rel=1e-9)
        assert np.log(table["oe_counts", group]) == pytest.approx(row["intercept"])
    found = res.heterogeneity("oe_counts", by=cases["g"])
    rows = res.metrics(by=cases["g"]).query("metric == 'oe_counts'")
    values, ses = (rows[name].to_numpy() for name in ("estimate", "se"))
    mean = random_effects(np.log(values), ses / values)
    assert found.estimate == pytest.approx(np.exp(mean.estimate))
    assert found.prediction_lower == pytest.approx(np.exp(mean.prediction_lower))


@pytest.mark.parametrize("name", COUNT_METRICS)
def test_derivatives_are_those_of_the_weighted_metric(name):
    metric, step = COUNT_METRICS[name], 1e-5
    found = metric.derive(Y, MEAN).weight
    weights = np.ones((2, len(Y)))
    assert metric.weighted(Y, MEAN[None], weights[:1])[0] == pytest.approx(
        metric(Y, MEAN), rel=1e-9
    )
    for record in (0, 17, int(Y.argmax())):
        weights[:] = 1.0
        weights[:, record] += [step, -step]
        up, down = metric.weighted(Y, MEAN[None], weights)
        assert found[record] == pytest.approx((up - down) / (2 * step), rel=1e-5)


@pytest.mark.parametrize("name", COUNT_METRICS)
def test_what_has_no_value_is_missing(name):
    metric = COUNT_METRICS[name]
    assert np.isnan(metric([1.0, 2.0], [1.0, np.nan]))
    assert np.isnan(metric([1.0, 2.0], [1.0, -1.0]))
    assert np.isnan(metric([], []))
    with pytest.raises(MetricError, match="negative, such as -1"):
        metric([-1.0, 2.0], [1.0, 1.0])
    with pytest.raises(MetricError):
        metric([1.0, 2.0], [1.0])


def test_perfect_counts_have_a_deviance_of_0_also_at_0():
    assert COUNT_METRICS["poisson_deviance"]([0, 3], [0, 3]) == 0
    assert COUNT_METRICS["poisson_deviance"]([1, 3], [0, 3]) == np.inf
    assert np.isnan(COUNT_METRICS["slope_counts"]([1, 3], [2, 2]))
