"""The populations, models and schemes on which the defaults are tried."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from statcv import cv
from statcv.folds import by_value
from statcv.models import Cox, Forward, Linear, Logit, Neighbors, Screen
from statcv.results import CVResult
from studies.inference.shapes import (
    CHOSEN_FROM,
    COMPARED,
    CONTINUOUS,
    SHAPES,
    USELESS,
    Shape,
)
from studies.inference.times import (
    COMPARED_TIMES,
    FEW,
    HORIZON,
    TIMES,
    UNRELATED,
    Times,
)

FEWER = 4  # Slow methods and slow models are run on every fourth data set.
MORE = 5  # times as many data sets where models choose columns
LARGEST = 200  # largest number of records for which slow methods are run
OTHERS = (
    "auprc",
    "calibration_slope",
    "brier",
    "brier_skill",
    "log_loss",
    "balanced_accuracy",
    "calibration_intercept",
    "oe_ratio",
    "accuracy",
    "sensitivity",
    "specificity",
)
OF_NUMBERS = ("rmse", "mae", "r2")
SCHEMES: dict[str, dict[str, Any]] = {
    "stratified_kfold": {"scheme": "stratified_kfold"},
    "repeated_kfold": {"scheme": "stratified_kfold", "k": 5, "repeats": 5},
    "rloocv": {"scheme": "rloocv", "repeats": 4},
}


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(50, min_samples_leaf=3, random_state=0)


def _boosted() -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(n_estimators=30, max_depth=2, random_state=0)


def _neighbors() -> Any:
    return Neighbors(15)


def _lasso() -> Any:
    return Logit(C=[0.05, 0.1, 0.2, 0.5, 1, 5], l1_ratio=1.0, standardize=True)


MODELS: dict[str, Callable[[], Any]] = {
    "ridge": lambda: Logit(C=1.0),
    "unpenalised": Logit,
    "boosted": _boosted,
    "forest": _forest,
    "neighbors": _neighbors,
    "linear": Linear,
    "backward": Logit,
    "forward": Logit,
    "screen": Logit,
    "screened forward": Logit,
    "lasso": _lasso,
    "net": lambda: Logit(C=0.1, l1_ratio=0.5, standardize=True),
    "cox": Cox,
    "cox_ridge": lambda: Cox(C=1.0),
}
WITH_CLASSES = ("ridge", "unpenalised", "boosted", "forest", "neighbors")
SLOW = ("boosted", "forest")
SELECT: dict[str, Any] = {
    "backward": "backward",
    "forward": "forward",
    "screen": Screen(screen=5),
    "screened forward": Forward(screen=5),
}
CHOOSING = (*SELECT, "lasso", "net")  # columns, inside every training set
OF_CHOICES = (
    *("noise", "strong signal", "skewed", "rare", "uniform", "correlated", "binary"),
    *("mixture", "unequal variances", "interaction"),
)
OF_USELESS = {
    "ten useless": ("backward", "forward", "lasso"),
    "fifteen useless": ("backward", "forward", "net"),
    "a thousand useless": ("screen", "net"),
    "a thousand useless, larger": ("screened forward", "net"),
}
OF_RIDGES = ("times, one marker", "times, skewed", "times, correlated")
OF_TREES = ("binary", "mixture", "interaction", "skewed")


@dataclass(frozen=True)
class Cell:
    """A question, a population, a model and a scheme.

    Attributes
    ----------
    question : {"interval", "equal", "nested", "chosen", "permuted"}
        What is asked: an interval, or a difference of two equally good models, or of
        nested ones, or of all covariates and those that are chosen among them, or a
        test by permutation.
    population : str
        A name in `SHAPES` or `TIMES`; for differences in `COMPARED`, `CHOSEN_FROM` or
        `COMPARED_TIMES`; for tests by permutation in `USELESS` or `UNRELATED`.
    model, scheme : str
        Names in `MODELS` and `SCHEMES`.
    """

    question: str
    population: str
    model: str
    scheme: str

    @property
    def name(self) -> str:
        """Prefix of its file names."""
        place = self.population.replace(", ", "_").replace(" ", "_")
        model = self.model.replace(" ", "_")
        return f"{self.question}-{place}-{model}-{self.scheme}"

    @property
    def shape(self) -> Shape | Times:
        """The population."""
        found: dict[str, Shape | Times] = {**SHAPES, **CONTINUOUS, **TIMES}
        if self.question in ("equal", "nested", "chosen"):
            found = {**COMPARED, **CHOSEN_FROM, **COMPARED_TIMES}
        elif self.question == "permuted":
            found = {**USELESS, **UNRELATED}
        return found[self.population]

    def count(self, data_sets: int) -> int:
        """Return the number of data sets: fewer of slow models, more of choices."""
        if self.model in SLOW:
            return -(-data_sets // FEWER)
        return data_sets * (MORE if self.model in CHOOSING else 1)

    def drawn(self, seed: int, number: int) -> pd.DataFrame:
        """Return the data set of that number, the same for all models and schemes."""
        of_population = zlib.crc32(self.population.encode())
        stream = np.random.SeedSequence(seed, spawn_key=(of_population, number))
        return self.shape.sample(np.random.default_rng(stream))

    def cross_validate(
        self, data: pd.DataFrame, names: Sequence[str], seed: int, plan: Any = None
    ) -> CVResult:
        """Cross-validate the model with some covariates, on a plan if given."""
        held_out = dict(SCHEMES[self.scheme])
        if plan is not None:
            held_out = {"scheme": plan}
        elif self.shape.clustered:
            held_out["stratify"] = by_value("id")
        divided = self.shape.clustered or self.shape.continuous
        if divided and held_out["scheme"] == "stratified_kfold":
            held_out["scheme"] = "kfold"
        left = "y"
        if isinstance(self.shape, Times):
            left, held_out["horizon"] = "Surv(time, status)", HORIZON
            if self.question != "interval" or self.scheme != "stratified_kfold":
                held_out["metrics"] = FEW
        if self.question == "permuted":  # whose every permutation repeats it
            held_out["repeats"] = 1
        formula = f"{left} ~ {' + '.join(names)}"
        if self.model in SELECT:
            held_out["select"] = SELECT[self.model]
        return cv(formula, data, model=MODELS[self.model](), seed=seed, **held_out)


def cells() -> list[Cell]:
    """Return the cells of the study."""
    made = []
    for population, shape in SHAPES.items():
        for model in WITH_CLASSES:
            for scheme in SCHEMES:
                others = population in OF_TREES and scheme == "stratified_kfold"
                fits = scheme != "rloocv" or shape.n <= LARGEST
                if others if model in (*SLOW, "neighbors") else fits:
                    made.append(Cell("interval", population, model, scheme))
    for population in OF_CHOICES:
        for model in ("backward", "lasso"):
            made.append(Cell("interval", population, model, "stratified_kfold"))
    for population in CHOSEN_FROM:
        unequal = "half" in population
        for question in ("nested",) if unequal else ("equal", "nested", "chosen"):
            for model in ("backward", "lasso"):
                made.append(Cell(question, population, model, "stratified_kfold"))
        if not unequal and "large" not in population:
            made.append(Cell("chosen", population, "backward", "rloocv"))
    for population, models in OF_USELESS.items():
        for model in models:
            made.append(Cell("permuted", population, model, "stratified_kfold"))
    for population in CONTINUOUS:
        for model in ("linear", "neighbors"):
            made.append(Cell("interval", population, model, "stratified_kfold"))
    for population in COMPARED:
        for question in ("equal", "nested"):
            for model in ("ridge", "unpenalised", "forest"):
                for scheme in ("stratified_kfold", "repeated_kfold"):
                    few = scheme == "stratified_kfold" and "large" not in population
                    if few or model != "forest":
                        made.append(Cell(question, population, model, scheme))
        if "markers" in population:
            made.append(Cell("equal", population, "ridge", "rloocv"))
    return made + _of_times()


def _of_times() -> list[Cell]:
    """Return the cells with times to an event."""
    made = []
    for population, shape in TIMES.items():
        made.append(Cell("interval", population, "cox", "stratified_kfold"))
        if population in OF_RIDGES:
            made.append(Cell("interval", population, "cox_ridge", "stratified_kfold"))
        if shape.n <= LARGEST:
            made.append(Cell("interval", population, "cox", "rloocv"))
    for population in COMPARED_TIMES:
        for question in ("equal", "nested"):
            if question == "nested" or "half" not in population:
                made.append(Cell(question, population, "cox", "stratified_kfold"))
    for population in UNRELATED:
        for scheme in ("stratified_kfold", "rloocv"):
            made.append(Cell("permuted", population, "cox", scheme))
    return made
