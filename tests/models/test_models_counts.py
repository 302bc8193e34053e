"""Poisson and negative binomial regressions of all folds, against R's."""

import math
import re
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import nbinom

import statcv as scv
from statcv.metrics.counts import poisson_deviance
from statcv.models import NegativeBinomial, Poisson

REFERENCE = Path(__file__).parent.parent / "reference"
CASES = pd.read_csv(REFERENCE / "counts_cases.csv")
OF_R = pd.read_csv(REFERENCE / "counts_r.csv")
MODELS = {"poisson": Poisson(), "negbin": NegativeBinomial()}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("weighted", [0, 1])
@pytest.mark.parametrize("formula", OF_R["formula"].unique())
def test_fits_of_all_folds_equal_those_of_r(formula, weighted, model):
    res = scv.cv(
        formula,
        CASES,
        model=model,
        scheme=CASES["fold"],
        weights="weight" if weighted else None,
        seed=1,
    )
    known = OF_R.query("formula == @formula and weighted == @weighted")
    known = known.query("model == @model").pivot(
        index="fold", columns="name", values="value"
    )
    found = res.held.coefficients.rename(columns={"Intercept": "(Intercept)"})
    found = found.rename(columns=lambda name: re.sub(r"\[(T\.)?(.)\]", r"\2", name))
    for name in known:
        np.testing.assert_allclose(found[name], known[name], rtol=1e-8)


def simulated(n, seed=0, rate=0.02):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    days = rng.integers(5, 400, n)
    y = rng.poisson(days * rate * np.exp(0.5 * x))
    return pd.DataFrame({"y": y, "x": x, "z": z, "days": days})


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scheme", ["loocv", "kfold", "bootstrap"])
def test_folds_together_equal_separate_fits(scheme, model):
    repeats = 5 if scheme == "bootstrap" else None
    data = simulated(60)
    res = scv.cv(
        "y ~ x + z",
        data,
        exposure="days",
        model=model,
        scheme=scheme,
        seed=1,
        repeats=repeats,
    )
    assert res.held.converged.all()
    for fit in range(0, res.plan.n_fits, 7):
        training = res.refits.setup.folds.training_set(res.refits.setup.records, fit)
        alone = MODELS[model].fit(training)
        np.testing.assert_allclose(
            res.held.coefficients.iloc[fit],
            list(alone.coefficients.values()),
            rtol=1e-8,
        )


def test_a_few_large_folds_equal_separate_fits():
    data = simulated(30_000)
    res = scv.cv("y ~ x + z", data, exposure="days", model="poisson", k=5, seed=1)
    training = res.refits.setup.folds.training_set(res.refits.setup.records, 3)
    alone = Poisson().fit(training)
    np.testing.assert_allclose(
        res.held.coefficients.iloc[3], list(alone.coefficients.values()), rtol=1e-8
    )


def test_exposure_is_an_offset_on_held_out_and_new_rows():
    data = simulated(50)
    named = scv.cv("y ~ .", data, exposure="days", model="poisson", seed=1)
    written = scv.cv("y ~ x + z + offset(log(days))", data, model="poisson", seed=1)
    assert named.design.names == ("Intercept", "x", "z", "offset(log(days))")
    assert "regression of y on x and z, offset(log(days))" in str(named)
    np.testing.assert_array_equal(
        named.predictions["predicted"], written.predictions["predicted"]
    )
    new = data.head(4)
    twice = named.final.predict(new.assign(days=2 * new["days"]))
    np.testing.assert_allclose(twice, 2 * named.final.predict(new), rtol=1e-12)
    assert named.update("~ . - z").design.names[-1] == "offset(log(days))"


def test_without_skill_every_record_has_the_training_rate_times_its_exposure():
    data = simulated(40)
    res = scv.cv("y ~ x", data, exposure="days", model="poisson", seed=1, k=4)
    mean = scv.cv("y ~ x", data, exposure="days", model="mean", seed=1, k=4)
    first = mean.predictions.query("fold == 0")["row"]
    others = data.drop(index=first)
    rate = others["y"].sum() / others["days"].sum()
    np.testing.assert_allclose(
        mean.predictions.query("fold == 0")["predicted"], rate * data.loc[first, "days"]
    )
    y, predicted = mean.predictions["observed"], mean.predictions["predicted"]
    found = res.without_predictors[0].found
    assert found == pytest.approx(poisson_deviance(y, predicted), rel=1e-9)


def test_permuted_counts_keep_their_exposure():
    data = simulated(60, rate=0.05).assign(x=lambda d: d["z"].to_numpy()[::-1])
    res = scv.cv("y ~ x", data, exposure="days", model="poisson", seed=1, k=5)
    values = res.test(n_permutations=19).replicates
    no_skill = res.without_predictors[0].found
    assert np.median(values) == pytest.approx(no_skill, rel=0.25)


def test_a_level_without_an_event_is_separated_and_the_others_are_as_without_it():
    data = simulated(60).assign(g=lambda d: np.arange(60) % 3)
    data.loc[data["g"] == 2, "y"] = 0
    known = {"exposure": "days", "model": "poisson", "seed": 1}
    with pytest.warns(scv.errors.SeparationWarning, match="rates of 0 in 10 of 10"):
        every = scv.cv("y ~ C(g)", data, **known)
    fits = every, scv.cv("y ~ C(g)", data.query("g < 2"), **known)
    one, other = (fit.final.coefficients["C(g)[T.1]"] for fit in fits)
    assert one == pytest.approx(other, rel=1e-8)
    assert fits[0].held.separated.all()
    assert not fits[1].held.separated.any()


def test_large_counts_are_fitted_without_overflow():
    data = simulated(40).assign(y=lambda d: d["y"] * 10_000)
    res = scv.cv("y ~ x - 1", data, model="poisson", seed=1, k=4)
    assert res.held.converged.all()
    new = pd.DataFrame({"x": [1e4, 0.0]})
    assert res.final.predict(new).isna().tolist() == [True, False]


def test_counts_of_0_and_1_are_counts():
    data = simulated(80).assign(y=lambda d: np.minimum(d["y"], 1))
    res = scv.cv("y ~ x", data, exposure="days", model="poisson", seed=1, k=4)
    assert res.design.outcome.kind == "continuous"
    assert res.chosen_metrics[0].name == "poisson_deviance"


def test_without_overdispersion_theta_is_infinite_and_the_fit_is_poissons(tmp_path):
    data = simulated(60).assign(y=lambda d: np.round(d["days"] / 20))
    both = [
        scv.cv("y ~ x", data, exposure="days", model=m, seed=1, k=4)
        for m in ("poisson", "negbin")
    ]
    assert np.isinf(both[1].held.coefficients["theta"]).all()
    assert "∞" in str(both[1].summary())  # without a warning of NumPy
    both[1].report(tmp_path / "report.html")
    np.testing.assert_allclose(
        both[0].predictions["predicted"], both[1].predictions["predicted"], rtol=1e-9
    )


@pytest.mark.parametrize("formula", OF_R["formula"].unique())
def test_standard_errors_of_the_negative_binomial_are_those_of_r(formula):
    res = scv.cv(formula, CASES, model="negbin", scheme=CASES["fold"], seed=1)
    known = OF_R.query("formula == @formula and model == 'se' and weighted == 0")
    table = res.tidy()
    assert len(table) == len(known)
    np.testing.assert_allclose(table["std.error"], known["value"], rtol=1e-6)


def test_terms_are_dropped_but_the_exposure_is_not():
    data = simulated(60)
    res = scv.cv("y ~ x + z", data, exposure="days", model="negbin", seed=1, k=4)
    dropped = res.drop1().comparison.results
    assert list(dropped) == ["<none>", "x", "z"]
    less = scv.cv("y ~ z", data, exposure="days", model="negbin", seed=1, k=4)
    assert dropped["x"].estimate().value == less.estimate().value


def test_other_models_are_measured_as_counts_by_name():
    data, named = simulated(60), {"metrics": "poisson_deviance", "seed": 1, "k": 4}
    linear = scv.cv("y ~ days", data.assign(y=lambda d: d["y"] + 3), **named)
    assert linear.estimate().value > 0


def handed_over(model="poisson"):
    data = simulated(80).assign(g=lambda d: np.where(d.index % 3, "a", "b"))
    res = scv.cv("y ~ x + g", data, exposure="days", model=model, seed=1, k=4)
    return res, data


@pytest.mark.parametrize("model", MODELS)
def test_the_equation_has_the_exposure_as_a_column(model, tmp_path):
    res, data = handed_over(model)
    known, equation = res.final.predict(data), res.final.equation()
    first, *_, last = str(equation).splitlines()
    assert (first, last.strip()) == ("log E(y) =", "+ log(days)")
    made = {}
    exec(equation.to_python(), made)
    found = [made["predict"](row) for row in data.to_dict("records")]
    np.testing.assert_allclose(found, known, rtol=1e-12)
    with closing(sqlite3.connect(":memory:")) as base:
        base.create_function("LN", 1, math.log)
        base.create_function("EXP", 1, math.exp)
        data.to_sql("t", base)
        found = pd.read_sql(equation.to_sql("t"), base)["predicted"]
    np.testing.assert_allclose(found, known, rtol=1e-12)
    assert "  exp(linear_1)" in equation.to_r()
    assert r"\log \mathrm{E}(\text{y})" in equation.to_latex()
    res.final.save(tmp_path / "m.json")
    loaded = scv.load_model(tmp_path / "m.json")
    np.testing.assert_allclose(loaded.predict(data), known, rtol=1e-12)


def test_validation_has_the_metrics_of_counts_and_needs_the_exposure(tmp_path):
    res, data = handed_over()
    res.final.save(tmp_path / "m.json")
    new = data.iloc[:50]
    for one in (res.final, scv.load_model(tmp_path / "m.json")):
        found = one.validate(new)
        names = [metric.name for metric in found.chosen_metrics]
        assert names == ["poisson_deviance", "slope_counts", "oe_counts"]
        mean = one.predict(new)
        assert found.estimate().value == pytest.approx(poisson_deviance(new["y"], mean))
        assert one.validate(new, metrics="rmse").estimate().value > 0
        rare = one.validate(new.assign(y=np.minimum(new["y"], 1)))
        assert rare.chosen_metrics[0].name == "poisson_deviance"
        with pytest.raises(scv.errors.OutcomeError, match="'y' is negative in"):
            one.validate(new.assign(y=new["y"] - 1))
        with pytest.raises(scv.errors.ColumnError, match="'days'"):
            one.predict(new.drop(columns="days"))
        with pytest.raises(scv.errors.EquationError, match=r"offset\(log\(days\)\)"):
            one.update(new)
    with pytest.raises(scv.errors.EquationError, match=r"shrunk\(\) would change"):
        res.final.shrunk(0.9)


def test_a_nomogram_of_counts_ends_at_the_expected_counts():
    res, _ = handed_over()
    table = res.final.nomogram().set_index("axis")
    shown = table.loc["Expected y"].astype(float)
    logs = table.loc["Linear predictor"].astype(float)
    found = np.interp(np.log(shown["value"]), logs["value"], logs["points"])
    inside = np.log(shown["value"]).between(logs["value"].min(), logs["value"].max())
    np.testing.assert_allclose(found[inside], shown["points"][inside], rtol=1e-9)
    assert shown["value"].max() > 5


def test_equations_follow_the_link():
    data = simulated(80).assign(b=lambda d: (d["y"] > 3).astype(int))
    family = sm.families.Poisson()
    model = scv.models.Statsmodels(sm.GLM, family=family)
    res = scv.cv("y ~ x", data, model=model, seed=1, k=4)
    found = res.final.equation().predict(data)
    np.testing.assert_allclose(found, res.final.predict(data), rtol=1e-9)
    probit = scv.cv("b ~ x", data, model=sm.Probit, seed=1, k=4)
    with pytest.raises(scv.errors.EquationError, match="its link is Probit"):
        probit.final.equation()


@pytest.mark.filterwarnings("ignore:interval='jackknife' makes")
@pytest.mark.parametrize("model", MODELS)
def test_the_default_interval_is_near_that_of_the_jackknife(model):
    data, rng = simulated(150), np.random.default_rng(1)
    if model == "negbin":
        data["y"] = rng.poisson(data["y"] * rng.gamma(1.5, 1 / 1.5, 150))
    res = scv.cv("y ~ x + z", data, exposure="days", model=model, seed=1)
    assert res.estimate().interval.method == "infinitesimal jackknife"
    usual = res.estimate("poisson_deviance").interval
    values = res.jackknife("poisson_deviance").values
    se = np.sqrt((len(values) - 1) * np.var(values))
    assert usual.se == pytest.approx(se, rel=0.15)


BAD = {
    "negative": (lambda d: d.assign(y=d["y"] - 3), "negative in"),
    "all zero": (lambda d: d.assign(y=0), "0 in all rows"),
    "text": (lambda d: d.assign(y="a"), "not a number"),
    "zero exposure": (
        lambda d: d.assign(days=d["days"].where(d.index > 1, 0)),
        r"0 or less in 2 rows \(first: 0\)",
    ),
    "text exposure": (
        lambda d: d.assign(days="long"),
        "exposure 'days' is not a number",
    ),
    "no exposure": (lambda d: d.drop(columns="days"), "'days' is not a column"),
}


@pytest.mark.parametrize("model", [*MODELS, "mean"])
def test_a_training_set_without_an_event_is_named(model):
    data = simulated(60).assign(fold=lambda d: d.index // 20)
    data["y"] = data["y"].where(data["fold"] == 0, 0)
    with pytest.raises(scv.errors.OutcomeError, match=r"constant \(0\) in the"):
        scv.cv("y ~ x", data, exposure="days", model=model, scheme=data["fold"])


def test_new_rows_without_a_positive_exposure_have_no_prediction_above_0():
    res, data = handed_over()
    new = data.head(3).assign(days=[-5.0, 0.0, np.nan])
    np.testing.assert_array_equal(res.final.predict(new), [np.nan, 0.0, np.nan])


@pytest.mark.parametrize("name", BAD)
def test_bad_counts_and_exposures_are_refused(name):
    change, said = BAD[name]
    with pytest.raises(scv.errors.StatcvError, match=said):
        scv.cv("y ~ x", change(simulated(30)), exposure="days", model="poisson")


@pytest.mark.parametrize(
    ("formula", "model", "said"),
    [
        ("y ~ x + offset(days)", "neighbors", "has no offset"),
        ("y ~ x:offset(days)", "poisson", "a term by itself"),
        ("y ~ offset(days) + 1 + I(offset(x))", "poisson", "a term by itself"),
        ("y ~ offset(C(days))", "poisson", "."),
        ("y ~ x + offset(log(days - 5))", "poisson", "-inf"),
    ],
)
def test_offsets_are_refused_where_they_have_no_meaning(formula, model, said):
    data = simulated(30).assign(days=lambda d: d["days"].where(d.index > 0, 5))
    with pytest.raises(scv.errors.StatcvError, match=said):
        scv.cv(formula, data, model=model)


def test_counts_with_fractions_and_missing_exposures_warn():
    data = simulated(30).assign(y=lambda d: d["y"] / 2)
    with pytest.warns(scv.errors.StatcvWarning, match="not an integer in"):
        scv.cv("y ~ x", data, exposure="days", model="poisson", seed=1)
    data = simulated(30)
    data["days"] = data["days"].where(data.index > 2)
    with pytest.warns(scv.errors.StatcvWarning, match="3 of 30 rows were omitted"):
        scv.cv("y ~ x", data, exposure="days", model="poisson", seed=1)


def test_counts_are_not_permuted_among_unequal_clusters():
    data = simulated(60).assign(site=lambda d: np.repeat(np.arange(15), 4))
    data["y"] = data["site"] % 4
    res = scv.cv(
        "y ~ x",
        data.drop(index=[0, 5]),
        exposure="days",
        model="poisson",
        stratify="site",
        k=5,
        seed=1,
    )
    assert "belongs to its exposure" in str(res.test(n_permutations=19))


def test_ratios_of_groups_are_those_of_their_records():
    data = simulated(90).assign(site=lambda d: np.arange(90) % 3)
    res = scv.cv("y ~ x", data, exposure="days", model="poisson", seed=1, k=5)
    found = res.metrics(by="site").query("metric == 'oe_counts'")
    made = res.predictions.assign(site=data["site"].to_numpy()[res.predictions["row"]])
    sums = made.groupby("site")[["observed", "predicted"]].sum()
    ratio = (sums["observed"] / sums["predicted"]).to_numpy()
    np.testing.assert_allclose(found["estimate"], ratio, rtol=1e-12)


def overdispersed(n, seed=0, theta=1.5):
    data, rng = simulated(n, seed), np.random.default_rng(seed + 1)
    mean = data["days"] * 0.02 * np.exp(0.5 * data["x"])
    return data.assign(y=rng.negative_binomial(theta, theta / (theta + mean)))


@pytest.mark.parametrize("scheme", ["loocv", "kfold"])
def test_negative_binomial_scores_use_the_dispersion_of_each_fold(scheme):
    data = overdispersed(60)
    res = scv.cv("y ~ x", data, exposure="days", model="negbin", scheme=scheme, seed=1)
    made = res.predictions
    theta = res.held.coefficients["theta"].to_numpy()[made["fold"] - 1]
    known = nbinom(theta, theta / (theta + made["predicted"]))
    log_score = -known.logpmf(made["observed"])
    assert res.estimate("log_score").value == pytest.approx(log_score.mean(), rel=1e-9)
    below = known.cdf(np.arange(5000)[:, None]) - (
        np.arange(5000)[:, None] >= made["observed"].to_numpy()
    )
    rps = (below**2).sum(axis=0).mean()
    assert res.estimate("rps").value == pytest.approx(rps, rel=1e-9)
    interval = res.estimate("log_score").interval
    assert 0 < interval.lower < interval.upper


def test_log_scores_of_both_distributions_compare():
    data = overdispersed(120)
    negbin = scv.cv("y ~ x", data, exposure="days", model="negbin", seed=1)
    poisson = negbin.update(model="poisson")
    for method in (None, "t", "permutation"):
        found = scv.compare(
            poisson=poisson, negbin=negbin, metric="log_score", test=method
        )
        change = (
            negbin.estimate("log_score").value - poisson.estimate("log_score").value
        )
        assert found.differences["difference"].iloc[0] == pytest.approx(
            change, rel=1e-9
        )
        assert found.differences["p"].iloc[0] < 0.05
    assert change < 0


def test_without_skill_counts_have_the_dispersion_of_an_intercept_alone():
    data = overdispersed(60)
    res = scv.cv("y ~ x", data, exposure="days", model="negbin", k=5, seed=1)
    alone = scv.cv("y ~ 1", data, exposure="days", model="negbin", k=5, seed=1)
    table = {row.metric.name: row for row in res.without_predictors}
    null = scv.compare(full=res, reference="null", metric="log_score")
    for name in ("log_score", "rps", "poisson_deviance"):
        assert table[name].found == pytest.approx(alone.estimate(name).value, rel=1e-9)
    assert null.table.loc["null", "estimate"] == pytest.approx(
        alone.estimate("log_score").value, rel=1e-9
    )


def test_scores_of_a_distribution_need_one():
    data = overdispersed(60)
    made = scv.cv("y ~ x", data, exposure="days", model="negbin", seed=1).predictions
    with pytest.raises(scv.errors.MetricError, match="no metric 'rps'; it has poisson"):
        scv.from_predictions(
            made,
            observed="observed",
            predicted="predicted",
            metrics=["oe_counts", "rps"],
        )


def test_an_outlier_whose_count_overflows_leaves_no_warning_of_numpy():
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"x": rng.normal(60, 10, 30), "n": np.arange(30) // 3})
    data.loc[0, "x"] = 1e12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        res = scv.cv("n ~ x", data, model="poisson", seed=1)
        assert np.isfinite(res.metrics()["lower"].iloc[0])
