"""Scores standardised within each fit, against loops of scikit-learn's refits."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr, zscore
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

import statcv as scv
from statcv.errors import DistributionalBiasWarning, StatcvError
from statcv.models import Neighbors
from studies.standardised import Standardised, standardise_scores

pytestmark = pytest.mark.filterwarnings(
    "ignore::statcv.errors.DistributionalBiasWarning",
    "ignore::statcv.errors.UndefinedMetricWarning",
)


def noise(seed=1, n=40, share=0.5, p=3):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.uniform(size=(n, p)), columns=[f"x{i}" for i in range(p)])
    y = (np.arange(n) < round(share * n)).astype(int)
    return data.assign(y=rng.permutation(y), z=rng.normal(size=n))


def quietly(call, *args, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scv.errors.StatcvWarning)
        return call(*args, **more)


def by_hand(result, data, estimator, over, outcome="y"):
    """Refit every fold, and standardise what it predicts for one record after another.

    Returns held-out scores and those of dropped partners.
    """
    X = data[[c for c in data if c.startswith("x")]].to_numpy()
    y, plan = data[outcome].to_numpy(), result.plan

    def predict(fit, rows):
        if hasattr(fit, "predict_proba"):
            return fit.predict_proba(X[rows])[:, 1]
        return fit.predict(X[rows])

    def score(number, row):
        train = plan.train(number)
        fit = estimator.fit(X[train], y[train])
        rows = np.arange(len(y)) if over == "all" else train
        others = predict(fit, rows)
        return (predict(fit, [row])[0] - others.mean()) / others.std()

    held = result.held
    own = [score(f, r) for f, r in zip(held.fit, held.row, strict=True)]
    partner = zip(held.partner_fit, held.partner_row, strict=True)
    return own, [score(f, r) for f, r in partner]


CASES = {
    "1-NN": (scv.models.Neighbors(k=1), KNeighborsClassifier(1), "loocv"),
    "ridge": (
        scv.models.Logit(C=0.01),
        LogisticRegression(C=0.01, tol=1e-12, solver="newton-cholesky"),
        "loocv",
    ),
    "rebalanced": (
        scv.models.Logit(C=0.01),
        LogisticRegression(C=0.01, tol=1e-12, solver="newton-cholesky"),
        "rloocv",
    ),
    "one by one": (
        LogisticRegression(C=0.5, tol=1e-12, solver="newton-cholesky"),
        LogisticRegression(C=0.5, tol=1e-12, solver="newton-cholesky"),
        "stratified_kfold",
    ),
}


@pytest.mark.parametrize("over", ["all", "training"])
@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_refits(case, over):
    model, estimator, scheme = CASES[case]
    data = noise(n=24)
    res = scv.cv(
        "y ~ x0 + x1 + x2",
        data,
        model=model,
        scheme=scheme,
        repeats=1 if scheme == "rloocv" else None,
        seed=1,
    )
    made = standardise_scores(res, over)
    own, partner = by_hand(res, data, estimator, over)
    np.testing.assert_allclose(made.held.predicted, own, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(made.held.partner_predicted, partner, rtol=1e-6)
    rows = made.scores.row
    area = roc_auc_score(data["y"].to_numpy()[rows], np.round(own, 9))
    assert float(made.estimate("auroc", "pooled")) == pytest.approx(area)
    labels = data["y"].loc[made.predictions["row"]].tolist()
    assert made.predictions["observed"].tolist() == labels


def test_over_all_rows_it_is_the_z_score_that_scipy_gives():
    data = noise()
    res = scv.cv("y ~ x0", data, model=scv.models.Logit(C=1.0), scheme="loocv", seed=1)
    made = standardise_scores(res)
    for place in (0, 7):
        others = data.drop(index=place)
        fit = scv.cv("y ~ x0", others, model=res.learner, seed=1).model
        expected = zscore(fit.predict(data))[place]
        assert made.held.predicted[place] == pytest.approx(expected, abs=1e-7)


# ---- why it is unsafe ----


@pytest.mark.parametrize("over", ["all", "training"])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.8])
def test_a_nearest_neighbour_loses_only_pairs_that_are_both_predicted_wrongly(
    share, over
):
    """auROC = 1 - (missed positives) × (false positives), on any data."""
    data = noise(seed=int(100 * share), n=60, share=share)
    nearest = scv.models.Neighbors(k=1)
    res = scv.cv("y ~ x0 + x1 + x2", data, model=nearest, scheme="loocv", seed=1)
    y, predicted = res.scores.y[res.scores.row], res.scores.predicted
    missed, false = np.mean(predicted[y == 1] == 0), np.mean(predicted[y == 0] == 1)
    made = standardise_scores(res, over)
    assert float(made.estimate("auroc")) == pytest.approx(1 - missed * false, abs=1e-12)


@pytest.mark.parametrize(("share", "area"), [(0.1, 0.91), (0.3, 0.79), (0.5, 0.75)])
def test_a_nearest_neighbour_of_noise_has_the_area_of_the_balance(share, area):
    """1 - π(1 - π), from .91 at one tenth to .75 at one half."""
    assert area == pytest.approx(1 - share * (1 - share))
    nearest, values, plain = scv.models.Neighbors(k=1), [], []
    for seed in range(20):
        data = noise(seed, n=250, share=share, p=5)
        res = quietly(
            scv.cv, "y ~ x0 + x1 + x2 + x3 + x4", data, model=nearest, scheme="loocv"
        )
        values.append(float(standardise_scores(res).estimate("auroc", "pooled")))
        plain.append(float(res.estimate("auroc", "pooled")))
    se = np.std(values, ddof=1) / np.sqrt(20)
    assert abs(np.mean(values) - area) < 4 * se
    assert np.mean(values) > np.mean(plain) + 0.15


def test_ridge_regression_of_noise_is_brought_near_a_half():
    ridge, made, plain = scv.models.Logit(C=0.01), [], []
    formula = "y ~ " + " + ".join(f"x{i}" for i in range(20))
    for seed in range(30):
        data = noise(seed, n=100, p=20)
        res = quietly(scv.cv, formula, data, model=ridge, scheme="loocv", seed=1)
        plain.append(float(res.estimate("auroc", "pooled", interval="delong")))
        made.append(float(standardise_scores(res).estimate("auroc", "pooled")))
    assert np.mean(plain) < 0.3
    assert abs(np.mean(made) - 0.5) < 0.06


# ---- constant predictions ----


def test_fits_that_predict_the_same_for_all_tie_and_are_counted():
    res = scv.cv("y ~ x0", noise(), model="mean", scheme="loocv", seed=1)
    assert float(res.estimate("auroc")) == 0
    with pytest.warns(DistributionalBiasWarning, match="40 of 40 fits predict the sa"):
        made = standardise_scores(res)
    assert (made.held.predicted == 0).all()
    assert float(made.estimate("auroc")) == 0.5


class Memory:
    """Predicts 0.4 for what it has seen, and 0.6 for what it has not."""

    label = "memory"

    def check(self, kind):
        pass

    def fit(self, training):
        from statcv.models.base import PlainFit

        seen = training.X[:, -1]
        return PlainFit(lambda X: np.where(np.isin(X[:, -1], seen), 0.4, 0.6))


def test_a_record_apart_from_a_constant_training_set_has_no_score():
    res = scv.cv("y ~ x0", noise(), model=Memory(), scheme="loocv", seed=1)
    with pytest.raises(StatcvError, match="40 fits predict the same for the whole"):
        standardise_scores(res, "training")
    made = standardise_scores(res)  # 39 at 0.4, one at 0.6
    np.testing.assert_allclose(made.held.predicted, np.sqrt(39))


# ---- what the result can do ----


def test_it_warns_at_every_call_and_never_of_other_things():
    res = quietly(scv.cv, "y ~ x0", noise(), scheme="rloocv", repeats=1, seed=1)
    for _ in range(2):
        with pytest.warns(DistributionalBiasWarning, match="do not cure"):
            standardise_scores(res)


def test_it_compares_prints_pickles_and_is_updated():
    data = noise()
    res = scv.cv("y ~ x0 + x1", data, scheme="loocv", threshold="youden", seed=1)
    made = standardise_scores(res, "training")
    assert made.metric_names == ("auroc", "auprc")
    assert "standardised over its training set" in made.learner.label
    said = "scores of each fit standardised over its training set"
    assert said in " ".join(str(made.summary()).split())
    assert "null_bias" not in str(made.summary())
    table = scv.compare(plain=res, standardised=made, metric="auroc").table
    assert table.loc["standardised", "estimate"] == float(made.estimate("auroc"))
    again = pickle.loads(pickle.dumps(made))
    assert float(again.estimate("auroc")) == float(made.estimate("auroc"))
    other = made.update(scheme="rloocv", repeats=1)
    expected = standardise_scores(res.update(scheme="rloocv", repeats=1), "training")
    assert float(other.estimate("auroc")) == float(expected.estimate("auroc"))
    assert made.update(over="all").learner.over == "all"


def test_what_reads_a_scale_or_needs_refits_is_refused():
    res = scv.cv("y ~ x0", noise(), scheme="rloocv", repeats=1, seed=1)
    made = standardise_scores(res)
    for metric in ("brier", "accuracy", "calibration_slope"):
        with pytest.raises(StatcvError, match="more than the order"):
            made.estimate(metric)
    for call in (made.null_bias, made.jackknife, lambda: made.model):
        with pytest.raises(StatcvError, match=r"no model|after the fits"):
            call()
    with pytest.raises(StatcvError, match="there is no model to predict all rows"):
        standardise_scores(made)


def test_numbers_have_the_rank_correlation_of_their_scores():
    def rank_correlation(y, score):
        return float(spearmanr(y, score).statistic)

    data = noise(n=30)
    metric = scv.metrics.make_metric(
        rank_correlation,
        greater_is_better=True,
        outcomes="continuous",
        reads="order",
        limits=(-1, 1),
    )
    call = {"model": Ridge(), "scheme": "loocv", "seed": 1}
    res = scv.cv("z ~ x0 + x1 + x2", data, metrics=metric, **call)
    made = standardise_scores(res)
    own, _ = by_hand(res, data, Ridge(), "all", "z")
    value = float(made.estimate("rank_correlation", "pooled"))
    assert value == pytest.approx(rank_correlation(data["z"], own))
    plain = scv.cv("z ~ x0", data, **call)
    with pytest.raises(StatcvError, match="an order and no scale"):
        standardise_scores(plain)


def test_learnt_terms_and_weights_of_the_training_set():
    data = noise(n=30).assign(w=np.random.default_rng(2).uniform(0.5, 2, 30))
    call = {"model": scv.models.Logit(C=1.0), "scheme": "kfold", "k": 5, "seed": 1}
    plain = scv.cv("y ~ x0", data, weights="w", **call)
    learnt = scv.cv("y ~ center(x0)", data, weights="w", **call)
    for over in ("all", "training"):
        one, other = (standardise_scores(res, over) for res in (plain, learnt))
        np.testing.assert_allclose(one.held.predicted, other.held.predicted, atol=1e-6)
    made = standardise_scores(plain, "training")
    train, w = plain.plan.train(0), data["w"].to_numpy()
    part = data.iloc[train]
    model = scv.cv("y ~ x0", part, weights="w", model=plain.learner, k=2, seed=1).model
    p = model.predict(data).to_numpy()
    mean = np.average(p[train], weights=w[train])
    sd = np.sqrt(np.average((p[train] - mean) ** 2, weights=w[train]))
    where = made.held.fit == 0
    expected = (p[made.held.row[where]] - mean) / sd
    np.testing.assert_allclose(made.held.predicted[where], expected, atol=1e-6)


def test_several_fits_of_a_fold_are_each_standardised():
    data = noise(n=16)
    call = {"model": scv.models.Logit(C=1.0), "scheme": "loocv", "seed": 1}
    res = scv.cv("y ~ x0", data, rebalance="all", **call)
    made = standardise_scores(res)
    assert made.plan.n_fits > made.plan.n_splits
    own, _ = by_hand(
        res,
        data[["x0", "y"]],
        LogisticRegression(tol=1e-12, solver="newton-cholesky"),
        "all",
    )
    means = pd.Series(own).groupby(res.held.row).mean()
    np.testing.assert_allclose(made.scores.predicted, means, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "over", "match"),
    [
        ({}, "al", "over must be 'all' or 'training'"),
        ({"formula": "kind ~ x0"}, "all", "3 classes"),
        ({"scheme": "bootstrap", "repeats": 3}, "all", "bootstrap estimates join"),
    ],
)
def test_what_cannot_be_standardised_is_refused(change, over, match):
    data = noise().assign(kind=np.tile(["p", "q", "r", "r"], 10))
    call = {"formula": "y ~ x0", "scheme": "loocv", "seed": 1, **change}
    res = quietly(scv.cv, call.pop("formula"), data, **call)
    with pytest.raises(StatcvError, match=match):
        standardise_scores(res, over)


def test_a_standardised_model_does_not_refit():
    near = Neighbors().capabilities
    given = Standardised(Neighbors(), "all").capabilities
    assert given == replace(near, refits=False, fits_together=False)


def test_no_result_is_refused():
    with pytest.raises(StatcvError, match="takes a result of cv"):
        standardise_scores(noise())
