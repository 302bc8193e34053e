import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn

from statcv.errors import MetricError
from statcv.metrics import auroc, delong, delong_covariance, delong_test

REFERENCE = Path(__file__).parents[1] / "reference"


def textbook(y, scores, clusters):
    """Compute Obuchowski's covariance by loops over clusters, records and pairs."""

    def psi(x, z):
        return 1.0 if z < x else 0.5 if z == x else 0.0

    labels = list(dict.fromkeys(clusters))
    ten, one = np.zeros((2, len(scores), len(labels)))
    for r, s in enumerate(scores):
        x, z = s[y == 1], s[y == 0]
        theta = np.mean([psi(p, q) for p in x for q in z])
        for k, label in enumerate(labels):
            for p in s[(y == 1) & (clusters == label)]:
                ten[r, k] += np.mean([psi(p, q) for q in z]) - theta
            for q in s[(y == 0) & (clusters == label)]:
                one[r, k] += np.mean([psi(p, q) for p in x]) - theta
    m, n = (y == 1).sum(), (y == 0).sum()
    all_of, of_positives, of_negatives = (
        len(set(some)) for some in (clusters, clusters[y == 1], clusters[y == 0])
    )
    s10 = of_positives / (of_positives - 1) / m * ten @ ten.T
    s01 = of_negatives / (of_negatives - 1) / n * one @ one.T
    s11 = all_of / (all_of - 1) * ten @ one.T
    return s10 / m + s01 / n + (s11 + s11.T) / (m * n)


@st.composite
def clustered_samples(draw):
    n = draw(st.integers(4, 24))
    y = draw(hn.arrays(int, n, elements=st.integers(0, 1)))
    y[:4] = [0, 1, 0, 1]
    clusters = draw(hn.arrays(int, n, elements=st.integers(0, 7)))
    clusters[:4] = [0, 0, 1, 1] if draw(st.booleans()) else [0, 1, 2, 3]
    scores = draw(hn.arrays(int, (2, n), elements=st.integers(-4, 4)))
    return y, scores / 2, clusters


@given(clustered_samples())
def test_covariance_agrees_with_the_paper(sample):
    y, scores, clusters = sample
    areas, covariance = delong_covariance(y, scores, clusters=clusters)
    np.testing.assert_array_equal(areas, auroc(y, scores))
    expected = textbook(y, scores, clusters)
    np.testing.assert_allclose(covariance, expected, atol=1e-14)
    one = delong(y, scores[0], clusters=clusters)
    assert one.se**2 == pytest.approx(expected[0, 0], abs=1e-14)
    assert one.n_clusters == len(set(clusters))


@pytest.mark.filterwarnings("ignore::statcv.errors.DegenerateVarianceWarning")
@given(clustered_samples())
def test_the_pair_has_the_variance_of_the_contrast(sample):
    y, scores, clusters = sample
    _, covariance = delong_covariance(y, scores, clusters=clusters)
    test = delong_test(y, *scores, clusters=clusters)
    contrast = np.array([1, -1])
    assert test.se**2 == pytest.approx(contrast @ covariance @ contrast, abs=1e-14)


@given(clustered_samples())
def test_clusters_of_one_record_give_delong_exactly(sample):
    y, scores, _ = sample
    _, covariance = delong_covariance(y, scores)
    _, alone = delong_covariance(y, scores, clusters=np.arange(len(y)))
    np.testing.assert_allclose(alone, covariance, rtol=1e-12, atol=1e-17)
    variances = np.diag(alone), np.diag(covariance)
    np.testing.assert_allclose(*variances, rtol=1e-12, atol=0)  # with exact zeros


@given(clustered_samples())
def test_a_variance_is_never_negative(sample):
    y, scores, clusters = sample
    _, covariance = delong_covariance(y, scores, clusters=clusters)
    assert np.linalg.eigvalsh(covariance).min() > -1e-15


@pytest.mark.parametrize("copies", [2, 5])
def test_duplicates_of_records_add_no_information(copies):
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 30)
    score = y + rng.normal(size=60)
    plain = delong(y, score)
    who = np.repeat(np.arange(60), copies)
    copied = delong(y[who], score[who], clusters=who)
    assert (copied.auc, copied.n_clusters) == (plain.auc, 60)
    assert copied.se == pytest.approx(plain.se, rel=1e-12)
    naive = delong(y[who], score[who])
    assert naive.se < plain.se / np.sqrt(copies) * 1.01


def test_pairs_of_both_classes_cancel_their_shared_effect():
    rng = np.random.default_rng(5)
    shared = np.repeat(3 * rng.normal(size=40), 2)
    y = np.tile([0, 1], 40)
    score = shared + y + 0.3 * rng.normal(size=80)
    assert delong(y, score, clusters=shared).se < 0.5 * delong(y, score).se


def test_coverage_with_a_shared_effect():
    rng = np.random.default_rng(9)
    covered = {"clustered": 0, "plain": 0}
    who = np.repeat(np.arange(60), 4)
    for _ in range(300):
        y = np.repeat(rng.permutation(np.arange(60) % 2), 4)
        score = np.repeat(rng.normal(size=60), 4) + 0.5 * rng.normal(size=240)
        for name, more in (("clustered", {"clusters": who}), ("plain", {})):
            d = delong(y, score, **more)
            covered[name] += d.lower <= 0.5 <= d.upper
    assert covered["clustered"] / 300 == pytest.approx(0.94, abs=0.04)
    assert covered["plain"] / 300 < 0.8


# --- R ------------------------------------------------------------------------


def read_rows(name):
    with open(REFERENCE / name, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "expected", read_rows("clustered_r.csv"), ids=lambda row: row["case"]
)
def test_values_equal_those_of_the_r_script(expected):
    case, dealt = expected["case"].split(":")
    rows = [row for row in read_rows("delong_cases.csv") if row["case"] == case]
    y = [int(row["y"]) for row in rows]
    a, b = ([float(row[name]) for row in rows] for name in "ab")
    record = np.arange(len(y))
    clusters = record // 3 if dealt == "triples" else record % 5
    test = delong_test(y, a, b, clusters=clusters)
    found = {
        "auc_a": test.auc_a,
        "se_a": delong(y, a, clusters=clusters).se,
        "se_b": delong(y, b, clusters=clusters).se,
        "covariance": delong_covariance(y, [a, b], clusters=clusters)[1][0, 1],
        "statistic": test.statistic,
        "p_value": test.p_value,
    }
    numbers = {key: float(value) for key, value in expected.items() if key != "case"}
    assert found == pytest.approx(numbers, rel=1e-10, abs=1e-10)


# --- labels of clusters -------------------------------------------------------

Y, SCORE = [0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6]
SE = delong(Y, SCORE, clusters=[0, 1, 2, 0, 1, 2]).se


@pytest.mark.parametrize(
    "clusters",
    [
        ["a", "b", "c"] * 2,
        [9, -3, 4] * 2,
        [0.5, 1.5, np.inf] * 2,
        pd.Series(["x", "y", "z"] * 2, index=list("pqrstu")),
        pd.Categorical(["x", "y", "z"] * 2, categories=list("zyxw")),
        pd.to_datetime(["2020-01-01", "2020-01-02", "2021-05-05"] * 2),
        np.array([1, "b", 2.5] * 2, dtype=object),
    ],
)
def test_labels_of_any_kind_are_clusters(clusters):
    assert delong(Y, SCORE, clusters=clusters).se == SE


def test_labels_and_order_do_not_matter():
    order = [3, 1, 5, 0, 2, 4]
    y, score, clusters = np.array([Y, SCORE, [0, 1, 2, 0, 1, 2]])[:, order]
    found = delong(y, score, clusters=clusters)
    assert found.se == pytest.approx(SE, rel=1e-14)


def test_with_too_few_clusters_the_values_are_nan_with_a_reason():
    y = [0, 0, 0, 1, 1]
    for clusters, reason in (
        ([0, 1, 2, 3, 3], "all 2 positive records belong to one cluster"),
        ([1, 1, 1, 2, 3], "all 3 negative records belong to one cluster"),
        ([1, 1, 1, 1, 1], "all 2 positive records belong to one cluster"),
    ):
        d = delong(y, SCORE[:5], clusters=clusters)
        assert d.auc == auroc(y, SCORE[:5])
        assert np.isnan([d.se, d.lower, d.upper]).all()
        assert reason in d.reason
        test = delong_test(y, SCORE[:5], [1, 1, 1, 1, 2], clusters=clusters)
        assert np.isnan([test.se, test.p_value]).all()
        assert reason in test.reason
        _, covariance = delong_covariance(y, [SCORE[:5]] * 2, clusters=clusters)
        assert covariance.shape == (2, 2)
        assert np.isnan(covariance).all()
    assert (
        "one positive record:"
        in delong([0, 0, 1], [1, 2, 3], clusters=[1, 2, 3]).reason
    )
    assert "no positive" in delong([0, 0], [1, 2], clusters=[1, 2]).reason
    assert "no positive" in delong([], [], clusters=[]).reason


def test_with_a_missing_score_the_values_are_nan_with_a_reason():
    d = delong(Y, [np.nan, *SCORE[1:]], clusters=[0, 1, 2, 0, 1, 2])
    assert np.isnan([d.auc, d.se]).all()
    assert "1 of the scores are NaN" in d.reason


def test_clusters_without_variation_have_a_reason():
    y, score = np.tile([0, 0, 1, 1], 5), np.tile([1, 3, 2, 4], 5)
    d = delong(y, score, clusters=np.arange(20) // 4)
    assert (d.auc, d.se, d.lower, d.upper) == (0.75, 0, 0.75, 0.75)
    assert "do not vary from cluster to cluster" in d.reason
    assert delong(y, score).se > 0
    thirds = delong(
        np.tile([0, 1, 1], 6), np.tile([2, 1, 2], 6), clusters=np.arange(18) // 3
    )
    assert thirds.se == 0


def test_invalid_clusters_raise_an_error_that_explains():
    with pytest.raises(MetricError, match="2 of 6 records have no cluster"):
        delong(Y, SCORE, clusters=["a", None, "b", "c", np.nan, "d"])
    with pytest.raises(MetricError, match="clusters has 2"):
        delong_covariance(Y, [SCORE], clusters=[1, 2])
    with pytest.raises(MetricError, match=r"clusters has shape \(6, 1\)"):
        delong_test(Y, SCORE, SCORE, clusters=np.ones((6, 1)))
