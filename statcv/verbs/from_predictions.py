"""Predictions from other software, read as a result."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import OF_PREDICTIONS, check_types, refuse_unknown, resolve_seed
from statcv.engine import Held
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnError,
    DataError,
    ModelError,
    PrecisionWarning,
    suggestion,
    warn,
)
from statcv.folds import FoldPlan, Ragged, Response, Strata
from statcv.formula import (
    Design,
    Formula,
    Outcome,
    as_frame,
    make_design,
    quoted,
    shown_label,
    why_text,
)
from statcv.metrics.classification.classwise import MAX_OUTSIDE, without_noise
from statcv.models import Capabilities, Fit, TrainingSet
from statcv.models.thresholds import with_threshold
from statcv.results.call import choose_metrics
from statcv.results.result import CVResult
from statcv.verbs.argument_types import DataLike, MetricsLike, SeedLike
from statcv.words import plural

Floats = NDArray[np.float64]
MAX_PERCENT = 100 + MAX_OUTSIDE
# largest share of values beyond 0 to 1 that are errors among probabilities, not scores
MAX_ODD = 0.1


@dataclass(frozen=True)
class OtherSoftware:
    """A placeholder for the unknown model that made the predictions."""

    label: str = "predictions from other software"
    capabilities = Capabilities(refits=False)

    def check(self, kind: str) -> None:
        """Accept every kind of outcome."""

    def fit(self, training: TrainingSet) -> Fit:
        """Raise an error, because there is no model to fit.

        Raises
        ------
        ModelError
            Always.
        """
        raise ModelError(
            "the predictions come from other software, so that there is no model to "
            "fit: permutations, the jackknife and the fit on all rows, which need "
            "refits, are not available."
        )


def from_predictions(
    data: DataLike,
    *,
    observed: str | None = None,
    predicted: str | Sequence[str] | Mapping[Any, str] | None = None,
    fold: str | None = None,
    repeat: str | None = None,
    row: str | None = None,
    cluster: str | None = None,
    positive: object = None,
    probabilities: bool | None = None,
    threshold: float | None = None,
    metrics: MetricsLike | None = None,
    seed: SeedLike | None = None,
    **unknown: NoReturn,
) -> CVResult:
    """Read predictions from other software (R, a hospital's pipeline) as a result.

    Without ``fold=`` this is the external validation of a model that was fitted to
    other records; with it, a cross-validation that others made. Metrics, intervals,
    tests, comparisons, summaries and plots are available, except those that need
    refits.

    Parameters
    ----------
    data : data frame
        Data frame of pandas, polars, pyarrow or DuckDB, with one row per prediction.
    observed : str
        Column of the outcome.
    predicted : str, or list or mapping of them
        Column of the predictions: the probability (or score) of the positive class, or
        the predicted value of a continuous outcome. With more than two classes there is
        one column per class, given as a list in the order of the classes, or as a
        mapping from class to column.
    fold : str, optional
        Column of the fold in which each record was held out. The training set of a fold
        is assumed to be all records that it does not hold out. If records occur in
        several folds of a repeat, each fold must hold out two records with different
        outcomes; this is leave-pair-out, and records are compared within a fold. Unless
        given, the predictions are those of one model fitted to other records: an
        external validation, in which the mean outcome of these records stands for the
        model without predictors.
    repeat : str, optional
        Column that identifies the repeats; it needs ``row``.
    row : str, optional
        Column that identifies the records; the labels of the rows unless given.
    cluster : str, optional
        Column whose equal values identify the records of one cluster, such as a
        patient.
    positive : optional
        Level of a binary outcome that counts as positive, to which the predicted
        probabilities (or scores) refer; by default the second, as in
        :func:`statcv.cv`. The printed result and the summary show which level it is.
    probabilities : bool, optional
        Whether predictions for classes are probabilities. Unless given, they are
        probabilities if all of them lie between 0 and 1. Scores of at least 0 count as
        a prediction of the positive class, and have no Brier score or log-loss.
    threshold : float, optional
        Probability (or score) at which and above which class 1 is predicted; 0.5 (or 0)
        unless given. Metrics of classes and net benefit are then added to the tables.
    metrics : str or sequence, optional
        Metrics to be estimated, as in :func:`statcv.cv`.
    seed : int, numpy.random.Generator or None
        Seed for intervals and tests that use random draws.
    **unknown
        Not used. An argument name from R or scikit-learn raises an error that gives the
        name used here.

    Returns
    -------
    CVResult
        The predictions, and the estimates, tests and tables computed from them.

    Raises
    ------
    ColumnError
        If a named column is not in the data.
    DataError
        If an outcome, a prediction, a fold or a label is missing; if a record occurs
        twice in a repeat and the folds are not pairs; or if a record has different
        outcomes.

    Examples
    --------
    >>> import pandas as pd
    >>> import statcv as scv
    >>> df = pd.DataFrame({
    ...     "ill": [0, 0, 1, 1, 0, 1], "risk": [0.1, 0.4, 0.3, 0.8, 0.2, 0.7],
    ... })
    >>> res = scv.from_predictions(df, observed="ill", predicted="risk")
    >>> round(float(res.estimate("auroc")), 3)
    0.889
    """
    given = locals()
    check_types(from_predictions, given)
    refuse_unknown("from_predictions", unknown, NAMES, OF_PREDICTIONS)
    return PredictionsCall(**{name: given[name] for name in NAMES}).run()


@dataclass(frozen=True, kw_only=True, eq=False)
class PredictionsCall:
    """The arguments of a call of :func:`from_predictions`, with the same names."""

    data: Any
    observed: Any = None
    predicted: Any = None
    fold: str | None = None
    repeat: str | None = None
    row: str | None = None
    cluster: str | None = None
    positive: object = None
    probabilities: bool | None = None
    threshold: float | None = None
    metrics: MetricsLike | None = None
    seed: SeedLike | None = None
    n_jobs: ClassVar[None] = None  # nothing is fitted

    def again(
        self,
        formula: Formula,
        scope: MutableMapping[str, Any],
        changes: Mapping[str, Any],
    ) -> CVResult:
        """Read the predictions again with some arguments changed.

        Parameters
        ----------
        formula, scope
            Not used, because predictions have no formula.
        changes : mapping
            Arguments by name.
        """
        unknown = [name for name in changes if name not in NAMES]
        refuse_unknown("from_predictions", unknown, NAMES, OF_PREDICTIONS)
        return replace(self, **changes).run()

    def with_mean_model(self) -> PredictionsCall:
        """Return the call itself, which names no model."""
        return self

    def run(self) -> CVResult:
        """Read the predictions.

        Raises
        ------
        StatcvError
            If an argument is wrong.
        """
        for name, column in (("observed", "outcome"), ("predicted", "predictions")):
            if getattr(self, name) is None:
                raise ArgumentTypeError(
                    f"from_predictions() needs {name}=, the column of the {column}."
                )
        check_types(PredictionsCall, vars(self))
        frame = _frame(self.data, self.row)
        for name in ("observed", "fold", "repeat", "row", "cluster"):
            if getattr(self, name) is not None:
                _check_column(frame, getattr(self, name), name)
        if self.repeat is not None and self.row is None:
            raise ArgumentError(
                "repeat= needs row=, the column that identifies which predictions "
                "belong to the same record."
            )
        seed = resolve_seed(self.seed)
        places, labels = _places(frame, self.row)
        repeats = _codes(frame, self.repeat)
        first = np.unique(places, return_index=True)[1]
        records = frame.iloc[first].set_axis(labels)
        _check_constant(frame, records, places, self.observed)
        design = _design(records, self)
        folds = _Folds.of(frame, self.fold, places, repeats)
        plan = _plan(folds, self.fold, design)
        held = _held(frame.iloc[folds.order], self, design, plan)
        threshold = _threshold(self.threshold, design, held)
        if self.cluster is not None:
            _check_constant(frame, records, places, self.cluster)
            codes, values = pd.factorize(records[self.cluster])
            strata = Strata(self.cluster, codes.astype(np.intp), len(values))
            plan = replace(plan, strata=strata)
        return CVResult(
            design=replace(design, kept=first),  # the first row of each record
            plan=replace(plan, rows=design.labels),
            learner=OtherSoftware(),
            held=held,
            chosen_metrics=choose_metrics(
                self.metrics,
                design.outcome,
                threshold=threshold,
                probabilities=held.probabilities,
            ),
            weights=None,
            seed=seed,
            threshold=threshold,
            call=replace(self, data=frame, seed=seed),
        )


NAMES = tuple(field.name for field in fields(PredictionsCall))


def _frame(data: Any, row: str | None) -> pd.DataFrame:
    """Return the data; labels may be repeated if a column identifies the records."""
    if row is not None and isinstance(data, pd.DataFrame) and not data.index.is_unique:
        data = data.reset_index(drop=True)
    return as_frame(data)


def _check_column(frame: pd.DataFrame, column: Any, name: str) -> None:
    if not isinstance(column, str) or column not in frame.columns:
        hint = suggestion(column, frame.columns)
        raise ColumnError(f"{name}={column!r} is not a column of the data.{hint}")
    absent = int(frame[column].isna().sum())
    if absent:
        raise DataError(
            f"{name}={column!r} is missing in {absent} of {len(frame)} rows; remove "
            "those rows from the data."
        )
    if name == "predicted" and not pd.api.types.is_numeric_dtype(frame[column].dtype):
        remedy = why_text(frame[column], column) or (
            f" pandas.to_numeric(df[{column!r}]) turns text into numbers."
        )
        raise DataError(
            f"predicted={column!r} must be numeric, but its values are of type "
            f"{frame[column].dtype}, such as {frame[column].iloc[0]!r}.{remedy}"
        )


def _places(
    frame: pd.DataFrame, row: str | None
) -> tuple[NDArray[np.intp], pd.Index[Any]]:
    """Return the number of the record of each row, and the records' labels."""
    if row is None:
        return np.arange(len(frame)), frame.index
    codes, labels = _numbered(frame[row])
    return codes, pd.Index(labels)


def _codes(frame: pd.DataFrame, column: str | None) -> NDArray[np.intp]:
    if column is None:
        return np.zeros(len(frame), dtype=np.intp)
    return _numbered(frame[column])[0]


def _numbered(values: Any) -> tuple[NDArray[np.intp], Any]:
    """Return codes of the distinct values, sorted if they can be, and the values."""
    try:
        codes, distinct = pd.factorize(values, sort=True)
    except TypeError:  # values of several types, which have no order
        codes, distinct = pd.factorize(values)
    return codes.astype(np.intp), distinct


def _check_constant(
    frame: pd.DataFrame, records: pd.DataFrame, places: NDArray[np.intp], column: str
) -> None:
    differ = frame[column].to_numpy() != records[column].to_numpy()[places]
    if differ.any():
        label = records.index[places[np.flatnonzero(differ)[0]]]
        several = plural(len(np.unique(places[differ])), "record")
        raise DataError(
            f"{column!r} differs among the rows of {several} (first: {label!r}); it "
            "must have one value per record."
        )


def _design(records: pd.DataFrame, given: PredictionsCall) -> Design:
    predicted = given.predicted
    listed = predicted.values() if isinstance(predicted, Mapping) else predicted
    columns = [predicted] if isinstance(predicted, str) else list(listed)
    for column in columns:
        _check_column(records, column, "predicted")
    right = " + ".join(map(quoted, columns))
    formula = f"{quoted(given.observed)} ~ {right}"
    design = make_design(formula, records, scope={}, positive=given.positive)
    if not isinstance(predicted, Mapping) or len(predicted) <= 2:
        return design
    levels = list(predicted)  # levels of all classes, also of those without a record
    with contextlib.suppress(TypeError):  # levels of several types are not sorted
        levels.sort()
    values = records[given.observed].to_numpy(dtype=object)
    codes = pd.Index(levels, dtype=object).get_indexer(pd.Index(values, dtype=object))
    if (codes < 0).any():
        lacking = values[codes < 0][0]
        raise ArgumentError(f"predicted= does not name a column for {lacking!r}.")
    classes = Outcome(given.observed, "multiclass", codes, tuple(levels))
    return replace(design, outcome=classes)


@dataclass(frozen=True, eq=False)
class _Folds:
    """The fold, record and repeat of each row.

    Attributes
    ----------
    split, place, repeat : numpy.ndarray of int, shape (rows,)
        The fold of each row, numbered consecutively over all repeats, its record and
        its repeat.
    labels : list of sequence
        The names of the folds of each repeat.
    order : numpy.ndarray of int, shape (rows,)
        The rows sorted by fold, and within a fold by record.
    """

    split: NDArray[np.intp]
    place: NDArray[np.intp]
    repeat: NDArray[np.intp]
    labels: list[Sequence[Any]]
    order: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        fold: str | None,
        places: NDArray[np.intp],
        repeats: NDArray[np.intp],
    ) -> _Folds:
        split = np.zeros(len(frame), dtype=np.intp)
        labels: list[Sequence[Any]] = []
        for number in range(int(repeats.max()) + 1):
            where = repeats == number
            codes, names = np.zeros(where.sum(), dtype=np.intp), ["all"]
            if fold is not None:
                codes, found = _numbered(frame[fold].to_numpy()[where])
                names = list(found)
            split[where] = sum(map(len, labels)) + codes
            labels.append(names)
        return cls(split, places, repeats, labels, np.lexsort((places, split)))

    @property
    def tests(self) -> list[NDArray[np.intp]]:
        """The records of each fold."""
        sizes = np.bincount(self.split)
        return np.split(self.place[self.order], np.cumsum(sizes)[:-1])

    def again(self, within: NDArray[np.intp]) -> int:
        """Return the number of rows whose record occurred before."""
        cells = within * (self.place.max() + 1) + self.place
        return len(cells) - len(np.unique(cells))


def _plan(folds: _Folds, fold: str | None, design: Design) -> FoldPlan:
    n, y, tests = len(design.y), design.y, folds.tests
    twice = folds.again(folds.repeat)
    in_pairs = not folds.again(folds.split) and all(
        len(test) == 2 and y[test[0]] != y[test[1]] for test in tests
    )
    if twice and not in_pairs:
        raise DataError(
            f"{plural(twice, 'record')} occur more than once in a repeat; identify "
            "repeats with repeat= and records with row=. (Records may occur more than "
            "once in leave-pair-out, where each fold holds out two records with "
            "different outcomes.)"
        )
    counts = {len(names) for names in folds.labels}
    said = plural(counts.pop(), "fold") if len(counts) == 1 else "folds"
    scheme, sentence = "given", f"{said} by {fold}, from other software"
    if fold is None:
        scheme, sentence = "external", "predictions by a model fitted to other records"
    elif twice:
        scheme, sentence = (
            "leave_pair_out",
            f"leave-pair-out, {said} by {fold}, from other software",
        )
    none = Ragged.empty(len(tests))
    plan = FoldPlan(
        scheme=scheme,
        sentence=sentence,
        n=n,
        tests=Ragged.of(tests),
        labels=tuple(map(tuple, folds.labels)),
        dropped=none,
        kept_out=none,
        copied=none,
        first_fit=np.arange(len(tests) + 1),
    )
    if fold is None:
        everything = [np.setdiff1d(np.arange(n), test) for test in tests]
        return replace(plan, kept_out=Ragged.of(everything))
    if twice:
        outcome = design.outcome
        made_for = Response.of(y, outcome.kind, outcome.levels, outcome.name)
        return replace(plan, response=made_for)
    return plan


def _held(
    frame: pd.DataFrame,
    given: PredictionsCall,
    design: Design,
    plan: FoldPlan,
) -> Held:
    """Read the predictions, one per row, in the order of the plan."""
    outcome = design.outcome
    columns = _predicted_columns(given.predicted, outcome.levels, outcome.kind)
    for column in columns:
        _check_column(frame, column, "predicted")
    values = frame[columns].to_numpy(dtype=float)
    if outcome.kind != "multiclass":
        values = values[:, 0]
    probabilities = given.probabilities
    if outcome.levels and probabilities is not False:
        kept, noisy, bad = without_noise(values)
        low, high = values.min(), values.max()
        tiny = low < 0 and high <= MAX_OUTSIDE  # scores on a small scale
        far = low < -MAX_OUTSIDE or high > MAX_PERCENT
        scores = values.ndim == 1 and (tiny or (far and bad.mean() > MAX_ODD))
        if bad.any() and (probabilities or not scores):
            row = int(np.flatnonzero(bad)[0])
            shown = ", ".join(f"{value:g}" for value in np.ravel(values[row]))
            raise DataError(
                f"predicted={given.predicted!r} is {shown} in row "
                f"{shown_label(frame.index[row])}. These are not probabilities, which "
                "lie between 0 and 1 and add up to 1 over all classes. Divide "
                "percentages by 100; probabilities=False (--scores) treats them as "
                "scores."
            )
        probabilities = bool(probabilities or not (bad.any() or tiny))
        if probabilities and noisy.any():
            values, count = kept, plural(int(noisy.sum()), "row")
            warn(
                f"the probabilities of {count} are beyond 0 to 1, or do not add up to "
                "1, by rounding, and were corrected.",
                PrecisionWarning,
            )
    none = np.empty(0, dtype=np.intp)
    fits = plan.n_fits
    return Held(
        fit=plan.tests.owners,
        row=plan.tests.values.astype(np.intp),
        predicted=values,
        partner_fit=none,
        partner_row=none,
        partner_predicted=np.empty((0, *values.shape[1:])),
        converged=np.ones(fits, dtype=bool),
        separated=np.zeros(fits, dtype=bool),
        seconds=np.zeros(fits),
        probabilities=probabilities is not False or not outcome.levels,
        names=(),
        learnt=None,
        absent={},
    )


def _threshold(given: Any, design: Design, held: Held) -> float | None:
    """Return the threshold, which nothing chooses where nothing is fitted."""
    if isinstance(given, str):
        raise ArgumentTypeError(
            f"threshold must be a number, not {given!r}: cv() chooses thresholds among "
            "training records, which predictions from other software do not have."
        )
    threshold = with_threshold(OtherSoftware(), given, design.outcome.kind)[1]
    if threshold is not None and held.probabilities and not 0 <= threshold <= 1:
        raise ArgumentError(
            f"threshold={given!r} does not lie between 0 and 1, as the predicted "
            "probabilities do; a threshold of 20% is threshold=0.2."
        )
    return threshold


def _predicted_columns(predicted: Any, levels: tuple[Any, ...], kind: str) -> list[str]:
    if isinstance(predicted, Mapping):
        lacking = [level for level in levels if level not in predicted]
        if lacking:
            raise ArgumentError(
                f"predicted= does not name a column for {lacking[0]!r}."
            )
        predicted = [predicted[level] for level in levels]
        if kind == "binary":
            predicted = predicted[1:]
    columns = [predicted] if isinstance(predicted, str) else list(predicted)
    wanted = len(levels) if kind == "multiclass" else 1
    if len(columns) != wanted:
        raise ArgumentError(
            f"predicted= names {plural(len(columns), 'column')}, but the outcome, "
            f"which is {kind}, needs {wanted}"
            + (f": one for each of {', '.join(map(str, levels))}." if levels else ".")
        )
    return columns
