"""What each hospital does to its records, and the hashes it makes."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.datasets import Inexact, Pseudonyms, ehr_population, simulate_ehr
from statcv.errors import ArgumentError, ArgumentTypeError
from statcv.folds.strata import keyed_digest

X = [f"x{i}" for i in range(1, 11)]
HASHES = ["id_hash", "dob_hash"]
ways = st.builds(
    Pseudonyms,
    st.integers(0, 400),
    st.none() | st.floats(0.01, 2),
    st.floats(0, 2),
    st.booleans(),
    st.floats(0, 2),
)


def by_site(data: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
    """Return the range of values within each hospital."""
    groups = values.groupby(data["site"])
    return groups.max() - groups.min()


@given(ways, st.sampled_from([1, 3, None]), st.integers(0, 2**32))
def test_invariants(pseudonyms: Pseudonyms, n_sites: int | None, seed: int) -> None:
    copies = 0 if n_sites == 1 else 40
    truth = simulate_ehr(60, copies, n_sites, seed=seed)
    data = simulate_ehr(
        60, copies, n_sites, pseudonyms=pseudonyms, key="secret", seed=seed
    )
    assert list(data) == [*truth, "person", *HASHES]
    assert (data.dtypes[list(truth)] == truth.dtypes).all()
    kept = ["y", "site", "patient_id"]
    pd.testing.assert_frame_equal(data[kept], truth[kept])
    assert (data["person"] == truth["patient_id"]).all()
    days = (data["birth_date"] - truth["birth_date"]) / pd.Timedelta(days=1)
    assert (by_site(data, days) == 0).all(axis=None)
    assert days.abs().max() <= pseudonyms.date_shift
    assert (days == days.round()).all()
    assert data[X].notna().all(axis=None)
    again = simulate_ehr(
        60, copies, n_sites, pseudonyms=pseudonyms, key="secret", seed=seed
    )
    pd.testing.assert_frame_equal(data, again)


def test_nothing_asked_is_nothing_done() -> None:
    data = simulate_ehr(200, 100, pseudonyms=Pseudonyms(), seed=1)
    plain = simulate_ehr(200, 100, seed=1)
    pd.testing.assert_frame_equal(data.drop(columns="person"), plain)


def test_date_shifts_are_uniform_over_whole_days() -> None:
    shifted = Pseudonyms(date_shift=2)
    data = simulate_ehr(20_000, 0, 5_000, pseudonyms=shifted, seed=1)
    truth = simulate_ehr(20_000, 0, 5_000, seed=1)
    days = (data["birth_date"] - truth["birth_date"]).dt.days
    counts = days.groupby(data["site"]).first().value_counts()
    assert set(counts.index) == {-2, -1, 0, 1, 2}
    mean = counts.sum() / 5
    assert (abs(counts - mean) < 5 * math.sqrt(mean * 0.8)).all()


def test_shifts_are_constant_within_a_site_and_uniform_over_sites() -> None:
    shifted = Pseudonyms(shift=0.5)
    data = simulate_ehr(6_000, 0, 1_000, pseudonyms=shifted, seed=1)
    moved = (data[X] - simulate_ehr(6_000, 0, 1_000, seed=1)[X]) / ehr_population(
        seed=1
    ).sd
    assert (by_site(data, moved) < 1e-9).all(axis=None)
    each = moved.groupby(data["site"]).first().to_numpy()
    assert np.abs(each).max() <= 0.5 + 1e-9
    n = each.size
    assert abs(each.mean()) < 5 * 0.5 / math.sqrt(3 * n)
    assert each.var() == pytest.approx(0.25 / 3, rel=5 * math.sqrt(0.8 / n))
    correlation = np.corrcoef(each, rowvar=False) - np.eye(10)
    assert np.abs(correlation).max() < 5 / math.sqrt(len(each))


def test_grids_are_a_sites_own() -> None:
    data = simulate_ehr(2_000, 500, 4, pseudonyms=Pseudonyms(quantise=0.2), seed=1)
    truth = simulate_ehr(2_000, 500, 4, seed=1)
    width = 0.2 * ehr_population(seed=1).sd
    assert (np.abs(data[X] - truth[X]) <= width / 2 + 1e-12).all(axis=None)
    starts = []
    for _, held in data.groupby("site"):
        steps = (held[X] - held[X].iloc[0]) / width
        assert np.abs(steps - steps.round()).max().max() < 1e-9
        assert (held[X].nunique() < 60).all()  # equal values stay equal
        starts.append((held[X].iloc[0] / width) % 1)
    apart = np.ptp(np.array(starts), axis=0)
    assert (apart > 1e-6).all()
    held_twice = data[data["person"].duplicated(keep=False)]
    assert held_twice.groupby("person")["x1"].nunique().min() > 1


def test_noise_is_of_every_record() -> None:
    data = simulate_ehr(4_000, 0, pseudonyms=Pseudonyms(noise=0.3), seed=1)
    off = (data[X] - simulate_ehr(4_000, 0, seed=1)[X]) / ehr_population(seed=1).sd
    assert (off != 0).all(axis=None)
    assert off.var().to_numpy() == pytest.approx(0.09, rel=5 * math.sqrt(2 / 4000))
    assert (off.mean().abs() < 5 * 0.3 / math.sqrt(4000)).all()


def test_one_change_does_not_depend_on_the_others() -> None:
    shifted, noisy = Pseudonyms(date_shift=9), Pseudonyms(date_shift=9, noise=1)
    first, second = (
        simulate_ehr(100, 50, pseudonyms=one, seed=1) for one in (shifted, noisy)
    )
    assert (first["birth_date"] == second["birth_date"]).all()


def test_a_constant_covariate_stays_one() -> None:
    still = simulate_ehr(
        50,
        20,
        eigenvalues=[0.0] * 10,
        pseudonyms=Pseudonyms(quantise=0.5, noise=1, shift=1),
        inexact=Inexact(noise=1),
        seed=1,
    )
    assert (still[X] == 0).all(axis=None)


def test_hashes_are_keyed_digests_of_what_is_held() -> None:
    data = simulate_ehr(
        300,
        200,
        inexact=Inexact(typos=0.5),
        pseudonyms=Pseudonyms(date_shift=100),
        key=b"secret",
        seed=1,
    )
    for name, column in zip(HASHES, ["patient_id", "birth_date"], strict=True):
        digests = keyed_digest(data[column], b"secret")
        assert data[name].tolist() == [f"{digest:014x}" for digest in digests]
    other = simulate_ehr(300, 200, key="another", seed=1)
    assert not set(other["id_hash"]) & set(data["id_hash"])


def test_hashes_leave_the_records_alone() -> None:
    plain, hashed = simulate_ehr(99, 9, seed=1), simulate_ehr(99, 9, key="k", seed=1)
    pd.testing.assert_frame_equal(hashed[list(plain)], plain)
    assert list(hashed) == [*plain, *HASHES]
    assert hashed.groupby("patient_id")[HASHES].nunique().max().max() == 1


def test_salted_hashes_differ_between_sites_and_not_within() -> None:
    salted = Pseudonyms(salt=True)
    data = simulate_ehr(20_000, 6_000, pseudonyms=salted, key="secret", seed=1)
    within = data.groupby(["site", "birth_date"])["dob_hash"]
    assert within.size().max() > 1
    assert (within.nunique() == 1).all()
    for column, name in (("birth_date", "dob_hash"), ("patient_id", "id_hash")):
        sites = data.groupby(column)["site"].nunique()
        assert (data.groupby(column)[name].nunique() == sites).all()
        assert sites.max() > 1
        per_site = data.groupby("site")
        assert (per_site[name].nunique() == per_site[column].nunique()).all()
    again = simulate_ehr(200, 60, pseudonyms=salted, key="secret", seed=2)
    assert not set(again["id_hash"]) & set(data["id_hash"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"date_shift": -1}, "date_shift must be 0 or more"),
        ({"date_shift": 40_000}, "date_shift must be at most 36,525"),
        ({"quantise": 0}, "quantise is above 0"),
        ({"quantise": -1}, "quantise is 0 or more"),
        ({"noise": -1}, "noise is 0 or more"),
        ({"shift": math.nan}, "shift is 0 or more"),
    ],
)
def test_values_that_make_no_sense(arguments: dict[str, float], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Pseudonyms(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments",
    [{"date_shift": 1.5}, {"salt": 1}, {"noise": "a"}, {"quantise": "fine"}],
)
def test_wrong_types(arguments: dict[str, object]) -> None:
    with pytest.raises(ArgumentTypeError, match=next(iter(arguments))):
        Pseudonyms(**arguments)  # type: ignore[arg-type]


def test_keys_and_salts_that_make_no_sense() -> None:
    with pytest.raises(ArgumentError, match="give key= as well"):
        simulate_ehr(10, 0, pseudonyms=Pseudonyms(salt=True))
    with pytest.raises(ArgumentError, match="key is empty"):
        simulate_ehr(10, 0, key="")
    with pytest.raises(ArgumentTypeError, match="key must be bytes or text"):
        simulate_ehr(10, 0, key=7)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"pseudonyms is a Pseudonyms\(...\)"):
        simulate_ehr(10, 0, pseudonyms=True)  # type: ignore[arg-type]
