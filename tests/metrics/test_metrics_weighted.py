"""Metrics of weighted records, beside plain metrics of repeated records."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from statcv.metrics import METRICS, make_metric
from statcv.metrics.influence import weighted
from statcv.metrics.probabilities.distances import DISTANCES

N, SETS = 40, 3
CUT = 0.4
BY_STEPS = {  # other areas under the curve than the one that the weighted metric is
    "auprc_trapezoid": METRICS["auprc"],
    "auprc_interpolated": METRICS["auprc"],
}


def kinds_of(metric):
    return [kind for kind in ("binary", "multiclass") if kind in metric.outcomes] or [
        "continuous"
    ]


OF_CURVES = tuple(DISTANCES)  # whose intervals simulate the curve
WEIGHTED = [m for m in METRICS.values() if m.name not in OF_CURVES]
CASES = [(m, kind) for m in WEIGHTED for kind in kinds_of(m)]
IDS = [f"{metric.name}-{kind}" for metric, kind in CASES]
each_metric = pytest.mark.parametrize(("metric", "kind"), CASES, ids=IDS)
with_ties = pytest.mark.parametrize("tied", [False, True], ids=["", "tied"])


def data(kind, tied=False, n=N, seed=3):
    """Return outcomes, and sets of predictions that are better than chance."""
    rng = np.random.default_rng(seed)
    lean = rng.normal(size=(n, 3))
    many = lean + 0.5 * rng.normal(size=(SETS, n, 3))
    if kind == "multiclass":
        y = (lean + rng.gumbel(size=(n, 3))).argmax(axis=1)
        return y, softmax(np.round(many, 1) if tied else many, axis=2)
    if kind == "binary":
        y = (lean[:, 0] + rng.logistic(size=n) > 0.3).astype(int)
        p = expit(many[..., 0])
        return y, np.round(p, 1).clip(0.1, 0.9) if tied else p
    y, x = lean[:, 0] + rng.normal(size=n), many[..., 0]
    return (np.round(y, 1), np.round(x)) if tied else (y, x)


def more_of(metric, kind, n=N):
    """Return the baseline and the threshold that a metric takes."""
    rng = np.random.default_rng(8)
    more = {"baseline": rng.uniform(0.3, 0.5, n)} if metric.uses_baseline else {}
    return more | ({"threshold": CUT} if metric.cuts and kind == "binary" else {})


def plain(metric, y, x, kind, copies=None):
    """Return the metric of records that are repeated, for each set."""
    n = len(y)
    copies = np.ones((len(x), n), dtype=int) if copies is None else copies
    more = more_of(metric, kind, n)
    base = more.get("baseline", np.zeros(n))
    metric, found = BY_STEPS.get(metric.name, metric), []
    for own, times in zip(x, copies, strict=True):
        if metric.uses_baseline:
            more["baseline"] = base.repeat(times)
        found.append(metric(y.repeat(times), own.repeat(times, axis=0), **more))
    return np.array(found)


# ---- values ----


@with_ties
@each_metric
def test_with_equal_weights_it_is_the_plain_metric(metric, kind, tied):
    y, x = data(kind, tied)
    for size in (1.0, 0.3):
        weights = np.full((SETS, N), size)
        found = metric.weighted(y, x, weights, **more_of(metric, kind))
        assert found.shape == (SETS,)
        np.testing.assert_allclose(found, plain(metric, y, x, kind), rtol=1e-6)


@with_ties
@each_metric
def test_whole_weights_are_numbers_of_copies(metric, kind, tied):
    y, x = data(kind, tied)
    copies = np.random.default_rng(5).integers(0, 4, (SETS, N))
    found = metric.weighted(y, x, copies.astype(float), **more_of(metric, kind))
    expected = plain(metric, y, x, kind, copies)
    assert np.ptp(expected) > 0
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@each_metric
def test_sets_have_nothing_to_do_with_each_other(metric, kind):
    y, x = data(kind)
    weights = np.random.default_rng(5).exponential(size=(SETS, N))
    together = metric.weighted(y, x, weights, **more_of(metric, kind))
    for found, own, given in zip(together, x, weights, strict=True):
        alone = metric.weighted(y, own[None], given[None], **more_of(metric, kind))
        np.testing.assert_allclose(alone, [found], rtol=1e-9)


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_the_threshold_is_one_half_or_the_largest_probability_by_default(kind):
    y, x = data(kind, tied=True)
    for name in ("accuracy", "balanced_accuracy", "matthews", "net_benefit"):
        metric = METRICS[name]
        if kind not in metric.outcomes:
            continue
        found = metric.weighted(y, x, np.ones((SETS, N)))
        np.testing.assert_allclose(found, [metric(y, own) for own in x], rtol=1e-12)


def test_each_record_may_have_a_threshold():
    y, x = data("binary")
    cut = np.random.default_rng(2).uniform(0.2, 0.6, N)
    for metric, kind in CASES:
        if metric.cuts and kind == "binary":
            found = metric.weighted(y, x, np.ones((SETS, N)), threshold=cut)
            expected = [metric(y, own, threshold=cut) for own in x]
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["auroc", "auprc", "concordance"])
def test_predictions_that_differ_by_rounding_tie(name):
    y = np.array([0, 1, 1, 0, 1])
    x = np.array([0.1 + 0.2, 0.3, 0.6, 0.2, 0.2])
    found = METRICS[name].weighted(y, x[None], np.ones((1, 5)))
    np.testing.assert_allclose(found, [METRICS[name](y, np.round(x, 1))], rtol=1e-12)


# ---- many records ----


@pytest.mark.parametrize("name", ["auroc", "auprc"])
def test_many_records_are_counted_in_bins(name, monkeypatch):
    n = weighted.MAX_EXACT + 1
    y, x = data("binary", n=n)
    metric, weights = METRICS[name], np.random.default_rng(5).exponential(size=x.shape)
    near = metric.weighted(y, x, weights)
    alike = metric.weighted(y, x, np.ones(x.shape))
    monkeypatch.setattr(weighted, "MAX_EXACT", n)
    exact = metric.weighted(y, x, weights)
    assert (near != exact).any()
    np.testing.assert_allclose(near, exact, atol=1e-3)
    np.testing.assert_allclose(alike, [metric(y, own) for own in x], atol=1e-3)


def test_many_equal_predictions_tie():
    y, x = data("binary", tied=True, n=weighted.MAX_EXACT + 1)
    for name in ("auroc", "auprc"):
        found = METRICS[name].weighted(y, x, np.ones(x.shape))
        expected = [METRICS[name](y, own) for own in x]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    same = METRICS["auroc"].weighted(y, np.full(x.shape, 0.3), np.ones(x.shape))
    np.testing.assert_allclose(same, 0.5)


def test_the_concordance_of_many_pairs_is_that_of_the_same_sample():
    n = 2000
    assert n * (n - 1) // 2 > weighted.MAX_PAIRS
    y, x = data("continuous", n=n)
    metric, weights = METRICS["concordance"], np.ones(x.shape)
    found = metric.weighted(y, x, weights)
    np.testing.assert_array_equal(found, metric.weighted(y, x, weights))
    sd = np.sqrt(0.25 / weighted.MAX_PAIRS)
    assert np.abs(found - [metric(y, own) for own in x]).max() < 4 * sd


# ---- derivatives ----


@with_ties
@pytest.mark.parametrize(
    ("metric", "kind"), [case for case in CASES if case[0].name not in BY_STEPS]
)
def test_it_has_the_derivatives_by_weights_of_the_metric(metric, kind, tied):
    """At weights of 1, by differences."""
    y, x = data(kind, tied)
    more, step = more_of(metric, kind), 1e-4
    found = metric.derive(y, x[0], **more).weight
    ends = [
        metric.weighted(y, np.repeat(x[:1], N, axis=0), 1 + h * np.eye(N), **more)
        for h in (step, -step)
    ]
    slow = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(found, slow, rtol=1e-4, atol=1e-4 * np.abs(slow).max())


# ---- metrics of users ----


def squared(y, p):
    return (p - y) ** 2 if p.ndim == 1 else ((p - np.eye(3)[y]) ** 2).sum(axis=1)


def cost(y, chosen):
    return np.where(y > chosen, 5.0, np.where(y < chosen, 1.0, 0.0))


def mean_of(casewise, **more):
    return make_metric(
        lambda y, p: float(casewise(y, p).mean()),
        casewise=casewise,
        greater_is_better=False,
        name="mean of mine",
        **more,
    )


@pytest.mark.parametrize("kind", ["binary", "multiclass", "continuous"])
def test_the_mean_of_a_users_losses_is_weighted(kind):
    y, x = data(kind)
    weights = np.random.default_rng(5).exponential(size=(SETS, N))
    mine = mean_of(squared, outcomes=("binary", "multiclass", "continuous"))
    own = METRICS["mse" if kind == "continuous" else "brier"]
    expected = own.weighted(y, x, weights)
    np.testing.assert_allclose(mine.weighted(y, x, weights), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_a_users_cost_of_classes_is_weighted(kind):
    y, x = data(kind)
    mine = mean_of(cost, reads="classes")
    copies = np.random.default_rng(5).integers(0, 4, (SETS, N))
    thresholds = [{}]
    if kind == "binary":
        by_record = np.random.default_rng(2).uniform(0.2, 0.6, N)
        thresholds = [{}, {"threshold": CUT}, {"threshold": by_record}]
    for more in thresholds:
        found = mine.weighted(y, x, copies.astype(float), **more)
        cuts = np.broadcast_to(more.get("threshold", 0.5), N)
        for value, own, times in zip(found, x, copies, strict=True):
            cut = {"threshold": cuts.repeat(times)} if more else {}
            expected = mine(y.repeat(times), own.repeat(times, axis=0), **cut)
            assert value == pytest.approx(expected, rel=1e-12)


def test_every_metric_is_weighted_but_those_of_the_order_that_are_no_means():
    for metric in METRICS.values():
        assert (metric.weighted is None) == (metric.name in OF_CURVES)
        order = metric.of_random_order()
        assert order is None or order.weighted is None
    assert mean_of(squared, reads="order", outcomes="binary").weighted is None
    half = make_metric(lambda y, p: 0.5, name="half", greater_is_better=True)
    assert half.weighted is None


# ---- where a metric has no value ----


@pytest.mark.parametrize("outcome", ["same", "both", "one record"])
@pytest.mark.parametrize("predicted", ["equal", "perfect", "wrong"])
@each_metric
def test_degenerate_predictions_give_no_warning(metric, kind, predicted, outcome):
    n, size = (1 if outcome == "one record" else 12), 3 if kind == "multiclass" else 2
    y = np.zeros(n, dtype=int) if outcome == "same" else np.arange(n) % size
    seen = np.eye(size)[y]
    p = {"equal": np.full((n, size), 1 / size), "perfect": seen}.get(
        predicted, np.roll(seen, 1, axis=1)
    )
    p = p if kind == "multiclass" else p[:, 1]
    if kind == "continuous":
        y = y.astype(float)
    (value,) = plain(metric, y, p[None], kind)
    found = metric.weighted(y, p[None], np.ones((1, n)), **more_of(metric, kind, n))
    assert found.shape == (1,)
    if metric.name == "log_loss" and predicted == "wrong":
        assert found[0] > 30
    elif np.isfinite(value):
        assert found[0] == pytest.approx(value, abs=1e-6)
    elif metric.reads in ("classes", "order"):
        assert np.isnan(found[0])


def test_weights_of_0_leave_a_record_out():
    """Also where then a class has no records."""
    y, x = data("binary")
    weights = np.ones((SETS, N))
    weights[1, 5:], weights[2, y == 1] = 0.0, 0.0
    for name in ("auroc", "discrimination_slope"):
        found = METRICS[name].weighted(y, x, weights)
        assert found[1] == pytest.approx(METRICS[name](y[:5], x[1, :5]))
        assert np.isnan(found).tolist() == [False, False, True]


@pytest.mark.parametrize("slope", [0.1, 0.2, 0.3, 0.5, 3.0, 12.0, 30.0])
def test_calibration_is_found_far_from_its_start(slope):
    rng = np.random.default_rng(4)
    eta = rng.normal(size=400)
    y = (eta + 1 + rng.logistic(size=400) > 0).astype(int)
    p = expit(eta / slope - 3)
    copies = rng.integers(0, 4, 400)
    for name in ("calibration_slope", "calibration_intercept"):
        found = METRICS[name].weighted(y, p[None], copies[None].astype(float))
        expected = METRICS[name](y.repeat(copies), p.repeat(copies))
        assert found[0] == pytest.approx(expected, rel=1e-6)


def test_predictions_that_differ_from_the_threshold_by_rounding_equal_it():
    y, p = np.array([0, 1, 1, 0]), np.array([0.1 + 0.2, 0.7 - 0.4, 0.6, 0.2])
    for name in ("accuracy", "net_benefit"):
        found = METRICS[name].weighted(y, p[None], np.ones((1, 4)), threshold=0.3)
        assert found[0] == pytest.approx(METRICS[name](y, p, threshold=0.3))


def test_largest_predictions_that_differ_by_rounding_choose_the_first_class():
    y, p = (
        np.array([0, 0, 1]),
        np.array([[0.3, 0.1 + 0.2, 0.2]] * 2 + [[0.2, 0.3, 0.1]]),
    )
    found = METRICS["accuracy"].weighted(y, p[None], np.ones((1, 3)))
    assert found[0] == METRICS["accuracy"](y, p)


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_the_surprise_of_the_impossible_is_that_of_the_plain_metric(kind):
    y, p = np.array([0, 1]), np.array([1.0, 0.0])
    p = p if kind == "binary" else np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    found = METRICS["log_loss"].weighted(y, p[None], np.ones((1, 2)))
    assert found[0] == pytest.approx(METRICS["log_loss"](y, p))
