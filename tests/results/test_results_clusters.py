"""Standard errors of coefficients that allow for clusters, beside those of R."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.errors import StatcvWarning

REFERENCE = Path(__file__).parent.parent / "reference"
DATA = pd.read_csv(REFERENCE / "clusters_cases.csv")
OF_R = pd.read_csv(REFERENCE / "clusters_r.csv")


@pytest.mark.parametrize(
    ("name", "formula", "model"),
    [
        ("logistic", "y ~ x + g + z", None),
        ("linear", "c ~ x + g + z", None),
        ("poisson", "n ~ x + g + z", "poisson"),
        ("negative_binomial", "n ~ x + g + z", "negative_binomial"),
        ("cox", "Surv(t, s) ~ x + g + z", None),
        ("cox_strata", "Surv(t, s) ~ x + g + z + strata(hosp)", None),
        ("ordered", "k ~ x + z", "proportional_odds"),
    ],
)
def test_standard_errors_are_those_of_r(name, formula, model):
    table = scv.cv(formula, DATA, model=model, stratify="id", k=3, seed=1).tidy()
    own = OF_R.loc[OF_R["model"] == name, "se"]
    np.testing.assert_allclose(table["std.error"], own, rtol=2e-6)
    assert "Standard errors allow for 60 clusters." in str(table)
    wald = table["estimate"] / table["std.error"]
    np.testing.assert_allclose(table["statistic"], wald)


def test_the_order_of_classes_changes_no_standard_error():
    """The scores of each class are those of its own coefficients."""
    data = DATA.assign(k=np.where(DATA["k"] == 2, "c", np.where(DATA["y"], "b", "a")))
    swapped = data.assign(k=data["k"].map({"a": "a", "b": "c", "c": "b"}))
    one, other = (
        scv.cv("k ~ x + z", made, stratify="id", k=3, seed=1).tidy()["std.error"]
        for made in (data, swapped)
    )
    np.testing.assert_allclose(other.to_numpy()[[3, 4, 5, 0, 1, 2]], one, rtol=1e-6)


def test_duplicates_within_a_cluster_change_no_standard_error():
    """They are those of White for single records."""
    once = DATA.drop_duplicates("id")
    twice = pd.concat([once, once], ignore_index=True)
    table = scv.cv("c ~ x + z", twice, stratify="id", k=3, seed=1).tidy()
    X = np.column_stack([np.ones(len(once)), once[["x", "z"]]])
    pull = X * (once["c"].to_numpy() - X @ table["estimate"].to_numpy())[:, None]
    white = ((pull @ np.linalg.inv(X.T @ X)) ** 2).sum(axis=0)
    np.testing.assert_allclose(table["std.error"], np.sqrt(white), rtol=1e-8)


def test_few_clusters_are_told():
    data = DATA.assign(ward=DATA["id"] % 12, site=np.arange(len(DATA)) % 3)
    table = scv.cv("y ~ x + z", data, stratify="ward", k=3, seed=1).tidy()
    said = "allow for 12 clusters, and tend to be too small with so few."
    assert said in re.sub(r"\s+", " ", str(table))
    few = scv.cv("y ~ x + z", data, stratify="site", k=3, seed=1)
    with pytest.warns(StatcvWarning, match="not more clusters than coefficients"):
        assert few.tidy()["std.error"].isna().all()


def test_pooled_coefficients_allow_for_clusters():
    results = [
        scv.cv("y ~ x + z", DATA.assign(x=DATA["x"] + more), stratify="id", k=3, seed=1)
        for more in (0.0, 0.1)
    ]
    pooled = scv.pool(results).tidy().set_index("term")
    own = results[0].tidy().set_index("term")
    np.testing.assert_allclose(pooled["std.error"]["x"], own["std.error"]["x"])
    assert (pooled["df"] <= 60).all()
