"""The scores of a model without predictors under the folds, and their warnings."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, make_scorer, roc_auc_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import statcv as scv
from statcv.errors import DistributionalBiasWarning
from statcv.models import Logit

ODD = SVC(kernel="linear", class_weight="balanced", C=1e-8)


def noise(positive=20, n=40, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    return frame.assign(y=rng.permutation(np.arange(n) < positive).astype(int))


def warned(data, formula="y ~ a + b + c", **call):
    """Return the result, and the warnings of distributional bias."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        res = scv.cv(formula, data, seed=1, **call)
    kinds = [one for one in given if one.category is DistributionalBiasWarning]
    return res, " ".join(str(one.message) for one in kinds)


# ---- faults that were silent ----


def test_balanced_weights_under_leave_one_out_raise_a_warning():
    data = noise()
    X, y = data[["a", "b", "c"]].to_numpy(), data["y"].to_numpy()
    theirs = cross_val_predict(ODD, X, y, cv=LeaveOneOut())
    assert accuracy_score(y, theirs) == 1.0  # on noise, as scikit-learn has it
    res, said = warned(data, model=ODD, scheme="loocv", metrics="accuracy")
    assert float(res.estimate()) == 1.0
    assert "accuracy 1.000 where no skill is 0.500 (0.500 too high)" in said
    assert "rloocv" in said
    _, silent = warned(data, model=ODD, scheme="rloocv", repeats=1, metrics="accuracy")
    assert silent == ""


@pytest.mark.parametrize("positive", [5, 12, 15, 20])
def test_the_sign_is_that_of_the_estimate(positive):
    res, said = warned(noise(positive), model=ODD, scheme="loocv", metrics="auroc")
    area = float(res.estimate())
    if abs(area - 0.5) > 0.3:
        way = "high" if area > 0.5 else "low"
        assert re.search(rf"auROC [01]\.000 where no skill is 0\.500 .*too {way}", said)


def test_a_majority_class_model_of_equal_classes_raises_a_warning():
    call = {"model": DummyClassifier(strategy="most_frequent"), "scheme": "loocv"}
    res, said = warned(noise(), metrics="accuracy", **call)
    assert float(res.estimate()) == 0.0
    assert "accuracy 0.000 where no skill is 0.500 (0.500 too low)" in said
    res, said = warned(noise(positive=12), metrics="accuracy", **call)
    assert float(res.estimate()) == 0.7
    assert said == ""


def test_a_formula_without_predictors_raises_a_warning():
    res, said = warned(noise(), "y ~ 1", scheme="loocv", metrics="auroc")
    assert float(res.estimate()) == 0.0
    assert "auROC 0.000 where no skill is 0.500 (0.500 too low)" in said


def test_the_negative_mean_raises_a_warning_of_upward_bias():
    _, said = warned(noise(), model="negmean", scheme="loocv", metrics="auroc")
    assert "auROC 1.000 where no skill is 0.500 (0.500 too high)" in said


def test_equal_predictors_with_opposite_outcomes_are_named():
    rng = np.random.default_rng(3)
    twins = np.repeat(rng.normal(size=(20, 3)), 2, axis=0)
    data = pd.DataFrame(twins, columns=["a", "b", "c"]).assign(y=np.tile([0, 1], 20))
    data.index = [f"p{i}" for i in range(40)]
    res, said = warned(data, model="neighbors", scheme="loocv", metrics="auroc")
    assert "40 records have the same predictors" in said
    assert "row p0, row p1" in said
    assert "biased downwards" in said
    found = res.audit["opposite_twins"]
    assert found.value == 1.0
    assert sorted(found.table["row"]) == sorted(data.index)
    assert any("same predictors" in note for note in res.summary(notes=True).notes)


@pytest.mark.parametrize("seed", range(8))
def test_equal_predictors_of_few_kinds_or_with_any_outcome_are_not_named(seed):
    rng = np.random.default_rng(seed)
    coarse = noise(seed=seed).assign(a=lambda d: (d["a"] > 0) * 1.0, b=1.0 * (seed % 2))
    assert "same predictors" not in warned(coarse, "y ~ a", k=5)[1]
    twins = np.repeat(rng.normal(size=(20, 3)), 2, axis=0)
    data = pd.DataFrame(twins, columns=["a", "b", "c"])
    data["y"] = rng.permutation(np.arange(40) % 2)
    assert "same predictors" not in warned(data, k=5)[1]


# ---- the table ----


@pytest.mark.parametrize("scheme", ["loocv", "kfold", "stratified_kfold", "lpocv"])
@pytest.mark.parametrize("weight", [None, {0: 1, 1: 3}])
def test_it_is_the_score_of_the_training_means(scheme, weight):
    data, model = noise(13), LogisticRegression(class_weight=weight)
    call = {"p": 4} if scheme == "lpocv" else {}
    metrics = ["accuracy", "balanced_accuracy", "brier"]
    res, _ = warned(data, model=model, scheme=scheme, metrics=metrics, **call)
    y, weights = data["y"].to_numpy(), np.where(data["y"] == 1, 3 if weight else 1, 1)
    mean, all_records = np.empty(40), np.average(y, weights=weights)
    for train, test in res.plan.split():
        mean[test] = np.average(y[train], weights=weights[train])
    table = res.no_skill.set_index("metric")
    assert table.loc["accuracy", "without_predictors"] == np.mean((mean > 0.5) == y)
    assert table.loc["accuracy", "no_skill"] == np.mean((all_records > 0.5) == y)
    assert table.loc["brier", "no_skill"] == pytest.approx(
        np.mean((all_records - y) ** 2)
    )
    found = table.loc["brier", "without_predictors"]
    assert found == pytest.approx(np.mean((mean - y) ** 2))


def test_pooled_ranks_are_those_of_the_training_means():
    data = noise(13)
    res, said = warned(data, scheme="kfold", k=20, metrics=["auroc", "auprc"])
    y, mean = data["y"].to_numpy(), np.empty(40)
    for train, test in res.plan.split():
        mean[test] = y[train].mean()
    table = res.no_skill.set_index("metric")
    area = roc_auc_score(y, np.round(mean, 12))
    assert table.loc["auroc", "without_predictors"] == pytest.approx(area)
    assert table["no_skill"].tolist()[0] == 0.5
    assert table.loc["auprc", "no_skill"] > 13 / 40  # the mean over random orders
    assert "auROC" in said


def test_thresholds_are_taken_into_account():
    data = noise(13)
    call = {"scheme": "loocv", "metrics": ["accuracy", "sensitivity"]}
    res, _ = warned(data, threshold=12.5 / 39, **call)
    table = res.no_skill.set_index("metric")
    assert table["without_predictors"].tolist() == [0.0, 0.0]
    res, said = warned(data, threshold=0.1, **call)
    assert res.no_skill["bias"].tolist() == [0.0, 0.0]
    assert said == ""
    balanced = noise(20)
    res, said = warned(
        balanced, threshold="accuracy", scheme="loocv", metrics="accuracy"
    )
    assert "accuracy 0.000 where no skill is 0.500" in said


def test_scorers_and_functions_are_checked_as_well():
    def share_right(y, predicted):
        return float(np.mean((predicted > 0.5) == y))

    asked = [
        scv.metrics.make_metric(share_right, greater_is_better=True),
        make_scorer(f1_score, average="macro"),
    ]
    _, said = warned(noise(), scheme="loocv", metrics=asked)
    assert "share_right 0.000 where no skill is 0.500" in said
    assert "f1_score" in said


def test_a_function_that_fails_for_constants_has_no_value():
    def fussy(y, predicted):
        if np.ptp(predicted) < 1e-3:
            raise ValueError("constant")
        return float(np.corrcoef(y, predicted)[0, 1])

    metric = scv.metrics.make_metric(fussy, greater_is_better=True)
    res, said = warned(noise(), scheme="loocv", metrics=metric)
    assert np.isnan(res.no_skill["no_skill"][0])
    assert said == ""


def test_several_classes():
    rng = np.random.default_rng(2)
    data = noise(30, 60).assign(g=rng.permutation(np.repeat(list("pqr"), 20)))
    _, said = warned(data, "g ~ a + b", scheme="loocv", metrics="accuracy")
    assert "accuracy 0.000 where no skill is 0.333" in said
    assert "class proportions" in said
    call = {"scheme": "rloocv", "repeats": 1, "metrics": ["accuracy", "brier"]}
    res, said = warned(data, "g ~ a + b", **call)
    assert (res.no_skill["bias"] == 0).all()
    assert said == ""


# ---- no warning ----


@pytest.mark.parametrize("n", [20, 33, 60])
def test_losses_due_to_fewer_records_raise_no_warning(n):
    data = noise(n // 2, n).assign(z=lambda d: d["a"] + d["b"])
    for scheme in ("loocv", "kfold", "stratified_kfold"):
        _, said = warned(data, scheme=scheme, k=None, metrics=["brier", "log_loss"])
        assert said == ""
    for scheme in ("loocv", "kfold"):
        assert warned(data, "z ~ a", scheme=scheme, metrics=["mse", "r2"])[1] == ""


def test_pooled_ranks_of_balanced_leave_one_out_raise_a_warning_if_requested():
    """With few predictors records predict each other, which pairing does not remove."""
    call = {"scheme": "rloocv", "repeats": 2, "metrics": ["auroc", "auprc"]}
    off = []
    for seed in range(60):
        res, said = warned(noise(seed=seed), **call)
        size = re.search(
            r"auPR [0-9.]+ where no skill is [0-9.]+ \(([0-9.]+) too", said
        )
        value = res.no_skill.set_index("metric")["no_skill"]["auprc"]
        off.append([float(res.estimate("auprc")) - value, -float(size[1])])
        assert "auROC" not in said  # is paired
    found, told = np.mean(off, axis=0)
    assert found == pytest.approx(told, abs=3 * np.std(off, axis=0)[0] / 60**0.5)
    assert told < -0.02
    assert warned(noise(), scheme="rloocv", repeats=2)[1] == ""  # not asked for
    more = np.random.default_rng(1).normal(size=(300, 9))
    large = noise(150, 300).join(pd.DataFrame(more).add_prefix("x"))
    assert warned(large, "y ~ .", **call)[1] == ""


@pytest.mark.slow
def test_unbiased_plans_raise_no_false_alarm():
    """The plans are class-stratified folds with all classes, and rebalanced folds."""
    rng = np.random.default_rng(7)
    alarms = 0
    for number in range(100):
        n = int(rng.integers(40, 120))
        data = noise(int(rng.integers(10, n - 10)), n, seed=number)
        for call in (
            {},
            {"scheme": "rkfold", "k": 5},
            {"scheme": "rloocv", "repeats": 1},
        ):
            alarms += bool(warned(data, "y ~ a", model=Logit(C=1.0), **call)[1])
    assert alarms <= 3


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5, random_state=0),
        make_pipeline(StandardScaler(), SVC(class_weight="balanced")),
        make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced")),
    ],
)
def test_any_estimator_can_be_checked(model):
    res, said = warned(noise(), model=model, metrics=["accuracy", "auroc"], k=10)
    assert (res.no_skill["bias"] == 0).all()
    assert said == ""


def test_predictions_of_other_records_have_no_training_mean():
    table = pd.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.8, 0.4, 0.6]})
    read = scv.from_predictions(table, observed="y", predicted="p")
    assert read.no_skill["no_skill"].isna().all()


@pytest.mark.parametrize("scheme", ["loocv", "kfold", "stratified_kfold", "rloocv"])
@pytest.mark.parametrize("positive", [7, 20])
def test_folds_are_suspect_where_a_bias_is_material(scheme, positive):
    res, said = warned(noise(positive), scheme=scheme)
    material = any(row.material for row in res.without_predictors)
    assert res.suspect == material == bool(said)


@pytest.mark.parametrize("metric", ["auprc", "auprc_trapezoid"])
def test_where_classes_tie_random_orders_are_averaged(metric):
    data = noise(14, 40).assign(y=(np.arange(40) % 11 == 0).astype(int))
    res, _ = warned(data, scheme="kfold", k=8, metrics=metric)
    assert res.no_skill["how"].tolist() == ["pooled"]
    tied = res.plan.training_means(data["y"].to_numpy())[res.scores.split]
    y, rng = data["y"].to_numpy()[res.scores.row], np.random.default_rng(1)
    orders = [tied + 1e-9 * rng.uniform(size=40) for _ in range(4000)]
    values = [scv.metrics.METRICS[metric](y, order) for order in orders]
    found = res.no_skill.set_index("metric").loc[metric, "without_predictors"]
    assert 0 < abs(found - np.mean(values)) < 5 * np.std(values) / np.sqrt(4000)


def test_orders_of_ties_within_a_class_have_one_value():
    y = np.array([0, 1] * 10)
    data = noise(10, 20).assign(y=y)
    res, _ = warned(data, scheme="loocv", metrics="auprc")
    tied = (y.sum() - y) / 19  # the lower half are the positive records, in any order
    order = np.argsort(-(tied + 1e-6 * np.arange(20)))
    found = res.no_skill.set_index("metric").loc["auprc", "without_predictors"]
    precision = np.cumsum(y[order]) / np.arange(1, 21)
    assert found == pytest.approx(precision[y[order] == 1].mean())


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_each_majority_under_leave_one_out_is_that_of_the_others():
    data = noise(n=45).assign(kind=list("uvw") * 15)
    res = scv.cv("kind ~ a", data, model=Logit(C=1.0), seed=1, scheme="loocv")
    accuracy = res.no_skill.set_index("metric").loc["accuracy"]
    assert accuracy["without_predictors"] < accuracy["no_skill"] - 0.2
