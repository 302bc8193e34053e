"""Cox regression with a baseline hazard for each stratum, against R."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from statcv import cv
from statcv.errors import (
    EquationError,
    FormulaError,
    MissingDataWarning,
    SchemeError,
    UnseenLevelWarning,
)
from statcv.inference.tests.permutation import permuted_places
from statcv.models import Backward, Cox, TrainingSet
from statcv.models.batched import Folds, fit_all_folds, permuted_folds
from statcv.models.likelihood import Hazards
from statcv.numeric.survival import signed_times

REFERENCE = Path(__file__).parent.parent / "reference"
HORIZONS = (2.0, 5.0)
NAMES = ("Intercept", "a", "strata(g)[T.v]", "b", "strata(g)[T.w]", "c")


def cases(weighted=False, copies=1):
    """The records of R, with a design matrix as a formula makes it."""
    data = pd.read_csv(REFERENCE / "cox_cases.csv")
    data = pd.concat([data] * copies, ignore_index=True)
    g = np.arange(len(data)) // 4 % 3
    columns = [np.ones(len(data)), data.a, g == 1, data.b, g == 2, data.c]
    y = signed_times(data["time"].to_numpy(float), data["status"].to_numpy() == 1)
    weights = data["weight"].to_numpy() if weighted else None
    X = np.column_stack(columns).astype(float)
    return (
        data,
        g,
        TrainingSet(X, y, "survival", 0, NAMES, 0, weights, seed=0, horizons=HORIZONS),
    )


def folds_of(data, scheme):
    if scheme == "bootstrap":
        samples = pd.read_csv(REFERENCE / "cox_strata_samples.csv").to_numpy()
        times = [np.bincount(one, minlength=len(data)) for one in samples]
        return Folds.of_times(np.array(times, dtype=np.int32))
    group = np.arange(len(data)) if scheme == "loocv" else data["fold"].to_numpy()
    return Folds.leaving_out([np.flatnonzero(group == one) for one in np.unique(group)])


SETTINGS = {
    "efron": Cox(),
    "breslow": Cox(ties="breslow"),
    "efron weighted": Cox(),
    "efron ridge": Cox(C=0.5),
}


@pytest.mark.parametrize("scheme", ["loocv", "kfold", "bootstrap"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_training_set_has_the_fit_of_r(setting, scheme):
    data, g, records = cases("weighted" in setting)
    model, folds = SETTINGS[setting], folds_of(data, scheme)
    expected = pd.read_csv(REFERENCE / "cox_strata_r.csv")
    expected = expected[(expected.setting == setting) & (expected.scheme == scheme)]
    fitted = model.fit_folds(records, folds)
    assert fitted.converged.all()
    known = expected[["a", "b", "c"]].to_numpy()
    assert fitted.names == ("a", "b", "c")
    np.testing.assert_allclose(np.asarray(fitted.coefficients), known, atol=1e-8)
    hazard = np.exp(fitted.linear.baseline + fitted.linear.constant[:, None, None])
    known = expected[["u2", "u5", "v2", "v5", "w2", "w5"]].to_numpy()
    np.testing.assert_allclose(hazard.reshape(known.shape), known, rtol=1e-8)
    # a record is predicted by the hazard of its own stratum
    eta = records.X[:, [1, 3, 5]] @ np.asarray(fitted.coefficients)[0]
    risk = 1 - np.exp(-hazard[0][g] * np.exp(eta)[:, None])
    np.testing.assert_allclose(fitted.predict_all(len(g))[0, :, 1:], risk, atol=1e-9)


def test_the_partial_likelihood_is_that_of_r():
    data, g, records = cases()
    expected = pd.read_csv(REFERENCE / "cox_strata_r.csv").query("setting == 'efron'")
    levels = np.unique(data["fold"])
    for row in expected[expected.scheme == "kfold"].itertuples():
        some = data["fold"].to_numpy() != levels[row.fit - 1]
        eta = records.X[some][:, [1, 3, 5]] @ [row.a, row.b, row.c]
        found = Hazards().of_all(records.y[some], eta, np.eye(3)[g[some]])
        assert found == pytest.approx(row.loglik, abs=1e-8)


@pytest.mark.parametrize("model", [Cox(), Cox(firth=True), Cox(C=0.4, ties="breslow")])
def test_fits_together_are_those_of_each_training_set(model):
    _, g, records = cases(weighted=True)
    rng = np.random.default_rng(1)
    outcomes = np.stack([records.y] * 3)
    for own in outcomes[1:]:  # outcomes are permuted within strata
        for one in range(3):
            own[g == one] = rng.permutation(own[g == one])
    records = replace(records, y=outcomes)
    plan = Folds.of_times(rng.integers(0, 3, (5, len(g))).astype(np.int32))
    folds = permuted_folds(plan, 3)
    fitted = fit_all_folds(model, records, folds)
    for fit in range(len(folds)):
        alone = model.fit(folds.training_set(records, fit))
        np.testing.assert_allclose(
            fitted.predict_all(len(g))[fit], alone.predict(records.X), atol=1e-8
        )


def test_firths_penalty_with_strata_is_that_of_the_definition():
    _, g, records = cases()
    beta = np.array(list(Cox(firth=True).fit(records).coefficients.values()))

    def objective(beta):
        # sums over the strata, each with risk sets of its own
        log, information = 0.0, np.zeros((3, 3))
        for one in range(3):
            X, y = records.X[g == one][:, [1, 3, 5]], records.y[g == one]
            X = X - records.X[:, [1, 3, 5]].mean(axis=0)
            hazard = np.exp(X @ beta)
            for time in np.unique(y[y > 0]):
                risk, dead = np.abs(y) >= time, y == time
                log += (X[dead] @ beta).sum()
                for turn in range(dead.sum()):
                    w = hazard * (risk - turn / dead.sum() * dead)
                    mean = w @ X / w.sum()
                    log -= np.log(w.sum())
                    information += (X.T * w) @ X / w.sum() - np.outer(mean, mean)
        return log + np.linalg.slogdet(information)[1] / 2

    top = objective(beta)
    for step in np.eye(3) * [1e-3, 1e-3, 1e-4]:
        assert objective(beta + step) < top
        assert objective(beta - step) < top


# ---- formulas ----


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(3)
    n = 90
    sex, site = rng.choice(["f", "m"], n), rng.choice(["x", "y", "z"], n)
    age = rng.normal(60, 8, n)
    hazard = np.exp((age - 60) / 10) * np.where(sex == "m", 3.0, 1.0)
    time, end = rng.exponential(10 / hazard), rng.uniform(1, 20, n)
    return pd.DataFrame(
        {"time": np.ceil(np.minimum(time, end)), "status": (time <= end) * 1}
        | {"age": age, "dose": rng.normal(size=n), "sex": sex, "site": site}
    )


FORMULA = "Surv(time, status) ~ age + dose + strata(sex)"


def test_a_stratum_has_no_coefficient_and_new_rows_have_its_baseline(patients):
    res = cv(FORMULA, patients, k=5, horizon=5, seed=1)
    assert list(res.coefficients.columns[-2:]) == ["age", "dose"]
    assert list(res.tidy()["term"]) == ["age", "dose"]
    assert "metrics(by='sex') does not" in " ".join(str(res.summary()).split())
    new = pd.DataFrame({"age": [60.0, 60], "dose": [0.0, 0], "sex": ["f", "m"]})
    made = res.final.predict(new)
    assert made["linear"].nunique() == 1
    assert made.iloc[1, 1] > 1.5 * made.iloc[0, 1]


def test_one_stratum_of_all_changes_nothing(patients):
    data = patients.assign(all="a")
    plain = cv("Surv(time, status) ~ age + dose", data, k=5, horizon=5, seed=1)
    strata = cv(f"{FORMULA[:-4]}all)", data, k=5, horizon=5, seed=1)
    one, other = plain.predictions, strata.predictions
    np.testing.assert_allclose(one["risk_5"], other["risk_5"], atol=1e-12)
    intervals = [res.estimate("auroc@5") for res in (plain, strata)]
    assert intervals[0].lower == pytest.approx(intervals[1].lower)


def test_several_columns_make_strata_of_their_combinations(patients):
    joined = patients.assign(both=patients["sex"] + patients["site"])
    one = cv("Surv(time, status) ~ age + strata(sex, site)", joined, k=5, seed=1)
    other = cv("Surv(time, status) ~ age + strata(both)", joined, k=5, seed=1)
    assert one.tidy()["estimate"].tolist() == other.tidy()["estimate"].tolist()


def test_a_stratum_that_a_training_set_lacks_has_the_mean_hazard(patients):
    formula = "Surv(time, status) ~ age + strata(site)"
    with pytest.warns(UnseenLevelWarning, match="predicted there at the mean"):
        res = cv(formula, patients, horizon=5, scheme="loocv", stratify="site")
    for _, own in res.predictions.groupby("fold"):
        train = patients.drop(index=own["row"])
        inner = cv(formula, train, k=3, horizon=5, seed=1).final
        mean = 0.0
        for site, share in train["site"].value_counts(normalize=True).items():
            at = inner.predict(patients.loc[own["row"]].assign(site=site))
            mean -= share * np.log1p(-at["risk_5"])
        np.testing.assert_allclose(own["risk_5"], 1 - np.exp(-mean), atol=1e-10)


def test_selection_and_drop1_never_drop_strata(patients):
    res = cv(FORMULA, patients, k=5, horizon=5, seed=1, select="backward")
    assert res.selection.models["model"].str.contains("strata").all()
    for by in ("p", "bic"):
        one = cv(FORMULA, patients, k=5, seed=1, select=Backward(by=by))
        chosen = " + ".join(one.final.coefficients.index)
        plain = cv(f"Surv(time, status) ~ {chosen} + strata(sex)", patients, seed=1)
        assert one.final.coefficients.tolist() == pytest.approx(
            plain.final.coefficients.tolist(), abs=1e-6
        )
    known = cv(FORMULA, patients, k=5, seed=1).drop1().table
    assert not known["term"].str.contains("strata").any()


def test_outcomes_are_permuted_within_strata(patients):
    sex = (patients["sex"] == "m").to_numpy()
    places = permuted_places(90, None, 1, 0, sex.astype(int))
    assert (sex[places] == sex).all()
    assert (places != np.arange(90)).sum() > 70
    pairs = np.repeat(np.arange(45), 2)
    places = permuted_places(90, pairs, 1, 0, sex.astype(int))
    assert (sex[places] == sex).all()
    assert (np.diff(pairs[places].reshape(-1, 2)) == 0).all()
    test = cv(FORMULA, patients, k=5, horizon=5, seed=1).test(
        "harrell_c", method="permutation", n_permutations=19, seed=1
    )
    assert "within strata(sex)" in str(test)


def test_terms_that_learn_are_learnt_beside_strata(patients):
    formula = "Surv(time, status) ~ bs(age, df=4) + strata(sex)"
    res = cv(formula, patients, k=5, horizon=5, seed=1)
    for _, own in res.predictions.groupby("fold"):
        train = patients.drop(index=own["row"])
        made = cv(formula, train, k=3, horizon=5, seed=1).final
        expected = made.predict(patients.loc[own["row"]])["risk_5"]
        np.testing.assert_allclose(own["risk_5"], expected, atol=1e-7)


@pytest.mark.parametrize(
    ("formula", "model", "error", "message"),
    [
        ("age:strata(sex)", "cox", FormulaError, "a term by itself"),
        ("age + strata(sex) + strata(site)", "cox", FormulaError, r"sex, site\)"),
        ("age + strata(sex)", "xgboost", FormulaError, r"has no strata\(sex\)"),
    ],
)
def test_what_strata_cannot_be_is_said(patients, formula, model, error, message):
    with pytest.raises(error, match=message):
        cv(f"Surv(time, status) ~ {formula}", patients, model=model)


def test_an_equation_of_strata_is_refused(patients):
    res = cv(FORMULA, patients, k=5, horizon=5, seed=1)
    with pytest.raises(EquationError, match="baseline hazard for each level"):
        res.final.equation()
    with pytest.raises(EquationError, match=r"strata\(sex\)"):
        res.final.save("model.json")
    assert res.final.validate(patients).scores.external


def test_clusters_of_unequal_sizes_are_not_permuted_within_strata(patients):
    data = patients.assign(id=np.repeat(np.arange(30), 3) // 2)
    data[["time", "status"]] = data.groupby("id")[["time", "status"]].transform("first")
    data = data.drop(index=0)
    res = cv(FORMULA, data, scheme="kfold", k=5, stratify="id", seed=1)
    with pytest.raises(SchemeError, match=r"belongs to its strata\(sex\)"):
        res.null_bias("harrell_c", n_permutations=3)


def test_strata_of_text_with_missing_values_lose_their_rows(patients):
    data = patients.astype({"sex": object})
    data.loc[:4, "sex"] = None
    with pytest.warns(MissingDataWarning, match="sex 5"):
        res = cv(FORMULA, data, k=5, seed=1)
    assert res.design.n == 85
