"""All fits of a plan against separate fits, over the sizes and kinds that people have.

However the fits of a plan are made together, coefficients agree to 1e-8 with those of
each training set by itself, and so do the verdicts on convergence and separation. The
score equations, which know of no other fit, are solved as well.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit, softmax

from statcv.folds import make_plan
from statcv.models import Linear, Logit, TrainingSet
from statcv.models.batched import Folds, fit_all_folds, permuted_folds

pytestmark = pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning")

COMPARED = 6  # fits of each plan that are made again by themselves


@dataclass(frozen=True)
class Case:
    """A plan for simulated records, and the model that is fitted."""

    n: int
    p: int
    plan: dict
    model: object = Logit()
    kind: str = "binary"
    classes: int = 2
    data: str = "plain"
    weights: bool = False
    permuted: int = 0
    size: float = 1.0  # size of the coefficients

    def records(self):
        rng = np.random.default_rng([self.n, self.p, self.classes])
        X = rng.normal(size=(self.n, self.p))
        if self.data == "dependent":
            X[:, -1] = X[:, 0] - 2 * X[:, 1]
        elif self.data == "rare":  # a level that some training sets lack
            X[:, -1] = np.arange(self.n) < 2
        elif self.data == "scales":
            X *= 10.0 ** rng.integers(-4, 5, self.p)
        elif self.data == "far from 0":
            X += 1000
        beta = self.size * rng.normal(size=(self.p, self.classes)) / np.sqrt(self.p)
        eta = (X / np.abs(X).mean(axis=0)) @ beta
        if self.data == "far from 0":
            eta = (X - 1000) @ beta
        if self.kind == "continuous":
            y = eta[:, 0] + rng.normal(size=self.n)
        elif self.classes > 2:
            y = np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)
            y[: 4 * self.classes] = np.arange(4 * self.classes) % self.classes
        else:
            y = (eta[:, 0] + rng.logistic(size=self.n) > 0).astype(int)
            y[:8] = np.arange(8) % 2
        if self.data == "separated":
            y = (X[:, 0] > 0).astype(int)
        elif self.data == "nearly separated":  # one record in the way
            y = (X[:, 0] > 0).astype(int)
            y[np.argsort(X[:, 0])[self.n // 2 + 3]] = 0
        if self.permuted:
            y = np.array([rng.permutation(y) for _ in range(self.permuted)])
        return TrainingSet(
            X=np.column_stack([np.ones(self.n), X]),
            y=y,
            kind=self.kind,
            n_classes=0 if self.kind == "continuous" else self.classes,
            names=("Intercept", *(f"x{j}" for j in range(self.p))),
            intercept=0,
            weights=rng.uniform(0.3, 3.0, self.n) if self.weights else None,
            seed=0,
        )

    def folds(self, records):
        y = records.y if records.y.ndim == 1 else records.y[0]
        made = Folds.of(make_plan(y=y, kind=self.kind, seed=1, **self.plan))
        return permuted_folds(made, self.permuted) if self.permuted else made


LOO, RLOO = {"scheme": "loocv"}, {"scheme": "rloocv", "repeats": 1}


def k(folds, **more):
    return {"scheme": "stratified_kfold", "k": folds, **more}


RIDGE, FIRTH = Logit(C=1.0), Logit(firth=True)
CONTINUOUS, SEVERAL = {"kind": "continuous"}, {"kind": "multiclass"}

CASES = {
    # two classes without a penalty
    "30 x 2, each record": Case(30, 2, LOO),
    "70 x 2, each record": Case(70, 2, LOO),
    "250 x 20, each record": Case(250, 20, LOO),
    "1,000 x 20, each record": Case(1000, 20, LOO),
    "60 x 5, rebalanced": Case(60, 5, RLOO),
    "60 x 5, rebalanced by weights": Case(60, 5, RLOO | {"rebalance": "weight"}),
    "60 x 5, rebalanced by copies": Case(60, 5, RLOO | {"rebalance": "upsample"}),
    "200 x 5, five folds": Case(200, 5, k(5)),
    "600 x 5, ten folds": Case(600, 5, k(10)),
    "1,000 x 20, ten folds": Case(1000, 20, k(10)),
    "5,000 x 20, five folds": Case(5000, 20, k(5)),
    "20,000 x 20, ten folds": Case(20_000, 20, k(10)),
    "100 x 15, five folds": Case(100, 15, k(5)),
    "120 x 6, three times five folds": Case(120, 6, k(5, repeats=3)),
    "80 x 4, bootstrap": Case(80, 4, {"scheme": "bootstrap", "repeats": 30}),
    "90 x 4, random splits": Case(90, 4, {"scheme": "montecarlo", "repeats": 20}),
    "40 x 3, all pairs": Case(40, 3, {"scheme": "leave_pair_out"}),
    "150 x 6, weights": Case(150, 6, LOO, weights=True),
    "3,000 x 30, weights": Case(3000, 30, k(5), weights=True),
    "80 x 4, permuted outcomes": Case(80, 4, k(5), permuted=20),
    "60 x 3, permuted, each record": Case(60, 3, LOO, permuted=8),
    "200 x 6, all scales": Case(200, 6, k(10), data="scales"),
    "60 x 3, separated": Case(60, 3, k(5), data="separated"),
    "80 x 3, nearly separated": Case(80, 3, LOO, data="nearly separated"),
    "300 x 4, nearly separated": Case(300, 4, k(10), data="nearly separated"),
    "50 x 4, strong signal": Case(50, 4, LOO, size=6.0),
    # two classes with a penalty
    "135 x 42, ridge, each record": Case(135, 42, LOO, RIDGE),
    "60 x 5,000, ridge, each record": Case(60, 5000, LOO, RIDGE),
    "60 x 5,000, ridge, five folds": Case(60, 5000, k(5), RIDGE),
    "100 x 1,000, ridge, weights": Case(100, 1000, k(5), RIDGE, weights=True),
    "500 x 300, ridge": Case(500, 300, k(5), RIDGE),
    "1,000 x 150, ridge, weights": Case(1000, 150, k(5), RIDGE, weights=True),
    "2,000 x 40, ridge, far from 0": Case(2000, 40, k(5), RIDGE, data="far from 0"),
    "200 x 4, far from 0": Case(200, 4, LOO, data="far from 0"),
    "2,000 x 100, weak ridge": Case(2000, 100, k(5), Logit(C=1e4)),
    "90 x 8, ridge, dependent columns": Case(90, 8, LOO, RIDGE, data="dependent"),
    "80 x 5, ridge, separated": Case(80, 5, LOO, RIDGE, data="separated"),
    "80 x 5, ridge, a rare level": Case(80, 5, LOO, RIDGE, data="rare"),
    "60 x 200, ridge, permuted": Case(60, 200, k(5), RIDGE, permuted=6),
    "100 x 12, a ridge per fold": Case(
        100, 12, LOO, Logit(C=0.5, standardize=True), data="scales"
    ),
    "80 x 300, a ridge per fold": Case(80, 300, k(5), Logit(C=0.5, standardize=True)),
    "40 x 90, a ridge per fold, each record": Case(
        40, 90, LOO, Logit(C=0.5, standardize=True), data="rare"
    ),
    "70 x 200, three classes, a ridge per fold, weights": Case(
        70,
        200,
        k(5),
        Logit(C=0.5, standardize=True),
        classes=3,
        weights=True,
        **SEVERAL,
    ),
    "50 x 3, Firth": Case(50, 3, LOO, FIRTH),
    "60 x 4, Firth, separated": Case(60, 4, k(10), FIRTH, data="separated"),
    "60 x 4, FLIC": Case(60, 4, RLOO, Logit(flic=True)),
    # several classes
    "150 x 4, three classes": Case(150, 4, LOO, RIDGE, classes=3, **SEVERAL),
    "1,000 x 10, three classes": Case(1000, 10, k(10), classes=3, **SEVERAL),
    "5,000 x 20, four classes": Case(5000, 20, k(5), classes=4, **SEVERAL),
    "90 x 500, three classes": Case(90, 500, k(5), RIDGE, classes=3, **SEVERAL),
    "120 x 4, three classes, weights": Case(
        120, 4, LOO, RIDGE, classes=3, weights=True, **SEVERAL
    ),
    "900 x 20, three classes, far from 0": Case(
        900, 20, k(5), RIDGE, classes=3, data="far from 0", **SEVERAL
    ),
    "900 x 60, three classes": Case(900, 60, k(5), RIDGE, classes=3, **SEVERAL),
    # numbers
    "40 x 3, least squares": Case(40, 3, LOO, Linear(), **CONTINUOUS),
    "2,000 x 30, least squares": Case(
        2000, 30, {"scheme": "kfold", "k": 10}, Linear(), weights=True, **CONTINUOUS
    ),
    "50 x 80, least squares": Case(50, 80, LOO, Linear(), **CONTINUOUS),
}


def assert_solved(case, training, beta):
    """Check that the penalised score is zero, relative to its terms."""
    X, y = training.X, training.y
    weights = np.ones(len(y)) if training.weights is None else training.weights
    if case.kind == "continuous":
        pull = (y - X @ beta)[:, None]
    elif case.classes > 2:
        beta = beta.reshape(-1, X.shape[1])
        if len(beta) < case.classes:  # without a penalty, the first class is 0
            beta = np.vstack([np.zeros(X.shape[1]), beta])
        pull = np.eye(case.classes)[y] - softmax(X @ beta.T, axis=1)
    else:
        pull = (y - expit(X @ beta))[:, None]
    score = (weights[:, None] * pull).T @ X
    size = (weights[:, None] * (np.abs(pull) + np.abs(y[:, None]))).T @ np.abs(X)
    if case.kind != "continuous" and case.model.C is not None:
        ridge = case.model.ridge(training) * np.atleast_2d(beta)
        score, size = score - ridge, size + np.abs(ridge)
    assert np.abs(score).max() < 1e-6 * size.max()


@pytest.mark.parametrize("name", CASES)
def test_fits_together_are_separate_fits(name):
    case = CASES[name]
    records = case.records()
    folds = case.folds(records)
    fits = fit_all_folds(case.model, records, folds)
    assert fits is not None
    made = np.asarray(fits.coefficients)
    some = np.unique(np.linspace(0, len(folds) - 1, COMPARED).astype(int))
    for number in map(int, some):
        training = folds.training_set(records, number)
        alone = case.model.fit(training)
        assert bool(fits.converged[number]) == alone.converged
        assert bool(fits.separated[number]) == alone.separated
        if alone.separated:
            continue
        beta, expected = made[number], np.array(list(alone.coefficients.values()))
        assert np.array_equal(np.isnan(beta), np.isnan(expected))
        beta, expected = np.nan_to_num(beta), np.nan_to_num(expected)
        atol = 1e-8 * max(np.abs(expected).max(), 1)
        np.testing.assert_allclose(beta, expected, atol=atol, rtol=0)
        if not (case.kind == "binary" and (case.model.firth or case.model.flic)):
            assert_solved(case, training, beta)
