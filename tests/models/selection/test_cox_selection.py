"""Terms of Cox regressions that are chosen in every training set."""

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.arguments import RESAMPLE
from statcv.errors import ModelError
from statcv.metrics.survival import survival_metrics
from statcv.models import Backward, Cox, Forward, Screen

pytestmark = pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")
SPLINE = "Surv(time, status) ~ a + b + bs(c, df=4) + g"


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    made = pd.DataFrame(rng.normal(size=(90, 6)), columns=list("abcdef"))
    made["g"] = rng.choice(list("uvw"), 90)
    made["site"] = rng.integers(0, 15, 90)
    time = rng.exponential(np.exp(-made.a + 0.7 * made.b))
    censored = rng.exponential(1.5, 90)
    made["time"] = np.ceil(10 * np.minimum(time, censored))
    made["status"] = (time <= censored).astype(int)
    return made


@pytest.mark.parametrize("select", ["backward", "forward", "both", Backward(by="p")])
def test_folds_fitted_together_and_alone_agree(data, select):
    given = {"select": select, "horizon": [3, 8]}
    res = scv.cv(SPLINE, data, k=4, seed=1, **given)
    for number in range(4):
        training, out = res.plan.train(number), res.plan.fits.held_out_by(number)
        alone = scv.cv(SPLINE, data.iloc[training], k=2, **given)
        held = res.predictions.set_index("row").loc[out]
        risks = held[["risk_3", "risk_8"]].to_numpy()
        made = alone.predict(data.iloc[out]).to_numpy()[:, 1:]
        assert np.allclose(made, risks, atol=1e-6)


def test_the_fit_is_that_of_the_chosen_terms(data):
    formula = "Surv(time, status) ~ a + b + c + d + e + f + g"
    given = {"k": 4, "seed": 1, "horizon": 5}
    res = scv.cv(formula, data, select="backward", **given)
    used = res.held.coefficients.fillna(0).to_numpy() != 0
    names = res.held.coefficients.columns
    for number in range(4):
        left = [name for name, one in zip(names, used[number], strict=True) if one]
        assert {"a", "b"} <= set(left)
        assert not any(name.startswith("g") for name in left)
        plain = scv.cv(f"Surv(time, status) ~ {' + '.join(left)}", data, **given)
        own = res.plan.fits.held_out_by(number)
        both = [one.predictions.set_index("row").loc[own] for one in (res, plain)]
        for column in ("linear", "risk_5"):
            assert np.allclose(both[0][column], both[1][column], atol=1e-7)


def test_nothing_chosen_is_the_model_without_predictors(data):
    rng = np.random.default_rng(2)
    noise = data.assign(x=rng.normal(size=90))
    given = {"k": 3, "seed": 1, "horizon": 5}
    rule = Forward(by="bic")
    res = scv.cv("Surv(time, status) ~ x", noise, select=rule, **given)
    assert res.selection.models["model"].tolist() == ["no term"]
    bare = scv.cv("Surv(time, status) ~ 1", noise, **given)
    both = [one.predictions.sort_values("row") for one in (res, bare)]
    assert np.allclose(both[0]["risk_5"], both[1]["risk_5"])
    assert (both[0]["linear"] == 0).all()


def test_a_screen_takes_the_columns_most_correlated_with_martingale_residuals(data):
    untied = data.assign(time=data["time"] + np.arange(90) / 1000)
    formula = "Surv(time, status) ~ a + b + c + d + e + f"
    res = scv.cv(formula, untied, select=Screen(screen=2), k=5, seed=1)
    for number in range(5):
        train = untied.iloc[res.plan.train(number)]
        time, status = train["time"].to_numpy(), train["status"].to_numpy()
        hazard = [
            sum(1 / (time >= one).sum() for one in time[status == 1] if one <= own)
            for own in time
        ]
        X = train[list("abcdef")].to_numpy()
        shares = [abs(np.corrcoef(x, status - hazard)[0, 1]) for x in X.T]
        best = sorted(np.argsort(shares)[-2:])
        used = res.held.coefficients.fillna(0).to_numpy()[number] != 0
        assert np.flatnonzero(used).tolist() == best


def test_a_permuted_outcome_is_chosen_for_as_an_outcome_of_its_own(data):
    res = scv.cv(SPLINE, data, select="backward", k=3, seed=1)
    p = res.test(n_permutations=19, seed=3).p_value
    assert p == pytest.approx(0.05)  # none of 19 is as good
    shuffled = data.copy()
    rows = np.random.default_rng(1).permutation(90)
    shuffled[["time", "status"]] = data[["time", "status"]].to_numpy()[rows]
    noise = scv.cv(SPLINE, shuffled, select="backward", k=3, seed=1)
    assert noise.test(n_permutations=19, seed=3).p_value > 0.05


def test_weights_of_two_choose_as_two_copies_with_the_ties_of_breslow(data):
    formula, model = "Surv(time, status) ~ a + b + c + d + e", Cox(ties="breslow")
    twice = pd.concat([data, data], ignore_index=True)
    given = {"model": model, "select": "backward", "k": 3}
    heavy = scv.cv(formula, data.assign(w=2.0), weights="w", **given)
    copied = scv.cv(formula, twice, **given)
    pd.testing.assert_series_equal(
        heavy.final.coefficients, copied.final.coefficients, atol=1e-7
    )


def test_optimism_at_a_horizon_is_that_of_a_loop(data):
    formula = "Surv(time, status) ~ a + b + c + d + g"
    res = scv.cv(formula, data, select="backward", k=2, seed=1, horizon=5)
    names = ["harrell_c", "brier@5", "auroc@5"]
    table = res.optimism_corrected(names, n_boot=6, seed=7)
    y = np.where(data["status"] == 1, data["time"], -data["time"])
    found = {name: [] for name in names}
    known = survival_metrics((5.0,))
    for number in range(6):
        rows = drawn(number, 90)
        sample = data.iloc[rows].reset_index(drop=True)
        own = scv.cv(formula, sample, select="backward", k=2, horizon=5)
        made = own.predict(data).to_numpy()
        for name in names:
            column = 0 if name == "harrell_c" else 1
            every = made[:, column]
            # records of the sample are weighted by the censoring of all
            given = {"censoring": y} if column else {}
            inside = known[name].function(y[rows], every[rows], **given)
            found[name].append(inside - known[name].function(y, every))
    for name in names:
        assert table[name].optimism == pytest.approx(np.mean(found[name]), abs=1e-6)


def drawn(number: int, n: int) -> np.ndarray:
    key = np.random.SeedSequence(7, spawn_key=(RESAMPLE, number))
    return np.random.default_rng(key).integers(n, size=n)


@pytest.mark.parametrize("metric", [None, "auroc@5", "brier@5"])
def test_the_inner_plan_chooses_the_penalty(data, metric):
    grid = {"C": [0.001, 0.1, 10.0]}
    given = {"k": 3, "seed": 1, "horizon": 5, "stratify": "site"}
    formula = "Surv(time, status) ~ a + b + c + d + e + f"
    best, simple = (
        scv.cv(formula, data, tune=scv.Tuning(grid, metric=metric, rule=rule), **given)
        for rule in ("best", "one_se")
    )
    assert len(best.tuned) == 3
    assert (simple.tuned["C"].to_numpy() <= best.tuned["C"].to_numpy()).all()
    assert set(best.tuned["C"]) <= set(grid["C"])


def test_a_penalty_is_not_a_likelihood_to_compare_by(data):
    with pytest.raises(ModelError, match="not for ridge Cox regression, C = 1; it can"):
        scv.cv(SPLINE, data, model=Cox(C=1.0), select="backward")


def test_more_columns_than_records_need_a_screen(data):
    rng = np.random.default_rng(1)
    wide = pd.DataFrame(rng.normal(size=(30, 50)), columns=[f"x{i}" for i in range(50)])
    wide = wide.assign(time=data["time"][:30], status=data["status"][:30])
    formula = "Surv(time, status) ~ ."
    with pytest.raises(ModelError, match=r"51 columns cannot be compared .* of 20 rec"):
        scv.cv(formula, wide, select="backward", k=3)
    res = scv.cv(formula, wide, select=Forward(screen=5), k=3, horizon=5)
    assert (res.selection.models["terms"] <= 5).all()


def test_a_term_of_records_without_an_event_is_compared_where_it_separates(data):
    rare = data.iloc[:40].assign(rare=[0] * 32 + [1] * 8)
    rare["status"] = np.where(rare["rare"] == 1, 0, rare["status"])
    formula = "Surv(time, status) ~ a + rare + g"
    kept = Backward(keep=["rare", "g"])
    for rule in ("backward", kept):
        res = scv.cv(formula, rare, select=rule, k=3, seed=1)
        used = res.held.coefficients.fillna(0) != 0
        assert (res.held.separated == used["rare"]).all()
        assert used["rare"].any()
        assert (used["g[T.v]"] == used["g[T.w]"]).all()  # a factor is one term
        assert np.isfinite(res.predictions["linear"]).all()
