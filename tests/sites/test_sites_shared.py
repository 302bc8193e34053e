"""Patients shared by sites, estimated from counts in buckets, and plans joined."""

import hashlib
import hmac

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv import sites
from statcv.datasets import simulate_ehr
from statcv.errors import ArgumentError, MessageError, SiteError
from statcv.folds import FoldPlan
from statcv.folds.strata import keyed_digest, keyed_fold
from statcv.sites.messages import Message
from statcv.sites.shared import bucket_counts, estimate_shared, table_key

BITS = 2**56


@pytest.mark.parametrize(
    ("n", "other", "shared", "tables"),
    [
        (2000, 2000, 200, 1),
        (3000, 1000, 0, 1),
        (2000, 2000, 1500, 1),
        (2000, 1500, 300, 2),
    ],
)
def test_coverage_and_standard_error(n, other, shared, tables):
    rng = np.random.default_rng(n + shared)
    found = []
    for _ in range(250):
        digests = rng.integers(0, BITS, (tables, n + other - shared), dtype=np.uint64)
        counts = (
            bucket_counts(list(part), 5)
            for part in (digests[:, :n], digests[:, n - shared :])
        )
        found.append(estimate_shared(*counts, 0.95))
    table = pd.DataFrame(found)
    covered = table["lower"].le(shared) & table["upper"].ge(shared)
    assert 0.91 <= covered.mean() <= 0.99
    if shared >= 300:  # so that the estimate is seldom cut off at 0
        assert table["shared"].std() == pytest.approx(table["se"].mean(), rel=0.2)
        three = 3 * table["shared"].std() / np.sqrt(len(table))
        assert abs(table["shared"].mean() - shared) < three + 0.02 * shared


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_on_records_of_hospitals(seed):
    data = simulate_ehr(5000, 3000, 3, seed=seed)
    at = dict(iter(data.groupby("site")))
    found = sites.shared_patients(
        at, "patient_id", key="a secret", tables=8, level=0.99
    )
    who = {site: set(own["patient_id"]) for site, own in at.items()}
    for _, row in found.table.iterrows():
        truth = len(who[row["site"]] & who[row["other"]])
        assert row["lower"] <= truth <= row["upper"]
        assert abs(row["shared"] - truth) < 3.5 * row["se"]
    assert found.sites["patients"].to_dict() == {s: len(w) for s, w in who.items()}


def test_signs_in_place_of_counts_have_the_same_variance():
    """Which is why counts, that are simpler to check, are used."""
    rng = np.random.default_rng(1)
    n, shared, m = 1500, 150, 64
    by_counts, by_signs = [], []
    for _ in range(600):
        bucket = rng.integers(0, m, 2 * n - shared)
        sign = rng.choice([-1.0, 1.0], 2 * n - shared)
        one, other = np.arange(n), np.arange(n - shared, 2 * n - shared)
        a, b = (np.bincount(bucket[who], minlength=m) for who in (one, other))
        by_counts.append((a @ b - n * n / m) / (1 - 1 / m))
        a, b = (np.bincount(bucket[who], sign[who], m) for who in (one, other))
        by_signs.append(a @ b)
    assert np.std(by_counts) == pytest.approx(np.std(by_signs), rel=0.1)
    assert np.std(by_counts) == pytest.approx(np.sqrt((n * n + shared**2) / m), rel=0.1)


def test_no_bucket_is_small_and_no_more_could_be_made():
    rng = np.random.default_rng(1)
    for n in (100, 1000, 20_000):
        digests = [rng.integers(0, BITS, n, dtype=np.uint64) for _ in range(2)]
        found = bucket_counts(digests, 5)
        assert found.min() >= 5
        assert (found.sum(axis=1) == n).all()
        m = 2 * found.shape[1]
        shift = np.uint64(56 - int(np.log2(m)))
        finer = [np.bincount((d >> shift).astype(int), minlength=m) for d in digests]
        assert min(one.min() for one in finer) < 5


def bucket_of(people, table):
    digests = keyed_digest(people, table_key("a secret", table))
    return (digests >> np.uint64(53)).astype(int)


def test_buckets_tell_nothing_of_folds():
    people = np.arange(40_000)
    fold = keyed_fold(people, 5, "a secret")
    bucket = bucket_of(people, 0)
    table = pd.crosstab(fold, bucket).to_numpy()
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    assert ((table - expected) ** 2 / expected).sum() < 56  # 28 df, p = .001
    other = bucket_of(people, 1)
    assert abs(np.corrcoef(bucket, other)[0, 1]) < 0.02


def test_counts_are_of_distinct_patients_and_travel_as_bytes():
    frame = pd.DataFrame({"id": np.repeat(np.arange(900), 3), "sex": "f"})
    who = scv.by_hash(["id", "sex"], key="a secret")
    ask = sites.ask_buckets(who, tables=2)
    assert b"a secret" not in ask
    reply = sites.count_buckets(ask, frame, "A", "a secret")
    counts = Message.of(reply).arrays["buckets"]
    assert counts.sum(axis=1).tolist() == [900, 900]
    assert counts.min() >= 5
    other = sites.count_buckets(ask, frame, "B", "a secret")
    found = sites.shared_of([reply, other])
    assert found.table.loc[0, "shared"] == pytest.approx(900, abs=1)
    assert repr(found).startswith("Patients shared by two sites")


def test_refusals():
    frame = pd.DataFrame({"id": np.arange(500)})
    ask = sites.ask_buckets(scv.by_hash("id", key="a secret"))
    with pytest.raises(SiteError, match="site A: the key is not the one"):
        sites.count_buckets(ask, frame, "A", "another")
    with pytest.raises(SiteError, match="column 'id' is missing"):
        sites.count_buckets(ask, frame.rename(columns={"id": "b"}), "A", "a secret")
    with pytest.raises(SiteError, match="1 of 500 values of 'id' are missing"):
        sites.count_buckets(ask, frame.where(frame["id"] != 3), "A", "a secret")
    with pytest.raises(SiteError, match="too few patients"):
        sites.count_buckets(ask, frame.iloc[:60], "A", "a secret")
    with pytest.raises(MessageError, match="does not ask"):
        sites.count_buckets(bytes(Message("fit")), frame, "A", "a secret")
    with pytest.raises(MessageError, match="no counts in buckets"):
        sites.shared_of([bytes(Message("fit", {"site": "A"}))])
    with pytest.raises(ArgumentError, match="the sites need a key"):
        sites.ask_buckets(scv.by_hash("id", key=None))


# ---- plans of sites, joined ----


def test_joined_plans_of_sites_are_audited():
    data = simulate_ehr(1500, 500, 3, seed=1)
    at = {site: own.reset_index(drop=True) for site, own in data.groupby("site")}
    plan = sites.agree(
        "y ~ x1 + x2", k=5, stratify=scv.by_hash("patient_id", key="a secret")
    )
    joined = FoldPlan.concat(
        {site: sites.site_folds(plan, own, site) for site, own in at.items()}
    )
    stacked = pd.concat(at)
    checks = {"data": stacked, "duplicates": "patient_id"}
    audit = joined.audit(stacked["y"].to_numpy(), **checks)
    assert "held out once" in str(audit)
    assert audit["duplicates"].value == 0
    alone = scv.fold_plan(
        data=stacked, k=5, stratify=scv.by_hash("patient_id", key="a secret")
    )
    assert joined.fingerprint == alone.fingerprint
    by_chance = sites.agree("y ~ x1 + x2", k=5)
    leaking = FoldPlan.concat(
        {site: sites.site_folds(by_chance, own, site) for site, own in at.items()}
    )
    audit = leaking.audit(stacked["y"].to_numpy(), **checks)
    assert audit["duplicates"].value > 100


def test_vectors_are_reproduced():
    table = sites.test_vectors()
    assert list(table.columns) == ["key", "value", "written", "hmac", "fold"]
    for row in table.itertuples():
        digest = hmac.new(bytes.fromhex(row.key), row.written.encode(), hashlib.sha256)
        assert digest.hexdigest() == row.hmac
        assert int(row.hmac[:14], 16) % 5 == row.fold
