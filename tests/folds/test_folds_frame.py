"""A plan as a table that is written to files and read back."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import ShuffleSplit

from statcv import cv
from statcv.errors import ArgumentTypeError, ColumnError, DataError, SchemeError
from statcv.folds import SCHEMES, Bags, FoldPlan, balance, by_quantile, make_plan
from statcv.folds.ragged import Ragged
from statcv.folds.response import Response
from statcv.folds.user_folds import plan_from_column, plan_from_splitter

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
    if how is None or SCHEMES[scheme].splits not in ("samples", "pairs")
]


def plan_of(scheme, how, **more):
    arguments = {**SIZES.get(SCHEMES[scheme].splits, {}), "seed": 11, **more}
    return make_plan(scheme, Y, "binary", rebalance=how, data=FRAME, **arguments)


def through_csv(table, **options):
    return pd.read_csv(io.StringIO(table.to_csv(index=False)), **options)


def through_parquet(table):
    pytest.importorskip("pyarrow")
    file = io.BytesIO()
    table.to_parquet(file)
    return pd.read_parquet(file)


def assert_same_lists(plan, other):
    for part in ("tests", "dropped", "kept_out", "copied"):
        mine, yours = getattr(plan, part), getattr(other, part)
        np.testing.assert_array_equal(mine.values, yours.values)
        np.testing.assert_array_equal(mine.starts, yours.starts)
    np.testing.assert_array_equal(plan.first_fit, other.first_fit)
    assert plan.fingerprint == other.fingerprint


@pytest.mark.parametrize(("scheme", "how"), REBALANCED)
def test_a_plan_comes_back_from_parquet_with_its_name(scheme, how):
    plan = plan_of(scheme, how)
    back = FoldPlan.from_frame(through_parquet(plan.to_frame()))
    assert_same_lists(plan, back)
    for part in ("scheme", "sentence", "rebalance", "seed", "n"):
        assert getattr(back, part) == getattr(plan, part)
    assert back.fits.compares_pairs == plan.fits.compares_pairs
    if len(np.unique(plan.tests.values)) == N:  # else not every label is listed
        np.testing.assert_array_equal(back.rows, plan.rows)


@pytest.mark.parametrize(("scheme", "how"), REBALANCED)
def test_a_plan_comes_back_from_csv(scheme, how):
    plan = plan_of(scheme, how)
    back = FoldPlan.from_frame(through_csv(plan.to_frame()), n=N)
    assert_same_lists(plan, back)
    assert back.scheme == scheme
    assert back.fits.compares_pairs == plan.fits.compares_pairs
    for fit in range(0, plan.n_fits, 9):
        np.testing.assert_array_equal(back.fits.partners(fit), plan.fits.partners(fit))
    listed = np.concatenate([plan.tests.values, plan.dropped.values])
    if len(np.unique(listed)) == N:
        assert FoldPlan.from_frame(through_csv(plan.to_frame())).n == N


@given(st.sampled_from(REBALANCED), st.integers(0, 2**64), st.integers(0, 9))
def test_the_order_of_the_rows_does_not_matter(combination, seed, shuffle):
    scheme, how = combination
    plan = plan_of(scheme, how, seed=seed)
    table = plan.to_frame().sample(frac=1, random_state=shuffle)
    assert_same_lists(plan, FoldPlan.from_frame(table))


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_arrow_and_nullable_types(backend):
    if backend == "pyarrow":
        pytest.importorskip("pyarrow")
    plan = plan_of("rkfold", "all")
    table = through_csv(plan.to_frame(), dtype_backend=backend)
    assert_same_lists(plan, FoldPlan.from_frame(table, n=N))


LISTED = [
    *(pair for pair in REBALANCED if not (pair[0][-4:] == "_out" and pair[1] == "all")),
    ("rkfold", "weight"),
    ("bootstrap", "weight"),
]


@pytest.mark.slow
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
    for fit in range(0, plan.n_fits, max(1, plan.n_fits // 40)):
        split = plan.fits.split_of[fit]
        draw = (fit - plan.first_fit[split] + 1,) if several else ()
        rows = np.unique(plan.train(fit))
        lists = {
            "training": rows,
            "dropped": plan.dropped[fit],
            "kept out": plan.kept_out[fit],
            "repeated": plan.copied[fit],
        }
        for role, expected in lists.items():
            part = parts.get((role, *plan.name(split), *draw), table.iloc[:0])
            assert part["position"].tolist() == expected.tolist()
        if how == "weight":
            weights = parts[("training", *plan.name(split))]["weight"]
            np.testing.assert_array_equal(weights, plan.weights(fit, rows))
    assert (FRAME.index[table["position"]] == table["row"]).all()
    assert (table["scheme"] == scheme).all()


def splitter_plan(how=None):
    """Return a plan of random shares that trains on only half of the records."""
    splitter = ShuffleSplit(5, test_size=0.2, train_size=0.5, random_state=0)
    plan = replace(
        plan_from_splitter(splitter, Y, 1), response=Response.of(Y, "binary")
    )
    return plan if how is None else balance(plan, how, 3)


@pytest.mark.parametrize("how", ["subsample", "all", "upsample", Bags(2)])
def test_records_excluded_before_are_not_dropped_for_balance(how):
    before, plan = splitter_plan(), splitter_plan(how)
    assert set(before.kept_out.sizes) == {N - 5 - 11}
    parts = dict(list(plan.to_frame().groupby("role")["position"]))
    drops = isinstance(how, str) and how != "upsample"
    assert ("dropped" in parts) == drops
    for fit in range(plan.n_fits):
        out = before.kept_out[plan.fits.split_of[fit]]
        if isinstance(how, Bags):  # nor is what a bag did not draw
            assert set(out) < set(plan.kept_out[fit])
        else:
            assert plan.kept_out[fit].tolist() == out.tolist()
        assert plan.fits.partners(fit).tolist() == plan.dropped[fit].tolist()
        train = set(plan.train(fit))
        assert not train & {*plan.dropped[fit], *plan.kept_out[fit]}
        both = {*plan.dropped[fit], *plan.kept_out[fit]}
        assert plan.left_out(fit).tolist() == sorted(both)
    assert_same_lists(plan, FoldPlan.from_frame(through_csv(plan.to_frame()), n=N))


def test_only_records_dropped_for_balance_are_predicted():
    data = pd.DataFrame({"y": Y, "x": np.arange(N) % 5})
    scheme = ShuffleSplit(5, test_size=0.2, train_size=0.5, random_state=0)
    result = cv("y ~ x", data, scheme=scheme, rebalance="subsample", seed=3)
    plan, pairs = result.plan, result.pairs
    assert len(pairs) > 0
    for fit, (could_train, test) in enumerate(scheme.split(Y)):
        own = pairs[pairs["repeat"] == fit + 1]
        assert set(own["partner"]) <= {*could_train, *test}
        expected = {
            (held, dropped)
            for held in plan.test(fit)
            for dropped in plan.dropped[fit]
            if Y[held] != Y[dropped]
        }
        found = set(zip(own["row"], own["partner"], strict=True))
        within = {pair for pair in found if pair[1] in plan.test(fit)}
        assert found - within == expected


def test_the_fingerprint_distinguishes_dropped_from_excluded_records():
    plan = plan_of("rkfold", None)
    none = Ragged.empty(plan.n_fits)
    moved = replace(plan, dropped=none, kept_out=plan.dropped)
    assert [a.tolist() for a, _ in moved.split()] == [
        a.tolist() for a, _ in plan.split()
    ]
    assert moved.fingerprint != plan.fingerprint


def test_the_fingerprint_depends_on_the_records_that_are_compared():
    plain = plan_of("leave_pair_out", None)
    given = replace(plain, scheme="given")
    tournament = replace(plain, scheme="tournament_leave_pair_out")
    assert len({p.fingerprint for p in (plain, given, tournament)}) == 3
    assert replace(plain, sentence="", seed=5).fingerprint == plain.fingerprint


@pytest.mark.parametrize("scheme", ["leave_pair_out", "tournament_leave_pair_out"])
def test_pairs_are_still_compared_after_reading(scheme):
    data = pd.DataFrame({"y": Y, "x": np.random.default_rng(0).normal(size=N)})
    plan = plan_of(scheme, None)
    back = FoldPlan.from_frame(through_csv(plan.to_frame()))
    assert back.fits.compares_pairs
    assert back.fits.tournament == plan.fits.tournament
    first, again = (
        cv("y ~ x", data, model="mean", scheme=replace(p, rows=None), seed=1)
        for p in (plan, back)
    )
    for how in ("paired", "pooled"):
        assert float(again.estimate("auroc", how)) == 0.5
    assert again.estimate("auroc").how == first.estimate("auroc").how == "paired"


def test_without_training_records_there_are_as_many_rows_as_entries():
    y = (np.random.default_rng(1).random(3000) < 0.2).astype(int)
    plan = make_plan("rloocv", y, "binary", seed=1, repeats=2)
    table = plan.to_frame()
    names = ["repeat", "fold", "position", "row", "role", "scheme", "rebalance"]
    assert list(table) == names
    assert (table["scheme"] == "rloocv").all()
    assert table.attrs == {
        "sentence": plan.sentence,
        "rebalance": "subsample",
        "seed": 1,
        "n": 3000,
        "fingerprint": plan.fingerprint,
    }
    assert table["role"].value_counts().to_dict() == {"held out": 6000, "dropped": 6000}
    assert not table.duplicated().any()


def test_folds_of_any_name_come_back():
    plan = plan_from_column([30, 10, 20, 10], "site")
    back = FoldPlan.from_frame(through_csv(plan.to_frame()))
    assert back.labels == ((10, 20, 30),)
    assert_same_lists(plan, back)
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
        np.testing.assert_array_equal(back.fits.partners(fit), plan.fits.partners(fit))
    assert back.assign(FRAME).equals(plan.assign(FRAME))


def test_a_bag_that_changes_nothing_is_still_a_fit():
    # one record of each class to train on: every bag draws both, once
    plan = make_plan("kfold", [0, 1, 0, 1], "binary", k=2, seed=1, rebalance=Bags(3))
    assert plan.n_fits == 6
    silent = plan.dropped.sizes + plan.copied.sizes == 0
    assert silent.any()
    assert_same_lists(plan, FoldPlan.from_frame(through_csv(plan.to_frame())))


def test_a_table_from_other_software():
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


def test_training_records_omitted_by_a_table_of_other_software():
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
        ({"fold": np.nan}, DataError, "missing values of repeat, fold, position"),
        ({"position": 0.5}, DataError, "positions must be integers from 0"),
        ({"position": -1}, DataError, "positions must be integers from 0"),
        ({"weight": 1.0}, SchemeError, "rebalance='weight'"),
    ],
)
def test_an_invalid_table_raises_an_error(change, error, message):
    table = plan_of("kfold", None).to_frame()
    for column, value in change.items():
        table[column] = value
        if value is None:
            table = table.drop(columns=column)
    with pytest.raises(error, match=message):
        FoldPlan.from_frame(table)


def test_objects_that_are_not_tables_raise_an_error():
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


TWO_FOLDS = pd.DataFrame(
    {
        "repeat": 1,
        "fold": [1, 1, 2, 2, 2, 2],
        "position": [0, 1, 2, 3, 4, 0],
        "row": list("abcdea"),
        "role": ["held out"] * 5 + ["dropped"],
    }
)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, 0, "a", "held out")], "record 0 is held out twice in fold 1 of repeat 1"),
        ([(2, 0, "a", "dropped")], "record 0 is dropped twice in fold 2 of repeat 1"),
        (
            [(1, 4, "e", "kept out")] * 2,
            "record 4 is kept out twice in fold 1 of repeat 1",
        ),
        ([(1, 1, "b", "dropped")], "record 1 has two roles in fold 1 of repeat 1"),
        ([(2, 0, "a", "kept out")], "record 0 has two roles in fold 2 of repeat 1"),
        ([(1, 1, "b", "repeated")], "record 1 is repeated in fold 1 .*does not train"),
        ([(2, 0, "a", "repeated")], "record 0 is repeated in fold 2 .*does not train"),
        ([(2, 1, "b", "kept out")], "fold 2 of repeat 1 leaves no record to train on"),
        ([(1, 3, "x", "dropped")], "the record at position 3 has two labels"),
    ],
)
def test_a_record_has_one_role_in_a_fold(rows, message):
    FoldPlan.from_frame(TWO_FOLDS)
    columns = ["fold", "position", "row", "role"]
    more = pd.DataFrame(rows, columns=columns).assign(repeat=1)
    with pytest.raises(DataError, match=message):
        FoldPlan.from_frame(pd.concat([TWO_FOLDS, more]))


def test_a_record_may_be_repeated_often_and_have_another_role_elsewhere():
    again = TWO_FOLDS.iloc[[2, 2, 2]].assign(fold=1, role="repeated")
    plan = FoldPlan.from_frame(pd.concat([TWO_FOLDS, again]))
    assert plan.train(0).tolist() == [2, 2, 2, 2, 3, 4]
    assert plan.train(1).tolist() == [1]


def test_two_draws_of_a_fold_have_their_own_roles():
    draws = TWO_FOLDS.iloc[[5, 5]].assign(position=[0, 1], row=["a", "b"])
    table = pd.concat([TWO_FOLDS.iloc[:5], draws])
    table["draw"] = [1, 1, 2, 2, 2, 1, 2]
    plan = FoldPlan.from_frame(table)
    assert [plan.train(fit).tolist() for fit in (1, 2)] == [[1], [0]]
    assert plan.rebalance == "all"


@pytest.mark.parametrize("draw", [0, -1, 1.5])
def test_draws_count_from_one(draw):
    table = TWO_FOLDS.assign(draw=[1, 1, 1, 1, 1, draw])
    with pytest.raises(DataError, match="draws must be integers from 1"):
        FoldPlan.from_frame(table)


def test_labels_alone_may_not_be_missing():
    table = TWO_FOLDS.drop(columns="position")
    assert FoldPlan.from_frame(table).n == 5
    table.loc[2, "row"] = None
    with pytest.raises(DataError, match="missing values of repeat, fold, row"):
        FoldPlan.from_frame(table)
    known = TWO_FOLDS.assign(row=None)  # positions tell the records
    assert FoldPlan.from_frame(known).n == 5


@pytest.mark.parametrize("n", [True, 7.0, "7"])
def test_the_number_of_records_is_an_integer(n):
    with pytest.raises(ArgumentTypeError, match="n must be an integer, not"):
        FoldPlan.from_frame(TWO_FOLDS, n=n)
    assert FoldPlan.from_frame(TWO_FOLDS, n=np.int64(7)).n == 7


def test_a_changed_table_does_not_keep_its_fingerprint():
    plan = plan_of("rkfold", None, repeats=2)
    table = plan.to_frame()
    whole = FoldPlan.from_frame(table.sample(frac=1, random_state=1))
    assert (whole.sentence, whole.seed) == (plan.sentence, 11)
    part = table[table["repeat"] == 1]
    assert part.attrs["fingerprint"] == plan.fingerprint  # pandas hands it on
    half = FoldPlan.from_frame(part)
    assert half.sentence == "4 folds as given by a table"
    assert (half.seed, half.repeats, half.n) == (None, 1, N)
    bare = FoldPlan.from_frame(table[table["role"] == "held out"])
    assert bare.sentence == "8 folds as given by a table"
    audit = bare.audit(plan.response.values)  # it says rebalanced, and is not
    assert audit["training_counts"].concern


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


def test_a_plan_that_needed_no_drops_is_still_rebalanced_after_csv(tmp_path):
    plan = make_plan("rkfold", np.tile([0, 1], 10), "binary", k=5, seed=1)
    assert not len(plan.dropped.values)
    plan.to_frame().to_csv(tmp_path / "plan.csv", index=False)
    read = FoldPlan.from_frame(pd.read_csv(tmp_path / "plan.csv"))
    assert (read.fingerprint, read.rebalance) == (plan.fingerprint, "subsample")
