"""What ranks stratifiers before any refit, against slow versions and XGBoost's own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBClassifier

from statcv.results import CVResult
from studies.bey2020 import Figure4, Scale, importance
from studies.bey2020.rankings import KINDS, RANKINGS, fold_models, rank
from studies.bey2020.samples import Sample, drawn_population
from studies.bey2020.strategies import accuracy, cross_validate

SCALE = Scale(n=500, n_duplicates=0, rounds=12)
X = [f"x{number}" for number in range(1, 11)]


@pytest.fixture(scope="module")
def sample() -> Sample:
    return Sample.draw(SCALE, drawn_population(4, 1), 4, 1)


@pytest.fixture(scope="module")
def unbiased(sample: Sample) -> CVResult:
    return cross_validate("unbiased", sample, SCALE)


@pytest.fixture(scope="module")
def told(unbiased: CVResult) -> pd.DataFrame:
    return rank(unbiased, fold_models(unbiased), seed=1)


def estimators(sample: Sample, result: CVResult) -> list[tuple[XGBClassifier, list]]:
    """Return a scikit-learn estimator a fold, and the rows that it has not seen."""
    fold = result.predictions.set_index("row")["fold"]
    found = []
    for one in sorted(fold.unique()):
        out = fold.index[fold == one]
        train = sample.people.drop(index=out)
        model = XGBClassifier(
            max_depth=3, n_estimators=SCALE.rounds, learning_rate=0.6, n_jobs=1
        )
        found.append((model.fit(train[X].to_numpy(), train["y"]), list(out)))
    return found


def test_the_models_of_folds_predict_what_was_predicted(unbiased: CVResult) -> None:
    held = unbiased.predictions.set_index("row")["predicted"]
    models = fold_models(unbiased)
    for model in models:
        predicted = model.fit.predict(model.X)
        np.testing.assert_array_equal(predicted, held.loc[model.held_out])
    mean = np.mean([model.accuracy() for model in models])
    assert mean == pytest.approx(accuracy(unbiased), abs=1e-12)


def test_importances_are_xgboosts_own(
    sample: Sample, unbiased: CVResult, told: pd.DataFrame
) -> None:
    models = [model for model, _ in estimators(sample, unbiased)]
    for kind in KINDS:
        for model in models:
            model.importance_type = kind
        mean = np.mean([model.feature_importances_ for model in models], axis=0)
        np.testing.assert_allclose(told[kind], mean, rtol=1e-5)
        assert told[kind].sum() == pytest.approx(1)


def test_clamping_moves_each_value_to_the_nearest_of_another_bin(
    sample: Sample, unbiased: CVResult, told: pd.DataFrame
) -> None:
    people, losses = sample.people, []
    fitted = estimators(sample, unbiased)
    for name in X:
        values = people[name]
        order = people[name].rank(method="first") - 1
        own = (order * 5 // len(people)).astype(int)  # five bins of a hundred
        lost = []
        for model, out in fitted:
            rows = people.loc[out]
            moved = rows[X].copy()
            for row in out:
                elsewhere = values[own != own[row]].to_numpy()
                nearest = np.abs(elsewhere - values[row]).argmin()
                moved.loc[row, name] = elsewhere[nearest]
            before = (model.predict(rows[X].to_numpy()) == rows["y"]).mean()
            after = (model.predict(moved.to_numpy()) == rows["y"]).mean()
            lost.append(before - after)
        losses.append(np.mean(lost))
    np.testing.assert_allclose(told["clamp"], losses, atol=1e-12)


def test_what_tells_the_outcome_is_ranked_above_what_does_not() -> None:
    population = drawn_population(4, 1)
    scale = Scale(n=2_000, n_duplicates=0, rounds=12)
    sample = Sample.draw(scale, population, 4, 2)
    people = sample.people.assign(
        y=(sample.people["x10"] > 0).astype(int)  # x10 has no effect otherwise
    )
    only = Sample(population, people, people, sample.seeds)
    result = cross_validate("unbiased", only, scale)
    told = rank(result, fold_models(result), seed=1)
    for name in RANKINGS:
        if name not in ("heterogeneity", "cover"):
            assert told[name].idxmax() == "x10"
    assert told.loc["x10", "heterogeneity"] == pytest.approx(0.5, abs=0.03)
    rest = told.drop(index="x10")
    assert (rest["heterogeneity"] > 0.5).all()  # the other covariates are correlated
    assert rest["permutation"].abs().max() < 0.01


@pytest.fixture
def resampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw fewer samples for a standard error that is not what is tested."""
    monkeypatch.setattr(importance, "RESAMPLES", 100)


def pairs(sets: int, noise: float) -> pd.DataFrame:
    rng = np.random.default_rng(6)
    x = rng.random(10 * sets)
    table = pd.DataFrame(dict.fromkeys(RANKINGS, x))
    table["anova_f"] = 1.0
    table["gain"] = np.exp(9 * x)
    table.insert(0, "data_set", np.repeat(np.arange(1, sets + 1), 10))
    table.insert(1, "unbiased", 0.8)
    table.insert(2, "ratio", 1 - 0.1 * x + noise * rng.standard_normal(len(x)))
    return table


@pytest.mark.usefixtures("resampled")
def test_correlations_of_what_is_known() -> None:
    found = Figure4(pairs(20, 0.0)).correlations().set_index("ranking")
    kinds = ["pearson", "spearman", "within"]
    np.testing.assert_allclose(found.loc["clamp", kinds].astype(float), -1)
    assert found.loc["clamp", "pearson_se"] == pytest.approx(0, abs=1e-9)
    assert found.loc["gain", "pearson"] > -0.95  # not a line, and yet in order
    assert found.loc["gain", "spearman"] == pytest.approx(-1)
    assert found.loc["anova_f"].isna().all()
    assert found.loc["cover"].equals(found.loc["clamp"])


def test_the_error_of_independent_pairs_is_fishers() -> None:
    table = pairs(100, 0.03)
    found = Figure4(table).correlations().set_index("ranking").loc["clamp"]
    r = np.corrcoef(table["clamp"], table["ratio"])[0, 1]
    assert found["pearson"] == pytest.approx(r)
    assert found["pearson_se"] == pytest.approx((1 - r**2) / np.sqrt(1000), rel=0.25)


@pytest.mark.usefixtures("resampled")
def test_one_data_set_has_no_error() -> None:
    found = Figure4(pairs(1, 0.03)).correlations()
    assert found["pearson_se"].isna().all()
    assert found.set_index("ranking").loc["clamp", "pearson"] < 0


def test_the_drop_is_the_difference_of_estimates() -> None:
    figure = Figure4(pairs(2, 0.0))
    stratified = figure.table["unbiased"] * figure.table["ratio"]
    expected = 100 * (figure.table["unbiased"] - stratified)
    np.testing.assert_allclose(figure.drop, expected)
