"""Predictions from other software, read as a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd

from statcv.arguments import check_types, resolve_seed
from statcv.errors import ArgumentError, ArgumentTypeError, DataError
from statcv.folds import FoldPlan, Ragged, Response, Strata
from statcv.formula import Design, as_frame, outcome_columns
from statcv.metrics.named import OF_MEANS
from statcv.numeric.arrays import Numbers
from statcv.results.call import Call, choose_metrics
from statcv.results.result import CVResult
from statcv.verbs import predicted_elsewhere as elsewhere
from statcv.verbs.argument_types import DataLike, MetricsLike, SeedLike
from statcv.verbs.fold_plan import warn_of_positive
from statcv.vocabulary import OF_PREDICTIONS, refuse_unknown
from statcv.words import plural


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
    other records; with it, a cross-validation that others made. All that needs no
    refits is available.

    Parameters
    ----------
    data : data frame
        Data frame with one row per prediction, as in :func:`statcv.cv`.
    observed : str
        Column of the outcome, or ``"Surv(time, status)"``.
    predicted : str, or list or mapping of them
        Column of the probability (or score) of the positive class, or the predicted
        value of a continuous outcome. More than two classes have a list of columns in
        the order of the classes, or a mapping from class to column. Of times to an
        event it is the linear predictor, or a mapping from each horizon to the column
        of the risk by then, ``{365: "risk"}``; ``"linear"`` in it is the linear
        predictor, else records are ranked by the risk at the last horizon.
    fold : str, optional
        Column of the fold in which each record was held out, after training on all
        others. If records occur in several folds of a repeat, it is leave-pair-out:
        each fold must hold out two records with different outcomes.
    repeat : str, optional
        Column that identifies the repeats; it needs ``row``.
    row : str, optional
        Column that identifies the records; the labels of the rows unless given.
    cluster : str, optional
        Column whose equal values identify the records of one cluster, such as a
        patient.
    positive : optional
        Level of a binary outcome to which the predictions refer; by default the second.
    probabilities : bool, optional
        Whether predictions for classes are probabilities; by default if all lie between
        0 and 1. Scores of at least 0 count as a prediction of the positive class, and
        have no Brier score or log-loss.
    threshold : float, optional
        Smallest probability (or score) that is classified as positive; 0.5 (or 0)
        unless given. Metrics of classes and net benefit are then added to the tables.
    metrics, seed, **unknown
        As in :func:`statcv.cv`.

    Returns
    -------
    CVResult
        The predictions, and the estimates, tests and tables computed from them.

    Raises
    ------
    ColumnError
        If a named column is not in the data.
    DataError
        If an outcome, a prediction, a fold or a label is missing, or records occur
        twice or with different outcomes.

    Warns
    -----
    StatcvWarning
        If the first of two classes seems to be the event.

    Examples
    --------
    >>> import pandas as pd
    >>> import statcv as scv
    >>> cases = pd.DataFrame({"ill": [0, 0, 1, 1], "risk": [0.1, 0.4, 0.3, 0.8]})
    >>> val = scv.from_predictions(cases, observed="ill", predicted="risk")
    >>> float(val.estimate("auroc"))
    0.75
    """
    given = locals()
    check_types(from_predictions, given)
    refuse_unknown("from_predictions", unknown, NAMES, OF_PREDICTIONS)
    return PredictionsCall(**{name: given[name] for name in NAMES}).run()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PredictionsCall(Call):
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
    verb: ClassVar[str] = "from_predictions"

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
        frame = self.data
        if self.row is not None and isinstance(frame, pd.DataFrame):
            # labels may be repeated if a column identifies the records
            frame = frame if frame.index.is_unique else frame.reset_index(drop=True)
        frame = as_frame(frame)
        observed = outcome_columns(self.observed, frame.columns.tolist())
        for column in observed:
            elsewhere.check_column(frame, column, "observed")
        for name in ("fold", "repeat", "row", "cluster"):
            if getattr(self, name) is not None:
                elsewhere.check_column(frame, getattr(self, name), name)
        if self.repeat is not None and self.row is None:
            raise ArgumentError(
                "repeat= needs row=, the column that identifies which predictions "
                "belong to the same record."
            )
        seed = resolve_seed(self.seed)
        places, labels = np.arange(len(frame)), frame.index
        if self.row is not None:
            places, labels = numbered(frame[self.row])
        repeats = np.zeros(len(frame), dtype=np.intp)
        if self.repeat is not None:
            repeats = numbered(frame[self.repeat])[0]
        first = np.unique(places, return_index=True)[1]
        records = frame.iloc[first].set_axis(labels)
        for column in observed:
            _check_constant(frame, records, places, column)
        several = isinstance(self.metrics, (list, tuple))
        named: Any = self.metrics if several else [self.metrics]
        counted = any(isinstance(one, str) and one in OF_MEANS for one in named)
        read = {"positive": self.positive, "distribution": "counts" * counted}
        design = elsewhere.design_of(records, self.observed, self.predicted, **read)
        if self.positive is None:
            warn_of_positive(design.outcome)
        plan, order = plan_of(frame, self.fold, places, repeats, design)
        rows = frame.iloc[order]
        held = elsewhere.held_out(
            rows, self.predicted, self.probabilities, design, plan
        )
        threshold = elsewhere.threshold_of(self.threshold, design, held)
        if self.cluster is not None:
            _check_constant(frame, records, places, self.cluster)
            codes, values = pd.factorize(records[self.cluster])
            strata = Strata(self.cluster, codes.astype(np.intp), len(values))
            plan = replace(plan, strata=strata)
        return CVResult(
            design=replace(design, kept=first),  # the first row of each record
            plan=replace(plan, rows=design.labels),
            learner=elsewhere.OtherSoftware(),
            held=held,
            chosen_metrics=choose_metrics(
                self.metrics, design.outcome, False, threshold, held.probabilities
            ),
            weights=None,
            seed=seed,
            threshold=threshold,
            call=replace(self, data=frame, seed=seed),
        )


NAMES = tuple(field.name for field in fields(PredictionsCall))


def _check_constant(
    frame: pd.DataFrame, records: pd.DataFrame, places: Numbers, column: str
) -> None:
    differ = frame[column].to_numpy() != records[column].to_numpy()[places]
    if differ.any():
        label = records.index[places[np.flatnonzero(differ)[0]]]
        several = plural(len(np.unique(places[differ])), "record")
        raise DataError(
            f"{column!r} differs among the rows of {several} (first: {label!r}); it "
            "must have one value per record."
        )


# ---- the folds of other software ----


def numbered(values: Any) -> tuple[Numbers, Any]:
    """Return codes of the distinct values, sorted if they can be, and the values."""
    try:
        codes, distinct = pd.factorize(values, sort=True)
    except TypeError:  # values of several types, which have no order
        codes, distinct = pd.factorize(values)
    return codes.astype(np.intp), distinct


def _again(places: Numbers, within: Numbers) -> int:
    """Return the number of rows whose record occurred before within a group of rows."""
    cells = within * (places.max() + 1) + places
    cells.sort()  # quicker than a table of all different ones
    return int(np.count_nonzero(cells[1:] == cells[:-1]))


def plan_of(
    frame: pd.DataFrame,
    fold: str | None,
    places: Numbers,
    repeats: Numbers,
    design: Design,
) -> tuple[FoldPlan, Numbers]:
    """Return the plan of the folds that a column names, and the rows in its order.

    Without a column of folds, no record trains. The rows are sorted by fold, and within
    a fold by record.
    """
    split, labels = np.zeros(len(frame), dtype=np.intp), list[tuple[Any, ...]]()
    for number in range(int(repeats.max()) + 1):
        where = repeats == number
        codes, names = np.zeros(where.sum(), dtype=np.intp), ["all"]
        if fold is not None:
            codes, names = numbered(frame[fold].to_numpy()[where])
        split[where] = sum(map(len, labels)) + codes
        labels.append(tuple(names))
    order = np.lexsort((places, split))
    tests = np.split(places[order], np.cumsum(np.bincount(split))[:-1])
    n, y, twice = len(design.y), design.y, _again(places, repeats)
    in_pairs = not _again(places, split) and all(
        len(test) == 2 and y[test[0]] != y[test[1]] for test in tests
    )
    if twice and not in_pairs:
        raise DataError(
            f"{plural(twice, 'record')} occur more than once in a repeat; identify "
            "repeats with repeat= and records with row=. (Records may occur more than "
            "once in leave-pair-out, where each fold holds out two records with "
            "different outcomes.)"
        )
    counts, more = {len(names) for names in labels}, dict[str, Any]()
    said = plural(counts.pop(), "fold") if len(counts) == 1 else "folds"
    scheme, sentence = "given", f"{said} by {fold}, from other software"
    if fold is None:
        scheme, sentence = "external", "predictions by a model fitted to other records"
        others = [np.bincount(test, minlength=n) == 0 for test in tests]
        more["kept_out"] = Ragged.of([np.flatnonzero(other) for other in others])
    elif twice:
        scheme, sentence = "leave_pair_out", f"leave-pair-out, {sentence}"
        outcome = design.outcome
        made_for = Response.of(y, outcome.kind, outcome.levels, outcome.name)
        more["response"] = made_for
    given: dict[str, Any] = {"n": n, "tests": Ragged.of(tests), "labels": tuple(labels)}
    return FoldPlan(scheme=scheme, sentence=sentence, **given, **more), order
