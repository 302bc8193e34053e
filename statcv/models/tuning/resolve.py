"""The tuned model for an argument ``tune=``, which may be a search of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from statcv import errors
from statcv.arguments import is_whole
from statcv.folds import SCHEMES, FoldPlan
from statcv.formula import Outcome
from statcv.models import Logit, Model, Sklearn, TrainingSet
from statcv.models.base import Capabilities
from statcv.models.tuning.grid import chosen_table, plain
from statcv.models.tuning.inner import InnerScheme
from statcv.models.tuning.tuned import Tuned, TunedFit
from statcv.models.tuning.tuning import Tuning

FITS = 50  # fits of a search, about: a task has one search
LEARNT = ("C_", "alpha_", "l1_ratio_", "n_features_", "threshold_", "best_threshold_")


def is_search(tune: Any) -> bool:
    """Return whether an object is an estimator that chooses by cross-validation."""
    if not hasattr(tune, "fit") or not hasattr(tune, "get_params"):
        return False
    return "cv" in tune.get_params(deep=False)


def parts_with_folds(model: Any) -> list[str]:
    """Return the names of the parts of a scikit-learn model that make folds.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegressionCV
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> steps = StandardScaler(), LogisticRegressionCV()
    >>> parts_with_folds(Sklearn(make_pipeline(*steps)))
    ['LogisticRegressionCV']
    >>> parts_with_folds(Sklearn(make_pipeline(*steps[:1])))
    []
    """
    if not isinstance(model, Sklearn):
        return []
    parts = [model.estimator, *model.estimator.get_params().values()]
    found = [
        type(part).__name__
        for part in parts
        if not isinstance(part, type) and is_search(part)
    ]
    return list(dict.fromkeys(found))


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

    @property
    def capabilities(self) -> Capabilities:
        """Those of a search of many fits."""
        able = Sklearn(self.estimator).capabilities
        return Capabilities(fits_per_training_set=FITS, missing=able.missing)

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
        values = plain({n: v for n, v in first.items() if v is not None})
        if not values:
            raise errors.ModelError(
                f"{type(search).__name__} chooses no hyperparameter that is known "
                "(best_params_, C_, alpha_, …); give it as model=, not as tune=."
            )
        return TunedFit(fit, values, np.nan, pd.DataFrame([values]))
    values = plain(search.best_params_)
    path = chosen_table([plain(one) for one in results["params"]])
    metric = search.refit if isinstance(search.refit, str) else "score"
    splits = search.n_splits_
    path["score"] = results[f"mean_test_{metric}"]
    # scikit-learn divides squares by k: √(k - 1) makes it the standard error
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
        raise errors.ModelError(
            f"{type(search).__name__}(refit=False) has no model in the end; leave "
            "refit out."
        )
    if hasattr(search, "estimator") and not isinstance(
        getattr(search, "refit", True), (bool, str)
    ):
        raise errors.ModelError(
            f"{type(search).__name__}(refit=…) with a function has no one score; give "
            "refit=True, or the name of a score."
        )
    cv = search.get_params(deep=False)["cv"]
    ours = cv is None or isinstance(cv, (int, np.integer))
    made = Searched(search, inner if ours else None)
    made.check(kind)
    return made


# ---- the tuned model of a call ----


def model_to_tune(tune: Any, model: Any) -> Any:
    """Return the model to tune: the search itself if ``tune`` is one.

    Raises
    ------
    ArgumentTypeError
        If ``tune`` has the wrong type, or holds a model besides ``model``.
    """
    if tune is None or isinstance(tune, (Mapping, Tuning)):
        return model
    if isinstance(tune, type):
        raise errors.ArgumentTypeError(
            f"tune={tune.__name__} is a class; make an object of it."
        )
    if not is_search(tune):
        raise errors.ArgumentTypeError(
            "tune must be a grid, such as {'C': [0.1, 1, 10]}, a Tuning, or a search "
            f"object of scikit-learn, not {type(tune).__name__}; of a pipeline in "
            "model=, the grid names step and argument, as in "
            "{'logisticregression__C': [0.1, 1, 10]}."
        )
    if model is not None:
        raise errors.ArgumentTypeError(
            f"tune={type(tune).__name__}(…) already holds its model; leave model out."
        )
    return tune


def given_choices(tune: Any, model: Model) -> tuple[Any, Model]:
    """Return what is to be tuned, and the model, if this has several values of C.

    Raises
    ------
    ArgumentError
        If ``tune`` chooses ``C`` as well.
    """
    if not (isinstance(model, Logit) and len(model.strengths) > 1):
        return tune, model
    given = tune if isinstance(tune, Tuning) else Tuning(tune or {"C": model.C})
    if tune is not None and "C" in given.grid:
        raise errors.ArgumentError(
            f"tune= chooses C, of which the model has {len(model.strengths)} values as "
            "well; give them once."
        )
    grid = {"C": model.strengths, **given.grid}
    return replace(given, grid=grid), replace(model, C=model.strengths[0])


def tuned_model(
    tune: Any, learner: Model, outcome: Outcome, plan: FoldPlan
) -> Tuned | Searched:
    """Return the model that is tuned in every training set of a plan.

    Parameters
    ----------
    tune : mapping, Tuning or scikit-learn search
    learner : Model
        The result of :func:`model_to_tune`, resolved.
    outcome : Outcome
    plan : FoldPlan

    Warns
    -----
    FoldWarning
        If a training set has too few records of a class for the inner folds.
    """
    kind = outcome.kind
    made: Tuned | Searched
    if is_search(tune):
        k = tune.get_params(deep=False)["cv"]
        folds = None if k is None else int(k) if is_whole(k) else None
        if folds is not None and folds < 2:
            raise errors.ArgumentError(
                f"{type(tune).__name__}(cv={folds}) is out of range: 2 or more."
            )
        weighted = plan.rebalance == "weight"  # splits do not show it
        name = None if not weighted else "stratified_kfold"
        if weighted and kind == "continuous":
            name = "kfold"
        inner = InnerScheme.of(name, folds, 1, None, kind=kind, outer=plan)
        made = read_search(tune, kind, inner)
    else:
        tuning = tune if isinstance(tune, Tuning) else Tuning(tune)
        made = tuning.tuned(learner, outcome, plan)
    if made.inner is not None:
        _warn_of_few(made.inner, outcome, plan)
    return made


def _warn_of_few(inner: InnerScheme, outcome: Outcome, plan: FoldPlan) -> None:
    """Warn once if training sets have fewer inner folds than asked for."""
    if inner.k is None:
        return
    smallest = int(plan.n_train.min())
    if smallest < inner.k:
        raise errors.ArgumentError(
            f"k={inner.k} inner folds are too many for a training set of {smallest} "
            "records."
        )
    if not SCHEMES[inner.name].spreads:
        return
    training, _ = plan.counts(outcome.y, len(outcome.levels))
    fewest = training.min(axis=0)
    if plan.strata is not None:  # strata are then allocated to inner folds
        for code in range(len(fewest)):
            units = len(np.unique(plan.strata.codes[outcome.y == code]))
            fewest[code] = min(fewest[code], units)
    rarest = int(fewest.argmin())
    if fewest[rarest] < inner.k:
        errors.warn(
            f"class {outcome.levels[rarest]!r} has as few as {fewest[rarest]} "
            f"{'records' if plan.strata is None else 'clusters'} in a training set: "
            f"hyperparameters are chosen there in {max(int(fewest[rarest]), 2)} folds, "
            f"not {inner.k}.",
            errors.FoldWarning,
        )
