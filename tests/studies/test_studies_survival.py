"""What leave-one-out gives away of times to an event."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from studies import survival

RATES = {
    "after t": {"censoring": 1 / 3, "after": 0.7},
    "30 %": {"censoring": 0.3 / 0.7},
    "60 %": {"censoring": 1.5},
}
COVARIATES = {
    "1": (1, 0.0),
    "1, ridge": (1, 100.0),
    "5": (5, 0.0),
    "5, ridge": (5, 100),
}


def table() -> pd.DataFrame:
    return survival.stored("noise")


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("seed", range(4))
def test_risks_without_covariates_rank_every_pair_wrong(ties: str, seed: int):
    rng = np.random.default_rng(seed)
    time = rng.integers(1, 12, size=30)  # many ties
    data = pd.DataFrame({"time": time, "status": rng.integers(0, 2, 30)})
    model = scv.models.Cox(ties=ties)
    with pytest.warns(scv.errors.DistributionalBiasWarning, match=r"at 6 0\.000"):
        result = scv.cv(
            "Surv(time, status) ~ 1", data, horizon=6, scheme="loocv", model=model
        )
    assert float(result.estimate("auroc@6", interval=None)) == 0


def test_the_expectation_under_random_folds_is_the_mean_over_all_outcomes():
    share, folds = 0.4, np.repeat([0, 1, 2], 2)
    total = weight = 0.0
    for outcome in product([0, 1], repeat=6):
        y = np.array(outcome)
        if 0 < y.sum() < 6:
            risk = (y.sum() - np.bincount(folds, y))[folds]
            gap = risk[y == 1][:, None] - risk[y == 0]
            chance = share ** y.sum() * (1 - share) ** (6 - y.sum())
            total += chance * ((gap > 0) + (gap == 0) / 2).mean()
            weight += chance
    expected = survival.without_covariates(6, 3, share)
    assert expected == pytest.approx(total / weight, abs=1e-12)


def test_enumeration_gives_what_was_measured():
    own = table().query("covariates == 'none' and censoring == 'after t'")
    own = own[own["scheme"] == "kfold"].set_index("n")
    for n, row in own.iterrows():
        expected = survival.without_covariates(n, 10, 1 - np.exp(-0.65))
        assert abs(row["auc_pooled"] - expected) < 3.5 * row["auc_pooled_se"]


def test_leave_one_out_is_near_its_expectation_to_first_order():
    own = table().query("scheme == 'loocv' and covariates != 'none'")
    gaps = []
    for _, row in own.iterrows():
        p, penalty = COVARIATES[row["covariates"]]
        rates = RATES[row["censoring"]]
        expected = survival.leave_one_out(row["n"], p, 0.65, penalty=penalty, **rates)
        gap = abs(row["auc_pooled"] - expected)
        assert gap < 0.05 + 3.5 * row["auc_pooled_se"]
        gaps.append(gap)
    assert np.mean(gaps) < 0.03


def test_comparisons_within_one_fit_are_centred_on_noise():
    own = table().dropna(subset="auc_one_fit").query("covariates != 'none'")
    off = (own["auc_one_fit"] - 0.5).abs() / own["auc_one_fit_se"]
    # cells share data sets, so that chance moves many of them together
    assert (off > 1.96).mean() < 0.15
    assert off.max() < 4.5
    assert own["auc_one_fit"].between(0.47, 0.52).all()
    ties = table().dropna(subset="auc_one_fit").query("covariates == 'none'")
    assert (ties["auc_one_fit"] == 0.5).all()


def test_a_run_has_a_row_for_each_cell():
    found, known = survival.noise(1, seed=2), table()
    assert found.columns.tolist() == known.columns.tolist()
    names = ["n", "censoring", "covariates", "scheme"]
    assert found[names].equals(known[names])
