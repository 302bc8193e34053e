"""The optimism-corrected bootstrap, compared with a loop of scikit-learn fits."""

import warnings
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_equal
from scipy.special import logit
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import statcv as scv
from statcv.arguments import RESAMPLE
from statcv.engine import Setup
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    MetricError,
    OutcomeError,
    StatcvWarning,
    UndefinedMetricWarning,
)
from statcv.inference.refits import optimism as module
from statcv.inference.refits import resampling
from statcv.inference.refits.optimism import optimism_corrected
from statcv.metrics import METRICS, Metric, calibration_curve
from statcv.models import Linear, Logit
from statcv.words import limits_digits

AUROC = METRICS["auroc"]
SEPARATED = pytest.mark.filterwarnings("ignore:.*separated")


def frame(n=40, seed=6):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    data["y"] = (data["a"] + rng.logistic(size=n) > 0).astype(int)
    data["z"] = data["a"] + rng.normal(size=n)
    data["who"] = np.arange(n) // 2
    return data


def setup_of(formula, data, model, **arguments):
    result = scv.cv(formula, data, model=model, k=2, seed=3, **arguments)
    return Setup(
        result.design, result.plan, result.learner, result.seed, result.weights
    )


def shifted(setup, metric, *, interval="location_shifted", **given):
    """Correct a single metric, with the interval of Noma unless another is given."""
    return optimism_corrected(setup, [metric], interval=interval, **given)[0]


def drawn(seed, *key):
    return np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=(RESAMPLE, *key))
    )


def ridge(X, y):
    model = LogisticRegression(C=1.0, tol=1e-12, solver="newton-cholesky").fit(X, y)
    return lambda new: model.predict_proba(new)[:, 1]


def line(X, y):
    return LinearRegression().fit(X, y).predict


METHODS = {
    "auroc": ("y", ridge, lambda y, p, mean: roc_auc_score(y, p)),
    "log_loss": ("y", ridge, lambda y, p, mean: log_loss(y, p)),
    "accuracy": ("y", ridge, lambda y, p, mean: np.mean((p > 0.5) == y)),
    "balanced_accuracy": (
        "y",
        ridge,
        lambda y, p, mean: np.mean([np.mean((p > 0.5)[y == c] == c) for c in (0, 1)]),
    ),
    "r2": ("z", line, lambda y, p, mean: r2_score(y, p)),
    "r2_training": (
        "z",
        line,
        lambda y, p, mean: 1 - np.sum((y - p) ** 2) / np.sum((y - mean) ** 2),
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_it_is_the_method_of_harrell_with_the_interval_of_noma(name):
    outcome, fit, value = METHODS[name]
    data, times = frame(), 25
    model = Linear() if outcome == "z" else Logit(C=1.0)
    made = shifted(
        setup_of(f"{outcome} ~ a + b + c", data, model),
        METRICS[name],
        n_boot=times,
        level=0.9,
        seed=7,
    )
    X, y = data[["a", "b", "c"]].to_numpy(), data[outcome].to_numpy()
    own, whole = [], []
    for b in range(times):
        rows = drawn(7, b).integers(len(y), size=len(y))
        predict, mean = fit(X[rows], y[rows]), y[rows].mean()
        own.append(value(y[rows], predict(X[rows]), mean))
        whole.append(value(y, predict(X), mean))
    apparent = value(y, fit(X, y)(X), y.mean())
    optimism = np.mean(np.subtract(own, whole))
    lower, upper = np.quantile(own, [0.05, 0.95]) - optimism
    least, most = METRICS[name].bounds
    np.testing.assert_allclose(
        [made.apparent, made.optimism, float(made), made.lower, made.upper],
        [apparent, optimism, apparent - optimism, max(lower, least), min(upper, most)],
        atol=1e-8,
    )
    assert made.se == pytest.approx(np.std(own, ddof=1), abs=1e-8)
    assert made.interval.method == "location-shifted bootstrap"


def test_two_stages_correct_every_sample_again():
    data, times = frame(30), 6
    setup = setup_of("y ~ a + b", data, Logit(C=1.0))
    made = shifted(setup, AUROC, n_boot=times, interval="two_stage", seed=7, level=0.5)
    X, y = data[["a", "b"]].to_numpy(), data["y"].to_numpy()

    def auroc(trained, rows):
        return roc_auc_score(y[rows], ridge(X[trained], y[trained])(X[rows]))

    corrected = []
    for b in range(times):
        rng = drawn(7, b)
        rows = np.sort(rng.integers(30, size=30))
        again = [rows[rng.integers(30, size=30)] for _ in range(times)]
        optimism = np.mean([auroc(s, s) - auroc(s, rows) for s in again])
        corrected.append(auroc(rows, rows) - optimism)
    np.testing.assert_allclose(
        [made.lower, made.upper], np.quantile(corrected, [0.25, 0.75]), atol=1e-9
    )
    plain = shifted(setup, AUROC, n_boot=times, seed=7)
    assert plain.value == made.value


def looped(setup, metric, times, seed, draw):
    """Correct every sample in a loop of single fits; count the separated ones."""
    records, separated = setup.records, 0

    def value(predicted, rows):
        read = metric.readable(predicted[rows])
        return metric(records.y[rows], read)

    def optimism(rows, source):
        nonlocal separated
        if len(np.unique(records.y[rows])) < 2:
            return np.nan, np.nan
        X, y = records.X[rows], records.y[rows]
        weights = None if records.weights is None else records.weights[rows]
        fit = setup.model.fit(replace(records, X=X, y=y, weights=weights))
        separated += fit.separated
        predicted = fit.predict(records.X)
        own = value(predicted, rows)
        return own - value(predicted, source), own

    corrected = []
    for b in range(times):
        rng = drawn(seed, b)
        rows = draw(np.arange(len(records.y)), rng)
        _, own = optimism(rows, rows)
        again = [optimism(draw(rows, rng), rows)[0] for _ in range(times)]
        corrected.append(own - np.nanmean(again) if np.isfinite(own) else np.nan)
    return np.array(corrected), separated


def one_by_one(rows, rng):
    return np.sort(rows)[rng.integers(len(rows), size=len(rows))]


def spread(made):
    return [made.lower, made.upper, made.se]


def bounds(corrected, level=0.95):
    known = corrected[np.isfinite(corrected)]
    tails = [(1 - level) / 2, (1 + level) / 2]
    return [*np.quantile(known, tails), known.std(ddof=1)]


@pytest.mark.slow
@SEPARATED
@pytest.mark.parametrize("metric", ["auroc", "brier"])
@pytest.mark.parametrize("kind", ["plain", "separated", "tied", "both"])
def test_two_stages_are_those_of_a_loop_of_single_fits(kind, metric):
    data = frame(28, seed=5)
    if kind in ("tied", "both"):
        data[["a", "b"]] = data[["a", "b"]].round()
    if kind in ("separated", "both"):
        data["y"] = (data["a"] + 0.3 * data["c"] > 0.2).astype(int)
    setup, times = setup_of("y ~ a + b", data, Logit()), 15
    corrected, separated = looped(setup, METRICS[metric], times, 7, one_by_one)
    assert (separated > 40) == (kind in ("separated", "both"))
    made = shifted(setup, METRICS[metric], n_boot=times, interval="two_stage", seed=7)
    # with ties on the boundary, where a fit ends depends on the order of its rows: the
    # loop differs from itself by more than 1e-8
    atol = 1e-6 if kind == "both" else 1e-8
    np.testing.assert_allclose(spread(made), bounds(corrected), rtol=0, atol=atol)


@pytest.mark.parametrize("model", [Logit(C=2.0), Logit(firth=True)], ids=repr)
def test_penalties_are_those_of_a_loop_too(model):
    setup, metric = setup_of("y ~ a + b + c", frame(30), model), METRICS["log_loss"]
    corrected, _ = looped(setup, metric, 8, 7, one_by_one)
    made = shifted(setup, metric, n_boot=8, interval="two_stage", seed=7)
    np.testing.assert_allclose(spread(made), bounds(corrected), rtol=0, atol=1e-8)


def test_weights_of_the_records_are_those_of_a_loop_too():
    data = frame(30).assign(weight=np.arange(30) % 4 + 0.5)
    setup = setup_of("y ~ a + b", data, Logit(C=2.0), weights="weight")
    assert setup.records.weights is not None
    corrected, _ = looped(setup, AUROC, 8, 7, one_by_one)
    made = shifted(setup, AUROC, n_boot=8, interval="two_stage", seed=7)
    np.testing.assert_allclose(spread(made), bounds(corrected), rtol=0, atol=1e-8)


def test_clusters_drawn_twice_count_as_two():
    data = frame(30)
    setup = setup_of(
        "y ~ a", data, Logit(C=1.0), stratify=scv.by_value("who"), scheme="kfold"
    )

    def draw(rows, rng):
        units = np.sort(rows.reshape(-1, 2)[:, 0])  # a cluster is two records
        first = units[rng.integers(len(units), size=len(units))]
        return np.column_stack([first, first + 1]).ravel()

    corrected, _ = looped(setup, AUROC, 9, 7, draw)
    made = shifted(setup, AUROC, n_boot=9, interval="two_stage", seed=7)
    np.testing.assert_allclose(spread(made), bounds(corrected), rtol=0, atol=1e-8)


def test_two_stages_keep_the_classes_of_a_stratified_sample():
    data, times = frame(30), 8
    setup = setup_of("y ~ a", data, Logit(C=1.0))
    study = resampling.Samples((AUROC,), True, None, 7, times)
    samples_of = resampling.Resampling(setup, study)
    samples, generators = samples_of.samples(range(times))
    for sample, rng in zip(samples, generators, strict=True):
        rows = np.repeat(np.arange(30), sample)
        again = samples_of.draw(rows, rng, 5)
        assert (again[:, data["y"] == 1].sum(axis=1) == data["y"].sum()).all()
        assert (again.sum(axis=1) == 30).all()
        assert (again[:, sample == 0] == 0).all()
    made = shifted(setup, AUROC, n_boot=times, stratified=True, interval="two_stage")
    assert made.lower < made.upper


def test_models_that_are_fitted_one_by_one_have_two_stages_too():
    data = frame(30)
    estimator = LogisticRegression(tol=1e-12, solver="newton-cholesky")
    both = [
        shifted(
            setup_of(formula, data, model),
            METRICS["brier"],
            n_boot=6,
            interval="two_stage",
            seed=7,
        )
        for formula, model in (
            ("y ~ a + b", Logit(C=1.0)),
            ("y ~ a + b", estimator),
            ("y ~ center(a) + b", Logit(C=1.0)),  # the centre is learnt in every sample
        )
    ]
    for other in both[1:]:
        np.testing.assert_allclose(spread(other), spread(both[0]), rtol=0, atol=1e-7)


@SEPARATED
@pytest.mark.parametrize("n_boot", [7, pytest.param(70, marks=pytest.mark.slow)])
def test_threads_and_their_number_change_nothing(n_boot):
    setup = setup_of("y ~ a + b", frame(24), Logit())
    given = {"n_boot": n_boot, "interval": "two_stage"}
    alone = shifted(setup, AUROC, **given)
    with parallel_config(backend="threading", n_jobs=3):
        assert shifted(setup, AUROC, **given) == alone


@SEPARATED
@pytest.mark.slow
def test_processes_and_models_that_draw_change_nothing():
    forest = RandomForestClassifier(n_estimators=2, max_depth=2)
    for model in (forest, Logit()):
        setup = setup_of("y ~ a + b", frame(24), model)
        given = {"n_boot": 6, "interval": "two_stage"}
        alone = shifted(setup, AUROC, **given)
        assert shifted(setup, AUROC, **given, n_jobs=2) == alone


@pytest.mark.slow
@SEPARATED
def test_how_many_samples_are_fitted_together_changes_nothing(monkeypatch):
    setup = setup_of("y ~ a + b", frame(24), Logit())
    given = {"n_boot": 40, "interval": "two_stage"}
    before = shifted(setup, AUROC, **given)
    monkeypatch.setattr(resampling, "TOGETHER", 1)
    monkeypatch.setattr(resampling, "PREDICTIONS", 24 * 7)
    after = shifted(setup, AUROC, **given)
    np.testing.assert_allclose(spread(after), spread(before), rtol=0, atol=1e-10)


def test_the_bar_counts_every_fit(monkeypatch):
    made = []

    class Bar:
        def __enter__(self):
            return self

        def __exit__(self, *raised):
            pass

        def update(self, n=1):
            made.append(n)

    monkeypatch.setattr(module, "progress_bar", lambda total, *_: Bar())
    data = frame(12).assign(y=[1, 1] + 10 * [0])
    setup = setup_of("y ~ a", data, Logit(C=1.0))
    with pytest.warns(UndefinedMetricWarning):
        shifted(setup, AUROC, n_boot=40, interval="two_stage")
    assert sum(made) == 40 * 41


def test_an_interrupted_call_ends_and_can_be_repeated():
    setup, calls = setup_of("y ~ a", frame(20), Logit(C=1.0)), []

    def interrupted(y, p):
        calls.append(1)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return float(np.mean((y - p) ** 2))

    metric = Metric("mine", "mine", interrupted, False, frozenset(["binary"]))
    before = warnings.filters.copy()
    with pytest.raises(KeyboardInterrupt):
        shifted(setup, metric, n_boot=8, interval="two_stage")
    assert warnings.filters == before
    given = {"n_boot": 8, "interval": "two_stage"}
    mine = shifted(setup, metric, **given)
    brier = shifted(setup, METRICS["brier"], **given)
    np.testing.assert_allclose(spread(mine), spread(brier), rtol=0, atol=1e-12)


def test_terms_learn_in_every_sample():
    data = frame()
    made = shifted(
        setup_of("y ~ scale(a) + b", data, Logit(C=1.0)),
        METRICS["brier"],
        n_boot=10,
        seed=7,
    )
    X, y = data[["a", "b"]].to_numpy(), data["y"].to_numpy()
    gained = []
    for b in range(10):
        rows = drawn(7, b).integers(len(y), size=len(y))
        scaler = StandardScaler().fit(X[rows, :1])

        def scaled(of, scaler=scaler):
            return np.column_stack([scaler.transform(of[:, :1]), of[:, 1]])

        predicted = ridge(scaled(X[rows]), y[rows])(scaled(X))
        losses = (y - predicted) ** 2
        gained.append(losses[rows].mean() - losses.mean())
    assert made.optimism == pytest.approx(np.mean(gained), abs=1e-8)


@pytest.mark.slow
def test_models_of_other_libraries_and_processes_give_the_same(monkeypatch):
    data = frame()
    estimator = LogisticRegression(tol=1e-12, solver="newton-cholesky")
    together = shifted(
        setup_of("y ~ a + b", data, Logit(C=1.0)), METRICS["brier"], n_boot=8
    )
    alone = setup_of("y ~ a + b", data, estimator)
    apart = shifted(alone, METRICS["brier"], n_boot=8)
    assert apart.value == pytest.approx(together.value, abs=1e-7)
    forest = RandomForestClassifier(n_estimators=2, max_depth=2)
    setup = setup_of("y ~ a + b", data, forest)
    one = shifted(setup, AUROC, n_boot=6)
    monkeypatch.setattr(resampling, "PREDICTIONS", 80)
    assert shifted(setup, AUROC, n_boot=6, n_jobs=2) == one


def resampled(setup, stratified):
    study = resampling.Samples((AUROC,), stratified, None, 1, 20)
    return resampling.Resampling(setup, study).samples(range(20))


def test_whole_clusters_are_drawn_with_their_classes():
    data = frame()
    whole = setup_of(
        "y ~ a", data, Logit(C=1.0), stratify=scv.by_value("who"), scheme="kfold"
    )
    samples, _ = resampled(whole, stratified=False)
    assert (samples[:, ::2] == samples[:, 1::2]).all()
    assert (samples.sum(axis=1) == 40).all()
    plain = setup_of("y ~ a", data, Logit(C=1.0))
    samples, _ = resampled(plain, stratified=True)
    assert (samples[:, data["y"] == 1].sum(axis=1) == data["y"].sum()).all()
    with pytest.raises(ArgumentError, match="clusters are drawn whole"):
        shifted(whole, AUROC, stratified=True)
    numbers = setup_of("z ~ a", data, Linear())
    with pytest.raises(ArgumentError, match="continuous"):
        shifted(numbers, METRICS["mse"], stratified=True)


def test_thresholds_are_used_fixed_or_chosen():
    data = frame()
    setup = setup_of("y ~ a", data, Logit(C=1.0))
    half = shifted(setup, METRICS["accuracy"], n_boot=9)
    given = shifted(setup, METRICS["accuracy"], n_boot=9, threshold=0.5)
    assert given == half
    all_negative = shifted(setup, METRICS["accuracy"], n_boot=9, threshold=1.0)
    assert all_negative.apparent == pytest.approx(1 - data["y"].mean())


def test_samples_without_a_class_are_omitted_and_counted():
    data = frame(12).assign(y=[1, 1] + 10 * [0])
    setup = setup_of("y ~ a", data, Logit(C=1.0))
    without = sum((drawn(7, b).integers(12, size=12) >= 2).all() for b in range(40))
    assert without > 0
    with pytest.warns(UndefinedMetricWarning, match=f"in {without} of 40 bootstrap"):
        made = shifted(setup, AUROC, n_boot=40, seed=7)
    assert made.n_undefined == without
    assert np.isfinite(made.value)


@pytest.mark.filterwarnings("ignore:.*hyperparameters are chosen")
def test_samples_that_cannot_be_divided_to_tune_are_omitted_and_counted():
    data = frame(24).assign(y=3 * [1] + 21 * [0])
    result = scv.cv("y ~ a", data, k=3, seed=1, tune={"C": [0.1, 1.0]})
    samples = (drawn(5, b).integers(24, size=24) for b in range(40))
    alone = sum(len(np.unique(sample[sample < 3])) < 2 for sample in samples)
    assert alone > 0
    with pytest.warns(UndefinedMetricWarning, match=f"in {alone} of 40 bootstrap"):
        found = result.optimism_corrected(n_boot=40, seed=5)
    assert np.isfinite(found.value)


def test_an_apparent_value_that_cannot_vary_has_no_interval_to_move():
    """The calibration slope of a maximum likelihood fit is 1 in its own data."""

    def slope(y, p):
        odds = np.log(p / (1 - p))[:, None]
        model = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky")
        return float(model.fit(odds, y).coef_[0, 0])

    metric = Metric("slope", "slope", slope, True, frozenset(["binary"]), "numbers")
    setup = setup_of("y ~ a + b", frame(60), Logit())
    made = shifted(setup, metric, n_boot=20)
    assert made.apparent == pytest.approx(1, abs=1e-6)
    assert 0 < made.value < 1
    assert np.isnan([made.lower, made.upper, made.se]).all()
    assert made.method == "none"
    assert "interval='two_stage'" in made.assumes
    twice = shifted(setup, metric, n_boot=8, interval="two_stage")
    assert twice.lower < twice.upper


def test_a_forest_is_more_optimistic_than_the_bootstrap_says():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(80, 3)), columns=["y", "a", "b"])
    data["y"] = (data["y"] > 0).astype(int)  # noise
    forest = RandomForestClassifier(10, random_state=1)
    res = scv.cv("y ~ a + b", data, model=forest, k=4, seed=1)
    with pytest.warns(StatcvWarning, match="corrected auROC, .* lies outside"):
        assert float(res.optimism_corrected(n_boot=10, seed=1)) > 0.8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        res.update(model="logit").optimism_corrected(n_boot=10, seed=1)


def test_arguments_out_of_range_raise_an_error():
    setup = setup_of("y ~ a", frame(), Logit(C=1.0))
    with pytest.raises(ArgumentTypeError, match="n_boot"):
        shifted(setup, AUROC, n_boot=2.5)
    with pytest.raises(ArgumentError, match="n_boot"):
        shifted(setup, AUROC, n_boot=1)
    with pytest.raises(ArgumentError, match="'abcloc' or 'location_shifted' or 'two_"):
        shifted(setup, AUROC, interval="percentile")


# ---- the half-widths of the cross-validated interval, and the limits of rms ----


def cross_validated(n=60, outcome="y"):
    model = Linear() if outcome == "z" else Logit(C=1.0)
    return scv.cv(f"{outcome} ~ a + b + c", frame(n), model=model, k=5, seed=1)


def as_it_is(value):
    return value


SCALES = {
    "auroc": ("y", logit),
    "accuracy": ("y", logit),
    "oe_ratio": ("y", np.log),
    "rmse": ("z", np.log),
    "calibration_slope": ("y", as_it_is),
    "brier": ("y", as_it_is),  # the Brier score reaches 2 with several classes
    "r2": ("z", as_it_is),
}


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("name", SCALES)
def test_the_default_interval_has_the_half_widths_of_cross_validation(name, level):
    outcome, scale = SCALES[name]
    result = cross_validated(outcome=outcome)
    made = result.optimism_corrected(name, n_boot=30, level=level)
    around = result.estimate(name, level=level)
    np.testing.assert_allclose(
        scale(np.array([made.lower, made.upper])) - scale(float(made)),
        scale(np.array([around.lower, around.upper])) - scale(float(around)),
        rtol=1e-9,
    )
    assert made.lower < float(made) < made.upper
    assert around.method in made.method
    near = 1e-6  # the standard error is moved by the slopes of the scale
    slope, other = (
        (scale(value + near) - scale(value - near)) / (2 * near)
        for value in (float(made), float(around))
    )
    assert made.se * slope == pytest.approx(around.se * other, rel=1e-6)


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_what_the_moved_limits_count_for_the_bias_of_pooled_ranks_is_said():
    result = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), scheme="loocv")
    for name, pooled in [("auroc", True), ("brier", False)]:
        made = result.optimism_corrected(name, n_boot=20, seed=1)
        assert result.estimate(name).how == "pooled"
        assert ("bias of ranks that are pooled" in made.assumes) == pooled


def textbook_limits(own, whole, corrected, z):
    """Return the limits of rms::predab.resample, with the sides of Hmisc::dualSD."""
    index = [a - 1.25 * b for a, b in zip(own, whole, strict=True)]
    centre = sum(index) / len(index)

    def deviation(side):
        return (sum((each - centre) ** 2 for each in side) / (len(side) - 1)) ** 0.5

    if len(index) < 10:
        below = above = deviation(index)
    else:
        below = deviation([each for each in index if each <= centre])
        above = deviation([each for each in index if each >= centre])
    return corrected - z * above, corrected + z * below


@pytest.mark.parametrize("n_boot", [9, 10, 40])
@pytest.mark.parametrize("name", ["auroc", "log_loss", "r2"])
def test_the_abcloc_limits_are_those_of_rms(name, n_boot):
    outcome, fit, value = METHODS[name]
    data = frame()
    model = Linear() if outcome == "z" else Logit(C=1.0)
    setup = setup_of(f"{outcome} ~ a + b + c", data, model)
    made = shifted(
        setup, METRICS[name], interval="abcloc", n_boot=n_boot, level=0.8, seed=7
    )
    X, y = data[["a", "b", "c"]].to_numpy(), data[outcome].to_numpy()
    own, whole = [], []
    for b in range(n_boot):
        rows = drawn(7, b).integers(len(y), size=len(y))
        predict = fit(X[rows], y[rows])
        own.append(value(y[rows], predict(X[rows]), None))
        whole.append(value(y, predict(X), None))
    lower, upper = textbook_limits(own, whole, float(made), norm.ppf(0.9))
    least, most = METRICS[name].bounds
    np.testing.assert_allclose(
        [made.lower, made.upper], [max(lower, least), min(upper, most)], atol=1e-7
    )
    index = np.subtract(own, 1.25 * np.array(whole))
    assert made.se == pytest.approx(index.std(ddof=1), abs=1e-8)
    assert made.method == "ABCLOC bootstrap"


def separated():
    data = frame()
    data["y"] = (data["a"] > 0).astype(int)
    data["a"] += np.where(data["y"] == 1, 1, -1)
    return scv.cv("y ~ a", data, model=Logit(C=1.0), k=5, seed=1)


def test_an_interval_without_limits_says_why():
    result = separated()
    assert float(result.estimate("auroc")) == 1
    area = result.optimism_corrected("auroc", n_boot=20)
    assert (area.value, area.method) == (1, "none")
    assert area.assumes == "its logit is infinite"
    share = result.optimism_corrected("accuracy", n_boot=20)
    assert result.estimate("accuracy").lower < 1
    assert share.interval.assumes == "its logit is infinite"
    loss = result.optimism_corrected("balanced_accuracy", n_boot=20)
    why = result.estimate("balanced_accuracy").assumes
    assert "measures no variation" in why
    assert loss.interval.assumes == f"the cross-validated estimate has none: {why}"
    sides = result.optimism_corrected("auroc", n_boot=20, interval="abcloc")
    assert sides.assumes == "its value is the same in every sample"
    given = setup_of("y ~ a", frame(), Logit(C=1.0))
    lacking = shifted(given, AUROC, n_boot=5, interval="cross_validated")
    assert lacking.assumes.endswith("has none: it was not computed")
    for made in (area, share, loss, sides, lacking):
        assert np.isnan([made.lower, made.upper, made.se]).all()
        assert "Intervals: none for" in str(made)
        assert "CI)" not in str(made)


@pytest.mark.parametrize("value", [0.0, -0.2])
def test_a_ratio_that_is_not_positive_has_no_interval(value):
    around = cross_validated().estimate("oe_ratio")
    made = module._moved(METRICS["oe_ratio"], value, around)
    assert (made.method, made.assumes) == ("none", "its logarithm is infinite")


def test_other_intervals_need_no_cross_validated_estimate(monkeypatch):
    result = cross_validated()

    def refused(*_, **__):
        raise AssertionError

    monkeypatch.setattr(type(result), "estimate", refused)
    made = result.optimism_corrected("auroc", n_boot=5, interval="abcloc")
    assert made.lower < made.upper


# ---- several metrics of the same fits ----


NAMES = ["auroc", "log_loss", "calibration_slope", "accuracy", "oe_ratio"]


@pytest.mark.parametrize("interval", module.INTERVALS)
def test_several_metrics_are_those_of_single_calls(interval):
    result = cross_validated(40)
    n_boot = 5 if interval == "two_stage" else 20
    given = {"n_boot": n_boot, "interval": interval, "seed": 3, "level": 0.9}
    table = result.optimism_corrected(NAMES, **given)
    assert list(table) == NAMES
    assert len(table) == len(NAMES)
    for name in NAMES:
        alone = result.optimism_corrected(name, **given)
        assert_equal(asdict(table[name]), asdict(alone))
        fixed = name == "oe_ratio" and interval == "location_shifted"  # apparently 1
        assert (table[name].method == "none") == fixed
    metrics = [METRICS[name] for name in NAMES]
    again = result.optimism_corrected(metrics, **given)
    for name in NAMES:  # a limit that is not known is the same, too
        assert_equal(asdict(again[name]), asdict(table[name]))


def test_the_table_has_the_columns_of_rms():
    data = frame(12).assign(y=[1, 1] + 10 * [0])
    result = scv.cv("y ~ a", data, model=Logit(C=1.0), k=2, seed=3)
    without = sum((drawn(7, b).integers(12, size=12) >= 2).all() for b in range(40))
    with pytest.warns(UndefinedMetricWarning, match=f"in {without} of 40 bootstrap"):
        table = result.optimism_corrected(["auroc", "brier"], n_boot=40, seed=7)
    made = table.to_frame()
    columns = ["apparent", "optimism", "corrected", "lower", "upper", "n"]
    assert list(made.columns) == columns
    assert made.index.tolist() == ["auroc", "brier"]
    assert made.index.name == "metric"
    assert made["n"].tolist() == [40 - without, 40 - without]
    for name, one in table.items():
        row = [one.apparent, one.optimism, one.value, one.lower, one.upper]
        np.testing.assert_array_equal(made.loc[name, columns[:-1]], row)
    np.testing.assert_allclose(made["apparent"] - made["optimism"], made["corrected"])


def test_one_and_several_are_printed_within_80_columns():
    result = cross_validated()
    names = [metric.name for metric in METRICS.values() if "binary" in metric.outcomes]
    table = result.optimism_corrected(names, n_boot=10, level=0.9)
    one = table["auprc_trapezoid"]
    for printed in (str(table), str(one), repr(table), repr(one)):
        assert max(map(len, printed.splitlines())) <= 80
        assert printed.startswith("Corrected for optimism by 10 bootstrap samples\n")
        assert "corrected (90% CI)" in printed
        assert "auPR (trapezoid)" in printed
    line = next(line for line in str(one).splitlines() if line.startswith("auPR"))
    digits = limits_digits(one.lower, one.upper)
    limits = f"({one.lower:.{digits}f} to {one.upper:.{digits}f})"
    shown = (one.apparent, one.optimism, one.value)
    numbers = [f"{each:.{digits}f}" for each in shown]
    assert line.split("(trapezoid)")[1].split() == [*numbers, *limits.split(), "10"]
    assert f"Intervals: {one.method}" in " ".join(str(one).split())


def test_the_summary_adds_the_table():
    result = cross_validated(40)
    plain, summary = result.summary(level=0.9), result.summary(0.9, optimism=True)
    caption = "Corrected for optimism by the bootstrap"
    assert list(summary.tables) == [*plain.tables, caption]
    names = [metric.name for metric in result.chosen_metrics]
    table = result.optimism_corrected(names, level=0.9)
    pd.testing.assert_frame_equal(summary.tables[caption], table.to_frame())
    text = str(summary)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    for name, row in table.shown.iterrows():
        assert " ".join([name, *row]) in lines
    assert caption in text
    assert caption in summary._repr_html_()
    assert caption not in str(plain)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("level", [-1, 0, 1, 95, None, float("nan")])
def test_a_level_outside_of_0_to_1_is_refused(level):
    with pytest.raises(ArgumentError, match="level must lie between 0 and 1"):
        cross_validated(40).optimism_corrected("auroc", n_boot=5, level=level)
    setup = setup_of("y ~ a", frame(), Logit(C=1.0))
    with pytest.raises(ArgumentError, match="level must lie between 0 and 1"):
        optimism_corrected(setup, [AUROC], n_boot=5, level=level)


def test_an_unknown_interval_is_refused():
    known = "'cross_validated' or 'abcloc' or 'location_shifted' or 'two_stage', not"
    with pytest.raises(ArgumentError, match=f"{known} 'percentile'"):
        cross_validated(40).optimism_corrected(["auroc"], interval="percentile")
    with pytest.raises(ArgumentTypeError, match="a list of one or more, not"):
        cross_validated(40).optimism_corrected([])


# ---- the calibration curve ----


@pytest.mark.parametrize("smooth", ["spline", "loess"])
def test_the_corrected_calibration_curve_is_that_of_a_loop(smooth):
    data, n_boot = frame(80), 20
    result = scv.cv("y ~ a + b + c", data, model=Logit(C=1.0), k=2, seed=3)
    made = result.corrected_calibration(n_boot=n_boot, level=0.8, smooth=smooth, seed=7)
    X, y = data[["a", "b", "c"]].to_numpy(), data["y"].to_numpy()
    p = ridge(X, y)(X)
    assert_allclose(made.predictions, p, atol=1e-7)
    at = np.linspace(np.sort(p)[4], np.sort(p)[-5], 50)
    assert_allclose(made.predicted, at, atol=1e-7)

    def curve(rows, fitted):
        return calibration_curve(y[rows], fitted[rows], at=at, smooth=smooth).observed

    own, whole, every = [], [], np.arange(80)
    for b in range(n_boot):
        rows = drawn(7, b).integers(80, size=80)
        fitted = ridge(X[rows], y[rows])(X)
        own.append(curve(rows, fitted))
        whole.append(curve(every, fitted))
    own, whole, apparent = np.array(own), np.array(whole), curve(every, p)
    assert_allclose(made.apparent, apparent, atol=1e-6)
    for point in (10, 25, 40):  # within the range of every fit
        optimism = (own[:, point] - whole[:, point]).mean()
        corrected = apparent[point] - optimism
        limits = textbook_limits(
            own[:, point], whole[:, point], corrected, norm.ppf(0.9)
        )
        assert made.optimism[point] == pytest.approx(optimism, abs=1e-6)
        assert made.corrected[point] == pytest.approx(corrected, abs=1e-6)
        found = made.lower[point], made.upper[point]
        assert_allclose(found, np.clip(limits, 0, 1), atol=1e-6)
    off = np.abs(np.interp(p, at, made.corrected) - p)[(p >= at[0]) & (p <= at[-1])]
    assert made.distance == pytest.approx(off.mean(), abs=1e-6)
    assert list(made.to_frame()) == [
        *("predicted", "apparent", "optimism", "corrected", "lower", "upper")
    ]


def test_points_where_few_samples_have_a_curve_have_no_band():
    data = frame(30)
    data["a"] = [*np.zeros(24), *np.arange(1, 7) / 10]  # few predictions are extreme
    result = scv.cv("y ~ a", data, model=Logit(C=1.0), k=2, seed=3)
    with pytest.warns(UndefinedMetricWarning, match=r"no value in half.* of 50 points"):
        made = result.corrected_calibration(n_boot=20, seed=1)
    assert_equal(np.isnan(made.lower), np.isnan(made.optimism))


def test_a_calibration_curve_needs_probabilities_of_two_classes():
    continuous = scv.cv("z ~ a", frame(), k=2, seed=3)
    with pytest.raises(OutcomeError, match="two classes"):
        continuous.corrected_calibration()
    scores = scv.cv("y ~ a", frame(), model=LinearSVC(), k=2, seed=3)
    with pytest.raises(MetricError, match="probabilities"):
        scores.corrected_calibration()
    with pytest.raises(ArgumentError, match="n_boot must be 2 or more"):
        scv.cv("y ~ a", frame(), k=2, seed=3).corrected_calibration(n_boot=1)
