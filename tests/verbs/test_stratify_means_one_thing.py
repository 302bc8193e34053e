"""`stratify="name"` keeps equal values together as one cluster, whatever the dtype."""

import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import statcv as scv
from statcv.errors import FoldWarning
from statcv.folds.strata.meant_otherwise import sign_of_identifier

RIDGE = scv.models.Logit(C=1.0)


def visits(seed=1, people=24, each=4):
    """Records of patients who differ in the outcome as a whole."""
    rng = np.random.default_rng(seed)
    n = people * each
    who = rng.permutation(np.repeat(np.arange(people), each))
    own = rng.normal(size=people)
    return pd.DataFrame(
        {
            "y": (own[who] + rng.normal(size=n) > 0).astype(int),
            "x": own[who] + rng.normal(size=n),
            "who": who * 3 + 1,
        }
    )


WRITTEN = {
    "int64": lambda who: who.astype("int64"),
    "int8": lambda who: who.astype("int8"),
    "float ending in .0": lambda who: who.astype(float),
    "Int64": lambda who: who.astype("Int64"),
    "text": lambda who: who.astype(str),
    "str": lambda who: who.astype(str).astype("string"),
    "category": lambda who: who.astype("category"),
    "category of text": lambda who: who.astype(str).astype("category"),
    "object": lambda who: who.astype(object),
    "mixture": lambda who: pd.Series(
        [w if i % 3 else str(w) if i % 2 else float(w) for i, w in enumerate(who)],
        dtype=object,
    ),
    "arrow": lambda who: who.astype(pd.ArrowDtype(pa.int32())),
}
FRAMES = {
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
    "duckdb": lambda data: duckdb.sql("select * from data"),
}


def said(res):
    """Return partition, intervals and tests of a result."""
    return (
        res.plan.fingerprint,
        res.plan.sentence,
        str(res),
        repr(res.estimate("auroc", "pooled", interval="delong").interval),
        repr(res.estimate("brier").interval),
        res.test("auroc", n_permutations=19).p_value,
        scv.compare(res, res.update(formula="y ~ 1 + I(x**2)"), metric="brier")
        .differences["p"]
        .tolist(),
    )


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["stratified_kfold", "loocv", "rloocv"])
def test_every_dtype_gives_the_same_partition_and_inference(scheme):
    data, expected = visits(), None
    call = {"scheme": scheme, "model": RIDGE, "stratify": "who", "seed": 3}
    call |= {"k": 4} if scheme == "stratified_kfold" else {}
    call |= {"repeats": 2} if scheme == "rloocv" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scv.errors.DistributionalBiasWarning)
        for written in WRITTEN.values():
            given = data.assign(who=written(data["who"]))
            found = said(scv.cv("y ~ x", given, **call))
            expected = expected or found
            assert found == expected


@pytest.mark.parametrize("library", FRAMES)
def test_every_frame_library_gives_the_same_partition(library):
    data = visits()
    frame = FRAMES[library](data)
    ours = scv.cv("y ~ x", data, stratify="who", k=4, seed=3)
    theirs = scv.cv("y ~ x", frame, stratify="who", k=4, seed=3)
    assert theirs.plan.fingerprint == ours.plan.fingerprint
    assert str(theirs) == str(ours)


def test_clusters_are_allocated_at_random_with_even_sizes_and_classes():
    data = visits(people=40, each=3)
    plans = [
        scv.fold_plan("y", data, stratify="who", k=5, seed=seed) for seed in (1, 2)
    ]
    assert plans[0].fingerprint != plans[1].fingerprint
    for plan in plans:
        assert plan.scheme == "stratified_kfold"
        for split in range(5):
            held, trained = plan.test(split), plan.train(split)
            assert not set(data["who"][held]) & set(data["who"][trained])
        assert set(plan.tests.sizes) == {24}
        positive = [int(data["y"][plan.test(split)].sum()) for split in range(5)]
        assert np.ptp(positive) <= 1
        assert plan.sentence.endswith("grouped by who (40 groups)")


def test_the_interval_is_that_of_clusters_not_of_rows():
    data = visits(people=30, each=8)
    wald = {"how": "pooled", "interval": "delong"}
    rows = scv.cv("y ~ x", data, k=5, seed=1).estimate("auroc", **wald)
    kept = scv.cv("y ~ x", data, stratify="who", k=5, seed=1)
    assert kept.estimate("auroc", **wald).se > 1.2 * rows.se
    same = data.assign(who=data["who"].map("p{}".format))
    text = scv.cv("y ~ x", same, stratify="who", k=5, seed=1)
    assert text.estimate().interval == kept.estimate().interval


def test_a_column_without_repeated_values_points_to_bins():
    data = visits().assign(age=np.arange(96) + 0.5)
    with pytest.warns(
        FoldWarning, match=r"no value of age occurs .*by_quantile\('age'"
    ):
        alone = scv.fold_plan("y", data, stratify="age", k=4, seed=1)
    assert alone.strata.count == 96
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scv.fold_plan("y", data, stratify=scv.by_quantile("age"), k=4, seed=1)
        scv.fold_plan("y", data, stratify=scv.by_value("age"), k=4, seed=1)


def test_a_plan_that_knows_no_outcome_warns_too():
    data = visits().assign(age=np.arange(96) + 0.5)
    with pytest.warns(FoldWarning, match="no value of age occurs twice"):
        scv.fold_plan(data=data, scheme="kfold", stratify="age", k=4, seed=1)


@pytest.mark.parametrize("name", ["who", "patient_id", "patientId", "MRN", "subject"])
def test_bins_of_an_identifier_point_back(name):
    data = visits().rename(columns={"who": name})
    data["sex"] = data[name] * 7 % 5 % 2
    data["bmi"] = np.sin(data[name])
    with pytest.warns(FoldWarning, match=f"{name} looks like an identifier"):
        scv.cv("y ~ x", data, stratify=scv.by_quantile(name), k=4, seed=1)


def test_a_covariate_is_no_identifier():
    rng = np.random.default_rng(4)
    age = rng.integers(20, 80, 300)
    frame = pd.DataFrame(
        {
            "age": age,
            "decade": age // 10,
            "old": age > 60,
            "group": pd.cut(age, [0, 40, 60, 99]).astype(str),
            "squared": age**2,
            "sex": rng.integers(0, 2, 300),
            "bmi": rng.normal(25, 3, 300),
            "site": "A",
        }
    )
    assert sign_of_identifier(frame, "age") == ""
    assert sign_of_identifier(frame, "bmi") == ""
    frame["crp"] = np.round(rng.exponential(5, 300))
    assert sign_of_identifier(frame, "crp") == ""


@pytest.mark.parametrize("other", ["P07", " p7", "p7 ", "p 7", "00P7"])
def test_identifiers_that_are_nearly_the_same_are_counted(other):
    text = [f"p{i}" for i in range(12)] * 2
    text[19] = other if other != "P07" else "P7"
    data = pd.DataFrame({"y": np.arange(24) % 2, "id": text})
    same = other.strip() == "p7"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        plan = scv.fold_plan("y", data, stratify="id", k=4, seed=1)
    near = [str(one.message) for one in told if "differ from another" in str(one)]
    assert plan.strata.count == (12 if same else 13)
    assert len(near) == (0 if same else 1)
    if near:
        assert near[0].startswith("2 of 13 distinct values of id differ from another")
        assert issubclass(told[0].category, FoldWarning)


def test_leading_zeros_and_a_written_point_zero_are_near():
    data = pd.DataFrame({"y": np.arange(8) % 2, "id": ["7", "07", "7.0", "8"] * 2})
    with pytest.warns(FoldWarning, match="3 of 4 distinct values of id differ"):
        scv.fold_plan("y", data, stratify="id", k=2, seed=1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("100", "100.00"),
        ("100000", "1e5"),
        ("7", "+7"),
        ("2024-01-02", "2024-01-02 00:00:00"),
        ("2024-01-02", "2024-01-02T10:30"),
    ],
)
def test_numbers_and_dates_in_other_words_are_near(one, other):
    data = pd.DataFrame({"y": np.arange(8) % 2, "id": [one, other, "a", "b"] * 2})
    with pytest.warns(FoldWarning, match="2 of 4 distinct values of id differ"):
        scv.fold_plan("y", data, stratify="id", k=2, seed=1)


def test_a_hash_warns_of_near_identifiers_as_well():
    data = pd.DataFrame({"y": np.arange(8) % 2, "id": ["a1", "A1", "b2", "c3"] * 2})
    with pytest.warns(FoldWarning, match="2 of 4 distinct values of id differ"):
        scv.fold_plan(
            "y", data, stratify=scv.by_hash("id", key="s", balanced=True), k=2
        )
