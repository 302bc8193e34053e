"""A plan as a table, written to files and read back."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statcv.errors import ColumnError, DataError, SchemeError
from statcv.folds import SCHEMES, Bags, FoldPlan, make_plan
from statcv.folds.given import plan_from_column
from statcv.folds.strata import by_quantile

pytestmark = pytest.mark.filterwarnings("ignore::statcv.errors.FoldWarning")

N = 22
Y = np.random.default_rng(3).permutation(np.repeat([0, 1], [13, 9]))
SIZES = {
    "folds": {"k": 4},
    "groups": {"p": 5},
    "shares": {"repeats": 3},
    "samples": {"repeats": 3},
}
FRAME = pd.DataFrame(
    {"age": np.arange(N) // 2, "name": [f"ä, {i:02}" for i in range(N)]},
    index=[f'rec"{i:02}"' for i in range(N)],
)
REBALANCED = [
    (scheme, how)
    for scheme in SCHEMES
    if scheme != "tournament_leave_pair_out"  # leave_pair_out with more pairs
    for how in (None, "subsample", "upsample", "all", "bag")
    if how is None or SCHEMES[scheme].splits != "samples"
]


def plan_of(scheme, how, **more):
    arguments = {**SIZES.get(SCHEMES[scheme].splits, {}), "seed": 11, **more}
    if SCHEMES[scheme].splits == "pairs" and how is not None:
        arguments["stratify"] = "age"  # else there is nothing to even out
    return make_plan(scheme, Y, "binary", rebalance=how, data=FRAME, **arguments)


def through_csv(table, **options):
    return pd.read_csv(io.StringIO(table.to_csv(index=False)), **options)


def through_parquet(table):
    pytest.importorskip("pyarrow")
    file = io.BytesIO()
    table.to_parquet(file)
    return pd.read_parquet(file)


def same_lists(plan, other):
    for part in ("tests", "dropped", "copied"):
        mine, yours = getattr(plan, part), getattr(other, part)
        np.testing.assert_array_equal(mine.values, yours.values)
        np.testing.assert_array_equal(mine.starts, yours.starts)
    np.testing.assert_array_equal(plan.first_fit, other.first_fit)
    assert plan.fingerprint == other.fingerprint


@pytest.mark.parametrize(("scheme", "how"), REBALANCED)
def test_a_plan_comes_back_from_parquet_with_its_name(scheme, how):
    plan = plan_of(scheme, how)
    back = FoldPlan.from_frame(through_parquet(plan.to_frame()))
    same_lists(plan, back)
    for part in ("scheme", "sentence", "rebalance", "seed", "n", "compares_pairs"):
        assert getattr(back, part) == getattr(plan, part)
    if len(np.unique(plan.tests.values)) == N:  # else not every label is listed
        np.testing.assert_array_equal(back.rows, plan.rows)


@pytest.mark.parametrize(("scheme", "how"), REBALANCED)
def test_a_plan_comes_back_from_csv(scheme, how):
    plan = plan_of(scheme, how)
    back = FoldPlan.from_frame(through_csv(plan.to_frame()), n=N)
    same_lists(plan, back)
    assert back.scheme == "given"
    if how in ("subsample", "all"):
        assert back.predicts_dropped
        for fit in range(0, plan.n_fits, 9):
            np.testing.assert_array_equal(back.partners(fit), plan.partners(fit))
    listed = np.concatenate([plan.tests.values, plan.dropped.values])
    if len(np.unique(listed)) == N:
        assert FoldPlan.from_frame(through_csv(plan.to_frame())).n == N


@settings(max_examples=30)
@given(st.sampled_from(REBALANCED), st.integers(0, 2**64), st.integers(0, 9))
def test_the_order_of_the_rows_says_nothing(combination, seed, shuffle):
    scheme, how = combination
    plan = plan_of(scheme, how, seed=seed)
    table = plan.to_frame().sample(frac=1, random_state=shuffle)
    same_lists(plan, FoldPlan.from_frame(table))


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_arrow_and_nullable_types(backend):
    if backend == "pyarrow":
        pytest.importorskip("pyarrow")
    plan = plan_of("rkfold", "all")
    table = through_csv(plan.to_frame(), dtype_backend=backend)
    same_lists(plan, FoldPlan.from_frame(table, n=N))


LISTED = [
    *(pair for pair in REBALANCED if not (pair[0][-4:] == "_out" and pair[1] == "all")),
    ("rkfold", "weight"),
    ("bootstrap", "weight"),
]


@pytest.mark.parametrize(("scheme", "how"), LISTED)
def test_the_table_lists_what_each_fit_does(scheme, how):
    plan = plan_of(scheme, how)
    table = plan.to_frame(training=True)
    several = plan.n_fits > plan.n_splits
    assert ("draw" in table, "stratum" in table, "weight" in table) == (
        several,
        plan.strata is not None,
        how == "weight",
    )
    keys = ["repeat", "fold", "draw"] if several else ["repeat", "fold"]
    parts = dict(list(table.groupby(["role", *keys])))
    counts = table["role"].value_counts()
    assert counts["held out"] == len(plan.tests.values)
    assert sum(key[0] == "training" for key in parts) == plan.n_fits
    out = "dropped" if plan.predicts_dropped else "kept out"
    for fit in range(0, plan.n_fits, max(1, plan.n_fits // 40)):
        split = plan.split_of[fit]
        draw = (fit - plan.first_fit[split] + 1,) if several else ()
        rows = np.unique(plan.train(fit))
        lists = {
            "training": rows,
            out: plan.dropped[fit],
            "repeated": plan.copied[fit],
        }
        for role, expected in lists.items():
            part = parts.get((role, *plan.name(split), *draw), table.iloc[:0])
            assert part["position"].tolist() == expected.tolist()
        if how == "weight":
            weights = parts[("training", *plan.name(split))]["weight"]
            np.testing.assert_array_equal(weights, plan.weights(fit, rows))
    assert (FRAME.index[table["position"]] == table["row"]).all()


def test_without_training_records_there_are_as_many_rows_as_entries():
    y = (np.random.default_rng(1).random(3000) < 0.2).astype(int)
    plan = make_plan("rloocv", y, "binary", seed=1, repeats=2)
    table = plan.to_frame()
    assert list(table) == ["repeat", "fold", "position", "row", "role"]
    assert table["role"].value_counts().to_dict() == {"held out": 6000, "dropped": 6000}
    assert not table.duplicated().any()


def test_folds_of_any_name_come_back():
    plan = plan_from_column([30, 10, 20, 10], "site")
    back = FoldPlan.from_frame(through_csv(plan.to_frame()))
    assert back.labels == ((10, 20, 30),)
    same_lists(plan, back)
    named = plan.to_frame()
    named["fold"] = named["fold"].map({10: "Oslo", 20: "Rom", 30: "Wien"})
    back = FoldPlan.from_frame(through_csv(named))
    assert back.labels == (("Oslo", "Rom", "Wien"),)
    assert back.name(2) == (1, "Wien")


def test_strata_stay_together_after_reading():
    plan = make_plan(
        "rkfold", Y, "binary", stratify=by_quantile("age", 2), data=FRAME, k=3, seed=2
    )
    back = FoldPlan.from_frame(through_csv(plan.to_frame()))
    np.testing.assert_array_equal(back.strata.codes, FRAME["age"])
    for fit in range(plan.n_fits):
        np.testing.assert_array_equal(back.partners(fit), plan.partners(fit))
    with pytest.raises(SchemeError):
        back.assign(FRAME)  # the thresholds are not in the table


def test_a_bag_that_changes_nothing_is_still_a_fit():
    # one record of each class to train on: every bag draws both, once
    plan = make_plan("kfold", [0, 1, 0, 1], "binary", k=2, seed=1, rebalance=Bags(3))
    assert plan.n_fits == 6
    silent = plan.dropped.sizes + plan.copied.sizes == 0
    assert silent.any()
    same_lists(plan, FoldPlan.from_frame(through_csv(plan.to_frame())))


def test_a_table_made_elsewhere():
    table = pd.DataFrame({"row": list("dbca"), "fold": ["x", "y", "x", "y"], "age": 3})
    plan = FoldPlan.from_frame(table)
    assert [test.tolist() for _, test in plan.split()] == [[0, 2], [1, 3]]
    assert (plan.scheme, plan.rows.tolist()) == ("given", list("dbca"))
    assert plan.sentence == "2 folds as given by a table"
    repeated = pd.concat([table.assign(repeat=1), table.assign(repeat=2)])
    assert FoldPlan.from_frame(repeated).repeats == 2
    by_position = table.drop(columns="row").assign(position=[5, 0, 1, 2])
    plan = FoldPlan.from_frame(by_position, n=7)
    assert (plan.n, plan.rows, plan.train(0).tolist()) == (7, None, [0, 2, 3, 4, 6])
    assert not plan.partition


def test_some_training_records_left_out_by_another_s_table():
    table = pd.DataFrame(
        {
            "position": [0, 1, 2, 3, 2, 0],
            "fold": [1, 1, 2, 2, 1, 2],
            "role": ["held out"] * 4 + ["dropped", "kept out"],
        }
    )
    plan = FoldPlan.from_frame(table)
    assert [train.tolist() for train, _ in plan.split()] == [[3], [1]]
    assert plan.rebalance == "subsample"
    only_kept_out = table[table["role"] != "dropped"]
    assert FoldPlan.from_frame(only_kept_out).rebalance is None


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"fold": None}, ColumnError, "a column 'fold'.*it has 'repeat', 'position'"),
        ({"position": None, "row": None}, ColumnError, "'position' or 'row'"),
        ({"role": "test"}, DataError, "no role 'test'"),
        ({"fold": np.nan}, DataError, "missing values of repeat, fold or position"),
        ({"position": 0.5}, DataError, "positions must be whole numbers from 0"),
        ({"position": -1}, DataError, "positions must be whole numbers from 0"),
        ({"weight": 1.0}, SchemeError, "rebalance='weight'"),
    ],
)
def test_a_table_that_is_no_plan(change, error, message):
    table = plan_of("kfold", None).to_frame()
    for column, value in change.items():
        table[column] = value
        if value is None:
            table = table.drop(columns=column)
    with pytest.raises(error, match=message):
        FoldPlan.from_frame(table)


def test_what_is_no_table_at_all():
    table = plan_of("kfold", None).to_frame()
    with pytest.raises(DataError, match="takes a pandas frame, not list"):
        FoldPlan.from_frame([1, 2])
    with pytest.raises(DataError, match="the table has no row"):
        FoldPlan.from_frame(table.iloc[:0])
    with pytest.raises(DataError, match="n=20, but the table has positions up to 21"):
        FoldPlan.from_frame(table, n=20)
    dropped = table.iloc[:1].assign(fold=9, role="dropped")
    with pytest.raises(DataError, match=r"fold .*9.* holds out no record"):
        FoldPlan.from_frame(pd.concat([table, dropped]))


def test_weights_are_listed_with_the_training_records_only():
    plan = plan_of("rkfold", "weight")
    with pytest.raises(SchemeError, match="training=True"):
        plan.to_frame()
    table = plan.to_frame(training=True)
    assert table["weight"].notna().eq(table["role"] == "training").all()
    with pytest.raises(SchemeError, match="makes from its outcome"):
        FoldPlan.from_frame(table)


def test_training_records_of_large_plans_are_not_listed():
    plan = make_plan("loocv", np.arange(10_001) % 2, "binary")
    with pytest.raises(SchemeError, match="10,001 records in 10,001 training sets"):
        plan.to_frame(training=True)
    assert len(plan.to_frame()) == 10_001
