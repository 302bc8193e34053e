"""Terms that are chosen in every training set, and what is said of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.special import expit

import statcv as scv
from statcv.errors import ArgumentError, ModelError, NotTunedError
from statcv.inference.estimates.draws import draw
from statcv.inference.estimates.influences import influences
from statcv.inference.estimates.pair_variation import pair_variation
from statcv.inference.intervals import infinitesimal
from statcv.metrics import METRICS
from statcv.models import Backward, Forward, Linear, Logit, Screen, TrainingSet, XGBoost
from statcv.models.batched import Folds
from statcv.models.selection import Term
from statcv.models.selection.search import least_criteria
from statcv.models.selection.training import Sets
from statcv.sensitivity import Sensitivity

pytestmark = pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    made = pd.DataFrame(rng.normal(size=(90, 6)), columns=list("abcdef"))
    made["g"] = rng.choice(list("uvw"), 90)
    made["y"] = (rng.random(90) < 1 / (1 + np.exp(-1.2 * made.a + made.b))).astype(int)
    made["z"] = made.a - made.b + rng.normal(size=90)
    return made


def aic_by_hand(data: pd.DataFrame, outcome: str = "y") -> set[str]:
    """Return what is left of the numeric terms by repeated single deletions."""
    left = [*"abcdef"]
    y = data[outcome].to_numpy()

    def aic(names: list[str]) -> float:
        X = np.column_stack([np.ones(len(data)), data[names]])
        if outcome == "z":
            beta = np.linalg.lstsq(X, y, rcond=None)[0]
            return len(y) * np.log(((y - X @ beta) ** 2).mean()) + 2 * X.shape[1]
        beta = np.zeros(X.shape[1])
        for _ in range(30):
            p = 1 / (1 + np.exp(-X @ beta))
            beta += np.linalg.solve((X.T * (p * (1 - p))) @ X, X.T @ (y - p))
        p = 1 / (1 + np.exp(-X @ beta))
        return -2 * np.log(np.where(y == 1, p, 1 - p)).sum() + 2 * X.shape[1]

    while left:
        tried = {name: aic([one for one in left if one != name]) for name in left}
        best = min(tried, key=lambda name: tried[name])
        if tried[best] >= aic(left):
            break
        left.remove(best)
    return set(left)


@pytest.mark.parametrize("outcome", ["y", "z"])
def test_every_training_set_is_eliminated_by_itself(data, outcome):
    kept = data[[*"abcdef", outcome]]
    res = scv.cv(f"{outcome} ~ .", kept, select="backward", k=4, seed=1)
    for number in range(4):
        training = kept.iloc[res.plan.train(number)]
        row = res.held.coefficients.iloc[number].drop("Intercept")
        assert set(row.index[row != 0]) == aic_by_hand(training, outcome)


def test_the_fit_is_that_of_the_chosen_terms(data):
    res = scv.cv("y ~ a + b + c + g", data, select="backward", k=4, seed=1)
    kept = res.final.coefficients.index.drop("Intercept")
    plain = scv.cv(f"y ~ {' + '.join(kept)}", data, k=4, seed=1)
    assert np.allclose(res.final.coefficients, plain.final.coefficients, atol=1e-7)
    assert str(res.final.equation(3)) == str(plain.final.equation(3))
    assert np.allclose(res.predict(data), plain.predict(data), atol=1e-7)


def test_folds_fitted_together_and_alone_agree(data):
    """A permutation, a bootstrap and a jackknife fit as a training set by itself."""
    res = scv.cv("y ~ a + b + bs(c, df=4) + g", data, select="backward", k=4, seed=1)
    held = res.predictions.sort_values("row")["predicted"].to_numpy()
    for number in range(4):
        training, out = res.plan.train(number), res.plan.fits.held_out_by(number)
        alone = scv.cv(
            "y ~ a + b + bs(c, df=4) + g", data.iloc[training], select="backward", k=2
        )
        assert np.allclose(alone.predict(data.iloc[out]), held[out], atol=1e-6)


def test_weights_of_two_choose_and_fit_as_two_copies(data):
    twice, formula = pd.concat([data, data], ignore_index=True), "y ~ a + b + c + d + e"
    heavy = scv.cv(formula, data.assign(w=2.0), select="backward", weights="w", k=3)
    copied = scv.cv(formula, twice, select="backward", k=3)
    pd.testing.assert_series_equal(
        heavy.final.coefficients, copied.final.coefficients, atol=1e-7
    )


def test_nothing_chosen_is_the_model_without_predictors(data):
    noise = data[["c", "d"]].assign(y=np.arange(90) % 2)
    res = scv.cv("y ~ .", noise, select=Backward(by="p", level=1e-9), k=3, seed=1)
    assert res.held.coefficients[["c", "d"]].eq(0).all(axis=None)
    said = " ".join(str(res.summary()).split())
    assert "One model in 3 training sets, and in all records" in said
    assert "nothing was chosen: it is without predictors" in said
    assert res.selection.models["model"].tolist() == ["no term"]
    for number in range(3):
        share = noise.y.iloc[res.plan.train(number)].mean()
        held = res.predictions[res.predictions["fold"] == number + 1]["predicted"]
        assert np.allclose(held, share)


def test_a_main_effect_stays_below_its_interaction(data):
    noise = data.assign(y=((data.a * data.b) > 0).astype(int))
    noise.loc[::7, "y"] = 1 - noise.loc[::7, "y"]
    res = scv.cv("y ~ a * b + c * d", noise, select="backward", k=3, seed=1)
    inside = dict(zip(res.selection["term"], res.selection["frequency"], strict=True))
    assert inside["a:b"] == inside["a"] == inside["b"] == 1.0


def test_what_is_kept_brings_what_it_contains(data):
    rule = Backward(by="bic", keep=["d : c"])
    res = scv.cv("y ~ a + c * d", data, select=rule, k=3, seed=1)
    forced = res.selection.set_index("term")["forced"]
    assert set(forced[forced].index) == {"c", "d", "c:d"}


def test_the_tables_agree(data):
    res = scv.cv("y ~ a + b + c + d + e + f", data, select="both", scheme="loocv")
    chosen, models, pairs = res.selection, res.selection.models, res.selection.pairs
    assert models["fits"].sum() == 90
    assert models["frequency"].sum() == pytest.approx(1)
    assert chosen["fits"].sum() == (models["terms"] * models["fits"]).sum()
    often = int((chosen["frequency"] > 0).sum())
    assert len(pairs) == often * (often - 1) / 2 > 0
    said = res.summary().methods
    assert said.startswith(f"{len(models)} different models in 90 training sets")
    of_all = models.loc[models["all_records"], "fits"].sum()
    assert f"that of all records in {of_all}" in said


def test_a_screen_takes_the_most_correlated_columns():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(40, 120))).add_prefix("x")
    X["y"] = np.arange(40) % 2
    res = scv.cv("y ~ .", X, select=Screen(screen=3), k=4, seed=1)
    for number in range(4):
        training = X.iloc[res.plan.train(number)]
        r = training.corr()["y"].drop("y").abs()
        row = res.held.coefficients.iloc[number].drop("Intercept")
        assert set(row.index[row != 0]) == set(r.nlargest(3).index)
    less = scv.cv("y ~ .", X, select=Forward(screen=3), k=4, seed=1)
    used = res.held.coefficients != 0
    assert not ((less.held.coefficients != 0) & ~used).to_numpy().any()


def test_the_inner_plan_chooses_the_level_and_the_terms(data):
    rule = Backward(by="p")
    res = scv.cv(
        "y ~ a + b + c", data, select=rule, tune={"level": [0.01, 0.5]}, k=3, seed=1
    )
    said = "backward selection by Wald test in every training set, level of 0.01, 0.5"
    assert said in res.learner.label
    assert set(res.tuned["level"]) <= {0.01, 0.5}
    assert res.selection["frequency"].max() == 1


def test_several_classes_choose_terms_as_one_of_them_does(data):
    classes = data.assign(
        y=np.where(data.a > 0.5, "h", np.where(data.a < -0.5, "l", "m"))
    )
    classes.loc[::5, "y"] = "m"
    res = scv.cv("y ~ a + c + d", classes, select="backward", k=3, seed=1)
    assert res.selection.set_index("term")["frequency"]["a"] == 1


# ---- what is refused ----


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        ({"select": "stepwise"}, ArgumentError, "backward"),
        ({"select": Backward(keep=["age"])}, ArgumentError, "'age'"),
        (
            {"select": Backward(keep=["a", "b", "c"])},
            ArgumentError,
            "nothing to choose",
        ),
        ({"select": "backward", "model": Logit(C=1.0)}, ModelError, "tune="),
        ({"select": "backward", "model": Logit(firth=True)}, ModelError, "Firth"),
        ({"select": "backward", "model": XGBoost()}, ModelError, "early stopping"),
        ({"select": "backward", "formula": "y ~ a - 1"}, ModelError, "intercept"),
        (
            {"select": "backward", "formula": "y ~ a + I(2 * a)"},
            ModelError,
            "collinear",
        ),
        ({"select": Screen(screen=9), "formula": "y ~ a + b"}, ArgumentError, "fewer"),
        ({"select": Screen(screen=1), "formula": "y ~ a + g"}, ModelError, "keep="),
    ],
)
def test_a_bad_call_says_what_to_do(data, call, error, says):
    with pytest.raises(error, match=says):
        scv.cv(**{"formula": "y ~ a + b + c", "data": data, "k": 3, **call})


@pytest.mark.parametrize(
    "arguments",
    [
        {"by": "r2"},
        {"by": "p", "level": 1.0},
        {"level": 0.05},
        {"by": "bic", "level": 0.157},
        {"keep": "a"},
        {"screen": 0},
    ],
)
def test_a_bad_rule_is_refused(arguments):
    with pytest.raises(ArgumentError):
        Backward(**arguments)


def test_more_columns_than_records_need_a_screen():
    wide = pd.DataFrame(np.random.default_rng(1).normal(size=(20, 30))).add_prefix("x")
    wide["y"] = np.arange(20) % 2
    with pytest.raises(ModelError, match=r"30 columns|31 columns.*screen=10"):
        scv.cv("y ~ .", wide, select="backward", k=4)


def test_nothing_was_selected_without_select(data):
    with pytest.raises(NotTunedError, match="select="):
        _ = scv.cv("y ~ a", data, model=Linear(), k=3).selection


def test_separating_terms_are_named(data):
    apart = data.assign(a=data.y * 2.0 + 0.01 * data.c)
    with pytest.warns(scv.errors.StatcvWarning, match="separate"):
        res = scv.cv("y ~ a + b", apart, select="backward", k=3, seed=1)
    assert res.held.separated.all()


def test_the_final_model_of_a_choice_is_updated_in_its_own_terms():
    data = scv.load_data("ehr").head(600)
    old = scv.cv("y ~ x1 + x3 + x9", data.head(300), select="backward", k=4, seed=1)
    upd = old.final.update(data.tail(300), "refit")
    kept = [part.name for part in upd.equation().parts[0]]
    assert kept == list(old.final.coefficients.index)
    assert len(kept) < 4


def test_a_bound_without_a_term_is_below_the_criterion_and_near_it():
    rng, n = np.random.default_rng(8), 80
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 4))])
    y = (rng.random(n) < 1 / (1 + np.exp(-X[:, 1]))).astype(int)
    parts = {"a": (1,), "b": (2, 3), "c": (4,)}
    terms = tuple(Term(k, at, frozenset(k)) for k, at in parts.items())
    rule = replace(scv.models.Backward(), terms=terms)
    names = ("Intercept", "a", "b1", "b2", "c")
    records = TrainingSet(X, y, "binary", 2, names, 0, None, seed=0)
    folds = [[0, 1], [], [5, 6, 7]]
    sets = Sets(rule, records, Folds.leaving_out(folds), 0)
    start, trained = np.zeros((3, 6)), [np.delete(np.arange(n), one) for one in folds]
    for fold, rows in enumerate(trained):
        start[fold, :5] = sm.Logit(y[rows], X[rows]).fit(disp=0, tol=1e-12).params
    pairs = [(fold, 0b111 ^ 1 << i) for fold in range(3) for i in range(3)]
    bounds, near = least_criteria(sets, pairs, [0b111] * 3, start)
    for (fold, chosen), bound in zip(pairs, bounds, strict=True):
        rows, columns = trained[fold], sets.columns(chosen)
        aic = sm.Logit(y[rows], X[np.ix_(rows, columns)]).fit(disp=0, tol=1e-12).aic
        assert bound <= aic + 1e-6
        if chosen & 1:  # a term of no effect is dropped
            assert bound > aic - 0.5
    # coefficients are near those of the set whose bound is least, and bound what a
    # further term gains
    for fold, rows in enumerate(trained):
        of = [pair for pair in pairs if pair[0] == fold]
        best = of[int(np.argmin(bounds[3 * fold : 3 * fold + 3]))][1]
        columns = sets.columns(best)
        fitted = sm.Logit(y[rows], X[np.ix_(rows, columns)]).fit(disp=0, tol=1e-12)
        np.testing.assert_allclose(near[fold, columns], fitted.params, atol=1e-3)
        at = np.zeros_like(start)
        at[fold, columns] = fitted.params
        (back,), _ = least_criteria(sets, [(fold, 0b111)], [best] * 3, at)
        aic = sm.Logit(y[rows], X[rows]).fit(disp=0, tol=1e-12).aic
        assert aic - 0.5 < back <= aic + 1e-6


def test_the_default_interval_counts_all_terms_chosen_or_not(data):
    formula = "y ~ a + b + c + d + e + f"
    res = scv.cv(formula, data, select="backward", k=4, seed=1)
    found = res.estimate("brier").interval
    assert found.name == "infinitesimal_jackknife"
    assert "the coefficients of all terms, chosen or not," in found.assumes
    assert "tuning" not in found.assumes
    assert res.selection["frequency"].min() < 1
    # every coefficient varies
    influence = res.scores.sensitivity.reference.influence
    assert (np.abs(influence).sum(axis=(0, 1)) > 0).all()
    assert influence.shape[2] == 7


def test_areas_of_selections_count_less_of_the_fits_where_predictors_are_signal(data):
    rng = np.random.default_rng(2)
    often = expit(2 * data["a"] - 2 * data["b"])
    strong = data.assign(s=(rng.random(90) < often).astype(int))
    noise = strong.assign(s=rng.permutation(strong["s"]))

    def shares(
        data: pd.DataFrame, how: str = "per_fold", **given: object
    ) -> tuple[list[float], float, float]:
        res = scv.cv("s ~ a + b + c + d", data, k=5, seed=1, **given)
        used = res.coefficients.drop(columns=["repeat", "fold", "Intercept"]).ne(0)
        asked = [(METRICS["auroc"], how), (METRICS["auprc"], "pooled")]
        asked += [(METRICS["brier"], "pooled")]
        found = [one.share for one in draw(res.scores, asked)]
        area = float(res.estimate("auroc", how))
        return found, 1 - (2 * area - 1) ** 2 / 2, used.any(axis=1).mean()

    net = Logit(C=0.15, l1_ratio=1.0)
    for made in (strong, noise):
        assert shares(made)[0] == [1, 1, 0.5]
        found, expected, _ = shares(made, select="backward")
        assert found == [pytest.approx(expected, abs=0.02), 1, 0.5]
        # nets that leave out all columns do not move, and only the others move the mean
        found, expected, used = shares(made, model=net)
        assert found == [pytest.approx(used**2 * expected, abs=0.02), 1, 0.5]
        found, expected, _ = shares(made, how="pooled", model=net)
        assert found == [pytest.approx(expected, abs=0.02), 1, 0.5]
    assert shares(strong, select="backward")[1] < 0.75
    assert 0 < used < 1


def test_areas_vary_at_least_as_fits_that_leave_out_all_columns_differ_from_others():
    rng = np.random.default_rng(5)
    data = pd.DataFrame(rng.standard_normal((80, 6)), columns=list("abcdef"))
    data["y"] = rng.permutation(np.arange(80) % 2)
    net = Logit(C=[0.05, 0.1, 0.2, 0.5], l1_ratio=1.0, standardize=True)
    res = scv.cv("y ~ .", data, model=net, seed=1)
    made = res.coefficients.drop(columns=["repeat", "fold"])
    eta = data.assign(Intercept=1.0)[made.columns] @ made.T
    areas = [METRICS["auroc"](data["y"].to_numpy(), eta[fold]) for fold in eta]
    assert 0 < (np.array(areas) == 0.5).mean() < 1
    found = infinitesimal._between_fits(res.scores, METRICS["auroc"])
    # the fit to all records differs from the mean of 10 folds: 1 + 1/10
    assert found == pytest.approx(np.var(areas, ddof=1) * 1.1)
    ridge = scv.cv("y ~ .", data, model=Logit(C=0.1), seed=1)
    assert infinitesimal._between_fits(ridge.scores, METRICS["auroc"]) == 0


def test_areas_vary_more_where_nearly_equal_training_sets_share_one_choice(data):
    asked = METRICS["auroc"], "paired"
    formula = "y ~ a + b + c + d + e + f"

    def added(scheme: str, **given: object) -> tuple[float, float]:
        scores = scv.cv(formula, data, scheme=scheme, seed=1, **given).scores
        found = influences(scores, *asked)
        known = found.given_fits + pair_variation(scores, *asked, found)
        moved = infinitesimal._variation(scores, *asked, "varied", found)
        more = moved.variance - moved.given - found.draws.excess
        return more, known * (1 - (2 * found.value - 1) ** 2)

    more, expected = added("rloocv", select="backward")
    # two of the 90 records differ between training sets, so that nearly all is shared
    assert more == pytest.approx(expected, rel=0.03)
    for scheme, given in (("rloocv", {}), ("stratified_kfold", {"select": "backward"})):
        assert added(scheme, **given)[0] == pytest.approx(0, abs=1e-12)


def test_a_selection_is_compared_with_at_least_the_variance_of_correlated_folds(data):
    formula = "y ~ a + b + c + d + e + f"
    full = scv.cv(formula, data, k=4, seed=1)
    chosen = scv.cv(formula, data, select="backward", k=4, seed=1)
    net = full.update(model=Logit(C=0.1, l1_ratio=1.0))
    for one in (chosen, net):
        found = scv.compare(full=full, one=one)
        assert found.method.name == "infinitesimal_jackknife"
        assert "corrected influence" in found.method.assumes
        folds = scv.compare(full=full, one=one, test="corrected_influence")
        least = folds.differences["se"].iloc[0]
        assert found.differences["se"].iloc[0] >= least * (1 - 1e-12)
    less = scv.compare(a=full, b=full.update(". ~ . - a"))
    assert "chosen" not in less.method.assumes


def test_a_comparison_says_where_the_choice_counts_too_little(data):
    formula, said = "y ~ a + b + c + d", "choose nearly the same terms"
    for scheme, told in (("kfold", False), ("loocv", True), ("rloocv", True)):
        full = scv.cv(formula, data, scheme=scheme, seed=1)
        chosen = scv.cv(formula, data, select="backward", scheme=full.plan, seed=1)
        asked = ("auroc", None), ("brier", None), ("auroc", "corrected_influence")
        for metric, test in asked:
            found = scv.compare(full=full, chosen=chosen, metric=metric, test=test)
            caveat = found.differences["caveat"].iloc[0]
            assert (said in caveat) == (told and test is not None)
        given = {"test": "corrected_influence"}
        both = scv.compare(full=full, less=full.update(". ~ . - a"), **given)
        assert said not in both.differences["caveat"].iloc[0]
        others = chosen.update("y ~ e + f")
        apart = scv.compare(chosen=chosen, others=others, **given)
        assert said not in apart.differences["caveat"].iloc[0]


def test_models_that_share_terms_are_compared_with_the_terms_as_chosen(
    data, monkeypatch
):
    formula = "y ~ a + b + c + d + e + f"
    full = scv.cv(formula, data, scheme="rloocv", repeats=2, seed=1)
    chosen = scv.cv(formula, data, select="backward", scheme=full.plan, seed=1)
    often = chosen.selection["frequency"] >= 0.5
    varied = chosen.scores.sensitivity.as_chosen.reference
    assert varied.influence.shape[2] == 1 + often.sum() < 7
    assert full.scores.sensitivity.as_chosen.reference.influence.shape[2] == 7
    every = property(lambda sensitivity: sensitivity)
    for metric in ("auroc", "brier"):
        found = scv.compare(full=full, chosen=chosen, metric=metric).differences
        with monkeypatch.context() as patched:
            patched.setattr(Sensitivity, "as_chosen", every)
            alike = scv.compare(full=full, chosen=chosen, metric=metric).differences
        assert found["se"].iloc[0] > 1.1 * alike["se"].iloc[0], metric
        assert found["difference"].iloc[0] == alike["difference"].iloc[0]


def test_bounds_are_unknown_where_separation_leaves_nothing_to_divide_by(
    data, monkeypatch
):
    X = np.column_stack([np.ones(90), data[["a", "b"]]])
    terms = tuple(Term(n, (i,), frozenset([n])) for i, n in enumerate("ab", 1))
    names, rule = ("Intercept", "a", "b"), Backward(model=Logit(), terms=terms)
    records = TrainingSet(X, data["y"].to_numpy(), "binary", 2, names, 0, None, seed=0)
    sets = Sets(rule, records, Folds.leaving_out([[0]]), 0)
    start = np.zeros((1, 4))
    start[0, :3] = sm.Logit(records.y[1:], X[1:]).fit(disp=0).params

    def singular(*given):
        raise np.linalg.LinAlgError

    given = sets, [(0, 0b01), (0, 0b10)], [0b11], start
    assert np.isfinite(least_criteria(*given)[0]).all()
    monkeypatch.setattr(np.linalg, "inv", singular)
    assert np.isneginf(least_criteria(*given)[0]).all()


# ---- separation ----


def separated(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(rng.normal(size=(60, 12))).add_prefix("x")
    eta = 3 * (made.x0 + made.x1 - made.x2)
    return made.assign(y=(rng.random(60) < 1 / (1 + np.exp(-eta))).astype(int))


def deviance(data: pd.DataFrame, names: list[str]) -> float:
    """Return that after 25 steps of Newton, next to nothing under separation."""
    X, y = np.column_stack([np.ones(len(data)), data[names]]), data["y"].to_numpy()

    def loss(beta: np.ndarray) -> float:
        return float(np.logaddexp(0, -(2 * y - 1) * (X @ beta)).sum())

    beta = np.zeros(X.shape[1])
    for _ in range(25):
        p = expit(X @ beta)
        step = np.linalg.lstsq((X.T * (p * (1 - p))) @ X, X.T @ (y - p))[0]
        while loss(beta + step) > loss(beta) + 1e-12:
            step /= 2
        beta += step
    return 2 * loss(beta)


def test_terms_that_separate_tie_and_the_one_named_last_goes():
    data = separated(1)
    res = scv.cv("y ~ .", data, select="backward", k=4, seed=1)
    separate = 0
    for number in range(4):
        training = data.iloc[res.plan.train(number)]
        left = [f"x{j}" for j in range(12)]
        while True:
            found = [
                deviance(training, [x for x in left if x != name]) for name in left
            ]
            separate += sum(one < 1e-5 for one in found) > 1
            best = max(i for i, one in enumerate(found) if one < min(found) + 1e-5)
            if found[best] - deviance(training, left) >= 2:
                break
            left.pop(best)
        row = res.held.coefficients.iloc[number].drop("Intercept")
        assert list(row.index[row != 0]) == left
    assert separate > 4


def test_wald_tests_of_terms_that_separate_are_warned_of(data):
    apart = data.assign(a=data.y * 2.0 + 0.01 * data.c)
    with pytest.warns(scv.errors.SeparationWarning, match="Wald tests .* by='aic'"):
        res = scv.cv("y ~ a + b", apart, select=Backward(by="p"), k=3, seed=1)
    assert res.held.separated.all()


def test_a_monotone_likelihood_is_not_called_separated_classes(data):
    times = data.assign(time=1 + data.a - data.a.min(), status=1)
    with pytest.warns(scv.errors.SeparationWarning, match="monotone") as caught:
        scv.cv("Surv(time, status) ~ a + b", times, select="backward", k=3, seed=1)
    assert not any("classes" in str(one.message) for one in caught)


# ---- terms without a parameter, and columns that are ranked ----


@pytest.mark.parametrize("model", ["logit", "poisson", "negbin", "proportional_odds"])
@pytest.mark.parametrize("level", ["a", "z"])
def test_the_coding_of_an_absent_level_changes_no_choice(data, model, level):
    rare = data.assign(
        g=np.where(np.arange(90) == 4, level, data.g),
        n=np.random.default_rng(3).poisson(np.exp(0.5 * data.a)),
        o=pd.cut(data.z, [-99, -1, 1, 99]),
    )
    outcome = {"logit": "y", "proportional_odds": "o"}.get(model, "n")
    call = {"select": Backward(by="p"), "model": model, "scheme": np.arange(90) % 5}
    res = scv.cv(f"{outcome} ~ a + b + c + g", rare, **call)
    lacking = scv.cv(
        f"{outcome} ~ a + b + c + g",
        rare.drop(index=4),
        **{**call, "scheme": np.delete(np.arange(90) % 5, 4)},
    )
    # the training set without the level is the same in both
    assert set(res.held.coefficients) > {"a", "b", "c"}
    for name in "abc":
        found = [one.held.coefficients[name].iloc[4] for one in (res, lacking)]
        assert found[0] == pytest.approx(found[1], abs=1e-6)


def test_a_screen_ranks_columns_beside_a_spline_that_is_kept(data):
    rule = Forward(screen=2, keep=["bs(c, df=4)"])
    res = scv.cv("y ~ a + b + d + e + bs(c, df=4)", data, select=rule, k=3, seed=1)
    chosen = res.selection.set_index("term")
    assert chosen.loc["bs(c, df=4)", "forced"]
    with pytest.raises(ModelError, match="'a:b' is an interaction: name it in keep="):
        scv.cv("y ~ a * b + c", data, select=Forward(screen=1))


def test_a_screen_of_classes_is_by_the_variance_between_them(data):
    three = data.assign(y=pd.cut(data.z, [-99, -1, 1, 99], labels=["l", "m", "h"]))
    res = scv.cv("y ~ a + b + c + d", three, select=Screen(screen=1), k=4, seed=1)
    for number in range(4):
        training = three.iloc[res.plan.train(number)]
        groups = training.groupby("y", observed=True)
        between = {
            name: (groups[name].transform("mean").var() / training[name].var())
            for name in "abcd"
        }
        row = res.held.coefficients.iloc[number]
        used = {name for name in "abcd" if row.filter(regex=f"^{name}\\[").any()}
        assert used == {max(between, key=lambda name: between[name])}


def test_an_exact_fit_keeps_no_further_term(data):
    exact = data.assign(z=2 * data.a)
    res = scv.cv("z ~ a + b + c", exact, select="backward", k=4, seed=1)
    assert res.selection.models["model"].tolist() == ["a"]


# ---- counts and ordered classes ----


@pytest.mark.parametrize("model", ["poisson", "negbin", "proportional_odds"])
@pytest.mark.parametrize("by", ["aic", "p"])
def test_counts_and_ordered_classes_are_fitted_with_the_terms_chosen(data, model, by):
    rng = np.random.default_rng(4)
    made = data.assign(
        n=rng.negative_binomial(2, 2 / (2 + np.exp(0.8 * data.a))),
        o=pd.cut(data.z, [-99, -1, 1, 99]),
        t=rng.uniform(1, 3, 90),
    )
    outcome = "o" if model == "proportional_odds" else "n"
    offset = "" if outcome == "o" else " + offset(log(t))"
    rule = Backward(by=by, keep=["c"])
    call = {"model": model, "k": 4, "seed": 1}
    res = scv.cv(f"{outcome} ~ a + b + c + g{offset}", made, select=rule, **call)
    kept = res.selection.query("all_records")["term"].tolist()
    assert {"a", "c"} <= set(kept) < {"a", "b", "c", "g"}
    plain = scv.cv(f"{outcome} ~ {' + '.join(kept)}{offset}", made, **call)
    own = plain.final.coefficients
    np.testing.assert_allclose(res.final.coefficients[own.index], own, atol=1e-7)
    np.testing.assert_allclose(res.predict(made), plain.predict(made), atol=1e-7)
    assert res.estimate().interval.name == plain.estimate().interval.name


# ---- permuted outcomes ----


OUTCOMES = {
    "binary": (Logit(), (1.0, 0.0)),
    "continuous": (Linear(), (1.0, 1.0)),
    "multiclass": (scv.models.ProportionalOdds(), (1.0, 1.0)),
    "classes": (Logit(), (1.0, 1.0)),
    "count": (scv.models.Poisson(), (0.5, 0.0)),
    "survival": (scv.models.Cox(), (1.0, 0.0)),
}


@pytest.mark.parametrize("kind", OUTCOMES)
@pytest.mark.parametrize("rule", [Backward(), Backward(by="p"), Screen(screen=2)])
def test_permuted_outcomes_choose_as_each_alone(kind, rule):
    model, (slope, noise) = OUTCOMES[kind]
    rng, n = np.random.default_rng(0), 80
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 5))])
    eta = slope * X[:, 1] + noise * rng.normal(size=n)
    y = {
        "binary": (rng.random(n) < expit(eta)) * 1.0,
        "count": rng.poisson(np.exp(eta)) * 1.0,
        "survival": rng.exponential(np.exp(-eta)).round(2) + 0.01,
    }.get(kind, eta)
    y = np.digitize(eta, [-0.5, 0.5]) if kind in ("multiclass", "classes") else y
    known = {"classes": "multiclass", "count": "continuous"}.get(kind, kind)
    terms = tuple(Term(k, (i,), frozenset(k)) for i, k in enumerate("abcde", 1))
    model = replace(rule, model=model, terms=terms)
    given = X, np.stack([y, *(rng.permutation(y) for _ in range(2))]), known
    classes = {"binary": 2, "multiclass": 3}.get(known, 0)
    names, horizons = ("Intercept", *"abcde"), (1.0,) * (kind == "survival")
    records = TrainingSet(*given, classes, names, 0, None, 0, horizons=horizons)
    held, which = [[0, 1], [2], [3, 4, 5]], np.array([1, 0, 2])
    both = model.fit_folds(
        records, replace(Folds.leaving_out(held), outcome=which)
    ).coefficients
    for fit, outcome in enumerate(which):
        one = replace(records, y=records.y[outcome])
        alone = model.fit_folds(one, Folds.leaving_out(held[fit : fit + 1]))
        np.testing.assert_allclose(
            np.asarray(both)[fit], np.asarray(alone.coefficients)[0], atol=1e-9
        )


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("rule", [Backward(), Backward(by="p"), scv.models.Both()])
def test_terms_of_an_exact_fit_are_chosen_without_others(rule):
    rng = np.random.default_rng(17)
    exact = pd.DataFrame(rng.normal(size=(90, 3)), columns=["a", "b", "c"])
    exact["y"] = 2 * exact["a"] + 1
    res = scv.cv("y ~ a + b + c", exact, select=rule, seed=1)
    assert res.selection["frequency"].tolist() == [1, 0, 0]
