"""The selection that ``cv(select=)`` asks for, checked against model and formula."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from statcv.arguments import one_of
from statcv.errors import ArgumentError, ModelError
from statcv.formula import Design, dependent_columns, in_words
from statcv.models.base import Model
from statcv.models.cox import Cox
from statcv.models.linear import Linear
from statcv.models.logit import Logit
from statcv.models.selection.rules import Backward, Both, Forward, Selection
from statcv.models.selection.terms import Term, terms_of
from statcv.numeric.gram import column_units

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
        if not isinstance(select, str) or select not in RULES:
            one_of(select, tuple(RULES), "select")
        select = RULES[select]()
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
    if isinstance(learner, Logit) and not (learner.penalised or learner.has_firth):
        return
    if isinstance(learner, Linear) or (
        isinstance(learner, Cox) and not learner.penalised
    ):
        return
    if isinstance(learner, Logit) and learner.has_firth:
        offers = "Firth's penalty differs between sets of terms; Logit() has none"
    elif isinstance(learner, Logit) and learner.selects:
        offers = "it chooses columns itself, and res.selection shows them"
    elif not isinstance(learner, (Logit, Cox)):
        offers = (
            "what it chooses itself is chosen inside every training set without "
            "select=, as by a lasso in a pipeline or early stopping of trees"
        )
    raise ModelError(
        "select= compares models by their likelihood, so that it is for Logit(), "
        f"Linear() and Cox() without a penalty, not for {learner.label}; {offers}."
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
    if any(len(term.factors) > 1 for term in terms) or design.terms.stateful:
        raise ModelError(
            "screen= is for formulas without interactions and terms that learn from "
            "the data, such as splines."
        )
    assert made.screen is not None
    if made.screen >= len(free):
        raise ArgumentError(
            f"screen={made.screen} keeps all {len(free)} columns; give fewer."
        )
