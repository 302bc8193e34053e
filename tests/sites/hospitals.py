"""Made-up hospitals, and the pooled records that none of them would ever see."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd

import statcv as scv
from statcv import sites

KEY = "a key that the tests share"
FORMULA = "y ~ x0 + x1 + x2 + sex"
LEVELS = {"sex": ["f", "m"]}
SIZES = {"A": 400, "B": 300, "C": 500}


def hospital(n: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    """Draw the records of one hospital."""
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({f"x{i}": rng.normal(size=n) for i in range(3)})
    made["sex"] = rng.choice(["f", "m"], n)
    made["person"] = rng.integers(0, 10**9, n)
    made["age"] = rng.uniform(20, 90, n)
    eta = made["x0"] - 0.5 * made["x1"] + 0.5 * (made["sex"] == "m") + shift
    made["y"] = (eta + rng.logistic(size=n) > 0.4).astype(int)
    made["z"] = eta + rng.normal(size=n)
    return made


@lru_cache
def _hospitals() -> dict[str, pd.DataFrame]:
    return {
        site: hospital(n, seed, 0.2 * seed)
        for seed, (site, n) in enumerate(SIZES.items())
    }


def hospitals() -> dict[str, pd.DataFrame]:
    """Return three hospitals, which a test may change."""
    return {site: one.copy() for site, one in _hospitals().items()}


def pooled(data: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the records of all hospitals."""
    return pd.concat(data.values(), ignore_index=True)


def by_person():
    """Return the stratifier on which the hospitals agree."""
    return scv.by_hash("person", key=KEY)


def agreed(formula: str = FORMULA, **more) -> sites.SitesPlan:
    """Return the plan of most tests, with changes."""
    more = {"k": 5, "levels": LEVELS, "stratify": by_person(), **more}
    return sites.agree(formula, **more)


def run_sites(plan, data, ledgers=None):
    """Run in process; return the coordinator and the sites by name."""
    ledgers = ledgers or {}
    made = {
        name: sites.Site(name, plan, one, ledgers.get(name, sites.Ledger()))
        for name, one in data.items()
    }
    coordinator = sites.Coordinator(plan)
    message = coordinator.start()
    while not coordinator.ended:
        message = coordinator.step([site.step(message) for site in made.values()])
    for site in made.values():
        site.step(message)
    return coordinator, made


def why(answer: bytes) -> str:
    """Return why an answer refuses; empty if it does not."""
    read = sites.Message.of(answer)
    return read.header["why"] if read.kind == "refuse" else ""
