"""The terms chosen in every training set, against step(), rms::fastbw and abe of R."""

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
    "a * d * g + bs(b, df = 3) + h + f",
    "c * g + c:f + f + bs(a, df = 3) + d + h",
)
FOLD = np.arange(150) % 5


@pytest.fixture(scope="module")
def records() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "selection_cases.csv")


@pytest.fixture(scope="module")
def from_r() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "selection_r.csv")


def chosen(records: pd.DataFrame, outcome: int, rule: str) -> str:
    """Return the sets of the 5 training sets as R's file has them."""
    direction, by = rule.split()
    formula = PLAIN if by == "p" else FORMULAS[(outcome - 1) % 5]
    data = records[list("abcdefgh")].assign(y=records[f"y{outcome}"])
    res = scv.cv(
        f"y ~ {formula}",
        data,
        model="linear" if outcome > 35 else "logit",
        select=RULES[direction](by=by),
        scheme=FOLD,
    )
    terms = res.learner.terms
    order = sorted(range(len(terms)), key=lambda i: len(terms[i].factors))  # R's
    names = [terms[i].name for i in order]
    used = np.nan_to_num(res.held.coefficients.to_numpy()) != 0
    inside = {term.name: used[:, list(term.columns)].any(axis=1) for term in terms}
    sets = zip(*(inside[name].astype(int).astype(str) for name in names), strict=True)
    return " ".join("".join(one) for one in sets)


# few records for each coefficient: some fits separate, or a spline is continued
quiet = pytest.mark.filterwarnings("ignore::statcv.errors.StatcvWarning")


@quiet
@pytest.mark.parametrize("outcome", [2, 23, 39])
def test_r_chooses_the_same_terms(outcome, records, from_r):
    for rule, sets in from_r[from_r["outcome"] == outcome][["rule", "sets"]].values:
        assert chosen(records, outcome, rule) == sets, rule


@quiet
@pytest.mark.slow
@pytest.mark.parametrize("outcome", range(1, 51))
def test_r_chooses_the_same_terms_of_every_outcome(outcome, records, from_r):
    for rule, sets in from_r[from_r["outcome"] == outcome][["rule", "sets"]].values:
        assert chosen(records, outcome, rule) == sets, rule


@quiet
def test_multinom_chooses_the_same_terms_of_three_classes(records):
    for outcome, classes, sets in pd.read_csv(
        REFERENCE / "selection_classes_r.csv", dtype=str
    ).to_numpy():
        data = records[list("abcdef")].assign(y=[f"k{one}" for one in classes])
        res = scv.cv("y ~ .", data, select="backward", scheme=FOLD)
        used = np.nan_to_num(res.held.coefficients.to_numpy()).reshape(5, 2, -1) != 0
        inside = [
            used[:, :, list(term.columns)].any(axis=(1, 2))
            for term in res.learner.terms
        ]
        found = ["".join(map(str, one)) for one in np.transpose(inside).astype(int)]
        assert " ".join(found) == sets, outcome


@pytest.mark.parametrize("outcome", ["y2", "y40"])
def test_abe_chooses_terms_as_often_in_given_subsamples(outcome, records):
    table = pd.read_csv(REFERENCE / "selection_abe_r.csv", dtype=str)
    table = table[table["outcome"] == outcome]
    held = [np.array(rows.split(), dtype=int) for rows in table["held_out"]]
    pairs = [(np.setdiff1d(np.arange(150), rows), rows) for rows in held]
    res = scv.cv(
        f"y ~ {PLAIN}",
        records[list("abcdefgh")].assign(y=records[outcome]),
        model="linear" if outcome == "y40" else "logit",
        select="backward",
        scheme=pairs,
    )
    often = res.selection.set_index("term")["fits"]
    chosen = np.array([[*map(int, one)] for one in table["set"]])
    assert often[list("abcdefgh")].tolist() == chosen.sum(axis=0).tolist()
