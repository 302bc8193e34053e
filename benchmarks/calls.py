"""What a call takes besides its fits.

    python benchmarks/calls.py [terms] [wrapped] [summary] [plans]

``terms``: leave-one-out of 250 records with five terms that learn from data, compared
with five plain columns. ``wrapped``: the share of a call that is not spent in the fits
and predictions of an estimator of scikit-learn. ``summary``: seconds of ``print`` and
``summary()`` of ten folds of a million records. ``plans``: seconds of both, and of
``compare()``, for plans with many fits of 300 records. One BLAS thread; medians.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import statcv as scv

PLAIN = "a + b + c + d + e"
TERMS = "scale(a) + scale(b) + poly(c, 2) + center(d) + bs(e, df=4)"
ROUNDS = 15
SLOW = 0.5  # seconds of a call that is timed once
MANY = 1_000_000


def seconds(call: Callable[[], Any]) -> float:
    """Return the time of one call."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def sample(n: int, names: list[str]) -> pd.DataFrame:
    """Draw covariates, of which the first has an effect on both outcomes."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, len(names)))
    frame = pd.DataFrame(X, columns=names)
    above = X[:, 0] + rng.logistic(size=n) > 0
    return frame.assign(y=above.astype(int), z=X[:, 0] + rng.normal(size=n))


def terms() -> None:
    """Compare terms that learn with plain columns, in turns."""
    frame = sample(250, list("abcde"))
    models: dict[str, tuple[str, Any, Any]] = {
        "ridge": ("y", scv.models.Logit(C=1.0), None),
        "unpenalised": ("y", scv.models.Logit(), None),
        "least squares": ("z", scv.models.Linear(), None),
        "Firth": ("y", scv.models.Logit(firth=True), None),
        "neighbours": ("y", scv.models.Neighbors(5), None),
        "scaled neighbours": ("y", scv.models.Neighbors(5, scale=True), None),
        "tuned ridge": ("y", scv.models.Logit(), {"C": [0.1, 1.0, 10.0]}),
    }
    for name, (outcome, model, tune) in models.items():

        def call(
            right: str, outcome: str = outcome, model: Any = model, tune: Any = tune
        ) -> Any:
            found = scv.cv(
                f"{outcome} ~ {right}",
                frame,
                model=model,
                scheme="loocv",
                tune=tune,
                progress=False,
            )
            return found.predictions

        times: dict[str, list[float]] = {PLAIN: [], TERMS: []}
        slow = seconds(lambda: call(TERMS)) > SLOW
        for _ in range(2 if slow else ROUNDS + 1):
            for right, own in times.items():
                own.append(seconds(lambda right=right: call(right)))
        plain, learnt = (statistics.median(own[1:]) for own in times.values())
        print(f"terms, {name}: {learnt / plain:.2f} times plain columns")


def wrapped() -> None:
    """Compare a call with the bare fits and predictions of its folds, in turns."""
    from sklearn.base import clone
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

    names = [f"x{j}" for j in range(20)]
    frame = sample(1_000, names)
    X, y = frame[names].to_numpy(), frame["y"].to_numpy()
    for model in (
        GradientBoostingClassifier(n_estimators=25, random_state=1),
        RandomForestClassifier(40, random_state=1),
    ):
        plan = scv.fold_plan("y", data=frame, k=5, seed=1)

        def ours(model: Any = model, plan: Any = plan) -> Any:
            found = scv.cv("y ~ . - z", frame, model=model, scheme=plan, progress=False)
            return found.predictions

        def bare(model: Any = model, plan: Any = plan) -> None:
            for split in range(5):
                train, test = plan.train(split), plan.test(split)
                clone(model).fit(X[train], y[train]).predict_proba(X[test])

        ours()
        pairs = [(seconds(ours), seconds(bare)) for _ in range(ROUNDS)]
        share = statistics.median(1 - alone / whole for whole, alone in pairs)
        fit = statistics.median(alone for _, alone in pairs) / 5
        name = type(model).__name__
        print(f"wrapped, {name}: {share:.1%} around fits of {fit:.2f} s")


def summary() -> None:
    """Time print and summary of many records, each of a new result."""
    frame = sample(MANY, [f"x{j}" for j in range(20)]).drop(columns="z")
    str(scv.cv("y ~ .", frame.iloc[:1_000], seed=1).summary())
    shown: dict[str, Callable[[Any], str]] = {
        "print": repr,
        "summary": lambda result: str(result.summary()),
    }
    made: dict[str, list[float]] = {"cv": [], "print": [], "summary": []}
    for _ in range(3):
        for what, show in shown.items():
            started = time.perf_counter()
            result = scv.cv("y ~ .", frame, seed=1, progress=False)
            made["cv"].append(time.perf_counter() - started)
            made[what].append(seconds(lambda show=show, one=result: show(one)))
    for what, times in made.items():
        print(f"{what} at n = {MANY:,}: {statistics.median(times):.2f} s")


def _after(result: Any, other: Any) -> dict[str, float]:
    """Return the seconds of what follows the fits."""
    return {
        "print": seconds(lambda: repr(result)),
        "summary": seconds(lambda: str(result.summary())),
        "compare": seconds(lambda: str(scv.compare(result, other).summary())),
    }


def plans() -> None:
    """Time what follows the fits of plans that have many of them."""
    frame = sample(300, list("abcde"))
    cut = frame["a"] + np.random.default_rng(0).normal(size=len(frame))
    frame["three"] = pd.qcut(cut, 3, labels=["low", "middle", "high"])
    models: dict[str, tuple[str, Any]] = {
        "unpenalised": ("y", scv.models.Logit()),
        "Firth": ("y", scv.models.Logit(firth=True)),
        "multinomial": ("three", scv.models.Logit(C=1.0)),
        "least squares": ("z", scv.models.Linear()),
        "neighbours": ("y", scv.models.Neighbors(5)),
    }
    for scheme in ("loocv", "rloocv", "leave_pair_out"):
        for name, (y, model) in models.items():
            result = scv.cv(f"{y} ~ {PLAIN}", frame, scheme=scheme, model=model, seed=1)
            other = result.update(f"{y} ~ a + b")
            said = ", ".join(
                f"{what} {took:.2f} s" for what, took in _after(result, other).items()
            )
            print(f"{scheme:15s} {name:14s} {result.plan.n_fits:6d} fits  {said}")


def main() -> None:
    """Run the parts that were asked for, or all."""
    parts = {"terms": terms, "wrapped": wrapped, "summary": summary, "plans": plans}
    warnings.simplefilter("ignore")
    with threadpool_limits(1, user_api="blas"):
        for name in sys.argv[1:] or parts:
            parts[name]()


if __name__ == "__main__":
    main()
