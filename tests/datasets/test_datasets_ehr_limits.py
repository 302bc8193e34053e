"""What each limit of fold-stratified cross-validation breaks, as the audit sees it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from statcv import by_hash, by_quantile, by_value, fold_plan
from statcv.datasets import Inexact, Pseudonyms, simulate_ehr
from statcv.errors import DataError
from statcv.folds import FoldPlan
from statcv.folds.audit import repeats_across_sites, repeats_within_site

X = [f"x{i}" for i in range(1, 11)]
N, COPIES, K = 2_000, 600, 5
BY_ID, BY_BIRTH = by_hash("patient_id", key="k"), by_hash("birth_date", key="k")


def records(**arguments: Any) -> pd.DataFrame:
    data = simulate_ehr(N, COPIES, seed=11, **arguments)
    return data if "person" in data else data.assign(person=data["patient_id"])


def plan_of(data: pd.DataFrame, stratify: Any = None) -> FoldPlan:
    return fold_plan("y", data, scheme="kfold", k=K, stratify=stratify, seed=1)


def split(data: pd.DataFrame, stratify: Any = None) -> int:
    """Return how many records have a copy in training, as the audit counts them."""
    plan = plan_of(data, stratify)
    audit = plan.audit(data=data, duplicates="person")
    said = int(audit["duplicates"].value)
    fold = plan.held_out[0]
    count = 0
    for rows in data.groupby("person").indices.values():
        count += sum((fold[rows] != fold[row]).any() for row in rows)
    assert said == count
    return said


def expected(data: pd.DataFrame, broken: pd.Series) -> tuple[float, float]:
    """Return mean and a bound of the sd of the count, where broken keys are random.

    A record of another key than some other of its person shares no fold with that one
    in (k - 1) / k of cases; people of two records tell it exactly.
    """
    pairs = data.groupby("person").filter(lambda held: len(held) == 2)
    apart = broken[pairs.index].groupby(pairs["person"]).any()
    chance = (K - 1) / K
    spread = 2 * math.sqrt(apart.sum() * chance * (1 - chance))
    return 2 * apart.sum() * chance, spread


def in_pairs(data: pd.DataFrame) -> pd.DataFrame:
    pairs = data.groupby("person").filter(lambda held: len(held) == 2)
    return pairs.reset_index(drop=True)


def test_without_limits_every_shared_value_keeps_duplicates_together() -> None:
    data = records(key="secret")
    for stratify in (
        BY_ID,
        BY_BIRTH,
        by_quantile("x5"),
        by_quantile("x3", per_fold=20),
    ):
        assert split(data, stratify) == 0
    for name in ("id_hash", "dob_hash"):
        assert split(data, by_hash(name, key="k")) == 0
        assert split(data, by_value(name)) == 0
    assert split(data) > 0.7 * 2 * COPIES * (K - 1) / K


@pytest.mark.parametrize("typos", [0.05, 0.2, 0.5, 1.0])
def test_typing_errors_part_the_share_that_has_them(typos: float) -> None:
    data = in_pairs(records(inexact=Inexact(typos=typos)))
    for stratify in (BY_ID, BY_BIRTH):
        mean, spread = expected(data, data["patient_id"] != data["person"])
        assert abs(split(data, stratify) - mean) < 5 * spread
        assert split(data, stratify) > 0
    assert split(data, by_quantile("x5")) == 0  # another shared covariate still serves


def test_noise_parts_more_where_bins_are_narrow() -> None:
    data = records(inexact=Inexact(noise=0.05))
    assert split(data, BY_ID) == 0
    counts = [split(data, by_quantile("x1", per_fold=m)) for m in (1, 4, 20)]
    assert 0 < counts[0] < counts[1] < counts[2]
    assert split(data, by_value("x1")) > 0.7 * 2 * COPIES * (K - 1) / K


def test_missing_values_leave_no_covariate_to_stratify_by() -> None:
    data = records(inexact=Inexact(missing=0.1))
    with pytest.raises(DataError, match="missing"):
        plan_of(data, by_quantile("x1"))
    share = len(repeats_across_sites(data, "site", X)) / len(
        repeats_across_sites(data, "site", "person")
    )
    assert share < 0.6  # 0.9 ** 10 = .35 of the duplicates are complete
    assert split(data, BY_ID) == 0


def test_nothing_shared_is_nothing_to_stratify_by() -> None:
    data = records(inexact=Inexact(noise=3, typos=1))
    random = split(data)
    for stratify in (BY_ID, BY_BIRTH, by_quantile("x1", per_fold=20)):
        assert split(data, stratify) > 0.85 * random


def test_shifted_dates_split_duplicates_as_random_folds_do() -> None:
    data = in_pairs(records(pseudonyms=Pseudonyms(date_shift=3_650)))
    everyone = pd.Series(True, index=data.index)
    mean, spread = expected(data, everyone)
    assert abs(split(data, BY_BIRTH) - mean) < 5 * spread
    few = records(pseudonyms=Pseudonyms(date_shift=30))
    bins = by_quantile("birth_date", per_fold=4)  # each of four years
    assert 0 < split(few, bins) < 0.1 * split(few)
    assert split(few, BY_ID) == 0


def test_salted_hashes_split_duplicates_as_random_folds_do() -> None:
    data = in_pairs(records(pseudonyms=Pseudonyms(salt=True), key="secret"))
    mean, spread = expected(data, pd.Series(True, index=data.index))
    for name in ("id_hash", "dob_hash"):
        assert abs(split(data, by_hash(name, key="k")) - mean) < 5 * spread
    assert split(data, BY_ID) == 0


@pytest.mark.parametrize(
    "pseudonyms", [Pseudonyms(quantise=0.1), Pseudonyms(noise=0.1), Pseudonyms(shift=1)]
)
def test_covariates_changed_by_a_site_split_duplicates(pseudonyms: Pseudonyms) -> None:
    data = records(pseudonyms=pseudonyms)
    wide, narrow = (
        split(data, by_quantile("x5")),
        split(data, by_quantile("x5", per_fold=20)),
    )
    assert 0 < wide < narrow
    assert split(data, by_value("x5")) > 0.7 * 2 * COPIES * (K - 1) / K
    assert split(data, BY_BIRTH) == 0
    assert repeats_across_sites(data, "site", X).empty


def test_records_held_alone_can_be_hashed_but_not_partitioned() -> None:
    data = simulate_ehr(N, COPIES, None, seed=11)
    assert data["site"].is_unique
    assert repeats_within_site(data, "site", "patient_id").empty
    assert len(repeats_across_sites(data, "site", "patient_id")) > COPIES
    data = data.assign(person=data["patient_id"])
    assert split(data, BY_ID) == 0
    salted = Pseudonyms(salt=True)
    data = simulate_ehr(N, COPIES, None, pseudonyms=salted, key="secret", seed=11)
    mean, spread = expected(in_pairs(data), pd.Series(True, index=in_pairs(data).index))
    found = split(in_pairs(data), by_hash("id_hash", key="k"))
    assert abs(found - mean) < 5 * spread


def test_an_over_duplicated_subpopulation_is_no_leak_but_weighs_more() -> None:
    data = records(duplicated="1 + 9 * y")
    assert split(data, BY_ID) == 0
    people = data.drop_duplicates("person")
    p, copies = people["y"].mean(), data[data.duplicated("person")]
    share = copies["y"].mean()
    # the first copy is of a positive person with probability 10p / (1 + 9p); later
    # ones with a little less, as positive people run out of hospitals
    assert 0.7 * 10 * p / (1 + 9 * p) < share < 10 * p / (1 + 9 * p)
    wanted = (N * p + COPIES * share) / (N + COPIES)
    assert data["y"].mean() == pytest.approx(wanted, abs=1e-12)
    plain = records()
    assert abs(plain["y"].mean() - p) < 5 * math.sqrt(0.25 / COPIES)
    assert data["y"].mean() > p + 0.05
    assert np.isclose(p, plain.drop_duplicates("person")["y"].mean())
