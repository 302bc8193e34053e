"""The derivatives of every metric by weights, beside repeated records."""

import numpy as np
import pytest
from scipy.special import softmax

from statcv.metrics import METRICS, make_metric
from statcv.metrics.influence import DerivativeOfTable, placements
from statcv.metrics.probabilities.distances import DISTANCES

N = 30
COPIES = 60  # number of times that every record is repeated
CUT = 0.45
OF_CURVES = tuple(DISTANCES)


def kinds_of(metric):
    return [kind for kind in ("binary", "multiclass") if kind in metric.outcomes] or [
        "continuous"
    ]


CASES = [(m, kind) for m in METRICS.values() for kind in kinds_of(m)]
IDS = [f"{metric.name}-{kind}" for metric, kind in CASES]


def data(kind, tied=False):
    """Return outcomes and predictions that are better than chance."""
    rng = np.random.default_rng(3)
    lean = rng.normal(size=(N, 3))
    if kind == "multiclass":
        y = (lean + rng.gumbel(size=(N, 3))).argmax(axis=1)
        p = softmax(np.round(lean, 1) if tied else lean, axis=1)
    elif kind == "binary":
        y = (lean[:, 0] + rng.logistic(size=N) > 0.3).astype(int)
        p = 1 / (1 + np.exp(-lean[:, 0]))
        p = np.round(p, 1).clip(0.1, 0.9) if tied else p
    else:
        y, p = lean[:, 0] + rng.normal(size=N), lean[:, 0]
        y, p = (np.round(y, 1), np.round(p)) if tied else (y, p)
    return y, p


def more_of(metric, kind, n=N):
    """Return the baseline and the threshold that a metric takes."""
    rng = np.random.default_rng(8)
    more = {"baseline": rng.uniform(0.3, 0.5, n)} if metric.uses_baseline else {}
    return more | ({"threshold": CUT} if metric.cuts and kind == "binary" else {})


def derived(metric, y, p, kind):
    return metric.derive(y, p, **more_of(metric, kind))


def with_copies(metric, y, p, kind, copies):
    """Return the metric with each record repeated a number of times."""
    more = more_of(metric, kind)
    if metric.uses_baseline:
        more["baseline"] = np.repeat(more["baseline"], copies)
    return metric(np.repeat(y, copies), np.repeat(p, copies, axis=0), **more)


# ---- by the weight of a record ----


@pytest.mark.parametrize("tied", [False, True], ids=["", "tied"])
@pytest.mark.parametrize(
    ("metric", "kind"),  # not the area whose ties are interpolated, nor neighbourhoods
    [case for case in CASES if case[0].name not in ("auprc_interpolated", *OF_CURVES)],
)
def test_the_derivative_by_a_weight_is_that_by_the_number_of_copies(metric, kind, tied):
    y, p = data(kind, tied)
    found = derived(metric, y, p, kind).weight
    for record in range(0, N, 4):
        ends = []
        for one in (1, -1):
            copies = np.full(N, COPIES)
            copies[record] += one
            ends.append(with_copies(metric, y, p, kind, copies))
        slow = (ends[0] - ends[1]) / 2 * COPIES
        assert found[record] == pytest.approx(slow, rel=2e-3, abs=1e-6)


@pytest.mark.parametrize("tied", [False, True], ids=["", "tied"])
@pytest.mark.parametrize(("metric", "kind"), CASES, ids=IDS)
def test_a_metric_does_not_change_with_all_weights_together(metric, kind, tied):
    y, p = data(kind, tied)
    weight = derived(metric, y, p, kind).weight
    assert abs(weight.sum()) < 1e-7 * np.abs(weight).max()


def interpolated(y, x, weights):
    """Join the precisions at distinct scores by lines; constant before the first."""
    order = np.argsort(-x)
    hits = (weights * y)[order]
    precision = np.cumsum(hits) / np.cumsum(weights[order])
    first = np.flatnonzero(hits)[0]
    before = np.append(0.0, precision[:-1])
    before[first] = precision[first]
    return (hits * (precision + before) / 2).sum() / hits.sum()


def test_the_interpolated_area_changes_with_the_weights_of_distinct_scores():
    y, p = data("binary")
    metric = METRICS["auprc_interpolated"]
    assert interpolated(y, p, np.ones(N)) == pytest.approx(metric(y, p), rel=1e-12)
    found = metric.derive(y, p).weight
    for record in range(N):
        step = 1e-6 * np.eye(N)[record]
        up, down = (interpolated(y, p, 1 + sign * step) for sign in (1, -1))
        assert found[record] == pytest.approx((up - down) / 2e-6, rel=1e-6, abs=1e-9)


def test_the_mean_over_records_of_a_casewise_metric_moves_by_its_deviation():
    for metric, kind in CASES:
        if metric.casewise is None:
            continue
        y, p = data(kind)
        losses = metric.casewise(y, p, **more_of(metric, kind))
        found = derived(metric, y, p, kind).weight
        np.testing.assert_allclose(found, (losses - losses.mean()) / N, atol=1e-9)


@pytest.mark.parametrize("name", OF_CURVES)
def test_the_distance_of_a_curve_changes_as_without_each_record(name):
    """Neighbourhoods and knots change a little: the two agree only nearly."""
    rng = np.random.default_rng(1)
    p = rng.beta(2, 4, 80)
    y = (rng.random(80) < p**0.6).astype(int)
    metric = METRICS[name]
    every = range(len(y))
    without = [metric(np.delete(y, k), np.delete(p, k)) for k in every]
    moved, found = metric(y, p) - np.array(without), metric.derive(y, p).weight
    is_mean = name.startswith("ici")
    assert np.corrcoef(moved, found)[0, 1] > (0.99 if is_mean else 0.75)
    assert moved.std() == pytest.approx(found.std(), rel=0.05 if is_mean else 0.4)


# ---- placements ----


def test_the_placements_of_a_class_have_the_area_as_their_mean():
    y, p = data("binary", tied=True)
    placed = placements(y == 1, p)
    area = METRICS["auroc"](y, p)
    assert placed.area == pytest.approx(area)
    assert placed.share[y == 1].mean() == pytest.approx(area)
    assert placed.share[y == 0].mean() == pytest.approx(area)
    tied = [one == other for one in p[y == 1] for other in p[y == 0]]
    assert placed.tied == pytest.approx(np.mean(tied))
    assert 0 < placed.tied < 1


# ---- metrics of users ----


def squared(y, p):
    seen = y if p.ndim == 1 else np.eye(p.shape[1])[y]
    return (p - seen) ** 2 if p.ndim == 1 else ((p - seen) ** 2).sum(axis=1)


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
def test_the_mean_of_a_users_losses_has_derivatives(kind):
    y, p = data(kind)
    mine = mean_of(squared, outcomes=("binary", "multiclass", "continuous"))
    own = METRICS["mse" if kind == "continuous" else "brier"].derive(y, p)
    found = mine.derive(y, p)
    np.testing.assert_allclose(found.weight, own.weight, atol=1e-12)


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_a_users_cost_of_classes_has_derivatives(kind):
    mine = mean_of(cost, reads="classes")
    y, p = data(kind)
    found = mine.derive(y, p)
    prices = np.fromfunction(lambda a, b: 5.0 * (a > b) + (a < b), (3, 3))
    size = 2 if kind == "binary" else 3
    table = DerivativeOfTable(
        lambda counts: (counts * prices[:size, :size]).sum() / counts.sum()
    )
    np.testing.assert_allclose(found.weight, table(y, p).weight, atol=1e-9)


def test_a_users_metric_of_the_order_has_no_derivatives():
    assert mean_of(squared, reads="order", outcomes="binary").derive is None
    half = make_metric(lambda y, p: 0.5, name="half", greater_is_better=True)
    assert half.derive is None
    assert mean_of(squared).derive is not None


def test_every_metric_has_derivatives_but_those_of_random_orders():
    for metric in METRICS.values():
        assert metric.derive is not None
        order = metric.of_random_order()
        assert order is None or order.derive is None


# ---- where a metric has no value ----


@pytest.mark.parametrize("outcome", ["same", "both", "one record"])
@pytest.mark.parametrize("predicted", ["equal", "perfect", "wrong"])
@pytest.mark.parametrize(("metric", "kind"), CASES, ids=IDS)
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
    more = more_of(metric, kind, n)
    found = metric.derive(y, p, **more)
    assert found.weight.shape == (n,)
    value = metric(y, p, **more)
    if np.isfinite(value):
        assert np.isfinite(found.weight).all() or predicted == "perfect"
    elif metric.reads in ("classes", "order"):
        assert np.isnan(found.weight).all()


def test_equal_largest_predictions_choose_the_first_class():
    y = np.array([0, 1, 2, 0])
    p = [[0.4, 0.4, 0.2], [0.4, 0.1 + 0.3, 0.2], [0.2, 0.4, 0.4], [0.5, 0.3, 0.2]]
    found = METRICS["accuracy"].derive(y, np.array(p))
    right = np.array([1, 0, 0, 1])
    np.testing.assert_allclose(found.weight, (right - 0.5) / 4, atol=1e-9)


def test_a_prediction_at_the_threshold_is_of_class_1():
    y, p = np.array([0, 1, 1, 0]), np.array([0.1 + 0.2, 0.3, 0.6, 0.2])
    found = METRICS["accuracy"].derive(y, p, threshold=0.3)
    right = np.array([0, 1, 1, 1])
    np.testing.assert_allclose(found.weight, (right - 0.75) / 4, atol=1e-9)


@pytest.mark.parametrize("values", [2, 30, 10**6])
def test_placements_are_shares_of_pairs(values):
    rng = np.random.default_rng(3)
    x, positive = rng.integers(0, values, 150) / 7, rng.uniform(size=150) < 0.4
    found = placements(positive, x)
    above = (x[:, None] > x) + (x[:, None] == x) / 2
    share = np.where(
        positive, above[:, ~positive].mean(axis=1), above.T[:, positive].mean(axis=1)
    )
    np.testing.assert_allclose(found.share, share, rtol=1e-12)
    pairs = above[positive][:, ~positive]
    assert found.area == pytest.approx(pairs.mean())
    assert found.tied == pytest.approx((pairs == 0.5).mean())
