import csv
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn
from scipy import stats

from statcv.errors import MetricError
from statcv.metrics import METRICS, auroc, concordance, concordance_by_group

REFERENCE = Path(__file__).parents[1] / "reference"


def textbook(y, p):
    """Return the share and the number of pairs, by a loop over pairs."""
    won, pairs = 0.0, 0
    for i, j in itertools.combinations(range(len(y)), 2):
        if y[i] != y[j]:
            pairs += 1
            agree = (y[i] - y[j]) * (p[i] - p[j])
            won += 1.0 if agree > 0 else 0.5 if agree == 0 else 0.0
    return (won / pairs if pairs else np.nan), pairs


@st.composite
def samples(draw):
    n = draw(st.integers(0, 25))
    few = st.integers(-3, draw(st.integers(-2, 20)))
    y = draw(hn.arrays(int, n, elements=few)).astype(float)
    p = draw(hn.arrays(int, n, elements=few)).astype(float)
    return y, p, draw(hn.arrays(int, n, elements=st.integers(0, 3)))


@given(samples())
def test_concordance_is_the_share_of_pairs_in_order(sample):
    y, p, group = sample
    found = concordance(y, p)
    np.testing.assert_allclose(found, textbook(y, p)[0], atol=1e-14)
    shares, pairs = concordance_by_group(y, p, group, 5)
    each = [textbook(y[group == g], p[group == g]) for g in range(5)]
    np.testing.assert_allclose(shares, [share for share, _ in each], atol=1e-14)
    assert pairs.tolist() == [count for _, count in each]


def test_concordance_agrees_with_survival_and_hmisc():
    cases = pd.read_csv(REFERENCE / "concordance_cases.csv")
    with (REFERENCE / "concordance_r.csv").open() as stored:
        rows = list(csv.DictReader(stored))
    assert len(rows) == cases["case"].nunique() == 7
    for row in rows:
        own = cases[cases["case"] == row["case"]]
        found = concordance(own["y"], own["p"])
        assert found == pytest.approx(float(row["survival"]), abs=1e-10)
        assert found == pytest.approx(float(row["hmisc"]), abs=1e-10)
        one = np.zeros(len(own), dtype=int)
        pairs = concordance_by_group(own["y"], own["p"], one, 1)[1]
        assert pairs[0] == float(row["pairs"])


def test_with_many_records_it_agrees_with_kendalls_tau():
    rng = np.random.default_rng(1)
    y = rng.normal(size=30_000)
    p = y + rng.normal(size=30_000)
    tau = stats.kendalltau(y, p).statistic
    assert concordance(y, p) == pytest.approx((1 + tau) / 2, abs=1e-12)


def test_for_two_outcome_values_it_is_auroc():
    rng = np.random.default_rng(2)
    y, p = rng.integers(0, 2, 80), rng.normal(size=80).round(1)
    assert concordance(y, p) == pytest.approx(auroc(y, p), abs=1e-14)
    assert concordance(y * 7.5 - 3, p) == pytest.approx(auroc(y, p), abs=1e-14)


def test_predictions_equal_but_for_rounding_tie_and_outcomes_do_not():
    assert concordance([1, 2], [0.1 + 0.2, 0.3]) == 0.5
    assert concordance([0.3, 0.1 + 0.2], [1, 2]) == 1.0
    assert concordance([1, 2], [0.1 + 0.2, 0.3], tie_tol=0) == 0.0


def test_where_concordance_is_undefined_it_is_nan():
    for y, p in ([], []), ([1.0], [1.0]), ([2, 2], [1, 3]), ([1, 2], [np.nan, 1]):
        assert np.isnan(concordance(y, p))
    assert concordance([1, 2, 3], [5, 5, 5]) == 0.5
    assert concordance([1, 2], [-np.inf, np.inf]) == 1.0
    with pytest.raises(MetricError, match="yhat has 1"):
        concordance([1, 2], [1])
    with pytest.raises(MetricError, match="from 0 to 0"):
        concordance_by_group([1, 2], [1, 2], [0, 1], 1)


def test_it_is_a_rank_metric_of_continuous_outcomes():
    metric = METRICS["concordance"]
    assert metric.rank
    assert metric.pairs == "numbers"
    assert metric.greater_is_better
    assert metric.outcomes == {"continuous"}
    assert metric.bounds == (0.0, 1.0)
