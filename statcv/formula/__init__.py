"""From a formula and a data frame to a :class:`Design`: outcome and matrix."""

from statcv.formula.by_fold.learnt import Learnt
from statcv.formula.by_fold.new_levels import Factors
from statcv.formula.by_fold.training_sets import TrainingSets
from statcv.formula.dependence import dependent_columns, in_words
from statcv.formula.design import Design, counted, make_design
from statcv.formula.frame import (
    as_frame,
    is_missing,
    is_number,
    plain_column,
    shown_label,
)
from statcv.formula.language.overflow import refuse_underflow
from statcv.formula.language.parse import (
    Formula,
    is_offset,
    is_strata,
    outcome_columns,
    parse_formula,
)
from statcv.formula.language.quoting import quoted, without_signs_of_r
from statcv.formula.language.scope import caller_scope, of_r
from statcv.formula.language.terms import Terms, is_finite
from statcv.formula.outcomes.outcome import Outcome, with_exposure
from statcv.formula.outcomes.survival import read_horizons, status_by
from statcv.formula.row_values import row_values, row_weights
from statcv.formula.text_numbers import why_text
from statcv.formula.updating import updated_formula

__all__ = [
    "Design",
    "Factors",
    "Formula",
    "Learnt",
    "Outcome",
    "Terms",
    "TrainingSets",
    "as_frame",
    "caller_scope",
    "counted",
    "dependent_columns",
    "in_words",
    "is_finite",
    "is_missing",
    "is_number",
    "is_offset",
    "is_strata",
    "make_design",
    "of_r",
    "outcome_columns",
    "parse_formula",
    "plain_column",
    "quoted",
    "read_horizons",
    "refuse_underflow",
    "row_values",
    "row_weights",
    "shown_label",
    "status_by",
    "updated_formula",
    "why_text",
    "with_exposure",
    "without_signs_of_r",
]
