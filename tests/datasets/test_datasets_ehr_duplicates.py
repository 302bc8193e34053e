"""Who is duplicated, and where to, against the procedure that the paper describes."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.datasets import simulate_ehr
from statcv.datasets.ehr import Duplicated, held_alone, with_duplicates
from statcv.errors import ArgumentError, ArgumentTypeError

Copies = frozenset[tuple[int, int]]
X = [f"x{i}" for i in range(1, 11)]


def copies(person: np.ndarray, site: np.ndarray, n: int) -> Copies:
    return frozenset(zip(person[n:].tolist(), site[n:].tolist(), strict=True))


def test_duplicates_are_distributed_as_by_drawing_and_refusing() -> None:
    """Two people, three sites, two duplicates: six outcomes, equally likely."""
    home, times = np.array([0, 2]), 6_000
    found: Counter[Copies] = Counter()
    rng = np.random.default_rng(6)
    for _ in range(times):
        person, site = with_duplicates(home, 2, 3, rng)
        assert list(site[:2]) == list(home)
        found[copies(person, site, 2)] += 1
    pairs = {(0, 1), (0, 2), (1, 0), (1, 1)}
    assert {pair for some in found for pair in some} == pairs
    assert len(found) == 6
    spread = math.sqrt(times / 6)
    assert all(abs(count - times / 6) < 5 * spread for count in found.values())


def probabilities(home: list[int], weights: list[float], n_sites: int) -> dict:
    """Return the probability of each pair of duplicates, drawn one after the other."""
    pairs = [
        (person, site)
        for person, own in enumerate(home)
        for site in range(n_sites)
        if site != own
    ]
    total = sum(weights[person] for person, _ in pairs)
    answer: dict[Copies, float] = {}
    for first, second in permutations(pairs, 2):
        one, two = weights[first[0]], weights[second[0]]
        both = frozenset([first, second])
        if one and two:
            chance = one / total * two / (total - one)
            answer[both] = answer.get(both, 0) + chance
    return answer


@pytest.mark.parametrize(
    "weights", [[1.0, 1.0, 1.0], [1.0, 4.0, 0.5], [0.0, 1e-9, 3e-9]]
)
def test_weighted_duplicates_are_those_of_drawing_and_refusing(
    weights: list[float],
) -> None:
    home, times = [0, 2, 1], 8_000
    wanted = probabilities(home, weights, 3)
    rng = np.random.default_rng(6)
    found: Counter[Copies] = Counter()
    for _ in range(times):
        drawn = with_duplicates(np.array(home), 2, 3, rng, np.array(weights))
        found[copies(*drawn, 3)] += 1
    assert set(found) == set(wanted)
    for some, chance in wanted.items():
        spread = math.sqrt(times * chance * (1 - chance))
        assert abs(found[some] - times * chance) < 5 * spread


def test_records_held_alone_are_drawn_with_replacement() -> None:
    weights = np.array([1.0, 0.0, 3.0])
    person, holder = held_alone(3, 20_000, np.random.default_rng(1), weights)
    assert holder.tolist() == list(range(20_003))
    counts = np.bincount(person[3:], minlength=3)
    assert counts[1] == 0
    assert abs(counts[2] - 15_000) < 5 * math.sqrt(20_000 * 0.75 * 0.25)
    person, _ = held_alone(3, 20_000, np.random.default_rng(1))
    assert (abs(np.bincount(person) - 20_003 / 3) < 5 * math.sqrt(2e4 * 2 / 9)).all()


@given(
    n=st.integers(2, 40),
    n_sites=st.integers(1, 6) | st.none(),
    share=st.floats(0, 1),
    seed=st.integers(0, 2**32),
)
def test_only_the_weighted_are_duplicated(
    n: int, n_sites: int | None, share: float, seed: int
) -> None:
    able = int(simulate_ehr(n, 0, n_sites, seed=seed)["y"].sum())
    room = able * (n if n_sites is None else n_sites - 1)
    data = simulate_ehr(n, int(share * room), n_sites, duplicated="y", seed=seed)
    assert not data.duplicated(["patient_id", "site"]).any()
    assert data["patient_id"].nunique() == n
    copied = data[data.duplicated("patient_id")]
    assert len(copied) == int(share * room)
    assert (copied["y"] == 1).all()


def test_people_are_the_same_whoever_is_duplicated() -> None:
    def people(data: pd.DataFrame) -> pd.DataFrame:
        once = data.drop(columns="site").drop_duplicates()
        return once.sort_values("patient_id").reset_index(drop=True)

    plain = simulate_ehr(300, 100, seed=1)
    home = simulate_ehr(300, 0, seed=1)
    for how in ("y", "x5 > 0", lambda frame: 1 + frame["x5"] ** 2):
        data = simulate_ehr(300, 100, duplicated=how, seed=1)
        pd.testing.assert_frame_equal(people(data), people(plain))
        merged = data.merge(home, how="inner")
        assert len(merged) == 300


def test_the_ways_to_say_weights_agree() -> None:
    ways: list[Duplicated] = [
        "1 + 3 * (x5 > 1)",
        lambda people: 1 + 3 * (people["x5"] > 1),
        lambda people: (1 + 3 * (people["x5"] > 1)).to_numpy() * 5e-300,
    ]
    first, *others = (simulate_ehr(500, 300, duplicated=w, seed=2) for w in ways)
    for other in others:
        pd.testing.assert_frame_equal(first, other)
    more = simulate_ehr(500, 300, seed=2)
    assert (first["x5"] > 1).mean() > (more["x5"] > 1).mean() + 0.05


def test_a_function_cannot_change_people() -> None:
    def spoil(people: pd.DataFrame) -> pd.Series:
        people["x1"] = 0.0
        return people["y"]

    spoilt = simulate_ehr(100, 30, duplicated=spoil, seed=1)
    pd.testing.assert_frame_equal(spoilt, simulate_ehr(100, 30, duplicated="y", seed=1))


@pytest.mark.parametrize(
    ("duplicated", "words"),
    [
        ("x5", "of 50 people a weight that is negative, missing or infinite"),
        ("x11", "cannot be worked out from the columns x1 to x10 and y: name 'x11'"),
        ("x1 +", "cannot be worked out"),
        ("@n", "cannot be worked out"),
        ("z = y", r"values of shape \(50, 12\)"),
        ("1", r"values of shape \(\), not a weight for each of 50 people"),
        (lambda people: people["y"][::-1], "labels are not those of the people"),
        (lambda people: people["y"] * math.nan, "50 of 50 people"),
        (lambda people: ["a"] * 50, "gives no numbers"),
        (lambda people: people["y"] * 0, "n_duplicates is at most 0, not 5"),
        ("y == 7", "0 of 50 people a weight above 0"),
    ],
)
@pytest.mark.parametrize("n_sites", [5, None])
def test_weights_that_are_none(
    duplicated: Duplicated, words: str, n_sites: int | None
) -> None:
    with pytest.raises(ArgumentError, match=words):
        simulate_ehr(50, 5, n_sites, duplicated=duplicated, seed=1)


def test_weights_of_a_wrong_type() -> None:
    with pytest.raises(ArgumentTypeError, match="not list"):
        simulate_ehr(50, 5, duplicated=[1] * 50)  # type: ignore[arg-type]


def test_weights_of_nobody_are_no_trouble_without_duplicates() -> None:
    for n_sites in (5, None):
        data = simulate_ehr(50, 0, n_sites, duplicated="0 * y", seed=1)
        assert len(data) == 50
