"""Tuning as a call specifies it: a grid, or a search of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from statcv import errors
from statcv.arguments import MAX_REPEATS, check_types, check_whole, is_whole, one_of
from statcv.folds import SCHEMES, FoldPlan
from statcv.formula import Outcome
from statcv.metrics import get_metric
from statcv.metrics.named import OF_KINDS, named_metric
from statcv.models import Logit, Model, Sklearn, TrainingSet
from statcv.models.base import Capabilities
from statcv.models.tuning.grid import candidates, chosen_table, plain, read_grid
from statcv.models.tuning.inner import InnerScheme
from statcv.models.tuning.scoring import way_of
from statcv.models.tuning.tuned import Tuned, TunedFit
from statcv.tables import Constructed

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


# ---- the specification of tuning in a call ----

RULES = ("best", "one_se")
DRAWS = ("subsample", "weight", "upsample")
DEFAULTS = {
    "continuous": "mse",
    "binary": "log_loss",
    "multiclass": "log_loss",
    "survival": "harrell_c",
}


@dataclass(frozen=True, repr=False)
class Tuning(Constructed):
    """The grid and the rule for hyperparameters chosen inside every training set.

    Every training set is divided again by an inner plan, and fitted with the
    combination of values that predicts its inner held-out records best.

    Parameters
    ----------
    grid : mapping of str to sequence
        Values of each hyperparameter, of which every combination is tried: arguments of
        a model of :mod:`statcv.models`, or of ``set_params`` of a scikit-learn
        estimator or pipeline.
    metric : str, optional
        A name in ``statcv.metrics.METRICS``; by default log-loss for classes, mean
        squared error for a continuous outcome. A rank metric is the mean over inner
        folds, or the share of pairs if the inner scheme compares pairs.
    scheme : str, optional
        Scheme of the inner plans: ``"stratified_kfold"``, the default for classes,
        ``"kfold"``, that for a continuous outcome, ``"rkfold"``, ``"loocv"``,
        ``"rloocv"`` or ``"leave_pair_out"``; rebalanced like the outer plan, whose
        clusters are not divided.
    k : int, optional
        Number of inner folds; by default 5, or as many as the rarest class of a
        training set allows.
    repeats : int, default 1
        Number of times that each training set is divided.
    rebalance : {"subsample", "weight", "upsample"}, optional
        Way in which inner training sets are given equal class totals.
    rule : {"best", "one_se"}
        The best value, the simplest of equal ones; or the simplest whose score lies
        within one standard error of the best. A smaller ``C`` or ``max_depth`` is
        simpler, a larger ``alpha``, ``k`` or ``n_neighbors``; of other hyperparameters
        the value that is named first.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If the grid or another argument is not valid.
    MetricError
        If the metric is unknown.

    References
    ----------
    Varma & Simon (2006), BMC Bioinformatics 7:91; Breiman, Friedman, Olshen & Stone
    (1984), Classification and Regression Trees.

    Examples
    --------
    >>> import statcv as scv
    >>> tuning = scv.Tuning({"C": [0.01, 0.1, 1, 10]}, rule="one_se")
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), tune=tuning, seed=1)
    >>> sorted(set(res.tuned["C"]))
    [0.01, 0.1, 1.0]
    """

    grid: Mapping[str, Any]
    metric: str | None = None
    scheme: str | None = None
    k: int | None = None
    repeats: int = 1
    rebalance: str | None = None
    rule: str = "best"

    def __post_init__(self) -> None:
        """Check what can be checked without model and outcome."""
        check_types(Tuning, vars(self))
        object.__setattr__(self, "grid", read_grid(self.grid))
        if self.metric is not None and self.metric.partition("@")[0] not in OF_KINDS:
            get_metric(self.metric)
        if self.k is not None:
            check_whole(self.k, "k", least=2)
        check_whole(self.repeats, "repeats", least=1, most=MAX_REPEATS)
        one_of(self.rule, RULES, "rule")
        one_of(self.rebalance, (None, *DRAWS), "rebalance")

    def tuned(self, model: Model, outcome: Outcome, outer: FoldPlan) -> Tuned:
        """Return the model, tuned in the training sets of a plan.

        Raises
        ------
        ArgumentError
            If the model has no such hyperparameter.
        MetricError
            If the metric is not for this outcome, or not for the inner scheme.
        """
        kind = outcome.kind
        # censoring weights must not use held-out records
        inside = replace(outcome, censoring="training")
        metric = named_metric(self.metric or DEFAULTS[kind], inside)
        given = (self.scheme, self.k, self.repeats, self.rebalance)
        inner = InnerScheme.of(*given, kind=kind, outer=outer)
        way_of(metric, inner)
        tried = candidates(model, self.grid)
        made = Tuned(
            model=model,
            grid=dict(self.grid),
            candidates=tried,
            inner=inner,
            metric=metric,
            rule=self.rule,
            fits_each=1 + len(tried) * inner.fits(int(outer.n_train.max())),
        )
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
