"""`fold_plan()`, and what `cv()` takes of holding out: stratify, p, rebalance."""

import pickle
import re

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import statcv as scv
from statcv import cv, fold_plan
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnError,
    DataError,
    FoldWarning,
    FrameError,
    MissingDataWarning,
    SchemeError,
)

SECRET = b"a key that nobody may read"

# every patient here is of an age of their own, which is a sign of an identifier
pytestmark = pytest.mark.filterwarnings("ignore:.* looks like an identifier")


@pytest.fixture(autouse=True)
def no_key_in_the_environment(monkeypatch):
    monkeypatch.delenv("STATCV_KEY", raising=False)


@pytest.fixture(scope="module")
def data():
    """90 records of 30 patients, under labels from 100."""
    rng = np.random.default_rng(8)
    patient = rng.permutation(np.repeat(np.arange(30), 3))
    frame = pd.DataFrame(rng.normal(size=(90, 3)).round(6), columns=["x1", "x2", "x3"])
    frame["dob_hash"] = [f"{patient * 7919:05x}" for patient in patient]
    frame["age"] = patient + 40
    logit = frame["x1"] + frame["x1"] * frame["x2"]
    frame["y"] = (logit + rng.logistic(size=90) > 0).astype(int)
    frame["dose"] = frame["x1"] + rng.normal(size=90)
    return frame.set_index(np.arange(100, 190))


def folds_of(plan):
    """Return the set of records of each fold, in whatever order."""
    return {frozenset(plan.test(split).tolist()) for split in range(plan.n_splits)}


# ---- the verb ----


def test_the_sentence_on_the_tin(data):
    res = cv(
        "y ~ x1*x2 + x3",
        data=data,
        stratify="dob_hash",
        scheme="rloocv",
        repeats=1,
        seed=1,
    )
    patients = data["dob_hash"].to_numpy()
    y = data["y"].to_numpy()
    assert res.plan.n_splits == 30
    totals = set()
    for fit in range(res.plan.n_fits):
        test, train = res.plan.test(fit), res.plan.train(fit)
        assert len(set(patients[test])) == 1
        assert not set(patients[test]) & set(patients[train])
        totals.add(tuple(np.bincount(y[train])))
    assert len(totals) == 1
    assert "grouped by dob_hash (30 groups)" in res.plan.sentence
    assert "each dob_hash held out" in str(res)
    assert "each dob_hash held out (30 groups)" in " ".join(str(res.summary()).split())
    assert res.design.names == ("Intercept", "x1", "x2", "x3", "x1:x2")
    assert res.estimate().how == "paired"
    pairs = res.pairs
    assert (y[pairs["row"] - 100] != y[pairs["partner"] - 100]).all()


def test_the_outcome_alone_is_enough(data):
    for scheme in ("rloocv", "rkfold", "montecarlo", "leave_pair_out"):
        alone = fold_plan("y", data, scheme=scheme, seed=3)
        whole = fold_plan("y ~ x1 + x2", data=data, scheme=scheme, seed=3)
        fitted = cv("y ~ x1", data.iloc[::-1].iloc[::-1], scheme=scheme, seed=3)
        assert alone.fingerprint == whole.fingerprint == fitted.plan.fingerprint
        assert alone.sentence == whole.sentence == fitted.plan.sentence
        assert alone.response.name == "y"
        assert alone.rows.equals(data.index)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        {"scheme": "rkfold", "k": 4, "repeats": 2},
        {"scheme": "rlpocv", "p": 7},
        {"scheme": "montecarlo", "p": 0.3, "repeats": 3},
        {"scheme": "rloocv", "stratify": "dob_hash", "repeats": 2},
        {"k": 5, "stratify": scv.by_quantile("age", per_fold=2)},
        {"k": 5, "stratify": scv.by_hash("dob_hash", key=SECRET), "rebalance": "bag"},
        {"k": 5, "rebalance": "weight"},
    ],
)
@pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning")
def test_a_plan_is_as_good_as_its_arguments(data, arguments):
    plan = fold_plan("y ~ x1 + x2", data, seed=5, **arguments)
    by_plan = cv("y ~ x1 + x2", data, scheme=plan, seed=5)
    by_name = cv("y ~ x1 + x2", data, seed=5, **arguments)
    assert by_plan.plan.fingerprint == by_name.plan.fingerprint
    assert by_plan.predictions.equals(by_name.predictions)
    assert by_plan.metrics().equals(by_name.metrics())
    if plan.weighting is None:
        read = scv.folds.FoldPlan.from_frame(plan.to_frame())
        by_table = cv("y ~ x1 + x2", data, scheme=read, seed=5)
        assert by_table.predictions.equals(by_name.predictions)


def test_rows_that_miss_a_covariate_are_left_out(data):
    holes = data.copy()
    holes.loc[[103, 150, 189], "x1"] = np.nan
    holes.loc[[103, 120], "y"] = np.nan
    with pytest.warns(MissingDataWarning, match="4 of 90 rows .* x1 3"):
        plan = fold_plan(
            "y ~ x1", holes, scheme="rloocv", repeats=1, stratify="age", seed=1
        )
    kept = holes.dropna(subset=["x1", "y"])
    assert plan.n == 86
    assert plan.rows.equals(kept.index)
    table = plan.to_frame()
    assert set(table["row"]) == set(kept.index)
    assert (kept.index[table["position"]] == table["row"]).all()
    ages = kept["age"].to_numpy()
    for split in range(plan.n_splits):
        held = set(ages[plan.test(split)])
        assert len(held) == 1
        assert not held & set(ages[plan.train(split)])
    with pytest.warns(MissingDataWarning, match="2 of 90 rows"):
        outcome_only = fold_plan("y", holes, k=5, seed=1)
    assert outcome_only.n == 88
    with pytest.raises(SchemeError, match="for 88 records, but 86 rows are used"):
        cv("y ~ x1", holes, scheme=outcome_only)
    with pytest.raises(DataError):
        fold_plan("y ~ x1", holes, na_action="raise")
    assert fold_plan("dose ~ x1", holes, na_action="pass", seed=1).n == 90


def test_rows_of_weight_0_are_in_no_plan(data):
    weighted = data.assign(w=np.where(np.arange(90) < 2, 0.0, 1.5))
    with pytest.warns(MissingDataWarning, match="2 of 90 rows"):
        plan = fold_plan("y ~ .", weighted[["y", "x1", "w"]], weights="w", k=5, seed=1)
    assert plan.rows.equals(data.index[2:])
    without_formula = fold_plan(data=weighted, weights="w", scheme="kfold", seed=1)
    assert without_formula.rows.equals(data.index[2:])
    with pytest.warns(MissingDataWarning, match="2 of 90 rows"):
        found = cv("y ~ x1", weighted, weights="w", scheme=plan, seed=1)
    assert found.plan.fingerprint == plan.fingerprint
    every = fold_plan("y", data, k=5, seed=1)
    with pytest.raises(SchemeError, match=r"88 rows are used: .* a weight above 0"):
        cv("y ~ x1", weighted, weights="w", scheme=every)


def test_schemes_that_do_not_look_at_the_outcome_need_none(data):
    for arguments in (
        {},
        {"scheme": "kfold", "k": 4},
        {"scheme": "loocv"},
        {"scheme": "loocv", "stratify": "age"},
        {"scheme": "lpocv", "p": 8},
        {"scheme": "montecarlo"},
        {"scheme": "bootstrap", "repeats": 4},
        {"k": 3, "stratify": "age"},
        {"k": 3, "stratify": scv.by_value("dob_hash")},
    ):
        plan = fold_plan(data=data, seed=2, **arguments)
        assert plan.n == 90
        assert plan.response is None
        with_numbers = fold_plan("dose", data, seed=2, **arguments)
        assert plan.fingerprint == with_numbers.fingerprint
    for scheme in ("stratified_kfold", "rkfold", "rloocv", "rlpocv", "leave_pair_out"):
        with pytest.raises(SchemeError, match=f"scheme='{scheme}' needs the outcome"):
            fold_plan(data=data, scheme=scheme)
    with pytest.raises(SchemeError, match="needs the outcome, and the plan has none"):
        fold_plan(data=data, rebalance="weight")


@pytest.mark.parametrize("name", ["odd name", "50% > x", "class", "C", "1st", 'a "b"'])
def test_odd_names(data, name):
    odd = data.rename(columns={"y": name, "age": "the age"})
    plan = fold_plan(name, odd, k=4, stratify=scv.by_value("the age"), seed=2)
    plain = fold_plan("y", data, k=4, stratify=scv.by_value("age"), seed=2)
    assert plan.fingerprint == plain.fingerprint
    assert plan.response.counts.tolist() == plain.response.counts.tolist()


def test_an_outcome_may_be_an_expression(data):
    plan = fold_plan("I(dose > 0)", data, scheme="rloocv", repeats=1, seed=1)
    positive = (data["dose"] > 0).to_numpy().astype(int)
    assert plan.response.values.tolist() == positive.tolist()
    same = fold_plan("z", data.assign(z=positive), scheme="rloocv", repeats=1, seed=1)
    assert same.fingerprint == plan.fingerprint


def test_the_positive_class_and_the_words(data):
    words = data.assign(y=np.where(data["y"] == 1, "ill", "well"))
    plan = fold_plan("y", words, scheme="rloocv", repeats=1, positive="ill", seed=1)
    n_ill = int(data["y"].sum())
    assert f"training sets of {n_ill - 1}/{89 - n_ill} each" in plan.sentence
    assert plan.response.levels == ("well", "ill")


@pytest.mark.parametrize("library", ["polars", "pyarrow", "duckdb"])
def test_frames_of_other_libraries(data, library):
    plain = data.reset_index(drop=True)
    table = pl.DataFrame(plain.to_dict("list"))
    if library != "polars":
        pytest.importorskip("pyarrow")
    if library == "pyarrow":
        table = table.to_arrow()
    elif library == "duckdb":
        table = duckdb.from_arrow(table.to_arrow())
    for arguments in (
        {"scheme": "rloocv", "repeats": 1, "stratify": "dob_hash"},
        {"k": 4, "stratify": "age"},
        {"k": 4, "stratify": ["age", "dob_hash"]},
    ):
        theirs = fold_plan("y", table, seed=1, **arguments)
        assert (
            theirs.fingerprint == fold_plan("y", plain, seed=1, **arguments).fingerprint
        )


def test_what_fold_plan_refuses(data):
    with pytest.raises(ArgumentTypeError, match="needs data"):
        fold_plan("y")
    with pytest.raises(ColumnError, match="'yy'"):
        fold_plan("yy", data)
    with pytest.raises(SchemeError, match="Did you mean 'rloocv'"):
        fold_plan("y", data, scheme="rlooc")
    with pytest.raises(ArgumentError, match="p=3 means nothing for scheme='rkfold'"):
        fold_plan("y", data, scheme="rkfold", p=3)
    with pytest.raises(ArgumentError, match="Did you mean 'subsample'"):
        fold_plan("y", data, rebalance="subsamples")


def test_a_seed_of_any_kind(data):
    plans = [fold_plan("y", data, seed=seed) for seed in (3, np.int64(3), 4, None)]
    assert plans[0].fingerprint == plans[1].fingerprint != plans[2].fingerprint
    assert len({plan.seed for plan in plans}) == 3


# ---- stratify ----


def test_what_a_name_alone_means(data):
    def scheme_of(outcome, stratify):
        plan = fold_plan(outcome, data, stratify=stratify, k=3, seed=1)
        return plan.scheme, plan.sentence

    assert scheme_of("y", None)[0] == "stratified_kfold"
    assert scheme_of("dose", None)[0] == "kfold"
    scheme, said = scheme_of("y", scv.by_quantile("age"))
    assert scheme == "kfold"
    assert said == (
        "3 quantile bins of age, one a fold; equal age kept together (30 values)"
    )
    for name in ("age", "dob_hash"):
        scheme, said = scheme_of("y", name)
        assert scheme == "stratified_kfold"
        assert said == (
            f"3 folds of whole values of {name}, each class spread as evenly as they "
            f"allow; grouped by {name} (30 groups)"
        )
        assert (scheme, said) == scheme_of("y", scv.by_value(name))
    assert scheme_of("y", scv.by_quantile("age", per_fold=4))[0] == "stratified_kfold"
    assert scheme_of("dose", scv.by_value("dob_hash"))[0] == "kfold"


def test_dot_leaves_identifiers_out_and_keeps_a_quantile_stratifier(data):
    frame = data.drop(columns="dose")
    by_id = cv("y ~ . ", frame, stratify="dob_hash", k=3, seed=1)
    assert by_id.design.names == ("Intercept", "x1", "x2", "x3", "age")
    numbers = frame.drop(columns="dob_hash")
    by_age = cv("y ~ .", numbers, stratify=scv.by_quantile("age"), k=3, seed=1)
    assert by_age.design.names == ("Intercept", "x1", "x2", "x3", "age")
    for stratify in ("age", scv.by_value("age"), scv.by_hash("age", key=SECRET)):
        res = cv("y ~ .", numbers, stratify=stratify, k=3, seed=1)
        assert res.design.names == ("Intercept", "x1", "x2", "x3")
    named = cv("y ~ x1 + age", numbers, stratify=scv.by_value("age"), k=3, seed=1)
    assert named.design.names == ("Intercept", "x1", "age")


def test_a_stratifier_that_is_the_outcome_says_what_was_meant(data):
    for stratify in ("y", ["age", "y"], scv.by_value("y")):
        with pytest.raises(SchemeError, match=r"'y' is the outcome.*stratified_kfold"):
            cv("y ~ x1", data, stratify=stratify)
        with pytest.raises(SchemeError, match="'y' is the outcome"):
            fold_plan("y", data, stratify=stratify)


def test_a_missing_stratifier_counts_and_names_both_ways_out(data):
    holes = data.copy()
    holes.loc[[101, 140], "age"] = np.nan
    with pytest.raises(DataError) as caught:
        cv("y ~ x1", holes, stratify="age")
    said = str(caught.value)
    assert "'age' is missing in 2 of 90 records" in said
    assert "data.dropna(subset=['age'])" in said
    assert "give each a value of its own" in said
    complete = holes.dropna(subset=["age"])
    assert cv("y ~ x1", complete, stratify="age", k=3, seed=1).plan.n == 88


def test_a_stratifier_may_be_missing_where_the_row_is_left_out_anyway(data):
    for name, stratify in (
        ("age", "age"),
        ("dob_hash", "dob_hash"),
        ("dob_hash", scv.by_value(["dob_hash", "age"])),
        ("age", scv.by_quantile("age", per_fold=2)),
    ):
        holes = data.astype({"age": float, "y": float})
        holes.loc[[101, 140], name] = np.nan
        holes.loc[101, "y"] = np.nan
        holes.loc[140, "x1"] = np.nan
        with pytest.warns(MissingDataWarning, match="2 of 90 rows"):
            plan = fold_plan("y ~ x1", holes, stratify=stratify, k=3, seed=1)
        kept = data.drop([101, 140])
        whole = fold_plan("y ~ x1", kept, stratify=stratify, k=3, seed=1)
        assert plan.fingerprint == whole.fingerprint
        assert plan.rows.equals(kept.index)
        holes.loc[140, "x1"] = 0.0
        with (
            pytest.warns(MissingDataWarning, match="1 of 90 rows"),
            pytest.raises(DataError, match=f"'{name}' is missing in 1 of 89 records"),
        ):
            fold_plan("y ~ x1", holes, stratify=stratify, k=3, seed=1)


def test_long_numbers_are_identifiers(data):
    long = data.assign(nhs=2**60 + data["age"])
    for arguments in (
        {"scheme": "loocv"},
        {"scheme": "rloocv", "repeats": 1},
        {"k": 3},
    ):
        bins = scv.by_quantile("nhs")
        with (
            pytest.warns(FoldWarning, match="nhs looks like an identifier"),
            pytest.raises(DataError, match=r"by_hash\('nhs'\) or by_value\('nhs'\)"),
        ):
            fold_plan("y", long, stratify=bins, **arguments)
    plan = fold_plan("y", long, stratify="nhs", scheme="loocv")
    assert plan.n_splits == 30


def test_other_stratifiers_that_cannot_be(data):
    with pytest.raises(ColumnError, match=r"'dob_hsh' .* Did you mean 'dob_hash'"):
        cv("y ~ x1", data, stratify="dob_hsh")
    with pytest.raises(ColumnError, match=r"'agee' .* Did you mean 'age'"):
        fold_plan("y", data, stratify=["dob_hash", "agee"])
    with pytest.raises(ArgumentTypeError, match="values go into a column"):
        cv("y ~ x1", data, stratify=data["age"])
    with pytest.raises(SchemeError, match=r"30 distinct values.*k=31"):
        fold_plan("y", data, stratify="age", k=31)
    with pytest.raises(SchemeError, match="one value only"):
        fold_plan("y", data.assign(site=1), stratify="site", scheme="loocv")
    plan = fold_plan("y", data, stratify="age", k=3, seed=1)
    with pytest.raises(ArgumentError, match="keeps age together already"):
        cv("y ~ x1", data, scheme=plan, stratify="age")
    folds = [(np.arange(45), np.arange(45, 90))]
    with pytest.raises(ArgumentError, match=r"by_quantile\('age'\) makes folds"):
        cv("y ~ x1", data, scheme=folds, stratify=scv.by_quantile("age"))
    with pytest.raises(ArgumentError, match="no randomness"):
        fold_plan("y", data, stratify=scv.by_hash("age", key=SECRET), k=3, repeats=2)


@pytest.mark.parametrize("how", ["pairs", "column", "splitter", "plan"])
def test_given_folds_have_clusters(data, how):
    own = cv("y ~ x1", data, stratify="age", scheme="kfold", k=5, seed=1)
    pairs = list(own.plan.split())
    fold = pd.Series(0, data.index, name="fold")
    for number, (_, test) in enumerate(pairs):
        fold.iloc[test] = number
    given = {
        "pairs": pairs,
        "column": "fold",
        "splitter": PredefinedSplit(fold),
        "plan": cv("y ~ x1", data.assign(fold=fold), scheme="fold", seed=1).plan,
    }[how]
    same = cv("y ~ x1", data.assign(fold=fold), scheme=given, stratify="age", seed=1)
    assert same.plan.sentence.endswith("grouped by age (30 groups)")
    one, other = own.estimate("auroc"), same.estimate("auroc")
    assert one.value == pytest.approx(other.value)
    assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper))
    assert other.method.endswith("summed by cluster")
    again = same.update(". ~ . + x2")
    assert again.plan.strata.label == "age"


def test_inner_folds_that_divide_a_cluster_are_told_of(data):
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2)
    model = make_pipeline(StandardScaler(), search)
    with pytest.warns(FoldWarning, match="GridSearchCV makes folds of its own"):
        cv("y ~ x1", data, model=model, stratify="age", k=3, seed=1)
    with pytest.warns(FoldWarning, match="GridSearchCV makes folds of its own"):
        cv("y ~ x1", data, model=model, stratify="age", k=3, threshold=0.4, seed=1)
    cv("y ~ x1", data, model=model, k=3, seed=1)
    tune = {"logisticregression__C": [0.1, 1.0]}
    model = make_pipeline(StandardScaler(), LogisticRegression())
    cv("y ~ x1", data, model=model, tune=tune, stratify="age", k=3, seed=1)


def test_given_folds_that_divide_a_cluster_are_refused(data):
    with pytest.raises(SchemeError, match=r"divide age: in 3 fits of 3, up to \d+ of"):
        cv("y ~ x1", data, scheme=KFold(3), stratify="age")


def test_update_with_stratify(data):
    plain = cv("y ~ x1", data, k=3, seed=4)
    by_age = plain.update(stratify="age")
    assert by_age.plan.strata.label == "age"
    assert by_age.seed == plain.seed
    back = by_age.update(stratify=None)
    assert back.plan.fingerprint == plain.plan.fingerprint
    assert back.predictions.equals(plain.predictions)
    both = by_age.update(stratify=scv.by_value(["age", "dob_hash"]), scheme="rkfold")
    assert both.plan.strata.label == "age + dob_hash"
    assert both.plan.rebalance == "subsample"


def test_processes_change_nothing_and_need_no_key_of_their_own(data):
    def fit(n_jobs):
        return cv(
            "y ~ x1",
            data,
            model=KNeighborsClassifier(3),
            stratify=scv.by_hash("dob_hash", key=SECRET),
            k=4,
            seed=1,
            n_jobs=n_jobs,
        )

    one, two = fit(1), fit(2)
    assert one.plan.fingerprint == two.plan.fingerprint
    assert one.predictions.equals(two.predictions)


def test_a_key_that_was_given_is_in_no_pickle(data, monkeypatch):
    stratifier = scv.by_hash("dob_hash", key=SECRET)
    res = cv("y ~ x1", data, stratify=stratifier, k=4, seed=1)
    plan = fold_plan("y", data, stratify=stratifier, k=4, seed=1)
    for thing in (res, plan, stratifier):
        written = pickle.dumps(thing)
        for form in (SECRET, SECRET.hex().encode(), repr(SECRET)[2:-1].encode()):
            assert form not in written
        assert SECRET.decode() not in repr(thing) + str(thing)
    read = pickle.loads(pickle.dumps(res))
    assert read.predictions.equals(res.predictions)
    assert read.plan.fingerprint == res.plan.fingerprint
    with pytest.raises(ArgumentError, match="STATCV_KEY"):
        read.plan.assign(data)
    monkeypatch.setenv("STATCV_KEY", SECRET.decode())
    assert read.plan.assign(data).equals(res.plan.assign(data))
    assert read.update().plan.fingerprint == res.plan.fingerprint


def test_other_data_come_to_lie_in_the_same_folds(data):
    stratifiers = ("age", scv.by_hash("dob_hash", key=SECRET), scv.by_value("age"))
    for stratify in stratifiers:
        plan = fold_plan("y", data, stratify=stratify, k=4, seed=3)
        folds = pd.Series(plan.held_out[0] + 1, index=data.index)
        later = data.sample(frac=0.4, random_state=1)
        assigned = plan.assign(later)
        assert assigned.index.equals(later.index)
        assert (assigned == folds[later.index]).all()


def test_a_plan_of_whole_values_knows_its_own(data):
    plan = fold_plan("y", data, stratify="dob_hash", k=7, seed=3)
    assert plan.thresholds is None
    sizes = plan.tests.sizes
    assert np.ptp(sizes) <= 3  # a patient is three records
    folds = pd.Series(plan.held_out[0] + 1, index=data.index)
    assert (plan.assign(data.iloc[::3]) == folds.iloc[::3]).all()
    one_each = fold_plan("y", data, stratify="dob_hash", k=30, seed=3)
    assert set(one_each.tests.sizes) == {3}


def test_what_cannot_be_assigned(data):
    bins = scv.by_quantile("age")
    plan = fold_plan("y", data, stratify=bins, k=4, repeats=None, seed=3)
    for frame in (data.to_dict("list"), pl.DataFrame({"age": [41]}), None):
        with pytest.raises(FrameError, match="takes a pandas frame, not"):
            plan.assign(frame)
    for repeat in (1.0, "1", True, None):
        with pytest.raises(ArgumentTypeError, match="repeat must be an integer"):
            plan.assign(data, repeat)
    for repeat in (0, 2, -1):
        with pytest.raises(ArgumentError, match=r"repeat must be .* out of range"):
            plan.assign(data, repeat)
    assert plan.assign(data, np.int64(1)).equals(plan.assign(data))
    for arguments in (
        {"scheme": "loocv"},
        {"scheme": "lpocv", "p": 9},
        {"scheme": "montecarlo"},
    ):
        plan = fold_plan("y", data, stratify="age", **arguments)
        with pytest.raises(SchemeError, match="only k folds say where other records"):
            plan.assign(data)
    with pytest.raises(SchemeError, match="not made from a stratifier"):
        fold_plan("y", data, k=4).assign(data)


def test_a_plan_rebalanced_for_one_outcome_is_refused_for_another(data):
    other = data.assign(
        y2=np.roll(data["y"], 1), dose2=data["x2"], g=np.tile(["a", "b", "c"], 30)
    )

    def plan_of(outcome, **arguments):
        return fold_plan(outcome, other, seed=1, **arguments)

    by_class = plan_of("y", scheme="rloocv", repeats=1)
    by_mean = plan_of("dose", scheme="rloocv", repeats=1)
    weighted = plan_of("dose", scheme="loocv", rebalance="weight")
    named = r"rebalanced for {}, not for {}; make the plan of this"
    for plan, made, outcome in (
        (by_mean, "dose", "dose2"),
        (weighted, "dose", "dose2"),
        (by_mean, "dose", "y"),
        (by_class, "y", "dose"),
    ):
        with pytest.raises(SchemeError, match=named.format(made, outcome)):
            cv(f"{outcome} ~ x1", other, scheme=plan)
    for outcome in ("y2", "g"):
        with pytest.raises(SchemeError, match=f"another outcome than {outcome}"):
            cv(f"{outcome} ~ x1", other, scheme=by_class)
    for plan, outcome in ((by_mean, "dose"), (weighted, "dose"), (by_class, "y")):
        result = cv(f"{outcome} ~ x1", other, scheme=plan)
        assert result.plan.fingerprint == plan.fingerprint
    # the plan is of the outcome's values, whatever the name
    same = other.rename(columns={"dose": "mg"})
    assert cv("mg ~ x1", same, scheme=by_mean).plan.rebalance == "subsample"
    # without balance there is nothing that another outcome could spoil
    assert cv("dose ~ x1", other, scheme=plan_of("y", k=4)).plan.n_splits == 4


def test_repeated_records_leak_unless_they_stay_together():
    rng = np.random.default_rng(2)
    one = pd.DataFrame(rng.normal(size=(150, 4)), columns=list("abcd"))
    one["y"] = rng.permutation(np.tile([0, 1], 75))
    one["patient"] = [f"p{i}" for i in range(150)]
    twice = pd.concat([one, one], ignore_index=True)
    nearest = KNeighborsClassifier(1)

    def auroc(**how):
        formula = "y ~ a + b + c + d"
        res = cv(formula, twice, model=nearest, k=10, seed=1, metrics="auroc", **how)
        return float(res.estimate(how="pooled"))

    with pytest.warns(FoldWarning, match="300 of 300 records equal another"):
        assert auroc() > 0.9  # nine in ten have their copy in training, labels and all
    for stratify in (
        scv.by_value("patient"),
        scv.by_hash("patient", key=SECRET),
        ["patient", "a"],
    ):
        assert abs(auroc(stratify=stratify) - 0.5) < 0.1


# ---- p and rebalance ----


@pytest.mark.parametrize(
    ("positives", "negatives", "p", "totals"),
    [(50, 50, 5, (47, 47)), (10, 1000, 2, (9, 998))],
)
def test_rebalanced_leave_p_out_as_in_the_paper(positives, negatives, p, totals):
    y = np.random.default_rng(1).permutation(np.repeat([1, 0], [positives, negatives]))
    plan = fold_plan("y", pd.DataFrame({"y": y}), scheme="rlpocv", p=p, seed=1)
    assert (plan.tests.sizes == p).all()
    training, _ = plan.counts(y, 2)
    assert {(ones, zeros) for zeros, ones in training.tolist()} == {totals}
    assert f"training sets of {totals[0]}/{totals[1]} each" in plan.sentence


@pytest.mark.parametrize(
    ("arguments", "said", "sizes"),
    [
        ({"scheme": "lpocv", "p": 6}, "in random groups of 6$", {6}),
        ({"scheme": "lpocv", "p": 7}, "in random groups of 7 or 8$", {7, 8}),
        ({"scheme": "stratified_lpocv", "p": 8}, "groups of 8 or 9 with each", {8, 9}),
        ({"scheme": "rlpocv", "p": 40}, "in groups of 45 with each class", {45}),
        ({"scheme": "lpocv", "p": 7, "stratify": "age"}, "groups of about 7;", {6, 9}),
    ],
)
def test_leave_p_out_says_what_its_groups_come_to(data, arguments, said, sizes):
    plan = fold_plan("y", data, seed=1, **arguments)
    assert re.search(said, plan.sentence)
    assert f"leave-{arguments['p']}-out" in plan.sentence
    assert set(plan.tests.sizes) == sizes


@pytest.mark.parametrize(
    ("p", "said"), [(0.125, "12.5%"), (0.2, "20%"), (0.005, "0.5%"), (None, "25%")]
)
def test_random_shares_are_said_as_they_are(p, said):
    frame = pd.DataFrame({"y": np.tile([0, 1], 200)})
    plan = fold_plan("y", frame, scheme="montecarlo", p=p, seed=1)
    start = f"a random {said} of the records held out, repeated 25 times"
    assert plan.sentence == start


@pytest.mark.parametrize("how", ["subsample", "weight", "upsample", "all", "bag"])
def test_predictions_are_means_over_independent_fits(data, how):
    few = data.iloc[:45]
    X, y = sm.add_constant(few[["x1", "x2"]]).to_numpy(), few["y"].to_numpy()
    res = cv("y ~ x1 + x2", few, k=4, rebalance=how, seed=1)
    expected, fits = np.zeros(45), np.zeros(45)
    for fit in range(res.plan.n_fits):
        train, test = res.plan.train(fit), res.plan.test(res.plan.fits.split_of[fit])
        weights = res.plan.weights(fit, train)
        model = sm.GLM(
            y[train], X[train], family=sm.families.Binomial(), freq_weights=weights
        )
        expected[test] += model.fit(tol=1e-12).predict(X[test])
        fits[test] += 1
    found = res.predictions.set_index("row").loc[few.index, "predicted"]
    np.testing.assert_allclose(found, expected / fits, atol=1e-7)
    assert (fits > 1).any() == (how in ("all", "bag"))


def test_rebalance_is_said_and_can_be_had_for_given_folds(data):
    given = data.assign(site=np.arange(90) % 4)
    res = cv("y ~ x1", given, scheme="site", rebalance="subsample", seed=1)
    training, _ = res.plan.counts(given["y"].to_numpy(), 2)
    assert len(np.unique(training, axis=0)) == 1
    assert "folds as given" in res.plan.sentence
    assert "Rebalanced cross-validation, 4 folds as given by site" in str(res)
    each = f"training sets of {training[0, 1]}/{training[0, 0]} each"
    assert each in " ".join(str(res.summary()).split())
    assert folds_of(res.plan) == {frozenset(range(first, 90, 4)) for first in range(4)}
    weighted = res.update(rebalance="weight")
    assert weighted.plan.dropped.sizes.sum() == 0
    assert folds_of(weighted.plan) == folds_of(res.plan)
    with pytest.raises(SchemeError, match="rebalanced already"):
        cv("y ~ x1", given, scheme=res.plan, rebalance="weight")
