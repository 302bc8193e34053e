import copy
import dataclasses
import inspect
import itertools
import pickle
import warnings
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnError,
    DataError,
    FoldWarning,
    PrivacyWarning,
    SchemeError,
)
from statcv.folds import SCHEMES, ByHash, ByQuantile, by_hash, by_quantile, make_plan
from statcv.folds.strata import even_cuts
from statcv.folds.strata import thresholds as cuts
from statcv.folds.strata.hashing import assign, balanced_folds, keyed_digest, keyed_fold
from statcv.folds.strata.stratifier import ByValue, by_value, resolve_stratifier

KEY = "a key that must not be seen"
OTHER = "another key"


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv("STATCV_KEY", raising=False)


def sizes_of(counts, cut):
    below = np.concatenate([[0], np.cumsum(counts)])
    return np.diff(below[[0, *cut, len(counts)]])


def quietly(make, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldWarning)
        return make(*arguments, **options)


def same(codes):
    codes = np.asarray(codes)
    return codes[:, None] == codes


# -- where to cut ---------------------------------------------------------------------


@given(st.lists(st.integers(1, 30), min_size=2, max_size=9), st.integers(1, 5))
def test_cuts_have_the_smallest_variance_of_all(counts, bins):
    if len(counts) < bins:
        return
    cut = even_cuts(counts, bins)
    sizes = sizes_of(counts, cut)
    assert len(sizes) == bins
    assert (np.diff([0, *cut, len(counts)]) > 0).all()
    every = [
        sizes_of(counts, choice)
        for choice in itertools.combinations(range(1, len(counts)), bins - 1)
    ]
    assert (sizes**2).sum() == min((other**2).sum() for other in every)
    if min(np.ptp(other) for other in every) <= 1:
        assert np.ptp(sizes) <= 1


@pytest.mark.parametrize("kind", ["one", "few", "many", "heavy", "long tail"])
def test_cuts_on_a_grid_are_as_good_as_all(kind, monkeypatch):
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(15):
        values, bins = rng.integers(80, 400), rng.integers(2, 30)
        counts = {
            "one": np.ones(values, dtype=int),
            "few": rng.integers(1, 4, values),
            "many": rng.integers(1, 500, values),
            "heavy": np.where(rng.random(values) < 0.1, 80, 1),
            "long tail": 1 + rng.pareto(0.7, values).clip(0, 1e6).astype(int),
        }[kind]
        best = sizes_of(counts, even_cuts(counts, bins))
        with monkeypatch.context() as patch:
            patch.setattr(cuts, "_EXACT", 0)
            found = sizes_of(counts, even_cuts(counts, bins))
        assert found.min() > 0
        ratios.append((found**2).sum() / (best**2).sum())
        if kind == "one":
            assert np.ptp(found) <= 1
    assert max(ratios) < 1.001
    assert np.mean(np.isclose(ratios, 1, rtol=1e-12)) > 0.9


@pytest.mark.parametrize(("values", "bins"), [(50_000, 7), (20_000, 400), (1001, 1000)])
def test_many_distinct_values_differ_by_one_at_most(values, bins):
    assert np.ptp(sizes_of(np.ones(values, int), even_cuts(np.ones(values), bins))) <= 1


# -- bins of a number -----------------------------------------------------------------

NUMBERS = st.lists(
    st.floats(allow_nan=False) | st.integers(-3, 3).map(float), min_size=2, max_size=40
)


@given(NUMBERS, st.integers(2, 5), st.integers(1, 3))
def test_bins_are_intervals_of_whole_values(numbers, k, per_fold):
    frame = pd.DataFrame({"x": numbers})
    stratifier = by_quantile("x", per_fold=per_fold)
    distinct = len(set(numbers))
    if distinct < k:
        with pytest.raises(
            SchemeError, match=rf"x has {distinct} distinct value.*k={k}"
        ):
            stratifier.cut(frame, k)
        return
    cut = quietly(stratifier.cut, frame, k)
    assert cut.units == min(k * per_fold, distinct)
    assert cut.fixed == (per_fold == 1)
    assert stratifier.random == (per_fold > 1)
    assert cut.codes.dtype == np.intp
    assert set(cut.codes) == set(range(cut.units))
    np.testing.assert_array_equal(cut.of(frame), cut.codes)
    slow = [sum(bound <= number for bound in cut.thresholds) for number in numbers]
    assert cut.codes.tolist() == slow
    for bin_, bound in enumerate(cut.thresholds):
        low = max(n for n, c in zip(numbers, slow, strict=True) if c == bin_)
        high = min(n for n, c in zip(numbers, slow, strict=True) if c == bin_ + 1)
        assert low < bound <= high
    np.testing.assert_array_equal(same(stratifier.values(frame)), same(numbers))
    counts = np.unique(numbers, return_counts=True)[1]
    np.testing.assert_array_equal(
        np.bincount(cut.codes), sizes_of(counts, even_cuts(counts, cut.units))
    )


def test_bins_of_distinct_numbers_differ_by_one_at_most():
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=1003)})
    for per_fold in (1, 7):
        cut = by_quantile("x", per_fold).cut(frame, 10)
        assert np.ptp(np.bincount(cut.codes)) <= 1


def test_thresholds_apply_to_other_records():
    cut = by_quantile("x").cut(pd.DataFrame({"x": [1, 2, 3, 4]}), 2)
    assert cut.thresholds.tolist() == [2.5]
    assert cut.of(pd.DataFrame({"x": [-9.0, 2.4, 2.5, 99.0]})).tolist() == [0, 0, 1, 1]
    again = pickle.loads(pickle.dumps(cut))
    assert again.of(pd.DataFrame({"x": [2, 3]})).tolist() == [0, 1]


@pytest.mark.parametrize("low", [1.0, -1.0, 5e-324, 1e308, -1.7e308])
def test_adjacent_floats_can_be_separated(low):
    numbers = [low, np.nextafter(low, np.inf)]
    cut = by_quantile("x").cut(pd.DataFrame({"x": numbers}), 2)
    assert cut.codes.tolist() == [0, 1]


def arrow(kind):
    pa = pytest.importorskip("pyarrow", reason="Arrow columns need pyarrow")
    kinds = {
        "int": pa.int64(),
        "decimal": pa.decimal128(9, 2),
        "date": pa.date32(),
        "text": pa.string(),
        "bool": pa.bool_(),
    }
    return pd.ArrowDtype(kinds[kind])


@pytest.mark.parametrize(
    "dtype",
    ["int8", "uint64", "float32", "Int64", "Float64", "object", "int", "decimal"],
)
def test_numbers_of_every_dtype(dtype):
    numbers = [1, 2, 3, 3, 4, 2]
    if dtype in ("int", "decimal"):
        values = [Decimal(n) for n in numbers] if dtype == "decimal" else numbers
        column = pd.Series(values, dtype=arrow(dtype))
    else:
        column = pd.Series(numbers).astype(dtype)
    frame = pd.DataFrame({"x": column})
    cut = by_quantile("x").cut(frame, 2)
    assert cut.codes.tolist() == [0, 0, 1, 1, 1, 0]
    assert cut.thresholds.tolist() == [2.5]
    frame["x"] = column.where(column != 3)
    with pytest.raises(
        DataError, match=r"'x' is missing in 2 of 6 records.*dropna.*own"
    ):
        by_quantile("x").cut(frame, 2)


def test_decimals_and_numbers_among_objects():
    frame = pd.DataFrame({"x": pd.Series([Decimal(1), Decimal("2.5")], dtype=object)})
    assert by_quantile("x").cut(frame, 2).thresholds.tolist() == [1.75]
    frame = pd.DataFrame({"x": pd.Series([1, 2.5], dtype=object)})
    assert by_quantile("x").cut(frame, 2).thresholds.tolist() == [1.75]


DAYS = [date(1970, 1, 2), date(1970, 1, 4), date(1970, 1, 2), date(1950, 5, 6)]


@pytest.mark.parametrize("form", ["object", "datetime64[s]", "zone", "arrow"])
def test_dates_count_by_day(form):
    column = pd.Series(DAYS, dtype=object)
    if form == "zone":
        column = pd.to_datetime(column).dt.tz_localize("Asia/Tokyo")
        column = column + pd.to_timedelta([1, 5, 23, 0], unit="h")
    elif form == "arrow":
        column = column.astype(arrow("date"))
    else:
        column = column.astype(form)
    frame = pd.DataFrame({"born": column})
    cut = by_quantile("born").cut(frame, 3)
    assert cut.codes.tolist() == [1, 2, 1, 0]
    assert cut.thresholds[1] == np.datetime64("1970-01-03")
    with pytest.raises(
        DataError, match="holds numbers, but the bins were made of dates"
    ):
        cut.of(pd.DataFrame({"born": [1.0]}))


@pytest.mark.parametrize("dtype", ["bool", "boolean", "object", "category", "arrow"])
def test_truth_values_have_no_quantiles(dtype):
    values = [True, False, True]
    column = pd.Series(values, dtype=arrow("bool") if dtype == "arrow" else dtype)
    frame = pd.DataFrame({"smoker": column})
    with pytest.raises(DataError, match=r"no quantiles; by_value\('smoker'\)"):
        by_quantile("smoker").cut(frame, 2)
    hashed = by_hash("smoker", key=KEY)
    for call in (lambda: hashed.cut(frame, 2), lambda: hashed.values(frame)):
        with pytest.raises(DataError, match=r"truth values.*by_value\('smoker'\)"):
            call()
    cut = by_value("smoker").cut(frame, 2)
    assert cut.codes.tolist() == [0, 1, 0]
    assert cut.of(pd.DataFrame({"smoker": [False]})).tolist() == [1]


def test_other_columns_have_no_quantiles():
    for column in (
        ["a", "b"],
        pd.Categorical([1, 2]),
        pd.to_timedelta([1, 2]),
        [1j, 2],
    ):
        with pytest.raises(DataError, match=r"only numbers and dates.*by_value\('x'\)"):
            by_quantile("x").cut(pd.DataFrame({"x": column}), 2)


def test_many_bins_are_as_many_as_values_allow():
    frame = pd.DataFrame({"age": np.arange(30) % 15})
    with pytest.warns(
        FoldWarning, match=r"age has 15 distinct values.*15 bins, not 40"
    ):
        cut = by_quantile("age", per_fold=20).cut(frame, 2)
    assert cut.units == 15
    np.testing.assert_array_equal(same(cut.codes), same(frame["age"]))


@pytest.mark.parametrize(
    ("per_fold", "error"), [(0, ArgumentError), (2.0, ArgumentTypeError)]
)
def test_per_fold_is_a_count(per_fold, error):
    with pytest.raises(error, match="per_fold"):
        by_quantile("x", per_fold=per_fold)
    with pytest.raises(ArgumentTypeError, match="column must be text"):
        by_quantile(["x", "y"])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([2**53 + 1, 2**53 + 2, 3]),
        pd.Series([2**60, 2**60 + 1, 3], dtype="UInt64"),
        pd.Series([-(2**53) - 1, 1, 2]),
        pd.Series([2**70, 2**70 + 1, 3], dtype=object),
        pd.Series([2**53 + 1, 2, 3], dtype=object),
    ],
)
def test_numbers_that_floats_cannot_tell_apart_have_no_quantiles(column):
    frame = pd.DataFrame({"nhs": column})
    stratifier = by_quantile("nhs")
    ways_out = r"'nhs' .*above 2\*\*53.*by_hash\('nhs'\) or by_value\('nhs'\)"
    for call in (lambda: stratifier.cut(frame, 2), lambda: stratifier.values(frame)):
        with pytest.raises(DataError, match=ways_out):
            call()
    for scheme in ("loocv", "kfold", "lpocv"):
        sizes = {"kfold": {"k": 2}, "lpocv": {"p": 1}}.get(scheme, {})
        with pytest.raises(DataError, match=ways_out):
            make_plan(
                scheme,
                [0, 1, 0],
                "binary",
                stratify=by_quantile("nhs"),
                data=frame,
                **sizes,
            )
    for whole in (by_value("nhs"), by_hash("nhs", key=KEY)):
        assert len(set(whole.values(frame))) == 3


def test_numbers_that_floats_hold_have_quantiles():
    for largest in (2**53, -(2**53)):
        frame = pd.DataFrame({"x": [0, 1, largest, largest]})
        assert len(set(by_quantile("x").cut(frame, 2).codes)) == 2
    wide = pd.DataFrame({"x": [1e300, -1e300, 5.0, 7.0]})
    assert by_quantile("x").cut(wide, 2).codes.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("scheme", [s for s in SCHEMES if not SCHEMES[s].has_k])
@pytest.mark.parametrize(
    ("stratifier", "said"),
    [
        (by_quantile("x", per_fold=3), "per_fold=3"),
        (by_hash("x", key=KEY, balanced=True), "balanced=True"),
    ],
)
def test_arguments_about_folds_mean_nothing_for_other_schemes(scheme, stratifier, said):
    frame = pd.DataFrame({"x": np.arange(12)})
    size = {"p": 2} if SCHEMES[scheme].splits == "groups" else {}
    arguments = {"stratify": stratifier, "data": frame, **size}
    with pytest.raises(
        ArgumentError, match=f"{said} means nothing for scheme='{scheme}'.*of x;"
    ):
        make_plan(scheme, [0, 1] * 6, "binary", **arguments)
    plain = {"stratify": by_hash("x", key=KEY), "data": frame, **size}
    assert make_plan(scheme, [0, 1] * 6, "binary", **plain).strata.count == 12
    assert (
        make_plan(
            "kfold", [0, 1] * 6, "binary", k=3, stratify=stratifier, data=frame
        ).n_splits
        == 3
    )


# -- a keyed hash ---------------------------------------------------------------------

PEOPLE = pd.DataFrame(
    {
        "dob": pd.to_datetime(
            ["1970-01-02", "1980-03-04", "1970-01-02", "1999-09-09"] * 5
        ),
        "sex": ["f", "m", " f", "m"] * 5,
        "id": np.arange(20),
    }
)


@pytest.mark.parametrize("balanced", [False, True])
def test_folds_are_those_of_the_hash(balanced):
    cut = by_hash("id", key=KEY, balanced=balanced).cut(PEOPLE, 3)
    expected = keyed_fold(PEOPLE["id"], 3, KEY)
    if balanced:
        expected, thresholds = balanced_folds(PEOPLE["id"], 3, KEY)
        np.testing.assert_array_equal(cut.thresholds, thresholds)
    np.testing.assert_array_equal(cut.codes, expected)
    np.testing.assert_array_equal(cut.of(PEOPLE), expected)
    assert cut.fixed
    assert cut.units == 3
    assert cut.codes.dtype == np.intp
    assert cut.stratifier.key.keyed_by == "key"
    later = pd.DataFrame({"id": ["21", "3", "7"]})
    expected = keyed_fold([21, 3, 7], 3, KEY)
    if balanced:
        expected = assign(keyed_digest([21, 3, 7], KEY), thresholds)
    np.testing.assert_array_equal(cut.of(later), expected)


def test_several_columns_count_together():
    stratifier = by_hash(["dob", "sex"], key=KEY)
    assert stratifier.label == "dob + sex"
    texts = [
        f"{d:%Y-%m-%d}\x1f{s.strip()}"
        for d, s in zip(PEOPLE.dob, PEOPLE.sex, strict=True)
    ]
    np.testing.assert_array_equal(same(stratifier.values(PEOPLE)), same(texts))
    # the separator inside a text is kept when the text is hashed alone
    expected = keyed_fold(texts, 2, KEY)
    cut = quietly(stratifier.cut, PEOPLE, 2)
    np.testing.assert_array_equal(cut.codes, expected)


SAME = [[0, -0.0], [1, 1.0, "1", " 1"], [0.5, Decimal("0.50")], ["é", "e\u0301"]]
ALONE = ["01", "", date(2020, 1, 3), "a", "A"]
IDENTIFIERS = st.sampled_from([*itertools.chain(*SAME), *ALONE])


@given(st.lists(st.tuples(IDENTIFIERS, IDENTIFIERS), min_size=1, max_size=12))
def test_equality_is_that_of_identifiers(pairs):
    frame = pd.DataFrame(pairs, columns=["a", "b"], dtype=object)
    expected = same(keyed_digest(frame, KEY))
    for stratifier in (by_hash(["a", "b"]), by_value(["a", "b"])):
        codes = stratifier.values(frame)
        np.testing.assert_array_equal(same(codes), expected)
        assert set(codes) == set(range(len(set(codes))))


def test_values_that_are_the_same_identifier():
    values = [value for group in SAME for value in group] + ALONE
    groups = [i for i, group in enumerate(SAME) for _ in group]
    groups += range(len(SAME), len(SAME) + len(ALONE))
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    for stratifier in (by_hash("x"), by_value("x")):
        np.testing.assert_array_equal(same(stratifier.values(frame)), same(groups))


def test_a_hash_needs_a_key():
    assert by_hash("id").key.keyed_by == "environment"
    assert not by_hash("id").random
    with pytest.raises(ArgumentError, match=r"STATCV_KEY.*key=None"):
        by_hash("id").cut(PEOPLE, 3)


def test_a_key_is_never_seen():
    for key in (KEY, KEY.encode()):
        stratifier = by_hash("id", key=key)
        cut = stratifier.cut(PEOPLE, 3)
        for thing in (stratifier, cut, stratifier.key):
            assert KEY not in repr(thing) + f"{thing}"
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                assert KEY.encode() not in pickle.dumps(thing, protocol)
        frames = (PEOPLE[["sex"]], pd.DataFrame({"id": [None, 1]}))
        for frame, error in zip(frames, (ColumnError, DataError), strict=True):
            with pytest.raises(error) as caught:
                stratifier.cut(frame, 3)
            assert KEY not in str(caught.value)


def test_no_table_of_the_fields_shows_a_key():
    for key in (KEY, KEY.encode()):
        stratifier = by_hash("id", key=key)
        held = stratifier.key
        shown = [
            dataclasses.asdict(stratifier),
            dataclasses.astuple(stratifier),
            vars(stratifier),
            inspect.getmembers(held),
            [getattr(held, name) for name in held.__slots__],
            dataclasses.asdict(stratifier.cut(PEOPLE, 3)),
        ]
        assert all(KEY not in str(one) for one in shown)
        with pytest.raises(TypeError):
            vars(held)
        with pytest.raises(AttributeError, match="does not change"):
            held.keyed_by = "nothing"
        assert held == by_hash("id", key=key).key
        assert held != by_hash("id", key=OTHER).key
        assert hash(held) == hash(by_hash("id", key=key).key)


def test_a_plan_that_is_read_back_takes_the_key_from_the_environment(monkeypatch):
    stratifier = by_hash("id", key=KEY, balanced=True)
    cut = stratifier.cut(PEOPLE, 3)
    for twin in (copy.copy(cut), copy.deepcopy(cut)):
        np.testing.assert_array_equal(twin.of(PEOPLE), cut.codes)
    assert copy.deepcopy(stratifier) == stratifier
    again = pickle.loads(pickle.dumps(cut))
    np.testing.assert_array_equal(again.codes, cut.codes)
    with pytest.raises(ArgumentError, match="there is no key"):
        again.of(PEOPLE)
    monkeypatch.setenv("STATCV_KEY", OTHER)
    with pytest.raises(
        ArgumentError, match="not the one by which the folds of id were"
    ):
        again.of(PEOPLE)
    monkeypatch.setenv("STATCV_KEY", KEY)
    np.testing.assert_array_equal(again.of(PEOPLE), cut.codes)
    read = pickle.loads(pickle.dumps(stratifier))
    assert read.key.keyed_by == "environment"
    np.testing.assert_array_equal(read.cut(PEOPLE, 3).codes, cut.codes)


def test_a_hash_without_a_key_warns():
    with pytest.warns(PrivacyWarning, match="without a key"):
        cut = by_hash("id", key=None).cut(PEOPLE, 2)
    assert cut.stratifier.key.keyed_by == "nothing"
    assert cut.sentence == "2 folds by a hash of id without a key"


def test_an_invalid_key_raises_an_error_at_once():
    with pytest.raises(ArgumentError, match="the key is empty"):
        by_hash("id", key="")
    with pytest.raises(ArgumentTypeError, match="not int"):
        by_hash("id", key=5)
    with pytest.raises(ArgumentTypeError, match="balanced"):
        by_hash("id", key=KEY, balanced="yes")


def test_an_empty_fold_raises_an_error():
    frame = pd.DataFrame({"id": range(5)})
    with pytest.raises(SchemeError, match=r"of k=5 folds .*id.* empty.*balanced=True"):
        by_hash("id", key=KEY).cut(frame, 5)
    cut = by_hash("id", key=KEY, balanced=True).cut(frame, 5)
    assert sorted(cut.codes) == [0, 1, 2, 3, 4]


def test_the_error_for_values_that_cannot_be_hashed_names_the_column():
    frame = pd.DataFrame({"x": [b"a", b"b"], "y": ["a\x1fb", "c"]})
    for stratifier in (by_hash("x", key=KEY), by_value("x")):
        with pytest.raises(DataError, match=r"stratify='x': .*bytes"):
            stratifier.cut(frame, 2)
    frame["x"] = [1, 2]
    with pytest.raises(DataError, match=r"'x \+ y': column 'y' .*U\+001F"):
        by_value(["x", "y"]).cut(frame, 2)
    assert by_value("y").cut(frame, 2).units == 2


# -- whole values ---------------------------------------------------------------------


def test_whole_values_are_units():
    frame = pd.DataFrame({"site": ["B", "A", "B ", "C"]})
    stratifier = by_value("site")
    cut = stratifier.cut(frame, 2)
    assert cut.codes.tolist() == [0, 1, 0, 2]
    assert cut.units == 3
    assert not cut.fixed
    assert cut.thresholds is None
    assert stratifier.random
    assert cut.of(pd.DataFrame({"site": ["C", "D", "A"]})).tolist() == [2, -1, 1]
    assert pickle.loads(pickle.dumps(cut)).of(frame).tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int64", "category", "str"])
def test_values_of_every_dtype_are_known_again(dtype):
    cut = by_value("x").cut(pd.DataFrame({"x": [10, 20, 10]}), 2)
    column = pd.Series([20, 30, 10]).astype(dtype)
    assert cut.of(pd.DataFrame({"x": column})).tolist() == [1, -1, 0]


# -- what all of them refuse, and say -------------------------------------------------


@pytest.mark.parametrize(
    "make", [by_quantile, by_value, lambda column: by_hash(column, key=KEY)]
)
def test_too_few_values_too_large_ones_and_missing_ones(make):
    frame = pd.DataFrame({"secret": [8, 8, 8, 8, 5, 6, 7]})
    with pytest.raises(SchemeError, match=r"secret has 4 distinct values.*never split"):
        make("secret").cut(frame, 5)
    with pytest.warns(
        FoldWarning, match=r"1 value of secret has more.* has 4 of 7"
    ) as w:
        make("secret").cut(frame, 3)
    assert ("=8" in str(w[0].message)) == (make in (by_quantile, by_value))
    assert w[0].filename == __file__
    frame.loc[2, "secret"] = np.nan
    for call in (lambda f: make("secret").cut(f, 2), make("secret").values):
        with pytest.raises(DataError, match=r"'secret' is missing in 1 of 7 records"):
            call(frame)
    for k in (1, "2"):
        with pytest.raises(ArgumentError, match="k"):
            make("secret").cut(frame, k)


def test_fold_sizes_that_are_even_do_not_warn():
    frame = pd.DataFrame({"x": [1, 1, 1, 1, 2, 2, 2, 3, 3, 3]})
    assert np.bincount(by_quantile("x").cut(frame, 3).codes).tolist() == [4, 3, 3]


@pytest.mark.parametrize(
    ("stratifier", "k", "sentence"),
    [
        (by_quantile("id"), 4, "4 quantile bins of id, one a fold"),
        (
            by_quantile("id", per_fold=3),
            4,
            "12 quantile bins of id allocated to 4 folds",
        ),
        (by_hash(["id", "sex"], key=KEY), 2, "2 folds by keyed hash of id + sex"),
        (
            by_hash("id", key=KEY, balanced=True),
            4,
            "4 folds of about equal size by keyed hash of id",
        ),
        (by_value("id"), 5, "5 folds of whole values of id"),
    ],
)
def test_sentences(stratifier, k, sentence):
    assert stratifier.cut(PEOPLE, k).sentence == sentence


def test_identifiers_are_not_predictors():
    assert not ByQuantile.identifies
    assert ByHash.identifies
    assert ByValue.identifies


# -- what a caller says ---------------------------------------------------------------


def test_a_name_means_whole_values_whatever_the_dtype():
    frame = PEOPLE.assign(kind=pd.Categorical([1, 2] * 10), text=pd.array(["a"] * 20))
    for name in ("id", "dob", "sex", "kind", "text"):
        assert resolve_stratifier(name, frame) == by_value(name)
    both = resolve_stratifier(("dob", "sex"), frame)
    assert both == by_value(["dob", "sex"])
    given_ = by_quantile("id", per_fold=4)
    assert resolve_stratifier(given_, frame) is given_


@pytest.mark.parametrize("stratify", ["sx", ["id", "sx"], by_value("sx")])
def test_an_absent_column_raises_an_error(stratify):
    with pytest.raises(
        ColumnError, match=r"stratify='sx' is not a column.*Did you mean 'sex'"
    ):
        resolve_stratifier(stratify, PEOPLE)


@pytest.mark.parametrize("stratify", [5, np.arange(20), PEOPLE["id"], {"id"}, None])
def test_an_invalid_stratifier_raises_an_error(stratify):
    with pytest.raises(
        ArgumentTypeError, match=r"stratify must be.*by_quantile, by_hash"
    ):
        resolve_stratifier(stratify, PEOPLE)


def test_lists_of_names():
    with pytest.raises(ArgumentError, match="needs a column"):
        resolve_stratifier([], PEOPLE)
    with pytest.raises(ArgumentError, match="named twice"):
        by_hash(["id", "id"], key=KEY)
    with pytest.raises(ArgumentTypeError, match="a name or a list of names"):
        by_value(["id", 5])
