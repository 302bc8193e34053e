"""The calibration slope of pairs of a result, checked by loops and statsmodels."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.special import expit, logit
from sklearn.svm import SVC
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

import statcv as scv
from statcv.errors import MetricError
from statcv.inference.estimates import slopes as paired_slopes
from statcv.metrics import slope_of_pairs
from statcv.models import Logit

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning",
    "ignore::statcv.errors.UndefinedMetricWarning",
)
SLOPE = "calibration_slope"


def data(n=40, seed=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    y = (rng.random(n) < expit(x[:, 0] - 0.3)).astype(int)
    who = [f"p{code}" for code in rng.permutation(np.arange(n) // 2)]
    return pd.DataFrame({"y": y, "a": x[:, 0], "b": x[:, 1], "who": who})


def result(frame=None, **more):
    frame = data() if frame is None else frame
    return scv.cv("y ~ a + b", frame, **{"model": Logit(C=1.0), "seed": 1, **more})


def differences(pairs):
    sign = 2 * pairs["observed"].to_numpy(dtype=float) - 1
    p, other = pairs["predicted"].to_numpy(), pairs["predicted_partner"].to_numpy()
    return sign * (logit(p) - logit(other))


def members(pairs):
    """Return the positive and the negative record of each pair."""
    row, partner = pairs["row"].to_numpy(), pairs["partner"].to_numpy()
    positive = pairs["observed"].to_numpy() == 1
    return np.where(positive, row, partner), np.where(positive, partner, row)


@pytest.mark.parametrize(
    "scheme",
    [
        {"scheme": "rloocv", "repeats": 1},
        {"scheme": "rloocv", "repeats": 3},
        {"scheme": "leave_pair_out"},
        {"scheme": "rkfold", "k": 5, "repeats": 2},
    ],
)
def test_it_is_the_slope_of_the_pairs_and_the_mean_over_repeats(scheme):
    res = result(**scheme)
    slopes = [slope_of_pairs(differences(part)) for _, part in _by_repeat(res.pairs)]
    found = res.estimate(SLOPE, "paired")
    assert float(found) == pytest.approx(np.mean(slopes), rel=1e-12)
    if len(slopes) > 1:
        assert found.sd == pytest.approx(np.std(slopes, ddof=1))
    table = res.update(metrics=["auroc", SLOPE]).metrics().set_index("metric")
    assert table.loc[SLOPE, "paired"] == float(found)
    assert table.loc[SLOPE, "how"] == "pooled"


def _by_repeat(pairs):
    return pairs.groupby("repeat")


def test_under_k_folds_pairs_are_of_the_same_fold():
    res = result(scheme="stratified_kfold", k=4)
    listed = []
    for _, fold in res.predictions.groupby("fold"):
        odds, y = logit(fold["predicted"]), fold["observed"]
        for one in odds[y == 1]:
            listed += [one - other for other in odds[y == 0]]
    assert float(res.estimate(SLOPE, "paired")) == pytest.approx(slope_of_pairs(listed))


def test_the_interval_is_two_way_clustered_as_by_statsmodels():
    res = result(scheme="rloocv", repeats=1)
    d, (ones, zeros) = differences(res.pairs), members(res.pairs)
    # sign: the member that is named first
    turn = np.where(np.arange(len(d)) % 2, 1.0, -1.0)
    fitted = sm.Logit(turn > 0, (turn * d)[:, None]).fit(disp=False)
    covariance = cov_cluster_2groups(fitted, ones, zeros, use_correction=False)[0]
    found = res.estimate(SLOPE, "paired", interval="pairs")
    assert found.value == pytest.approx(fitted.params[0], rel=1e-6)
    assert found.se == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-5)
    assert found.upper - found.lower == pytest.approx(2 * 1.959964 * found.se)
    assert "takes the fits as given" in found.assumes
    usual = res.estimate(SLOPE, "paired").interval
    assert repr(found.interval) == repr(usual)  # as nan is not nan


@pytest.mark.parametrize("repeats", [1, 3])
def test_the_variance_sums_pairs_that_share_a_record_or_a_cluster(repeats):
    frame = data()
    for more in ({}, {"stratify": "who"}):
        res = result(frame, scheme="rloocv", repeats=repeats, **more)
        moved, shared = [], []
        for _, part in _by_repeat(res.pairs):
            d = differences(part)
            slope = slope_of_pairs(d)
            left = expit(-slope * d)
            moved += list(d * left / (d**2 * left * (1 - left)).sum() / repeats)
            units = frame["who"] if more else pd.Series(frame.index)
            pairs = zip(*members(part), strict=True)
            shared += [{units[one], units[other]} for one, other in pairs]
        total = sum(
            one * other
            for one, mine in zip(moved, shared, strict=True)
            for other, theirs in zip(moved, shared, strict=True)
            if mine & theirs
        )
        found = res.estimate(SLOPE, "paired", interval="pairs")
        assert found.se == pytest.approx(np.sqrt(total), rel=1e-9)
        kind = "cluster-robust" if more else "clustered by record"
        assert found.method == f"slope of pairs, {kind}"


def test_the_jackknife_refits_without_each_record():
    frame = data(16, seed=4)
    res = result(frame, scheme="leave_pair_out")
    jack = res.jackknife(SLOPE, "paired")
    for row in (0, 7):
        less = result(frame.drop(index=row), scheme="leave_pair_out")
        alone = float(less.estimate(SLOPE, "paired"))
        assert jack.values[row] == pytest.approx(alone, rel=1e-6)
    found = res.estimate(SLOPE, "paired", interval="jackknife")
    assert found.se == pytest.approx(np.sqrt(jack.variance))


@pytest.mark.parametrize(
    ("interval", "message"),
    [
        ("bootstrap", "since its pairs are not resampled; there is 'pairs'"),
        (
            "influence",
            "interval='influence' is not available for calibration slope .paired",
        ),
        ("delong", "interval='delong' is not available for calibration slope .paired"),
    ],
)
def test_other_intervals_raise_an_error(interval, message):
    with pytest.raises(MetricError, match=message):
        result(scheme="rloocv", repeats=1).estimate(SLOPE, "paired", interval=interval)


def test_intervals_of_shares_and_of_auroc_are_unavailable_with_a_reason():
    res = result(scheme="rloocv", repeats=1)
    for interval, reason in (
        ("jackknife_logit", "calibration slope is not a proportion"),
        ("corrected_jackknife", "is for auROC, not for calibration slope"),
    ):
        found = res.estimate(SLOPE, "paired", interval=interval)
        assert found.method == "none"
        assert reason in found.assumes


def none_of(res):
    found = res.estimate(SLOPE, "paired")
    assert np.isnan([found.value, found.lower, found.se]).all()
    return found.assumes


def test_an_undefined_slope_has_a_reason(monkeypatch):
    assert "no fit held out records of both" in none_of(result(scheme="loocv"))
    apart = data().assign(a=lambda d: 40.0 * d["y"] - 20)
    assert "the slope is infinite" in none_of(result(apart, scheme="rloocv", repeats=1))
    alike = result(scheme="rloocv", repeats=1, model="mean")
    assert "equal predictions" in none_of(alike)
    scores = result(scheme="rloocv", repeats=1, model=SVC())
    assert "not probabilities" in none_of(scores)
    monkeypatch.setattr(paired_slopes, "MOST_PAIRS", 3)
    assert "more than 3 pairs" in none_of(result(scheme="rloocv", repeats=1))


def test_each_overlapping_split_has_a_slope():
    res = result(data(80), scheme="montecarlo", repeats=4)
    found = res.estimate(SLOPE, "paired")
    assert found.n_values == 4
    assert "see how='per_fold'" in found.assumes
    with pytest.raises(MetricError, match="there are none without refits"):
        res.estimate(SLOPE, "paired", interval="pairs")


def test_its_test_is_against_calibration():
    res = result(scheme="rloocv", repeats=1)
    found = res.estimate(SLOPE, "paired")
    test = res.test(SLOPE, "paired", null=1.0, method="pairs")
    assert test.statistic == pytest.approx((found.value - 1) / found.se)
    assert test.alternative == "two-sided"


def test_predictions_of_other_software_have_a_slope_of_pairs():
    res = result(scheme="stratified_kfold", k=4)
    table = res.predictions.set_index("row")
    read = scv.from_predictions(table, observed="observed", predicted="predicted")
    folded = scv.from_predictions(
        table, observed="observed", predicted="predicted", fold="fold"
    )
    assert float(folded.estimate(SLOPE, "paired")) == pytest.approx(
        float(res.estimate(SLOPE, "paired"))
    )
    ones = logit(table.loc[table["observed"] == 1, "predicted"].to_numpy())
    zeros = logit(table.loc[table["observed"] == 0, "predicted"].to_numpy())
    every = slope_of_pairs(np.subtract.outer(ones, zeros).ravel())
    assert float(read.estimate(SLOPE, "paired")) == pytest.approx(every)
