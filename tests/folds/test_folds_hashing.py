import csv
import hashlib
import hmac
import io
import itertools
import sqlite3
import unicodedata
import warnings
from datetime import date, datetime, timezone
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    DataError,
    PrivacyWarning,
    SchemeError,
)
from statcv.folds.strata import register_duckdb, register_sqlite, sql_fold
from statcv.folds.strata.hashing import (
    FROM_ENVIRONMENT,
    TEST_VECTORS,
    _hashes,
    assign,
    balanced_folds,
    keyed_digest,
    keyed_fold,
    pads,
)
from statcv.folds.strata.identifiers import normalise

KEY = b"a key for the tests"
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def number(text: str, key: bytes = KEY) -> int:
    """Return the digest by the standard library alone."""
    return int.from_bytes(hmac.new(key, text.encode(), "sha256").digest()[:7], "big")


# RFC 4231, section 4: cases 1 to 7; of case 5 the first 16 bytes are published
RFC4231 = [
    (
        b"\x0b" * 20,
        b"Hi There",
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
    ),
    (
        b"Jefe",
        b"what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ),
    (
        b"\xaa" * 20,
        b"\xdd" * 50,
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
    ),
    (
        bytes(range(1, 26)),
        b"\xcd" * 50,
        "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
    ),
    (b"\x0c" * 20, b"Test With Truncation", "a3b6167473100ee06e0c796c2955552b"),
    (
        b"\xaa" * 131,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    ),
    (
        b"\xaa" * 131,
        b"This is a test using a larger than block-size key and a larger than "
        b"block-size data. The key needs to be hashed before being used by the "
        b"HMAC algorithm.",
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
    ),
]


@pytest.mark.parametrize(("key", "message", "published"), RFC4231)
def test_hashes_are_those_of_rfc_4231(key, message, published):
    assert _hashes([message, b"", message], key).hex()[-64:].startswith(published)
    inner, outer = pads(key)
    nested = hashlib.sha256(outer + hashlib.sha256(inner + message).digest())
    assert nested.hexdigest().startswith(published)
    if len(published) == 64 and message.isascii():
        assert keyed_digest([message.decode()], key)[0] == int(published[:14], 16)


def test_the_vectors_begin_with_cases_of_the_rfc():
    published = {(key, message): hexed for key, message, hexed in RFC4231}
    for key, value, _, hexed, _ in TEST_VECTORS[:3]:
        assert published[key, value.encode()] == hexed


@pytest.mark.parametrize(("key", "value", "text", "hexed", "fold"), TEST_VECTORS)
def test_vectors(key, value, text, hexed, fold):
    assert normalise(value) == text
    assert hmac.new(key, text.encode(), "sha256").hexdigest() == hexed
    assert int(hexed[:14], 16) % 5 == fold
    assert keyed_digest([value], key).tolist() == [int(hexed[:14], 16)]
    assert keyed_fold([value], 5, key).tolist() == [fold]


@given(st.lists(TEXT), st.binary(min_size=1, max_size=200), st.integers(2, 2000))
def test_digest_is_hmac_of_the_written_form(texts, key, k):
    written = [unicodedata.normalize("NFC", text).strip() for text in texts]
    expected = [number(text, key) for text in written]
    assert keyed_digest(texts, key).tolist() == expected
    assert keyed_fold(texts, k, key).tolist() == [d % k for d in expected]


@given(TEXT)
def test_written_forms_are_stable(text):
    assert normalise(normalise(text)) == normalise(text)


@pytest.mark.parametrize("length", [1, 63, 64, 65, 200])
def test_keys_of_any_length(length):
    key = "k" * length
    assert keyed_digest(["x"], key)[0] == number("x", key.encode())
    assert list(map(len, pads(key))) == [64, 64]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True + 1, "2"),
        (np.int8(-3), "-3"),
        (np.float32(0.5), "0.5"),
        (np.float32(0.1), "0.10000000149011612"),
        (0.1, "0.1"),
        (1e22, "1" + "0" * 22),
        (Decimal("1.00"), "1"),
        (Decimal("-0.0"), "0"),
        (Decimal("0.10"), "0.1"),
        (Decimal(2**70 + 1), str(2**70 + 1)),
        (date(870, 3, 4), "0870-03-04"),
        (pd.Timestamp("2020-01-02 23:59:59.999", tz="Asia/Tokyo"), "2020-01-02"),
        (datetime(2020, 1, 2, 23, tzinfo=timezone.utc), "2020-01-02"),
        (np.datetime64("1969-12-31T23:00"), "1969-12-31"),
        (np.datetime64("2020-03"), "2020-03-01"),
        ("\u2003\tA b\x1f\u3000", "A b"),
        ("\ufeffx", "\ufeffx"),  # a byte order mark is not white space
        ("01.0", "01.0"),
        ("Å", "\u00c5"),
        ("ﬁ", "ﬁ"),  # NFC, not NFKC
    ],
)
def test_written_forms(value, text):
    assert normalise(value) == text


@pytest.mark.parametrize(
    "values",
    [
        [1, 20, 1],
        [1.0, "20", np.int16(1)],
        [Decimal(1), 20, "1 "],
        np.array([1, 20, 1], dtype=np.uint8),
        np.array([1, 20, 1], dtype=np.float32),
        np.array(["1", "20", " 1"]),
        pd.Series([1, 20, 1], index=[5, 5, 6]),
        pd.Series([1, 20, 1], dtype="Int64"),
        pd.Series([1, 20, 1], dtype="Float64"),
        pd.Series(["1", "20", "1"], dtype="string"),
        pd.Series(["1", "20", "1"], dtype="category"),
        pd.Categorical([1, 20, 1]),
        pd.Index([1, 20, 1]),
        pd.Series([1, 20, 1], dtype="Int64").array,
        (value for value in (1, 20, 1)),
    ],
)
def test_equal_values_have_equal_digests_in_every_dtype(values):
    expected = [number("1"), number("20"), number("1")]
    assert keyed_digest(values, KEY).tolist() == expected


@pytest.mark.parametrize("kind", ["int64", "double", "string", "decimal128(9, 2)"])
def test_arrow_columns(kind):
    pa = pytest.importorskip("pyarrow", reason="Arrow columns need pyarrow")
    raw = {"string": ["1", "20"], "decimal128(9, 2)": [Decimal(1), Decimal(20)]}
    dtype = pa.decimal128(9, 2) if kind[0:3] == "dec" else pa.type_for_alias(kind)
    column = pd.Series(raw.get(kind, [1, 20]), dtype=pd.ArrowDtype(dtype))
    assert keyed_digest(column, KEY).tolist() == [number("1"), number("20")]
    column = pd.Series([*raw.get(kind, [1, 20]), None], dtype=pd.ArrowDtype(dtype))
    with pytest.raises(DataError, match="1 of 3 values to hash is missing"):
        keyed_digest(column, KEY)


def test_arrow_dates_by_day():
    pa = pytest.importorskip("pyarrow", reason="Arrow columns need pyarrow")
    zoned = pd.Series(pd.to_datetime(["1970-01-02 23:00"])).dt.tz_localize("Asia/Tokyo")
    for dtype in (pa.date32(), pa.timestamp("us"), pa.timestamp("us", tz="Asia/Tokyo")):
        plain = zoned.dt.date if dtype == pa.date32() else zoned
        plain = zoned.dt.tz_localize(None) if dtype == pa.timestamp("us") else plain
        column = plain.astype(pd.ArrowDtype(dtype))
        assert keyed_digest(column, KEY).tolist() == [number("1970-01-02")]


@pytest.mark.parametrize(
    "values",
    [
        [date(1970, 1, 2), datetime(1970, 1, 2, 5), "1970-01-02"],
        pd.to_datetime(["1970-01-02 00:00", "1970-01-02 13:00", "1970-01-02 01:00"]),
        np.array(["1970-01-02"] * 3, dtype="datetime64[D]"),
        pd.Series(pd.to_datetime(["1970-01-02 23:00"] * 3)).dt.tz_localize(
            "Asia/Tokyo"
        ),
        pd.Series(pd.to_datetime(["1970-01-02 01:00"] * 3)).dt.tz_localize(
            "Asia/Tokyo"
        ),
        pd.Series([date(1970, 1, 2)] * 3, dtype="category"),
    ],
)
def test_dates_by_day(values):
    assert keyed_digest(values, KEY).tolist() == [number("1970-01-02")] * 3


def test_equal_instants_of_two_zones_keep_each_its_own_day():
    here = pd.Timestamp("2020-01-01 23:00", tz="UTC")
    there = here.tz_convert("Asia/Tokyo")
    expected = [number("2020-01-01"), number("2020-01-02")]
    assert keyed_digest([here, there], KEY).tolist() == expected
    assert keyed_digest([there, here], KEY).tolist() == expected[::-1]


@given(st.lists(st.tuples(TEXT, TEXT, st.integers(-2, 2)), min_size=1, max_size=8))
def test_columns_of_a_frame_are_joined(parts):
    frame = pd.DataFrame(parts).astype({0: object, 1: object, 2: float})
    written = [tuple(normalise(part) for part in row) for row in parts]
    if any("\x1f" in part for row in written for part in row):
        with pytest.raises(
            DataError, match=r"column [01] holds .* U\+001F.*take it out"
        ):
            keyed_digest(frame, KEY)
        return
    digests = keyed_digest(frame, KEY).tolist()
    assert digests == [number("\x1f".join(row)) for row in written]
    same = [[a == b for a in written] for b in written]
    assert same == [[a == b for a in digests] for b in digests]


def test_a_frame_of_one_column_is_that_column():
    frame = pd.DataFrame({"id": ["a\x1fb", "\x1f", ""]})
    expected = keyed_digest(frame["id"], KEY)
    np.testing.assert_array_equal(keyed_digest(frame, KEY), expected)
    frame["other"] = [1, None, None]
    with pytest.raises(DataError, match="2 of 3 values of 'other' to hash are missing"):
        keyed_digest(frame, KEY)
    with pytest.raises(ArgumentTypeError, match="column at least"):
        keyed_digest(frame[[]], KEY)


@pytest.mark.parametrize("form", [list, pd.Series, np.array, pd.Categorical])
def test_many_values_are_hashed_in_pieces(monkeypatch, form):
    values = form([f"P{i % 23}" for i in range(50)])
    whole = keyed_digest(values, KEY)
    monkeypatch.setattr("statcv.folds.strata.hashing._AT_ONCE", 7)
    np.testing.assert_array_equal(keyed_digest(values, KEY), whole)
    assert whole.tolist() == [number(f"P{i % 23}") for i in range(50)]
    gaps = pd.Series([None, *values, None])
    with pytest.raises(DataError, match="2 of 52 values to hash are missing"):
        keyed_digest(gaps, KEY)


def test_without_values_there_are_no_folds():
    assert keyed_fold([], 5, KEY).tolist() == []


@pytest.mark.parametrize("absent", [None, np.nan, pd.NA, pd.NaT, Decimal("nan")])
def test_missing_values_are_counted(absent):
    for values in (["a", absent, "b", absent], [absent, 1, 2, absent]):
        with pytest.raises(DataError, match=r"2 of 4 values to hash are missing.*drop"):
            keyed_digest(values, KEY)
    with pytest.raises(DataError, match="1 of 1 values to hash is missing"):
        normalise(absent)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1.5, np.nan]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None]),
        pd.Series(["a", None], dtype="string"),
        pd.Series(["a", None], dtype="category"),
        pd.Series(pd.to_datetime(["1970-01-02", None])),
        pd.Series([0.0, 1.0], dtype="Float64") / pd.Series([0.0, 1.0], dtype="Float64"),
    ],
)
def test_missing_in_columns(column):
    with pytest.raises(DataError, match="1 of 2 values to hash is missing"):
        keyed_digest(column, KEY)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, True], "type bool"),
        (pd.Series([True, False]), "type bool"),
        ([np.True_], "type bool"),
        ([b"x"], "type bytes"),
        ([pd.Timedelta(1)], "type Timedelta"),
        ([1j], "type complex"),
        ([("a", "b")], "type tuple"),
        ([np.inf], "infinite"),
        ([Decimal("-inf")], "infinite"),
        (["\ud800"], "not valid Unicode"),
    ],
)
def test_values_that_cannot_be_hashed_raise_an_error(values, message):
    with pytest.raises(DataError, match=message):
        keyed_digest(values, KEY)


@pytest.mark.parametrize(
    "values", ["abc", b"abc", 5, {"a": 1}, {1, 2}, np.zeros((2, 2)), np.array(5)]
)
def test_values_must_be_one_column(values):
    with pytest.raises(ArgumentTypeError, match="one column or list, not"):
        keyed_digest(values, KEY)


def test_key_from_the_environment(monkeypatch):
    monkeypatch.setenv("STATCV_KEY", "gehéim")
    expected = number("x", "gehéim".encode())
    assert keyed_digest(["x"])[0] == keyed_digest(["x"], "gehéim")[0] == expected
    assert keyed_fold(["x"], 5)[0] == expected % 5
    assert pads() == pads("gehéim")
    for empty in (lambda: monkeypatch.setenv("STATCV_KEY", ""), monkeypatch.undo):
        empty()
        monkeypatch.delenv("STATCV_KEY", raising=False)
        with pytest.raises(ArgumentError, match=r"STATCV_KEY.*key=None"):
            keyed_digest(["x"], FROM_ENVIRONMENT)


def test_without_a_key_it_is_plain_sha256_and_warns():
    with pytest.warns(PrivacyWarning, match="36 525 dates of birth") as caught:
        digest = keyed_digest(["1970-01-02"], None)
    assert caught[0].filename == __file__
    plain = hashlib.sha256(b"1970-01-02").digest()
    assert digest[0] == int.from_bytes(plain[:7], "big")


def test_a_hash_of_birth_dates_without_a_key_can_be_inverted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        days = pd.date_range("1920-01-01", "2019-12-31")
        assert len(days) == 36525
        table = dict(zip(keyed_digest(days, None).tolist(), days, strict=True))
        found = table[int(keyed_digest([date(1970, 1, 2)], None)[0])]
    assert found == pd.Timestamp("1970-01-02")


def test_an_invalid_key_raises_an_error_that_does_not_show_it():
    for key in (b"", ""):
        with pytest.raises(ArgumentError, match="the key is empty"):
            keyed_digest(["x"], key)
    with pytest.raises(ArgumentTypeError, match="not int") as error:
        keyed_digest(["x"], 12345)
    assert "12345" not in str(error.value)
    with pytest.raises(ArgumentTypeError, match="not NoneType"):
        pads(None)


@pytest.mark.parametrize("k", [1, 0, -5, 2**70, 2.0, True, "5", None])
def test_k_must_be_two_or_more(k):
    for call in (
        lambda: keyed_fold(["x", "y"], k, KEY),
        lambda: balanced_folds(["x", "y"], k, KEY),
        lambda: sql_fold("id", k, "sqlite"),
    ):
        with pytest.raises(ArgumentError, match="k"):
            call()


@pytest.mark.parametrize("k", [2, 5, 7, 10])
def test_folds_are_spread_as_if_at_random(k):
    n = 50_000
    counts = np.bincount(keyed_fold([f"P{i:06}" for i in range(n)], k, KEY))
    assert len(counts) == k
    assert np.abs(counts - n / k).max() < 5 * np.sqrt(n / k * (1 - 1 / k))


@given(st.integers(2, 400), st.integers(2, 20))
def test_balanced_folds_of_distinct_values_differ_by_one_at_most(n, k):
    if n < k:
        with pytest.raises(SchemeError, match=f"{n} distinct values cannot fill k={k}"):
            balanced_folds(range(n), k, KEY)
        return
    folds, thresholds = balanced_folds(range(n), k, KEY)
    counts = np.bincount(folds, minlength=k)
    assert len(counts) == k
    assert np.ptp(counts) <= 1
    assert thresholds.dtype == np.uint64
    assert len(thresholds) == k - 1


@given(st.lists(st.integers(1, 12), min_size=2, max_size=7), st.integers(2, 4))
def test_balanced_thresholds_are_where_the_count_is_nearest(sizes, k):
    """The check is exhaustive over all cuts that leave no fold empty."""
    if len(sizes) < k:
        return
    values = np.repeat(np.arange(len(sizes)), sizes)
    folds, thresholds = balanced_folds(values, k, KEY)
    frame = pd.DataFrame({"value": values, "fold": folds})
    assert (frame.groupby("value")["fold"].nunique() == 1).all()
    counts = np.bincount(folds, minlength=k)
    assert (counts > 0).all()
    digests = keyed_digest(values, KEY)
    np.testing.assert_array_equal(folds, (digests[:, None] >= thresholds).sum(axis=1))
    below = np.cumsum(pd.Series(digests).value_counts().sort_index().to_numpy())
    shares = np.arange(1, k) * len(values) / k
    distance = np.abs(below[:-1, None] - shares)
    # the later of two that are equally near
    nearest = len(distance) - 1 - distance[::-1].argmin(axis=0)
    if len(set(nearest)) == k - 1:  # else a fold would be empty
        off = np.abs(np.cumsum(counts)[:-1] - shares)
        np.testing.assert_allclose(off, np.abs(below[nearest] - shares))
        best = min(
            max(abs(below[list(cut)] - shares))
            for cut in itertools.combinations(range(len(below) - 1), k - 1)
        )
        assert off.max() == pytest.approx(best)


def test_thresholds_apply_to_later_records():
    folds, thresholds = balanced_folds(range(1000), 5, KEY)
    kept = [int(bound) for bound in thresholds]  # as read back from JSON
    np.testing.assert_array_equal(assign(keyed_digest(range(1000), KEY), kept), folds)
    later = np.bincount(assign(keyed_digest(range(1000, 21_000), KEY), kept))
    assert np.abs(later / 20_000 - 0.2).max() < 0.05
    assert not set(kept) & set(keyed_digest(range(1000), KEY).tolist())


def test_assign_is_half_open():
    assert assign([0, 4, 5, 6, 2**56 - 1], [5, 2**56 - 1]).tolist() == [0, 0, 1, 1, 2]
    assert assign([], [5]).tolist() == []
    for bad in ([5.0], [-1], ["a"]):
        with pytest.raises(ArgumentTypeError, match="integers from 0"):
            assign([1], bad)
    for bad in ([5, 5], [6, 5], [[1, 2]], 5):
        with pytest.raises(ArgumentError, match="rising"):
            assign([1], bad)


# -- SQL ------------------------------------------------------------------------------

PIECES = (
    *(
        "'",
        '"',
        "`",
        "\\",
        "%",
        "%s",
        "$1",
        ":ipad",
        "--",
        ";",
        "\n",
        "\t",
        "{}",
        "NULL",
    ),
    *("é", "e\u0301", "ñ", "Å", "\u1e9b\u0323", "ﬁ", "ß", "İ", "Ж", "ش", "ไ"),
    *("山田", "太郎", "한", "\u1112\u1161\u11ab", "🩺", "👩\u200d⚕\ufe0f", "🇫🇷"),
    *(" ", "\u3000", "\xa0", "\u2003", "\x1f", "\x85", "\u200b", "\ufeff"),
    *("0", "00", "7", "1.0", "-0", "1e5", "a", "B", "O'Neil", "Robert'); DROP TABLE t"),
)
ODD_NAME = 'odd "na`me" %s $1 :x {}'


def awkward_identifiers(n: int = 10_000) -> list[str]:
    rng = np.random.default_rng(4)
    found = {"": None, " ": None, "007": None}
    while len(found) < n:
        found["".join(rng.choice(PIECES, rng.integers(1, 6)))] = None
    return list(found)


IDENTIFIERS = awkward_identifiers()
BOUND = dict(zip(("ipad", "opad"), pads(KEY), strict=True))


def expected_folds(k: int) -> list[int]:
    folds = keyed_fold(IDENTIFIERS, k, KEY).tolist()
    texts = [unicodedata.normalize("NFC", text).strip() for text in IDENTIFIERS]
    assert folds == [number(text) % k for text in texts]
    return folds


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture
def sqlite():
    connection = sqlite3.connect(":memory:")
    register_sqlite(connection)
    yield connection
    connection.close()


@pytest.fixture
def duck():
    with duckdb.connect() as connection:
        register_duckdb(connection)
        register_duckdb(connection)  # once more does no harm
        yield connection


@pytest.mark.parametrize("k", [5, 97])
def test_sqlite_makes_the_same_folds(sqlite, k):
    sqlite.execute(f"CREATE TABLE t (n INTEGER, {quoted(ODD_NAME)} TEXT)")
    sqlite.executemany("INSERT INTO t VALUES (?, ?)", enumerate(IDENTIFIERS))
    query = f"SELECT {sql_fold(ODD_NAME, k, 'sqlite')} FROM t ORDER BY n"
    folds = [fold for (fold,) in sqlite.execute(query, BOUND)]
    assert folds == expected_folds(k)


@pytest.mark.parametrize("k", [5, 97])
def test_duckdb_makes_the_same_folds(duck, k):
    texts = pd.Series(IDENTIFIERS, dtype=object)  # DuckDB 1.2 knows no "str"
    table = pd.DataFrame({"n": range(len(texts)), ODD_NAME: texts})
    duck.register("t", table)
    query = f"SELECT {sql_fold(ODD_NAME, k, 'duckdb')} FROM t ORDER BY n"
    folds = [fold for (fold,) in duck.execute(query, BOUND).fetchall()]
    assert folds == expected_folds(k)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_integers_and_nulls_in_sql(sqlite, duck, engine):
    connection = {"sqlite": sqlite, "duckdb": duck}[engine]
    connection.execute("CREATE TABLE t (id BIGINT)")
    values = [7, -3, 0, 2**60]
    connection.execute(f"INSERT INTO t VALUES {', '.join(f'({v})' for v in values)}")
    connection.execute("INSERT INTO t VALUES (NULL)")
    query = f"SELECT id, {sql_fold('id', 5, engine)} FROM t"
    folds = dict(connection.execute(query, BOUND).fetchall())
    assert folds.pop(None) is None
    assert folds == dict(zip(values, keyed_fold(values, 5, KEY).tolist(), strict=True))


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("k", [2, 10, 60])
def test_balanced_folds_in_sql(sqlite, duck, engine, k):
    connection = {"sqlite": sqlite, "duckdb": duck}[engine]
    numbers = list(range(500))
    folds, thresholds = balanced_folds(numbers, k, KEY)
    connection.execute("CREATE TABLE t (id BIGINT)")
    connection.execute(f"INSERT INTO t VALUES {', '.join(f'({v})' for v in numbers)}")
    connection.execute("INSERT INTO t VALUES (NULL)")
    query = f"SELECT id, {sql_fold('id', k, engine, thresholds)} FROM t"
    found = dict(connection.execute(query, BOUND).fetchall())
    assert found.pop(None) is None
    assert found == dict(zip(numbers, folds.tolist(), strict=True))


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_digest_on_a_threshold_is_above_it_in_sql(sqlite, duck, engine):
    connection = {"sqlite": sqlite, "duckdb": duck}[engine]
    on = number("7")
    query = f"SELECT {sql_fold('id', 3, engine, [on - 1, on])} FROM (SELECT 7 AS id)"
    assert connection.execute(query, BOUND).fetchone() == (2,)
    query = f"SELECT {sql_fold('id', 3, engine, [on, on + 1])} FROM (SELECT 7 AS id)"
    assert connection.execute(query, BOUND).fetchone() == (1,)


PAIRS = [(a, b) for a in ("", "x", " é ", "e\u0301", "1") for b in ("", "x", "é", "1 ")]


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_several_columns_in_sql(sqlite, duck, engine):
    connection = {"sqlite": sqlite, "duckdb": duck}[engine]
    connection.execute("CREATE TABLE t (n INTEGER, a VARCHAR, b VARCHAR)")
    for i, pair in enumerate([*PAIRS, (None, "x"), ("x", None)]):
        connection.execute("INSERT INTO t VALUES (?, ?, ?)", (i, *pair))
    query = f"SELECT {sql_fold(['a', 'b'], 97, engine)} FROM t ORDER BY n"
    *found, first, second = [
        fold for (fold,) in connection.execute(query, BOUND).fetchall()
    ]
    assert found == keyed_fold(pd.DataFrame(PAIRS), 97, KEY).tolist()
    assert first is None
    assert second is None


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_registered_sha256_is_sha256(sqlite, duck, engine):
    connection = {"sqlite": sqlite, "duckdb": duck}[engine]
    function = "hex(sha256(?))" if engine == "sqlite" else "upper(sha256(?::BLOB))"
    for blob in (b"", b"\xff\x00"):
        (found,) = connection.execute(f"SELECT {function}", [blob]).fetchone()
        assert found == hashlib.sha256(blob).hexdigest().upper()


def test_a_misspelt_column_is_an_error_in_sqlite(sqlite):
    """SQLite would take it as text in double quotes: one fold for all records."""
    sqlite.execute("CREATE TABLE t (id TEXT)")
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        sqlite.execute(f"SELECT {sql_fold('idd', 5, 'sqlite')} FROM t", BOUND)


def test_sqlite_with_utf_16_raises_an_error():
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA encoding = 'UTF-16'")
    with pytest.raises(ArgumentError, match="UTF-8, not UTF-16"):
        register_sqlite(connection)
    connection.close()


def test_sql_contains_no_key_and_names_what_it_needs():
    for dialect in ("duckdb", "sqlite", "postgresql"):
        sql = sql_fold("id", 5, dialect)
        assert sql.count("ipad") == sql.count("opad") == 1
        assert sql.isascii()
    with pytest.raises(ArgumentError, match="Did you mean 'postgresql'"):
        sql_fold("id", 5, "postgres")
    for column in ("", "a\0b", 5):
        with pytest.raises(ArgumentError, match="name of a column"):
            sql_fold(column, 5, "duckdb")
    for columns in ([], ["id", ""], {"id"}):
        with pytest.raises(ArgumentError, match="name of a column"):
            sql_fold(columns, 5, "duckdb")
    with pytest.raises(ArgumentError, match="1 thresholds do not make k=5 folds"):
        sql_fold("id", 5, "duckdb", [7])
    with pytest.raises(ArgumentError, match="rising"):
        sql_fold("id", 3, "duckdb", [7, 7])
    with pytest.raises(ArgumentTypeError, match="integers"):
        sql_fold("id", 3, "duckdb", ["7", "8); DROP TABLE t"])


@pytest.fixture(scope="module")
def postgres(postgres_server):
    """A private server with the identifiers in a table, and its folder."""
    folder, psql = postgres_server
    table = io.StringIO()
    csv.writer(table, quoting=csv.QUOTE_ALL).writerows(enumerate(IDENTIFIERS))
    lines = "n int, " + quoted(ODD_NAME) + " text"
    psql(f"CREATE TABLE t ({lines})")
    psql("COPY t FROM STDIN (FORMAT csv, ENCODING 'UTF8')", table.getvalue())
    return folder, psql


@pytest.mark.slow
def test_postgresql_makes_the_same_folds(postgres):
    _, psql = postgres
    for column, k, order in ((ODD_NAME, 5, "n"), (ODD_NAME, 97, "n"), ("n", 5, "n")):
        fold = sql_fold(column, k, "postgresql").replace("%%", "%")
        fold = fold.replace("%(ipad)s", "$1").replace("%(opad)s", "$2")
        bound = ", ".join(rf"'\x{pad.hex()}'" for pad in pads(KEY))
        told = psql(
            f"PREPARE q (bytea, bytea) AS SELECT {fold} FROM t ORDER BY {order};\n"
            f"EXECUTE q ({bound});\n"
        )
        whole = range(len(IDENTIFIERS))
        expected = keyed_fold(whole, k, KEY) if column == "n" else expected_folds(k)
        assert [int(line) for line in told.split()] == list(expected)
    assert psql("SELECT count(*) FROM t").strip() == str(len(IDENTIFIERS))


@pytest.mark.slow
def test_postgresql_makes_balanced_folds_and_joins_columns(postgres):
    _, psql = postgres
    whole = range(len(IDENTIFIERS))
    folds, thresholds = balanced_folds(whole, 60, KEY)
    both = pd.DataFrame({"n": whole, ODD_NAME: IDENTIFIERS})
    both = both[["\x1f" not in text.strip() for text in IDENTIFIERS]]
    bound = ", ".join(rf"'\x{pad.hex()}'" for pad in pads(KEY))
    for sql, at, expected in (
        (sql_fold("n", 60, "postgresql", thresholds), whole, folds),
        (
            sql_fold(["n", ODD_NAME], 97, "postgresql"),
            both.n,
            keyed_fold(both, 97, KEY),
        ),
    ):
        fold = sql.replace("%%", "%").replace("%(ipad)s", "$1")
        fold = fold.replace("%(opad)s", "$2")
        told = psql(
            f"PREPARE q (bytea, bytea) AS SELECT {fold} FROM t ORDER BY n;\n"
            f"EXECUTE q ({bound});\n"
        )
        found = [int(line) for line in told.split()]
        assert [found[i] for i in at] == expected.tolist()
    assert len(both) > 9000
    nothing = sql_fold("n", 3, "postgresql", [5, 6]).replace("%(ipad)s", "''")
    nothing = nothing.replace("%(opad)s", "''")
    assert psql(f"SELECT {nothing} IS NULL FROM (SELECT NULL::int AS n) AS s") == "t\n"


@pytest.mark.slow
def test_psycopg_accepts_the_expression_unchanged(postgres):
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    folder, _ = postgres
    query = f"SELECT {sql_fold(ODD_NAME, 5, 'postgresql')} FROM t ORDER BY n"
    with psycopg.connect(
        host=str(folder), dbname="postgres", user="postgres"
    ) as connection:
        folds = [fold for (fold,) in connection.execute(query, BOUND)]
    assert folds == expected_folds(5)
