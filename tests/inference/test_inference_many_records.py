"""Intervals of many records: in pieces, in bins and in threads."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.inference.estimates.influences import influences_on
from statcv.metrics import METRICS

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.FoldWarning",
    "ignore::statcv.errors.DistributionalBiasWarning",
    "ignore::statcv.errors.UndefinedMetricWarning",
)


def large(n):
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=(2, n))
    y = (a - b + rng.logistic(size=n) > 1).astype(int)
    return pd.DataFrame({"a": a, "b": b, "y": y})


BINARY = [
    name
    for name, one in METRICS.items()
    if "binary" in one.outcomes and one.weighted is not None
]


def influences_of(n):
    """Return the influences on every metric of a cross-validation."""
    res = scv.cv("y ~ a + b", large(n), k=5, seed=1, metrics=BINARY)
    asked = [(m, res.scores.headline(m)) for m in res.chosen_metrics]
    return influences_on(res.scores, asked)


def test_draws_some_at_a_time_are_those_at_once(monkeypatch):
    at_once = influences_of(500)
    monkeypatch.setattr("statcv.inference.estimates.draws.CELLS", 3500)
    for one, other in zip(at_once, influences_of(500), strict=True):
        assert np.ptp(one.draws.error) > 0
        for name in ("error", "held"):
            found, expected = (getattr(of.draws, name) for of in (other, one))
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_variances_of_predictions_in_bins_are_those_of_sorted_ones(monkeypatch):
    exact = influences_of(1500)
    monkeypatch.setattr("statcv.metrics.influence.weighted.MAX_EXACT", 1000)
    for name, one, other in zip(BINARY, exact, influences_of(1500), strict=True):
        if METRICS[name].rank:
            assert (one.draws.error != other.draws.error).any()
        total = one.given_fits + one.draws.excess
        assert other.given_fits + other.draws.excess == pytest.approx(total, rel=1e-2)


def test_the_number_of_threads_changes_no_digit_after_the_fits(monkeypatch):
    monkeypatch.setattr("statcv.numeric.threads.WORTH", 1.0)

    def table(threads):
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        return scv.cv("y ~ a + b", large(2000), k=5, seed=1, metrics=BINARY).metrics()

    one, *others = (table(threads) for threads in (1, 2, 5))
    for other in others:
        pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_the_number_of_threads_changes_no_digit_of_many_columns(monkeypatch):
    monkeypatch.setattr("statcv.numeric.threads.WORTH", 1.0)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(110, 90))
    y = np.digitize(X[:, 0] + rng.logistic(size=110), [-0.8, 0.8])
    several = pd.DataFrame(X).add_prefix("x").assign(y=pd.Categorical(y))
    for data in (several, several.assign(y=(y > 0).astype(int))):

        def table(threads, data=data):
            monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
            return scv.cv(
                "y ~ .", data, model=scv.models.Logit(C=0.1), k=5, seed=1
            ).metrics()

        one, other = table(1), table(3)
        pd.testing.assert_frame_equal(one, other, check_exact=True)


@pytest.mark.slow
def test_a_table_has_the_intervals_of_its_metrics():
    """Variances that are computed together are those of each by itself."""
    data = large(60)
    for scheme in ({"k": 4}, {"scheme": "rloocv"}, {"k": 4, "repeats": 3}):
        res = scv.cv("y ~ a + b", data, seed=1, metrics=BINARY, **scheme)
        table = res.metrics().set_index("metric")
        for name in BINARY:
            fresh = scv.cv("y ~ a + b", data, seed=1, metrics=[name], **scheme)
            found = fresh.estimate(name)
            assert table.loc[name, "lower"] == pytest.approx(found.lower, nan_ok=True)
            assert table.loc[name, "upper"] == pytest.approx(found.upper, nan_ok=True)
            assert table.loc[name, "interval"] == found.interval_in_words
