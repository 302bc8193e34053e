"""Thresholds on which sites agree, applied, written to a file and read back."""

import hmac
import io
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from statcv import cv, fold_plan
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    DataError,
    FoldWarning,
    SchemeError,
)
from statcv.folds import SCHEMES, FoldPlan, by_hash, by_quantile, by_value, make_plan
from statcv.folds.strata.thresholds import Thresholds

SITES = "ABC"
ODD = st.floats(-1e300, 1e300).map(lambda x: x + 0.0)


def records(seed=0, n=60, dates=False):
    """Return the records of three sites, with overlapping but different values."""
    rng = np.random.default_rng(seed)
    parts = {}
    for shift, site in enumerate(SITES):
        x = np.round(rng.normal(shift / 2, 1, n), 1)
        seen = pd.Timestamp("1990-01-01 07:30") + pd.to_timedelta(10 * x, "D")
        parts[site] = pd.DataFrame({"y": rng.integers(0, 2, n), "x": x, "seen": seen})
    return pd.concat(parts, names=["site", "row"])


def through_csv(table):
    return pd.read_csv(io.StringIO(table.to_csv(index=False)))


def through_json(table):
    return pd.read_json(io.StringIO(table.to_json(orient="records")))


def through_parquet(table):
    pytest.importorskip("pyarrow")
    file = io.BytesIO()
    table.to_parquet(file)
    return pd.read_parquet(file)


def folds_of(plan, repeat=1):
    """Return the name of the fold of each record, by label."""
    names = np.asarray(plan.labels[repeat - 1])
    return pd.Series(names[plan.held_out[repeat - 1]], plan.rows)


# -- given thresholds ------------------------------------------------------------------


@pytest.mark.parametrize("column", ["x", "seen"])
@pytest.mark.parametrize("k", [2, 5])
def test_each_site_has_its_part_of_the_pooled_plan(column, k):
    pooled_records = records()
    pooled = fold_plan(data=pooled_records, k=k, stratify=by_quantile(column))
    agreed = by_quantile(column, thresholds=pooled.thresholds)
    for site in SITES:
        plan = fold_plan(data=pooled_records.loc[site], stratify=agreed)
        assert plan.n_splits == k
        expected = folds_of(pooled).loc[site]
        pd.testing.assert_series_equal(folds_of(plan), expected, check_names=False)
        np.testing.assert_array_equal(plan.thresholds, pooled.thresholds)


@pytest.mark.parametrize("repeats", [1, 3])
def test_bins_given_are_allocated_by_the_seed_alone(repeats):
    pooled_records = records()
    bounds = np.quantile(pooled_records["x"], np.arange(1, 20) / 20) + 0.05
    agreed = by_quantile("x", per_fold=4, thresholds=bounds)
    make = {"stratify": agreed, "seed": 5, "repeats": repeats}
    pooled = fold_plan("y", pooled_records, **make)
    other = fold_plan("y", pooled_records, **{**make, "seed": 6})
    assert pooled.fingerprint != other.fingerprint
    for repeat in range(1, repeats + 1):
        fold = pooled.strata.folds[repeat - 1]
        assert np.bincount(fold).tolist() == [4] * 5  # m bins in each fold
        for site in SITES:
            own = fold_plan("y", pooled_records.loc[site], **make)
            expected = folds_of(pooled, repeat).loc[site]
            assert (folds_of(own, repeat) == expected).all()
    if repeats > 1:
        assert pooled.strata.folds[0].tolist() != pooled.strata.folds[1].tolist()


def test_the_allocation_by_the_seed_is_the_same_everywhere():
    # a hash decides, not NumPy's generator, whose stream may change with its version
    frame = pd.DataFrame({"x": np.arange(8.0)})
    agreed = by_quantile("x", per_fold=2, thresholds=np.arange(7) + 0.5)
    plan = fold_plan(data=frame, stratify=agreed, seed=1)
    order = sorted(range(8), key=lambda i: hmac_of("statcv seed 1 repeat 0", str(i)))
    assert folds_of(plan).tolist() == [order.index(i) % 4 + 1 for i in range(8)]


def hmac_of(key, text):
    return hmac.new(key.encode(), text.encode(), "sha256").digest()


@pytest.mark.parametrize("per_fold", [1, 4])
def test_another_site_follows_the_allocation_of_a_plan(per_fold):
    pooled_records = records()
    stratify = by_quantile("x", per_fold=per_fold)
    pooled = fold_plan(data=pooled_records, k=5, stratify=stratify, seed=2)
    read = FoldPlan.from_frame(through_csv(pooled.to_frame()))
    for site in SITES:
        own = pooled_records.loc[site]
        assert (read.assign(own) == folds_of(pooled).loc[site]).all()
        plan = fold_plan(data=own, stratify=read.stratifier, seed=9)
        assert (folds_of(plan) == folds_of(pooled).loc[site]).all()


@pytest.mark.parametrize(
    ("thresholds", "expected"),
    [
        ([1, 2.5], [1.0, 2.5]),
        ((Decimal("0.1"), np.float32(0.5)), [0.1, 0.5]),
        (pd.Series([1, 2], index=[5, 6]), [1.0, 2.0]),
        (np.array(["1990-01-01", "1991-01-01"], "datetime64[s]"), None),
        (["1990-01-01", " 1991-01-01 "], None),
        ([date(1990, 1, 1), datetime(1991, 1, 1)], None),
        (pd.DatetimeIndex(["1990-01-01", "1991-01-01"], tz="Europe/Rome"), None),
    ],
)
def test_numbers_and_dates(thresholds, expected):
    array = Thresholds.of(thresholds).array
    if expected is None:
        expected = np.array(["1990-01-01", "1991-01-01"], dtype="datetime64[D]")
    assert array.dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(
    ("thresholds", "error", "message"),
    [
        ([], ArgumentError, "empty"),
        (5, ArgumentTypeError, "a list of numbers or dates, not 5"),
        ("35.5,56", ArgumentTypeError, "a list of numbers or dates, not '35.5,56'"),
        ({1, 2}, ArgumentTypeError, "a list of numbers"),
        (np.zeros((2, 2)), ArgumentTypeError, "a list of numbers"),
        ([2, 1], ArgumentError, "must rise, but 1 comes after 2"),
        ([1, 1.0], ArgumentError, "must rise, but 1 comes after 1"),
        (["1990-01-02", "1990-01-01"], ArgumentError, "1990-01-01 comes after 1990-01"),
        ([1, np.inf], ArgumentError, "finite, not inf"),
        ([1, None], ArgumentError, "a threshold is missing"),
        ([pd.NaT], ArgumentError, "a threshold is missing"),
        ([True, 2], ArgumentTypeError, "a number or a date, not True"),
        ([[1], [2]], ArgumentTypeError, "a number or a date"),
        ([2**53 + 1], ArgumentError, r"9007199254740993 is above 2\*\*53"),
        (["young"], ArgumentTypeError, "'young' is text that is not a date"),
        (["1990-13-01"], ArgumentTypeError, "'1990-13-01' is text that is not a date"),
        ([1, date(1990, 1, 1)], ArgumentTypeError, "mix numbers and dates"),
        ([datetime(1990, 1, 1, 8)], ArgumentError, "has a time of day"),
        ([np.datetime64("1990-01-01T08")], ArgumentError, "has a time of day"),
    ],
)
def test_invalid_thresholds_raise_an_error(thresholds, error, message):
    with pytest.raises(error, match=message):
        by_quantile("x", thresholds=thresholds)


def test_the_numbers_of_thresholds_and_folds_must_agree():
    frame = pd.DataFrame({"x": np.arange(30.0)})
    with pytest.raises(
        ArgumentError, match=r"5 thresholds of x make 6 bins.*per_fold=4"
    ):
        by_quantile("x", per_fold=4, thresholds=range(5))
    with pytest.raises(ArgumentError, match=r"3 thresholds of x make 4 bins.*no two"):
        by_quantile("x", per_fold=4, thresholds=range(3))
    agreed = by_quantile("x", per_fold=2, thresholds=[5, 10, 15, 20, 25])
    with pytest.raises(ArgumentError, match=r"make 3 folds of 2 bins, not k=5"):
        fold_plan(data=frame, k=5, stratify=agreed)
    assert fold_plan(data=frame, k=3, stratify=agreed, seed=1).n_splits == 3
    with pytest.raises(ArgumentError, match=r"thresholds=\[5, 10\] means nothing for"):
        fold_plan(data=frame, scheme="loocv", stratify=by_quantile("x", 1, [5, 10]))


def test_numbers_are_not_cut_at_dates():
    frame = records().loc["A"]
    for column, thresholds in (("x", ["1990-01-01"]), ("seen", [3.0])):
        with pytest.raises(DataError, match=f"column '{column}' holds"):
            fold_plan(data=frame, stratify=by_quantile(column, thresholds=thresholds))


def test_a_time_of_day_does_not_matter():
    days = pd.to_datetime(["1990-01-01 23:59", "1990-01-02 00:00", "1990-01-02 12:00"])
    agreed = by_quantile("seen", thresholds=["1990-01-02"])
    plan = fold_plan(data=pd.DataFrame({"seen": days}), stratify=agreed)
    assert folds_of(plan).tolist() == [1, 2, 2]
    assert plan.thresholds.tolist() == [date(1990, 1, 2)]


# -- folds in which no record of a site falls ------------------------------------------


def test_an_empty_fold_keeps_the_numbers_of_the_others():
    frame = pd.DataFrame({"x": [1.0, 2, 3, 21, 22, 23, 41, 42], "y": [0, 1] * 4})
    agreed = by_quantile("x", thresholds=[10, 20, 30, 50])
    with pytest.warns(
        FoldWarning, match=r"2 of 5 folds .* of x .*no record: 2, 5"
    ) as w:
        plan = fold_plan("y", frame, stratify=agreed)
    assert len(w) == 1
    assert plan.labels == ((1, 3, 4),)
    assert [train.tolist() for train, _ in plan.split()] == [
        [3, 4, 5, 6, 7],
        [0, 1, 2, 6, 7],
        [0, 1, 2, 3, 4, 5],
    ]
    other = pd.DataFrame({"x": [15.0, 60, 10, 25]})
    assert plan.assign(other).tolist() == [2, 5, 2, 3]
    predictions = cv("y ~ x", frame, scheme=plan, model="mean", seed=1).predictions
    assert set(predictions["fold"]) == {1, 3, 4}


@pytest.mark.parametrize("through", [through_csv, through_json, through_parquet])
@pytest.mark.parametrize("column", ["x", "seen"])
def test_empty_bins_survive_files(through, column):
    frame = records().loc["A"].sort_values("x").iloc[:9]
    thresholds = (
        frame[column].iloc[[2, 5, 6, 8]].dt.normalize()
        if column == "seen"
        else [*frame["x"].iloc[[2, 5]], 100.25, 1e17 / 3]
    )
    if column == "seen":
        thresholds = [*thresholds.iloc[[0, 1]], date(2100, 1, 1), date(2100, 1, 2)]
    with pytest.warns(FoldWarning, match="2 of 5 folds"):
        plan = fold_plan(data=frame, stratify=by_quantile(column, 1, thresholds))
    table = plan.to_frame()
    assert table["role"].value_counts().to_dict() == {"held out": 9, "empty": 2}
    assert table.loc[table["role"] == "empty", "position"].isna().all()
    back = FoldPlan.from_frame(through(table))
    assert back.fingerprint == plan.fingerprint
    assert back.labels == plan.labels == ((1, 2, 3),)
    assert back.rows.equals(plan.rows)
    np.testing.assert_array_equal(back.thresholds, plan.thresholds)
    assert back.assign(records()).equals(plan.assign(records()))
    pd.testing.assert_frame_equal(back.to_frame(), table)


def test_a_site_in_a_single_fold_has_no_training_set():
    frame = pd.DataFrame({"x": [7.0, 7.0, 8.0], "y": [0, 1, 1]})
    with pytest.warns(FoldWarning, match="Fold 2 holds out every record"):
        plan = fold_plan(data=frame, stratify=by_quantile("x", thresholds=[5, 10]))
    assert plan.labels == ((2,),)
    back = FoldPlan.from_frame(through_csv(plan.to_frame()))
    assert back.fingerprint == plan.fingerprint
    with pytest.warns(FoldWarning, match="1 of 2 folds"):
        one = fold_plan(data=frame.iloc[:1], stratify=by_quantile("x", 1, [5]))
    assert one.labels == ((2,),)


# -- through files ---------------------------------------------------------------------


FRAME = pd.DataFrame(
    {
        "age": np.arange(24) // 2 * 1.1,
        "seen": pd.Timestamp("1989-12-28") + pd.to_timedelta(np.arange(24) // 2, "D"),
        "id": [f"p{i // 2}" for i in range(24)],
    },
    index=[f"r{i}" for i in range(24)],
)
Y = np.random.default_rng(1).permutation([0, 1] * 12)
STRATIFIERS = {
    "quantile": by_quantile("age"),
    "quantile, per_fold=3": by_quantile("age", per_fold=3),
    "dates": by_quantile("seen"),
    "dates, per_fold=2": by_quantile("seen", per_fold=2),
    "thresholds": by_quantile("age", thresholds=[0.1 + 0.2, 100 / 9]),
    "thresholds, per_fold=2": by_quantile(
        "age", 2, [1.0, 2, 1e9 / 3 - 333333327, 8, 9 + 1 / 7]
    ),
    "hash": by_hash("id", key="key"),
    "hash, balanced": by_hash("id", key="key", balanced=True),
    "value": by_value("id"),
    "several": by_value(["id", "seen"]),
}
SIZES = {"groups": {"p": 5}, "shares": {"repeats": 2}, "samples": {"repeats": 2}}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning")
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", STRATIFIERS)
@pytest.mark.parametrize("through", [through_csv, through_parquet])
def test_a_plan_comes_back_with_its_stratifier(scheme, name, through):
    stratifier, folds = STRATIFIERS[name], SCHEMES[scheme].splits == "folds"
    if not folds and stratifier.only_for_folds:
        return  # means nothing there, and is refused
    sizes = {"k": 3} if folds else SIZES.get(SCHEMES[scheme].splits, {})
    if folds and stratifier.random:
        sizes["repeats"] = 2
    plan = make_plan(
        scheme, Y, "binary", stratify=stratifier, data=FRAME, seed=4, **sizes
    )
    back = FoldPlan.from_frame(through(plan.to_frame()), n=24)
    assert back.fingerprint == plan.fingerprint
    assert back.scheme == scheme
    if back.strata is None:  # not every record is held out, or dropped
        assert len(np.unique(plan.to_frame()["position"])) < 24
        return
    for part in ("label", "count", "identifies", "made_by", "sentence"):
        assert getattr(back.strata, part) == getattr(plan.strata, part)
    np.testing.assert_array_equal(back.strata.codes, plan.strata.codes)
    np.testing.assert_array_equal(back.fits.unseen, plan.fits.unseen)
    if plan.thresholds is None:
        assert back.thresholds is None
    else:
        assert back.thresholds.dtype == plan.thresholds.dtype
        np.testing.assert_array_equal(back.thresholds, plan.thresholds)
    if folds and "quantile" in stratifier.made_by:
        later = FRAME.sample(40, replace=True, random_state=1)
        for repeat in range(1, plan.repeats + 1):
            assert back.assign(later, repeat).equals(plan.assign(later, repeat))
        np.testing.assert_array_equal(back.strata.bins, plan.strata.bins)
    else:
        why = {
            "by_hash": "keyed hash of id, and a table holds no key",
            "by_value": "whole values of id.* says nothing of other records",
            "by_quantile": "only k folds say",
        }
        with pytest.raises(SchemeError, match=why[stratifier.made_by]):
            back.assign(FRAME)
    again = FoldPlan.from_frame(through(back.to_frame()), n=24)
    assert again.fingerprint == plan.fingerprint


@given(
    st.lists(ODD, min_size=3, max_size=12, unique=True),
    st.integers(1, 2),
    st.sampled_from([through_csv, through_json]),
)
@pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning")
def test_thresholds_come_back_exactly(values, per_fold, through):
    values = sorted(values)
    thresholds = values[: len(values) // per_fold * per_fold - 1]
    assume(len(thresholds) + 1 >= 2 * per_fold)
    agreed = by_quantile("a (b)", per_fold, thresholds)
    frame = pd.DataFrame({"a (b)": values})
    plan = fold_plan(data=frame, stratify=agreed, seed=0)
    back = FoldPlan.from_frame(through(plan.to_frame()))
    assert back.thresholds.tolist() == thresholds
    assert back.strata.label == "a (b)"
    assert back.fingerprint == plan.fingerprint
    assert back.assign(frame).tolist() == folds_of(plan).tolist()
    assert not back.strata.identifies


def test_only_bins_have_thresholds_to_share():
    with pytest.raises(SchemeError, match="not made from a stratifier"):
        fold_plan(data=FRAME, scheme="kfold", k=2, seed=1).stratifier  # noqa: B018
    for name in ("hash", "value"):
        plan = fold_plan(data=FRAME, k=2, stratify=STRATIFIERS[name], seed=1)
        with pytest.raises(SchemeError, match=f"made by by_{name} of id"):
            plan.stratifier  # noqa: B018
    repeated = fold_plan(
        data=FRAME, k=2, stratify=by_quantile("age", 2), repeats=2, seed=1
    )
    with pytest.raises(ArgumentError, match="of age to folds in 2 repeats"):
        fold_plan(data=FRAME, stratify=repeated.stratifier, repeats=3)


@pytest.mark.parametrize(
    ("column", "change", "message"),
    [
        ("bin", {"[3.3, 6.6)": "3 to 6"}, "'3 to 6' is not an interval such as"),
        ("bin", {"[3.3, 6.6)": "[3.3, 6.5)"}, "none begins at 6.5"),
        ("bin", {"[3.3, 6.6)": "[3.2, 6.6)"}, "none begins at 3.3"),
        ("stratifier", {"by_quantile(age)": "age"}, "such as 'by_quantile.age.', not"),
    ],
)
def test_a_table_with_invalid_bins_raises_an_error(column, change, message):
    plan = fold_plan(data=FRAME, stratify=by_quantile("age", thresholds=[3.3, 6.6]))
    table = plan.to_frame()
    assert set(change) <= set(table[column])
    with pytest.raises(DataError, match=message):
        FoldPlan.from_frame(table.assign(**{column: table[column].replace(change)}))


def test_a_bin_lies_in_one_fold():
    plan = fold_plan(data=FRAME, stratify=by_quantile("age", thresholds=[3.3, 6.6]))
    table = plan.to_frame()
    table.loc[0, "fold"] = 3
    with pytest.raises(DataError, match=r"bin \(-inf, 3.3\) lies in two folds of rep"):
        FoldPlan.from_frame(table)


def test_labels_of_several_levels_come_back():
    frame = records()
    plan = fold_plan(data=frame.rename_axis(["person", "visit"]), k=3, scheme="kfold")
    table = plan.to_frame()
    assert [*table] == [
        "repeat",
        "fold",
        "position",
        "row_1",
        "row_2",
        "role",
        "scheme",
    ]
    assert FoldPlan.from_frame(through_csv(table)).rows.equals(frame.index)
