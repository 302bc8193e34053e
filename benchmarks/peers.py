"""Calls of other software on the same folds."""

from __future__ import annotations

import shutil
import subprocess
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    LeaveOneOut,
    cross_val_predict,
    permutation_test_score,
)

EXACT = {"solver": "newton-cholesky", "tol": 1e-12}
R_SCRIPT = Path(__file__).with_name("cv_glm.R")
COX_SCRIPT = Path(__file__).with_name("cv_coxph.R")
GLMNET_SCRIPT = Path(__file__).with_name("cv_glmnet.R")


class NotInstalledError(Exception):
    """Error for a peer that is not installed; the message says how to install it."""


def ridge(C: float = 1.0, **solver: Any) -> LogisticRegression:
    """Return scikit-learn's ridge logistic regression, by default with lbfgs."""
    return LogisticRegression(C=C, **solver)


def probabilities(model: Any, X: Any, y: Any, cv: Any = None, **given: Any) -> Any:
    """Predict by `cross_val_predict`, with leave-one-out unless folds are given."""
    folds = LeaveOneOut() if cv is None else cv
    made = cross_val_predict(model, X, y, cv=folds, method="predict_proba", **given)
    return made[:, 1]


def statsmodels_glm(X: Any, y: Any, **fit: Any) -> Any:
    """Predict by LOOCV of a logistic regression, with one `GLM.fit` per fold."""
    import statsmodels.api as sm

    design, predicted = sm.add_constant(X), np.empty(len(y))
    for train, test in LeaveOneOut().split(design):
        model = sm.GLM(y[train], design[train], family=sm.families.Binomial())
        predicted[test] = model.fit(**fit).predict(design[test])
    return predicted


def rebalanced_splitter() -> Any:
    """Return the splitter of RebalancedCV for rebalanced leave-one-out."""
    try:
        from rebalancedcv import RebalancedLeaveOneOut
    except ImportError as error:
        raise NotInstalledError("pip install RebalancedCV") from error
    return RebalancedLeaveOneOut()


def permuted(X: Any, y: Any, times: int) -> Any:
    """Return Brier scores of LOOCV for the outcomes and for permuted outcomes."""
    return permutation_test_score(
        ridge(),
        X,
        y,
        cv=LeaveOneOut(),
        scoring="neg_brier_score",
        n_permutations=times,
        random_state=1,
    )


def tuned(X: Any, y: Any, Cs: Any, rows: Any, **solver: Any) -> None:
    """Choose C by inner 5-fold CV in the training sets of some of the records."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for what in ("The fitted attributes", "The default value for l1_ratios"):
            warnings.filterwarnings("ignore", what, FutureWarning)
        for row in rows:
            train = np.delete(np.arange(len(y)), row)
            search = LogisticRegressionCV(Cs=Cs, cv=5, scoring="neg_log_loss", **solver)
            search.fit(X[train], y[train]).predict_proba(X[[row]])


def tuned_exactly(
    X: Any, y: Any, Cs: Any, train: Any, row: int, splits: Any
) -> tuple[float, float]:
    """Return the C of smallest inner log-loss, and its prediction for a record."""
    losses = []
    for C in Cs:
        p = probabilities(ridge(C, **EXACT), X[train], y[train], splits)
        losses.append(-np.log(np.where(y[train] == 1, p, 1 - p)).sum())
    best = float(Cs[int(np.argmin(losses))])
    model = ridge(best, **EXACT).fit(X[train], y[train])
    return best, float(model.predict_proba(X[[row]])[0, 1])


def optimism(X: Any, y: Any, rows: Any, source: Any, **solver: Any) -> tuple[Any, Any]:
    """Return what a fit to rows scores on them, less on their source, and the former.

    The scores are the auROC and the Brier score.
    """
    predicted = ridge(np.inf, **solver).fit(X[rows], y[rows]).predict_proba(X)[:, 1]

    def scores(of: Any) -> Any:
        area = roc_auc_score(y[of], predicted[of])
        return np.array([area, np.mean((y[of] - predicted[of]) ** 2)])

    own = scores(rows)
    return own - scores(source), own


def two_stages(
    X: Any, y: Any, times: int, streams: Iterable[Any], **solver: Any
) -> Any:
    """Correct samples for optimism, each by samples of it, in a loop of single fits.

    There is one generator per sample; the result has one row per sample.
    """
    n, corrected = len(y), []
    for rng in streams:
        rows = np.sort(rng.integers(n, size=n))
        _, own = optimism(X, y, rows, rows, **solver)
        again = [
            optimism(X, y, rows[rng.integers(n, size=n)], rows, **solver)[0]
            for _ in range(times)
        ]
        corrected.append(own - np.mean(again, axis=0))
    return np.array(corrected)


@cache
def r_versions(package: str = "boot") -> str:
    """Return the versions of R and of one of its packages."""
    version = f"as.character(packageVersion('{package}'))"
    code = f"cat(as.character(getRversion()), {version})"
    if shutil.which("Rscript") is None:
        raise NotInstalledError(f"install R, with its package {package}")
    made = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True)
    if made.returncode:
        raise NotInstalledError(f"install R's package {package}")
    return made.stdout


def cv_glm(data: pd.DataFrame, folder: Path, epsilon: float) -> tuple[float, float]:
    """Return the time of `cv.glm` by R's own clock, and its mean squared error."""
    r_versions()
    file = folder / "records.csv"
    data.to_csv(file, index=False)
    command = ["Rscript", str(R_SCRIPT), str(file), str(epsilon)]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, error = map(float, made.stdout.split())
    return seconds, error


def cv_glmnet(
    data: pd.DataFrame, penalties: Any, folder: Path, thresh: float
) -> tuple[float, Any]:
    """Return the time of `cv.glmnet` by R's own clock, and the log-losses.

    The data have the outcome `y`, and the number of each record's `fold`.
    """
    r_versions("glmnet")
    data.to_csv(folder / "records.csv", index=False)
    pd.DataFrame({"lambda": penalties}).to_csv(folder / "penalties.csv", index=False)
    files = [str(folder / name) for name in ("records.csv", "penalties.csv")]
    command = ["Rscript", str(GLMNET_SCRIPT), *files, str(thresh)]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, *losses = map(float, made.stdout.split())
    return seconds, np.array(losses)


def cv_coxph(data: pd.DataFrame, folder: Path, eps: float) -> tuple[float, Any]:
    """Return the time of a loop over `coxph` by R's clock, and all coefficients."""
    r_versions("survival")
    file = folder / "times.csv"
    data.to_csv(file, index=False)
    command = ["Rscript", str(COX_SCRIPT), str(file), str(eps)]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, *fits = map(float, made.stdout.split())
    return seconds, np.reshape(fits, (len(data), -1))


def sksurv_cox(X: Any, y: Any, rows: Any) -> Any:
    """Fit scikit-survival's Cox regression without each of some records."""
    try:
        from sksurv.linear_model import CoxPHSurvivalAnalysis
        from sksurv.util import Surv
    except ImportError as error:
        raise NotInstalledError("pip install scikit-survival") from error
    outcome, made = Surv.from_arrays(y > 0, np.abs(y)), []
    for row in rows:
        train = np.arange(len(y)) != row
        model = CoxPHSurvivalAnalysis(ties="efron", tol=1e-12)
        made.append(model.fit(X[train], outcome[train]).coef_)
    return np.array(made)


def lifelines_cox(X: Any, y: Any, folds: Any) -> Any:
    """Fit lifelines' Cox regression without each of some lists of records."""
    try:
        from lifelines import CoxPHFitter
    except ImportError as error:
        raise NotInstalledError("pip install lifelines") from error
    data = pd.DataFrame(X).assign(time=np.abs(y), event=y > 0)
    fits = [CoxPHFitter().fit(data.drop(index=out), "time", "event") for out in folds]
    return np.array([fit.params_ for fit in fits])


def boosted_curves(parameters: dict[str, Any], X: Any, y: Any, folds: Any) -> Any:
    """Return training and held-out errors after every round, by `xgboost.train`.

    There is one column per fold; `folds` are pairs of training and held-out rows.
    """
    import xgboost

    native = {k: v for k, v in parameters.items() if k != "n_estimators"}
    native |= {"objective": "binary:logistic", "eval_metric": "error", "nthread": 1}
    curves = []
    for train, held_out in folds:
        matrix = xgboost.QuantileDMatrix(X[train], y[train], nthread=1)
        new = xgboost.QuantileDMatrix(X[held_out], y[held_out], ref=matrix, nthread=1)
        log: dict[str, Any] = {}
        xgboost.train(
            native,
            matrix,
            parameters["n_estimators"],
            evals=[(matrix, "training"), (new, "held_out")],
            evals_result=log,
            verbose_eval=False,
        )
        curves.append(log["training"]["error"] + log["held_out"]["error"])
    return np.array(curves).T
