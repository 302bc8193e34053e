"""Missing covariates, imputed in every training set."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import statcv as scv
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnError,
    ConvergenceWarning,
    DataError,
    ModelError,
    StatcvWarning,
)
from statcv.formula import make_design
from statcv.inference.refits.resampling import Resampling, Samples
from statcv.models.imputation import Completed, Median, Mice
from statcv.models.imputation.imputed import outcome_in

REFERENCE = Path(__file__).parents[1] / "reference"
N = 60
FEW = Mice(m=3, iterations=4)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    frame["b"] += frame["a"]
    frame["g"] = rng.choice(list("uvw"), N)
    frame["s"] = (rng.random(N) < expit(frame["a"])).astype(int)
    frame["y"] = (rng.random(N) < expit(frame["a"] + frame["c"])).astype(int)
    frame["z"] = frame["a"] + rng.normal(size=N)
    frame["time"] = rng.integers(1, 20, N) / 4
    return frame


@pytest.fixture(scope="module")
def gaps(data):
    rng = np.random.default_rng(9)
    made = data.copy()
    for name in ("a", "b", "g", "s"):
        made[name] = made[name].where(rng.random(N) > 0.2)
    return made


def completed(imputer, frame, formula="y ~ a + b + c + g + s", counts=None, seed=1):
    design = make_design(formula, frame, scope={}, incomplete="impute")
    counts = np.ones((1, design.n)) if counts is None else counts
    seeds = seed + np.arange(len(counts))
    return design, Completed.of_fits(imputer, design, counts, seeds)


# ---- the draws ----

R_CASES = {  # the column that is missing, and those that are drawn from a normal
    "normal": ("a", ("a",)),
    "matched": ("a", ()),
    "classes": ("b", ()),
    "multinomial": ("g", ()),
    "chained": (None, ()),
}


@pytest.mark.parametrize(
    "case", [*list(R_CASES)[:-1], pytest.param("chained", marks=pytest.mark.slow)]
)
def test_draws_are_those_of_mice(case):
    """Means by record within Monte Carlo error, and the spread between imputations.

    mice's multinomial regression does not draw its coefficients, so that its spread is
    smaller.
    """
    (name, normal), m = R_CASES[case], 500
    frame = pd.read_csv(REFERENCE / "mice_cases.csv")
    expected = pd.read_csv(REFERENCE / "mice_r.csv", keep_default_na=False)
    expected = expected[expected["case"] == case]
    if name:
        others = [other for other in "abg" if other != name]
        frame = frame[frame[others].notna().all(axis=1)]
    imputer = Mice(m=m, iterations=1 if name else 10, normal=normal)
    design, made = completed(imputer, frame, "y ~ x + z + a + b + g")
    own = made.chains.variables
    for (column, level), part in expected.groupby(["column", "level"]):
        j = own.names.index(column)
        drawn = made.chains.completed[0, :, :, j]
        if level:
            drawn = drawn == own.labels[j].tolist().index(type(own.labels[j][0])(level))
        rows = design.labels.get_indexer(part["row"][part["row"] >= 0])
        assert_array_equal(rows, np.flatnonzero(own.absent[:, j]))
        drawn, means = drawn[:, rows], part["mean"].to_numpy()
        error = drawn.std(axis=0) * np.sqrt(1 / m + 1 / 1000)
        away = (drawn.mean(axis=0) - means[:-1]) / np.maximum(error, 0.01)
        assert np.sqrt(np.mean(away**2)) < 1.5 + 0.7 * (column == "g")
        spread = drawn.mean(axis=1).std(ddof=1) / means[-1]
        assert 0.86 < spread < 1.16 + 0.2 * (column == "g")


def test_matched_values_are_those_of_training_records(gaps):
    counts = np.ones((2, N))
    counts[0, :20] = counts[1, 40:] = 0
    _, made = completed(FEW, gaps, counts=counts)
    own = made.chains.variables
    for fit, j in ((0, 0), (1, 1)):
        known = own.values[(counts[fit] > 0) & ~own.absent[:, j], j]
        lacks = own.absent[own.rows, j]
        assert np.isin(made.values[fit][:, lacks, j], known).all()


# ---- what is learnt where ----


def test_held_out_outcomes_change_no_imputed_value(gaps):
    counts = np.ones((3, N))
    for fit in range(3):
        counts[fit, fit::3] = 0
    formula = "z ~ a + b + c + g + s"
    _, made = completed(FEW, gaps, formula, counts)
    for fit in range(3):
        other = gaps.assign(z=gaps["z"].where(counts[fit] > 0, 1e3 - gaps["z"]))
        _, again = completed(FEW, other, formula, counts)
        assert_array_equal(made.values[fit], again.values[fit])
        assert (made.values != again.values).any()  # they train the other fits


def test_held_out_covariates_change_no_training_value(gaps):
    counts = np.ones((1, N))
    counts[0, 50:] = 0
    other = gaps.assign(c=gaps["c"].where(counts[0] > 0, 5.0))
    (_, one), (_, two) = (
        completed(FEW, frame, counts=counts) for frame in (gaps, other)
    )
    trained = counts[0, one.chains.variables.rows] > 0
    assert_allclose(one.values[0][:, trained], two.values[0][:, trained], rtol=1e-9)
    assert (one.values[0][:, ~trained] != two.values[0][:, ~trained]).any()


def test_fits_are_imputed_alike_together_and_alone(gaps):
    counts = np.ones((4, N))
    for fit in range(4):
        counts[fit, fit::4] = 0
    _, together = completed(FEW, gaps, counts=counts, seed=3)
    for fit in range(4):
        _, alone = completed(FEW, gaps, counts=counts[[fit]], seed=3 + fit)
        assert_allclose(together.values[fit], alone.values[0], rtol=1e-9)


def test_times_impute_as_event_and_cumulative_hazard(gaps):
    design = make_design("Surv(time, s) ~ a + b", gaps.dropna(subset="s"), scope={})
    counts = np.ones((1, design.n))
    event, hazard = outcome_in(design, counts)[0].T
    times, events = np.abs(design.y), design.y > 0
    slow = [
        sum(events[i] / (times >= times[i]).sum() for i in np.flatnonzero(times <= t))
        for t in times
    ]
    assert_allclose(hazard, slow, rtol=1e-12)
    assert_array_equal(event, events)


# ---- the cross-validation ----


def test_complete_data_give_the_numbers_without_imputation(data, gaps):
    plain = scv.cv("y ~ a + g", data, k=3, seed=1)
    res = scv.cv("y ~ a + g", data, impute=FEW, k=3, seed=1)
    assert res.metrics().equals(plain.metrics())
    given = res.final.predict(gaps)
    whole = gaps[["a", "g"]].notna().all(axis=1)
    assert_allclose(given[whole], plain.final.predict(data)[whole], rtol=1e-12)
    assert given.notna().all()
    assert "imputed 3 times without the outcome" in " ".join(str(given).split())


@pytest.mark.filterwarnings("ignore:.*converged", "ignore:.*separated")
@pytest.mark.parametrize("impute", [FEW, "median", Median(indicators=True)])
def test_numbers_do_not_depend_on_processes(gaps, impute):
    made = {"impute": impute, "scheme": "rloocv", "repeats": 1, "seed": 2}
    one = scv.cv("y ~ a + g", gaps.head(30), n_jobs=1, **made)
    two = scv.cv("y ~ a + g", gaps.head(30), n_jobs=2, **made)
    assert one.predictions["predicted"].equals(two.predictions["predicted"])
    assert one.design.n == 30
    assert np.isfinite(one.held.predicted).all()


@pytest.mark.parametrize("indicators", [False, True])
def test_medians_are_those_of_scikit_learn(gaps, indicators):
    peer = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=indicators), LinearRegression()
    )
    made = {"k": 4, "seed": 1, "metrics": "mse"}
    res = scv.cv("z ~ a + b", gaps, impute=Median(indicators), **made)
    other = scv.cv("z ~ a + b", gaps, model=peer, **made)
    assert_allclose(res.held.predicted, other.held.predicted, rtol=1e-8)
    assert_allclose(res.final.predict(gaps), other.final.predict(gaps), rtol=1e-8)


def test_terms_are_computed_from_imputed_columns(gaps):
    formula = "z ~ scale(a) * g + I(b**2)"
    res = scv.cv(formula, gaps, impute=FEW, k=3, seed=1)
    training = res.plan.train(1)
    counts = np.bincount(training, minlength=N)[None].astype(float)
    seeds = res.refits.setup.folds.seeds(np.array([1]))
    design = res.design
    made = Completed.of_fits(FEW, design, counts, seeds)
    held, total = res.plan.fits.held_out_by(1), 0.0
    for k in range(3):
        whole = gaps.copy()
        for name in made.chains.variables.names:
            whole[name] = made.of(k).completed(0, np.arange(N))[name].to_numpy()
        mean, sd = whole["a"].iloc[training].agg(["mean", "std"])
        scaled = (whole["a"] - mean) / sd
        dummies = [(whole["g"] == level).astype(float) for level in "vw"]
        columns = [
            scaled,
            *dummies,
            *(one * scaled for one in dummies),
            whole["b"] ** 2,
        ]
        X = np.column_stack(columns)
        fit = LinearRegression().fit(X[training], gaps["z"].iloc[training])
        total = total + fit.predict(X[held]) / 3
    assert_allclose(res.held.predicted[res.held.fit == 1], total, rtol=1e-8)


def test_a_new_record_is_predicted_alike_in_any_company(gaps):
    res = scv.cv("y ~ a + b + s + g", gaps, impute=FEW, k=3, seed=1)
    every = res.final.predict(gaps)
    assert_allclose(res.final.predict(gaps.iloc[[7]]), every.iloc[[7]], rtol=1e-12)
    assert_allclose(res.final.predict(gaps[::-1]).loc[every.index], every, rtol=1e-12)
    whole = gaps.dropna()
    assert_allclose(res.final.predict(whole), every[whole.index], rtol=1e-12)
    assert "imputed" not in str(res.final.predict(whole))
    lacking = whole.assign(a=np.nan).head(1)
    assert 0 < res.final.predict(lacking).item() < 1


@pytest.mark.filterwarnings("ignore:.*converged")
def test_outcomes_of_every_kind(gaps):
    made = {"impute": FEW, "k": 3, "seed": 1}
    event = gaps.assign(e=(np.arange(N) % 3 > 0).astype(int))
    times = scv.cv("Surv(time, e) ~ a + b", event, horizon=2.0, **made)
    number = scv.cv("z ~ a + g", gaps, **made)
    classes = scv.cv(
        "k ~ a + b", gaps.assign(k=np.array(list("xyz"))[np.arange(N) % 3]), **made
    )
    counts = scv.cv(
        "time ~ a", gaps.assign(time=np.arange(N) % 4), model="poisson", **made
    )
    clusters = scv.cv("y ~ a", gaps.assign(i=np.arange(N) // 2), stratify="i", **made)
    for res in (times, number, classes, counts, clusters):
        assert np.isfinite(res.held.predicted).all()
        assert res.final.predict(gaps).notna().all(axis=None)


# ---- bad input ----


@pytest.mark.parametrize(
    ("changes", "made", "error", "words"),
    [
        ({"a": np.nan}, {}, DataError, "'a' has no value at all"),
        ({"a": [1.0, 2.0, 3.0] + [np.nan] * 57}, {"scheme": "first"}, DataError,
         "'a' has no value at all in a training set"),
        ({"a": [*range(9)] + [np.nan] * 51}, {}, DataError, "too few for an"),
        ({"a": np.arange(N), "g": [f"l{k % 25}" for k in range(59)] + [None]}, {},
         DataError, "'g' has missing values and 25 levels"),
        ({}, {"na_action": "drop"}, ArgumentError, "na_action= means nothing"),
        ({}, {"impute": "mean"}, ArgumentError, "'median'"),
        ({}, {"impute": 3}, ArgumentTypeError, "Mice"),
        ({}, {"impute": Mice(normal=["q"])}, ColumnError, "'q'"),
        ({}, {"threshold": "youden"}, ModelError, "cannot be combined"),
        ({}, {"select": "backward"}, ModelError, "cannot be combined"),
    ],
)  # fmt: skip
def test_what_cannot_be_imputed_is_refused(gaps, changes, made, error, words):
    made = {"impute": FEW, "k": 3, "seed": 1, **made}
    if made.get("scheme"):
        first, rest = np.arange(3), np.arange(3, N)
        made |= {"scheme": [(rest, first), (first, rest)], "k": None}
    frame = gaps.assign(**changes)
    with pytest.raises(error, match=words):
        scv.cv(
            "z ~ a + b + c + g" if "threshold" not in made else "y ~ a", frame, **made
        )


@pytest.mark.filterwarnings("ignore:distributional bias")
@pytest.mark.parametrize(
    "made",
    [
        {"select": "backward"},
        {"model": scv.models.Logit(C=1.0), "tune": {"C": [0.01, 1]}},
        {"threshold": "youden"},
    ],
)
def test_choices_are_made_after_medians_of_each_training_set(gaps, made):
    res = scv.cv("y ~ a + b + c", gaps, impute="median", k=3, seed=1, **made)
    found = res.predictions.sort_values("row")["predicted"].to_numpy()
    for number in range(3):
        test = res.plan.fits.held_out_by(number)
        training = gaps.drop(index=gaps.index[test])
        middle = training[["a", "b", "c"]].median()
        alone = scv.cv("y ~ a + b + c", training.fillna(middle), k=2, seed=1, **made)
        expected = alone.final.predict(gaps.iloc[test].fillna(middle))
        assert_allclose(found[test], expected, atol=1e-12)
    if "tune" in made:
        assert len(res.tuned) == 3
    with pytest.raises(ModelError, match="one completion by impute='median'"):
        res.update(impute=FEW)


@pytest.mark.filterwarnings("ignore:.*converged")
def test_a_cox_regression_with_imputed_values_has_an_equation(gaps):
    event = gaps.assign(e=(np.arange(N) % 3 > 0).astype(int))
    whole = event.dropna()
    made = {"horizon": [1.0, 2.0], "k": 3, "seed": 1}
    for imputer in ("median", Median(indicators=True), FEW):
        res = scv.cv("Surv(time, e) ~ a + b", event, impute=imputer, **made)
        equation, told = res.final.equation(), res.final.predict(whole)
        # the mean risk of several imputations is not that of their mean hazard
        near = 5e-3 if imputer is FEW else 1e-10
        assert_allclose(equation.predict(whole), told, atol=near)
        assert_allclose(equation.predict(whole)[:, 0], told.iloc[:, 0], atol=1e-10)
    with pytest.warns(StatcvWarning, match="values were imputed; pool"):
        res.tidy()
    chosen = res.update(
        "z ~ a + b", impute=None, select="backward", data=whole, horizon=None
    )
    with pytest.warns(StatcvWarning, match="terms were chosen on the same records"):
        chosen.tidy()


def test_the_summary_says_how_records_were_imputed(gaps):
    res = scv.cv("y ~ a + b", gaps, impute=FEW, k=3, seed=1)
    said = " ".join(str(res.summary(notes=True)).split())
    assert "missing values imputed 3 times in every training set" in said
    assert "incomplete (missing: " in said
    assert "held-out ones without" in said
    assert "Mean coefficients" in str(res.final)


@pytest.mark.filterwarnings("ignore:.*converge", "ignore:.*separated")
@pytest.mark.filterwarnings("ignore:.*records equal another")
def test_bootstrap_models_are_imputed_from_their_own_samples(gaps):
    data = gaps[["a", "b", "y"]]
    res = scv.cv("y ~ a + b", data, impute="median", k=3, seed=1)
    found = res.stability(n_boot=20)
    study = Samples((), False, None, 1, 20)
    times, _ = Resampling(res.refits.setup, study).samples(range(20))
    for b in range(3):
        sample = data.iloc[np.repeat(np.arange(N), times[b])]
        middle = sample[["a", "b"]].median()
        sample = sample.fillna(middle).reset_index(drop=True)
        alone = scv.cv("y ~ a + b", sample, k=2, seed=1)
        expected = alone.final.predict(data.fillna(middle))
        assert_allclose(found.predicted[b], expected, atol=1e-10)
    complete = data.dropna()
    new = found.predict(pd.concat([complete, data[data["a"].isna()]]))
    assert_allclose(new["upper"][: len(complete)], found.table["upper"][complete.index])
    assert new["upper"][len(complete) :].isna().all()
    assert new["predicted"].notna().all()


@pytest.mark.filterwarnings("ignore:.*converge", "ignore:.*separated")
@pytest.mark.parametrize("outcome", ["y", "z", "Surv(time, e)"])
def test_optimism_is_corrected_with_imputed_values(gaps, outcome):
    event = gaps.assign(e=(np.arange(N) % 3 > 0).astype(int))
    res = scv.cv(f"{outcome} ~ a + b", event, impute=FEW, k=3, seed=1)
    found = res.optimism_corrected(n_boot=20)
    assert found.apparent == pytest.approx(res.apparent.iloc[0])
    assert found.value == pytest.approx(res.estimate().value, rel=0.2)


def test_sizes_of_imputations_are_bounded():
    with pytest.raises(ArgumentError, match="m must be"):
        Mice(m=0)


def test_chains_that_do_not_converge_are_counted(data):
    rng = np.random.default_rng(3)
    twins = data.assign(b=data["a"] + 1e-3 * rng.normal(size=N))
    lacking = rng.random(N) < 0.5
    twins.loc[lacking, ["a", "b"]] = np.nan
    with pytest.warns(
        ConvergenceWarning, match=r"2 columns has not converged in \d of 3"
    ):
        scv.cv("y ~ a + b + c", twins, impute="mice", k=3, seed=1)
