"""Tuning in all training sets at once is tuning in each, by loops."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor

import statcv as scv
from statcv.errors import StatcvError
from statcv.models import Logit, Sklearn, TrainingSet
from statcv.models.base import Capabilities, PlainFit
from statcv.models.batched import Folds
from statcv.models.tuning import tuned

CS = [0.01, 0.1, 1.0, 10.0]


def binary_frame(n: int, seed: int, p: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = X[:, 0] + 0.5 * X[:, 1] + rng.logistic(size=n) > 0.3
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])
    return frame.assign(
        y=y.astype(int),
        site=rng.integers(12, size=n).astype(str),
        w=rng.exponential(size=n).round(2) + 0.1,
    )


def quietly(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scv.errors.StatcvWarning)
        return scv.cv(*args, **kwargs)


def training_set(res, fit: int) -> TrainingSet:
    """Cut out a training set as an independent fit would see it."""
    plan, design = res.plan, res.design
    rows = plan.train(fit)
    weights = plan.weights(fit, rows)
    if res.weights is not None:
        weights = res.weights[rows] * (1.0 if weights is None else weights)
    strata = rows if len(plan.copied[fit]) else None
    if plan.strata is not None:
        strata = plan.strata.codes[rows]
    stream = np.random.SeedSequence(res.seed, spawn_key=(1, fit))
    return TrainingSet(
        X=design.matrix[rows],
        y=design.y[rows],
        kind=design.outcome.kind,
        n_classes=len(design.outcome.levels),
        names=design.names,
        intercept=design.intercept,
        weights=weights,
        seed=int(stream.generate_state(1)[0] // 2),
        strata=strata,
    )


def slow_choice(training: TrainingSet, inner, models) -> tuple[int, np.ndarray]:
    """Choose by log-loss, one inner fit after the other."""
    plan = inner.plan(training)
    losses = np.zeros(len(models))
    times = 0
    for fit in range(plan.n_fits):
        rows, test = plan.train(fit), plan.test(fit)
        weights = plan.weights(fit, rows)
        if training.weights is not None:
            weights = training.weights[rows] * (1.0 if weights is None else weights)
        part = TrainingSet(
            training.X[rows],
            training.y[rows],
            training.kind,
            training.n_classes,
            training.names,
            training.intercept,
            weights,
            seed=0,
        )
        times += len(test)
        for number, model in enumerate(models):
            p = model.fit(part).predict(training.X[test])
            y = training.y[test]
            losses[number] -= np.log(np.where(y == 1, p, 1 - p)).sum()
    return int(losses.argmin()), losses / times


CALLS = {
    "k-fold": {"k": 4},
    "leave-one-out": {"scheme": "loocv"},
    "rebalanced leave-one-out": {"scheme": "rloocv", "repeats": 2},
    "rebalanced k-fold": {"scheme": "rkfold", "k": 4, "repeats": 2},
    "class weights": {"k": 4, "rebalance": "weight"},
    "upsampling": {"k": 4, "rebalance": "upsample"},
    "bags": {"k": 3, "rebalance": scv.folds.Bags(2)},
    "bootstrap": {"scheme": "bootstrap", "repeats": 4},
    "Monte Carlo": {"scheme": "montecarlo", "repeats": 3},
    "strata": {"k": 3, "stratify": scv.by_value("site")},
    "weights": {"k": 4, "weights": "w"},
    "weights and rebalancing of none": {"scheme": "loocv", "weights": "w"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_choices_and_predictions_are_those_of_loops(name):
    frame = binary_frame(34, seed=3)
    formula = "y ~ x0 + x1 + x2"
    call = {"seed": 5, "progress": False, **CALLS[name]}
    res = quietly(formula, frame, tune={"C": CS}, **call)
    models = [Logit(C=C) for C in CS]
    held = res.held
    for fit in range(res.plan.n_fits):
        training = training_set(res, fit)
        best, losses = slow_choice(training, res.learner.inner, models)
        assert held.chosen["C"][fit] == CS[best]
        assert np.isclose(held.chosen["score"][fit], losses[best], rtol=1e-9)
        fitted = models[best].fit(training)
        own = held.fit == fit
        predicted = fitted.predict(res.design.matrix[held.row[own]])
        assert np.abs(predicted - held.predicted[own]).max() < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("rebalance", ["weight", "subsample", "upsample"])
@pytest.mark.parametrize("metric", ["log_loss", "auroc", "balanced_accuracy"])
def test_weighted_records_in_rebalanced_inner_plans(rebalance, metric):
    """One training set at a time, as a formula with a stateful term has it."""
    frame = binary_frame(40, seed=8)
    tuning = scv.Tuning({"C": CS}, metric=metric, rebalance=rebalance)
    call = {"k": 4, "weights": "w", "seed": 2, "rebalance": rebalance}
    together = quietly("y ~ x0 + x1 + x2", frame, tune=tuning, **call)
    alone = quietly("y ~ x0 + x1 + x2", frame, tune=tuning, model=OneByOne(), **call)
    assert together.tuned["C"].tolist() == alone.tuned["C"].tolist()
    assert np.allclose(together.tuned["score"], alone.tuned["score"], rtol=1e-9)
    assert np.abs(together.held.predicted - alone.held.predicted).max() < 1e-10


class OneByOne(Logit):
    """A logistic regression that does not fit folds together."""

    def fit(self, training):
        return super().fit(training)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "metric"),
    [
        ("loocv", "log_loss"),
        ("rloocv", "auroc"),
        ("leave_pair_out", "auroc"),
        ("rkfold", "auprc"),
        ("stratified_kfold", "auroc"),
        ("kfold", "brier"),
    ],
)
def test_every_inner_scheme_together_and_alone(scheme, metric):
    frame = binary_frame(22, seed=4)
    tuning = scv.Tuning({"C": CS}, metric=metric, scheme=scheme)
    call = {"k": 3, "seed": 2, "tune": tuning}
    together = quietly("y ~ x0 + x1", frame, **call)
    alone = quietly("y ~ x0 + x1", frame, model=OneByOne(), **call)
    assert together.tuned["C"].tolist() == alone.tuned["C"].tolist()
    assert np.allclose(together.tuned["score"], alone.tuned["score"], rtol=1e-9)
    assert np.abs(together.held.predicted - alone.held.predicted).max() < 1e-10


def test_grid_search_of_the_same_splits_chooses_the_same():
    frame = binary_frame(60, seed=11)
    res = quietly("y ~ x0 + x1 + x2", frame, tune={"C": CS}, k=4, seed=1)
    X = frame[["x0", "x1", "x2"]].to_numpy()
    y = frame["y"].to_numpy()
    for fit in range(res.plan.n_fits):
        training = training_set(res, fit)
        rows, test = res.plan.train(fit), res.plan.test(fit)
        splits = list(res.learner.inner.plan(training).split())
        search = GridSearchCV(
            LogisticRegression(solver="newton-cholesky", tol=1e-12),
            {"C": CS},
            scoring="neg_log_loss",
            cv=splits,
        ).fit(X[rows], y[rows])
        assert search.best_params_["C"] == res.tuned["C"][fit]
        predicted = search.predict_proba(X[test])[:, 1]
        own = res.held.fit == fit
        assert np.abs(predicted - res.held.predicted[own]).max() < 1e-8


def test_numbers_are_tuned_by_squared_error():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(size=50)})
    frame["y"] = np.sin(2 * frame["x"]) + 0.3 * rng.normal(size=50)
    ks = [25, 9, 3, 1]
    res = quietly(
        "y ~ x",
        frame,
        model=KNeighborsRegressor(),
        tune={"n_neighbors": ks},
        k=4,
        seed=3,
    )
    assert res.learner.inner.name == "kfold"
    for fit in range(4):
        training = training_set(res, fit)
        plan = res.learner.inner.plan(training)
        losses = []
        for k in ks:
            squares = [
                (
                    KNeighborsRegressor(k)
                    .fit(training.X[train, 1:], training.y[train])
                    .predict(training.X[test, 1:])
                    - training.y[test]
                )
                ** 2
                for train, test in plan.split()
            ]
            losses.append(np.concatenate(squares).mean())
        assert res.tuned["n_neighbors"][fit] == ks[int(np.argmin(losses))]
        assert np.isclose(res.tuned["score"][fit], min(losses))


def test_three_classes_are_tuned_fold_by_fold_or_together():
    rng = np.random.default_rng(9)
    frame = pd.DataFrame(rng.normal(size=(45, 2)), columns=["a", "b"])
    frame["y"] = np.array(["r", "s", "t"])[(frame["a"] > 0) + (frame["b"] > 0.3) * 1]
    res = quietly("y ~ a + b", frame, tune={"C": CS}, k=3, seed=1)
    for fit in range(3):
        training = training_set(res, fit)
        plan = res.learner.inner.plan(training)
        losses = np.zeros(len(CS))
        for train, test in plan.split():
            part = TrainingSet(
                training.X[train],
                training.y[train],
                "multiclass",
                3,
                training.names,
                0,
                None,
                0,
            )
            for number, C in enumerate(CS):
                p = Logit(C=C).fit(part).predict(training.X[test])
                losses[number] -= np.log(
                    p[np.arange(len(test)), training.y[test]]
                ).sum()
        assert res.tuned["C"][fit] == CS[int(losses.argmin())]


@pytest.mark.parametrize("model", [None, Sklearn(LogisticRegression())])
def test_held_out_records_have_no_say_in_the_choice(model):
    """Whatever becomes of a held-out record, its fold chooses and fits alike."""
    frame = binary_frame(40, seed=6)
    plan = scv.fold_plan("y", frame, scheme="stratified_kfold", k=4, seed=2)
    call = {"scheme": plan, "seed": 3, "tune": {"C": CS}, "model": model}
    before = quietly("y ~ x0 + x1", frame, **call)
    test = plan.test(1)
    other = frame.copy()
    other.loc[test, "y"] = 1 - other.loc[test, "y"]
    other.loc[test, ["x0", "x1"]] *= -7.0
    after = quietly("y ~ x0 + x1", other, **call)
    assert after.tuned["C"][1] == before.tuned["C"][1]
    assert np.isclose(after.tuned["score"][1], before.tuned["score"][1], rtol=1e-9)
    if model is None:
        columns = ["Intercept", "x0", "x1"]
        one, two = (r.coefficients.loc[1, columns] for r in (before, after))
        assert np.abs((one - two).astype(float)).max() < 1e-9


def test_strata_never_part_in_an_inner_plan():
    frame = binary_frame(60, seed=2)
    call = {"k": 3, "stratify": scv.by_value("site"), "seed": 4}
    res = quietly("y ~ x0", frame, tune={"C": CS}, **call)
    for fit in range(3):
        training = training_set(res, fit)
        for train, test in res.learner.inner.plan(training).split():
            assert not set(training.strata[train]) & set(training.strata[test])


def test_copies_of_a_record_never_part_in_an_inner_plan():
    frame = binary_frame(40, seed=2)
    res = quietly("y ~ x0", frame, tune={"C": CS}, scheme="bootstrap", repeats=3)
    for fit in range(3):
        training, rows = training_set(res, fit), res.plan.train(fit)
        assert len(set(rows)) < len(rows)
        for train, test in res.learner.inner.plan(training).split():
            assert not set(rows[train]) & set(rows[test])


def test_inner_training_sets_are_balanced_where_the_outer_are():
    frame = binary_frame(50, seed=5)
    call = {"scheme": "rloocv", "repeats": 1, "seed": 4}
    res = quietly("y ~ x0", frame, tune={"C": CS}, **call)
    for fit in range(0, 50, 10):
        training = training_set(res, fit)
        plan = res.learner.inner.plan(training)
        counts, _ = plan.counts(training.y, 2)
        assert (counts == counts[0]).all()
        assert plan.n_splits == 5


@pytest.mark.slow
def test_same_numbers_in_processes_and_threads():
    frame = binary_frame(40, seed=6)
    call = {"k": 3, "seed": 3, "tune": {"C": [0.1, 1.0]}}
    model = Sklearn(LogisticRegression())
    one = quietly("y ~ x0 + x1", frame, model=model, n_jobs=1, **call)
    two = quietly("y ~ x0 + x1", frame, model=model, n_jobs=2, **call)
    with parallel_config("threading", n_jobs=2):
        three = quietly("y ~ x0 + x1", frame, model=model, **call)
    for other in (two, three):
        assert one.tuned.equals(other.tuned)
        assert np.array_equal(one.held.predicted, other.held.predicted)


def test_the_fit_on_all_rows_is_tuned_too():
    frame = binary_frame(50, seed=7)
    res = quietly("y ~ x0 + x1", frame, tune={"C": CS}, k=3, seed=1)
    path = res.tuning_path
    assert path["C"].tolist() == CS
    best = path["score"].idxmin()
    again = quietly("y ~ x0 + x1", frame, model=Logit(C=CS[best]), k=3, seed=1)
    assert np.allclose(res.model.coefficients, again.model.coefficients, atol=1e-9)


def test_training_sets_divided_in_groups_give_the_same(monkeypatch):
    frame = binary_frame(40, seed=7)
    call = {"tune": {"C": CS}, "scheme": "rloocv", "repeats": 2, "seed": 1}
    whole = quietly("y ~ x0 + x1", frame, **call)
    monkeypatch.setattr(tuned, "CELLS", 10_000)
    parts = quietly("y ~ x0 + x1", frame, **call)
    assert whole.tuned["C"].tolist() == parts.tuned["C"].tolist()
    assert np.allclose(whole.tuned["score"], parts.tuned["score"], rtol=1e-9)
    assert np.abs(whole.held.predicted - parts.held.predicted).max() < 1e-10


def test_several_outcomes_are_tuned_each_by_itself():
    """As permutations are: a further outcome is only more folds."""
    res = quietly("y ~ x0 + x1", binary_frame(30, seed=7), tune={"C": CS}, k=3, seed=1)
    design, rng = res.design, np.random.default_rng(2)
    Y = np.array([design.y, rng.permutation(design.y), rng.permutation(design.y)])
    records = TrainingSet(
        design.matrix, design.y, "binary", 2, design.names, 0, None, seed=3
    )
    one = Folds.leaving_out([np.arange(0, 10), np.arange(10, 20)])
    many = Folds(
        one.out.chosen(np.arange(6) % 2),
        one.copied.chosen(np.arange(6) % 2),
        outcome=np.arange(6) // 2,
    )
    every = np.arange(30)
    fitted = res.learner.fit_folds(replace(records, y=Y), many)
    for outcome, y in enumerate(Y):
        alone = res.learner.fit_folds(replace(records, y=y), one)
        for fit in range(2):
            number = 2 * outcome + fit
            assert fitted.chosen["C"][number] == alone.chosen["C"][fit]
            here = fitted.predict(every, np.full(30, number))
            there = alone.predict(every, np.full(30, fit))
            assert np.abs(here - there).max() < 1e-10


class Rounds(Logit):
    """A logistic regression that reports what it saw of the held-out records."""

    capabilities = Capabilities(follows_held_out=True)

    def fit(self, training):
        return super().fit(training)

    def fit_following(self, training, held):
        found = self.fit(training)
        seen = np.array([[len(training.y), len(held.y)]], dtype=float)
        return Watched(found.function, found.coefficients, curves={"records": seen})


@dataclass(frozen=True, eq=False)
class Watched(PlainFit):
    """A fit with curves."""

    curves: dict | None = None


def test_curves_are_those_of_the_final_fit():
    frame = binary_frame(40, seed=7)
    call = {"tune": {"C": CS}, "k": 4, "seed": 1}
    res = quietly("y ~ x0", frame, model=Rounds(), **call)
    assert [one["records"].tolist() for one in res.held.curves] == [[[30, 10]]] * 4
    plain = quietly("y ~ x0", frame, **call)
    assert res.tuned["C"].tolist() == plain.tuned["C"].tolist()


def test_a_class_too_rare_to_tune_is_an_error():
    frame = binary_frame(30, seed=1)
    frame["y"] = np.repeat([0, 1], [28, 2])
    with pytest.raises(StatcvError, match="without a class"):
        quietly("y ~ x0", frame, tune={"C": CS}, k=2, seed=1)


def test_strengths_of_several_classes_are_chosen_as_fold_by_fold():
    class Alone(Logit):
        def fit(self, training):
            return super().fit(training)

    rng = np.random.default_rng(2)
    data = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    lean = data["a"] / 2 + rng.logistic(size=60)
    data["y"] = np.array(list("uvw"))[np.digitize(lean, [-0.7, 0.7])]
    tune = {"C": [0.01, None]}
    made = [
        scv.cv("y ~ a + b", data, model=model, tune=tune, k=4, seed=1)
        for model in (Logit(), Alone())
    ]
    assert len(set(made[0].tuned["C"])) > 1
    found, expected = (result.predictions for result in made)
    pd.testing.assert_frame_equal(found, expected, atol=1e-8)
    found, expected = (pd.DataFrame(result.coefficients) for result in made)
    pd.testing.assert_frame_equal(found[list(expected)], expected, atol=1e-6)
