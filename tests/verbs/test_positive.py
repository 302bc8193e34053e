"""What does not depend on which of two classes is called positive."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import statcv as scv
from statcv.errors import ConvergenceWarning, SeparationWarning
from statcv.models import Logit

pytestmark = [
    pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning"),
    pytest.mark.filterwarnings("ignore::statcv.errors.SeparationWarning"),
    pytest.mark.filterwarnings("ignore::statcv.errors.ConvergenceWarning"),
]


def nearly_separated(seed, n=40, slope=8):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    y = slope * x[:, 0] + rng.logistic(size=n) > 0
    y[:4] = [True, True, False, False]
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": np.where(y, "yes", "no")})


def both(data, scheme, **call):
    """Return the results of either class on one plan, since drawing knows the class."""
    once = {"repeats": 1} if scheme == "rloocv" else {}
    plan = scv.fold_plan("y", data, scheme=scheme, seed=1, **once)
    call = {"scheme": plan, "seed": 1, **call}
    return [scv.cv("y ~ a + b", data, positive=p, **call) for p in ("no", "yes")]


def areas(result, *hows):
    return [float(result.estimate("auroc", how)) for how in hows]


def agree(one, other, *hows):
    assert areas(one, *hows) == pytest.approx(areas(other, *hows), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["loocv", "rloocv", "stratified_kfold", "rkfold"])
def test_auroc_near_separation_is_that_of_either_class(scheme):
    tied = 0
    for seed in range(25):  # four schemes: 100 draws
        one, other = both(nearly_separated(seed), scheme=scheme)
        agree(one, other, "pooled", None)
        p = one.predictions["predicted"]
        tied += int(((p > 0) & (p < 1e-13)).sum())
    assert tied  # probabilities that the other class would have as 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "scheme"),
    [
        (LogisticRegression(C=1e6), "loocv"),
        (GaussianNB(), "loocv"),
        (RandomForestClassifier(10), "kfold"),
        (Logit(C=1.0), "tournament_leave_pair_out"),
        (Logit(firth=True), "leave_pair_out"),
        ("mean", "kfold"),
        ("negmean", "kfold"),
    ],
)
def test_other_models_and_pairs_have_it_too(model, scheme):
    for seed in range(2):
        data = nearly_separated(seed, n=16, slope=20)
        agree(*both(data, model=model, scheme=scheme), "pooled", None)


@pytest.mark.slow
def test_intervals_refits_and_permutations_rank_as_the_estimate_does():
    data = nearly_separated(3, n=16)
    results = both(data, scheme="loocv")
    for interval in ("delong", "influence", "bootstrap", "jackknife"):
        one, other = (r.estimate("auroc", interval=interval) for r in results)
        assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper))
    one, other = (r.null_distribution("auroc", times=9) for r in results)
    assert np.asarray(one) == pytest.approx(np.asarray(other), abs=1e-12)


def test_the_fit_without_predictors_still_ties_under_rloocv():
    y = np.arange(30) % 3 == 0
    data = pd.DataFrame({"y": np.where(y, "yes", "no")})
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeparationWarning)
        warnings.simplefilter("error", ConvergenceWarning)
        for positive in ("no", "yes"):
            call = {"repeats": 2, "seed": 1, "positive": positive}
            result = scv.cv("y ~ 1", data, scheme="rloocv", **call)
            assert areas(result, "pooled", "paired") == [0.5, 0.5]
