"""Terms that are chosen in every training set, and what is said of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import statcv as scv
from statcv.errors import ArgumentError, ModelError, NotTunedError
from statcv.models import Backward, Forward, Linear, Logit, Screen, TrainingSet, XGBoost
from statcv.models.batched import Folds
from statcv.models.selection import Term
from statcv.models.selection.search import least_criteria
from statcv.models.selection.training import Sets

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
    "arguments", [{"by": "r2"}, {"level": 1.0}, {"keep": "a"}, {"screen": 0}]
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
    bounds = least_criteria(sets, pairs, [0b111] * 3, start)
    for (fold, chosen), bound in zip(pairs, bounds, strict=True):
        rows, columns = trained[fold], sets.columns(chosen)
        aic = sm.Logit(y[rows], X[np.ix_(rows, columns)]).fit(disp=0, tol=1e-12).aic
        assert bound <= aic + 1e-6
        if chosen & 1:  # a term of no effect is dropped
            assert bound > aic - 0.5


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
        found = scv.compare(full=full, chosen=chosen)
        assert (said in found.differences["caveat"].iloc[0]) == told
        both = scv.compare(full=full, less=full.update(". ~ . - a"))
        assert said not in both.differences["caveat"].iloc[0]
        others = chosen.update("y ~ e + f")
        apart = scv.compare(chosen=chosen, others=others)
        assert said not in apart.differences["caveat"].iloc[0]


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
    assert np.isfinite(least_criteria(*given)).all()
    monkeypatch.setattr(np.linalg, "solve", singular)
    assert np.isneginf(least_criteria(*given)).all()
