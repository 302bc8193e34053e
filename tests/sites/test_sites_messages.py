"""Messages: what is written is read, and nothing else is."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from statcv.errors import MessageError
from statcv.sites.messages import MAGIC, MAX_MESSAGE_BYTES, Message, canonical, counts

FLOATS = arrays(
    np.float64,
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
    elements=st.floats(allow_nan=False, allow_infinity=False),
)


@pytest.mark.hypothesis
@given(FLOATS, st.dictionaries(st.text(max_size=5), st.integers(), max_size=3))
def test_what_is_written_is_read(array, header):
    got = Message.of(bytes(Message("fit", header, {"a": array})))
    assert (got.kind, got.header) == ("fit", header)
    assert np.array_equal(got.array("a", array.shape), array)


@pytest.mark.hypothesis
@given(st.binary(max_size=60), st.integers(0, 200))
def test_damaged_messages_raise_one_error(noise, place):
    whole = bytes(Message("fit", {"round": 1}, {"a": np.arange(3.0), "b": counts([7])}))
    for damaged in (whole[:place], noise, whole + noise + b"x", MAGIC + noise):
        if damaged != whole:
            with pytest.raises(MessageError):
                Message.of(damaged)


def header(**change):
    text = {"kind": "fit", "header": {}, "arrays": [], **change}
    made = canonical(text) if change.get("arrays") != "NaN" else b'{"kind": NaN}'
    return MAGIC + len(made).to_bytes(4, "big") + made


@pytest.mark.parametrize(
    "change",
    [
        {"arrays": [["a", "|O", [1]]]},  # objects, which pickle would read
        {"arrays": [["a", "<f8", [-1]]]},
        {"arrays": [["a", "<f8", [1, 1, 1, 1]]]},
        {"arrays": [["a", "<f8", [MAX_MESSAGE_BYTES + 1]]]},
        {"arrays": [["a", "<f8", [0]], ["a", "<f8", [0]]]},
        {"arrays": "NaN"},
        {"kind": 3},
        {"header": []},
    ],
)
def test_odd_headers_are_refused(change):
    with pytest.raises(MessageError, match="header"):
        Message.of(header(**change))


def test_long_messages_are_refused():
    with pytest.raises(MessageError, match="longer than the limit"):
        bytes(Message("fit", {}, {"a": np.zeros(MAX_MESSAGE_BYTES // 8 + 1)}))
    with pytest.raises(MessageError, match="longer than the limit"):
        Message.of(bytes(MAX_MESSAGE_BYTES + 1))


def test_another_version_is_told():
    later = bytes(Message("fit")).replace(b"sites 1", b"sites 2")
    with pytest.raises(MessageError, match="all sites need the same version"):
        Message.of(later)


def test_numbers_that_are_not_finite_are_refused():
    message = Message.of(bytes(Message("fit", {}, {"a": np.array([np.inf])})))
    with pytest.raises(MessageError, match="not finite"):
        message.array("a", (1,))
    with pytest.raises(MessageError, match="expected shape"):
        message.array("a", (2,))
    with pytest.raises(MessageError, match="missing"):
        message.array("b", (1,))


def test_a_message_is_text_and_numbers():
    message = bytes(Message("fit", {"a": "é"}, {"x": np.array([1.5])}))
    length = int.from_bytes(message[len(MAGIC) : len(MAGIC) + 4], "big")
    text = message[len(MAGIC) + 4 :][:length]
    assert json.loads(text)["header"] == {"a": "é"}
    assert message.endswith(np.array([1.5], "<f8").tobytes())
