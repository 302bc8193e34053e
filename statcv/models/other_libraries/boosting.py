"""Gradient boosted trees by XGBoost: its parameters, early stopping, and its fits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from statcv.arguments import MAX_SEED, check_whole
from statcv.errors import ModelError, needed, suggestion
from statcv.models import base
from statcv.models.base import Capabilities, TrainingSet
from statcv.models.cox import ProportionalHazards
from statcv.numeric.arrays import Bools, Floats
from statcv.numeric.logistic import expit
from statcv.numeric.survival import events_of, risk_of, times_of
from statcv.tables import Printed
from statcv.words import stored_rows

ROUNDS = 100
VALIDATION = 0.2
SCORES = ("binary:logitraw", "binary:hinge")  # objectives that give no probabilities
AFT, OF_TIMES = "survival:aft", ("survival:cox", "survival:aft")
MAX_ROUNDS = 1_000_000  # trees of one model
# the parameters by what reads them, and why some are refused
PARAMETERS = stored_rows("statcv.models.other_libraries", "xgboost_parameters.txt")[1:]
ELSEWHERE = {name: why for name, of, why in PARAMETERS if of == "none"}
KNOWN = {name: of for name, of, _ in PARAMETERS if of != "none"}
PLACE = re.compile(r"^\[[\d:]+\] \S+:\d+: ")  # when and where XGBoost gave up


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Raise ModelError for an unknown name or an impossible value."""
    for name, value in parameters.items():
        if name in ELSEWHERE:
            raise ModelError(f"XGBoost takes no {name} here: {ELSEWHERE[name]}.")
        if name not in KNOWN:
            raise ModelError(
                f"XGBoost has no parameter {name!r}.{suggestion(name, KNOWN)}"
            )
        listed = value if isinstance(value, (list, tuple)) else [value]
        if name in ("objective", "eval_metric") and any(map(callable, listed)):
            raise ModelError(
                f"{name}= must be a name here; for a function of your own use "
                "model=xgboost.XGBClassifier(…) or XGBRegressor(…)."
            )
        if name in ("n_estimators", "early_stopping_rounds") and value is not None:
            check_whole(value, name, 1, MAX_ROUNDS, ModelError)
        if name in ("random_state", "seed") and value is not None:
            check_whole(value, name, 0, MAX_SEED, ModelError)
        share = isinstance(value, (float, np.floating)) and 0 < value < 1
        if name == "validation" and value is not None and not share:
            raise ModelError(
                f"validation must be a share between 0 and 1, not {value!r}."
            )
        if name in ("curves", "refit") and not isinstance(value, (bool, np.bool_)):
            raise ModelError(f"{name} must be True or False, not {value!r}.")


def check_together(parameters: Mapping[str, Any]) -> None:
    """Raise ModelError for a parameter that has no effect without another."""
    if parameters.get("early_stopping_rounds") is not None:
        return
    for name in ("validation", "refit"):
        if name in parameters:
            raise ModelError(
                f"{name}= means nothing without early stopping; add "
                "early_stopping_rounds=, or leave it out."
            )
    if parameters.get("eval_metric") is not None and not parameters.get("curves"):
        raise ModelError(
            "eval_metric= means nothing where nothing is watched; add curves=True or "
            "early_stopping_rounds=, or leave it out."
        )


# ---- early stopping ----


def set_aside(training: TrainingSet, share: float) -> Bools:
    """Draw about the given share of the records of each class, by the seed.

    Records of equal ``strata`` are drawn together, with the class that most of them
    have. Those without weight are not drawn.

    Parameters
    ----------
    training : TrainingSet
    share : float

    Returns
    -------
    numpy.ndarray of bool, shape (n,)

    Examples
    --------
    >>> y = np.array([0, 1] * 10)
    >>> training = TrainingSet(np.ones((20, 1)), y, "binary", 2, ("x",), None, None, 3)
    >>> aside = set_aside(training, share=0.2)
    >>> np.bincount(y[aside])
    array([2, 2])
    """
    n = len(training.X)
    rows = np.arange(n)
    if training.weights is not None:
        rows = rows[training.weights > 0]
    strata = np.arange(n) if training.strata is None else training.strata
    codes = np.unique(strata[rows], return_inverse=True)[1]
    classes = max(training.n_classes, 1)
    kinds = np.zeros(len(rows), dtype=np.intp)
    if training.n_classes:
        kinds = training.y[rows].astype(np.intp)
    table = np.bincount(codes * classes + kinds, minlength=(codes.max() + 1) * classes)
    table = table.reshape(-1, classes)
    sizes, common = table.sum(axis=1), table.argmax(axis=1)
    drawn = np.zeros(len(sizes), dtype=bool)
    rng = np.random.default_rng(training.seed)
    for kind in range(classes):
        own = rng.permutation(np.flatnonzero(common == kind))
        before = np.cumsum(sizes[own]) - sizes[own]
        if len(own):
            # as many strata as come nearest to the share, and never all of the class
            number = np.abs(before - share * sizes[own].sum()).argmin()
            drawn[own[:number]] = True
    aside = np.zeros(n, dtype=bool)
    aside[rows] = drawn[codes]
    if not aside.any():
        raise ModelError(
            f"validation={share:g} of {n} training records sets none aside; give a "
            "larger share, or leave early stopping out."
        )
    return aside


# ---- a fit of boosted trees, and what is read from it ----


@dataclass(frozen=True)
class AcceleratedTimes:
    """The risks that follow from the mean logarithm of the time.

    Attributes
    ----------
    horizons : tuple of float
    distribution : {"normal", "logistic", "extreme"}
        Distribution of the logarithm about that.
    scale : float
    """

    horizons: tuple[float, ...]
    distribution: str
    scale: float

    def __call__(self, mean: Floats) -> Floats:
        """Return minus the mean logarithm of the time, and risks: (m, 1 + horizons)."""
        from scipy.special import ndtr

        z = (np.log(np.asarray(self.horizons)) - mean[:, None]) / self.scale
        if self.distribution == "normal":
            risks = ndtr(z)
        elif self.distribution == "logistic":
            risks = expit(z)
        else:  # the extreme value distribution, of which Weibull's is the exponential
            risks = risk_of(z)
        return np.column_stack([-mean, risks])


@dataclass(frozen=True, eq=False, repr=False)
class BoostedFit(Printed):
    """A fitted booster.

    Attributes
    ----------
    booster : xgboost.Booster
    names : tuple of str
        The columns of the design.
    intercept : int or None
        The column of the intercept, which it does not receive.
    rounds : int
        Number of its rounds by which it predicts.
    missing : float
        Value that stands for a missing one.
    of_lines : bool
        Whether it is a sum of linear functions rather than trees.
    probabilities : bool
    chosen : dict or None
        The number of rounds, if early stopping chose it.
    curves : dict or None
        Training and held-out values after every round, by metric.
    of_times : ProportionalHazards, AcceleratedTimes or None
        What turns its scores into predictions of times to an event.
    """

    booster: Any
    names: tuple[str, ...]
    intercept: int | None
    rounds: int
    missing: float
    of_lines: bool
    probabilities: bool
    chosen: dict[str, Any] | None
    curves: dict[str, Floats] | None
    converged: bool = True
    separated: bool = False
    linear: None = None
    of_times: ProportionalHazards | AcceleratedTimes | None = None

    @property
    def coefficients(self) -> dict[str, float] | None:
        """Coefficients of a linear booster for one outcome; None for trees."""
        if not self.of_lines:
            return None
        learnt = json.loads(self.booster.get_dump(dump_format="json")[0])
        if len(learnt["bias"]) > 1:
            return None
        names = [n for j, n in enumerate(self.names) if j != self.intercept]
        values = dict(zip(names, learnt["weight"], strict=True))
        return {"Intercept": learnt["bias"][0], **values}

    def predict(self, X: Floats) -> Floats:
        """Return probabilities, means, or scores; of times, scores and risks."""
        if self.of_times is not None:
            return self.of_times(self.scores(X, margin=True))
        return self.scores(X)

    def scores(self, X: Floats, margin: bool = False) -> Floats:
        """Return what the booster predicts; its sum if ``margin``."""
        X = base.without_column(X, self.intercept)
        # a booster of lines predicts by all rounds, and from XGBoost's matrix only
        if self.of_lines:
            data = xgboost_module().DMatrix(X, missing=self.missing, nthread=1)
            found = self.booster.predict(data, output_margin=margin)
        else:
            found = self.booster.inplace_predict(
                X,
                iteration_range=(0, self.rounds),
                predict_type="margin" if margin else "value",
                missing=self.missing,
            )
        predicted = np.asarray(found, dtype=float)
        return predicted[:, 0] if predicted.shape[1:] == (1,) else predicted


def rows_of(training: TrainingSet, some: Bools) -> TrainingSet:
    """Return some of the training records."""
    weights = None if training.weights is None else training.weights[some]
    return replace(training, X=training.X[some], y=training.y[some], weights=weights)


def has_plain_trees(parameters: Mapping[str, Any]) -> bool:
    """Return whether XGBoost grows trees, and ends by no metric.

    They do not depend on the number of threads, which the sum of a metric does.
    """
    trees = parameters.get("booster") in (None, "gbtree")
    return trees and parameters.get("early_stopping_rounds") is None


def without_functions(parameters: Mapping[str, Any]) -> bool:
    """Return whether no parameter of XGBoost is a function, or a list of callbacks."""
    values = parameters.values()
    return not (parameters.get("callbacks") or any(map(callable, values)))


@contextmanager
def plain_errors() -> Iterator[None]:
    """Return XGBoost's message, without the time and the place in its code."""
    xgboost = xgboost_module()
    try:
        yield
    except xgboost.core.XGBoostError as error:
        said = str(error).partition("Stack trace")[0].strip()
        raise ModelError(f"XGBoost: {PLACE.sub('', said)}") from error


def xgboost_module() -> Any:
    """Return the module xgboost, if it is installed."""
    return needed("xgboost", "model='xgboost' needs xgboost: pip install xgboost")


# ---- gradient boosted trees by XGBoost ----


class XGBoost:
    """XGBoost with one thread per fold, for any outcome.

    Parameters
    ----------
    curves : bool
        Whether to keep the metric on training and held-out records after every round.
        ``eval_metric`` is one name or several; by default XGBoost's own.
    early_stopping_rounds : int, optional
        Number of rounds without improvement in the last metric, on a part of the
        training set that is set aside, after which the fit stops and takes the best
        number of rounds so far. ``n_estimators`` is then the maximum. Held-out records
        are not used.
    validation : float
        Share of each class of the training set that is set aside, 0.2 by default.
        Clusters are not split.
    refit : bool
        Whether the whole training set is refitted with the number of rounds that was
        chosen, as by default.
    **parameters
        Parameters of ``xgboost.XGBClassifier`` and ``XGBRegressor``, for example
        ``max_depth=3, n_estimators=200, learning_rate=0.6``, or the native names
        (``eta``). Times to an event have the ``objective`` ``"survival:cox"``, by
        default, with Breslow's baseline hazard, or ``"survival:aft"``, with the risks
        of its distribution.

    Notes
    -----
    Since version 2 XGBoost starts from the training mean, which carries the
    distributional bias of leave-one-out into every prediction; ``base_score=0.5``
    starts from a constant.

    Examples
    --------
    >>> XGBoost(max_depth=3).label
    'XGBoost (max_depth=3)'
    """

    def __init__(self, **parameters: Any) -> None:
        check_parameters(parameters)
        self.parameters = parameters
        self._given = {n: one for n, one in parameters.items() if one is not None}

    @property
    def label(self) -> str:
        """How print and summary call it."""
        shown = {k: v for k, v in self.parameters.items() if k != "curves"}
        listed = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        return f"XGBoost ({listed})" if listed else "XGBoost"

    def __repr__(self) -> str:
        return self.label

    def check(self, kind: str) -> None:
        """Raise ModelError for parameters without effect, or of another outcome."""
        check_together(self.parameters)
        given = self.parameters.get("objective")
        if kind == "survival" and given not in (None, *OF_TIMES):
            raise ModelError(
                f"objective={given!r} is not one of times to an event; it must be "
                "'survival:cox' or 'survival:aft'."
            )
        if kind != "survival" and given in OF_TIMES:
            raise ModelError(
                f"objective={given!r} needs times to an event: write the outcome as "
                "Surv(time, status)."
            )

    @property
    def capabilities(self) -> Capabilities:
        """Learning curves follow the held-out records.

        Trees do not depend on the number of threads; the sum of a metric does.
        """
        alike = self._any_threads
        alone = alike and self._threads in (0, 1) and without_functions(self.parameters)
        return Capabilities(
            follows_held_out=bool(self.parameters.get("curves")),
            any_threads=alike,
            releases_gil=alone,
            missing=self.parameters.get("booster") != "gblinear",
        )

    @property
    def _any_threads(self) -> bool:
        return has_plain_trees(self.parameters) and not self.parameters.get("curves")

    def fit(self, training: TrainingSet) -> BoostedFit:
        """Fit the training set."""
        with plain_errors():
            return self._fit(training, {})

    def fit_following(self, training: TrainingSet, held_out: TrainingSet) -> BoostedFit:
        """Fit the training set, and follow the metric on held-out records too."""
        with plain_errors():
            return self._fit(training, {"training": training, "held_out": held_out})

    def _fit(
        self, training: TrainingSet, watched: dict[str, TrainingSet]
    ) -> BoostedFit:
        base.refuse_no_predictors(training, "XGBoost")
        rounds, chosen = self._given.get("n_estimators", ROUNDS), None
        patience = self.parameters.get("early_stopping_rounds")
        if patience is None:
            booster, log = self._boost(training, rounds, watched)
        else:
            aside = set_aside(training, self._given.get("validation", VALIDATION))
            part, rest = rows_of(training, ~aside), rows_of(training, aside)
            again = self._given.get("refit", True)
            first = {"validation": rest}
            if watched and not again:
                first = watched | {"training": part} | first
            booster, log = self._boost(part, rounds, first, patience)
            name, values = list(log["validation"].items())[-1]
            if np.isnan(values).any():
                raise ModelError(
                    f"early stopping by {name} has nothing to go by: it is not a "
                    f"number for the {len(rest.X)} records set aside; give a larger "
                    "validation=, or another eval_metric=, for instance 'logloss'."
                )
            # the round with the best value of the last metric, counted from 0
            rounds = booster.best_iteration + 1
            chosen = {"rounds": rounds}
            if again:
                booster, log = self._boost(training, rounds, watched)
        curves = None
        if watched:
            inside, outside = log["training"], log["held_out"]
            curves = {
                n: np.column_stack([one, outside[n]]) for n, one in inside.items()
            }
        fit = BoostedFit(
            booster,
            names=training.names,
            intercept=training.intercept,
            rounds=rounds,
            missing=self._given.get("missing", np.nan),
            of_lines=self.parameters.get("booster") == "gblinear",
            probabilities=self.parameters.get("objective") not in SCORES,
            chosen=chosen,
            curves=curves,
        )
        if training.kind != "survival":
            return fit
        return replace(fit, of_times=self._of_times(training, fit))

    def _of_times(
        self, training: TrainingSet, fit: BoostedFit
    ) -> ProportionalHazards | AcceleratedTimes:
        if self.parameters.get("objective") != AFT:
            return ProportionalHazards.of(training, fit.scores(training.X, margin=True))
        distribution = self._given.get("aft_loss_distribution", "normal")
        scale = float(self._given.get("aft_loss_distribution_scale", 1.0))
        return AcceleratedTimes(training.horizons, distribution, scale)

    def _boost(
        self,
        training: TrainingSet,
        rounds: int,
        watched: Mapping[str, TrainingSet],
        patience: int | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Return the booster, and the values of the watched metrics by name."""
        xgboost = xgboost_module()
        own, native = self._matrix(training), self._native(training)
        evals = [
            (own if one is training else self._matrix(one, own), name)
            for name, one in watched.items()
        ]
        log: dict[str, Any] = {}
        # it would say after every round that a metric of one class is not a number
        quiet = {"verbosity": 0} if any(map(_lacks_a_class, watched.values())) else {}
        with xgboost.config_context(**quiet):
            booster = xgboost.train(
                native | quiet,
                own,
                rounds,
                evals=evals,
                evals_result=log,
                early_stopping_rounds=patience,  # by the last of what is watched
                verbose_eval=False,
            )
        return booster, log

    def _matrix(self, training: TrainingSet, reference: Any = None) -> Any:
        """Return the data for training or evaluation, as its estimators make them."""
        xgboost = xgboost_module()
        keywords = self._read_by("matrices")
        keywords |= {"label": training.y, "weight": training.weights}
        if self.parameters.get("objective") == AFT:
            times, event = times_of(training.y), events_of(training.y)
            keywords |= {"label": None, "label_lower_bound": times}
            keywords["label_upper_bound"] = np.where(event, times, np.inf)
        keywords["nthread"] = self._threads
        data = training.without_intercept
        trees = self.parameters.get("tree_method") in (None, "auto", "hist")
        linear = self.parameters.get("booster") == "gblinear"
        sycl = str(self.parameters.get("device")).startswith("sycl")
        if not trees or linear or sycl:
            return xgboost.DMatrix(data, **keywords)
        keywords["max_bin"] = self.parameters.get("max_bin")
        return xgboost.QuantileDMatrix(data, ref=reference, **keywords)

    @property
    def _threads(self) -> int:
        threads = self.parameters.get("n_jobs", self.parameters.get("nthread"))
        if threads is not None:
            return int(threads)
        return 0 if self._any_threads else 1  # 0: as many as OpenMP allows

    def _native(self, training: TrainingSet) -> dict[str, Any]:
        """Return the parameters of the native interface."""
        native = self._read_by("xgboost")
        native.setdefault("n_jobs", self._threads)
        if "seed" not in native:
            native.setdefault("random_state", training.seed)
        if training.kind == "multiclass":
            native["objective"] = "multi:softprob"
            native["num_class"] = training.n_classes
        elif training.kind == "binary":
            native.setdefault("objective", "binary:logistic")
        elif training.kind == "survival":
            native.setdefault("objective", OF_TIMES[0])
        return native

    def _read_by(self, reader: str) -> dict[str, Any]:
        """Return the given parameters that XGBoost or its matrices read."""
        return {n: one for n, one in self._given.items() if KNOWN[n] == reader}


def _lacks_a_class(training: TrainingSet) -> bool:
    y = training.y[base.positive_weights(training)[0]]
    return len(np.unique(y)) < training.n_classes
