"""The jackknife with refits, minus half of its excess, checked by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

import statcv as scv
from statcv.inference.refits.jackknife import Jackknife, jackknife_values


def data(n=24, ones=9, shift=0.8, seed=3):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], [n - ones, ones]))
    x = rng.normal(size=(n, 2)) + shift * y[:, None]
    return pd.DataFrame({"y": y, "a": x[:, 0], "b": x[:, 1]})


def result(**more):
    draws = {} if "scheme" in more else {"repeats": 1}
    given = {"scheme": "rloocv", "seed": 1, **draws, **more}
    return scv.cv("y ~ a + b", data(), model=scv.models.Logit(C=1.0), **given)


@pytest.mark.parametrize(
    ("arguments", "how", "other", "name"),
    [
        ({}, "paired", "paired", "pairs"),
        ({"repeats": 3}, "pooled", "pooled", "delong"),
        ({"scheme": "leave_pair_out"}, "paired", "paired", "pairs"),
        ({"scheme": "stratified_kfold", "k": 4}, "per_fold", "pooled", "delong"),
    ],
)
def test_limits_are_those_of_the_mean_of_both_variances(arguments, how, other, name):
    res = result(**arguments)
    found = res.estimate("auroc", how, 0.9, interval="corrected_jackknife")
    whole = res.estimate("auroc", how, interval="jackknife").se
    given = res.estimate("auroc", other, interval=name).se
    se = math.sqrt(max((whole**2 + given**2) / 2, given**2))
    assert found.se == pytest.approx(se)
    jack = jackknife_values(res.refits.setup, scv.metrics.METRICS["auroc"], how)
    parts = []
    for group in (0, 1):
        values = jack.values[jack.group == group]
        parts.append((len(values) - 1) ** 2 / len(values) * values.var(ddof=1))
    counts = np.bincount(jack.group)
    df = sum(parts) ** 2 / sum(
        p**2 / (c - 1) for p, c in zip(parts, counts, strict=True)
    )
    half = stats.t.ppf(0.95, df) * se / (found.value * (1 - found.value))
    assert found.interval.df == pytest.approx(df)
    assert found.lower == pytest.approx(expit(logit(found.value) - half))
    assert found.upper == pytest.approx(expit(logit(found.value) + half))


def test_fits_are_made_once_for_all_jackknives():
    res = result()
    first = res.estimate("auroc", interval="jackknife")
    kept = dict(res.refits.jackknives)
    again = res.estimate("auroc", interval="corrected_jackknife")
    assert res.refits.jackknives == kept
    assert len(kept) == 1
    assert again.se < first.se


def test_a_metric_that_is_not_a_share_of_pairs_has_no_such_interval():
    found = result().estimate("brier", interval="corrected_jackknife")
    assert math.isnan(found.se)
    assert "for auROC" in found.assumes


def test_degrees_of_freedom_are_few_where_a_class_is_small():
    values, group = np.array([0.2, 0.8, 0.5, 0.5, 0.5, 0.5]), np.repeat([1, 0], [2, 4])
    few = Jackknife(values, group, "record", 6)
    assert few.df == pytest.approx(1)
    alike = Jackknife(np.tile([0.0, 1.0], 10), np.repeat([0, 1], 10), "record", 20)
    assert alike.df == pytest.approx(18)


def usual(n=24, **more):
    given = {"k": 4, "seed": 1, "model": scv.models.Logit(C=1.0), **more}
    res = scv.cv("y ~ a + b", data(n, n // 3), **given)
    return res, res.estimate("auroc")


TUNE = {"C": [0.1, 1.0]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"threshold": "youden"},
        {"tune": TUNE},
        {"n": 1200},
        {"scheme": "montecarlo", "k": None, "repeats": 5},
        {"model": LogisticRegression()},
        {"model": LogisticRegression(), "threshold": "youden"},
        {"model": LogisticRegression(), "tune": TUNE},
    ],
)
@pytest.mark.filterwarnings("ignore::statcv.errors.CostWarning")  # a busy machine
def test_no_interval_refits_anything_unless_it_is_asked_for(more):
    res, found = usual(**more)
    assert found.interval.name == "infinitesimal_jackknife"
    assert found.method == "infinitesimal jackknife"
    assert not res.refits.jackknives
    assert ("takes the tuning parameters as given" in found.assumes) == ("tune" in more)
    if "n" not in more:
        res.estimate("auroc", interval="jackknife")
        assert res.refits.jackknives


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_separated_fits_are_not_refitted_by_default():
    df = data(60, 20).assign(c=lambda d: d["y"] + 0.1 * d["a"])
    apart = scv.cv("y ~ a + c", df, scheme="loocv", seed=1)
    assert apart.held.separated.all()
    apart.estimate("auroc")
    assert not apart.refits.jackknives


def test_thresholds_are_not_refitted_for_rank_metrics():
    plain, chosen = usual()[1], usual(threshold="youden")[1]
    assert (plain.lower, plain.upper) == (chosen.lower, chosen.upper)


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_the_default_interval_needs_no_class_that_survives_two_deletions():
    df = data(20, 2, 1.5)
    res = scv.cv("y ~ a", df, model=scv.models.Logit(C=1.0), scheme="loocv", seed=1)
    found = res.estimate("auroc")
    asked = res.estimate("auroc", interval="corrected_jackknife")
    assert math.isnan(asked.se)
    assert "no record of class 1" in asked.assumes
    assert 0 < found.lower < found.value < found.upper < 1
    assert found.interval.df == 2
