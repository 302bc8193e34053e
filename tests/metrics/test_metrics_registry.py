import dataclasses
import pickle
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


def test_order_and_labels():
    assert {name: metric.label for name, metric in METRICS.items()} == {
        "auroc": "auROC",
        "auprc": "auPR",
        "brier": "Brier score",
        "log_loss": "log-loss",
        "accuracy": "accuracy",
        "balanced_accuracy": "balanced accuracy",
        "rmse": "RMSE",
        "mae": "MAE",
        "mse": "MSE",
        "r2": "R²",
    }
    assert list(METRICS)[:2] == ["auroc", "auprc"]
    assert all(name == metric.name for name, metric in METRICS.items())


@pytest.mark.parametrize(("metric", "kind"), CASES, ids=lambda c: getattr(c, "name", c))
def test_every_metric_is_callable_alike(metric, kind):
    y, prediction = sample(kind)
    value = metric(y, prediction)
    assert type(value) is float
    assert np.isfinite(value)
    with_baseline = metric(y, prediction, np.full(y.size, 0.25))
    assert (with_baseline != value) == metric.uses_baseline


@pytest.mark.parametrize(("metric", "kind"), CASES, ids=lambda c: getattr(c, "name", c))
def test_casewise_values_average_to_the_metric(metric, kind):
    y, prediction = sample(kind)
    if metric.casewise is None:
        assert metric.name in {"auroc", "auprc", "balanced_accuracy", "rmse", "r2"}
    else:
        assert metric.casewise(y, prediction).mean() == metric(y, prediction)


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda m: m.name)
def test_direction_is_what_it_says(metric):
    kind = sorted(metric.outcomes)[0]
    y, prediction = sample(kind)
    gain = metric(y, y.astype(float)) - metric(y, prediction)
    assert (gain > 0) == metric.greater_is_better


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda m: m.name)
def test_rank_metrics_see_the_order_only(metric):
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


def test_a_metric_is_found_by_name_or_is_itself():
    assert get_metric("brier") is METRICS["brier"]
    assert get_metric(METRICS["brier"]) is METRICS["brier"]


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(MetricError, match=r"no metric 'auc'\. Did you mean 'auroc'"):
        get_metric("auc")
    with pytest.raises(MetricError, match="There are: auroc, auprc"):
        get_metric("zzz")
    with pytest.raises(MetricError, match="there is no metric 3"):
        get_metric(3)
    with pytest.raises(MetricError, match="Did you mean 'binary'"):
        default_metrics("binari")


def test_all_is_everything_public_and_no_name_is_a_module():
    modules = {"ranking", "placements", "classwise", "numeric", "registry"}
    public = {name for name in vars(room) if not name.startswith("_")}
    assert public - modules == set(room.__all__)
    assert not modules & set(room.__all__)
    assert all(getattr(room, name).__doc__ for name in room.__all__)


def test_the_room_loads_nothing_heavy():
    code = (
        "import sys, statcv.metrics; "
        "heavy = {'sklearn', 'scipy', 'pandas', 'statsmodels', 'matplotlib'}; "
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
