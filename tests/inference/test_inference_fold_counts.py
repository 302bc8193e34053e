"""Metrics of predictions that are equal within folds, against those of the records."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.inference.estimates import no_skill
from statcv.inference.estimates.fold_counts import AgainstConstant, FoldCounts
from statcv.metrics import METRICS

METRIC_NAMES = ("auroc", "brier", "brier_skill", "log_loss")
FOLDS = [
    np.array([[3, 1, 4, 2], [2, 2, 1, 3]]),
    np.array([[1, 0, 0, 1, 1], [0, 1, 1, 0, 0]]),
    np.array([[5, 4, 3], [0, 1, 0]]),
]


def predictions(splits: int, seed: int) -> Any:
    """Draw probabilities, some of which tie but for rounding."""
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 4, size=splits) / 10
    return np.stack([p + 1e-16, np.full(splits, 0.4), p[::-1], np.full(splits, 0.3)])


def records(counts: Any) -> tuple[Any, Any]:
    """Return outcome and split of each record."""
    splits = np.arange(counts.shape[1])
    y = np.repeat([0, 1], counts.sum(axis=1))
    return y, np.concatenate([np.repeat(splits, one) for one in counts])


@pytest.mark.parametrize("metric", METRIC_NAMES)
@pytest.mark.parametrize("counts", FOLDS)
@pytest.mark.parametrize("seed", range(3))
def test_counts_tell_the_metrics_of_the_records(
    metric: str, counts: Any, seed: int
) -> None:
    p, (y, split) = predictions(counts.shape[1], seed), records(counts)
    folds = AgainstConstant(FoldCounts(p, counts, np.array([0])))
    found = folds.values(METRICS[metric])
    for row, base, value in zip((0, 1), (2, 3), found or (), strict=True):
        assert value == pytest.approx(
            METRICS[metric](y, p[row][split], p[base][split]), rel=1e-13
        )


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_repeats_are_averaged(metric: str) -> None:
    parts = [FoldCounts(predictions(c.shape[1], 1), c, np.array([0])) for c in FOLDS]
    joined = FoldCounts(
        np.concatenate([one.predicted for one in parts], axis=1),
        np.concatenate([one.counts for one in parts], axis=1),
        np.cumsum([0, 4, 5]),
    )
    alone = [AgainstConstant(one).values(METRICS[metric]) for one in parts]
    expected = np.mean(np.array(alone, dtype=float), axis=0)
    assert AgainstConstant(joined).values(METRICS[metric]) == pytest.approx(expected)


def test_a_repeat_of_one_class_has_no_auroc() -> None:
    counts = np.array([[2, 3, 1, 1], [0, 0, 2, 1]])
    folds = AgainstConstant(FoldCounts(predictions(4, 0), counts, np.array([0, 2])))
    last = AgainstConstant(
        FoldCounts(predictions(4, 0)[:, 2:], counts[:, 2:], np.array([0]))
    )
    assert folds.values(METRICS["auroc"]) == last.values(METRICS["auroc"])
    none = FoldCounts(predictions(2, 0), counts[:, :2], np.array([0]))
    both = AgainstConstant(none).values(METRICS["auroc"])
    assert both is not None
    assert np.isnan(both).all()


def test_metrics_that_counts_do_not_tell_are_left_alone() -> None:
    folds = AgainstConstant(FoldCounts(predictions(4, 0), FOLDS[0], np.array([0])))
    assert folds.values(METRICS["accuracy"]) is None


def test_classes_are_ranked_where_they_do_not_tie() -> None:
    p = np.array([[0.2, 0.1, 0.2 + 1e-12, 0.3]])
    pure = FoldCounts(p, np.array([[2, 0, 1, 0], [0, 1, 0, 2]]), np.array([0]))
    ranked = pure.ranked(1e-9)
    assert ranked is not None
    assert ranked.tolist() == [1, 0, 0, 0, 1, 1]
    mixed = FoldCounts(p, np.array([[2, 0, 0, 0], [0, 1, 1, 2]]), np.array([0]))
    assert mixed.ranked(1e-9) is None


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
@pytest.mark.parametrize("positive", [5, 7, 20])
@pytest.mark.parametrize(
    "plan",
    [
        {"scheme": "loocv"},
        {"scheme": "kfold", "k": 8},
        {"scheme": "kfold", "k": 5, "repeats": 3},
        {"scheme": "stratified_kfold", "k": 5},
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_those_computed_from_the_records(
    plan: dict[str, Any],
    positive: int,
    weighted: bool,
) -> None:
    rng = np.random.default_rng(positive)
    frame = pd.DataFrame({"a": rng.normal(size=40), "w": rng.uniform(1, 2, size=40)})
    frame["y"] = rng.permutation(np.arange(40) < positive).astype(int)
    call: dict[str, Any] = {**plan, "weights": "w" if weighted else None, "seed": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(no_skill.Rivals, "counted", None)
        slow = scv.cv("y ~ a", frame, model="logit", **call)
        expected, suspect = slow.no_skill, slow.suspect
    fast = scv.cv("y ~ a", frame, model="logit", **call)
    pd.testing.assert_frame_equal(fast.no_skill, expected, rtol=1e-12, atol=1e-12)
    assert fast.suspect == suspect
