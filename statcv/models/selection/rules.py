"""Models that choose their terms in every training set, as ``cv(select=)`` has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from statcv.arguments import is_number, is_whole, one_of
from statcv.errors import ArgumentError, ModelError
from statcv.formula import Design, Learnt, dependent_columns, in_words, is_strata
from statcv.models import base
from statcv.models.base import Capabilities, Model, PlainFit, TrainingSet
from statcv.models.batched.blocks import CELLS
from statcv.models.batched.cox import CoxFits
from statcv.models.batched.fits import FittedFolds, FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.own_matrices import predicted_by
from statcv.models.batched.predictions import by_linear_predictor
from statcv.models.batched.risk_sets import count_strata
from statcv.models.counts import NegativeBinomial, Poisson, with_theta
from statcv.models.cox import Cox, alone, fitted_hazards, without_coefficients
from statcv.models.likelihood import Generalized
from statcv.models.linear import Linear
from statcv.models.logit import Logit
from statcv.models.offsets import WHOLE, fixed, zeroed
from statcv.models.offsets import alone as predicting
from statcv.models.ordered import ProportionalOdds, fitted_odds
from statcv.models.selection.search import chosen_sets, fit_chosen
from statcv.models.selection.terms import Term, forced_by, terms_of
from statcv.models.selection.training import Sets, baselines, mean_by
from statcv.numeric.gram import column_units
from statcv.tables import Constructed

CRITERIA = {"aic": "AIC", "bic": "BIC", "p": "Wald test"}
LEVEL_OF_AIC = 0.157  # p-value at which the AIC drops a term of one coefficient


@dataclass(frozen=True, repr=False)
class Selection(Constructed):
    """A regression whose terms are chosen on every training set.

    The parameters are described in :class:`Backward`; :func:`selecting` adds the
    regression, and the terms of the formula.
    """

    by: str = "aic"
    level: float | None = None
    keep: Sequence[str] = ()
    screen: int | None = None
    model: Model = field(default=Logit(), repr=False)
    terms: tuple[Term, ...] = field(default=(), repr=False)
    direction: ClassVar[str] = ""

    def __post_init__(self) -> None:
        one_of(self.by, tuple(CRITERIA), "by")
        if not (is_number(self.dropped_above) and 0 < self.dropped_above < 1):
            raise ArgumentError(f"level must be between 0 and 1, not {self.level!r}.")
        if self.level is not None and self.by != "p":
            raise ArgumentError(
                f"level= is for by='p', not for by={self.by!r}; write "
                "select=scv.models.Backward(by='p')."
            )
        texts = isinstance(self.keep, str) or not isinstance(self.keep, Sequence)
        if texts or not all(isinstance(name, str) for name in self.keep):
            raise ArgumentError(
                f"keep must be a list of terms, such as ['age'], not {self.keep!r}."
            )
        if self.screen is not None and not (is_whole(self.screen) and self.screen > 0):
            raise ArgumentError(
                f"screen must be a number of columns, 1 or more, not {self.screen!r}."
            )
        if self.by == "p" and self.direction in ("forward", "both"):
            raise ArgumentError(
                f"by='p' drops terms by Wald tests of the full model; {self.direction} "
                "selection is by='aic' or by='bic'."
            )

    @property
    def dropped_above(self) -> float:
        """The p-value above which a term is dropped by its Wald test."""
        return LEVEL_OF_AIC if self.level is None else self.level

    @property
    def label(self) -> str:
        """How print and summary call it."""
        how = f"{self.direction} selection by {CRITERIA[self.by]}"
        if self.by == "p":
            how += f" at {self.dropped_above:g}"
        if self.direction == "both":
            how = f"selection in both directions by {CRITERIA[self.by]}"
        if self.screen is not None:
            of = f"the {self.screen} columns most correlated with the outcome"
            how = f"{how} among {of}" if self.direction else of
        return f"{self.model.label}, {how} in every training set"

    @property
    def capabilities(self) -> Capabilities:
        """Those of the regression; it jumps where another set is chosen."""
        return replace(
            self.model.capabilities,
            likelihood=None,
            needs_full_rank=False,  # dependent terms are refused
            fits_per_training_set=max(len(self.terms), 1),
        )

    @cached_property
    def forced(self) -> int:
        """The set of terms in every model."""
        strata = [term.name for term in self.terms if is_strata(term.name)]
        return forced_by([*self.keep, *strata], self.terms)

    def check(self, kind: str) -> None:
        """Raise ModelError for an outcome that the regression does not fit."""
        self.model.check(kind)

    def fit(self, training: TrainingSet) -> PlainFit:
        """Choose terms on the training set, and fit it with them."""
        made = self.fit_folds(training, WHOLE)
        if training.kind == "survival":
            assert made is not None
            return alone(made, training)
        return predicting(made, mean_by(self.model, training.kind))

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Choose and fit in the training sets of all folds together."""
        if folds.matrices is not None and not isinstance(folds.matrices, Learnt):
            return None
        if records.offsets and folds.matrices is not None:
            return None
        if isinstance(self.model, NegativeBinomial) and records.y.ndim > 1:
            return None
        self.check(records.kind)
        base.refuse_missing(records, self.model.label)
        inner, start = zeroed(self.model, records)
        made = self._fitted(inner, folds)
        fits, none = made.fits, fixed(np.zeros(records.X.shape[1]), records)
        if records.kind == "survival":
            made.fits.coefficients[:, list(records.offsets)] = 1.0
            made.constant[:] += start
            ridge = without_coefficients(np.tile(none, (len(folds), 1)), records)
            return fitted_hazards(made, records, folds, ridge)
        if isinstance(self.model, ProportionalOdds):
            return fitted_odds(fits, records, folds, none)
        fits.coefficients[:, list(records.offsets)] = 1.0
        if records.intercept is not None:
            fits.coefficients[:, records.intercept] += start
        mean = mean_by(self.model, records.kind)
        by = predicted_by if isinstance(folds.matrices, Learnt) else by_linear_predictor
        fitted = by(fits, records, folds, mean, none)
        if isinstance(self.model, NegativeBinomial):
            return with_theta(fitted, made.constant, records)
        return fitted

    def _fitted(self, records: TrainingSet, folds: Folds) -> CoxFits:
        """Return the coefficients of each fold, 0 for terms that were not chosen.

        Constants are theta of counts that have one; baseline hazards are those of times
        to an event.
        """
        n, p = records.X.shape
        constant = np.zeros(len(folds))
        size = len(folds), count_strata(records.names), len(records.horizons)
        baseline = np.zeros(size)
        own = 1 if folds.matrices is None else p
        step, parts = max(1, 4 * CELLS // max(n * own, p * p)), []
        for start in range(0, len(folds), step):
            some = np.arange(start, min(start + step, len(folds)))
            sets = Sets(self, records, folds.chosen(some), self.forced)
            fits = FoldFits.empty(len(some), sets.cuts + sets.free * p)
            chosen, near = chosen_sets(sets)
            sure = fit_chosen(sets, chosen, near)
            every = sets.layout(np.arange(p), p + 1)
            fits.coefficients[sure], fits.converged[sure] = near[sure][:, every], True
            for one in dict.fromkeys(chosen):
                part = np.flatnonzero([other == one for other in chosen] & ~sure)
                if not len(part):
                    continue
                columns = sets.columns(one)
                found, place = sets.fit(columns, part), sets.layout(columns, p)
                fits.coefficients[np.ix_(part, place)] = found.coefficients
                fits.converged[part] = found.converged
                fits.separated[part] = found.separated
            fits.separated[sets.apart] = True
            parts.append(fits)
            if sets.is_survival:
                constant[some], baseline[some] = baselines(sets, fits.coefficients)
            elif sets.is_dispersed:
                constant[some] = sets.theta(fits.coefficients)
        return CoxFits(FoldFits.joined(parts), constant, baseline)


class Backward(Selection):
    """Terms are dropped one by one from the model of all, in every training set.

    A term is dropped whole, never below an interaction that contains it, while that
    lowers the AIC or BIC, as in R's ``step``; or by Wald tests of the model of all
    terms, as in ``rms::fastbw(type="individual")``. Of terms that tie, as where classes
    are separated without any one of them, the one named last goes.

    Parameters
    ----------
    by : {"aic", "bic", "p"}
        Criterion of the choice. The BIC of times to an event counts the events.
    level : float, optional
        For ``by="p"`` alone, the p-value above which a term is dropped; by default
        0.157, which is the AIC's for a term of one coefficient.
    keep : sequence of str
        Terms that are in every model.
    screen : int, optional
        Number of columns among which is chosen: those that are most correlated with the
        outcome in the training set; of times to an event, with martingale residuals.

    Examples
    --------
    >>> import statcv as scv
    >>> df, rule = scv.load_data("spector"), scv.models.Backward(by="bic", keep=["PSI"])
    >>> res = scv.cv("GRADE ~ GPA + TUCE + PSI", df, select=rule, k=4, seed=1)
    >>> res.learner.label.partition(", ")[2]
    'unpenalised, backward selection by BIC in every training set'
    """

    direction = "backward"


class Forward(Selection):
    """Terms are added one by one while that lowers the AIC or BIC.

    Parameters
    ----------
    by, level, keep, screen
        As in :class:`Backward`; ``"p"`` is for that alone.

    Examples
    --------
    >>> import statcv as scv
    >>> data, rule = scv.load_data("spector"), scv.models.Forward()
    >>> res = scv.cv("GRADE ~ GPA + TUCE", data, select=rule, k=4, seed=1)
    >>> res.selection.models["model"].tolist()
    ['GPA']
    """

    direction = "forward"


class Both(Selection):
    """Terms are dropped from the model of all, or added again, as by R's ``step``.

    Parameters
    ----------
    by, level, keep, screen
        As in :class:`Backward`; ``"p"`` is for that alone.

    Examples
    --------
    >>> import statcv as scv
    >>> scv.models.Both(by="bic")
    Both(by='bic')
    """

    direction = "both"


class Screen(Selection):
    """The columns most correlated with the outcome, found in every training set.

    Parameters
    ----------
    screen : int
        Number of columns.
    keep : sequence of str
        Terms that are in every model besides them.

    Examples
    --------
    >>> import statcv as scv
    >>> scv.models.Screen(screen=10)
    Screen(screen=10)
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.screen is None:
            raise ArgumentError("Screen(screen=10) needs the number of columns.")


def selection_in(model: Any) -> Selection | None:
    """Return the selection that a model makes, also inside tuning; None without one."""
    while not isinstance(model, Selection) and hasattr(model, "model"):
        model = model.model
    return model if isinstance(model, Selection) else None


def chooses_terms(model: Any) -> bool:
    """Return whether a model chooses terms, or leaves out columns, also if tuned."""
    if selection_in(model) is not None:
        return True
    while hasattr(model, "model"):
        model = model.model
    return isinstance(model, Logit) and model.selects


def regression_of(model: Model) -> Model:
    """Return the regression whose columns a model chooses; itself if it chooses none.

    Columns that are screened may be more than a regression can have.
    """
    chosen = selection_in(model)
    if chosen is not None:
        return chosen.model if chosen.screen is None else model
    return Logit() if chooses_terms(model) else model


# ---- the selection that cv(select=) asks for ----


REGRESSIONS = Logit, Linear, Cox, Poisson, NegativeBinomial, ProportionalOdds
RULES = {"backward": Backward, "forward": Forward, "both": Both}


def selecting(select: Any, learner: Model, design: Design) -> Selection:
    """Return the model that chooses among the terms of a design.

    Parameters
    ----------
    select : str or Selection
    learner : Model
        The regression whose terms are chosen.
    design : Design

    Raises
    ------
    ArgumentError
        If there is no such selection, or nothing to choose.
    ModelError
        If the model does not maximise a likelihood without a penalty, has no intercept,
        or terms are linearly dependent.
    """
    if not isinstance(select, Selection):
        select = RULES[one_of(select, RULES, "select")]()
    _check_model(learner)
    if design.intercept is None:
        raise ModelError(
            "select= ends at the model without predictors, which is an intercept; "
            f"{design.formula.text!r} has none."
        )
    terms = terms_of(design)
    made: Selection = replace(select, model=learner, terms=terms)
    if not terms or made.forced == (1 << len(terms)) - 1:
        raise ArgumentError("select= has nothing to choose: all terms are in keep=.")
    made.check(design.outcome.kind)
    if made.screen is not None:
        _check_screen(made, design)
    elif (dependent := dependent_columns(design)) and not _within(design, terms):
        raise ModelError(
            f"select= cannot choose between collinear terms: {in_words(dependent)}. "
            "Omit one of them."
        )
    return made


def _check_model(learner: Model) -> None:
    """Refuse models without a likelihood that sets of terms can be compared by."""
    offers = "it can be tuned instead: tune={'C': [0.1, 1, 10]}"
    shrunk = any(getattr(learner, name, False) for name in ("penalised", "has_firth"))
    if isinstance(learner, REGRESSIONS) and not shrunk:
        return
    if isinstance(learner, Logit) and learner.has_firth:
        offers = "Firth's penalty differs between sets of terms; Logit() has none"
    elif isinstance(learner, Logit) and learner.selects:
        offers = "it chooses columns itself, and res.selection shows them"
    elif not learner.capabilities.uses_predictors:
        offers = "it has no terms"
    elif isinstance(learner.capabilities.likelihood, Generalized):
        offers = "model='logit', 'linear', 'poisson' and 'negbin' are such families"
    elif not isinstance(learner, REGRESSIONS):
        offers = (
            "what it chooses itself is chosen inside every training set without "
            "select=, as by a lasso in a pipeline or early stopping of trees"
        )
    raise ModelError(
        "select= compares models by their likelihood, so that it is for Logit(), "
        "Linear(), Cox(), Poisson(), NegativeBinomial() and ProportionalOdds() without "
        f"a penalty, not for {learner.label}; {offers}."
    )


def _within(design: Design, terms: tuple[Term, ...]) -> bool:
    """Return whether columns depend on others of their own term alone."""
    X = design.matrix / column_units(design.matrix)
    others = [X[:, [design.names.index("Intercept"), *one.columns]] for one in terms]
    own = sum(int(np.linalg.matrix_rank(one)) - 1 for one in others)
    return int(np.linalg.matrix_rank(X)) == own + 1


def _check_screen(made: Selection, design: Design) -> None:
    terms = made.terms
    free = [term for i, term in enumerate(terms) if not made.forced >> i & 1]
    wide = [term.name for term in free if len(term.columns) > 1]
    if wide:
        raise ModelError(
            f"screen= ranks terms of one column; {wide[0]!r} has several: name it in "
            "keep=."
        )
    learning = set(design.terms.learning_columns)
    for term in free:
        learns = not learning.isdisjoint(design.terms.columns_of(term.columns[0]))
        if len(term.factors) > 1 or learns:
            what = "learns from the data" if learns else "is an interaction"
            raise ModelError(
                f"screen= ranks columns as they are, and {term.name!r} {what}: name it "
                "in keep=."
            )
    assert made.screen is not None
    if made.screen >= len(free):
        raise ArgumentError(
            f"screen={made.screen} keeps all {len(free)} columns; give fewer."
        )
