"""Calls with one bad argument: either they mean something, or the error says what not.

Every public function and method is called with tiny data, and one argument at a time
is replaced by a value that no one means. An error is then always a StatcvError.
"""

import inspect
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv import sites
from statcv.errors import StatcvError
from statcv.models import Linear, Logit, Neighbors, Sklearn, Statsmodels, XGBoost

mpl.use("Agg")

N = 24
CALLS = 4000  # number of random calls, of all that can be made
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
BAD = {
    "array": np.array([1, 2]), "list": [1, 2], "dict": {}, "NA": pd.NA, "nan": np.nan,
    "None": None, "empty": "", "abc": "abc", "-1": -1, "0": 0, "10**9": 10**9,
    "1.5": 1.5, "object": object(), "True": True, "bytes": b"x",
    "series": pd.Series([1, 2]), "function": lambda x: x, "words": ["a", "b"],
    "inf": np.inf, "NaT": pd.NaT, "frame": pd.DataFrame({"a": [1]}), "type": dict,
    "set": {1}, "complex": 1j, "huge": 10**400,
}  # fmt: skip
# Arguments that are data of any kind, or a name that any word may be.
ANY = {"self", "ax", "data", "checkpoint", "path"}
# arguments whose values are small in these calls
COUNTS = ("n_boot", "n_permutations", "times")


def frame():
    rng = np.random.default_rng(3)
    x = rng.normal(size=N)
    y = (x + rng.normal(size=N) > 0).astype(int)
    return pd.DataFrame(
        {"y": y, "x": x, "z": rng.normal(size=N), "g": np.arange(N) % 4,
         "p": rng.uniform(0.1, 0.9, N), "f": np.arange(N) % 3}
    )  # fmt: skip


def table():
    """Return the name, the callable and good arguments of every call."""
    data = frame()
    res = scv.cv("y ~ x + z", data, k=3, seed=1)
    rival = res.update(formula="y ~ x")
    plan = res.plan
    both = scv.compare(a=res, b=rival)
    parts = {"a": res, "b": res.update(k=2)}
    curve = res.corrected_calibration(n_boot=100, seed=1)
    stable = res.stability(n_boot=100, threshold=0.5)
    bias = scv.stratifier_bias("y ~ x + z", data, ["g"], k=3, repeats=2, seed=1)
    forest = scv.meta_analysis(a=both, b=both)
    pooled = scv.pool(res, res)
    agreed = sites.agree("y ~ x", levels={"y": [0, 1]}, k=2, permutations=9)
    many = pd.concat([data] * 3, ignore_index=True)
    held = {"north": many, "south": many, "west": many}
    joint = sites.run(agreed, held)
    y, p = data["y"].to_numpy(), data["p"].to_numpy()
    few = {"data": data, "k": 3, "seed": 1}
    calls = [
        ("cv", scv.cv, {"formula": "y ~ x", **few}),
        ("cv tune", scv.cv, {"formula": "y ~ x", **few, "tune": {"C": [1.0]}}),
        ("fold_plan", scv.fold_plan, {"formula": "y", **few}),
        ("compare", scv.compare, {"a": res, "b": rival}),
        ("compare_settings", scv.compare_settings, {"a": parts, "b": parts}),
        ("from_predictions", scv.from_predictions,
         {"data": data, "observed": "y", "predicted": "p", "fold": "f"}),
        ("stratifier_bias", scv.stratifier_bias,
         {"formula": "y ~ x", "data": data, "candidates": ["g"], "k": 3, "repeats": 2}),
        ("meta_analysis", scv.meta_analysis, {"a": both, "b": both}),
        ("table", scv.table, {"a": res, "b": rival}),
        ("table1", scv.table1, {"data": res}),
        ("load_data", scv.load_data, {"name": "spector"}),
        ("load_irae", scv.load_irae, {"path": "missing"}),
        ("by_quantile", scv.by_quantile, {"column": "x"}),
        ("by_hash", scv.by_hash, {"columns": "g", "key": "k" * 32}),
        ("by_value", scv.by_value, {"columns": "g"}),
        ("Tuning", scv.Tuning, {"grid": {"C": [1.0]}}),
        ("Bags", scv.folds.Bags, {}),
        ("Logit", Logit, {}), ("Linear", Linear, {}), ("Neighbors", Neighbors, {}),
        ("Sklearn", Sklearn, {"estimator": None}), ("XGBoost", XGBoost, {}),
        ("Statsmodels", Statsmodels, {"model": None}),
        ("agree", sites.agree,
         {"formula": "y ~ x", "levels": {"y": [0, 1]}, "k": 3}),
        ("run", sites.run, {"plan": agreed, "data": held}),
        ("thresholds", sites.thresholds,
         {"data": held, "column": "x", "low": -9.0, "high": 9.0}),
        ("ask_counts", sites.ask_counts, {"column": "x", "low": -9.0, "high": 9.0}),
        ("shared_patients", sites.shared_patients,
         {"data": held, "columns": "x", "key": "k" * 32}),
        ("site_folds", sites.site_folds,
         {"plan": agreed, "data": data, "site": "north"}),
        ("disclosure_sheet", sites.disclosure_sheet, {"plan": agreed}),
        ("probability_edges", sites.probability_edges, {}),
        ("sql_sums", sites.sql_sums,
         {"table": "t", "outcome": "y", "predicted": "p", "dialect": "duckdb"}),
    ]  # fmt: skip
    of = {
        "result": (res, {"by": "g", "path": "missing/x.html", "times": 20,
                         "n_permutations": 20, "n_boot": 100}),
        "plan": (plan, {"split": 0, "fit": 0, "y": y, "codes": y, "classes": 2,
                        "values": y, "rows": np.arange(3), "frame": data,
                        "plans": {"a": plan, "b": plan}}),
        "comparison": (both, {"path": "missing/x.html"}),
        "bias": (bias, {"path": "missing/x.html"}),
        "pooled": (pooled, {"path": "missing/x.html"}),
        "pooled comparison": (scv.compare(a=pooled, b=pooled), {"path": "x.html"}),
        "combination": (forest, {"path": "missing/x.html"}),
        "sites": (joint, {"path": "missing/x.html", "new": data}),
        "estimate": (res.estimate(), {}),
        "stability": (stable, {"kind": "decision", "new": data}),
        "summary": (res.summary(), {"path": "missing/x.html"}),
        "tuning": (scv.Tuning({"C": [1.0]}), {}),
    }  # fmt: skip
    for what, (thing, known) in of.items():
        for name, member in inspect.getmembers(type(thing)):
            hidden = name.startswith("_") or name in ("inner", "tuned", "with_interval")
            if inspect.isfunction(member) and not hidden:
                method = getattr(thing, name)
                calls.append((f"{what}.{name}", method, good(method, known)))
    known = {"y": y, "p": p, "score": p, "yhat": p, "a": p, "b": p[::-1], "scores":
             np.c_[p, p[::-1]], "thresholds": [0.2], "baseline": y.mean(), "group":
             data["g"], "groups": 4, "weights": np.ones((1, N)), "range": (0.5, 1.0),
             "positive": [0, 1], "negative": [0, 1], "won": [1.0, 0.0], "values": p,
             "rival": p, "difference": p, "metric": "auroc", "function": np.dot,
             "kind": "binary", "n_boot": 100, "seed": 1}  # fmt: skip
    of_times = {**known, "y": np.where(y == 1, p, -p), "prediction": p, "risk":
                np.c_[p / 2, p], "horizons": (0.5, 0.7), "tau": 0.7}  # fmt: skip
    for name in scv.metrics.__all__:
        function = getattr(scv.metrics, name)
        if inspect.isfunction(function):
            timed = function.__module__.startswith("statcv.metrics.survival")
            given = good(function, of_times if timed else known)
            calls.append((f"metrics.{name}", function, given))
    known = {"plan": plan, "result": res, "first": both, "test": res.test(), "curve":
             curve, "stability": stable, "estimates": {"a": res}, "results": res,
             "by": "g", "model": res.final, "n_boot": 100}  # fmt: skip
    for name in scv.plots.__all__:
        function = getattr(scv.plots, name)
        calls.append((f"plots.{name}", function, good(function, known)))
    for name in scv.splitters.__all__:
        splitter = getattr(scv.splitters, name)
        if inspect.isclass(splitter):
            calls.append((name, _splitting(splitter, data), good(splitter, {"p": 1})))
    return calls


def _splitting(splitter, data):
    """Return a function of a splitter's own arguments that splits with them."""

    def split(**arguments):
        made = splitter(**arguments)
        return list(made.split(data[["x"]], data["y"], data["g"]))

    split.__signature__ = inspect.signature(splitter)
    return split


def good(function, known):
    """Return the good arguments of those that a function takes."""
    taken = inspect.signature(function).parameters
    return {
        name: known[name]
        for name, p in taken.items()
        if name in known and (p.default is p.empty or name in COUNTS)
    }


def bad_calls(calls):
    """Return (label, function, arguments) of every call with one bad argument."""
    found = []
    for name, function, arguments in calls:
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name in ANY or parameter.kind in VARIABLE:
                continue
            for label, value in BAD.items():
                usual = value is None and parameter.default is None
                if not (usual or (parameter.name == "n_jobs" and label == "-1")):
                    given = {**arguments, parameter.name: value}
                    text = f"{name}({parameter.name}={label})"
                    found.append((text, function, given))
    return found


def outcome_of(function, arguments):
    """Return the error of a call, or None."""
    positional = []
    arguments = dict(arguments)
    for p in inspect.signature(function).parameters.values():
        if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) and p.name in arguments:
            positional.append(arguments.pop(p.name))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*positional, **arguments)
    except Exception as error:
        return error
    finally:
        plt.close("all")
    return None


@pytest.fixture(scope="module")
def calls():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return table()


def test_a_bad_argument_raises_an_error_of_statcv_or_none(calls):
    some = bad_calls(calls)
    assert len(some) > 10_000
    raw = []
    for number in np.random.default_rng(20).choice(len(some), CALLS, replace=False):
        text, function, arguments = some[number]
        error = outcome_of(function, arguments)
        if not (error is None or isinstance(error, StatcvError)):
            raw.append(f"{text}: {type(error).__name__}: {error}")
    assert not raw


@pytest.mark.parametrize("count", [10**6, 10**9, 10**400], ids=range(3))
def test_counts_are_bounded(calls, count):
    data, of = frame(), {name: function for name, function, _ in calls}
    res = scv.cv("y ~ x", data, k=3, seed=1)
    for call in (
        lambda: scv.cv("y ~ x", data, k=3, repeats=count),
        lambda: scv.fold_plan("y", data, repeats=count),
        lambda: scv.stratifier_bias("y ~ x", data, repeats=count),
        lambda: scv.Tuning({"C": [1.0]}, repeats=count),
        lambda: scv.cv("y ~ x", data, k=3, tune=scv.Tuning({"C": [1.0]}, k=count)),
        lambda: scv.cv("y ~ x", data, k=3, n_jobs=count),
        lambda: res.optimism_corrected(n_boot=count),
        lambda: res.corrected_calibration(n_boot=count),
        lambda: res.summary(digits=count),
        lambda: scv.by_quantile("x", per_fold=count),
        lambda: scv.folds.Bags(count),
        lambda: of["metrics.roc_band"](data["y"], data["p"], n_boot=count),
        lambda: of["metrics.calibration_groups"](data["y"], data["p"], groups=count),
        lambda: of["metrics.brier_parts"](data["y"], data["p"], groups=count),
        lambda: scv.plots.plot_risk(res, bins=count),
        lambda: sites.agree("y ~ x", k=count),
        lambda: sites.agree("y ~ x", permutations=count),
        lambda: sites.probability_edges(bins=count),
    ):
        with pytest.raises(StatcvError, match=r"at most|out of range|too many|0 to 12"):
            call()


@pytest.mark.parametrize("wrong", [-1, 10**9, 1.5, True, [0], np.array([0, 1]), None])
def test_a_number_of_a_split_or_fit_is_one_of_the_plan(wrong):
    plan = scv.fold_plan("y", frame(), k=3, seed=1)
    for method in (plan.test, plan.train, plan.left_out, plan.name):
        with pytest.raises(StatcvError, match=r"split must be|fit must be"):
            method(wrong)
    assert len(plan.test(np.int64(2))) == 8
    with pytest.raises(StatcvError, match="fit must be at most 2"):
        plan.train(3)


def test_an_empty_word_is_an_error(calls):
    said = []
    for text, function, arguments in bad_calls(calls):
        error = outcome_of(function, arguments) if "(how=empty)" in text else None
        said += [str(error)] * (error is not None)
    assert len(said) >= 10
    assert all("how is an empty text" in one for one in said)


def test_an_error_shows_no_address_and_no_long_value():
    res = scv.cv("y ~ x", frame(), k=3, seed=1)
    for wrong in (object(), np.zeros(1000), pd.Series(range(99)), [object()], 10**5000):
        with pytest.raises(StatcvError) as error:
            res.estimate(how=wrong)
        assert " at 0x" not in str(error.value)
        assert len(str(error.value)) < 120
