"""The outcome Surv(time, status): what is read as in R, and what is refused by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from statcv import fold_plan
from statcv.errors import (
    ArgumentError,
    DataError,
    FormulaError,
    MissingDataWarning,
    OutcomeError,
)
from statcv.formula import make_design, status_by

TIMES = np.array([5.0, 8.0, 2.5, 8.0, 11.0, 1.0])
EVENT = np.array([True, False, True, True, False, True])
SIGNED = np.where(EVENT, TIMES, -TIMES)
WORDS = np.where(EVENT, "dead", "alive")
STATUS = {
    "0 and 1": (EVENT.astype(int), "status"),
    "1 and 2": (EVENT + 1, "status"),
    "1 and 2 as floats": (EVENT + 1.0, "status"),
    "truth": (EVENT, "status"),
    "nullable": (pd.array(EVENT, dtype="boolean"), "status"),
    "arrow": (pd.array(EVENT + 1, dtype="int64[pyarrow]"), "status"),
    "text": (WORDS, "status == 'dead'"),
    "factor": (pd.Categorical(WORDS), "status == 'dead'"),
    "competing, censored on purpose": (np.where(EVENT, 1, [0, 2] * 3), "status == 1"),
}


def design(status="status", left="Surv(time, {})", frame=None, **keywords):
    data = pd.DataFrame({"x": np.arange(6.0), "time": TIMES, "status": EVENT})
    data = data if frame is None else data.assign(**frame)
    return make_design(f"{left.format(status)} ~ x", data, scope={}, **keywords)


@pytest.mark.parametrize("kind", STATUS)
def test_a_status_is_read_as_in_r(kind):
    values, written = STATUS[kind]
    outcome = design(written, frame={"status": values}).outcome
    assert outcome.kind == "survival"
    np.testing.assert_array_equal(outcome.y, SIGNED)


@pytest.mark.parametrize(
    "left",
    [
        "Surv(time, status)",
        "Surv(time=time, event=status)",
        "Surv(time, event=status, type='right')",
        "Surv(event = status, time = time / 1)",
        "Surv(`time`, `status`)",
    ],
)
def test_arguments_may_be_named(left):
    np.testing.assert_array_equal(design(left=left).outcome.y, SIGNED)


def test_without_a_status_every_record_has_the_event():
    np.testing.assert_array_equal(design(left="Surv(time)").outcome.y, TIMES)


@pytest.mark.parametrize("fields", [("event", "time"), ("time", "event")])
def test_a_structured_array_is_read(fields):
    rows = [
        (e, t) if fields[0] == "event" else (t, e)
        for e, t in zip(EVENT, TIMES, strict=True)
    ]
    kinds = {"event": bool, "time": float}
    y = np.array(rows, dtype=[(name, kinds[name]) for name in fields])
    frame = pd.DataFrame({"x": np.arange(6.0)}).assign(y=y)
    found = make_design("y ~ x", frame, scope={}, horizon=3).outcome
    np.testing.assert_array_equal(found.y, SIGNED)
    assert found.horizons == (3.0,)


def test_a_dot_stands_for_neither_time_nor_status():
    frame = pl.DataFrame({"x": np.arange(6.0), "time": TIMES, "status": EVENT})
    found = make_design("Surv(time, status) ~ .", frame, scope={})
    assert found.names == ("Intercept", "x")


def test_incomplete_rows_are_counted():
    times = np.where(np.arange(6) == 2, np.nan, TIMES)
    found = design(frame={"time": times})
    assert found.missing == {"time": 1}
    np.testing.assert_array_equal(found.y, np.delete(SIGNED, 2))


@pytest.mark.parametrize("blank_is", ["censored", "unknown"])
def test_a_status_that_is_only_written_for_events_is_asked_about(blank_is):
    status = np.where(EVENT, 1.0, np.nan if blank_is == "censored" else 0.0)
    status[np.flatnonzero(EVENT)[0]] = np.nan
    data = pd.DataFrame({"time": TIMES, "status": status})
    with pytest.warns(MissingDataWarning, match="missing status") as given:
        fold_plan("Surv(time, status)", data, scheme="kfold", k=2, seed=1)
    asked = "fill in the value" in str(given[0].message)
    assert asked == (blank_is == "censored")


REFUSED = {
    "left truncation": ("Surv(time, time, status)", {}, FormulaError, "left trunc"),
    "counting": ("Surv(time, status, type='counting')", {}, FormulaError, "left trunc"),
    "interval": ("Surv(time, status, type='interval')", {}, FormulaError, "interval c"),
    "left": ("Surv(time, status, type='left')", {}, FormulaError, "left censoring"),
    "competing codes": (
        "Surv(time, status)",
        {"status": [0, 1, 2, 1, 0, 1]},
        OutcomeError,
        "has 3 values .0, 1, 2.. Competing events.*status == 1",
    ),
    "text of three values": (
        "Surv(time, status)",
        {"status": list("abcabc")},
        OutcomeError,
        "3 values",
    ),
    "text": ("Surv(time, status)", {"status": WORDS}, OutcomeError, "== 'dead'"),
    "text in an order that says nothing": (
        "Surv(time, status)",
        {"status": list("NYNYNN")},
        OutcomeError,
        "status == 'N'. or Surv.time, status == 'Y'",
    ),
    "swapped": ("Surv(status, time)", {}, DataError, "swapped"),
    "swapped numbers": (
        "Surv(status, time)",
        {"status": EVENT.astype(int)},
        DataError,
        "swapped",
    ),
    "all censored": ("Surv(time, status)", {"status": [0] * 6}, OutcomeError, "no rec"),
    "zero": ("Surv(time - 1, status)", {}, DataError, "1 time in .* is not above 0"),
    "negative": (
        "Surv(time - 5, status)",
        {},
        DataError,
        "3 times .* such as 0 in row 0",
    ),
    "positional after named": ("Surv(time=time, status)", {}, FormulaError, "cannot"),
    "text time": ("Surv(status, time)", {"status": WORDS}, DataError, "not a number"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_named(what):
    left, frame, error, message = REFUSED[what]
    with pytest.raises(error, match=message):
        design(left=left, frame=frame)


def test_an_outcome_is_no_predictor():
    frame = pd.DataFrame({"x": TIMES, "time": TIMES, "status": EVENT})
    with pytest.raises(FormulaError, match="left of '~'"):
        make_design("x ~ Surv(time, status)", frame, scope={})


@pytest.mark.parametrize(
    ("horizon", "message"),
    [
        (0, "above 0"),
        (-3, "above 0"),
        ("3", "above 0"),
        (True, "above 0"),
        ([], "above 0"),
        (np.nan, "above 0"),
        (11, "longest follow-up"),
        ([3, 400], "horizon=400"),
        (0.5, "before the first event"),
    ],
)
def test_a_horizon_without_events_or_records_is_refused(horizon, message):
    with pytest.raises(ArgumentError, match=message):
        design(horizon=horizon)


def test_a_horizon_needs_times():
    frame = pd.DataFrame({"y": TIMES, "x": TIMES})
    with pytest.raises(ArgumentError, match="Surv"):
        make_design("y ~ x", frame, scope={}, horizon=3)


def test_horizons_are_in_rising_order():
    assert design(horizon=[6, 3, 6]).outcome.horizons == (3.0, 6.0)


def test_records_are_classed_by_what_is_known_at_the_horizons():
    codes, names = status_by(np.array([3.0, -4.0, 9.0, 5.0, -5.0, -30.0]), (5.0, 8.0))
    assert [names[code] for code in codes] == [
        "with the event by 5",
        "censored by 5",
        "at risk after 8",
        "with the event by 5",
        "censored by 5",
        "at risk after 8",
    ]


N = 60
RNG = np.random.default_rng(5)
MANY = pd.DataFrame(
    {
        "time": RNG.exponential(5, N).round(1) + 0.1,
        "status": RNG.random(N) < 0.7,
        "id": np.arange(N) // 2,
    }
)


def test_folds_spread_events_and_rebalancing_equals_their_numbers():
    plan = fold_plan("Surv(time, status)", MANY, horizon=4, seed=1)
    assert plan.scheme == "stratified_kfold"
    codes = plan.response.codes
    held = plan.counts(codes, plan.response.classes)[1]
    assert (np.ptp(held, axis=0) <= 1).all()
    rebalanced = fold_plan(
        "Surv(time, status)", MANY, horizon=[2, 4], scheme="rloocv", seed=1, repeats=2
    )
    codes = rebalanced.response.codes
    training = rebalanced.counts(codes, rebalanced.response.classes)[0]
    assert (training == training[0]).all()


def test_clusters_are_not_divided():
    plan = fold_plan("Surv(time, status)", MANY, horizon=4, stratify="id", seed=1)
    for split in range(plan.n_splits):
        train, test = plan.train(split), plan.tests.part(split, split + 1).values
        assert not set(MANY["id"][train]) & set(MANY["id"][test])


def test_folds_name_statuses_and_one_censored_record_is_none():
    time = np.arange(1.0, 31)
    data = pd.DataFrame({"time": time, "status": 1, "x": np.cos(time)})
    data.loc[3, "status"] = 0
    plan = fold_plan("Surv(time, status)", data, scheme="rloocv", horizon=10, seed=1)
    assert "a random record of the other status dropped" in plan.sentence
    assert "training sets of 8/20 each" in plan.sentence
    plan = fold_plan("Surv(time, status)", data, scheme="stratified_kfold", k=3, seed=1)
    assert plan.sentence.startswith("3 folds with each status spread evenly")
    data.loc[5, "status"] = 0
    plan = fold_plan("Surv(time, status)", data, scheme="rloocv", horizon=10, seed=1)
    assert "training sets of 19/7/1 each" in plan.sentence
