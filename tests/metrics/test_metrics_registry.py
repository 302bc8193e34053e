import dataclasses
import pickle
import pkgutil
import subprocess
import sys

import numpy as np
import pytest

import statcv.metrics as room
from statcv.errors import MetricError
from statcv.metrics import METRICS, default_metrics, get_metric

KINDS = ("binary", "multiclass", "continuous")


def sample(kind):
    rng = np.random.default_rng(0)
    if kind == "binary":
        return np.arange(30) % 2, rng.uniform(size=30)
    if kind == "multiclass":
        return np.arange(30) % 3, rng.dirichlet(np.ones(3), 30)
    return rng.normal(size=30), rng.normal(size=30)


CASES = [(m, kind) for m in METRICS.values() for kind in sorted(m.outcomes)]


LABELS = {
    "auroc": "auROC",
    "auprc": "auPR",
    "auprc_trapezoid": "auPR (trapezoid)",
    "auprc_interpolated": "auPR (interpolated)",
    "brier": "Brier score",
    "brier_skill": "scaled Brier score",
    "oe_ratio": "O:E",
    "ici": "ICI",
    "e50": "E50",
    "e90": "E90",
    "emax": "Emax",
    "ici_spline": "ICI (spline)",
    "e50_spline": "E50 (spline)",
    "e90_spline": "E90 (spline)",
    "emax_spline": "Emax (spline)",
    "discrimination_slope": "discrimination slope",
    "calibration_slope": "calibration slope",
    "calibration_intercept": "calibration intercept",
    "net_benefit": "net benefit",
    "log_loss": "log-loss",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "ber": "balanced error rate",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "precision": "precision",
    "npv": "NPV",
    "f1": "F1",
    "f1_macro": "macro F1",
    "f1_micro": "micro F1",
    "matthews": "Matthews correlation",
    "auroc_ovr": "one-vs-rest auROC",
    "auroc_hand_till": "Hand–Till auROC",
    "rmse": "RMSE",
    "mae": "MAE",
    "mse": "MSE",
    "r2": "R²",
    "r2_training": "R² about training means",
}
MEANS = {"brier", "log_loss", "accuracy", "f1_micro", "mae", "mse", "net_benefit"}


def perfect(y, kind):
    return np.eye(3)[y] if kind == "multiclass" else y.astype(float)


def test_order_and_labels():
    labels = {name: metric.label for name, metric in METRICS.items()}
    assert labels.items() >= LABELS.items()
    assert list(METRICS)[:2] == ["auroc", "auprc"]
    assert all(name == metric.name for name, metric in METRICS.items())
    assert len(set(labels.values())) == len(labels)


@pytest.mark.parametrize(("metric", "kind"), CASES, ids=lambda c: getattr(c, "name", c))
def test_all_metrics_are_called_in_the_same_way(metric, kind):
    y, prediction = sample(kind)
    value = metric(y, prediction)
    assert type(value) is float
    assert np.isfinite(value)
    with_baseline = metric(y, prediction, np.full(y.size, 0.25))
    assert (with_baseline != value) == metric.uses_baseline


@pytest.mark.parametrize(("metric", "kind"), CASES, ids=lambda c: getattr(c, "name", c))
def test_the_mean_of_casewise_values_is_the_metric(metric, kind):
    y, prediction = sample(kind)
    assert (metric.casewise is not None) == (metric.name in MEANS)
    if metric.casewise is not None:
        values = metric.casewise(y, prediction)
        assert values.mean() == pytest.approx(metric(y, prediction), rel=1e-15)


def in_groups(metric, y, predicted, group, groups, baseline):
    """Return the metric of each group by itself, NaN if it has no value there."""
    values = np.full(groups, np.nan)
    for number in np.unique(group):
        own = group == number
        if not metric.rank or len(np.unique(y[own])) > 1:
            values[number] = metric(y[own], predicted[own], baseline[own])
    return values


@pytest.mark.parametrize("groups", [1, 2, 8, 20, 100])
@pytest.mark.parametrize(
    ("metric", "kind"),
    [(m, kind) for m, kind in CASES if m.by_group],
    ids=lambda c: getattr(c, "name", c),
)
def test_all_groups_together_have_the_values_of_each_by_itself(metric, kind, groups):
    rng = np.random.default_rng(groups)
    y, predicted = (np.repeat(one, 5, axis=0) for one in sample(kind))
    y, group = rng.permutation(y), rng.integers(groups, size=150)
    if kind != "multiclass":
        for some in (0.0, 1.0, 0.3, 0.3 + 1e-15, np.nan):
            places = 100 if some == 0.3 else groups  # ties
            predicted[rng.integers(150, size=min(places, 3))] = some
    baseline = rng.uniform(size=150)
    more = {"baseline": baseline} if metric.uses_baseline else {}
    with np.errstate(invalid="ignore", over="ignore"):
        found = metric.by_group(y, predicted, group, groups + 1, **more)  # one is empty
        alone = in_groups(metric, y, predicted, group, groups + 1, baseline)
    np.testing.assert_allclose(found, alone, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda m: m.name)
def test_a_threshold_is_passed_to_metrics_that_read_classes(metric):
    if "binary" not in metric.outcomes:
        return
    y, p = sample("binary")
    each = np.linspace(0.2, 0.8, y.size)
    if metric.reads == "classes":
        assert metric(y, p, threshold=0.5) == metric(y, p)
        assert metric(y, p, threshold=each) == metric(y, (p > each).astype(float))
        assert metric(y, p, threshold=each) == metric.function(y, p, each)
        columns = sample("multiclass")
        if "multiclass" in metric.outcomes:
            with pytest.raises(MetricError, match="means nothing for 3 columns"):
                metric(*columns, threshold=0.3)
    elif metric.takes_threshold:
        assert metric.cuts
        assert metric(y, p, threshold=each) == metric.function(y, p, each)
        assert metric(y, p, threshold=each) != metric(y, p)
    else:
        assert metric(y, p, threshold=each) == metric(y, p)


def test_casewise_accuracy_takes_the_threshold_too():
    y, p = sample("binary")
    each = np.linspace(0.2, 0.8, y.size)
    for name in ("accuracy", "f1_micro"):
        hits = METRICS[name].casewise(y, p, threshold=each)
        assert hits.mean() == METRICS[name](y, p, threshold=each)


def test_decision_scores_have_a_class_by_their_sign_or_by_the_threshold():
    y, scores = np.array([0, 0, 1, 1]), np.array([-1.5, 0.4, 0.6, 2.0])
    metric = METRICS["sensitivity"]
    assert metric(y, metric.readable(scores, probabilities=False)) == 1
    read = metric.readable(scores, probabilities=False, threshold=1.0)
    assert metric(y, read, threshold=1.0) == 0.5
    assert np.isnan(metric(y, metric.readable(scores * np.nan, probabilities=False)))
    brier = METRICS["brier"].readable(scores, probabilities=False, threshold=1.0)
    assert np.isnan(brier).all()


@pytest.mark.parametrize(("metric", "kind"), CASES, ids=lambda c: getattr(c, "name", c))
def test_values_lie_within_the_bounds_and_the_best_is_reached(metric, kind):
    y, prediction = sample(kind)
    low, high = metric.bounds
    for given in (prediction, 1 - prediction, perfect(y, kind), 1 - perfect(y, kind)):
        assert low <= metric(y, given) <= high or np.isnan(metric(y, given))
    if metric.target is not None:  # not defined for probabilities of 0 and 1
        assert low <= metric.target < high
        return
    best = high if metric.greater_is_better else low
    if metric.name == "net_benefit":  # all positive records are treated, and no others
        best = y.mean()
    assert metric(y, perfect(y, kind)) == pytest.approx(best, abs=1e-14)


@pytest.mark.parametrize(("metric", "kind"), CASES, ids=lambda c: getattr(c, "name", c))
@pytest.mark.parametrize("seed", range(5))
def test_a_value_of_perfect_predictions_holds_for_every_outcome(metric, kind, seed):
    y, _ = sample(kind)
    if metric.perfect is not None:
        some = np.random.default_rng(seed).permutation(30)[: 9 + seed]
        value = metric(y[some], perfect(y, kind)[some])
        assert value == pytest.approx(metric.perfect, abs=1e-14)


def test_bounds():
    assert METRICS["matthews"].bounds == (-1, 1)
    assert METRICS["ber"].bounds == (0, 1)
    assert METRICS["r2"].bounds == METRICS["r2_training"].bounds == (-np.inf, 1)
    assert METRICS["log_loss"].bounds == (0, np.inf)
    assert METRICS["f1"].bounds == (0, 1)


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda m: m.name)
def test_the_direction_is_correct(metric):
    kind = sorted(metric.outcomes)[0]
    y, prediction = sample(kind)
    gain = metric(y, perfect(y, kind)) - metric(y, prediction)
    if metric.target is not None:  # better values are nearer to the target
        gain = abs(metric(y, prediction) - metric.target)
        gain -= abs(metric(y, perfect(y, kind)) - metric.target)
        assert np.isnan(gain) or gain > 0
        return
    assert (gain > 0) == metric.greater_is_better


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda m: m.name)
def test_rank_metrics_depend_only_on_the_order(metric):
    y, prediction = sample(sorted(metric.outcomes)[0])
    same = metric(y, prediction**3 / 2) == metric(y, prediction)
    assert same == metric.rank


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda m: m.name)
def test_metrics_are_frozen_and_pickle(metric):
    assert pickle.loads(pickle.dumps(metric)) == metric
    with pytest.raises(dataclasses.FrozenInstanceError):
        metric.label = "other"


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_fit_the_outcome(kind):
    assert all(kind in METRICS[name].outcomes for name in default_metrics(kind))
    assert len(set(default_metrics(kind))) == len(default_metrics(kind))


def test_defaults_begin_with_the_headline():
    assert [default_metrics(kind)[0] for kind in KINDS] == ["auroc", "accuracy", "rmse"]


def test_get_metric_accepts_a_name_or_a_metric():
    assert get_metric("brier") is METRICS["brier"]
    assert get_metric(METRICS["brier"]) is METRICS["brier"]


def test_unknown_names_raise_an_error_that_suggests_the_nearest():
    with pytest.raises(MetricError, match=r"no metric 'aurc'\. Did you mean 'auroc'"):
        get_metric("aurc")
    with pytest.raises(MetricError, match="The metrics are auroc, auprc"):
        get_metric("zzz")
    with pytest.raises(MetricError, match="there is no metric 3"):
        get_metric(3)
    with pytest.raises(MetricError, match="Did you mean 'binary'"):
        default_metrics("binari")


def test_all_lists_every_public_name_and_no_module():
    modules = {module.name for module in pkgutil.iter_modules(room.__path__)}
    public = {name for name in vars(room) if not name.startswith("_")}
    assert public - modules == set(room.__all__)
    assert not modules & set(room.__all__)
    assert all(getattr(room, name).__doc__ for name in room.__all__)


def test_importing_the_metrics_loads_no_heavy_package():
    code = (
        "import sys, statcv.metrics; "
        "heavy = {'sklearn', 'scipy', 'pandas', 'statsmodels', 'matplotlib'}; "
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
