"""The cases of the benchmark: a task, peers that do the same, and targets."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from peers import (
    EXACT,
    boosted_curves,
    cv_coxph,
    cv_glm,
    cv_glmnet,
    lifelines_cox,
    permuted,
    probabilities,
    r_versions,
    rebalanced_splitter,
    ridge,
    sksurv_cox,
    statsmodels_glm,
    tuned,
    tuned_exactly,
    two_stages,
)
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

import statcv as scv
from statcv.arguments import RESAMPLE
from statcv.engine import Setup
from statcv.inference.tests.permutation import permuted_places
from statcv.models import Cox, TrainingSet
from statcv.models.batched import Folds
from statcv.numeric.survival import signed_times
from statcv.results.result import CVResult
from statcv.results.stability import Stability

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Peer:
    """Other software that does the work.

    Attributes
    ----------
    name : str
        Name of the software.
    call : callable
        Function that does the work.
    target : float, optional
        Target for the ratio of the peer's time to ours.
    share : float
        Share of the work that the call does; the total time is extrapolated.
    runs : int
        Largest number of runs, for a call that takes long.
    own_clock : bool
        Whether the call returns its own time in seconds.
    """

    name: str
    call: Callable[[], Any]
    target: float | None = None
    share: float = 1.0
    runs: int = 1000
    own_clock: bool = False


@dataclass(frozen=True)
class Case:
    """One task, for statcv and its peers.

    Attributes
    ----------
    work, size : str
        Description of the task, and its size.
    ours : callable
        Call of statcv.
    gap : callable
        Function that returns the largest difference between our results and exact ones.
    peers : tuple of Peer
        Peers that do the same work.
    logit : bool
        Whether the matrix products of its logistic regressions are counted.
    cores : int
        Number of cores that the case uses.
    """

    work: str
    size: str
    ours: Callable[[], Any]
    gap: Callable[[], float]
    peers: tuple[Peer, ...]
    logit: bool = False
    cores: int = 1


@dataclass(frozen=True)
class Problem:
    """Data in which only the first covariate has an effect, as frame and arrays."""

    frame: pd.DataFrame
    X: Floats
    y: Any

    @classmethod
    def of(cls, n: int, p: int, number: bool = False) -> Problem:
        """Draw n records of p covariates, with a binary or continuous outcome."""
        rng = np.random.default_rng(n + p)
        X = rng.normal(size=(n, p))
        if number:
            y = X[:, 0] + rng.normal(size=n)
        else:
            y = (X[:, 0] + rng.logistic(size=n) > 0).astype(int)
        names = [f"x{j}" for j in range(p)]
        return cls(pd.DataFrame(X, columns=names).assign(y=y), X, y)

    @property
    def size(self) -> str:
        """Number of records and of covariates, as text."""
        n, p = self.X.shape
        return f"{n} × {p}"

    def cv(self, **given: Any) -> CVResult:
        """Make the call that is measured, including the formula."""
        call = {"scheme": "loocv", "seed": 1, "progress": False, **given}
        return scv.cv("y ~ .", self.frame, **call)


def largest(ours: Any, exact: Any) -> float:
    """Return the largest difference between two arrays or numbers."""
    return float(np.abs(np.asarray(ours) - np.asarray(exact)).max())


def by_row(result: CVResult) -> Floats:
    """Return predictions by repeat and record."""
    table = result.predictions.pivot(index="repeat", columns="row", values="predicted")
    return table.to_numpy()


def ridge_logit(n: int, p: int, target: float) -> Case:
    """Return the case of LOOCV of a ridge logistic regression."""
    problem = Problem.of(n, p)
    X, y = problem.X, problem.y
    ours = partial(problem.cv, model=scv.models.Logit(C=1.0))
    newton = {"solver": "newton-cholesky"}

    return Case(
        work="LOOCV, ridge logit",
        size=problem.size,
        ours=ours,
        gap=lambda: largest(by_row(ours()), probabilities(ridge(**EXACT), X, y)),
        peers=(
            Peer("scikit-learn, lbfgs", lambda: probabilities(ridge(), X, y), target),
            Peer(
                "scikit-learn, newton-cholesky",
                lambda: probabilities(ridge(**newton), X, y),
            ),
        ),
        logit=True,
    )


def unpenalised_logit(n: int, p: int) -> Case:
    """Return the case of LOOCV of an unpenalised logistic regression."""
    problem = Problem.of(n, p)
    X, y = problem.X, problem.y
    exact = {"tol": 1e-14, "maxiter": 100}

    return Case(
        work="LOOCV, unpenalised logit",
        size=problem.size,
        ours=problem.cv,
        gap=lambda: largest(by_row(problem.cv()), statsmodels_glm(X, y, **exact)),
        peers=(Peer("statsmodels, GLM.fit", lambda: statsmodels_glm(X, y), 60),),
        logit=True,
    )


def unpenalised_logit_r(n: int, p: int) -> Case:
    """Return the case of LOOCV of an unpenalised logistic regression, against R."""
    r_versions()
    problem, folder = Problem.of(n, p), tempfile.TemporaryDirectory()

    def peer(epsilon: float = 1e-8) -> tuple[float, float]:
        return cv_glm(problem.frame, Path(folder.name), epsilon)

    def gap() -> float:
        error = float(problem.cv().estimate("brier", how="pooled"))
        return largest(error, peer(epsilon=1e-14)[1])

    return Case(
        work="LOOCV, unpenalised logit",
        size=problem.size,
        ours=problem.cv,
        gap=gap,
        peers=(Peer("R, boot::cv.glm", lambda: peer()[0], own_clock=True),),
    )


def survival(n: int, p: int, ties: bool) -> TrainingSet:
    """Return records with times to an event, a third of them censored."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, p))
    time, censored = rng.exponential(10 * np.exp(-X[:, 0])), rng.exponential(20, n)
    seen = np.minimum(time, censored)
    y = signed_times(np.ceil(seen) if ties else seen, time <= censored)
    names = tuple(f"x{j}" for j in range(p))
    return TrainingSet(X, y, "survival", 0, names, None, None, 0)


def cox_loocv(n: int, p: int, theirs: int) -> Case:
    """Return the case of LOOCV of a Cox regression with tied times."""
    r_versions("survival")
    records, folder = survival(n, p, ties=True), tempfile.TemporaryDirectory()
    folds, X, y = Folds.leaving_out([[row] for row in range(n)]), records.X, records.y
    some = np.arange(theirs)

    def ours() -> Floats:
        made = Cox().fit_folds(records, folds)
        assert made is not None
        return np.asarray(made.coefficients)

    def peer(eps: float = 1e-9) -> tuple[float, Floats]:
        frame = pd.DataFrame(X, columns=records.names).assign(
            time=np.abs(y), status=(y > 0).astype(int)
        )
        return cv_coxph(frame, Path(folder.name), eps)

    return Case(
        work="LOOCV, Cox regression",
        size=f"{n} × {p}",
        ours=ours,
        gap=lambda: largest(ours(), peer(eps=1e-13)[1]),
        peers=(
            Peer(
                "scikit-survival",
                lambda: sksurv_cox(X, y, some),
                target=30,
                share=theirs / n,
            ),
            Peer("R, survival::coxph", lambda: peer()[0], target=15, own_clock=True),
        ),
    )


def cox_folds(n: int, p: int) -> Case:
    """Return the case of five folds of a Cox regression of many records."""
    records = survival(n, p, ties=False)
    out = [np.arange(fold, n, 5) for fold in range(5)]
    folds = Folds.leaving_out(out)

    def ours() -> Floats:
        made = Cox().fit_folds(records, folds)
        assert made is not None
        return np.asarray(made.coefficients)

    def peer() -> Floats:
        return np.asarray(lifelines_cox(records.X, records.y, out))

    return Case(
        work="5-fold, Cox regression",
        size=f"{n} × {p}",
        ours=ours,
        gap=lambda: largest(ours(), peer()),
        peers=(Peer("lifelines", peer, target=10, runs=2),),
    )


def ridge_path_r(n: int, p: int, penalties: int) -> Case:
    """Return the case of 10-fold CV of a path of ridge penalties, against R."""
    r_versions("glmnet")
    problem, folder = Problem.of(n, p), tempfile.TemporaryDirectory()
    lambdas = np.geomspace(1, 1e-4, penalties)
    Cs = 1 / (n * 9 / 10 * lambdas)  # glmnet's penalty is that of a mean
    tuning = scv.Tuning({"C": Cs}, metric="log_loss", k=10)
    result = problem.cv(scheme="kfold", k=2, tune=tuning)
    setup = Setup(result.design, result.plan, result.learner, result.seed, None)
    folds = np.empty(n, dtype=int)
    for number, (_, held_out) in enumerate(
        result.learner.inner.plan(setup.records).split()
    ):
        folds[held_out] = number + 1

    def ours() -> Any:
        return result.learner.fit(setup.records).path

    def peer(thresh: float = 1e-7) -> tuple[float, Any]:
        data = problem.frame.assign(fold=folds)
        return cv_glmnet(data, lambdas, Path(folder.name), thresh)

    def gap() -> float:
        path = ours().sort_values("C")
        return largest(path["score"], peer(thresh=1e-20)[1])

    return Case(
        work=f"10-fold CV of {penalties} ridge penalties",
        size=problem.size,
        ours=ours,
        gap=gap,
        peers=(Peer("R, glmnet::cv.glmnet", lambda: peer()[0], own_clock=True),),
    )


def rebalanced(n: int, p: int, repeats: int) -> Case:
    """Return the case of repeated RLOOCV of a ridge logistic regression."""
    problem, splitter = Problem.of(n, p), rebalanced_splitter()
    X, y = problem.X, problem.y

    def ours() -> CVResult:
        model = scv.models.Logit(C=1.0)
        return problem.cv(model=model, scheme="rloocv", repeats=repeats)

    def gap() -> float:
        result = ours()
        splits = list(result.plan.split())
        exact = [
            probabilities(ridge(**EXACT), X, y, splits[first : first + n])
            for first in range(0, len(splits), n)
        ]
        return largest(by_row(result), exact)

    def theirs(**solver: Any) -> None:
        for seed in range(repeats):
            splits = splitter.split(X, y, seed=seed)
            probabilities(ridge(**solver), X, y, splits)

    return Case(
        work=f"RLOOCV, ridge logit, {repeats} repeats",
        size=problem.size,
        ours=ours,
        gap=gap,
        peers=(
            Peer("RebalancedCV, lbfgs", theirs, 40, runs=3),
            Peer(
                "RebalancedCV, newton-cholesky",
                partial(theirs, solver="newton-cholesky"),
                runs=3,
            ),
        ),
        logit=True,
    )


def permutations(n: int, p: int, times: int, theirs: int, looped: int) -> Case:
    """Return the case of LOOCV of permuted outcomes, some of them checked by loops."""
    problem = Problem.of(n, p)
    X, y = problem.X, problem.y
    model = scv.models.Logit(C=1.0)

    def ours() -> pd.Series[float]:
        return problem.cv(model=model).null_distribution(
            "brier", "pooled", times=times, progress=False
        )

    def gap() -> float:
        exact = []
        for number in range(looped):
            outcome = np.empty_like(y)
            outcome[permuted_places(n, None, 1, number)] = y
            predicted = probabilities(ridge(**EXACT), X, outcome)
            exact.append(np.mean((predicted - outcome) ** 2))
        return largest(ours()[:looped], exact)

    share = (1 + theirs) / (1 + times)  # each side also scores the true outcomes
    return Case(
        work=f"{times:,} permutations of LOOCV, ridge logit",
        size=problem.size,
        ours=ours,
        gap=gap,
        peers=(
            Peer(
                "permutation_test_score",
                lambda: permuted(X, y, theirs),
                150,
                share=share,
            ),
        ),
    )


def tuning(n: int, p: int, outer: int, checked: int) -> Case:
    """Return the case of LOOCV with C chosen from 20 values by inner 5-fold CV."""
    problem, Cs = Problem.of(n, p), np.logspace(-4, 4, 20)
    X, y = problem.X, problem.y
    rows = np.linspace(0, n - 1, outer).astype(int)

    def ours() -> CVResult:
        return problem.cv(tune=scv.Tuning({"C": Cs}, metric="log_loss", k=5))

    def gap() -> float:
        result, gaps = ours(), []
        plan, inner = result.plan, result.learner.inner
        setup = Setup(result.design, plan, result.learner, result.seed, None)
        for row in rows[:: max(outer // checked, 1)].tolist():
            training = setup.folds.training_set(setup.records, row)
            splits = list(inner.plan(training).split())
            train = plan.train(row)
            C, predicted = tuned_exactly(X, y, Cs, train, row, splits)
            own = result.predictions["predicted"][row]
            same = np.isclose(C, result.tuned["C"][row])
            gaps.append(largest(own, predicted) if same else np.inf)
        return max(gaps)

    def peer(**solver: Any) -> None:
        tuned(X, y, 20, rows, **solver)

    name = "LogisticRegressionCV"
    return Case(
        work="LOOCV, ridge logit, C of 20 by inner 5-fold",
        size=problem.size,
        ours=ours,
        gap=gap,
        peers=(
            Peer(f"{name}, lbfgs", peer, 25, share=outer / n, runs=3),
            Peer(
                f"{name}, newton-cholesky",
                partial(peer, solver="newton-cholesky"),
                share=outer / n,
                runs=3,
            ),
        ),
    )


def two_stage(n: int, p: int, times: int, checked: int, looped: int) -> Case:
    """Return the case of the two-stage bootstrap of an optimism-corrected auROC.

    Few samples of few samples are compared with the whole loop, for the Brier score
    too; a peer takes the times of some of the samples of one sample.
    """
    problem = Problem.of(n, p)
    X, y = problem.X, problem.y
    result = problem.cv(scheme="kfold", k=5)

    def ours(metric: str = "auroc", times: int = times) -> list[float]:
        made = result.optimism_corrected(
            metric, n_boot=times, interval="two_stage", seed=1, progress=False
        )
        return [made.lower, made.upper, made.se]

    def streams(many: int) -> list[np.random.Generator]:
        return [
            np.random.default_rng(np.random.SeedSequence(1, spawn_key=(RESAMPLE, b)))
            for b in range(many)
        ]

    def gap() -> float:
        both = two_stages(X, y, checked, streams(checked), **EXACT)
        exact = [[*np.quantile(one, [0.025, 0.975]), one.std(ddof=1)] for one in both.T]
        made = [ours(metric, checked) for metric in ("auroc", "brier")]
        return largest(made, exact)

    def peer(**solver: Any) -> None:
        two_stages(X, y, looped - 1, streams(1), **solver)

    share = looped / (times * (times + 1))
    return Case(
        work=f"two-stage bootstrap, {times} × {times} unpenalised logits",
        size=problem.size,
        ours=ours,
        gap=gap,
        peers=(
            Peer("scikit-learn, lbfgs", peer, share=share, runs=3),
            Peer(
                "scikit-learn, newton-cholesky",
                partial(peer, solver="newton-cholesky"),
                share=share,
                runs=3,
            ),
        ),
    )


def bootstrap_models(n: int, p: int, times: int, checked: int, looped: int) -> Case:
    """Return the case of the stability of predictions over bootstrap models.

    A peer takes the times of the fits of some of the samples.
    """
    problem = Problem.of(n, p)
    X, y = problem.X, problem.y

    def ours(times: int = times) -> Stability:
        # a new result has no models yet
        result = problem.cv(scheme="kfold", k=2)
        return result.stability(n_boot=times, seed=1, progress=False)

    def theirs(times: int, **solver: Any) -> Floats:
        made = []
        for b in range(times):
            stream = np.random.SeedSequence(1, spawn_key=(RESAMPLE, b))
            rows = np.random.default_rng(stream).integers(n, size=n)
            fit = ridge(np.inf, **solver).fit(X[rows], y[rows])
            made.append(fit.predict_proba(X)[:, 1])
        return np.array(made)

    def gap() -> float:
        return largest(ours(checked).predicted, theirs(checked, **EXACT))

    return Case(
        work=f"stability over {times} bootstrap models, unpenalised logit",
        size=problem.size,
        ours=ours,
        gap=gap,
        peers=tuple(
            Peer(
                f"scikit-learn, {solver}",
                partial(theirs, looped, solver=solver),
                share=looped / times,
                runs=3,
            )
            for solver in ("lbfgs", "newton-cholesky")
        ),
    )


def linear(n: int, p: int) -> Case:
    """Return the case of LOOCV of least squares."""
    problem = Problem.of(n, p, number=True)
    X, y = problem.X, problem.y

    def theirs() -> Any:
        return cross_val_predict(LinearRegression(), X, y, cv=LeaveOneOut())

    return Case(
        work="LOOCV, least squares",
        size=problem.size,
        ours=problem.cv,
        gap=lambda: largest(by_row(problem.cv()), theirs()),
        peers=(Peer("scikit-learn", theirs, 150),),
    )


def neighbors(n: int, p: int) -> Case:
    """Return the case of LOOCV of five nearest neighbours."""
    problem = Problem.of(n, p)
    X, y = problem.X, problem.y
    ours = partial(problem.cv, model=scv.models.Neighbors(k=5))

    def theirs() -> Any:
        return probabilities(KNeighborsClassifier(5), X, y)

    return Case(
        work="LOOCV, 5 nearest neighbours",
        size=problem.size,
        ours=ours,
        gap=lambda: largest(by_row(ours()), theirs()),
        peers=(Peer("scikit-learn", theirs, 100),),
    )


def boosting(n: int, p: int, rounds: int) -> Case:
    """Return the case of LOOCV of boosted trees, on two cores."""
    from xgboost import XGBClassifier

    problem = Problem.of(n, p)
    X, y = problem.X, problem.y

    def ours(n_jobs: int = 2) -> CVResult:
        model = scv.models.XGBoost(n_estimators=rounds)
        return problem.cv(model=model, n_jobs=n_jobs)

    def theirs(threads: int | None = None, **given: Any) -> Any:
        model = XGBClassifier(n_estimators=rounds, n_jobs=threads)
        return probabilities(model, X, y, **given)

    return Case(
        work=f"LOOCV, XGBoost, {rounds} rounds, two cores",
        size=problem.size,
        ours=ours,
        gap=lambda: largest(by_row(ours()), theirs(threads=1)),
        peers=(
            Peer("scikit-learn, two processes", partial(theirs, n_jobs=2), 1.3),
            Peer(
                "scikit-learn, two threads a fold", partial(theirs, threads=2), runs=2
            ),
        ),
        cores=2,
    )


def learning_curves(n: int, p: int, rounds: int) -> Case:
    """Return the case of learning curves of boosted trees in five folds."""
    problem = Problem.of(n, p)
    X, y = problem.X, problem.y
    given = {"n_estimators": rounds, "max_depth": 3, "learning_rate": 0.6}
    model = scv.models.XGBoost(**given, curves=True, eval_metric="error")
    plan = scv.fold_plan("y", problem.frame, scheme="kfold", k=5, seed=1)
    ours = partial(problem.cv, model=model, scheme="kfold", k=5)
    folds = list(plan.split())

    def gap() -> float:
        curves = ours().learning_curves.pivot(index="round", columns="fold")
        both = np.vstack([curves["training"], curves["held_out"]])
        return largest(both, boosted_curves(given, X, y, folds))

    return Case(
        work=f"5-fold learning curves, XGBoost, {rounds} rounds",
        size=problem.size,
        ours=ours,
        gap=gap,
        peers=(
            Peer("bare xgb.train", lambda: boosted_curves(given, X, y, folds), 1 / 1.2),
        ),
    )


def all_cases(quick: bool) -> dict[str, Callable[[], Case]]:
    """Return the functions that make the cases, by name; small cases if quick."""

    def of(make: Callable[..., Case], n: int, p: int, **given: Any) -> Any:
        return partial(make, *((min(n, 60), min(p, 5)) if quick else (n, p)), **given)

    few = 2 if quick else 20
    logits = {(70, 2): 40, (135, 42): 30, (250, 20): 40, (1000, 20): 40}
    logits[1000, 100] = 40
    if quick:
        logits = {(60, 5): 40}
    return {
        **{
            f"logit-{n}x{p}": partial(ridge_logit, n, p, target)
            for (n, p), target in logits.items()
        },
        "glm-statsmodels": of(unpenalised_logit, 250, 10),
        "glm-r": of(unpenalised_logit_r, 250, 10),
        "cox-loocv": of(cox_loocv, 300, 10, theirs=few),
        "cox-folds": of(cox_folds, 100_000, 10),
        "glmnet-r": of(ridge_path_r, 1000, 20, penalties=5 if quick else 100),
        "rloocv": of(rebalanced, 135, 42, repeats=few),
        "permutations": of(
            permutations, 40, 2, times=50 if quick else 1000, theirs=few, looped=3
        ),
        "two-stage": partial(
            two_stage,
            *((60, 2) if quick else (200, 10)),
            times=20 if quick else 500,
            checked=4 if quick else 20,
            looped=few * 10,
        ),
        "stability": of(
            bootstrap_models,
            500,
            20,
            times=30 if quick else 1000,
            checked=20,
            looped=few,
        ),
        "tuning": of(tuning, 135, 42, outer=2 if quick else 27, checked=few // 4 + 1),
        "linear": of(linear, 2000, 30),
        "neighbors": of(neighbors, 2000, 20),
        "xgboost": of(boosting, 80, 34, rounds=10 if quick else 100),
        "learning-curves": of(learning_curves, 12_000, 10, rounds=10 if quick else 200),
    }
