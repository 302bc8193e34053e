"""A model whose hyperparameters are chosen inside every training set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, cast

import numpy as np
import pandas as pd

from statcv.errors import FitError, StatcvError, TuningWarning, warn
from statcv.metrics import Metric
from statcv.models import Fit, Logit, Model, TrainingSet
from statcv.models.base import Capabilities, WrappedFit
from statcv.models.batched.fits import FittedFolds, fit_all_folds, joined_coefficients
from statcv.models.batched.folds import Folds
from statcv.models.linear_fits import joined_fits
from statcv.models.tuning.grid import (
    Candidate,
    chosen_table,
    family_label,
    in_words,
    is_number,
    plain,
)
from statcv.models.tuning.inner import InnerScheme
from statcv.models.tuning.nested import Nested, nest
from statcv.models.tuning.scoring import Scorer, choose, way_of
from statcv.numeric.arrays import Array, Floats, Numbers
from statcv.tables import Printed, Said

# ---- the tuned model ----

CELLS = 2**22  # values kept of the training sets that are divided at once


@dataclass(frozen=True, eq=False)
class Tuned:
    """A model, and the grid for its hyperparameters in every training set.

    :func:`statcv.cv` makes it from ``tune=``.

    Attributes
    ----------
    model : Model
    grid : dict
        The values of each hyperparameter, the simplest first.
    candidates : list of Candidate
        The model with each combination of them.
    inner : InnerScheme
    metric : Metric
    rule : {"best", "one_se"}
    fits_each : int
        Number of fits to tune on a training set, and fit it.
    """

    model: Model
    grid: dict[str, tuple[Any, ...]]
    candidates: list[Candidate]
    inner: InnerScheme
    metric: Metric
    rule: str
    fits_each: int

    @property
    def label(self) -> str:
        """How print and summary call it."""
        family = family_label(self.model, self.candidates)
        simplest = "as the simplest within one standard error of the best "
        how = simplest if self.rule == "one_se" else ""
        return (
            f"{family}, {in_words(self.grid)} chosen {how}by {self.metric.label} in "
            f"{self.inner.label} inside every training set"
        )

    def __repr__(self) -> str:
        return self.label

    @property
    def capabilities(self) -> Capabilities:
        """Those of the candidates, with more fits on each training set."""
        every = [one.model.capabilities for one in self.candidates]
        first = every[0]
        alike = all(one.likelihood == first.likelihood for one in every)
        of_all = ("own_matrices", "offsets", "any_threads", "releases_gil")
        return replace(
            first,
            **{name: all(getattr(one, name) for one in every) for name in of_all},
            fits_per_training_set=self.fits_each,
            needs_full_rank=False,  # a fold may choose a penalty
            likelihood=first.likelihood if alike else None,
        )

    def check(self, kind: str) -> None:
        """Raise ModelError if the model does not admit this kind of outcome."""
        for candidate in self.candidates:
            candidate.model.check(kind)

    def fit(self, training: TrainingSet) -> TunedFit:
        """Choose hyperparameters on the training set, and fit it with them."""
        best, path = self._chosen_of(training)
        return self._made(best, path, self.candidates[best].model.fit(training))

    def fit_following(self, training: TrainingSet, held_out: TrainingSet) -> TunedFit:
        """Choose on the training set alone; fit and follow the held-out records."""
        best, path = self._chosen_of(training)
        model: Any = self.candidates[best].model
        return self._made(best, path, model.fit_following(training, held_out))

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Choose and fit in the training sets of all folds together.

        None for a model that is fitted fold by fold.
        """
        if not self.capabilities.fits_together:
            return None
        each = len(records.X) * self.inner.repeats
        each += self.fits_each * min(records.X.shape)
        step = max(1, CELLS // each)
        best, score = np.empty(len(folds), dtype=np.intp), np.empty(len(folds))
        for start in range(0, len(folds), step):
            some = np.arange(start, min(start + step, len(folds)))
            found = self._choose(records, folds.chosen(some), alone=False)
            if found is None:
                return None
            best[some], scores, _ = found
            score[some] = scores[best[some], np.arange(len(some))]
        fitted = self._fit_chosen(records, folds, best)
        if fitted is None:
            return None
        return replace(fitted, chosen=self._columns(best, score))

    def _choose(
        self, records: TrainingSet, folds: Folds, alone: bool
    ) -> tuple[Numbers, Floats, Floats] | None:
        """Return which candidate is best in each training set, scores and errors.

        Scores have the shape (candidates, sets). None if inner fits must be made one by
        one, unless ``alone`` allows that.
        """
        way = way_of(self.metric, self.inner)
        nested = nest(self.inner, records, folds, dropped=way == "paired")
        errors = alone or self.rule == "one_se"
        scorer = Scorer(self.metric, way, nested, errors)
        models = [candidate.model for candidate in self.candidates]
        found = []
        together = fit_candidates(models, records, nested.folds)
        if together is None:
            if not alone:
                return None
            for candidate in self.candidates:
                found.append(scorer.score(*_one_by_one(candidate, records, nested)))
        else:
            for fitted in together:
                found.append(scorer.score(fitted.predict_many(nested.row, nested.fit)))
        scores = np.array([one[0] for one in found])
        errors_of = np.array([one[1] for one in found])
        return choose(scores, errors_of, self.metric, self.rule), scores, errors_of

    def _chosen_of(self, training: TrainingSet) -> tuple[int, pd.DataFrame]:
        whole = Folds.leaving_out([np.empty(0, dtype=np.intp)])
        found = self._choose(training, whole, alone=True)
        assert found is not None
        best, scores, errors = found
        values = [plain(candidate.values) for candidate in self.candidates]
        path = chosen_table(values)[list(self.grid)]
        return int(best[0]), path.assign(score=scores[:, 0], se=errors[:, 0])

    def _made(self, best: int, path: pd.DataFrame, fit: Fit) -> TunedFit:
        score = float(path["score"].iloc[best])
        values = plain(self.candidates[best].values)
        return TunedFit(fit, values, score, path)

    def _fit_chosen(
        self, records: TrainingSet, folds: Folds, best: Numbers
    ) -> FittedFolds | None:
        """Fit each fold with the candidate chosen in it."""
        parts: list[tuple[Numbers, FittedFolds]] = []
        for one in np.unique(best).tolist():
            fits = np.flatnonzero(best == one)
            model = self.candidates[one].model
            fitted = fit_all_folds(model, records, folds.chosen(fits))
            if fitted is None:
                return None
            parts.append((fits, fitted))
        return parts[0][1] if len(parts) == 1 else _joined(parts)

    def _columns(self, best: Numbers, score: Floats) -> dict[str, Array]:
        tried = [plain(candidate.values) for candidate in self.candidates]
        values = [tried[one] for one in best.tolist()]
        return {
            **{name: _column([v[name] for v in values]) for name in self.grid},
            "score": score,
        }


@dataclass(frozen=True, eq=False, repr=False)
class TunedFit(WrappedFit, Printed):
    """A fit with the hyperparameters that were chosen on its training set.

    Attributes
    ----------
    values : dict
        The hyperparameters chosen.
    score : float
        Their score inside the training set.
    path : pandas.DataFrame
        One row per candidate: values, score and its standard error.
    """

    values: dict[str, Any]
    score: float
    path: pd.DataFrame

    def _said(self) -> Said:
        return "Fit with hyperparameters chosen on its training set", {
            **self.chosen,
            "candidates": len(self.path),
        }

    @property
    def chosen(self) -> dict[str, Any]:
        """Hyperparameters chosen inside the training set, and their score if known."""
        own = self.fit.chosen or {}
        score = {} if np.isnan(self.score) else {"score": self.score}
        return {**self.values, **own, **score}


def fit_candidates(
    models: list[Model], records: TrainingSet, folds: Folds
) -> Iterator[FittedFolds] | None:
    """Fit each model in every fold; None for models that are fitted fold by fold."""
    rotated = records.X.shape[1] > len(records.X)
    nets = all(isinstance(one, Logit) and one.selects for one in models)
    rotated &= not nets
    if rotated and folds.new_levels(records) is not None:
        return None  # rotated rows do not show the factors
    more: dict[str, Any] = {"paths": {}} if nets else {}
    made = (fit_all_folds(model, records, folds, **more) for model in models)
    if (fitted := next(made)) is None:
        return None
    return chain([fitted], cast(Iterator[FittedFolds], made))  # they are fitted alike


def _one_by_one(
    candidate: Candidate, records: TrainingSet, nested: Nested
) -> tuple[Floats, bool]:
    """Return the predictions of inner fits, and whether these are probabilities."""
    parts, probabilities = [], True
    ends = np.searchsorted(nested.fit, np.arange(len(nested.folds) + 1))
    for fit, (start, stop) in enumerate(pairwise(ends.tolist())):
        try:
            made = candidate.model.fit(nested.folds.training_set(records, fit))
            rows = nested.row[start:stop]
            parts.append(made.predict(nested.folds.matrix(records, fit, rows)))
        except Exception as error:
            told = ", ".join(f"{n} = {v!r}" for n, v in candidate.values.items())
            known = isinstance(error, StatcvError)
            kind = type(error) if known else FitError
            said = str(error) if known else f"{type(error).__name__}: {error}"
            where = f"with {told}, in inner fold {fit + 1}"
            raise kind(f"{where}: {said}") from error
        probabilities = probabilities and made.probabilities
    return np.concatenate(parts), probabilities


def _joined(parts: list[tuple[Numbers, FittedFolds]]) -> FittedFolds:
    """Join fits of different candidates, each with the numbers of its fits."""
    fitted = [one for _, one in parts]
    order = np.argsort(np.concatenate([fits for fits, _ in parts]))
    sizes = [len(fits) for fits, _ in parts]
    part = np.repeat(np.arange(len(parts)), sizes)[order]
    place = np.concatenate([np.arange(size) for size in sizes])[order]
    names, coefficients = joined_coefficients(fitted)
    linear = joined_fits([one.linear for one in fitted])

    def predict(rows: Numbers, fits: Numbers) -> Floats:
        if not len(rows):
            return fitted[0].predict(rows, fits)
        found, predicted = part[fits], np.empty(0)
        for number, one in enumerate(fitted):
            own = np.flatnonzero(found == number)
            if len(own):
                made = one.predict(rows[own], place[fits[own]])
                if not len(predicted):
                    predicted = np.empty((len(rows), *made.shape[1:]))
                predicted[own] = made
        return predicted

    return FittedFolds(
        None if coefficients is None else np.asarray(coefficients)[order],
        names,
        np.concatenate([one.converged for one in fitted])[order],
        np.concatenate([one.separated for one in fitted])[order],
        predict,
        linear=None if linear is None else linear.chosen(order),
        complete=True,  # as the parts are
    )


def _column(values: list[Any]) -> Array:
    """Return values as a column, of numbers if they are numbers."""
    if {type(value) for value in values} <= {int, float}:
        return np.array(values)
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


# ---- how often values were chosen, and whether at the edge of the grid ----

MAX_AT_EDGE = 0.25  # the share of fits above which an edge is worth a warning
MAX_SHOWN = 4  # values that a sentence names
MAX_DIFFERENT = 20  # numbers beyond which a sentence gives their range


def warn_of_edges(model: Tuned, chosen: pd.DataFrame) -> None:
    """Warn once of values at the edge of the grid that many fits chose.

    The simplest value is exempt if it may have been chosen for its simplicity: by the
    one-standard-error rule, or among equal ranks or counts of hits.

    Parameters
    ----------
    model : Tuned
    chosen : pandas.DataFrame
        One row per fit.
    """
    by_value = model.metric.reads in ("probabilities", "numbers")
    found = [
        sentence
        for name, values in model.grid.items()
        for edge, sentence in _edges(name, values, chosen[name])
        if edge != values[0] or (by_value and model.rule == "best")
    ]
    if found:
        warn(f"{'; '.join(found)}: extend the grid there.", TuningWarning)


def _edges(
    name: str, values: tuple[Any, ...], chosen: pd.Series[Any]
) -> list[tuple[float, str]]:
    numbers = [v for v in values if is_number(v)]
    if len(numbers) < len(values) or len(values) < 3:
        return []
    found = []
    for word, edge in (("smallest", min(numbers)), ("largest", max(numbers))):
        times = int((chosen == edge).sum())
        # there is no smaller count, so that the grid cannot be extended there
        least = word == "smallest" and isinstance(edge, int) and edge <= 1
        if times > MAX_AT_EDGE * len(chosen) and math.isfinite(edge) and not least:
            sentence = (
                f"{name} = {edge:g}, the {word} of the grid, was chosen in {times} of "
                f"{len(chosen)} fits"
            )
            found.append((edge, sentence))
    return found


def choices(chosen: pd.DataFrame) -> str:
    """Say how often values were chosen: ``C = 1 in 7 of 10 fits, 0.1 in 3``.

    Examples
    --------
    >>> choices(pd.DataFrame({"C": [1.0, 0.1, 1.0], "score": [0.5, 0.4, 0.6]}))
    'C = 1 in 2 of 3 fits, 0.1 in 1'
    """
    names = [name for name in chosen.columns if name != "score"]
    return "; ".join(_often(name, chosen[name]) for name in names)


def _often(name: str, column: pd.Series[Any]) -> str:
    numbers = pd.api.types.is_float_dtype(column)
    if numbers and column.nunique() > MAX_DIFFERENT:
        return (
            f"{name} from {column.min():.3g} to {column.max():.3g}, median "
            f"{column.median():.3g}"
        )
    counts = column.map(_text).value_counts(sort=False)
    counts = counts.sort_values(ascending=False, kind="stable")
    shown = [f"{value} in {times}" for value, times in counts.items()][:MAX_SHOWN]
    shown[0] += f" of {len(column)} fits"
    more = ", …" if len(counts) > MAX_SHOWN else ""
    return f"{name} = {', '.join(shown)}{more}"


def _text(value: Any) -> str:
    return f"{value:g}" if is_number(value) else str(value)
