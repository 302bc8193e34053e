"""Standard errors of many records, beside those of exact influences."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.inference.estimates.influences import (
    _as_held_out,
    _through_fits,
    influences_on,
)
from statcv.inference.estimates.pool import Pool
from statcv.metrics import METRICS

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.FoldWarning",
    "ignore::statcv.errors.DistributionalBiasWarning",
    "ignore::statcv.errors.UndefinedMetricWarning",
)

BRIER = METRICS["brier"]


@pytest.fixture
def many(monkeypatch):
    """Take some thousand records as many."""
    monkeypatch.setattr("statcv.engine.block.MANY", 4000)
    monkeypatch.setattr("statcv.engine.partition.SAMPLE", 4000)


def large(n=8000):
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=(2, n))
    y = (a - b + rng.logistic(size=n) > 1).astype(int)
    return pd.DataFrame({"a": a, "b": b, "y": y})


BINARY = [name for name, one in METRICS.items() if "binary" in one.outcomes]


@pytest.mark.parametrize("unseen", [1e-5, 1e-3])
def test_standard_errors_of_many_records_are_those_of_exact_influences(
    many, monkeypatch, unseen
):
    monkeypatch.setattr("statcv.inference.estimates.influences.UNSEEN", unseen)
    res = scv.cv("y ~ a + b", large(), k=5, seed=1, metrics=BINARY)
    asked = [(m, res.scores.headline(m)) for m in res.chosen_metrics if m.derive]
    exact = influences_on(res.scores, asked)
    near = influences_on(res.scores, asked, nearly=True)
    sampled = 0
    for one, other in zip(exact, near, strict=True):
        assert one.sampled is None
        sampled += other.sampled is not None
        assert other.total == pytest.approx(one.total, rel=2 * unseen)
        assert other.value == one.value
    assert sampled >= (3 if unseen == 1e-5 else len(asked) - 2)


def test_without_any_error_only_what_adds_no_variance_is_not_exact(many, monkeypatch):
    monkeypatch.setattr("statcv.inference.estimates.influences.UNSEEN", 0.0)
    res = scv.cv("y ~ a + b", large(), k=5, seed=1)
    asked = [(m, res.scores.headline(m)) for m in res.chosen_metrics]
    exact = influences_on(res.scores, asked)
    near = influences_on(res.scores, asked, nearly=True)
    for one, other in zip(exact, near, strict=True):
        assert other.sampled is None or other.total == other.given_fits
        assert other.total == pytest.approx(one.total, rel=1e-12)


def test_the_variance_with_the_fits_is_corrected_by_the_sample(many):
    """It is nearer than that of the influences that are not exact."""
    res = scv.cv("y ~ a + b", large(), k=5, seed=1)
    asked = [(METRICS["brier"], "pooled")]
    (exact,) = influences_on(res.scores, asked)
    pool = Pool(res.scores, res.scores.sensitivity)
    held = _as_held_out(pool, *asked[0])
    (near,) = _through_fits(pool, [held], [False], nearly=True)
    plain = near.units.variance(near.held + near.fits) - near.given_fits
    assert abs(plain - exact.excess) > 5 * abs(near.excess - exact.excess) > 0


def test_the_number_of_threads_changes_no_digit_after_the_fits(many, monkeypatch):
    monkeypatch.setattr("statcv.threads.WORTH", 1.0)
    monkeypatch.setattr("statcv.engine.partition.PIECE", 500)
    monkeypatch.setattr("statcv.metrics.influence.kernels._MANY", 1000)

    def table(threads):
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        return scv.cv("y ~ a + b", large(), k=5, seed=1, metrics=BINARY).metrics()

    one, *others = (table(threads) for threads in (1, 2, 5))
    for other in others:
        pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_the_number_of_threads_changes_no_digit_of_many_columns(monkeypatch):
    monkeypatch.setattr("statcv.threads.WORTH", 1.0)
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


def test_clusters_have_exact_influences(many):
    data = large().assign(who=lambda d: np.arange(len(d)) // 2)
    res = scv.cv("y ~ a", data, stratify="who", k=5, seed=1)
    assert res.scores.clusters is not None
    (found,) = influences_on(res.scores, [(BRIER, "pooled")], nearly=True)
    assert found.sampled is None


@pytest.mark.slow
def test_a_table_has_the_intervals_of_its_metrics():
    """Variances that are computed together are those of each by itself."""
    data = large(60)
    for scheme in ({"k": 4}, {"scheme": "rloocv"}, {"k": 4, "repeats": 3}):
        res = scv.cv("y ~ a + b", data.iloc[:60], seed=1, metrics=BINARY, **scheme)
        table = res.metrics().set_index("metric")
        for name in BINARY:
            fresh = scv.cv(
                "y ~ a + b", data.iloc[:60], seed=1, metrics=[name], **scheme
            )
            found = fresh.estimate(name)
            assert table.loc[name, "lower"] == pytest.approx(found.lower, nan_ok=True)
            assert table.loc[name, "upper"] == pytest.approx(found.upper, nan_ok=True)
            assert table.loc[name, "interval"] == found.interval_in_words
