"""What folds of several classes reveal, checked by loops over training sets."""

import warnings

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import DistributionalBiasWarning
from statcv.inference import Scores
from statcv.inference.estimates.no_skill import mean_model_hand_till
from statcv.metrics import auroc_hand_till, default_metrics
from statcv.models import Logit

KEPT_BACK = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning",
    "ignore::statcv.errors.FoldWarning",
)


def noise(counts=(14, 10, 6), seed=1):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(["low", "mid", "top"], counts))
    return pd.DataFrame({"y": y, "x": rng.normal(size=len(y))})


def result(frame=None, **more):
    frame = noise() if frame is None else frame
    return scv.cv("y ~ x", frame, **{"seed": 1, **more})


@KEPT_BACK
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "scheme",
    [
        {"scheme": "kfold", "k": 4, "repeats": 2},
        {"scheme": "stratified_kfold", "k": 8},
        {"scheme": "lpocv", "p": 3},
    ],
)
def test_it_is_the_hand_and_till_area_of_the_training_shares(scheme, weighted):
    frame = noise()
    w = np.random.default_rng(0).uniform(0.5, 2, 30) if weighted else np.ones(30)
    res = result(frame, **scheme, weights=w if weighted else None)
    y = res.design.y
    values = []
    for repeat in range(res.plan.repeats):
        rows, shares = [], []
        for fit in np.flatnonzero(res.plan.fits.repeat_of == repeat):
            train = res.plan.train(fit)
            share = np.bincount(y[train], w[train], 3) / w[train].sum()
            held = np.setdiff1d(np.arange(30), train)
            rows += held.tolist()
            shares += [share] * len(held)
        values.append(auroc_hand_till(y[rows], shares))
    assert res.mean_model_auroc == pytest.approx(np.mean(values), abs=1e-12)


@KEPT_BACK
def test_leave_one_out_reveals_every_class_and_balance_reveals_none():
    assert result(scheme="loocv").mean_model_auroc == 0
    assert result(scheme="leave_pair_out").mean_model_auroc == 0
    for rebalance in ("subsample", "weight", "all"):
        even = result(scheme="loocv", rebalance=rebalance)
        assert even.mean_model_auroc == 0.5


@KEPT_BACK
def test_for_two_classes_it_is_the_auroc_of_the_training_mean():
    frame = noise().query("y != 'top'")
    res = result(frame, scheme="kfold", k=5)
    scores = res.scores
    both = np.column_stack([1 - scores.predicted, scores.predicted])
    two = Scores(
        scores.y,
        scores.split,
        scores.row,
        both,
        scores.repeat,
        scores.n_train,
        scores.baseline,
        scores.left,
    )
    assert mean_model_hand_till(two, res.plan) == pytest.approx(res.mean_model_auroc)


@pytest.mark.parametrize(
    ("scheme", "metrics", "named"),
    [
        ("loocv", None, "Hand–Till"),
        ("loocv", "auroc_hand_till", "Hand–Till"),
        ("loocv", ["brier", "auroc_ovr"], "one-vs-rest"),
        ("leave_pair_out", ["brier", "auroc_ovr"], "one-vs-rest"),
    ],
)
def test_pooling_areas_of_several_classes_raises_a_warning(scheme, metrics, named):
    said = rf"{named} auROC 0\.000 .* class proportions .* reveal .*scheme='rloocv'"
    with pytest.warns(DistributionalBiasWarning, match=said):
        result(scheme=scheme, metrics=metrics)


@pytest.mark.parametrize(
    "more",
    [
        {"scheme": "loocv", "metrics": ["log_loss", "brier"]},
        {"scheme": "rloocv"},
        {"scheme": "leave_pair_out"},  # compares the records of a pair alone
        {"scheme": "kfold", "k": 2},  # each fold has all classes, and its own area
    ],
)
def test_unbiased_estimates_raise_no_warning(more):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result(**more)
    said = [one.category for one in caught]
    assert not any(issubclass(kind, DistributionalBiasWarning) for kind in said)


@pytest.mark.slow
@KEPT_BACK
def test_leave_one_out_understates_the_area_of_noise_and_balance_does_not():
    areas = {"loocv": [], "rloocv": []}
    for seed in range(40):
        frame = noise((12, 12, 12), seed)
        for scheme, values in areas.items():
            draws = {"repeats": 2} if scheme == "rloocv" else {}
            res = result(frame, scheme=scheme, model=Logit(C=1.0), **draws)
            values.append(float(res.estimate("auroc_hand_till", "pooled")))
    error = np.std(areas["rloocv"], ddof=1) / np.sqrt(40)
    assert np.mean(areas["loocv"]) < 0.4
    assert abs(np.mean(areas["rloocv"]) - 0.5) < 3 * error + 0.02


@KEPT_BACK
def test_the_area_is_a_default_metric_and_is_in_the_summary():
    assert "auroc_hand_till" in default_metrics("multiclass")
    res = result(scheme="loocv")
    assert "auroc_hand_till" in res.metric_names
    text = " ".join(str(res.summary(notes=True)).split())
    assert "training shares alone, without any predictor, have pooled Hand–Till" in text
