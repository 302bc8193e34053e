"""The analyses: data, formula and model of each part of the figure."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv import cv
from statcv.datasets import fetch_cfs, fetch_ptb, load_irae
from statcv.datasets.irae import CD4, DIVERSITY, OUTCOME
from statcv.errors import (
    ArgumentError,
    DistributionalBiasWarning,
    FormulaError,
    MissingDataWarning,
    SeparationWarning,
    suggestion,
    warn,
)
from statcv.models import Logit, XGBoost
from statcv.results import CVResult
from studies.austin2024.published.stand_in import simulate_irae

PREVALENCE, PSEUDOCOUNT = 0.25, 1e-6
CEILING = 0.1  # abundances above it are outliers in every training set
IRAE_FORMULA = f"{OUTCOME} ~ capped({CD4}, {CEILING}) + {DIVERSITY}"
TITLES = {
    "ptb": "preterm birth, tuned logistic regression",
    "irae": "adverse events, logistic regression",
    "stand_in": "simulated stand-in, logistic regression",
    "cfs_boosting": "chronic fatigue, gradient boosting",
    "cfs_xgboost": "chronic fatigue, XGBoost",
    "cfs_logistic": "chronic fatigue, tuned logistic regression",
}


@dataclass(frozen=True)
class Analysis:
    """A model of published data.

    Attributes
    ----------
    name : str
    data : pandas.DataFrame
    formula : str
    model : object
        As in :func:`statcv.cv`.
    random : bool
        Whether a fit uses random numbers, so that leave-one-out varies between runs.
    """

    name: str
    data: pd.DataFrame
    formula: str
    model: Any
    random: bool = False

    def cross_validate(
        self, scheme: Any, seed: int, repeats: int | None = None
    ) -> CVResult:
        """Cross-validate the model, without warnings of what the study shows."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DistributionalBiasWarning)
            warnings.simplefilter("ignore", SeparationWarning)
            if scheme == "rloocv":  # one draw, as in the paper
                repeats = repeats or 1
            return cv(
                self.formula,
                self.data,
                model=self.model,
                scheme=scheme,
                repeats=repeats,
                metrics="auroc",
                seed=seed,
                progress=False,
            )

    @property
    def outcome(self) -> Any:
        """The outcome, 0 or 1, in the order of the rows."""
        return self.data[self.formula.split(" ~ ")[0]].to_numpy()


def analysis(name: str, irae: str | os.PathLike[str] | None = None) -> Analysis:
    """Return an analysis by its name; the data are read once per process.

    Parameters
    ----------
    name : str
        One of ``ANALYSES``, or ``"irae"``.
    irae : str or path, optional
        The file that :func:`statcv.load_irae` reads.

    Returns
    -------
    Analysis

    Raises
    ------
    ArgumentError
        If there is no such analysis, or `irae` is needed and not given.
    DownloadError
        If the data are not available.

    Examples
    --------
    >>> own = analysis("stand_in")
    >>> own.data.shape, own.formula.split(" ~ ")[0]
    ((53, 3), 'Severe_irAE')
    """
    known = [*ANALYSES, "irae"]
    if name not in known:
        raise ArgumentError(
            f"there is no analysis {name!r}.{suggestion(name, known)} "
            f"There is {', '.join(known)}."
        )
    if name == "irae":
        if irae is None:
            raise ArgumentError("the analysis 'irae' needs the authors' file, irae=.")
        return _irae(Path(irae))
    return _ANALYSES[name]()


def seed_of(seed: int, number: int) -> int:
    """Return the seed of a run."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def frequent_taxa(data: pd.DataFrame) -> list[str]:
    """Return the taxa that are present in more than a quarter of *all* samples.

    The paper chooses them once. ``clr(…, prevalence=0.25)`` in a formula chooses them
    in each training set, as should be done except to repeat the paper.

    Parameters
    ----------
    data : pandas.DataFrame
        As :func:`statcv.fetch_ptb` returns it.

    Examples
    --------
    >>> data = pd.DataFrame({"age": [30, 40], "Atopobium_1": [0, 7], "Dialister_2": 0})
    >>> frequent_taxa(data)
    ['Atopobium_1']
    """
    taxa = data.columns[data.columns.str.fullmatch(r".*_\d+")]
    return [taxon for taxon in taxa if (data[taxon] > 0).mean() > PREVALENCE]


def ptb_formula(data: pd.DataFrame) -> str:
    """Return the formula of preterm birth, with taxa chosen as the paper does."""
    parts = ", ".join(frequent_taxa(data))
    return f"preterm ~ clr({parts}, pseudocount={PSEUDOCOUNT})"


def cfs_data() -> pd.DataFrame:
    """Return the blood tests as the authors prepare them.

    A test that one group lacks far more often is removed, and other missing values are
    0.
    """
    return fetch_cfs().drop(columns=["id", "ast"]).fillna(0)


def tuned_on_accuracy(solver: str = "newton-cg") -> Any:
    """Return the paper's logistic regression, which chooses its penalty inside.

    It takes the one of seven penalties whose accuracy is best in five folds of the
    training set.
    """
    from sklearn.linear_model import LogisticRegressionCV

    options: dict[str, Any] = {"scoring": "accuracy"}
    if "use_legacy_attributes" in signature(LogisticRegressionCV).parameters:
        options |= {"l1_ratios": (0.0,), "use_legacy_attributes": False}
    return LogisticRegressionCV(
        Cs=np.logspace(-3, 3, 7), solver=solver, cv=5, **options
    )


def ridge(C: float) -> Any:
    """Return a ridge logistic regression at a penalty.

    It is fitted to convergence: at strong penalties ranks depend on the tolerance.
    """
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, solver="newton-cholesky", tol=1e-8)


def standardised(model: Any) -> Any:
    """Return a model of covariates that are scaled in each training set."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


@cache
def _ptb() -> Analysis:
    data = fetch_ptb()
    return Analysis("ptb", data, ptb_formula(data), tuned_on_accuracy())


@cache
def _irae(path: Path) -> Analysis:
    data = load_irae(path)
    there = data[[OUTCOME, CD4, DIVERSITY]].notna().all(axis=1)
    if not there.all():
        warn(
            f"{int((~there).sum())} of {len(data)} patients of {path} lack one of the "
            "columns that are analysed, and are left out: "
            f"{', '.join(map(str, data.index[~there][:5]))}.",
            MissingDataWarning,
        )
    return Analysis("irae", data[there], IRAE_FORMULA, Logit())


@cache
def _stand_in() -> Analysis:
    return Analysis("stand_in", simulate_irae(), IRAE_FORMULA, Logit())


@cache
def _boosting() -> Analysis:
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(
        n_estimators=2000,
        learning_rate=0.01,
        max_depth=6,
        max_features=1,
        min_samples_leaf=10,
    )
    return Analysis("cfs_boosting", cfs_data(), "cfs ~ .", model, random=True)


@cache
def _xgboost() -> Analysis:
    return Analysis(
        "cfs_xgboost",
        cfs_data(),
        "cfs ~ .",
        XGBoost(tree_method="exact", base_score=0.5),
    )


@cache
def _logistic() -> Analysis:
    return Analysis(
        "cfs_logistic",
        cfs_data(),
        "cfs ~ .",
        standardised(tuned_on_accuracy("newton-cholesky")),
    )


class Capped:
    """Values, none above the largest training value below a ceiling."""

    def __init__(self) -> None:
        self._most = -np.inf

    def memorize_chunk(self, x: Any, ceiling: float) -> None:
        """Take in training values."""
        below = np.asarray(x, dtype=float)
        below = below[below < ceiling]
        self._most = max([self._most, *below])

    def memorize_finish(self) -> None:
        """See that there was a value below the ceiling."""
        if self._most == -np.inf:
            raise FormulaError("capped(): no training value is below the ceiling.")

    def transform(self, x: Any, ceiling: float) -> NDArray[np.float64]:
        """Return the values, those above the cap at it."""
        return np.asarray(np.minimum(np.asarray(x, dtype=float), self._most))


def capped(x: Any, ceiling: float) -> NDArray[np.float64]:
    """Cap values at the largest below a ceiling; in a formula, of the training rows.

    >>> capped([0.02, 0.04, 0.3], 0.1).tolist()
    [0.02, 0.04, 0.04]
    """
    learnt = Capped()
    learnt.memorize_chunk(x, ceiling)
    learnt.memorize_finish()
    return learnt.transform(x, ceiling)


capped.__patsy_stateful_transform__ = Capped  # type: ignore[attr-defined]


_ANALYSES = {
    "ptb": _ptb,
    "stand_in": _stand_in,
    "cfs_boosting": _boosting,
    "cfs_xgboost": _xgboost,
    "cfs_logistic": _logistic,
}


ANALYSES = tuple(_ANALYSES)
