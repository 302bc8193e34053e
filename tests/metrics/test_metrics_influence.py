"""The derivatives of every metric, beside copies of records and finite differences."""

import numpy as np
import pytest
from scipy.special import logit, softmax

from statcv.metrics import METRICS, make_metric
from statcv.metrics.influence.derivative import WIDTH, bandwidth
from statcv.metrics.influence.kernels import kernel, kernel_sums
from statcv.metrics.influence.ranks import OfPrecision, placements
from statcv.metrics.influence.tables import OfCasewise, OfTable

N = 30
COPIES = 60  # of every record
CUT = 0.45
SMOOTH = {
    *("brier", "log_loss", "brier_skill", "calibration_slope", "oe_ratio"),
    "discrimination_slope",
    *("calibration_intercept", "rmse", "mae", "mse", "r2", "r2_training"),
}
TABLES = [m for m in METRICS.values() if m.reads == "classes"]


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


def linked(metric, p):
    """Return predictions on the scale on which a metric with steps is smoothed."""
    if metric.reads not in ("order", "classes") or "continuous" in metric.outcomes:
        return p
    if p.ndim == 2 and metric.reads == "classes":
        return np.log(p)
    return logit(p)


def more_of(metric, kind, n=N):
    """Return baseline and threshold, for the metric and for its derivative."""
    rng = np.random.default_rng(8)
    base = rng.uniform(0.3, 0.5, n) if metric.uses_baseline else None
    cut = CUT if metric.cuts and kind == "binary" else None
    on_scale = logit(CUT) if cut and metric.reads == "classes" else cut
    return {"baseline": base, "threshold": cut}, {"threshold": on_scale}


def derived(metric, y, p, kind):
    more, cut = more_of(metric, kind)
    return metric.derive(y, linked(metric, p), more["baseline"], **cut)


def with_copies(metric, y, p, kind, copies):
    """Return the metric with each record in a number of copies."""
    more, _ = more_of(metric, kind)
    if more["baseline"] is not None:
        more["baseline"] = np.repeat(more["baseline"], copies)
    return metric(np.repeat(y, copies), np.repeat(p, copies, axis=0), **more)


# ---- by the weight of a record ----


@pytest.mark.parametrize("tied", [False, True], ids=["", "tied"])
@pytest.mark.parametrize(
    ("metric", "kind"),  # but the area whose ties are interpolated
    [case for case in CASES if case[0].name != "auprc_interpolated"],
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
    found = metric.derive(y, logit(p)).weight
    for record in range(N):
        step = 1e-6 * np.eye(N)[record]
        up, down = (interpolated(y, p, 1 + sign * step) for sign in (1, -1))
        assert found[record] == pytest.approx((up - down) / 2e-6, rel=1e-6, abs=1e-9)


def test_the_mean_over_records_of_a_casewise_metric_moves_by_its_deviation():
    for metric, kind in CASES:
        if metric.casewise is None:
            continue
        y, p = data(kind)
        more, _ = more_of(metric, kind)
        cut = {} if more["threshold"] is None else {"threshold": CUT}
        losses = metric.casewise(y, p, **cut)
        found = derived(metric, y, p, kind).weight
        np.testing.assert_allclose(found, (losses - losses.mean()) / N, atol=1e-9)


# ---- by a prediction ----


@pytest.mark.parametrize(
    ("metric", "kind"), [case for case in CASES if case[0].name in SMOOTH]
)
def test_the_derivative_of_a_smooth_metric_is_a_difference(metric, kind):
    y, p = data(kind)
    more, _ = more_of(metric, kind)
    found = derived(metric, y, p, kind).prediction
    assert found.shape == p.shape
    for cell in list(np.ndindex(p.shape))[::3]:
        ends = []
        for step in (1e-6, -1e-6):
            moved = p.copy()
            moved[cell] += step
            ends.append(metric(y, moved, **more))
        slow = (ends[0] - ends[1]) / 2e-6
        assert found[cell] == pytest.approx(slow, rel=1e-4, abs=1e-7)


def risen(distance, width):
    """Return the integral of the parabolic kernel."""
    u = np.clip(distance / width, -1, 1)
    return 0.5 + 0.75 * (u - u**3 / 3)


def smooth_auroc(positive, x, width):
    ones, zeros = x[positive], x[~positive]
    return risen(ones[:, None] - zeros, width).mean()


def difference(function, x):
    made = np.empty_like(x)
    for cell in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[cell] += 1e-5
        down[cell] -= 1e-5
        made[cell] = (function(up) - function(down)) / 2e-5
    return made


def test_rank_metrics_are_smoothed_by_a_parabolic_kernel():
    y, p = data("binary")
    x, width = logit(p), bandwidth(logit(p))
    assert width == pytest.approx(WIDTH * x.std() * N**-0.25)
    slow = difference(lambda moved: smooth_auroc(y == 1, moved, width), x)
    found = METRICS["auroc"].derive(y, x).prediction
    np.testing.assert_allclose(found, slow, atol=1e-8)

    y, x = data("continuous")
    width = bandwidth(x)
    higher = y[:, None] > y

    def share(moved):
        return risen(moved[:, None] - moved, width)[higher].mean()

    found = METRICS["concordance"].derive(y, x).prediction
    np.testing.assert_allclose(found, difference(share, x), atol=1e-8)


def test_areas_of_several_classes_are_means_of_smoothed_areas():
    y, p = data("multiclass")
    x = logit(p)

    def ovr(moved):
        return np.mean(
            [smooth_auroc(y == k, moved[:, k], bandwidth(x[:, k])) for k in range(3)]
        )

    def hand_till(moved):
        areas = []
        for a, b in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]:
            own = np.isin(y, [a, b])
            width = bandwidth(x[own, a])
            areas.append(smooth_auroc(y[own] == a, moved[own, a], width))
        return np.mean(areas)

    for name, slow in (("auroc_ovr", ovr), ("auroc_hand_till", hand_till)):
        found = METRICS[name].derive(y, x).prediction
        np.testing.assert_allclose(found, difference(slow, x), atol=1e-8)


@pytest.mark.parametrize("method", ["average_precision", "trapezoid", "interpolated"])
def test_precisions_are_smoothed_about_their_ranks(method):
    """Who is ranked as high is smoothed; precisions and numbers of records are not."""
    y, p = data("binary")
    x, width = logit(p), bandwidth(logit(p))
    as_high = x >= x[:, None]
    count = as_high.sum(axis=1)
    precision = as_high @ y / count

    def area(moved):
        joined = risen(moved - moved[:, None], width)
        changed = (joined * (y - precision[:, None])).sum(axis=1) / count
        return (y * changed).sum() / y.sum()

    found = OfPrecision(method)(y, x).prediction
    np.testing.assert_allclose(found, difference(area, x), atol=1e-7)


def rates(metric, y, p, kind):
    """Return the change of a metric with one more record in each cell of its table."""
    more, _ = more_of(metric, kind)
    cut = {"threshold": CUT} if more["threshold"] else {}
    many, size = 4000, 2 if p.ndim == 1 else p.shape[1]
    outcome, chosen = np.repeat(y, many), np.repeat(p, many, axis=0)
    before = metric(outcome, chosen, **cut)
    made = np.empty((size, size))
    for seen, said in np.ndindex(size, size):
        row = float(said) if p.ndim == 1 else np.eye(size)[said]
        after = metric(
            np.append(outcome, seen), np.append(chosen, [row], axis=0), **cut
        )
        made[seen, said] = (after - before) * many
    return made


@pytest.mark.parametrize(("metric", "kind"), [c for c in CASES if c[0] in TABLES])
def test_a_class_changes_with_the_density_at_the_threshold(metric, kind):
    y, p = data(kind)
    change, x = rates(metric, y, p, kind), linked(metric, p)
    slow = np.zeros_like(x)
    if kind == "binary":
        gain = change[y, 1] - change[y, 0]
        slow = gain * kernel(x - logit(CUT), bandwidth(x))
    else:
        for i, row in enumerate(x):
            second, first = np.argsort(row)[1:]
            margins = np.sort(x, axis=1)[:, 2] - np.sort(x, axis=1)[:, 1]
            width = WIDTH * np.sqrt((margins**2).mean()) * (2 * N) ** -0.25
            gain = change[y[i], first] - change[y[i], second]
            slow[i, first] = gain * kernel(row[first] - row[second], width)
            slow[i, second] = -slow[i, first]
    found = derived(metric, y, p, kind).prediction
    np.testing.assert_allclose(found, slow, rtol=2e-3, atol=1e-6)


def test_net_benefit_is_smoothed_on_the_scale_of_the_logit():
    y, p = data("binary")
    width = bandwidth(logit(p))

    def smooth(moved):
        treated = risen(logit(moved) - logit(CUT), width)
        return (treated * np.where(y == 1, 1, -CUT / (1 - CUT))).mean()

    found = METRICS["net_benefit"].derive(y, p, threshold=CUT).prediction
    np.testing.assert_allclose(found, difference(smooth, p), atol=1e-6)


# ---- kernels and placements ----


def test_a_kernel_integrates_to_one_and_sums_are_sums():
    grid = np.linspace(-3, 3, 6001)
    assert kernel(grid, 2.0).sum() * 0.001 == pytest.approx(1, abs=1e-6)
    rng = np.random.default_rng(1)
    at, points, values = rng.normal(100, 1, (3, 40))
    slow = (kernel(at[:, None] - points, 0.7) * values).sum(axis=1)
    np.testing.assert_allclose(kernel_sums(at, points, values, 0.7), slow, rtol=1e-9)


SHAPES = {
    "normal": lambda rng, n: rng.normal(5, 1, n),
    "heavy tails": lambda rng, n: rng.standard_t(2, n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "ties": lambda rng, n: rng.normal(size=n).round(2),
    "two groups": lambda rng, n: rng.normal(size=n) + 30 * (rng.uniform(size=n) < 0.5),
    "one far away": lambda rng, n: np.append(rng.normal(size=n - 1), 1e6),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("same", [False, True])
def test_sums_of_many_points_are_near_those_of_each_point(shape, same, monkeypatch):
    """They are within a share of 1e-5 of the exact ones, place by place."""
    rng = np.random.default_rng(2)
    n = 70_000
    at, points = (SHAPES[shape](rng, n) for _ in range(2))
    points = at if same else points
    positive = (rng.uniform(size=n) < 0.3).astype(float)
    count = np.empty(n)
    count[np.argsort(points)] = np.arange(n, 0, -1)
    values = np.stack([np.ones(n), positive, positive / count])
    width = bandwidth(points)
    found = kernel_sums(at, points, values, width)
    monkeypatch.setattr("statcv.metrics.influence.kernels._MANY", n + 1)
    exact = kernel_sums(at, points, values, width)
    size = exact.mean(axis=1, keepdims=True)
    assert (np.abs(found - exact) <= 2e-5 * exact + 1e-9 * size).all()
    off = np.sqrt(((found - exact) ** 2).mean(axis=1, keepdims=True))
    assert (off <= 3e-6 * size).all()
    some = rng.integers(0, n, 20)
    weights = kernel(at[some, None] - points, width)
    np.testing.assert_allclose(exact[:, some], values @ weights.T, rtol=1e-7)


def test_equal_predictions_have_no_width():
    for value in (0.0, 0.1, 1e-300, 1e9):
        x = np.full(7, value)
        assert bandwidth(x) == 0
        assert (kernel(x - 1, bandwidth(x)) == 0).all()
        assert (kernel_sums(x, x, x, bandwidth(x)) == 0).all()
    assert bandwidth(np.empty(0)) == 0


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
    away = np.minimum(p, 1 - p) > 0.3 if kind != "continuous" else np.ones(N, bool)
    assert away.any()
    np.testing.assert_allclose(found.prediction[away], own.prediction[away], atol=1e-9)


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_a_users_cost_of_classes_has_derivatives(kind):
    mine = mean_of(cost, reads="classes")
    y, p = data(kind)
    x = linked(mine, p)
    found = mine.derive(y, x)
    prices = np.fromfunction(lambda a, b: 5.0 * (a > b) + (a < b), (3, 3))
    size = 2 if kind == "binary" else 3
    table = OfTable(lambda counts: (counts * prices[:size, :size]).sum() / counts.sum())
    own = table(y, x)
    np.testing.assert_allclose(found.weight, own.weight, atol=1e-9)
    np.testing.assert_allclose(found.prediction, own.prediction, atol=1e-9)


def test_a_users_metric_of_the_order_has_no_derivatives():
    assert mean_of(squared, reads="order", outcomes="binary").derive is None
    assert make_metric(
        lambda y, p: 0.5, name="half", greater_is_better=True
    ).derive is (None)
    assert isinstance(mean_of(squared).derive, OfCasewise)


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
    x = linked(metric, p if kind == "continuous" else np.clip(p, 1e-15, 1 - 1e-15))
    given = x if metric.reads in ("order", "classes") else p
    more, cut = more_of(metric, kind, n)
    found = metric.derive(y, given, more["baseline"], **cut)
    assert found.weight.shape == (n,)
    assert found.prediction.shape == p.shape
    value = metric(y, p, **more)
    if np.isfinite(value):
        assert np.isfinite(found.weight).all() or predicted == "perfect"
    elif metric.reads in ("classes", "order"):
        assert np.isnan(found.weight).all()


def test_equal_largest_predictions_choose_the_first_class():
    y = np.array([0, 1, 2, 0])
    x = np.log([[0.4, 0.4, 0.2], [0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [0.5, 0.3, 0.2]])
    found = METRICS["accuracy"].derive(y, x)
    right = np.array([1, 0, 0, 1])
    np.testing.assert_allclose(found.weight, (right - 0.5) / 4, atol=1e-9)
    assert (found.prediction[1, :2] * [-1, 1] > 0).all()
    assert np.isfinite(found.prediction).all()


def test_a_prediction_at_the_threshold_is_of_class_0():
    y, x = np.array([0, 1, 1, 0]), logit([0.1 + 0.2, 0.3, 0.6, 0.2])
    found = METRICS["accuracy"].derive(y, x, threshold=logit(0.3))
    right = np.array([1, 0, 1, 1])
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
