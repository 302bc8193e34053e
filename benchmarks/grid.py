"""Models, schemes, records and covariates on a grid, against scikit-learn's defaults.

    python benchmarks/run.py --grid [--only NAME ...] [--runs 5]

One row per cell: the largest difference from refits at high precision, of our
predictions and of scikit-learn's with default settings; the time of
`cross_val_predict` with default settings over that of `cv(...).predictions`, which
shares large fits among the cores unless OMP_NUM_THREADS is 1, and over that of the same
call with `n_jobs=1`; the same of `cross_val_predict` with a tolerance of 1e-8 for
logistic regressions in a few folds; and the peak memory of our call in a process of its
own. With the name of a cell, this file prints the memory of its call:

    python benchmarks/grid.py ridge-5fold-1000x20
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from memory import peak

Floats = np.ndarray[Any, np.dtype[np.float64]]

AGREE = 1e-8
SHORT = 0.3  # seconds for which a shorter call is repeated
FITS = 3  # number of fits that are compared with refits at high precision
# settings of lbfgs; rounding prevents a smaller tolerance
TIGHT = {"tol": 1e-8, "max_iter": 10_000}
LONG = 20.0  # seconds of all sides together, after which a cell is not timed again

RIDGE = {
    "5fold": [
        *[(200, 5), (200, 50), (1_000, 5), (1_000, 50), (1_000, 200), (1_000, 500)],
        *[(2_000, 300), (2_000, 500), (5_000, 20), (5_000, 200), (5_000, 500)],
        *[(20_000, 5), (20_000, 100), (20_000, 500), (100_000, 5), (100_000, 20)],
        *[(100_000, 200), (1_000_000, 5), (1_000_000, 20)],
        *[(100, 1_000), (60, 5_000), (200, 20_000), (400, 800), (1_000, 1_000)],
    ],
    "10fold": [
        *[(1_000, 20), (5_000, 20), (5_000, 200), (20_000, 50), (100_000, 20)],
        *[(1_000_000, 20)],
    ],
    "loocv": [
        *[(70, 2), (135, 42), (250, 20), (1_000, 20), (500, 500), (100, 1_000)],
        *[(60, 5_000)],
    ],
}
UNPENALISED = {
    "5fold": [(200, 5), (5_000, 20), (20_000, 50), (100_000, 20)],
    "loocv": [(250, 10)],
}
CLASSES = {
    "5fold": [
        *[(300, 10), (1_000, 50), (5_000, 20), (20_000, 20), (100, 1_000)],
        *[(400, 800), (500, 2_000)],
    ],
    "10fold": [(5_000, 20)],
    "loocv": [(150, 4), (300, 300)],
}
TEN_CLASSES = {"5fold": [(300, 10), (1_800, 64), (5_000, 20), (400, 500)]}
STANDARDISED = {
    "5fold": [(1_000, 20), (1_000, 200), (100, 1_000), (300, 300), (600, 600)],
    "loocv": [(100, 1_000)],
}
LEAST_SQUARES = {
    "5fold": [
        *[(300, 10), (1_000, 50), (5_000, 100), (20_000, 20), (200_000, 20)],
        *[(100, 1_000), (60, 5_000)],
    ],
    "10fold": [(20_000, 50)],
    "loocv": [(300, 10), (2_000, 30), (100, 1_000)],
}
NEIGHBOURS = {
    "5fold": [
        *[(200, 5), (1_000, 5), (1_000, 50), (2_000, 10), (5_000, 50)],
        *[(20_000, 5), (20_000, 20)],
    ],
    "10fold": [(5_000, 10)],
    "loocv": [(500, 5), (2_000, 20)],
}
WRAPPED = {"5fold": [(1_000, 20)]}
GRID = {
    "ridge": RIDGE,
    "unpenalised": UNPENALISED,
    "multinomial": CLASSES,
    "ten classes": TEN_CLASSES,
    "standardised ridge": STANDARDISED,
    "least squares": LEAST_SQUARES,
    "5 nearest": NEIGHBOURS,
    "scaled ridge": WRAPPED,
    "XGBoost": WRAPPED,
}


@dataclass(frozen=True)
class Cell:
    """A model, a scheme, and a size of data.

    Attributes
    ----------
    model, scheme : str
        Name of the model, and of the scheme: ``"5fold"``, ``"10fold"`` or ``"loocv"``.
    n, p : int
        Number of records and of covariates.
    """

    model: str
    scheme: str
    n: int
    p: int

    @property
    def name(self) -> str:
        """Name of the cell, by which it can be chosen."""
        model = self.model.replace(" ", "_")
        return f"{model}-{self.scheme}-{self.n}x{self.p}"

    def data(self) -> tuple[pd.DataFrame, Floats, Any]:
        """Draw covariates, as frame and as matrix.

        The first has an effect, or the first ten if there are as many classes.
        """
        rng = np.random.default_rng(self.n + self.p)
        X = rng.normal(size=(self.n, self.p))
        if self.model == "least squares":
            y: Any = X[:, 0] + rng.normal(size=self.n)
        elif self.model == "multinomial":
            y = np.digitize(X[:, 0] + rng.logistic(size=self.n), [-0.8, 0.8])
        elif self.model == "ten classes":
            scores = rng.gumbel(size=(self.n, 10))
            scores[:, : self.p] += 1.5 * X[:, :10]
            y = scores.argmax(axis=1)
        else:
            y = (X[:, 0] + rng.logistic(size=self.n) > 0).astype(int)
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(self.p)])
        codes = pd.Categorical(y) if self.several else y
        return frame.assign(y=codes), X, y

    @property
    def several(self) -> bool:
        """Whether there are more than two classes."""
        return self.model in ("multinomial", "ten classes")

    def ours(self, frame: pd.DataFrame, n_jobs: int | None = None) -> Any:
        """Make the call that is measured, from formula and frame to predictions."""
        import statcv as scv

        plan: dict[str, Any] = {"scheme": "loocv"}
        if self.scheme != "loocv":
            kind = "kfold" if self.model == "least squares" else "stratified_kfold"
            plan = {"scheme": kind, "k": self.k}
        result = scv.cv(
            "y ~ .",
            frame,
            model=self.our_model,
            seed=1,
            progress=False,
            n_jobs=n_jobs,
            **plan,
        )
        _ = result.predictions
        return result

    def theirs(self, X: Floats, y: Any, **settings: Any) -> Any:
        """Make scikit-learn's call, by default with its default settings."""
        from sklearn.model_selection import LeaveOneOut, cross_val_predict

        method = "predict" if self.model == "least squares" else "predict_proba"
        folds = LeaveOneOut() if self.scheme == "loocv" else self.k
        return cross_val_predict(self.peer(**settings), X, y, cv=folds, method=method)

    @property
    def is_logistic(self) -> bool:
        """Whether scikit-learn searches for the optimum, and has a tolerance."""
        binary = ("ridge", "unpenalised", "standardised ridge")
        return self.several or self.model in binary

    @property
    def k(self) -> int:
        """Number of folds."""
        return int(self.scheme.removesuffix("fold"))

    @property
    def our_model(self) -> Any:
        """Model of our call."""
        import statcv as scv

        if self.model in ("scaled ridge", "XGBoost"):
            return self.peer()
        return {
            "ridge": scv.models.Logit(C=1.0),
            "multinomial": scv.models.Logit(C=1.0),
            "ten classes": scv.models.Logit(C=1.0),
            "standardised ridge": scv.models.Logit(C=1.0, standardize=True),
            "unpenalised": scv.models.Logit(),
            "least squares": scv.models.Linear(),
            "5 nearest": scv.models.Neighbors(k=5),
        }[self.model]

    def peer(self, **exact: Any) -> Any:
        """Return scikit-learn's estimator, by default with its default settings."""
        from sklearn.linear_model import LinearRegression, LogisticRegression
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        if self.model == "XGBoost":
            from xgboost import XGBClassifier

            return XGBClassifier(n_estimators=100, max_depth=3)
        if self.model in ("scaled ridge", "standardised ridge"):
            return make_pipeline(StandardScaler(), LogisticRegression(**exact))
        if self.model == "least squares":
            return LinearRegression()
        if self.model == "5 nearest":
            return KNeighborsClassifier(5)
        C = np.inf if self.model == "unpenalised" else 1.0
        return LogisticRegression(C=C, **exact)

    def gaps(self) -> dict[str, float]:
        """Return the largest difference from precise refits of some folds.

        ``gap`` is that of our predictions, ``peer_gap`` that of scikit-learn's with its
        default settings, and ``tight_gap`` with a small tolerance.
        """
        frame, X, y = self.data()
        result = self.ours(frame)
        precise: dict[str, Any] = {}
        if self.is_logistic:
            precise = {"solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}
        settings = {"peer_gap": {}, "tight_gap": TIGHT} if self.is_logistic else {}
        gaps = {"gap": 0.0, "peer_gap": 0.0, "tight_gap": np.nan}
        predicted, rows = result.held.predicted, result.held.row
        for fit in range(min(FITS, result.plan.n_fits)):
            train, own = result.plan.train(fit), result.held.fit == fit
            columns, held = X[train], X[rows[own]]
            if self.p > self.n and self.model != "standardised ridge":
                # the ridge is the same in the space of the rows
                basis = np.linalg.qr(columns.T)[0]
                columns, held = columns @ basis, held @ basis
            exact = self.predicted(self.peer(**precise), columns, y[train], held)
            found = {"gap": predicted[own]}
            for name, setting in settings.items():
                peer = self.peer(**setting)
                found[name] = self.predicted(peer, X[train], y[train], X[rows[own]])
            for name, other in found.items():
                gaps[name] = float(np.fmax(gaps[name], np.abs(other - exact).max()))
        return gaps

    def predicted(self, model: Any, X: Floats, y: Any, held: Floats) -> Floats:
        """Fit an estimator of scikit-learn, and predict other rows as our call does."""
        fitted = model.fit(X, y)
        if self.model == "least squares":
            return np.asarray(fitted.predict(held))
        shares = np.asarray(fitted.predict_proba(held))
        return shares if self.several else shares[:, 1]


def cells(quick: bool = False) -> list[Cell]:
    """Return all cells; small ones only if quick."""
    every = [
        Cell(model, scheme, n, p)
        for model, schemes in GRID.items()
        for scheme, sizes in schemes.items()
        for n, p in sizes
    ]
    return [cell for cell in every if not quick or cell.n * cell.p <= 2_000]


def grid(
    chosen: list[Cell], runs: int, memory: bool = True
) -> Iterator[dict[str, Any]]:
    """Compare and time the cells, one after the other, and yield a row for each."""
    from threadpoolctl import threadpool_limits

    for cell in chosen:
        with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gaps = cell.gaps()
            if not gaps["gap"] < AGREE:
                raise AssertionError(f"{cell.name}: differs by {gaps['gap']:.2g}")
            row = _timed(cell, runs)
        yield {
            "model": cell.model,
            "scheme": cell.scheme,
            "n": cell.n,
            "p": cell.p,
            **gaps,
            **row,
            "matrix_MB": 8e-6 * cell.n * (cell.p + 1),
            "peak_MB": _memory(cell) if memory else np.nan,
        }


def _timed(cell: Cell, runs: int) -> dict[str, Any]:
    """Time both sides in turns; single rounds give the lowest and highest ratio."""
    frame, X, y = cell.data()
    calls: dict[str, Callable[[], Any]] = {
        "statcv": lambda: cell.ours(frame),
        "one": lambda: cell.ours(frame, n_jobs=1),
        "peer": lambda: cell.theirs(X, y),
    }
    if cell.is_logistic and cell.scheme != "loocv":
        calls["tight"] = lambda: cell.theirs(X, y, **TIGHT)
    calls["statcv"]()
    table = pd.DataFrame(columns=list(calls), dtype=float)
    while len(table) < runs and table.to_numpy().sum() < LONG:
        table.loc[len(table)] = [_seconds(call) for call in calls.values()]
    single, median = table["peer"] / table["statcv"], table.median()
    tight = median.get("tight", np.nan)
    return {
        "ratio": median["peer"] / median["statcv"],
        "lowest": single.min(),
        "highest": single.max(),
        "one_thread": median["peer"] / median["one"],
        "tight": tight / median["statcv"],
        "statcv_s": median["statcv"],
        "peer_s": median["peer"],
        "tight_s": tight,
        "runs": len(table),
    }


def _seconds(call: Callable[[], Any]) -> float:
    """Return the time of a call; of the median one where it is short."""
    times: list[float] = []
    while sum(times) < SHORT:
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def _memory(cell: Cell) -> float:
    command = [sys.executable, __file__, cell.name]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(made.stdout)["peak_MB"])


def main() -> None:
    """Print the peak memory of a cell's call, beyond that of its frame."""
    from threadpoolctl import threadpool_limits

    (cell,) = (one for one in cells() if one.name == sys.argv[1])
    warnings.simplefilter("ignore")
    with threadpool_limits(1, user_api="blas"):
        small = Cell(cell.model, cell.scheme, 200, min(cell.p, 3))
        small.ours(small.data()[0])  # triggers the late imports
        frame = cell.data()[0]
        before = _now()
        cell.ours(frame)
    print(json.dumps({"peak_MB": max(peak() - before, 0.0)}))


def _now() -> float:
    """Return the memory of this process, in megabytes."""
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024 / 1e6
    return peak()


if __name__ == "__main__":
    main()
