import csv
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from statcv.errors import MetricError
from statcv.metrics import brier, brier_parts, brier_skill, r2

REFERENCE = Path(__file__).parents[1] / "reference"
PARTS = (
    "reliability",
    "resolution",
    "uncertainty",
    "within_variance",
    "within_covariance",
)


def r_cases():
    records, numbers = defaultdict(list), defaultdict(dict)
    with (REFERENCE / "calibration_cases.csv").open() as file:
        for row in csv.DictReader(file):
            records[row["case"]].append((int(row["y"]), float(row["p"])))
    with (REFERENCE / "calibration_r.csv").open() as file:
        for row in csv.DictReader(file):
            numbers[row["case"]][row["what"]] = float(row["value"])
    return {case: (*np.array(rows).T, numbers[case]) for case, rows in records.items()}


@pytest.fixture(params=r_cases().items(), ids=lambda item: item[0], name="case")
def _case(request):
    return request.param[1]


@st.composite
def samples(draw):
    n = draw(st.integers(1, 30))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    p = draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))
    return np.array(y), np.array(p) / 12


def total(parts):
    return (
        parts.reliability
        - parts.resolution
        + parts.uncertainty
        + parts.within_variance
        - parts.within_covariance
    )


@pytest.mark.parametrize(("groups", "prefix"), [(None, "values_"), (4, "groups_")])
def test_parts_equal_their_definitions_in_r(case, groups, prefix):
    y, p, r = case
    found = brier_parts(y, p, groups=groups)
    for part in PARTS:
        assert getattr(found, part) == pytest.approx(r[prefix + part], abs=1e-13)
    assert found.brier == pytest.approx(brier(y, p), abs=1e-15)
    if f"{prefix}corrected_resolution" in r:
        corrected = brier_parts(y, p, groups=groups, bias_corrected=True)
        for part in PARTS[:3]:
            expected = r[f"{prefix}corrected_{part}"]
            assert getattr(corrected, part) == pytest.approx(expected, abs=1e-13)


@given(samples(), st.one_of(st.none(), st.integers(1, 8)))
def test_the_parts_sum_to_the_score(sample, groups):
    y, p = sample
    found = brier_parts(y, p, groups=groups)
    assert total(found) == pytest.approx(brier(y, p), abs=1e-13)
    three = found.reliability - found.generalized_resolution + found.uncertainty
    assert three == pytest.approx(found.brier, abs=1e-13)
    assert found.n_groups <= len(np.unique(p))
    assert min(found.reliability, found.resolution, found.uncertainty) >= 0
    corrected = brier_parts(y, p, groups=groups, bias_corrected=True)
    if not corrected.reason:
        assert total(corrected) == pytest.approx(brier(y, p), abs=1e-13)


@given(samples())
def test_parts_by_the_double_sum(sample):
    """Murphy's decomposition, computed by a loop over the forecasts."""
    y, p = sample
    reliability = resolution = 0.0
    for value in set(p):
        share = y[p == value].mean()
        reliability += (p == value).mean() * (value - share) ** 2
        resolution += (p == value).mean() * (share - y.mean()) ** 2
    found = brier_parts(y, p)
    assert found.reliability == pytest.approx(reliability, abs=1e-14)
    assert found.resolution == pytest.approx(resolution, abs=1e-14)
    assert (found.within_variance, found.within_covariance) == (0, 0)


def test_the_correction_removes_the_bias_of_reliability():
    """The check is exact: it runs over all outcomes with their probabilities."""
    p = np.repeat([0.3, 0.6], [3, 4])
    truth = np.repeat([0.2, 0.7], [3, 4])
    expected = found = raw = 0.0
    for y in product([0, 1], repeat=7):
        chance = np.where(y, truth, 1 - truth).prod()
        found += chance * brier_parts(y, p, bias_corrected=True).reliability
        raw += chance * brier_parts(y, p).reliability
    expected = np.mean((p - truth) ** 2)
    assert found == pytest.approx(expected, abs=1e-12)
    assert raw > expected + 0.01


def test_forecasts_equal_up_to_rounding_are_one_forecast():
    found = brier_parts([0, 1, 1], [0.3, 0.1 + 0.2, 0.8])
    assert found.n_groups == 2
    assert found.resolution == pytest.approx((2 * (1 / 6) ** 2 + (1 / 3) ** 2) / 3)


def test_parts_that_are_undefined_have_a_reason():
    single = brier_parts([0, 1, 1], [0.2, 0.2, 0.7], bias_corrected=True)
    assert np.isnan([single.reliability, single.resolution]).all()
    assert single.uncertainty == pytest.approx(1 / 3)
    assert single.reason.startswith("1 group of a single record")
    for y, p in (([], []), ([0, 1], [0.2, np.nan]), ([0, 1], [0.2, 1.1])):
        found = brier_parts(y, p)
        assert np.isnan([found.brier, found.reliability, found.uncertainty]).all()
        assert found.reason
    with pytest.raises(MetricError, match="groups"):
        brier_parts([0, 1], [0.2, 0.4], groups=0)


# --- skill --------------------------------------------------------------------


@given(samples())
def test_skill_is_the_relative_reduction_of_the_score_of_the_mean(sample):
    y, p = sample
    if 0 < y.sum() < len(y):
        parts = brier_parts(y, p)
        by_parts = (parts.resolution - parts.reliability) / parts.uncertainty
        assert brier_skill(y, p) == pytest.approx(by_parts, abs=1e-12)
        assert brier_skill(y, p) == pytest.approx(r2(y, p), abs=1e-12)
        assert brier_skill(y, y) == 1
        assert brier_skill(y, np.full(len(y), y.mean())) == 0
    else:
        assert np.isnan(brier_skill(y, p))


def test_skill_against_a_baseline():
    y, p, base = [0, 1, 1], [0.2, 0.6, 0.9], [0.6, 0.5, 0.5]
    expected = 1 - brier(y, p) / brier(y, base)
    assert brier_skill(y, p, baseline=base) == pytest.approx(expected)
    assert brier_skill(y, base, baseline=base) == 0
    assert brier_skill(y, p, 0.5) == pytest.approx(1 - brier(y, p) / 0.25)
    assert brier_skill([1, 1], [0.8, 0.9], baseline=0.5) == pytest.approx(0.9)


def test_undefined_skill_is_nan():
    assert np.isnan(brier_skill([1, 1], [0.8, 0.9], baseline=[1, 1]))
    assert np.isnan(brier_skill([0, 1], [0.8, 0.9], baseline=[0.2, 1.4]))
    assert np.isnan(brier_skill([0, 1], [0.8, np.nan]))
    assert np.isnan(brier_skill([], []))
    with pytest.raises(MetricError):
        brier_skill([0, 1], [0.8, 0.9], baseline=[0.2])
