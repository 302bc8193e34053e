import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.errors import MetricError
from statcv.metrics import casewise_net_benefit, net_benefit, net_benefit_at

REFERENCE = Path(__file__).parents[1] / "reference"
Z = 1.959963984540054


def r_cases():
    records, numbers = defaultdict(list), defaultdict(dict)
    with (REFERENCE / "calibration_cases.csv").open() as file:
        for row in csv.DictReader(file):
            one = (int(row["y"]), float(row["p"]), int(row["cluster"]))
            records[row["case"]].append(one)
    with (REFERENCE / "calibration_r.csv").open() as file:
        for row in csv.DictReader(file):
            numbers[row["case"]][row["what"]] = float(row["value"])
    return {case: (*np.array(rows).T, numbers[case]) for case, rows in records.items()}


@pytest.fixture(params=r_cases().items(), ids=lambda item: item[0], name="case")
def _case(request):
    return request.param[1]


def test_net_benefit_agrees_with_r(case):
    y, p, cluster, r = case
    found = net_benefit(y, p, [0.1, 0.3])
    grouped = net_benefit(y, p, [0.1, 0.3], clusters=cluster)
    other = net_benefit(y, p, [0.1, 0.3], prevalence=0.2)
    compared = 0
    for k, cut in enumerate(("at0.1_", "at0.3_")):
        for curve, ours, theirs in [
            *((found, name, name) for name in ("net_benefit", "treat_all", "over_all")),
            *((found, name, name) for name in ("standardized", "avoided", "se")),
            (found, "over_all_se", "over_all_se"),
            (grouped, "se", "cluster_se"),
            (grouped, "over_all_se", "over_all_cluster_se"),
            (other, "net_benefit", "other_net_benefit"),
        ]:
            value, expected = getattr(curve, ours)[k], r[cut + theirs]
            if ours.endswith("se") and expected == 0:
                assert np.isnan(value)
                assert "there is no variation" in curve.reason
                continue
            assert value == pytest.approx(expected, rel=1e-10, abs=1e-13)
            compared += 1
    assert compared > 12
    assert found.lower == pytest.approx(found.net_benefit - Z * found.se, nan_ok=True)
    upper = found.over_all + Z * found.over_all_se
    assert found.over_all_upper == pytest.approx(upper, nan_ok=True)


def test_a_given_prevalence_makes_two_samples(case):
    y, p, _, r = case
    found = net_benefit(y, p, [0.3], prevalence=0.2)
    assert found.se[0] == pytest.approx(r["at0.3_other_se"], rel=1e-10)
    assert found.treat_all[0] == pytest.approx(0.2 - 0.8 * 0.3 / 0.7)
    assert found.standardized[0] == pytest.approx(found.net_benefit[0] / 0.2)
    assert found.over_all[0] == pytest.approx(found.net_benefit[0] - found.treat_all[0])


@st.composite
def samples(draw):
    n = draw(st.integers(1, 25))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    p = draw(st.lists(st.integers(0, 20), min_size=n, max_size=n))
    return np.array(y), np.array(p) / 20


@given(samples(), st.integers(0, 19))
def test_net_benefit_by_counting(sample, step):
    y, p = sample
    cut = step / 20
    true = sum(a == 1 and b >= cut for a, b in zip(y, p, strict=True))
    false = sum(a == 0 and b >= cut for a, b in zip(y, p, strict=True))
    expected = true / len(y) - false / len(y) * cut / (1 - cut)
    assert net_benefit_at(y, p, cut) == pytest.approx(expected, abs=1e-14)
    found = net_benefit(y, p, cut)
    assert found.net_benefit == pytest.approx([expected], abs=1e-14)
    assert casewise_net_benefit(y, p, cut).mean() == pytest.approx(expected, abs=1e-14)
    assert found.over_all == pytest.approx(found.net_benefit - found.treat_all)
    values = casewise_net_benefit(y, p, cut)
    if np.ptp(values) > 0:
        expected = values.std(ddof=1) / np.sqrt(len(y))
        assert found.se == pytest.approx([expected])
    else:
        assert np.isnan([found.se, found.lower, found.upper]).all()
        assert found.reason.startswith("at 1 threshold there is no variation")


def test_perfect_prediction_and_treating_all_or_none():
    y = np.array([0, 0, 1, 1, 0])
    cuts = [0.1, 0.5, 0.9]
    perfect = net_benefit(y, y.astype(float), cuts)
    assert perfect.net_benefit == pytest.approx([0.4] * 3)
    assert perfect.standardized == pytest.approx([1] * 3)
    assert perfect.avoided == pytest.approx([60] * 3)
    everyone = net_benefit(y, [1.0] * 5, cuts)
    np.testing.assert_allclose(everyone.net_benefit, everyone.treat_all)
    assert np.isnan(everyone.over_all_se).all()
    nobody = net_benefit(y, [0.0] * 5, cuts)
    assert nobody.net_benefit.tolist() == [0, 0, 0]
    assert np.isnan(nobody.se).all()
    assert "at 3 thresholds" in nobody.reason


def test_a_probability_at_the_threshold_is_treated_also_after_rounding():
    assert net_benefit_at([1, 1], [0.3, 0.3 - 1e-16], 0.1 + 0.2) == 1
    assert net_benefit([1, 1], [0.3, 0.3], [0.1 + 0.2]).net_benefit == 1
    assert net_benefit_at([1], [0.3 - 1e-9], 0.3) == 0


def test_a_threshold_of_zero_treats_all_at_no_cost():
    found = net_benefit([0, 1, 1], [0.0, 0.4, 0.9], [0])
    assert found.net_benefit == pytest.approx([2 / 3])
    assert found.over_all == [0]
    assert np.isnan(found.avoided[0])


def test_one_threshold_per_record():
    y, p, cuts = [0, 1, 0, 1], [0.3, 0.3, 0.6, 0.1], [0.2, 0.4, 0.5, 0.1]
    expected = np.mean([-0.25, 0, -1, 1])
    assert net_benefit_at(y, p, cuts) == pytest.approx(expected)
    with pytest.raises(MetricError, match="threshold"):
        net_benefit_at(y, p, [0.2, 0.4])


def test_duplicates_in_one_cluster_count_once():
    """If each record is duplicated in a cluster, the standard error does not change."""
    rng = np.random.default_rng(5)
    p, y = rng.random(40), rng.integers(0, 2, 40)
    cuts = [0.2, 0.5]
    one = net_benefit(y, p, cuts)
    two = net_benefit(
        np.tile(y, 2), np.tile(p, 2), cuts, clusters=np.tile(range(40), 2)
    )
    np.testing.assert_allclose(two.se, one.se)
    np.testing.assert_allclose(two.over_all_upper, one.over_all_upper)
    single = net_benefit(y, p, cuts, clusters=["one"] * 40)
    assert np.isnan(single.se).all()
    assert "clusters" in single.reason
    alike = net_benefit([0, 1] * 3, [0.4] * 6, 0.3, clusters=[1, 1, 2, 2, 3, 3])
    assert np.isnan(alike.se).all()


def test_the_interval_covers():
    """Estimate the coverage of the net benefit in the population by simulation."""
    rng = np.random.default_rng(11)
    grid = (np.arange(200_000) + 0.5) / 200_000
    truth = np.mean(np.where(grid >= 0.3, grid - (1 - grid) * 0.3 / 0.7, 0))
    inside = 0
    for _ in range(1000):
        p = rng.random(150)
        found = net_benefit(rng.random(150) < p, p, 0.3)
        inside += found.lower[0] <= truth <= found.upper[0]
    assert 930 <= inside <= 970


def test_scores_have_no_net_benefit_whatever_the_threshold_on_their_scale():
    values = casewise_net_benefit([0, 1, 1], [-0.5, -0.4, np.nan], -1.02)
    assert np.isnan(values).all()


def test_undefined_values_have_a_reason():
    for y, p in (([], []), ([0, 1], [0.2, np.nan]), ([0, 1], [-0.2, 0.4])):
        found = net_benefit(y, p, [0.2, 0.4])
        assert np.isnan([found.net_benefit, found.se, found.avoided]).all()
        assert found.reason
        assert np.isnan(net_benefit_at(y, p, 0.2))
    one = net_benefit([1, 1], [0.2, 0.6], [0.3], prevalence=0.1)
    assert np.isnan(one.net_benefit).all()
    assert one.reason == "no record is negative"
    none = net_benefit([0, 0], [0.2, 0.6], [0.3])
    assert none.net_benefit == pytest.approx([-3 / 14])
    assert np.isnan(none.standardized).all()
    lonely = net_benefit([1, 0, 0], [0.2, 0.6, 0.1], [0.3], prevalence=0.1)
    assert np.isnan(lonely.se).all()
    assert np.isfinite(lonely.net_benefit).all()


@pytest.mark.parametrize("cut", [1, -0.1, np.nan, 30])
def test_thresholds_out_of_range_raise_an_error(cut):
    with pytest.raises(MetricError, match="threshold"):
        net_benefit([0, 1], [0.2, 0.4], [0.5, cut])
    with pytest.raises(MetricError, match="threshold"):
        net_benefit_at([0, 1], [0.2, 0.4], cut)


@pytest.mark.parametrize(
    "arguments", [{"prevalence": 0}, {"prevalence": 20}, {"level": 95}]
)
def test_arguments_out_of_range_raise_an_error(arguments):
    with pytest.raises(MetricError):
        net_benefit([0, 1], [0.2, 0.4], [0.5], **arguments)
    with pytest.raises(MetricError, match="shape"):
        net_benefit([0, 1], [0.2, 0.4], [[0.5]])
