import math
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from statcv.datasets import simulate_ehr
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnError,
    DataError,
    FoldWarning,
    FrameError,
)
from statcv.folds import make_plan
from statcv.folds.audit import (
    duplicates,
    equal_records,
    near_records,
    repeats_across_sites,
    repeats_within_site,
    split_repeats,
)
from statcv.folds.strata import keyed_fold

CHAIN = "ignore::statcv.errors.FoldWarning"

# (value, what it is): values are equal where they are the same thing
ANYTHING = [
    (None, "missing"),
    (np.nan, "missing"),
    (pd.NA, "missing"),
    (pd.NaT, "missing"),
    (Decimal("nan"), "missing"),
    ("", "empty"),
    (" \t", "empty"),
    (1, "one"),
    (1.0, "one"),
    (True, "one"),
    ("1", "one"),
    (" 1", "one"),
    (np.float32(1), "one"),
    (Decimal("1.0"), "one"),
    (0.0, "zero"),
    (-0.0, "zero"),
    (False, "zero"),
    ("01", "zero one"),
    (1.5, "one and a half"),
    (2**53 + 1, "long"),
    (float(2**53), "rounded"),
    (math.inf, "infinity"),
    (Decimal("inf"), "infinity"),
    ("inf", "text inf"),
    ("\u00e9", "e acute"),
    ("e\u0301 ", "e acute"),
    ("e", "e"),
    ("E", "capital e"),
    (b"e", "bytes"),
    (("a", "b"), "tuple"),
    (date(2020, 1, 1), "new year"),
    (datetime(2020, 1, 1, 23), "new year"),
    (pd.Timestamp("2020-01-01 23:00", tz="UTC"), "new year"),
    (np.datetime64("2020-01-01T05"), "new year"),
    ("2020-01-01", "new year"),
    (pd.Timestamp("2020-01-01 23:00", tz="UTC").tz_convert("Asia/Tokyo"), "2 Jan"),
    (pd.Timestamp("2020-01-02"), "2 Jan"),
]
TYPED = {
    "int64": [(0, "0"), (1, "1"), (-1, "-1"), (2**53, "p"), (2**53 + 1, "q")],
    "uint64": [(0, "0"), (2**64 - 1, "most")],
    "float64": [
        (0.0, "0"),
        (-0.0, "0"),
        (np.nan, "missing"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (0.1 + 0.2, "a bit above"),
        (0.3, "0.3"),
    ],
    "float32": [(0.5, "1/2"), (np.nan, "missing"), (-0.0, "0"), (0.0, "0")],
    "bool": [(True, "yes"), (False, "no")],
    "boolean": [(True, "yes"), (False, "no"), (None, "missing")],
    "Int64": [(0, "0"), (2**53, "p"), (2**53 + 1, "q"), (None, "missing")],
    "Float64": [(0.0, "0"), (-0.0, "0"), (2.5, "5/2"), (None, "missing")],
    "int64[pyarrow]": [(0, "0"), (1, "1"), (None, "missing")],
    "string[pyarrow]": [("a", "a"), ("a ", "a"), (None, "missing"), ("A", "A")],
    "string": [("a", "a"), ("\ta", "a"), (None, "missing"), ("", "empty")],
    "category": [("a", "a"), (" a", "a"), (None, "missing"), ("b", "b")],
    "datetime64[ns]": [
        (pd.Timestamp("2020-01-01"), "1"),
        (pd.Timestamp("2020-01-01 23:59"), "1"),
        (pd.Timestamp("2020-01-02"), "2"),
        (pd.NaT, "missing"),
    ],
    "datetime64[s, Asia/Tokyo]": [
        (pd.Timestamp("2020-01-01 23:59", tz="Asia/Tokyo"), "1"),
        (pd.Timestamp("2020-01-01 00:00", tz="Asia/Tokyo"), "1"),
        (pd.Timestamp("2020-01-02 00:00", tz="Asia/Tokyo"), "2"),
        (pd.NaT, "missing"),
    ],
    "timestamp[us][pyarrow]": [
        (pd.Timestamp("2020-01-01"), "1"),
        (pd.Timestamp("2020-01-01 23:59"), "1"),
        (pd.NaT, "missing"),
    ],
    "timedelta64[ns]": [(pd.Timedelta(1, "h"), "1"), (pd.Timedelta(2, "h"), "2")],
    "period[D]": [(pd.Period("2020-01-01", "D"), "1"), (pd.NaT, "missing")],
    "complex128": [(1j, "i"), (1 + 0j, "1")],
}


def in_order(things):
    """Number values from 0 in order of appearance."""
    seen = []
    return [
        seen.index(t) if t in seen else seen.append(t) or len(seen) - 1 for t in things
    ]


def joined(n, near):
    """Number connected components by a walk, from 0 in order of appearance."""
    number = [-1] * n
    for start in range(n):
        if number[start] < 0:
            number[start], todo = max(number) + 1, [start]
            while todo:
                i = todo.pop()
                for j in range(n):
                    if number[j] < 0 and near(i, j):
                        number[j] = number[start]
                        todo.append(j)
    return number


def groups_of(answer):
    """Return the groups of an answer as sets of labels."""
    return {frozenset(rows.index) for _, rows in answer.groupby("group")}


def sets(codes, keep):
    """Return the groups as sets of positions."""
    groups = {}
    for i, code in enumerate(codes):
        groups.setdefault(code, set()).add(i)
    return {frozenset(rows) for rows in groups.values() if keep(rows)}


# -- equal records --------------------------------------------------------------------


@given(st.lists(st.tuples(*[st.sampled_from(ANYTHING)] * 2), min_size=1, max_size=20))
def test_values_are_equal_as_identifiers_are(rows):
    frame = pd.DataFrame(
        {
            name: pd.Series([row[j][0] for row in rows], dtype=object)
            for j, name in enumerate("ab")
        }
    )
    things = [tuple(kind for _, kind in row) for row in rows]
    assert equal_records(frame).tolist() == in_order(things)
    for j, name in enumerate("ab"):
        expected = in_order([thing[j] for thing in things])
        assert equal_records(frame, name).tolist() == expected


@pytest.mark.parametrize("dtype", TYPED)
def test_values_of_every_kind_of_column(dtype):
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    pairs = TYPED[dtype] * 2
    column = pd.Series([value for value, _ in pairs], dtype=dtype)
    frame = pd.DataFrame({"x": column, "constant": 1})
    expected = in_order([kind for _, kind in pairs])
    assert equal_records(frame).tolist() == expected
    assert equal_records(frame.iloc[::-1], ["x"]).tolist() == in_order(
        [kind for _, kind in pairs[::-1]]
    )


def test_not_available_and_not_a_number_are_both_missing():
    column = pd.Series([0.0, 1.0, 0.0], dtype="Float64") / pd.Series([0, 1, 0])
    column[0] = pd.NA
    assert equal_records(pd.DataFrame({"x": column})).tolist() == [0, 1, 0]


def test_many_records_against_pandas():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(0, 40, (100_000, 3)), columns=list("abc"))
    frame["d"] = rng.choice(["x", "y"], 100_000)
    expected = frame.groupby(list("abcd"), sort=False).ngroup()
    assert (equal_records(frame) == expected).all()


def test_combinations_of_many_columns_do_not_overflow():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.standard_normal((1_000, 30)))
    both = pd.concat([frame, frame], ignore_index=True)
    assert equal_records(both).tolist() == [*range(1_000), *range(1_000)]


# -- near records ---------------------------------------------------------------------

GRID = hnp.arrays(
    float,
    st.tuples(st.integers(1, 25), st.just(2)),
    elements=st.sampled_from([0, 0.25, 0.5, 1, 1.25, 2, 3, 3.5, 5, np.nan, math.inf]),
)


@pytest.mark.filterwarnings(CHAIN)
@given(GRID, st.sampled_from([0, 0.25, 0.5, 1]), st.sampled_from([0, 1]), st.data())
def test_near_records_are_joined_by_steps(points, first, second, data):
    n = len(points)
    sex = data.draw(st.lists(st.sampled_from("fm"), min_size=n, max_size=n))
    frame = pd.DataFrame(points, columns=["a", "b"]).assign(sex=sex)

    def close(x, y, width):
        if not (math.isfinite(x) and math.isfinite(y)):
            return x == y or (math.isnan(x) and math.isnan(y))
        return abs(x - y) <= width

    def near(widths):
        return lambda i, j: (
            sex[i] == sex[j] and all(map(close, points[i], points[j], widths))
        )

    expected = joined(n, near([first, second]))
    codes = near_records(frame, None, {"a": first, "b": second})
    assert codes.tolist() == expected
    codes = near_records(frame, ["sex", "a", "b"], first)
    assert codes.tolist() == joined(n, near([first, first]))
    codes = near_records(frame, ["sex", "a", "b"], {"b": second})
    assert codes.tolist() == joined(n, near([0, second]))


def test_without_tolerance_near_is_equal():
    frame = simulate_ehr(300, 100, seed=1)
    assert (near_records(frame, None, 0) == equal_records(frame)).all()


@pytest.mark.parametrize("dtype", ["int64", "float32", "Int64", "Float64"])
def test_numbers_of_every_kind_can_be_near(dtype):
    frame = pd.DataFrame({"x": pd.Series([1, 2, 5], dtype=dtype)})
    assert near_records(frame, "x", 1).tolist() == [0, 0, 1]
    assert near_records(frame, "x", 0.5).tolist() == [0, 1, 2]


def test_a_tolerance_is_reached_despite_rounding():
    tenths = [0.1, 0.2, 0.3, 0.4, 0.7, 0.8, 0.9]
    assert 0.8 - 0.7 > 0.1
    with pytest.warns(FoldWarning, match=r"is a chain: .* 3 tolerances"):
        codes = near_records(pd.DataFrame({"x": tenths}), "x", 0.1)
    assert codes.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_a_chain_is_reported_but_duplicates_of_one_original_are_not():
    copies = pd.DataFrame({"x": [0.0, -1.0, 1.0, 10.0, 11.0]})
    assert near_records(copies, "x", 1).tolist() == [0, 0, 0, 1, 1]
    chain = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0, 3.0, 10.0]})
    message = "1 group .* is a chain: the widest spans 3 tolerances with 4 distinct"
    with pytest.warns(FoldWarning, match=message) as caught:
        assert near_records(chain, "x", 1).tolist() == [0, 0, 0, 0, 0, 1]
    assert caught[0].filename == __file__


def test_many_equal_records_make_no_pairs(monkeypatch):
    monkeypatch.setattr(duplicates, "MOST_PAIRS", 1)
    frame = pd.DataFrame({"x": np.repeat([0.0, 1.0, 9.0], 2_000)})
    assert np.bincount(near_records(frame, "x", 1)).tolist() == [4_000, 2_000]


def test_too_many_pairs_raise_an_error(monkeypatch):
    frame = pd.DataFrame({"x": np.linspace(0, 1, 100)})
    monkeypatch.setattr(duplicates, "MOST_PAIRS", 100 * 99 // 2)
    assert near_records(frame, "x", 1).max() == 0
    monkeypatch.setattr(duplicates, "MOST_PAIRS", 100 * 99 // 2 - 1)
    with pytest.raises(ArgumentError, match=r"4,950 pairs .* 100 of 100 records"):
        near_records(frame, "x", 1)


# -- the definitions ------------------------------------------------------------------

RECORDS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.5, 1.0, 3.0, np.nan]),
        st.sampled_from("pq"),
        st.sampled_from("AB"),
    ),
    min_size=1,
    max_size=20,
)


@pytest.mark.filterwarnings(CHAIN)
@pytest.mark.parametrize("tolerance", [None, 0.5])
@given(RECORDS)
def test_the_definitions_against_all_pairs(tolerance, rows):
    n = len(rows)
    frame = pd.DataFrame(rows, columns=["x", "z", "site"], index=range(10, n + 10))

    def near(i, j):
        (a, u, _), (b, v, _) = rows[i], rows[j]
        both_missing = math.isnan(a) and math.isnan(b)
        return u == v and (both_missing or abs(a - b) <= (tolerance or 0))

    def sites(group):
        return len({rows[i][2] for i in group})

    def named(groups):
        return {frozenset(i + 10 for i in group) for group in groups}

    here = joined(n, lambda i, j: near(i, j) and rows[i][2] == rows[j][2])
    anywhere = joined(n, near)
    within = repeats_within_site(frame, "site", tolerance=tolerance)
    across = repeats_across_sites(frame, "site", tolerance=tolerance)
    assert groups_of(within) == named(sets(here, lambda g: len(g) > 1))
    assert groups_of(across) == named(sets(anywhere, lambda g: sites(g) > 1))
    split = split_repeats(frame, "site", tolerance=tolerance)
    pd.testing.assert_frame_equal(split, across)
    for answer in (within, across):
        found = answer["group"].tolist()
        assert found == sorted(found)
        assert set(found) == set(range(1, max(found, default=0) + 1))
        unchanged = answer.drop(columns="group")
        pd.testing.assert_frame_equal(unchanged, frame.loc[answer.index])


@given(RECORDS)
def test_definitions_1_and_2_imply_definition_3(rows):
    frame = pd.DataFrame(rows, columns=["x", "z", "site"])
    fold = np.arange(len(frame))  # every record in a fold of its own
    free = (
        repeats_within_site(frame, "site").empty
        and repeats_across_sites(frame, "site").empty
    )
    assert split_repeats(frame, fold, ["x", "z"]).empty == free


def test_the_duplicates_of_simulated_hospitals_are_found():
    frame = simulate_ehr(2_000, 400, seed=5)
    assert repeats_within_site(frame, "site").empty
    found = repeats_across_sites(frame, "site")
    assert len(found) - found["group"].max() == 400
    held = frame["patient_id"].map(frame["patient_id"].value_counts())
    assert set(found.index) == set(frame.index[held > 1])
    assert (found.groupby("group")["patient_id"].nunique() == 1).all()
    covariates = [f"x{i}" for i in range(1, 11)]
    again = repeats_across_sites(frame, "site", covariates)
    pd.testing.assert_frame_equal(found, again)

    plan = make_plan("kfold", frame["y"].to_numpy(), "binary", k=5, seed=1)
    record = frame.columns.drop("site")
    split = split_repeats(frame, plan.held_out[0], record)
    folds = pd.Series(plan.held_out[0]).groupby(frame["patient_id"]).nunique()
    assert set(split["patient_id"]) == set(folds.index[folds > 1])
    assert (split["fold"] == plan.held_out[0][split.index]).all()

    by_person = keyed_fold(frame["patient_id"], 5, key="statcv")
    assert split_repeats(frame, by_person, record).empty


def test_duplicates_measured_again_are_found_within_a_tolerance():
    frame = simulate_ehr(2_000, 400, seed=6).drop(columns="birth_date")
    expected = repeats_across_sites(frame, "site", ["patient_id"])
    covariates = [f"x{i}" for i in range(1, 11)]
    noise = np.random.default_rng(7).uniform(-0.001, 0.001, (len(frame), 10))
    frame[covariates] += noise
    record = [*covariates, "y"]
    assert repeats_across_sites(frame, "site", record).empty
    widths = dict.fromkeys(covariates, 0.002)
    found = repeats_across_sites(frame, "site", record, tolerance=widths)
    assert groups_of(found) == groups_of(expected)


def test_the_answer_is_the_rows_in_order():
    frame = pd.DataFrame(
        {"x": [5, 7, 5, 7, 9], "site": list("AABBA")}, index=["e", "d", "c", "b", "b"]
    )
    answer = repeats_across_sites(frame, "site")
    assert answer.index.tolist() == ["e", "c", "d", "b"]
    assert answer.columns.tolist() == ["x", "site", "group"]
    assert answer["group"].tolist() == [1, 1, 2, 2]
    nothing = repeats_within_site(frame, "site")
    assert nothing.empty
    assert nothing.columns.tolist() == answer.columns.tolist()


def test_a_site_given_separately_is_matched_and_shown():
    frame = pd.DataFrame({"x": [1, 1, 2]}, index=["a", "b", "c"])
    shuffled = pd.Series([9, 8, 9], index=["c", "b", "a"], name="clinic")
    for site in (shuffled, [9, 8, 9], np.array([9, 8, 9])):
        answer = repeats_across_sites(frame, site)
        assert answer.columns.tolist() == ["x", "site", "group"]
        assert answer["site"].tolist() == [9, 8]
    kinds = pd.Categorical(["A", "B", "A"])
    answer = repeats_across_sites(frame, pd.Series(kinds, index=frame.index))
    assert answer["site"].dtype == kinds.dtype
    twice = pd.DataFrame({"x": [1, 1]}, index=["a", "a"])
    same = pd.Series(["A", "B"], index=["a", "a"])
    assert repeats_across_sites(twice, same)["site"].tolist() == ["A", "B"]


# -- what is refused ------------------------------------------------------------------

FRAME = pd.DataFrame(
    {"age": [61.0, 70.0], "sex": ["f", "m"], "born": pd.to_datetime(["1959", "1950"])}
)


@pytest.mark.parametrize(
    ("tolerance", "error", "message"),
    [
        (-1, ArgumentError, "finite and from 0, not -1"),
        (math.nan, ArgumentError, "finite and from 0, not nan"),
        ({"age": math.inf}, ArgumentError, "finite and from 0, not inf"),
        ("1", ArgumentTypeError, "a number, not str"),
        (True, ArgumentTypeError, "a number, not bool"),
        ({"sex": 1}, ArgumentError, "'sex', which is not numeric but"),
        ({"born": 1}, ArgumentError, "'born', which is not numeric but datetime64"),
        ({"aeg": 1}, ColumnError, "tolerance='aeg' is not a column.*mean 'age'"),
        (1e-320, ArgumentError, "too small beside the values of the column 'age'"),
    ],
)
def test_tolerances_that_mean_nothing(tolerance, error, message):
    with pytest.raises(error, match=message):
        near_records(FRAME, None, tolerance)


def test_a_tolerance_needs_its_column():
    with pytest.raises(ArgumentError, match="'age', which is not among those"):
        near_records(FRAME, ["sex"], {"age": 1})
    with pytest.raises(ArgumentError, match="needs a numeric column"):
        near_records(FRAME, ["sex", "born"], 1)


@pytest.mark.parametrize(
    ("frame", "columns", "error", "message"),
    [
        (FRAME, ["aeg"], ColumnError, "columns='aeg' is not a column.*mean 'age'"),
        (FRAME, "aeg", ColumnError, "columns='aeg' is not a column"),
        (FRAME, 3, ColumnError, "columns=3 is not a column"),
        (FRAME, [], ArgumentError, "no column left"),
        (FRAME[:0], None, DataError, "no rows"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), None, DataError, "columns 'x'"),
        ({"age": [1]}, None, FrameError, "not dict"),
        (pd.DataFrame({"x": [[1], [2]]}), None, DataError, "'x' holds .* compared"),
    ],
)
def test_frames_and_columns_that_cannot_be_compared(frame, columns, error, message):
    with pytest.raises(error, match=message):
        equal_records(frame, columns)


@pytest.mark.parametrize(
    ("site", "columns", "error", "message"),
    [
        ("six", None, ColumnError, "site='six' is not a column.*mean 'sex'"),
        ("sex", ["age", "sex"], ArgumentError, "has the site 'sex'"),
        ([1], None, DataError, "site= must have one value for each of the 2 rows"),
        (3, None, DataError, r"site= must have .* shape \(\)"),
        ([1, None], None, DataError, "site is missing in 1 of 2 rows"),
        (pd.Series([1, 2], index=[5, 6]), None, DataError, "labels are not those"),
    ],
)
def test_sites_that_cannot_be_used(site, columns, error, message):
    for check in (repeats_within_site, repeats_across_sites):
        with pytest.raises(error, match=message):
            check(FRAME, site, columns)
    with pytest.raises(error, match=message.replace("site", "fold")):
        split_repeats(FRAME, site, columns)


def test_names_taken_and_data_that_do_not_do():
    grouped = FRAME.assign(group=1, fold=1)
    with pytest.raises(DataError, match=r"a column 'group'.*rename\(columns={'group'"):
        repeats_within_site(grouped, "sex")
    with pytest.raises(DataError, match="a column 'fold'"):
        split_repeats(grouped, [1, 2])
    with pytest.raises(ArgumentError, match="no column left"):
        repeats_within_site(FRAME[["sex"]], "sex")
    with pytest.raises(FrameError, match="not dict"):
        repeats_within_site({"sex": ["f"]}, "sex")


def test_text_that_is_not_valid_unicode_equals_itself():
    frame = pd.DataFrame({"x": pd.Series(["\ud800", "a", "\ud800"], dtype=object)})
    assert equal_records(frame).tolist() == [0, 1, 0]
