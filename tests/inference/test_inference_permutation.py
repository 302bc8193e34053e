"""Metrics under permuted outcomes, compared with repeated cross-validation."""

import warnings
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

import statcv as scv
from statcv.errors import StatcvError
from statcv.inference.estimates.values import beside_itself, values_by_repeat
from statcv.inference.tests.permutation import (
    distinct_permutations,
    made_for_outcome,
    permuted_places,
)
from statcv.metrics import METRICS

TIMES = 4
RARE = (1, 4, 7, 10)


def frame(seed=1, n=30):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    data["y"] = (data["a"] + rng.logistic(size=n) > 0.3).astype(int)
    data["z"] = data["a"] + rng.normal(size=n)
    data["kind"] = np.where(data["b"] > 0.7, "big", np.where(data["a"] > 0, "up", "lo"))
    data["who"] = rng.integers(0, n // 2, n).astype(str)
    data["w"] = rng.uniform(0.5, 2, n)
    return data.set_index(pd.Index([f"r{i}" for i in range(n)]))


def done_anew(result, data, outcome, metric, how, **same):
    """Permute the outcomes in the data, and cross-validate again."""
    plan, values = result.plan, []
    clusters = None if plan.strata is None else plan.strata.codes
    for number in range(TIMES):
        places = permuted_places(plan.n, clusters, result.seed, number)
        permuted = data.copy()
        if made_for_outcome(plan):
            others = [c for c in data.columns if c != outcome]
            permuted[others] = data[others].iloc[places].to_numpy()
        else:
            permuted[outcome] = data[outcome].iloc[np.argsort(places)].to_numpy()
        permuted = permuted.astype(data.dtypes)
        again = scv.cv(
            result.call.formula,
            permuted,
            model=result.learner,
            scheme=plan,
            seed=result.seed,
            **same,
        )
        values.append(float(again.estimate(metric, how)))
    return values


CASES = {
    "loocv": ("y ~ a + b", {"scheme": "loocv"}, "auroc", "pooled"),
    "log loss": ("y ~ a + b", {"scheme": "loocv"}, "log_loss", "pooled"),
    "rloocv": ("y ~ a + b", {"scheme": "rloocv", "repeats": 2}, "auroc", "paired"),
    "rloocv, pooled": ("y ~ a", {"scheme": "rloocv", "repeats": 2}, "auprc", "pooled"),
    "several fits": ("y ~ a", {"scheme": "loocv", "rebalance": "all"}, "auroc", None),
    "weights": (
        "y ~ a",
        {"scheme": "rkfold", "k": 3, "rebalance": "weight"},
        "auroc",
        None,
    ),
    "repeats": (
        "y ~ a",
        {"scheme": "stratified_kfold", "k": 3, "repeats": 2},
        "auroc",
        None,
    ),
    "splits pooled by record": (
        "y ~ a",
        {"scheme": "montecarlo", "repeats": 6},
        "calibration_slope",
        "pooled",
    ),
    "out of bag": ("y ~ a", {"scheme": "bootstrap", "repeats": 8}, "auprc", "pooled"),
    "random folds": ("y ~ a", {"scheme": "kfold", "k": 4}, "brier", "per_fold"),
    "numbers": ("z ~ a", {"scheme": "kfold", "k": 4}, "r2", "pooled"),
    "a scikit-learn splitter": ("y ~ a", {"scheme": StratifiedKFold(3)}, "auroc", None),
    "learnt terms": ("y ~ center(a)", {"scheme": "rkfold", "k": 3}, "auroc", None),
    "classes": ("kind ~ a", {"scheme": "stratified_kfold", "k": 3}, "log_loss", None),
    "clusters": (
        "y ~ a",
        {"scheme": "kfold", "k": 3, "stratify": "who"},
        "auroc",
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_values_are_those_of_permuted_data(name):
    formula, arguments, metric, how = CASES[name]
    data, ridge = frame(), scv.models.Logit(C=1.0)
    model = scv.models.Linear() if formula.startswith("z") else ridge
    result = scv.cv(formula, data, model=model, seed=3, **arguments)
    values = result.null_distribution(metric, how, TIMES)
    expected = done_anew(result, data, formula.split()[0], metric, how)
    np.testing.assert_allclose(values, expected, atol=1e-9)
    assert values.name == metric
    assert values.index.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("scheme", ["loocv", "rloocv"])
@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_weights_stay_with_the_predictors(scheme):
    data = frame()
    call = {"scheme": scheme, "weights": "w", "seed": 3}
    call |= {"repeats": 1} if scheme == "rloocv" else {}
    result = scv.cv("y ~ a", data, **call)
    values = result.null_distribution("auroc", "pooled", TIMES)
    expected = done_anew(result, data, "y", "auroc", "pooled", weights="w")
    np.testing.assert_allclose(values, expected, atol=1e-9)


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_models_of_other_libraries_are_refitted_too():
    data = frame()
    estimator = LogisticRegression(tol=1e-10, solver="newton-cholesky")
    once = {"scheme": "rloocv", "repeats": 1, "seed": 2}
    result = scv.cv("y ~ a", data, model=estimator, **once)
    together = result.update(model=scv.models.Logit(C=1.0))
    np.testing.assert_allclose(
        result.null_distribution("log_loss", times=3),
        together.null_distribution("log_loss", times=3),
        atol=1e-7,
    )


@given(
    codes=st.lists(st.integers(0, 6), min_size=2, max_size=30),
    seed=st.integers(0, 2**32),
)
def test_whole_clusters_are_permuted(codes, seed):
    clusters = np.unique(codes, return_inverse=True)[1]
    places = permuted_places(len(clusters), clusters, seed, 0)
    assert sorted(places) == list(range(len(clusters)))
    for code in range(clusters.max() + 1):
        taken = clusters[places[clusters == code]]
        assert len(set(taken)) == 1
        assert (clusters == taken[0]).sum() == len(taken)


@given(
    codes=st.lists(st.integers(0, 3), min_size=2, max_size=7),
    outcomes=st.lists(st.integers(0, 1), min_size=7, max_size=7),
)
def test_the_number_of_distinct_permutations_agrees_with_enumeration(codes, outcomes):
    clusters = np.unique(codes, return_inverse=True)[1]
    y = np.array(outcomes[: len(clusters)])
    groups = [y[clusters == code] for code in range(clusters.max() + 1)]
    distinct = {
        tuple(map(tuple, order))
        for order in permutations(groups)
        if [len(one) for one in order] == [len(one) for one in groups]
    }
    assert distinct_permutations(clusters, y) == len(distinct)


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_more_permutations_begin_with_the_same_ones_for_a_seed():
    result = scv.cv("y ~ a", frame(), scheme="loocv", seed=5)
    few = result.null_distribution(times=5)
    more = result.null_distribution(times=9)
    assert more.iloc[:5].tolist() == few.tolist()
    assert result.null_distribution(times=5, seed=5).tolist() == few.tolist()
    assert result.null_distribution(times=5, seed=6).tolist() != few.tolist()


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_leave_one_out_is_biased_and_its_rebalanced_pairs_are_not():
    data = frame(seed=8, n=40)
    ridge = scv.models.Logit(C=0.1)
    plain = scv.cv("y ~ a + b", data, model=ridge, scheme="loocv", seed=1)
    even = plain.update(scheme="rloocv", repeats=1)
    assert plain.null_distribution("auroc", times=300).mean() < 0.4
    null = even.null_distribution("auroc", times=300)
    assert abs(null.mean() - 0.5) < 4 * null.std() / np.sqrt(300)


def test_training_sets_without_a_class_count_as_missing_values():
    data = frame()
    data["y"] = (np.arange(30) < 3).astype(int)
    folds = np.arange(30) % 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scv.errors.StatcvWarning)
        result = scv.cv("y ~ a", data, model="mean", scheme=folds, seed=1)
        values = result.null_distribution("brier", times=200)
    shared = [
        len(set(folds[np.flatnonzero(np.argsort(permuted_places(30, None, 1, b)) < 3)]))
        == 1
        for b in range(200)
    ]
    assert values.isna().tolist() == shared
    assert any(shared)
    with pytest.warns(scv.errors.UndefinedMetricWarning, match="of 200 permutations"):
        result.null_distribution("brier", times=200)


@pytest.mark.slow
def test_outcomes_that_cannot_be_fitted_count_as_missing_values():
    """Tuning needs two records of each class, and numbers must not all be equal."""
    data = frame().assign(rare=np.isin(np.arange(30), RARE) * 1)
    data["few"] = data["rare"] * np.arange(30.0)
    folds = np.arange(30) % 2
    tuned = {"model": scv.models.Logit(), "tune": {"C": [0.1, 1.0]}}
    estimator = {"model": LogisticRegression(), "tune": {"C": [0.1, 1.0]}}
    calls = [("rare", tuned), ("rare", estimator), ("few", {"model": "linear"})]
    for outcome, call in calls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scv.errors.StatcvWarning)
            result = scv.cv(f"{outcome} ~ a", data, scheme=folds, seed=1, **call)
            values = result.null_distribution(
                "mse" if outcome == "few" else "brier", times=40
            )
        few = []
        for number in range(40):
            own = np.flatnonzero(
                np.isin(np.argsort(permuted_places(30, None, 1, number)), RARE)
            )
            least = min(np.sum(folds[own] == 0), np.sum(folds[own] == 1))
            few.append(least < (1 if outcome == "few" else 2))
        assert values.isna().tolist() == few
        assert any(few)


def test_the_reason_why_an_outcome_could_not_be_fitted_is_reported():
    data = frame().assign(rare=np.isin(np.arange(30), RARE) * 1)
    result = scv.cv(
        "rare ~ a",
        data,
        scheme=np.arange(30) % 2,
        model=LogisticRegression(),
        tune=scv.Tuning({"C": [0.1, 1.0]}, k=2),
        seed=1,
    )
    with pytest.warns(scv.errors.UndefinedMetricWarning, match="of 20 perm.*in fold"):
        result.null_distribution("brier", times=20)


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_clusters_that_cannot_be_permuted_raise_an_error():
    data = frame().iloc[:28].assign(who=np.repeat(np.arange(7), np.arange(1, 8)))
    call = {"scheme": "kfold", "k": 3, "seed": 1}
    result = scv.cv("y ~ a", data, stratify=scv.by_value("who"), **call)
    with pytest.raises(StatcvError, match="no two of the 7 clusters of who"):
        result.null_distribution(times=3)


@pytest.mark.parametrize("times", [0, True, 2.5, "10"])
def test_times_is_an_integer(times):
    result = scv.cv("z ~ a", frame(), seed=1)
    with pytest.raises(StatcvError, match="times must be"):
        result.null_distribution(times=times)


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_bins_made_for_the_outcome_raise_an_error():
    result = scv.cv(
        "y ~ b", frame(), scheme="rkfold", k=3, stratify=scv.by_quantile("a"), seed=1
    )
    with pytest.raises(StatcvError, match="bins of a"):
        result.null_distribution(times=3)


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_estimates_that_need_the_fit_on_all_rows_raise_an_error():
    result = scv.cv("y ~ a", frame(), scheme="bootstrap", repeats=5, seed=1)
    with pytest.raises(StatcvError, match="use how='per_fold'"):
        result.null_distribution(how=".632+", times=3)
    assert len(result.null_distribution(times=3)) == 3


@pytest.mark.parametrize("folds", [{"k": 3, "repeats": 2}, {"scheme": "loocv"}])
@pytest.mark.parametrize("formula", ["y ~ a + b", "z ~ a", "kind ~ a"])
@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_copies_of_the_predictions_have_the_values_of_the_predictions(formula, folds):
    """Many permutations are scored at once, as repeats with records of their own."""
    cut = {"threshold": "youden"} if formula.startswith("y") else {}
    scores = scv.cv(formula, frame(), seed=3, **folds, **cut).scores
    several = beside_itself(scores, 3)
    kind = {"y": "binary", "z": "continuous", "k": "multiclass"}[formula[0]]
    for metric in METRICS.values():
        if kind not in metric.outcomes:
            continue
        for how in ("pooled", "per_fold", *["paired"] * bool(metric.pairs)):
            once = values_by_repeat(scores, metric, how)
            found = values_by_repeat(several, metric, how)
            np.testing.assert_allclose(found, np.tile(once, 3), rtol=1e-12)
