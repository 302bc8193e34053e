"""The precision to expect of a cross-validation, before there are data."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import logit
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

import statcv as scv
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    MetricError,
    MissingPackageError,
    SchemeError,
)
from statcv.verbs.plan_precision import riley_table
from statcv.verbs.simulated_studies import Simulated, Study, _mean

SMALL = {"n": 50, "p": 1, "prevalence": 0.4, "c": 0.75, "n_sim": 20, "seed": 1}


def study(**changes):
    made = Study(
        n=50,
        p=2,
        prevalence=0.2,
        c=0.8,
        schemes=["kfold"],
        options={"metrics": ["auroc", "brier"]},
        n_sim=4,
        seed=1,
        n_jobs=1,
        progress=False,
    )
    return replace(made, **changes)


@pytest.fixture(scope="module")
def plan():
    return scv.plan_precision(**SMALL, scheme=["stratified_kfold", "loocv"])


# ---- the population ----


def test_the_true_model_has_the_prevalence_and_c_that_were_asked_for():
    data, risk = study().draw(np.random.default_rng(1), 200_000)
    assert data["y"].mean() == pytest.approx(0.2, abs=0.004)
    assert roc_auc_score(data["y"], risk) == pytest.approx(0.8, abs=0.005)
    fit = sm.Logit(data["y"], sm.add_constant(logit(risk))).fit(disp=False)
    assert fit.params.to_numpy() == pytest.approx([0, 1], abs=0.03)


def test_the_controls_have_expected_value_0():
    made, rng = study(), np.random.default_rng(1)
    found = np.array([_controls(made, rng) for _ in range(400)])
    z = found.mean(axis=0) / (found.std(axis=0) / 20)
    assert np.abs(z).max() < 3.5


def _controls(made, rng):
    data, risk = made.draw(rng, 100)
    return made.controls(data["y"].to_numpy(), risk)


# ---- what is computed from the data sets ----


def test_a_mean_with_controls_is_the_intercept_of_a_regression():
    rng = np.random.default_rng(1)
    controls = rng.normal(size=(100, 2))
    values = 3 + controls @ [1.0, -2.0] + rng.normal(size=100)
    fit = sm.OLS(values, sm.add_constant(controls)).fit()
    assert _mean(values, controls) == pytest.approx((fit.params[0], fit.bse[0]))
    assert _mean(values) == pytest.approx((values.mean(), values.std(ddof=1) / 10))
    # a selection of the data sets has controls with another mean
    values[:50] = np.nan
    assert _mean(values, controls)[0] == pytest.approx(values[50:].mean())


@pytest.mark.parametrize(
    ("side", "power"),
    [("greater", norm.sf(1.645 - 2)), ("less", norm.cdf(-1.645 - 2)),
     ("two-sided", norm.sf(1.96 - 2) + norm.cdf(-1.96 - 2))],
)  # fmt: skip
def test_power_is_that_of_a_normal_test_whatever_depends_on_the_events(side, power):
    rng, many = np.random.default_rng(1), 4000
    share = rng.binomial(40, 0.2, size=many) / 40
    v = share * (1 - share)
    found = rng.normal(size=(many, 1, 1, 16))
    found[..., 0] += 2
    scale = (1 + v)[:, None, None, None]
    found = 5 - 3 * v[:, None, None, None] ** 2 + scale * found
    simulated = Simulated(found, np.zeros((many, 1)), share)
    value, error = simulated._power(0, 0, side)
    assert value == pytest.approx(power, abs=max(4 * error, 0.004))


def test_power_withstands_heavy_tails_and_missing_values():
    rng, many = np.random.default_rng(1), 2000
    found = rng.standard_cauchy(size=(many, 1, 1, 16))
    found[..., 0] = 20 + rng.normal(size=(many, 1, 1))
    found[::5, ..., 9] = np.inf
    found[::7, ..., 10] = np.nan
    share = rng.binomial(40, 0.2, size=many) / 40
    simulated = Simulated(found, np.zeros((many, 1)), share)
    # the upper 2.5% point of Student's t with one degree of freedom is 12.7
    assert simulated._power(0, 0, "two-sided")[0] > 0.99
    simulated.values[..., 0] -= 14
    assert simulated._power(0, 0, "two-sided")[0] < 0.01


@pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
def test_the_estimates_are_those_of_cv():
    made = study()
    values, _, share = made.one(3, (1, 2, 6))
    rng = np.random.default_rng([made.seed, 3])
    data, _ = made.draw(rng, 50)
    made.draw(rng, 5_000)
    res = scv.cv("y ~ x1 + x2", data, scheme="kfold", seed=int(rng.integers(2**32)))
    assert share == data["y"].mean()
    for row, metric in zip(values[0], ("auroc", "brier"), strict=True):
        one = res.estimate(metric)
        assert row[:3] == pytest.approx([one.value, one.lower, one.upper])


@pytest.mark.slow
def test_the_truth_is_that_of_the_fitted_model():
    # one predictor ranks as the true model does, unless its sign is wrong
    table = scv.plan_precision(**{**SMALL, "n": 150, "n_sim": 40}).table
    auroc, brier, slope = table["truth"]
    assert auroc == pytest.approx(0.75, abs=0.006)
    shift = np.sqrt(2) * norm.ppf(0.75)
    x = np.linspace(-8, 9, 20_001)
    risk = 1 / (1 + np.exp(-logit(0.4) - shift * (x - shift / 2)))
    density = 0.4 * norm.pdf(x - shift) + 0.6 * norm.pdf(x)
    best = np.trapezoid(risk * (1 - risk) * density, x)
    assert best < brier < best + 4 / 150
    assert 0.8 < slope < 1.2


def test_leave_one_out_ranks_noise_below_one_half():
    noise = {**SMALL, "c": 0.5, "scheme": "loocv", "metrics": "auroc"}
    row = scv.plan_precision(**noise).table.iloc[0]
    assert row["truth"] == pytest.approx(0.5, abs=0.01)
    assert row["bias"] + 3 * row["bias_se"] < 0


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers_for_any_number_of_processes(plan):
    again = scv.plan_precision(**SMALL, scheme=["stratified_kfold", "loocv"], n_jobs=2)
    assert again.table.equals(plan.table)


# ---- what is shown ----


def test_the_recommended_scheme_has_the_smallest_error_where_coverage_is_high(plan):
    rows = plan.table[plan.table["metric"] == "auroc"].set_index("scheme")
    able = rows[rows["coverage"] >= 0.9]
    assert plan.recommended == able["rmse"].idxmin()
    assert f"Recommended: {plan.recommended}," in repr(plan)
    best = able.loc[plan.recommended]
    near = able["rmse"] <= best["rmse"] + best["rmse_se"]
    assert ("Not clearly worse" in repr(plan)) == (near.sum() > 1)


def test_it_prints_within_80_columns_with_monte_carlo_errors(plan):
    lines = repr(plan).splitlines()
    assert max(map(len, lines)) < 80
    head = (
        "Precision to expect from 50 records with 20 events, 1 predictor and c = 0.75"
    )
    assert lines[0] == head
    assert "Monte Carlo standard errors of auROC, from 20 data sets" in repr(plan)
    assert lines[2].split() == [
        *["scheme", "metric", "truth", "estimate", "bias", "width", "covers", "power"]
    ]


def test_bias_is_estimate_minus_truth(plan):
    table = plan.table
    assert (table["estimate"] - table["truth"]).to_numpy() == pytest.approx(
        table["bias"].to_numpy()
    )
    errors = [f"{name}_se" for name in ("truth", "estimate", "bias", "width", "power")]
    assert (table[errors] >= 0).all().all()


def test_data_sets_without_an_interval_are_counted():
    few = scv.plan_precision(**{**SMALL, "n": 16, "prevalence": 0.32, "c": 0.95})
    assert few.table["failed"].iloc[0] > 0
    assert "Some fits did not converge or had separated classes" in repr(few)


# ---- the number of records for a width ----


@pytest.mark.slow
def test_n_is_found_for_a_width():
    asked = {**SMALL, "n": None, "width": 0.4, "metrics": "auroc"}
    found = scv.plan_precision(**asked)
    assert found.table["width"].iloc[0] == pytest.approx(0.4, rel=0.03)
    assert scv.plan_precision(
        **{**SMALL, "n": found.n, "metrics": "auroc"}
    ).table.equals(found.table)


# ---- Riley's criteria ----


def test_riley_says_what_to_install(plan):
    if find_spec("pmsampsize"):
        sizes = plan.riley().set_index("criterion")["n"]
        assert sizes["all"] == sizes.drop("all").max()
    else:
        with pytest.raises(MissingPackageError, match="pip install pmsampsize"):
            plan.riley()


def test_the_sizes_of_riley_have_their_events():
    # pmsampsize 0.1.0: 5 parameters, prevalence 0.2, c-statistic 0.8
    table = riley_table([221, 141, 246, 246], 0.2, 0.9)
    assert table["criterion"].tolist()[-2:] == ["overall risk", "all"]
    assert table["events"].tolist() == pytest.approx([44.2, 28.2, 49.2, 49.2])


def test_riley_refuses_what_has_no_answer(plan):
    with pytest.raises(ArgumentError, match="shrinkage=1"):
        plan.riley(shrinkage=1.5)
    with pytest.raises(ArgumentError, match="needs c above"):
        replace(plan, c=0.5).riley()


# ---- bad input ----


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"n": 20, "p": 30}, ArgumentError, "30 predictors need 32 records"),
        ({"n": 40, "prevalence": 0.1}, ArgumentError, "which 50 records have"),
        ({"n": 40, "prevalence": 0.9}, ArgumentError, "which 50 records have"),
        ({"prevalence": 1}, ArgumentError, "between 0 and 1, such as 0.2, not 1"),
        ({"prevalence": float("nan")}, ArgumentError, "not nan"),
        ({"c": 0.4}, ArgumentError, "0.5 \\(no signal\\) or more"),
        ({"c": 1}, ArgumentError, "below 1, not 1"),
        ({"scheme": "kfolds"}, SchemeError, "Did you mean 'kfold'"),
        ({"scheme": []}, ArgumentError, "a list of names, not \\[\\]"),
        ({"metrics": "aurok"}, MetricError, "Did you mean 'auroc'"),
        ({"K": 3}, ArgumentTypeError, "here it is k="),
        ({"k": 90}, ArgumentError, "k=90"),
        ({"n": None}, ArgumentError, "either n=, the number of records, or width="),
        ({"width": 0.2}, ArgumentError, "either n="),
        ({"n": None, "width": 0}, ArgumentError, "width must be a positive number"),
        ({"n": None, "width": 0.001}, ArgumentError, "more than the 20,000"),
        ({"n": 50.5}, ArgumentTypeError, "n must be an integer"),
        ({"n_sim": 3}, ArgumentError, "n_sim must be 20 or more"),
        ({"n_sim": 10**9}, ArgumentError, "n_sim must be at most"),
        ({"n_jobs": 0}, ArgumentError, "n_jobs=0"),
    ],
)
def test_what_cannot_be_planned_is_refused(changes, error, says):
    with pytest.raises(error, match=says):
        scv.plan_precision(**{**SMALL, **changes})
