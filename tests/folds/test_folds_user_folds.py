import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    LeavePOut,
    PredefinedSplit,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

from statcv import fold_plan
from statcv.errors import FoldWarning, MissingDataWarning, SchemeError
from statcv.folds.user_folds import plan_from_column, plan_from_splitter

Y = np.random.default_rng(0).permutation(np.repeat([0, 1], [14, 10]))
SPLITTERS = {
    "KFold": (KFold(5), 1),
    "KFold shuffled": (KFold(5, shuffle=True, random_state=3), 1),
    "RepeatedKFold": (RepeatedKFold(n_splits=4, n_repeats=3, random_state=1), 3),
    "StratifiedKFold": (StratifiedKFold(4), 1),
    "RepeatedStratifiedKFold": (
        RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=1),
        2,
    ),
    "ShuffleSplit": (ShuffleSplit(6, test_size=0.3, random_state=1), 6),
    "ShuffleSplit, a part of the rest": (
        ShuffleSplit(40, test_size=0.3, train_size=0.4, random_state=1),
        40,
    ),
    "StratifiedShuffleSplit": (StratifiedShuffleSplit(5, random_state=1), 5),
    "TimeSeriesSplit": (TimeSeriesSplit(5), 1),
    "LeaveOneOut": (LeaveOneOut(), 1),
    "LeavePOut": (LeavePOut(2), 24 * 23 // 2),
    "PredefinedSplit": (PredefinedSplit(np.arange(24) % 3), 1),
    "PredefinedSplit, some in training only": (
        PredefinedSplit(np.arange(24) % 4 - 1),
        1,
    ),
}


@pytest.mark.parametrize("name", SPLITTERS)
def test_sets_are_those_of_the_splitter(name):
    splitter, repeats = SPLITTERS[name]
    plan = plan_from_splitter(splitter, Y, seed=7)
    expected = list(splitter.split(np.zeros((24, 1)), Y))
    assert plan.n_splits == len(expected)
    assert plan.repeats == repeats
    for (train, test), (own_train, own_test) in zip(
        plan.split(), expected, strict=True
    ):
        np.testing.assert_array_equal(train, np.sort(own_train))
        np.testing.assert_array_equal(test, np.sort(own_test))
    assert plan.seed is None
    assert type(splitter).__name__ in plan.sentence
    assert pickle.loads(pickle.dumps(plan)).fingerprint == plan.fingerprint


@pytest.mark.parametrize(
    "splitter", [KFold(4, shuffle=True), RepeatedKFold(n_splits=4), ShuffleSplit(4)]
)
def test_a_random_splitter_without_a_state_gets_one_from_the_seed(splitter):
    first = plan_from_splitter(splitter, Y, seed=1)
    assert plan_from_splitter(splitter, Y, seed=1).fingerprint == first.fingerprint
    assert plan_from_splitter(splitter, Y, seed=2).fingerprint != first.fingerprint
    assert first.seed == 1
    assert splitter.random_state is None


@pytest.mark.parametrize(
    "splitter",
    [
        GroupKFold(3),
        StratifiedGroupKFold(3),
        GroupShuffleSplit(3),
        LeaveOneGroupOut(),
        LeavePGroupsOut(2),
    ],
)
def test_splitters_by_group_raise_an_error(splitter):
    name = type(splitter).__name__
    with pytest.raises(SchemeError, match=f"{name} needs groups.*stratify=by_value"):
        plan_from_splitter(splitter, Y, seed=1)


class Fixed:
    def __init__(self, *splits):
        self.splits = splits

    def split(self, X, y):
        return iter(self.splits)


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ([([0, 1], [1, 2])], "trains on held-out records"),
        ([([0, 1], [2, 2])], "holds a record out twice"),
        ([([0, 1], [])], "empty on one side"),
        ([([], [2])], "empty on one side"),
        ([([0, 1], [24])], "not of these 24 records: it names the positions 0 to 24"),
        ([([0, 1], [-1])], "not of these 24 records"),
        ([], "yields no split"),
    ],
)
def test_invalid_splits_raise_an_error(splits, message):
    with pytest.raises(SchemeError, match=message):
        plan_from_splitter(Fixed(*splits), Y, seed=1)


def test_a_splitter_that_fails_says_why():
    with pytest.raises(SchemeError, match=r"StratifiedKFold could not split.*members"):
        plan_from_splitter(StratifiedKFold(20), Y, seed=1)
    with pytest.raises(SchemeError, match="PredefinedSplit is not of these"):
        plan_from_splitter(PredefinedSplit(np.arange(48) % 2), Y, seed=1)


def test_records_in_no_split_raise_a_warning():
    with pytest.warns(FoldWarning, match="4 of 24 records are in no split of Predef"):
        plan = plan_from_splitter(PredefinedSplit(np.arange(20) % 2), Y, seed=1)
    assert plan.left_out(0).tolist() == [20, 21, 22, 23]


def test_records_may_be_repeated_in_training():
    rest = np.arange(2, 24)
    plan = plan_from_splitter(Fixed(([*rest, 5, 5, 7], [0, 1])), Y, seed=1)
    assert plan.train(0).tolist() == sorted([*rest, 5, 5, 7])
    assert plan.n_train.tolist() == [25]


def test_masks_are_accepted_in_place_of_positions():
    mask = np.arange(24) < 5
    plan = plan_from_splitter(Fixed((~mask, mask), (mask, ~mask)), Y, seed=1)
    assert plan.test(0).tolist() == [0, 1, 2, 3, 4]
    assert plan.train(1).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "column",
    [
        [7, -2, 7, 30, 30, 7],
        np.array([7.0, -2, 7, 30, 30, 7]),
        pd.Series([7, -2, 7, 30, 30, 7], index=list("abcdef")),
        pd.Series([7, -2, 7, 30, 30, 7], dtype="Int64"),
    ],
)
def test_a_column_keeps_its_labels(column):
    plan = plan_from_column(column, "site")
    assert plan.labels == ((-2, 7, 30),)
    assert [plan.name(split) for split in range(3)] == [(1, -2), (1, 7), (1, 30)]
    assert [test.tolist() for _, test in plan.split()] == [[1], [0, 2, 5], [3, 4]]
    assert plan.sentence == "3 folds as given by site"


def test_numbers_that_are_text_are_folds():
    plan = plan_from_column(["01", "2", "10", "01"], "fold")
    assert plan.labels == plan_from_column([1, 2, 10, 1], "fold").labels


def test_large_numbers_keep_their_last_digit():
    plan = plan_from_column(np.array([2**60, 2**60 + 1] * 3), "id")
    assert plan.labels == ((2**60, 2**60 + 1),)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1.0, np.nan, 2.0], "missing in 1 rows"),
        (pd.Series([1, None, 2], dtype="Int64"), "missing in 1 rows"),
        ([1.5, 2.0, 3.0], "must be integers"),
        ([1.0, np.inf, 2.0], "must be integers"),
        (["a", "b", "a"], "for text use"),
        ([True, False, True], "must be integers, not bool"),
        (["01", "2a", "01"], "must be integers, not (str|object)"),
        ([4, 4, 4], "hold one value only: 4"),
    ],
)
def test_columns_that_are_not_folds_raise_an_error(column, message):
    with pytest.raises(SchemeError, match=message):
        plan_from_column(column, "site")


@pytest.mark.filterwarnings("ignore:1 of 24 records are in no split")
@pytest.mark.parametrize("predefined", [False, True])
def test_positions_among_all_rows_are_not_taken_for_those_of_complete_rows(predefined):
    data = pd.DataFrame({"y": Y, "x": np.arange(24.0)})
    fold = np.where(np.arange(24) < 23, np.arange(24) % 2, -1)
    one, other = (np.flatnonzero(fold == half) for half in (0, 1))
    scheme = PredefinedSplit(fold) if predefined else [(one, other), (other, one)]
    assert fold_plan("y ~ x", data, scheme=scheme).n_splits == 2
    data.loc[3, "x"] = np.nan
    with (
        pytest.raises(SchemeError, match=r"only 23 of 24 rows .* may mean other rows"),
        pytest.warns(MissingDataWarning),
    ):
        fold_plan("y ~ x", data, scheme=scheme)
