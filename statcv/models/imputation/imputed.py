"""What imputes missing covariates, and models fitted to every completion of the data.

Multiple imputation by chained equations draws values; the median is a single one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd

from statcv.arguments import check_whole, one_of
from statcv.errors import ArgumentTypeError, ModelError
from statcv.formula import Design
from statcv.models.base import Capabilities, Fit, Model, PlainFit, TrainingSet
from statcv.models.imputation.chains import Chains, Variables, run_chains
from statcv.numeric.arrays import Bools, Floats, Ints, Numbers
from statcv.numeric.survival import events_of, times_of
from statcv.tables import Constructed
from statcv.words import plural

# ---- imputers, as statcv.cv takes them ----


@dataclass(frozen=True, repr=False)
class Mice(Constructed):
    """Multiple imputation by chained equations, inside every training set.

    The missing values of training records are drawn given the outcome and the other
    columns of the formula: numbers by predictive mean matching, two classes by logistic
    and more by multinomial regression. Held-out and new records are imputed by models
    of the same training set without the outcome. The model is fitted to each completed
    training set, and the predictions of a record, such as probabilities, are averaged:
    the metrics are those in practice, where patients lack values too. The coefficients
    of the final model are means over the imputations.

    Parameters
    ----------
    m : int, default 20
        Number of imputations.
    iterations : int, default 10
        Number of cycles through the columns.
    normal : sequence of str, optional
        Columns that are drawn from a normal distribution, not matched.

    Examples
    --------
    >>> import statcv as scv
    >>> data = scv.load_data("spector").assign(GPA=lambda d: d.GPA.where(d.TUCE > 17))
    >>> imputed = scv.models.Mice(m=5)
    >>> res = scv.cv("GRADE ~ GPA + PSI", data, impute=imputed, k=4, seed=1)
    >>> res.rows
    'n = 32, 5 of them incomplete'

    References
    ----------
    van Buuren (2018), Flexible Imputation of Missing Data, 2nd edition; White & Royston
    (2009), Statistics in Medicine 28:1982; Wood, Royston & White (2015), Biometrical
    Journal 57:614; Wahl, Boulesteix, Zierer, Thorand & van de Wiel (2016), BMC Medical
    Research Methodology 16:144.
    """

    m: int = 20
    iterations: int = 10
    normal: Sequence[str] = ()
    indicators: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_whole(self.m, "m", least=1, most=1000)
        check_whole(self.iterations, "iterations", least=1, most=1000)

    @property
    def label(self) -> str:
        """How print and summary call it."""
        return f"missing values imputed {self.m} times in every training set"

    @property
    def told(self) -> str:
        """What is done with the missing values of new records."""
        return (
            f"imputed {self.m} times without the outcome, and the predictions averaged"
        )


@dataclass(frozen=True, repr=False)
class Median(Constructed):
    """Single imputation by the median, or the most frequent level, of a training set.

    Parameters
    ----------
    indicators : bool, default False
        Whether every column with missing values gets a further one in the model, which
        is 1 where the value is missing.

    Examples
    --------
    >>> import statcv as scv
    >>> scv.models.Median().label
    'missing values replaced by the median of every training set'
    """

    indicators: bool = False
    m: ClassVar[int] = 1
    iterations: ClassVar[int] = 0
    normal: ClassVar[Sequence[str]] = ()

    @property
    def label(self) -> str:
        """How print and summary call it."""
        also = ", with indicators" * self.indicators
        return f"missing values replaced by the median of every training set{also}"

    @property
    def told(self) -> str:
        """What is done with the missing values of new records."""
        return "replaced by the median or the most frequent level"


Imputer: TypeAlias = Mice | Median


# ---- models ----


IMPUTERS: dict[str, Imputer] = {"mice": Mice(), "median": Median()}
IMPUTING = 0x1337  # distinguishes the streams of imputations from those of models
CELLS = 2**21  # numbers of completed training sets that are held at once


def find_imputer(impute: object) -> Imputer:
    """Return an imputer by its name, or the one given."""
    if isinstance(impute, str):
        return IMPUTERS[one_of(impute, IMPUTERS, "impute")]
    if isinstance(impute, (Mice, Median)):
        return impute
    raise ArgumentTypeError(
        "impute must be 'mice', 'median', or an object such as "
        f"statcv.models.Mice(m=20), not {impute!r}."
    )


def imputing(impute: object, model: Model, design: Design) -> Model:
    """Return the model with what imputes its covariates, if any value is missing.

    Raises
    ------
    ArgumentTypeError, ArgumentError, ModelError
        If ``impute`` is unknown, or the model chooses something in every training set.
    """
    imputer = find_imputer(impute)
    chooses = hasattr(model, "model")
    if model.capabilities.follows_held_out or (chooses and imputer != Median()):
        raise ModelError(
            f"impute={imputer!r} cannot be combined with tune=, select=, a rule of "
            f"threshold= or learning curves: {model.label} would choose something else "
            "in each completion of a training set, or among indicators. There is one "
            "completion by impute='median', which learning curves alone exclude."
        )
    return Imputed(model, imputer) if design.absent else model


@dataclass(frozen=True, eq=False)
class Imputed:
    """A model, and what imputes its missing covariates in every training set.

    Attributes
    ----------
    model : Model
    imputer : Mice or Median
    """

    model: Model
    imputer: Imputer

    @property
    def label(self) -> str:
        """How print and summary call it."""
        return f"{self.model.label}, {self.imputer.label}"

    @property
    def capabilities(self) -> Capabilities:
        """Those that imputations leave to the model: no likelihood is maximised."""
        able = replace(self.model.capabilities, likelihood=None, missing=True)
        return replace(able, fits_together=False, own_matrices=False)

    def check(self, kind: str) -> None:
        """Raise ModelError if the model does not admit the outcome."""
        self.model.check(kind)

    def fit(self, training: TrainingSet) -> Fit:
        """Refuse a matrix, whose columns are not those that are imputed."""
        raise ModelError("impute= imputes the columns of the data, not of a matrix.")

    def at_once(self, design: Design) -> int:
        """Return how many training sets are imputed at once."""
        each = design.matrix.size + design.n * len(design.terms.columns)
        return max(1, CELLS // (each * self.imputer.m))

    def fit_all(
        self, design: Design, records: TrainingSet, counts: Floats | None = None
    ) -> PlainFit:
        """Fit all records of a design, or a sample of them, in every completion.

        Parameters
        ----------
        design : Design
        records : TrainingSet
            The records that are fitted, with any matrix.
        counts : numpy.ndarray, shape (n,), optional
            How often each record of the design is among them; once unless given.
        """
        made = Completed.whole(self.imputer, design, records.seed, counts)
        rows, names = np.arange(design.n), made.names(records.names)
        if counts is not None:
            rows = np.repeat(rows, counts.astype(np.intp))
        fits = []
        for k in range(self.imputer.m):
            X = made.of(k).matrix(0, rows)
            fits.append(self.model.fit(replace(records, X=X, names=names)))
        return ImputedFits(fits, made, records.seed).averaged


@dataclass(frozen=True, eq=False)
class Completed:
    """The completed records of several fits.

    Attributes
    ----------
    design : Design
    imputer : Mice or Median
    chains : Chains
    values : numpy.ndarray, shape (fits, m, incomplete records, columns)
        Those of held-out records do not use their outcome.
    first : int
        Number of the first fit.
    """

    design: Design
    imputer: Imputer
    chains: Chains
    values: Floats
    first: int = 0

    @classmethod
    def of_fits(
        cls,
        imputer: Imputer,
        design: Design,
        counts: Floats,
        seeds: Ints,
        first: int = 0,
        every: bool = False,
    ) -> Completed:
        """Impute training sets with their outcome, and other records without.

        Parameters
        ----------
        imputer, design, first
            As above.
        counts : numpy.ndarray, shape (fits, n)
            How often each fit trains on each record.
        seeds : numpy.ndarray of int, shape (fits,)
        every : bool
            Whether further records may lack any column.
        """
        own, m, iterations = Variables.of(design), imputer.m, imputer.iterations
        shape = len(counts), m, len(own.names)
        V = np.tile(own.values, (*shape[:2], 1, 1))
        traces = np.zeros((iterations, *shape))
        chains = Chains(own, m, iterations, counts, V, traces, {})
        V[:, :, own.absent] = np.broadcast_to(chains.usual[:, None, None], V.shape)[
            :, :, own.absent
        ]
        streams = [np.random.default_rng([seed, IMPUTING]) for seed in seeds.tolist()]
        if iterations:
            outcome = outcome_in(design, counts)
            run_chains(chains, outcome, streams, imputer.normal, every)
        values, sizes = V[:, :, own.rows], (counts[:, own.rows] == 0).sum(axis=1)
        fits, place = np.nonzero(counts[:, own.rows] == 0)
        shape = iterations, len(own.names), m
        u = [one.random((k, *shape)) for one, k in zip(streams, sizes, strict=True)]
        held = own.rows[place]
        values[fits, :, place] = chains.fill(
            fits, own.values[held], own.absent[held], np.concatenate(u)
        )
        return cls(design, imputer, chains, values, first)

    @classmethod
    def whole(
        cls, imputer: Imputer, design: Design, seed: int, counts: Floats | None = None
    ) -> Completed:
        """Impute all records, and learn to impute any column of others.

        With counts, all that is learnt is learnt from a sample of the records.
        """
        counts = np.ones(design.n) if counts is None else counts
        own = imputer, design, counts[None], np.array([seed])
        return cls.of_fits(*own, every=True)

    def of(self, k: int) -> CompletedMatrices:
        """Return the matrices of an imputation."""
        return CompletedMatrices(self, self.values[:, k])

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of columns, with those of indicators."""
        own = self.chains.variables
        lacking = own.incomplete if self.imputer.indicators else []
        return (*names, *(f"{own.names[j]} missing" for j in lacking))

    def beside(self, X: Floats, absent: Bools) -> Floats:
        """Return a matrix with indicators of what is missing, if they are used."""
        if not self.imputer.indicators:
            return X
        return np.column_stack([X, absent[:, self.chains.variables.incomplete]])


@dataclass(frozen=True, eq=False)
class CompletedMatrices:
    """The design matrices of fits, in one imputation.

    Attributes
    ----------
    made : Completed
    values : numpy.ndarray, shape (fits, incomplete records, columns)
    """

    made: Completed
    values: Floats
    _last: dict[int, Any] = field(default_factory=dict)

    @cached_property
    def _cells(self) -> Floats:
        """The rows of incomplete records in all fits, unless terms learn."""
        fits, rows, columns = self.values.shape
        own, index = self.made.chains.variables, pd.RangeIndex(fits * rows)
        frame = own.frame(self.values.reshape(-1, columns), index)
        return self.made.design.terms.matrix(frame).reshape(fits, rows, -1)

    def completed(self, fit: int, rows: Numbers) -> pd.DataFrame:
        """Return the columns of records, as they are completed in a fit."""
        frame, variables = self.made.design.terms.frame, self.made.chains.variables
        index = frame.index[variables.rows]
        part = variables.frame(self.values[fit - self.made.first], index)
        own = variables.place[rows]
        place = np.where(own >= 0, len(frame) + own, rows)
        return pd.concat([frame, part]).iloc[place]

    def learnt(self, fit: int) -> Any:
        """Return what terms learn in a completed training set."""
        if not self.made.design.terms.stateful:
            return None
        if fit not in self._last:
            self._last.clear()
            times = self.made.chains.counts[fit - self.made.first].astype(np.intp)
            training = self.completed(fit, np.repeat(np.arange(len(times)), times))
            self._last[fit] = self.made.design.terms.learn_frame(training)
        return self._last[fit]

    def matrix(self, fit: int, rows: Numbers) -> Floats:
        """Return the matrix of records, as completed and learnt in a fit."""
        variables, terms = self.made.chains.variables, self.made.design.terms
        place = variables.place[rows]
        if terms.stateful:
            X = terms.matrix(self.completed(fit, rows), self.learnt(fit))
        else:
            X = self.made.design.matrix[rows]
            X[place >= 0] = self._cells[fit - self.made.first, place[place >= 0]]
        return self.made.beside(X, variables.absent[rows])


def outcome_in(design: Design, counts: Floats) -> Floats:
    """Return the outcome as imputation models use it, 0 outside the training sets.

    Classes are indicators, numbers are standardised, and times are the event and the
    Nelson-Aalen estimate (White & Royston 2009); shape (fits, n, columns).
    """
    y, training = design.y, (counts > 0)[..., None]
    if design.outcome.levels:
        codes = np.arange(1, len(design.outcome.levels))
        return np.asarray(training * (y[:, None] == codes), dtype=float)
    if design.outcome.kind == "survival":
        times, place = np.unique(times_of(y), return_inverse=True)
        at = np.eye(len(times))[place]
        # at risk are all whose times are as late or later
        risk = np.cumsum((counts @ at)[:, ::-1], axis=1)[:, ::-1]
        hazard = np.cumsum((counts * events_of(y)) @ at / np.maximum(risk, 1), axis=1)
        event = np.broadcast_to(events_of(y), counts.shape)
        return np.asarray(training * np.stack([event, hazard[:, place]], axis=2))
    total = counts.sum(axis=1, keepdims=True)
    apart = y - (counts @ y)[:, None] / total
    spread = np.sqrt((counts * apart**2).sum(axis=1, keepdims=True) / total)
    return np.asarray(training * (apart / np.maximum(spread, 1e-300))[..., None])


@dataclass(frozen=True, eq=False)
class ImputedFits:
    """The fits to all completions of the records; a function of their matrix.

    Attributes
    ----------
    fits : list of Fit
    made : Completed
    seed : int
    """

    fits: list[Fit]
    made: Completed
    seed: int

    @property
    def averaged(self) -> PlainFit:
        """The fit that predicts their mean; its coefficients are means, too."""
        every = [fit.coefficients or {} for fit in self.fits]
        same = all(list(one) == list(every[0]) for one in every)
        return PlainFit(
            self,
            {n: float(np.mean([one[n] for one in every])) for n in every[0]}
            if same and every[0]
            else None,
            all(fit.converged for fit in self.fits),
            any(fit.separated for fit in self.fits),
            self.fits[0].probabilities,
        )

    def __call__(self, X: Floats) -> Floats:
        """Predict the records of the fits, without their outcomes."""
        design = self.made.design
        if X is not design.matrix:
            raise ModelError("with impute=, predictions need the columns of the data.")
        return self.predict(design.terms.frame, self.made.chains.variables.absent)

    def told(self, absent: Bools) -> str:
        """Say how the missing values of some records are imputed."""
        lacking = plural(int(absent.any(axis=1).sum()), "record")
        return f"; missing values of {lacking} were {self.made.imputer.told}"

    def predict(self, frame: pd.DataFrame, absent: Bools) -> Floats:
        """Predict rows of prepared columns, whose missing values are imputed.

        The random numbers are the same for all rows, so that the prediction of a row
        does not depend on the others.
        """
        chains, terms = self.made.chains, self.made.design.terms
        own, stream = chains.variables, np.random.default_rng([self.seed, IMPUTING])
        u = stream.random((1, chains.iterations, len(own.names), chains.m))
        u = np.broadcast_to(u, (len(frame), *u.shape[1:]))
        fit = np.zeros(len(frame), dtype=np.intp)
        filled, predicted = chains.fill(fit, own.read(frame), absent, u), []
        for k, one in enumerate(self.fits):
            made = own.frame(filled[:, k], frame.index)
            for j, (name, column) in enumerate(own.columns.items()):
                if column.dtype.kind in "iuf":  # a third value of what had two
                    made[name] = made[name].where(absent[:, j], frame[name])
            X = terms.matrix(made, self.made.of(k).learnt(0))
            predicted.append(one.predict(self.made.beside(X, absent)))
        return np.asarray(np.mean(predicted, axis=0))


def imputed_fits(impute: object, fit: Fit, design: Design, seed: int) -> ImputedFits:
    """Return a fit to complete records, with what imputes new ones."""
    made = Completed.whole(find_imputer(impute), design, seed)
    return ImputedFits([fit] * made.imputer.m, made, seed)
