"""From a formula and a data frame to a :class:`Design`: outcome and matrix."""

from statcv.arguments import offered as _offered
from statcv.formula.by_fold.learnt import Learnt as Learnt
from statcv.formula.by_fold.new_levels import Factors as Factors
from statcv.formula.by_fold.training_sets import TrainingSets as TrainingSets
from statcv.formula.dependence import dependent_columns as dependent_columns
from statcv.formula.dependence import in_words as in_words
from statcv.formula.design import Design as Design
from statcv.formula.design import counted as counted
from statcv.formula.design import make_design as make_design
from statcv.formula.frame import as_frame as as_frame
from statcv.formula.frame import check_column as check_column
from statcv.formula.frame import is_missing as is_missing
from statcv.formula.frame import is_number as is_number
from statcv.formula.frame import plain_column as plain_column
from statcv.formula.frame import shown_label as shown_label
from statcv.formula.language.overflow import refuse_underflow as refuse_underflow
from statcv.formula.language.parse import Formula as Formula
from statcv.formula.language.parse import is_offset as is_offset
from statcv.formula.language.parse import is_strata as is_strata
from statcv.formula.language.parse import outcome_columns as outcome_columns
from statcv.formula.language.parse import parse_formula as parse_formula
from statcv.formula.language.quoting import quoted as quoted
from statcv.formula.language.quoting import without_signs_of_r as without_signs_of_r
from statcv.formula.language.scope import caller_scope as caller_scope
from statcv.formula.language.scope import of_r as of_r
from statcv.formula.language.terms import Terms as Terms
from statcv.formula.language.terms import is_finite as is_finite
from statcv.formula.outcomes.outcome import Outcome as Outcome
from statcv.formula.outcomes.outcome import with_exposure as with_exposure
from statcv.formula.outcomes.survival import read_horizons as read_horizons
from statcv.formula.outcomes.survival import status_by as status_by
from statcv.formula.row_values import row_values as row_values
from statcv.formula.row_values import row_weights as row_weights
from statcv.formula.text_numbers import means_missing as means_missing
from statcv.formula.text_numbers import why_text as why_text
from statcv.formula.updating import updated_formula as updated_formula
from statcv.formula.updating import updated_in_comparison as updated_in_comparison

__all__ = _offered(globals())
