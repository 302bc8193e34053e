"""How the study partitions records, against counts by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.errors import ArgumentError, ArgumentTypeError
from statcv.results import CVResult
from studies.bey2020 import STRATEGIES, Scale, matched_population
from studies.bey2020.learning import learning_of
from studies.bey2020.samples import Sample
from studies.bey2020.strategies import (
    accuracy,
    cross_validate,
    random_folds,
    share_split,
)

SMALL = Scale(n=400, n_duplicates=120, rounds=4)
X = [f"x{number}" for number in range(1, 11)]


@pytest.fixture(scope="module")
def sample() -> Sample:
    return Sample.draw(SMALL, matched_population(), seed=3, number=0)


def folds_of(result: CVResult) -> pd.Series:
    return result.predictions.set_index("row")["fold"].sort_index()


@given(
    sites=st.lists(st.sampled_from("ABC"), min_size=6, max_size=60),
    k=st.integers(2, 6),
    seed=st.integers(0, 2**32),
)
def test_random_folds_are_even_in_each_hospital(
    sites: list[str], k: int, seed: int
) -> None:
    where = pd.Series(sites)
    folds = random_folds(where, k, np.random.default_rng(seed))
    for own in [folds, *(folds[where == site] for site in "ABC")]:
        counts = np.bincount(own, minlength=k + 1)[1:]
        assert counts.sum() == len(own)
        assert np.ptp(counts) <= 1


def test_random_folds_pair_records_as_often_as_chance() -> None:
    where = pd.Series(["A"] * 10)
    rng = np.random.default_rng(5)
    drawn = np.array([random_folds(where, 5, rng) for _ in range(4000)])
    together = (drawn[:, 0] == drawn[:, 1]).mean()  # one of the nine others
    assert together == pytest.approx(1 / 9, abs=4 * np.sqrt(1 / 9 * 8 / 9 / 4000))


def test_the_people_are_those_of_the_records(sample: Sample) -> None:
    assert (len(sample.people), len(sample.records)) == (400, 520)
    once = sample.records.drop_duplicates("patient_id").set_index("patient_id")
    people = sample.people.set_index("patient_id").loc[once.index]
    pd.testing.assert_frame_equal(once[[*X, "y"]], people[[*X, "y"]])


def test_only_random_folds_split_duplicates(sample: Sample) -> None:
    for strategy in STRATEGIES:
        result = cross_validate(strategy, sample, SMALL)
        data = sample.people if strategy == "unbiased" else sample.records
        share = share_split(result, data["patient_id"])
        assert (share > 0) == (strategy == "random")


def test_the_share_of_records_with_a_duplicate_in_training(sample: Sample) -> None:
    result = cross_validate("random", sample, SMALL)
    fold, person = folds_of(result), sample.records["patient_id"]
    count = 0
    for row in sample.records.index:
        others = person.index[(person == person[row]) & (person.index != row)]
        count += any(fold[other] != fold[row] for other in others)
    assert share_split(result, person) == count / len(person)


def test_folds_along_a_covariate_follow_each_other(sample: Sample) -> None:
    fold = folds_of(cross_validate("x5", sample, SMALL))
    spans = sample.records["x5"].groupby(fold).agg(["min", "max"]).sort_values("min")
    assert (spans["max"].to_numpy()[:-1] < spans["min"].to_numpy()[1:]).all()
    narrow = folds_of(cross_validate("x5 ×4", sample, SMALL))
    ordered = narrow[sample.records.sort_values("x5").index].to_numpy()
    runs = 1 + np.count_nonzero(np.diff(ordered))
    assert 5 < runs <= 20  # neighbouring bins may be allocated to one fold


def test_the_accuracy_is_the_mean_over_folds(sample: Sample) -> None:
    result = cross_validate("hash", sample, SMALL, curves=True)
    table = result.predictions
    right = (table["predicted"] > 0.5) == (table["observed"] == 1)
    by_hand = right.groupby(table["fold"]).mean().mean()
    assert accuracy(result) == pytest.approx(by_hand, abs=1e-12)
    last = learning_of(result).iloc[-1]
    assert last["round"] == SMALL.rounds
    assert last["held_out"] == pytest.approx(by_hand, abs=1e-6)


@pytest.mark.parametrize("strategy", ["x11", "x5 x20", "hashed", "x5 ×0"])
def test_strategies_that_there_are_not(sample: Sample, strategy: str) -> None:
    with pytest.raises(ArgumentError):
        cross_validate(strategy, sample, SMALL)


def test_scales_that_cannot_be() -> None:
    with pytest.raises(ArgumentError, match="k must be 2 or more"):
        Scale(k=1)
    with pytest.raises(ArgumentError, match="n must be 50 or more"):
        Scale(n=40)
    with pytest.raises(ArgumentError, match="n_duplicates must be at most 0"):
        Scale(n_sites=1)
    with pytest.raises(ArgumentTypeError, match="rounds"):
        Scale(rounds=2.5)  # type: ignore[arg-type]
