import csv
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from statcv.errors import MetricError
from statcv.metrics import auroc, partial_auroc

REFERENCE = Path(__file__).parents[1] / "reference"


@st.composite
def tied_samples(draw):
    n = draw(st.integers(2, 30))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    y[:2] = [0, 1]
    score = draw(st.lists(st.integers(-6, 6), min_size=n, max_size=n))
    return np.array(y), np.array(score)


ends = st.tuples(st.integers(0, 20), st.integers(0, 20)).filter(lambda t: t[0] != t[1])
focuses = st.sampled_from(["specificity", "sensitivity"])


def read_rows(name):
    with open(REFERENCE / name, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "case", sorted({r["case"] for r in read_rows("partial_r.csv")})
)
def test_values_equal_those_of_proc(case):
    records = [row for row in read_rows("delong_cases.csv") if row["case"] == case]
    y, a = ([float(row[name]) for row in records] for name in ("y", "a"))
    rows = [row for row in read_rows("partial_r.csv") if row["case"] == case]
    assert len(rows) == 20
    for row in rows:
        found = partial_auroc(
            y,
            a,
            range=(float(row["low"]), float(row["high"])),
            focus=row["focus"],
            corrected=row["corrected"] == "1",
        )
        expected = float(row["area"].replace("NA", "nan"))
        assert found == pytest.approx(expected, rel=1e-10, nan_ok=True), row


@given(tied_samples(), focuses)
def test_the_whole_range_is_auroc(sample, focus):
    whole = partial_auroc(*sample, range=(0, 1), focus=focus)
    assert whole == pytest.approx(auroc(*sample), abs=1e-14)
    corrected = partial_auroc(*sample, range=(0, 1), focus=focus, corrected=True)
    if whole > 0.5 - 1e-12:
        assert corrected == pytest.approx(whole, abs=1e-14)
    else:
        assert np.isnan(corrected)


@given(tied_samples(), ends, focuses)
def test_parts_add_up(sample, pair, focus):
    low, high = np.sort(pair) / 20
    cuts = sorted({0, low, high, 1})
    parts = [partial_auroc(*sample, range=part, focus=focus) for part in pairwise(cuts)]
    assert sum(parts) == pytest.approx(auroc(*sample), abs=1e-13)


@given(tied_samples(), ends)
def test_swapping_the_classes_swaps_the_focus(sample, pair):
    (y, score), (low, high) = sample, np.sort(pair) / 20
    one = partial_auroc(y, score, range=(low, high))
    other = partial_auroc(1 - y, -score, range=(low, high), focus="sensitivity")
    assert one == pytest.approx(other, abs=1e-14)


@given(tied_samples(), st.integers(1, 20))
def test_the_corrected_area_agrees_with_scikit_learn(sample, twentieths):
    most = twentieths / 20
    found = partial_auroc(*sample, range=(1 - most, 1), corrected=True)
    expected = sk.roc_auc_score(*sample, max_fpr=most)
    if expected < 0.5 - 1e-9:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(expected, abs=1e-10)


@given(tied_samples(), ends, focuses)
def test_by_a_fine_grid(sample, pair, focus):
    y, score = sample
    low, high = np.sort(pair) / 20
    fpr, tpr, _ = sk.roc_curve(y, score, drop_intermediate=False)
    x, height = (1 - fpr[::-1], tpr[::-1])
    if focus == "sensitivity":
        x, height = tpr, 1 - fpr
    grid = np.linspace(low, high, 4001)[:-1] + (high - low) / 8000
    found = partial_auroc(y, score, range=(low, high), focus=focus)
    assert found == pytest.approx(
        np.interp(grid, x, height).mean() * (high - low), abs=2e-3
    )


def test_chance_and_perfection():
    y = np.tile([0, 1], 50)
    for focus in ("specificity", "sensitivity"):
        for ends in ((0.9, 1), (0.3, 0.7), (0.1, 1 / 3)):
            same = partial_auroc(y, y * 0, range=ends, focus=focus, corrected=True)
            assert same == pytest.approx(0.5, abs=1e-12)
            best = partial_auroc(y, y, range=ends, focus=focus, corrected=True)
            assert best == pytest.approx(1)
            raw = partial_auroc(y, y, range=ends, focus=focus)
            assert raw == pytest.approx(ends[1] - ends[0])
            worst = partial_auroc(y, -y, range=ends, focus=focus, corrected=True)
            assert np.isnan(worst)
    assert partial_auroc(y, y, range=(1, 0.9)) == pytest.approx(0.1)


def test_undefined_values_are_nan_without_a_warning():
    assert np.isnan(partial_auroc([1, 1], [1, 2], range=(0.5, 1)))
    assert np.isnan(partial_auroc([0, 0], [1, 2], range=(0.5, 1)))
    assert np.isnan(partial_auroc([], [], range=(0.5, 1)))
    assert np.isnan(partial_auroc([0, 1], [1, np.nan], range=(0.5, 1)))
    assert partial_auroc([0, 1], [-np.inf, np.inf], range=(0, 0.5)) == 0.5


@pytest.mark.parametrize(
    "ends", [(0.5, 0.5), (-0.1, 1), (0, 1.1), (0, np.nan), 0.9, "ab", (0, 0.5, 1), (0,)]
)
def test_a_meaningless_range_raises_an_error(ends):
    with pytest.raises(MetricError, match="range must be two different numbers"):
        partial_auroc([0, 1], [0, 1], range=ends)


def test_an_unknown_focus_raises_an_error():
    with pytest.raises(MetricError, match="Did you mean 'sensitivity'"):
        partial_auroc([0, 1], [0, 1], range=(0, 1), focus="sensitivty")
