"""Gradient boosted trees by XGBoost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.errors import MissingPackageError, ModelError
from statcv.models.base import Matrix, TrainingSet
from statcv.models.boosting_parameters import (
    OF_MATRICES,
    OF_XGBOOST,
    check_parameters,
    check_together,
)
from statcv.models.boosting_validation import refuse_no_number, set_aside

ROUNDS = 100
VALIDATION = 0.2
PLACE = re.compile(r"^\[[\d:]+\] \S+:\d+: ")  # when and where XGBoost gave up
SCORES = ("binary:logitraw", "binary:hinge")  # objectives that give no probabilities


class XGBoost:
    """XGBoost with one thread a fold; classes or numbers as the outcome is.

    Parameters
    ----------
    curves : bool
        Keep the metric on training and held-out records after every round, from the
        same fits; held-out records are looked at, and change nothing. ``eval_metric``
        says which, one name or several; XGBoost's own for the objective by default.
        A metric that needs both classes, as ``"auc"``, is NaN where the held-out
        records of a fold have one only.
    early_stopping_rounds : int, optional
        Stop when a part of the training set that is set aside has not gained in the
        last metric for so many rounds, and take as many rounds as were best for it.
        ``n_estimators`` is then the most. Held-out records have no say.
    validation : float
        The share of the training set that is set aside, of each class: 0.2. Records
        that never part in the folds do not part here.
    refit : bool
        Fit the whole training set anew with the number of rounds that was chosen, as
        is the default: the set aside part is not lost, and a training set that the
        folds balance stays balanced. Otherwise the first fit predicts.
    **parameters
        As ``xgboost.XGBClassifier`` and ``XGBRegressor`` take them, for instance
        ``max_depth=3, n_estimators=200, learning_rate=0.6``, or by the native names
        (``eta``). Predictions are those of these two.

    Notes
    -----
    Since version 2 XGBoost starts from the training mean, which carries the
    distributional bias of leave-one-out into every prediction; ``base_score=0.5``
    starts from a constant.

    Examples
    --------
    >>> XGBoost(max_depth=3).label
    'XGBoost (max_depth=3)'
    >>> XGBoost(max_dept=3)
    Traceback (most recent call last):
    ...
    statcv.errors.ModelError: XGBoost has no parameter 'max_dept'. Did you mean \
'max_depth'?
    """

    def __init__(self, **parameters: Any) -> None:
        check_parameters(parameters)
        self.parameters = parameters

    @property
    def label(self) -> str:
        """How print and summary call it."""
        shown = {k: v for k, v in self.parameters.items() if k != "curves"}
        listed = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        return f"XGBoost ({listed})" if listed else "XGBoost"

    def __repr__(self) -> str:
        return self.label

    def check(self, kind: str) -> None:
        """Raise ModelError where parameters mean nothing; all outcomes can be."""
        check_together(self.parameters)

    @property
    def watches(self) -> bool:
        """Whether it wants the held-out records, for learning curves."""
        return bool(self.parameters.get("curves"))

    def fit(self, training: TrainingSet) -> BoostedFit:
        """Fit the training set."""
        with _plain_errors():
            return self._fit(training, {})

    def fit_watching(self, training: TrainingSet, held: TrainingSet) -> BoostedFit:
        """Fit the training set, and follow the metric on held-out records too."""
        with _plain_errors():
            return self._fit(training, {"training": training, "held_out": held})

    def _fit(
        self, training: TrainingSet, watched: dict[str, TrainingSet]
    ) -> BoostedFit:
        if training.without_intercept.shape[1] == 0:
            raise ModelError(
                "XGBoost needs at least one predictor; for the model without any use "
                "model='mean'."
            )
        rounds, chosen = self._given("n_estimators", ROUNDS), None
        patience = self.parameters.get("early_stopping_rounds")
        if patience is None:
            booster, log = self._boost(training, rounds, watched)
        else:
            aside = set_aside(training, self._given("validation", VALIDATION))
            part, rest = _rows(training, ~aside), _rows(training, aside)
            again = self._given("refit", True)
            if again:
                first = {"validation": rest}
            else:
                first = {
                    name: part if own is training else own
                    for name, own in watched.items()
                } | {"validation": rest}
            booster, log = self._boost(part, rounds, first, patience)
            refuse_no_number(log["validation"], rest)
            rounds = booster.best_iteration + 1
            chosen = {"rounds": rounds}
            if again:
                booster, log = self._boost(training, rounds, watched)
        return BoostedFit(
            booster,
            names=training.names,
            intercept=training.intercept,
            rounds=rounds,
            missing=self._given("missing", np.nan),
            linear=self.parameters.get("booster") == "gblinear",
            probabilities=self.parameters.get("objective") not in SCORES,
            chosen=chosen,
            curves=_curves(log) if watched else None,
        )

    def _boost(
        self,
        training: TrainingSet,
        rounds: int,
        watched: Mapping[str, TrainingSet],
        patience: int | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Return the booster, and the metrics by name of what was watched."""
        xgboost = _xgboost()
        own, native = self._matrix(training), self._native(training)
        if not watched:  # what train does, less what it looks up after every round
            booster = xgboost.Booster(native, [own])
            for number in range(rounds):
                booster.update(own, number)
            return booster, {}
        evals = [
            (own if one is training else self._matrix(one, own), name)
            for name, one in watched.items()
        ]
        callbacks = []
        if patience is not None:
            stop = {"rounds": patience, "data_name": "validation"}
            callbacks.append(xgboost.callback.EarlyStopping(**stop))
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
                callbacks=callbacks,
                verbose_eval=False,
            )
        return booster, log

    def _matrix(self, training: TrainingSet, reference: Any = None) -> Any:
        """Return what XGBoost trains on or evaluates, as its estimators make it."""
        xgboost = _xgboost()
        given = {name: self.parameters.get(name) for name in OF_MATRICES}
        keywords = {name: value for name, value in given.items() if value is not None}
        keywords |= {"label": training.y, "weight": training.weights}
        keywords["nthread"] = self._threads
        data = training.without_intercept
        if not self._by_quantiles:
            return xgboost.DMatrix(data, **keywords)
        keywords["max_bin"] = self.parameters.get("max_bin")
        return xgboost.QuantileDMatrix(data, ref=reference, **keywords)

    @property
    def _by_quantiles(self) -> bool:
        trees = self.parameters.get("tree_method") in (None, "auto", "hist")
        linear = self.parameters.get("booster") == "gblinear"
        sycl = str(self.parameters.get("device")).startswith("sycl")
        return trees and not linear and not sycl

    @property
    def _threads(self) -> int:
        threads = self.parameters.get("n_jobs", self.parameters.get("nthread"))
        return 1 if threads is None else int(threads)

    def _native(self, training: TrainingSet) -> dict[str, Any]:
        """Return the parameters of the native interface."""
        native = {
            name: value
            for name, value in self.parameters.items()
            if name in OF_XGBOOST and value is not None
        }
        native.setdefault("n_jobs", self._threads)
        if "seed" not in native:
            native.setdefault("random_state", training.seed)
        if training.kind == "multiclass":
            native["objective"] = "multi:softprob"
            native["num_class"] = training.n_classes
        elif training.kind == "binary":
            native.setdefault("objective", "binary:logistic")
        return native

    def _given(self, name: str, usual: Any) -> Any:
        value = self.parameters.get(name)
        return usual if value is None else value


@dataclass(frozen=True, eq=False)
class BoostedFit:
    """A fitted booster.

    Attributes
    ----------
    booster : xgboost.Booster
    names : tuple of str
        The columns of the design.
    intercept : int or None
        Which of them it does not know.
    rounds : int
        By how many of its rounds it predicts.
    missing : float
        What stands for a missing value.
    linear : bool
        Whether it adds up linear functions rather than trees.
    probabilities : bool
    chosen : dict or None
        The number of rounds, where early stopping chose it.
    curves : dict or None
        By metric, training and held-out values after every round.
    """

    booster: Any
    names: tuple[str, ...]
    intercept: int | None
    rounds: int
    missing: float
    linear: bool
    probabilities: bool
    chosen: dict[str, Any] | None
    curves: dict[str, Matrix] | None
    converged: bool = True
    separated: bool = False

    @property
    def coefficients(self) -> dict[str, float] | None:
        """Those of a linear booster for one outcome; trees have none."""
        if not self.linear:
            return None
        learnt = json.loads(self.booster.get_dump(dump_format="json")[0])
        if len(learnt["bias"]) > 1:
            return None
        names = [n for j, n in enumerate(self.names) if j != self.intercept]
        values = dict(zip(names, learnt["weight"], strict=True))
        return {"Intercept": learnt["bias"][0], **values}

    def predict(self, X: Matrix) -> Matrix:
        """Return probabilities, means, or scores."""
        if self.intercept is not None:
            X = np.delete(X, self.intercept, axis=1)
        if self.linear:  # which predicts by all rounds, and from its own matrix only
            data = _xgboost().DMatrix(X, missing=self.missing, nthread=1)
            found = self.booster.predict(data)
        else:
            found = self.booster.inplace_predict(
                X, iteration_range=(0, self.rounds), missing=self.missing
            )
        predicted = np.asarray(found, dtype=float)
        return predicted[:, 0] if predicted.shape[1:] == (1,) else predicted


def _rows(training: TrainingSet, some: NDArray[np.bool_]) -> TrainingSet:
    weights = None if training.weights is None else training.weights[some]
    return replace(training, X=training.X[some], y=training.y[some], weights=weights)


def _lacks_a_class(training: TrainingSet) -> bool:
    y = training.y
    if training.weights is not None:
        y = y[training.weights > 0]
    return len(np.unique(y)) < training.n_classes


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Say what XGBoost says, without the time, and where in its code it was."""
    xgboost = _xgboost()
    try:
        yield
    except xgboost.core.XGBoostError as error:
        said = str(error).partition("Stack trace")[0].strip()
        raise ModelError(f"XGBoost: {PLACE.sub('', said)}") from error


def _curves(log: Mapping[str, Any]) -> dict[str, Matrix]:
    inside, outside = log["training"], log["held_out"]
    return {name: np.column_stack([inside[name], outside[name]]) for name in inside}


def _xgboost() -> Any:
    try:
        import xgboost
    except ImportError as error:
        raise MissingPackageError(
            "model='xgboost' needs xgboost: pip install xgboost"
        ) from error
    return xgboost
