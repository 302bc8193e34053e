"""What is likely to be a mistake is said with a remedy."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import statcv as scv
from statcv import sites
from statcv.errors import (
    ComparisonError,
    DataError,
    FormulaError,
    MetricError,
    SiteError,
    StatcvWarning,
)

N = 120


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": rng.normal(size=N), "z": rng.normal(size=N)})
    y = (rng.random(N) < 1 / (1 + np.exp(-frame["x"]))).astype(int)
    return frame.assign(y=y, c=frame["x"] + rng.normal(size=N))


@pytest.mark.parametrize("code", [9, 2, -1, 99.0])
def test_a_single_other_value_of_a_binary_outcome(data, code):
    given = data.assign(y=data["y"].where(data.index != 3, code))
    with pytest.warns(
        StatcvWarning, match=rf"all but 1 row, where it is {code:g}, .*C\(y"
    ):
        scv.cv("y ~ x", given, k=4, seed=1)


@pytest.mark.parametrize("values", [[0, 1, 2], [1, 2, 3], [0, 1, 0.5]])
def test_other_outcomes_of_three_values_are_numbers_without_a_word(data, values):
    given = data.assign(y=np.resize(values, N))
    scv.cv("y ~ x", given, k=4, seed=1)


@pytest.mark.parametrize(
    "term", ["bs(x, df=4)", "cr(x, df=4)", "poly(x, 2)", "scale(x)"]
)
def test_terms_that_learn_from_missing_values(data, term):
    given = data.assign(x=data["x"].where(data["x"] < 1))
    with pytest.raises(FormulaError, match="column 'x' has missing values, and a term"):
        scv.cv(f"y ~ {term} + z", given, na_action="pass", k=4, seed=1)


@pytest.mark.parametrize("kind", [str, "category"])
def test_predictions_as_text(data, kind):
    p = (data["x"].rank() / N).astype(str).astype(kind)
    given = data.assign(p=p, fold=np.arange(N) % 4)
    with pytest.raises(DataError, match=r"must be numeric, .*(pandas|pd)\.to_numeric"):
        scv.from_predictions(given, observed="y", predicted="p", fold="fold")


@pytest.mark.parametrize(
    "term", ["bs(x, df=4)", "scale(bs(x, df=5))", "cr(x, df=3) - 1"]
)
def test_values_beyond_the_knots_are_counted(data, term):
    result = scv.cv(f"y ~ {term}", data, k=4, seed=1)
    x, beyond = data["x"].to_numpy(), 0
    for fit in range(4):
        trained, held = x[result.plan.train(fit)], x[result.plan.test(fit)]
        beyond += ((held < trained.min()) | (held > trained.max())).sum()
    said = [
        note for note in result.summary(notes=True).notes if "beyond the range" in note
    ]
    assert beyond > 0
    assert len(said) == 1
    assert said[0].startswith(f"{beyond} held-out value")
    plain = scv.cv("y ~ x", data, k=4, seed=1)
    assert "beyond the range" not in str(plain.summary())


def test_a_reversed_ranking_asks_about_the_positive_class(data):
    given = data.assign(p=1 / (1 + np.exp(2 * data["x"])), fold=np.arange(N) % 4)
    names = {"observed": "y", "predicted": "p", "fold": "fold"}
    result = scv.from_predictions(given, **names)
    assert result.estimate("auroc").upper < 0.5
    assert "positive=0 takes the other" in " ".join(result.summary(notes=True).notes)
    other = scv.from_predictions(given, **names, positive=0)
    assert "in reverse" not in " ".join(other.summary(notes=True).notes)


@pytest.mark.filterwarnings("ignore::statcv.errors.DistributionalBiasWarning")
def test_biased_folds_do_not_ask_about_the_positive_class(data):
    result = scv.cv("y ~ 1", data, scheme="loocv", seed=1)
    assert "in reverse" not in " ".join(result.summary(notes=True).notes)


def test_warnings_of_the_fit_without_predictors_are_not_shown(data):
    model = make_pipeline(SelectKBest(k=1), SVC())
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        scv.cv("y ~ x + z", data, model=model, k=4, seed=1).summary()
    assert all(issubclass(one.category, StatcvWarning) for one in given)


def test_an_audit_holds_its_checks(data):
    audit = scv.fold_plan("y", data, k=4, seed=1).audit()
    assert "label_correlation" in audit
    assert "leakage" not in audit
    assert list(audit) == [finding.check for finding in audit.findings]


def test_meta_analysis_of_other_objects(data):
    plan = scv.fold_plan("y", data, k=4, seed=1)
    result = scv.cv("y ~ x", data, k=4, seed=1)
    for wrong in ([plan, plan], [result, result], ["a", "b"]):
        for given in ((wrong,), wrong):
            with pytest.raises(ComparisonError, match=r"neither .* compare\(a, b\)"):
                scv.meta_analysis(*given)
    pooled = scv.meta_analysis([0.01, 0.2])
    assert pooled.table.shape == scv.meta_analysis(0.01, 0.2).table.shape


def test_the_balanced_error_rate(data):
    for name in ("balanced_error_rate", "BER"):
        with pytest.raises(MetricError, match="'ber'"):
            scv.cv("y ~ x", data, metrics=name)


def test_arrays_in_place_of_formula_and_data(data):
    X, y = data[["x", "z"]], data["y"]
    for given in ((X, y), (X.to_numpy(), y.to_numpy())):
        with pytest.raises(FormulaError, match=r"not arrays .*cv\('y ~ \.'"):
            scv.cv(*given)


def test_a_continuous_outcome_over_sites(data):
    parts = {name: data.iloc[k::3] for k, name in enumerate("ABC")}
    with pytest.raises(SiteError, match="continuous outcome, agree on model='linear'"):
        sites.run(sites.agree("c ~ x", k=3), parts)


@pytest.mark.parametrize("model", ["logit", "linear"])
def test_one_record_per_site(data, model):
    outcome = "y" if model == "logit" else "c"
    parts = {f"s{k}": data.iloc[[k]] for k in range(10)}
    with pytest.raises(SiteError, match=r"fewer records than the 3 folds.*join its"):
        sites.run(sites.agree(f"{outcome} ~ x", k=3, model=model), parts)
