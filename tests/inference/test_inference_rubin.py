"""Rubin's rules agree with the R package mice, and with a calculation by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from statcv.inference.meta.rubin import rubin

REFERENCE = Path(__file__).parents[1] / "reference"
CASES = pd.read_csv(REFERENCE / "pooling_cases.csv").groupby("case")
R = pd.read_csv(REFERENCE / "pooling_r.csv").pivot(
    index="case", columns="what", values="value"
)


@pytest.mark.parametrize("case", list(CASES.groups))
def test_scalars_agree_with_mice(case):
    own = CASES.get_group(case)
    found, there = rubin(own["value"], own["se"], own["df"]), R.loc[case]
    assert found.estimate == pytest.approx(there["qbar"], rel=1e-12)
    assert found.within_se**2 == pytest.approx(there["ubar"], rel=1e-12)
    assert found.between_sd**2 == pytest.approx(there["b"], rel=1e-12)
    assert found.se**2 == pytest.approx(there["t"], rel=1e-12)
    assert found.df == pytest.approx(there["df"], rel=1e-10)
    assert found.fmi == pytest.approx(there["fmi"], rel=1e-10)


def test_the_rules_by_hand():
    # U = 1, B = 0.01, T = 1 + 4/3 * 0.01, lambda = 0.0133.../1.0133...
    found = rubin([2.0, 2.1, 1.9], [1.0, 1.0, 1.0], df=20)
    total = 1 + 4 / 3 * 0.01
    share = 4 / 3 * 0.01 / total
    old, observed = 2 / share**2, 21 / 23 * 20 * (1 - share)
    assert found.se == pytest.approx(np.sqrt(total))
    assert found.df == pytest.approx(old * observed / (old + observed))


def test_without_variation_between_imputations_nothing_is_missing():
    found = rubin([0.3] * 5, [0.1, 0.2, 0.1, 0.2, 0.1], df=[10, 20, 10, 20, 10])
    assert found.between_sd == found.fmi == 0
    assert found.df == pytest.approx(1 / np.mean([0.1, 0.05, 0.1, 0.05, 0.1]))


def test_without_variation_within_all_is_missing():
    found = rubin([0.3, 0.4], [0.0, 0.0], df=30)
    assert (found.fmi, found.df) == (1, 1)


@pytest.mark.parametrize("values", [[0.1, np.nan], [0.1, np.inf]])
def test_what_is_undefined_has_no_error(values):
    found = rubin(values, [0.1, 0.1])
    assert np.isnan([found.se, found.df, found.fmi]).all()
