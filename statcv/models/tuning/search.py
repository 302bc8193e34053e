"""Search objects of scikit-learn, with inner splits made by this package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import ModelError
from statcv.models import Sklearn, TrainingSet
from statcv.models.base import Capabilities
from statcv.models.tuning.grid import chosen_table, for_tables
from statcv.models.tuning.inner import InnerScheme
from statcv.models.tuning.tuned import TunedFit

FITS = 50  # of a search, about: too many for two in a task
LEARNT = ("C_", "alpha_", "l1_ratio_", "n_features_", "threshold_", "best_threshold_")


def is_search(tune: Any) -> bool:
    """Return whether an object is an estimator that chooses by cross-validation."""
    if not hasattr(tune, "fit") or not hasattr(tune, "get_params"):
        return False
    return "cv" in tune.get_params(deep=False)


@dataclass(frozen=True, eq=False)
class Searched:
    """An estimator that chooses hyperparameters by a cross-validation of its own.

    Attributes
    ----------
    estimator : scikit-learn estimator
        A search, such as ``GridSearchCV``, or an estimator such as
        ``LogisticRegressionCV``.
    inner : InnerScheme or None
        Division of training sets; None if the estimator's ``cv`` defines it.
    """

    estimator: Any
    inner: InnerScheme | None
    capabilities = Capabilities(fits_per_training_set=FITS)

    @property
    def label(self) -> str:
        """How print and summary call it."""
        named = Sklearn(self.estimator).label
        told = "" if self.inner is None else f" in {self.inner.label}"
        return f"{named}, tuned{told} inside every training set"

    def check(self, kind: str) -> None:
        """Raise ModelError where the estimator does not fit the outcome."""
        Sklearn(self.estimator).check(kind)

    def fit(self, training: TrainingSet) -> TunedFit:
        """Search on the training set."""
        from sklearn.base import clone

        search = clone(self.estimator)
        if self.inner is not None:
            search.set_params(cv=list(self.inner.plan(training).split()))
        made = Sklearn(search).fit(training)
        return _read(made.estimator, made)


def _read(search: Any, fit: Any) -> TunedFit:
    """Return the hyperparameters chosen, and their score."""
    results = getattr(search, "cv_results_", None)
    if results is None or not hasattr(search, "best_params_"):
        learnt = {
            name: getattr(search, name) for name in LEARNT if name in vars(search)
        }
        first = {name[:-1]: np.ravel(value)[0] for name, value in learnt.items()}
        values = for_tables({n: v for n, v in first.items() if v is not None})
        if not values:
            raise ModelError(
                f"{type(search).__name__} chooses no hyperparameter that is known "
                "(best_params_, C_, alpha_, …); give it as model=, not as tune=."
            )
        return TunedFit(fit, values, np.nan, pd.DataFrame([values]))
    values = for_tables(search.best_params_)
    path = chosen_table([for_tables(one) for one in results["params"]])
    metric = search.refit if isinstance(search.refit, str) else "score"
    splits = search.n_splits_
    path["score"] = results[f"mean_test_{metric}"]
    path["se"] = np.asarray(results[f"std_test_{metric}"]) / np.sqrt(max(splits - 1, 1))
    return TunedFit(fit, values, float(search.best_score_), path)


def read_search(search: Any, kind: str, inner: InnerScheme) -> Searched:
    """Return a search as a model; its ``cv`` divides training sets if it is an object.

    Raises
    ------
    ModelError
        If it does not refit the whole training set.
    """
    if getattr(search, "refit", True) is False:
        raise ModelError(
            f"{type(search).__name__}(refit=False) has no model in the end; leave "
            "refit out."
        )
    if hasattr(search, "estimator") and not isinstance(
        getattr(search, "refit", True), (bool, str)
    ):
        raise ModelError(
            f"{type(search).__name__}(refit=…) with a function has no one score; give "
            "refit=True, or the name of a score."
        )
    cv = search.get_params(deep=False)["cv"]
    ours = cv is None or isinstance(cv, (int, np.integer))
    made = Searched(search, inner if ours else None)
    made.check(kind)
    return made
