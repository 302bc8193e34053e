"""Terms of counts and of ordered classes, against stepAIC() and Wald tests of R."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.models import Backward, Both, Forward

REFERENCE = Path(__file__).parents[2] / "reference"
RULES = {"backward": Backward, "forward": Forward, "both": Both}
PLAIN = "a + b + c + d + e + f + g + h"
FORMULAS = (
    PLAIN,
    "a * g + bs(c, df = 4) + d + f + h",
    "f * g + a + poly(b, 2) + d + e + a:e",
    "a * d * g + b + h + f",
)
FOLD = np.arange(150) % 5


@pytest.fixture(scope="module")
def records() -> pd.DataFrame:
    x = pd.read_csv(REFERENCE / "selection_cases.csv")[list("abcdefgh")]
    return x.join(pd.read_csv(REFERENCE / "selection_counts_cases.csv"))


@pytest.fixture(scope="module")
def from_r() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "selection_counts_r.csv")


def chosen(data: pd.DataFrame, outcome: int, model: str, rule: str) -> str:
    """Return the sets of the 5 training sets as R's file has them."""
    direction, by = rule.split()
    formula = PLAIN if by == "p" else FORMULAS[(outcome - 1) // 4]
    model, _, weighted = model.partition(" ")
    y = data[f"y{outcome}"]
    if model == "proportional_odds":
        y = pd.Categorical(y, ordered=True)
    else:
        formula += " + offset(log(t))"
    res = scv.cv(
        f"y ~ {formula}",
        data[[*"abcdefgh", "t", "w"]].assign(y=y),
        model=model,
        weights="w" if weighted else None,
        select=RULES[direction](by=by),
        scheme=FOLD,
    )
    terms = res.learner.terms
    order = sorted(range(len(terms)), key=lambda i: len(terms[i].factors))  # R's
    table = res.held.coefficients
    used = table[[n for n in res.design.names if n in table]].fillna(0.0) != 0
    sets = []
    for row in range(5):
        inside = [
            any(
                used.iloc[row].get(res.design.names[c], False) for c in terms[i].columns
            )
            for i in order
        ]
        sets.append("".join(map(str, np.array(inside, dtype=int))))
    return " ".join(sets)


# a spline is continued, and a rare level is lacking
quiet = pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")


@quiet
@pytest.mark.parametrize(
    "outcome",
    [6, 7, 12, 13, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 17))],
)
def test_r_chooses_the_same_terms(outcome, records, from_r):
    found = from_r[from_r["outcome"] == outcome]
    assert len(found) == 5
    for model, rule, sets in found[["model", "rule", "sets"]].values:
        assert chosen(records, outcome, model, rule) == sets, rule
