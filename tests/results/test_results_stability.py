"""The stability of predictions, compared with pminternal and with loops of fits."""

import ast
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from report_page import check_numbers
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import statcv as scv
from statcv.arguments import RESAMPLE
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConvergenceWarning,
    CostWarning,
    MetricError,
    ModelError,
    OutcomeError,
    StatcvWarning,
)
from statcv.inference.refits.resampling import Resampling, Samples
from statcv.metrics import calibration_curve, net_benefit
from statcv.models import Logit
from statcv.report import result_report

REFERENCE = Path(__file__).parents[1] / "reference"
COLUMNS = ["predicted", "lower", "upper", "mape"]
pytestmark = pytest.mark.filterwarnings("ignore:.*separated")


def patients(n=120, seed=4):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    y = (rng.random(n) < 1 / (1 + np.exp(-x))).astype(int)
    site = rng.choice(["Aarhus", "Bergen", "Cork"], n)
    who = np.arange(n) // 2
    weight = rng.uniform(0.5, 2, n)
    return pd.DataFrame(
        {"y": y, "x": x, "z": z, "site": site, "who": who, "weight": weight}
    )


@pytest.fixture(scope="module")
def data():
    return patients()


@pytest.fixture(scope="module")
def res(data):
    return scv.cv("y ~ x + z", data, k=5, seed=1)


# ---- other software ----


def test_errors_are_those_of_pminternal_on_the_same_resamples():
    people = pd.read_csv(REFERENCE / "equations_cases.csv")
    drawn = pd.read_csv(REFERENCE / "stability_samples.csv").to_numpy().T - 1
    times = np.stack([np.bincount(rows, minlength=len(people)) for rows in drawn])
    res = scv.cv("died ~ age + bmi + sex", people, k=5, seed=1)
    study = Samples((), False, None, 1, len(times))
    fits = Resampling(res.refits.setup, study).fits(
        times.astype(np.int32), np.arange(len(times))
    )
    predicted = np.concatenate([made.predicted for _, made in fits])
    found = replace(res.stability(n_boot=20, threshold=0.4), predicted=predicted)
    expected = pd.read_csv(REFERENCE / "stability_r.csv")
    assert_allclose(found.table["predicted"], expected["risk"], atol=1e-9)
    assert_allclose(found.table["mape"], expected["mape"], atol=1e-9)
    assert_allclose(found.table["changed"], expected["changed"], atol=1e-12)
    assert found.mape == pytest.approx(0.0484593866963, abs=1e-10)


# ---- loops of fits ----


def samples(n, n_boot, seed):
    """Draw the rows of each bootstrap sample."""
    for b in range(n_boot):
        key = np.random.SeedSequence(seed, spawn_key=(RESAMPLE, b))
        yield np.random.default_rng(key).integers(n, size=n)


def test_bootstrap_models_are_those_of_statsmodels(data, res):
    found = res.stability(n_boot=25, seed=7, threshold=0.5, level=0.8)
    X, y = sm.add_constant(data[["x", "z"]]).to_numpy(), data["y"].to_numpy()

    def fit(rows):
        return sm.Logit(y[rows], X[rows]).fit(disp=0, tol=1e-12).predict(X)

    each = np.stack([fit(rows) for rows in samples(len(y), 25, 7)])
    final, table = fit(np.arange(len(y))), found.table
    assert_allclose(found.predicted, each, atol=1e-8)
    assert_allclose(table["predicted"], final, atol=1e-8)
    assert_allclose(table["lower"], np.quantile(each, 0.1, axis=0), atol=1e-8)
    assert_allclose(table["upper"], np.quantile(each, 0.9, axis=0), atol=1e-8)
    assert_allclose(table["mape"], np.abs(each - final).mean(axis=0), atol=1e-8)
    assert table["treating"].tolist() == (each >= 0.5).sum(axis=0).tolist()
    changed = ((each >= 0.5) != (final >= 0.5)).mean(axis=0)
    assert_allclose(table["changed"], changed, atol=1e-12)


def test_fits_of_folds_are_those_of_their_training_sets(data):
    res = scv.cv("x ~ z + y", data, k=4, repeats=2, seed=1)
    X, x = data[["z", "y"]].to_numpy(), data["x"].to_numpy()
    each = []
    for _, held in res.predictions.groupby(["repeat", "fold"]):
        rows = np.setdiff1d(np.arange(len(x)), held["row"])
        each.append(LinearRegression().fit(X[rows], x[rows]).predict(X))
    found = res.stability(from_folds=True)
    assert_allclose(np.sort(found.predicted, axis=0), np.sort(each, axis=0), atol=1e-9)
    assert "move less than models of other samples do" in found.notes[-1]


@pytest.mark.parametrize("k", [3, 5, 10])
def test_fits_of_folds_of_a_regression_move_less_as_the_jackknife_says(k):
    res = scv.cv("x ~ z + y", patients(400), k=k, repeats=60, seed=1)
    folds, boot = res.stability(from_folds=True), res.stability(n_boot=1000)
    assert boot.mape / folds.mape == pytest.approx(np.sqrt(k - 1), rel=0.1)


@pytest.mark.filterwarnings("ignore:distributional bias")
def test_many_folds_are_represented_by_a_thousand():
    data = patients(1100)
    found = scv.cv("y ~ x", data, scheme="loocv").stability(from_folds=True)
    assert len(found.predicted) == 1000
    assert found.described == "1000 of 1100 fits of the folds"


# ---- clusters, groups and samples without a model ----


def test_whole_clusters_are_drawn():
    one = patients(60)
    twice = pd.concat([one.assign(who=range(60))] * 2, ignore_index=True)
    alone = scv.cv("y ~ x + z", one, k=5, seed=1).stability(n_boot=30, seed=3)
    pairs = scv.cv("y ~ x + z", twice, stratify="who", k=5, seed=1)
    found = pairs.stability(n_boot=30, seed=3)
    assert_allclose(found.predicted[:, :60], alone.predicted, atol=1e-8)
    assert found.described == "30 bootstrap models of whole clusters"


def test_groups_are_those_of_the_records(data, res):
    found = res.stability(n_boot=30, by="site", threshold=0.4)
    by_hand = found.table.groupby(data["site"].to_numpy())
    own = found.overall.iloc[1:]
    assert own.index.tolist() == ["Aarhus", "Bergen", "Cork"]
    for column, name, how in (
        ("mape", "mape", "mean"),
        ("largest", "mape", "max"),
        ("changed", "changed", "mean"),
    ):
        assert_allclose(own[column], by_hand[name].agg(how))
    assert found.overall.loc["all records", "mape"] == pytest.approx(found.mape)
    assert own["n"].sum() == len(data)


def test_samples_of_one_class_are_counted():
    rare = pd.DataFrame({"x": np.arange(30.0), "y": [1, 0, 0] * 2 + [0] * 24})
    rows = list(samples(30, 200, 1))
    lacking = sum(not rare["y"].iloc[own].any() for own in rows)
    assert binom.ppf(0.001, 200, (28 / 30) ** 30) <= lacking
    res = scv.cv("y ~ x", rare, model=Logit(C=1.0), k=2, seed=1)
    with pytest.warns(StatcvWarning, match=f"{lacking} of 200 bootstrap samples have"):
        found = res.stability()
    assert len(found.predicted) == 200 - lacking
    assert f"over {200 - lacking} of 200 bootstrap models" in repr(found)


def test_separated_fits_are_counted():
    data = scv.load_data("spector")
    res = scv.cv("GRADE ~ PSI", data, k=2, seed=1)
    with pytest.warns(ConvergenceWarning, match="refits did not converge or had sep"):
        found = res.stability(n_boot=200)
    X, y = data["PSI"].to_numpy(), data["GRADE"].to_numpy()
    empty = [np.any(pd.crosstab(X[i], y[i]) == 0) for i in samples(32, 200, 1)]
    assert found.failed == sum(empty) > 0
    assert f"{found.failed} fits did not converge" in " ".join(found.notes)


# ---- new patients, and every kind of model ----

FOREST = RandomForestClassifier(5, random_state=1)
IMPUTED = make_pipeline(SimpleImputer(), LogisticRegression())
MODELS = {
    "logistic": ("y ~ x + site", {}),
    "terms that learn": ("y ~ bs(x, df=4) + scale(z) * site", {}),
    "clusters, tuned": (
        "y ~ x + site",
        {"model": Logit(C=1.0), "tune": {"C": [0.1, 1, 10]}, "stratify": "who"},
    ),
    "firth": ("y ~ x", {"model": Logit(firth=True)}),
    "weights": ("y ~ x + z", {"weights": "weight"}),
    "threshold": ("y ~ x + z", {"threshold": "youden"}),
    "forest": ("y ~ x + site", {"model": FOREST}),
    "neighbors": ("y ~ x + z", {"model": "neighbors"}),
    "imputed": ("y ~ x + z", {"model": IMPUTED, "na_action": "pass"}),
    "mean": ("y ~ x", {"model": "mean"}),
    "number": ("x ~ z + site", {}),
}


@pytest.mark.filterwarnings("ignore:.*grid", "ignore:.*no skill")
@pytest.mark.parametrize("name", MODELS)
def test_new_patients_who_equal_old_ones_have_their_percentiles(data, name):
    formula, arguments = MODELS[name]
    res = scv.cv(formula, data, **{"k": 3, "seed": 1, **arguments})
    found = res.stability(n_boot=20)
    new = data[::-1].assign(site=lambda one: one["site"].astype("category"))
    new.loc[[3, 5], "x"] = np.nan
    given = found.predict(new)
    assert given.index.tolist() == new.index.tolist()
    known = [row for row in data.index if row not in (3, 5)]
    assert_allclose(given.loc[known, COLUMNS], found.table.loc[known, COLUMNS], 1e-6)
    if "x" in formula.partition("~")[2]:
        accepts = res.learner.capabilities.missing
        assert (given.loc[[3, 5], COLUMNS].isna() != accepts).all(axis=None)
    alone = found.predict(new.loc[[7]])
    assert_allclose(alone[COLUMNS], found.table.loc[[7], COLUMNS], 1e-6)
    assert not res.stability(from_folds=True).table[COLUMNS].isna().any(axis=None)


def test_the_final_model_gives_one_patient_with_percentiles(res, data):
    res = res.update(threshold=0.4)
    patient = data.loc[[4], ["x", "z"]]
    given = res.final.predict(patient, instability=True)
    own = res.stability().table.loc[[4]]
    assert_allclose(given.to_numpy(), own.to_numpy(), 1e-8)
    assert given["treating"].item() == (res.stability().predicted[:, 4] >= 0.4).sum()
    assert "of 200, treat" in str(given)


def test_a_patient_with_missing_values_has_no_risk(res, data):
    incomplete = data.loc[[4], ["x", "z"]].assign(x=np.nan)
    given = res.final.predict(incomplete, instability=True)
    assert given.isna().all(axis=None)
    assert str(given).splitlines()[-1].split() == ["4", "–", "–", "–", "–"]


def test_a_patient_whom_bootstrap_models_do_not_impute_has_a_risk_alone(data):
    gaps = data.assign(x=data["x"].where(data.index % 9 > 0))
    res = scv.cv("y ~ x + z", gaps, impute="median", threshold=0.3, k=3, seed=1)
    found = res.stability(n_boot=20).predict(gaps.head(2))
    assert found["predicted"].notna().all()
    assert found.drop(columns="predicted").isna().all(axis=1).tolist() == [True, False]
    assert found["treating"].tolist()[1] in range(21)
    assert str(found).endswith("Bootstrap models did not impute what new rows lack.")


def test_rows_that_were_omitted_are_absent(data):
    some = data.assign(x=data["x"].where(data.index % 7 > 0))
    with pytest.warns(StatcvWarning, match="omitted"):
        res = scv.cv("y ~ x", some, k=3, seed=1)
    found = res.stability(n_boot=20, by="site")
    assert found.table.index.tolist() == some.index[some["x"].notna()].tolist()
    assert found.overall["n"].tolist()[0] == some["x"].notna().sum()


# ---- curves ----


def test_curves_are_those_of_each_model(data, res):
    found, y = res.stability(n_boot=20, level=0.5), data["y"]
    at = [0.2, 0.4, 0.6]
    made = {
        "decision": lambda p: net_benefit(y, p, at).net_benefit,
        "calibration": lambda p: calibration_curve(y, p, at=at).observed,
    }
    for kind, curve in made.items():
        table = found.curves(kind, at)
        each = np.stack([curve(p) for p in found.predicted], axis=1)
        assert_allclose(table["final"], curve(found.final))
        assert_allclose(table.filter(like="model ").to_numpy(), each)
        assert_allclose(table["upper"], np.nanquantile(each, 0.75, axis=1))
    usual = found.curves("calibration")["at"]
    assert usual.min() == found.final.min()
    assert usual.max() == found.final.max()


# ---- what is kept ----


def test_fits_are_kept_and_saved(data):
    res = scv.cv("y ~ x + z", data, k=3, seed=1)
    first = res.stability(n_boot=20)
    other = res.stability(n_boot=20, threshold=0.2, level=0.9, by="site")
    assert other.predicted is first.predicted
    assert res.stability(n_boot=20, seed=2).predicted is not first.predicted
    again = pickle.loads(pickle.dumps(res))
    kept = list(again.refits.stabilities.values())
    assert [one.given for one in kept] == [
        {"n_boot": 20, "seed": 1, "threshold": 0.2, "level": 0.9, "by": "site"},
        {"n_boot": 20, "seed": 2, "level": 0.95},
    ]
    assert_allclose(kept[0].table, other.table)


@pytest.mark.slow
def test_the_numbers_do_not_depend_on_processes(data):
    model = RandomForestClassifier(5)
    one, two = (
        scv.cv("y ~ x", data, model=model, k=2, seed=1).stability(20, n_jobs=jobs)
        for jobs in (1, 2)
    )
    assert (one.predicted == two.predicted).all()


# ---- the report ----


@pytest.mark.usefixtures("without_drawing")
def test_the_report_shows_what_was_computed(data, quiet, tmp_path):
    res = scv.cv("y ~ x + z", data, k=3, seed=1)
    title = "Stability over 20 bootstrap models"
    assert title not in quiet(res, style="tripod+ai")
    res.stability(n_boot=20, threshold=np.float64(0.4), by="site")
    res.stability(from_folds=True)
    text = quiet(res, style="tripod+ai")
    read = check_numbers(text, res)
    assert title in read.text
    items = {row[0]: row[-1] for row in read.rows("item")}
    over = "over 20 bootstrap models; stability of predictions over 3 fits of the folds"
    assert over in items["12e"]
    assert "; mean absolute prediction error 0." in items["23a"]
    (python,) = result_report(res, "tripod+ai", None, 0.95).sections[-1].code
    ast.parse(python)
    call = "res.stability(n_boot=20, seed=1, threshold=0.4, level=0.95, by='site')"
    assert call in python
    exec(python.replace("report.html", f"{tmp_path}/a.html"), {"data": data})
    assert (tmp_path / "a.html").read_text("utf-8") == text


# ---- bad input ----


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"threshold": 0}, ArgumentError, "threshold=0 must be a risk between 0 and"),
        ({"threshold": 1.5}, ArgumentError, "threshold=1.5 must be"),
        ({"threshold": "a"}, ArgumentTypeError, "threshold must be a number"),
        ({"threshold": np.nan}, ArgumentError, "threshold=nan must be"),
        ({"n_boot": 5}, ArgumentError, "n_boot must be 20 or more, not 5"),
        ({"n_boot": 50.0}, ArgumentTypeError, "n_boot must be"),
        ({"n_boot": 50, "from_folds": True}, ArgumentError, "needs neither n_boot="),
        ({"seed": 5, "from_folds": True}, ArgumentError, "needs neither n_boot="),
        ({"level": 1}, ArgumentError, "level must lie between"),
        ({"by": "clinic"}, scv.errors.ColumnError, "clinic"),
    ],
)
def test_arguments_out_of_range(res, given, error, says):
    with pytest.raises(error, match=re.escape(says)):
        res.stability(**given)


def test_what_has_no_stability(data, res):
    three = scv.cv("site ~ x", data, k=3, seed=1)
    with pytest.raises(OutcomeError, match="'site' has 3; compare one class"):
        three.stability()
    scores = scv.cv("y ~ x", data, model=SVC(), k=3, seed=1)
    with pytest.raises(MetricError, match="CalibratedClassifierCV"):
        scores.stability()
    given = data.assign(p=0.1 + 0.8 * (data["x"] > 0))
    other = scv.from_predictions(given, observed="y", predicted="p")
    with pytest.raises(ModelError, match="from other software"):
        other.stability()
    with pytest.raises(ArgumentError, match="needs bootstrap models; omit"):
        res.stability(from_folds=True).predict(data)


def test_a_continuous_outcome_has_predictions_alone(data):
    found = scv.cv("x ~ z", data, k=3, seed=1).stability(n_boot=20)
    assert "treating" not in found.table
    assert found.plot().get_xlabel() == "prediction of the final model"
    with pytest.raises(ArgumentError, match=r"between 0 and 1; .* 'x' is continuous"):
        found.result.stability(n_boot=20, threshold=0.5)
    for kind in ("calibration", "decision"):
        for call in (found.curves, found.plot):
            with pytest.raises(MetricError, match="0 and 1, and 'x' is continuous"):
                call(kind)
    with pytest.raises(ArgumentError, match="at which records are treated"):
        found.plot("classification")


def test_plots_say_what_they_need(res):
    found = res.stability(n_boot=20)
    with pytest.raises(ArgumentError, match="call stability"):
        found.plot("classification")
    with pytest.raises(ArgumentError, match="kind must be 'prediction' or"):
        found.plot("precision")


def test_long_fits_are_announced(data):
    res = scv.cv("y ~ x", data, k=3, seed=1)
    slow = replace(res, held=replace(res.held, seconds=np.full(3, 2.0)))
    with pytest.warns(CostWarning, match="makes about 20 fits: about 40 s"):
        slow.stability(n_boot=20)
