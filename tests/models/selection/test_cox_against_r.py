"""Cox regressions: terms chosen, and likelihood-ratio tests, against R's coxph."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.arguments import RESAMPLE
from statcv.models import Backward, Both, Forward

REFERENCE = Path(__file__).parents[2] / "reference"
RULES = {"backward": Backward, "forward": Forward, "both": Both}
PLAIN = "a + b + c + d + e + f + g + h"
FORMULAS = (
    PLAIN,
    "a * g + bs(c, df = 4) + d + f + h",
    "f * g + a + poly(b, 2) + d + e + a:e",
    "c * g + c:f + f + bs(a, df = 3) + d + h",
)
FOLD = np.arange(150) % 5


@pytest.fixture(scope="module")
def records() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "selection_cases.csv")[list("abcdefgh")]


@pytest.fixture(scope="module")
def outcomes() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "cox_selection_cases.csv")


@pytest.fixture(scope="module")
def from_r() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "cox_selection_r.csv")


def with_times(records: pd.DataFrame, y: pd.Series) -> pd.DataFrame:
    return records.assign(time=y.abs(), status=(y > 0).astype(int))


def chosen(data: pd.DataFrame, outcome: int, ties: str, rule: str) -> str:
    """Return the sets of the 5 training sets as R's file has them."""
    direction, by = rule.split()
    formula = PLAIN if by == "p" else FORMULAS[(outcome - 1) % 4]
    res = scv.cv(
        f"Surv(time, status) ~ {formula}",
        data,
        model=scv.models.Cox(ties=ties),
        select=RULES[direction](by=by),
        scheme=FOLD,
    )
    terms = res.learner.terms
    order = sorted(range(len(terms)), key=lambda i: len(terms[i].factors))  # R's
    names = res.held.coefficients.columns
    used = np.nan_to_num(res.held.coefficients.to_numpy()) != 0
    assert "Intercept" not in names
    places = [[c - 1 for c in terms[i].columns] for i in order]
    inside = np.column_stack([used[:, one].any(axis=1) for one in places])
    return " ".join("".join(map(str, one)) for one in inside.astype(int))


# few events for each coefficient: some hazards are monotone, or a spline is continued
quiet = pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")


@quiet
@pytest.mark.parametrize(
    "outcome", [3, 8, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 21))]
)
def test_r_chooses_the_same_terms(outcome, records, outcomes, from_r):
    data = with_times(records, outcomes[f"y{outcome}"])
    found = from_r[from_r["outcome"] == outcome]
    assert len(found) == 5
    for ties, rule, sets in found[["ties", "rule", "sets"]].values:
        assert chosen(data, outcome, ties, rule) == sets, rule


def in_order(term: str) -> str:
    """Return a term with its factors sorted, and without spaces."""
    return ":".join(sorted(term.replace(" ", "").split(":")))


@quiet
@pytest.mark.parametrize("outcome", range(1, 9))
def test_r_tests_single_terms_alike(outcome, records, outcomes):
    table = pd.read_csv(REFERENCE / "cox_drop1_r.csv")
    table = table[table["outcome"] == outcome]
    res = scv.cv(
        f"Surv(time, status) ~ {FORMULAS[(outcome - 1) % 4]}",
        with_times(records, outcomes[f"y{outcome}"]),
        model=scv.models.Cox(ties=table["ties"].iloc[0]),
        k=2,
        seed=1,
    )
    made = res.drop1().table.set_index("term").drop("<none>")
    made.index = made.index.map(in_order)
    assert len(made) == len(table)
    made = made.loc[table["term"].map(in_order)]
    assert made["df"].tolist() == table["df"].tolist()
    np.testing.assert_allclose(made["lr"], table["lr"], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(made["lr_p"], table["p"], rtol=1e-7)


def test_rms_corrects_the_concordance_for_the_same_optimism(records, outcomes):
    data = with_times(records, outcomes["y5"])
    table = pd.read_csv(REFERENCE / "cox_validate_r.csv")
    rows = np.loadtxt(REFERENCE / "cox_validate_samples.csv", dtype=int, delimiter=",")
    for number, given in enumerate(rows):
        key = np.random.SeedSequence(7, spawn_key=(RESAMPLE, number))
        drawn = np.random.default_rng(key).integers(150, size=150)
        assert np.array_equal(drawn, given)
    for row, select in zip(table.itertuples(), (None, Backward(by="p")), strict=True):
        formula = f"Surv(time, status) ~ {PLAIN}"
        res = scv.cv(formula, data, select=select, k=2, seed=1)
        made = res.optimism_corrected("harrell_c", n_boot=row.n, seed=7)
        # Dxy is 2 C - 1
        assert made.apparent == pytest.approx((row.apparent + 1) / 2, abs=1e-8)
        assert made.optimism == pytest.approx(row.optimism / 2, abs=1e-8)
