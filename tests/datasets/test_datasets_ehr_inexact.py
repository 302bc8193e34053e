"""Copies that differ: how much, how often, and in what way."""

from __future__ import annotations

import math
from collections import Counter
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.datasets import Inexact, ehr_population, simulate_ehr
from statcv.datasets.ehr import mistyped, mistyped_date
from statcv.errors import ArgumentError, ArgumentTypeError

X = [f"x{i}" for i in range(1, 11)]
FIRST, LAST = date(1930, 1, 1), date(2005, 12, 31)
amounts = st.builds(Inexact, st.floats(0, 5), st.floats(0, 1), st.floats(0, 1))


def copies_of(truth: pd.DataFrame, seed: int) -> np.ndarray:
    """Return which records are duplicates: not in the person's own hospital."""
    people = truth["patient_id"].nunique()
    home = simulate_ehr(people, 0, truth["site"].nunique(), seed=seed)
    keys = home["patient_id"] + home["site"]
    return ~(truth["patient_id"] + truth["site"]).isin(keys).to_numpy()


def kinds(wrong: str, right: str) -> set[str]:
    """Return the single errors that make one text of another."""
    answer = set()
    differ = [
        i for i, pair in enumerate(zip(wrong, right, strict=True)) if len({*pair}) > 1
    ]
    if len(differ) == 1:
        answer.add("digit")
    if len(differ) == 2 and differ[1] == differ[0] + 1:
        i, j = differ
        if (wrong[i], wrong[j]) == (right[j], right[i]):
            answer.add("swap")
    parts = right.split("-")
    if len(parts) == 3 and wrong == "-".join([parts[0], parts[2], parts[1]]):
        answer.add("day and month")
    return answer


@given(amounts, st.integers(0, 2**32))
def test_originals_are_as_they_were(inexact: Inexact, seed: int) -> None:
    truth = simulate_ehr(60, 40, 3, seed=seed)
    data = simulate_ehr(60, 40, 3, inexact=inexact, seed=seed)
    assert list(data) == [*truth, "person"]
    assert (data.dtypes[list(truth)] == truth.dtypes).all()
    pd.testing.assert_series_equal(data["person"], truth["patient_id"].rename("person"))
    kept = ["site", "y"]
    pd.testing.assert_frame_equal(data[kept], truth[kept])
    original = ~copies_of(truth, seed)
    assert original.sum() == 60
    pd.testing.assert_frame_equal(data.loc[original, list(truth)], truth[original])
    assert not data.duplicated(["person", "site"]).any()
    births = data["birth_date"]
    assert births.between("1930-01-01", "2005-12-31").all()
    assert (births == births.dt.normalize()).all()
    wrong_date = births != truth["birth_date"]
    wrong_number = data["patient_id"] != truth["patient_id"]
    assert (wrong_date == wrong_number).all()
    assert data["patient_id"].str.fullmatch(r"P\d{6}").all()


def test_nothing_asked_is_nothing_done() -> None:
    data = simulate_ehr(200, 100, inexact=Inexact(), seed=1)
    plain = simulate_ehr(200, 100, seed=1)
    pd.testing.assert_frame_equal(data.drop(columns="person"), plain)


def test_amounts_are_what_was_asked_for() -> None:
    inexact = Inexact(noise=0.3, missing=0.2, typos=0.4)
    truth = simulate_ehr(4_000, 4_000, seed=3)
    data = simulate_ehr(4_000, 4_000, inexact=inexact, seed=3)
    copy = copies_of(truth, 3)
    sd = ehr_population(seed=3).sd
    off = (data.loc[copy, X] - truth.loc[copy, X]) / sd
    lost = off.isna().to_numpy()
    assert abs(lost.mean() - 0.2) < 5 * math.sqrt(0.16 / lost.size)
    assert (abs(lost.mean(axis=0) - 0.2) < 5 * math.sqrt(0.16 / 4000)).all()
    assert np.nanvar(off, axis=0) == pytest.approx(0.09, rel=5 * math.sqrt(2 / 3200))
    assert (abs(np.nanmean(off, axis=0)) < 5 * 0.3 / math.sqrt(3200)).all()
    wrong = (data["patient_id"] != data["person"])[copy]
    assert abs(wrong.mean() - 0.4) < 5 * math.sqrt(0.24 / 4000)
    # errors are made independently of each other
    assert abs(np.corrcoef(lost.any(axis=1), wrong)[0, 1]) < 5 / math.sqrt(4000)


def test_all_or_nothing() -> None:
    truth = simulate_ehr(200, 100, seed=1)
    copy = copies_of(truth, 1)
    data = simulate_ehr(200, 100, inexact=Inexact(0, 1, 1), seed=1)
    assert (data[X].isna().all(axis=1) == copy).all()
    assert ((data["birth_date"] != truth["birth_date"]) == copy).all()


def test_a_larger_amount_spoils_what_a_smaller_one_does() -> None:
    few = simulate_ehr(500, 300, inexact=Inexact(0.1, 0.1, 0.1), seed=1)
    many = simulate_ehr(500, 300, inexact=Inexact(0.2, 0.3, 0.5), seed=1)
    assert many[X].isna()[few[X].isna()].sum().sum() == few[X].isna().sum().sum()
    wrong = few["patient_id"] != few["person"]
    assert (many["patient_id"] != many["person"])[wrong].all()
    truth = simulate_ehr(500, 300, seed=1)
    once, twice = few[X] - truth[X], many[X] - truth[X]
    both = once.notna() & twice.notna()
    assert twice[both].fillna(0).to_numpy() == pytest.approx(
        2 * once[both].fillna(0).to_numpy(), abs=1e-12
    )


def test_every_day_can_be_mistyped() -> None:
    rng = np.random.default_rng(1)
    found: Counter[str] = Counter()
    for number in range((LAST - FIRST).days + 1):
        day = FIRST + timedelta(number)
        other = mistyped_date(day, rng, FIRST, LAST)
        assert FIRST <= other <= LAST
        made_by = kinds(other.isoformat(), day.isoformat())
        assert made_by
        found.update(made_by)
    assert set(found) == {"swap", "digit", "day and month"}
    assert min(found.values()) > 2_000


def test_a_date_that_cannot_be_swapped_has_a_wrong_digit() -> None:
    day, rng = date(1999, 11, 11), np.random.default_rng(1)
    others = {mistyped_date(day, rng, FIRST, LAST) for _ in range(400)}
    text = day.isoformat()
    wanted = set()
    for place in (0, 1, 2, 3, 5, 6, 8, 9):
        for digit in "0123456789":
            try:
                other = date.fromisoformat(text[:place] + digit + text[place + 1 :])
            except ValueError:
                continue
            if FIRST <= other <= LAST and other != day:
                wanted.add(other)
    assert others == wanted


@given(st.integers(0, 10**9), st.integers(0, 2**32))
def test_a_number_holds_one_error(number: int, seed: int) -> None:
    text = f"P{number:06d}"
    wrong = mistyped(text, np.random.default_rng(seed))
    assert kinds(wrong, text)
    assert wrong[0] == "P"
    assert wrong[1:].isdigit()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"noise": -0.1}, "noise is 0 or more, and finite, not -0.1"),
        ({"noise": math.inf}, "noise is 0 or more"),
        ({"noise": math.nan}, "noise is 0 or more"),
        ({"missing": 1.1}, "missing is from 0 to 1, not 1.1"),
        ({"typos": -1}, "typos is from 0 to 1"),
    ],
)
def test_amounts_that_make_no_sense(arguments: dict[str, float], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Inexact(**arguments)


def test_wrong_types() -> None:
    with pytest.raises(ArgumentTypeError, match="typos is a number, not str"):
        Inexact(typos="many")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="missing is a number, not bool"):
        Inexact(missing=True)
    with pytest.raises(ArgumentTypeError, match=r"inexact is an Inexact\(...\)"):
        simulate_ehr(10, 0, inexact={"typos": 1})  # type: ignore[arg-type]
