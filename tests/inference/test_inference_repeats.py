"""The Monte Carlo error of random folds, and the number of repeats needed."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv import cv
from statcv.errors import ArgumentError
from statcv.inference import MonteCarlo, monte_carlo
from statcv.metrics import METRICS
from statcv.models import Logit

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning"
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=40), "y": np.arange(40) % 2})
    frame["x"] += 0.5 * frame["y"]
    return frame


@pytest.mark.parametrize("name", ["auroc", "brier", "auprc"])
def test_per_fold_a_repeat_counts_once(data, name):
    result = cv("y ~ x", data, k=5, repeats=6, seed=1)
    table = result.predictions
    peers = {
        "auroc": lambda y, p: METRICS["auroc"](y, p),
        "auprc": lambda y, p: METRICS["auprc"](y, p),
        "brier": lambda y, p: np.mean((y - p) ** 2),
    }
    by_fold = table.groupby(["repeat", "fold"])[["observed", "predicted"]].apply(
        lambda part: peers[name](part["observed"], part["predicted"])
    )
    means = by_fold.groupby("repeat").mean()
    found = monte_carlo(result.scores, METRICS[name], "per_fold")
    assert found.repeats == 6
    assert found.sd == pytest.approx(means.std())
    assert found.se == pytest.approx(means.std() / np.sqrt(6))


def test_pooled_and_paired_are_the_sd_over_repeats(data):
    result = cv("y ~ x", data, model=Logit(1.0), scheme="rloocv", repeats=5, seed=1)
    for how in ("pooled", "paired"):
        found = monte_carlo(result.scores, METRICS["auroc"], how)
        assert found.sd == pytest.approx(result.estimate("auroc", how).sd)
        assert found.se == pytest.approx(found.sd / np.sqrt(5))


def test_the_error_is_that_of_fresh_seeds(data):
    """The standard deviation over seeds agrees with that estimated from one result."""
    means, errors = [], []
    for seed in range(30):
        result = cv("y ~ x", data, k=5, repeats=10, seed=seed)
        means.append(float(result.estimate("auroc", "pooled")))
        errors.append(monte_carlo(result.scores, METRICS["auroc"], "pooled").se)
    ratio = np.std(means, ddof=1) / np.sqrt(np.mean(np.square(errors)))
    assert 0.6 < ratio < 1.5


@pytest.mark.parametrize(
    ("scheme", "how"), [("loocv", "pooled"), ("stratified_kfold", "per_fold")]
)
def test_one_repeat_does_not_estimate_the_monte_carlo_error(data, scheme, how):
    scores = cv("y ~ x", data, scheme=scheme, seed=1).scores
    found = monte_carlo(scores, METRICS["auroc"], how)
    assert np.isnan([found.sd, found.se]).all()
    assert found.repeats == 1
    assert found.needed(0.01) is None


@given(st.floats(1e-4, 10), st.floats(1e-3, 1))
def test_needed_is_the_smallest_sufficient_number(sd, size):
    needed = MonteCarlo(sd, 2).needed(size)
    slack = 1 + 1e-9
    assert MonteCarlo(sd, needed).se <= size * slack
    assert needed == 1 or MonteCarlo(sd, needed - 1).se * slack > size


def test_needed_for_known_numbers():
    assert MonteCarlo(0.1, 3).needed(0.01) == 100
    assert MonteCarlo(0.1, 3).needed(0.0099) == 103
    assert MonteCarlo(0.0, 3).needed(0.01) == 1
    for size in (0, -1, float("nan")):
        with pytest.raises(ArgumentError, match="size must be above 0"):
            MonteCarlo(0.1, 3).needed(size)
