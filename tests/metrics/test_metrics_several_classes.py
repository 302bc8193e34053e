import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from statcv.errors import MetricError
from statcv.metrics import auroc, auroc_hand_till, auroc_ovr

REFERENCE = Path(__file__).parents[1] / "reference"
seeds = st.integers(0, 10_000)


def sample(seed, classes=4, tied=False):
    rng = np.random.default_rng(seed)
    n = rng.integers(classes, 30)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    if tied:
        return y, rng.integers(0, 4, (n, classes)) / 4
    return y, rng.dirichlet(np.ones(classes), n)


def won(own, other):
    """Return the share of pairs that the first scores win, by a loop."""
    pairs = list(itertools.product(own, other))
    return sum((a > b) + 0.5 * (a == b) for a, b in pairs) / len(pairs)


@given(seeds, st.booleans())
def test_hand_till_is_the_mean_over_ordered_pairs_of_classes(seed, tied):
    y, p = sample(seed, tied=tied)
    pairs = itertools.permutations(range(4), 2)
    areas = [won(p[y == i, i], p[y == j, i]) for i, j in pairs]
    assert auroc_hand_till(y, p) == pytest.approx(np.mean(areas))


@given(seeds, st.booleans())
def test_one_against_the_rest_is_one_auroc_per_class(seed, tied):
    y, p = sample(seed, tied=tied)
    areas = [won(p[y == k, k], p[y != k, k]) for k in range(4)]
    assert auroc_ovr(y, p, average=None) == pytest.approx(areas)
    assert auroc_ovr(y, p) == pytest.approx(np.mean(areas))
    shares = np.bincount(y) / y.size
    assert auroc_ovr(y, p, average="weighted") == pytest.approx(shares @ areas)


@given(seeds)
def test_agrees_with_scikit_learn(seed):
    y, p = sample(seed)
    assert auroc_hand_till(y, p) == pytest.approx(
        roc_auc_score(y, p, multi_class="ovo", average="macro")
    )
    for average in ("macro", "weighted"):
        expected = roc_auc_score(y, p, multi_class="ovr", average=average)
        assert auroc_ovr(y, p, average=average) == pytest.approx(expected)


@given(seeds)
def test_two_classes_are_auroc(seed):
    y, p = sample(seed, classes=2)
    expected = auroc(y, p[:, 1])
    assert auroc_hand_till(y, p) == pytest.approx(expected)
    assert auroc_ovr(y, p) == pytest.approx(expected)


@given(seeds)
def test_hand_till_does_not_depend_on_class_frequencies(seed):
    y, p = sample(seed)
    often = np.repeat(np.arange(y.size), np.where(y == 2, 5, 1))
    assert auroc_hand_till(y[often], p[often]) == pytest.approx(auroc_hand_till(y, p))


@given(seeds)
def test_only_the_order_in_each_column_matters(seed):
    y, p = sample(seed)
    other = np.log(p) * [1, 2, 3, 4] + [5, -1, 0, 3]
    assert auroc_hand_till(y, other) == auroc_hand_till(y, p)
    assert auroc_ovr(y, other) == auroc_ovr(y, p)


@given(seeds)
def test_renumbering_the_classes_changes_nothing(seed):
    y, p = sample(seed)
    new = np.random.default_rng(seed).permutation(4)
    renamed = np.empty_like(p)
    renamed[:, new] = p
    assert auroc_hand_till(new[y], renamed) == pytest.approx(auroc_hand_till(y, p))
    assert auroc_ovr(new[y], renamed) == pytest.approx(auroc_ovr(y, p))


def test_correct_reversed_and_tied_orders():
    y = np.array([0, 1, 2, 0, 1, 2])
    for metric in (auroc_ovr, auroc_hand_till):
        assert metric(y, np.eye(3)[y]) == 1
        assert metric(y, -np.eye(3)[y]) == 0
        assert metric(y, np.full((6, 3), 1 / 3)) == 0.5
        assert metric(y, [[np.inf, 0, -np.inf]] * 6) == 0.5


def test_rounding_noise_has_no_effect():
    y = np.arange(60) % 3
    p = 1 / 3 + 1e-16 * np.random.default_rng(0).integers(-3, 4, (60, 3))
    assert len(np.unique(p)) > 1
    for metric in (auroc_ovr, auroc_hand_till):
        assert metric(y, p) == 0.5
        assert metric(y, p, tie_tol=0) != 0.5


def test_a_class_without_records_gives_nan():
    p = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.5, 0.3, 0.2]])
    np.testing.assert_array_equal(
        auroc_ovr([0, 1, 1], p, average=None), [1, 0.5 + 0.25, np.nan]
    )
    for y in ([0, 1, 1], [1, 1, 1]):
        assert np.isnan(auroc_hand_till(y, p))
        assert np.isnan(auroc_ovr(y, p))
        assert np.isnan(auroc_ovr(y, p, average="weighted"))
    assert np.isnan(auroc_ovr([1, 1, 1], p, average=None)).all()


def test_nan_scores_and_empty_input_give_nan():
    y, p = [0, 1, 2], np.array([[np.nan, 0.3, 0.1], [0.2, 0.7, 0.1], [0.5, 0.3, 0.2]])
    assert np.isnan(auroc_hand_till(y, p))
    assert np.isnan(auroc_ovr(y, p))
    assert np.isnan(auroc_ovr(y, p, average=None)).tolist() == [True, False, False]
    for metric in (auroc_ovr, auroc_hand_till):
        assert np.isnan(metric([], np.empty((0, 3))))
    assert np.isnan(auroc_ovr([], np.empty((0, 3)), average="weighted"))


@pytest.mark.parametrize("metric", [auroc_ovr, auroc_hand_till])
@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([0, 1], [0.2, 0.9], r"p has shape \(2,\); it must be \(n, K\)"),
        ([0, 0], [[0.2], [0.9]], r"p has shape \(2, 1\)"),
        ([0, 3], np.eye(2), "class codes 0 to 1.* such as 3"),
        ([0, 1, 1], np.eye(2), "y has 3 records and p has 2"),
        ([0, 1], [["a", "b"], ["c", "d"]], "p must hold numbers"),
    ],
)
def test_invalid_input_raises_an_error_that_explains(metric, y, p, message):
    with pytest.raises(MetricError, match=message):
        metric(y, p)


def test_an_unknown_average_raises_an_error():
    with pytest.raises(MetricError, match="'macro' or 'weighted', not 'micro'"):
        auroc_ovr([0, 1], np.eye(2), average="micro")


# ---- R ----


def read(name):
    with open(REFERENCE / name, newline="") as file:
        return list(csv.DictReader(file))


CASES = {}
for record in read("classes_cases.csv"):
    columns = [float(record[f"p{k}"]) for k in range(4) if record[f"p{k}"] != "NA"]
    CASES.setdefault(record["case"], []).append((int(record["y"]), columns))
R = [row for row in read("classes_r.csv") if row["metric"].startswith("auroc")]


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_r(case):
    y, p = zip(*CASES[case], strict=True)
    own = [row for row in R if row["case"] == case]
    values = [auroc_hand_till(y, p), *auroc_ovr(y, p, average=None)]
    assert len(own) == len(values)
    assert values == pytest.approx([float(row["value"]) for row in own], abs=1e-12)
