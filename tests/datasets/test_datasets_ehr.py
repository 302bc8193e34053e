"""The simulator of hospital records against the equations it stands for."""

from __future__ import annotations

import math
from importlib import import_module, resources
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.datasets import ehr, simulate_ehr
from statcv.datasets.ehr import site_names
from statcv.errors import ArgumentError, ArgumentTypeError

make_ehr = import_module("statcv.data.make_ehr")
X = [f"x{i}" for i in range(1, 11)]


@st.composite
def sizes(draw: st.DrawFn) -> tuple[int, int, int]:
    n = draw(st.integers(1, 40))
    n_sites = draw(st.integers(1, 30))
    n_duplicates = draw(st.integers(0, n * (n_sites - 1)))
    return n, n_duplicates, n_sites


@given(sizes(), st.integers(0, 2**32))
def test_invariants(size: tuple[int, int, int], seed: int) -> None:
    n, n_duplicates, n_sites = size
    data = simulate_ehr(n, n_duplicates, n_sites, seed=seed)
    assert list(data) == [*X, "y", "site", "patient_id", "birth_date"]
    assert list(data.index) == list(range(n + n_duplicates))
    assert data["patient_id"].nunique() == n
    assert not data.duplicated(["patient_id", "site"]).any()
    assert len(data.drop(columns="site").drop_duplicates()) == n
    assert data["site"].nunique() <= n_sites
    assert data["birth_date"].between("1930-01-01", "2005-12-31").all()
    assert (data["birth_date"] == data["birth_date"].dt.normalize()).all()


def test_types() -> None:
    data = simulate_ehr(50, 20, 3, seed=0)
    assert data["y"].dtype == np.dtype("int64")
    assert data["birth_date"].dtype == np.dtype("datetime64[ns]")
    assert all(isinstance(value, str) for value in data["patient_id"])
    assert set(data["site"]) == {"A", "B", "C"}


def test_more_sites_than_letters() -> None:
    names = site_names(703)
    assert (names[0], names[25], names[26], names[702]) == ("A", "Z", "AA", "AAA")
    assert len(set(names)) == 703


def test_covariance_has_the_eigenvalues() -> None:
    n = 200_000
    data = simulate_ehr(n, 0, seed=3)
    covariance = np.cov(data[X[:9]], rowvar=False)
    found = np.linalg.eigvalsh(covariance)
    # an eigenvalue's standard error is λ √(2/n); neighbours repel a little more
    allowed = 5 * np.array(ehr.EIGENVALUES[:9]) * math.sqrt(2 / n)
    assert (np.abs(found - ehr.EIGENVALUES[:9]) < allowed).all()
    assert data["x10"].var() == pytest.approx(2.8, abs=5 * 2.8 * math.sqrt(2 / n))
    assert np.abs(data[X].mean()).max() < 5 * math.sqrt(2.8 / n)
    assert np.abs(data[X].corr()["x10"].drop("x10")).max() < 5 / math.sqrt(n)


def test_a_given_rotation_is_used() -> None:
    n = 100_000
    rotation = np.roll(np.eye(9), 1, axis=0)
    data = simulate_ehr(n, 0, rotation=rotation, seed=3)
    wanted = rotation @ np.diag(ehr.EIGENVALUES[:9]) @ rotation.T
    assert np.cov(data[X[:9]], rowvar=False) == pytest.approx(wanted, abs=0.06)


def test_outcomes_follow_the_log_odds() -> None:
    data = simulate_ehr(100_000, 0, seed=2)
    probability = 1 / (1 + np.exp(-ehr.log_odds(data[X])))
    residual = data["y"] - probability
    scale = np.sqrt((probability * (1 - probability)).sum())
    assert abs(residual.sum()) < 5 * scale
    for low in np.arange(0, 1, 0.1):
        inside = (probability >= low) & (probability < low + 0.1)
        spread = np.sqrt((probability * (1 - probability))[inside].sum())
        assert abs(residual[inside].sum()) < 5 * spread


def test_extreme_coefficients_do_not_overflow() -> None:
    data = simulate_ehr(500, 0, coefficients=[1e300, *[0] * 7], seed=2)
    assert (data["y"] == 1).all()


def test_share_of_positive_outcomes_over_rotations() -> None:
    shares = [simulate_ehr(seed=seed)["y"].mean() for seed in range(30)]
    assert np.mean(shares) == pytest.approx(0.450, abs=4 * 0.013 / math.sqrt(30))
    assert 0.006 < np.std(shares) < 0.022


def test_sites_hold_equal_shares() -> None:
    data = simulate_ehr(20_000, 10_000, 5, seed=4)
    expected, spread = 6_000, math.sqrt(30_000 * 0.2 * 0.8)
    assert (abs(data["site"].value_counts() - expected) < 5 * spread).all()


def test_row_order_and_identifiers_tell_nothing() -> None:
    data = simulate_ehr(4_000, 4_000, 5, seed=8)
    copy = data.duplicated("patient_id").to_numpy()
    number = data["patient_id"].str[1:].astype(int)
    row = np.arange(len(data))
    many = data["patient_id"].map(data["patient_id"].value_counts()).to_numpy()
    bound = 5 / math.sqrt(len(data))
    assert copy[: len(copy) // 4].any()
    assert abs(np.corrcoef(row, many)[0, 1]) < bound
    assert abs(np.corrcoef(row, number)[0, 1]) < bound
    assert abs(np.corrcoef(number, data["y"])[0, 1]) < 2 * bound


def test_seeds() -> None:
    first = simulate_ehr(100, 30, seed=1)
    pd.testing.assert_frame_equal(first, simulate_ehr(100, 30, seed=1))
    drawn = [simulate_ehr(100, 30, seed=np.random.default_rng(1)) for _ in range(2)]
    pd.testing.assert_frame_equal(*drawn)
    assert not first.equals(simulate_ehr(100, 30, seed=2))
    assert not simulate_ehr(100, 30).equals(simulate_ehr(100, 30))


def test_the_same_seed_gives_the_same_people_without_duplicates() -> None:
    def people(data: pd.DataFrame) -> pd.DataFrame:
        return data.sort_values("patient_id").reset_index(drop=True)

    with_copies = simulate_ehr(300, 100, seed=1)
    before = simulate_ehr(300, 0, seed=1)
    merged = people(with_copies).merge(before, how="inner")
    pd.testing.assert_frame_equal(merged, people(before))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n": 0}, "n must be 1 or more"),
        ({"n_sites": 0}, "n_sites must be 1 or more"),
        ({"n_duplicates": -1}, "n_duplicates must be 0 or more"),
        ({"n": 10, "n_duplicates": 41}, "n_duplicates is at most 40"),
        ({"n_sites": 1, "n_duplicates": 1}, "n_duplicates is at most 0"),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"eigenvalues": [1, 2]}, "eigenvalues are 10 finite numbers"),
        ({"eigenvalues": [-1] * 10}, "none may be negative"),
        ({"coefficients": [math.nan] * 8}, "coefficients are 8 finite numbers"),
        ({"rotation": np.ones((9, 9))}, "not orthogonal"),
        ({"rotation": np.eye(10)}, "9 by 9"),
    ],
)
def test_values_that_make_no_sense(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        simulate_ehr(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "arguments",
    [
        {"n": 10.0},
        {"n": True},
        {"n_sites": "5"},
        {"seed": "1"},
        {"seed": 1.0},
        {"seed": True},
        {"seed": [1, 2]},
        {"coefficients": "abc"},
        {"eigenvalues": {"x1": 1.0}},
    ],
)
def test_wrong_types(arguments: dict[str, object]) -> None:
    with pytest.raises(ArgumentTypeError):
        simulate_ehr(**arguments)  # type: ignore[arg-type]


def test_the_script_reproduces_the_shipped_file() -> None:
    file = resources.files("statcv.data").joinpath("ehr.csv")
    shipped = file.read_bytes().decode()
    made = make_ehr.ehr_csv()
    assert "\r" not in shipped
    assert len(shipped) < 250_000
    assert made.splitlines()[0] == shipped.splitlines()[0]
    pd.testing.assert_frame_equal(  # last digits may depend on the platform
        pd.read_csv(StringIO(made)), pd.read_csv(StringIO(shipped)), rtol=2e-5
    )


def test_the_script_writes_where_it_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "ehr.csv"
    monkeypatch.setattr("sys.argv", ["make_ehr.py", str(path)])
    make_ehr.main()
    assert path.read_bytes() == make_ehr.ehr_csv().encode()
