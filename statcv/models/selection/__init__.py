"""Terms that are chosen in every training set, and those chosen in all of them."""

from statcv.arguments import offered as _offered
from statcv.models.selection.rules import Backward as Backward
from statcv.models.selection.rules import Both as Both
from statcv.models.selection.rules import Forward as Forward
from statcv.models.selection.rules import Screen as Screen
from statcv.models.selection.rules import Selection as Selection
from statcv.models.selection.rules import chooses_terms as chooses_terms
from statcv.models.selection.rules import regression_of as regression_of
from statcv.models.selection.rules import selecting as selecting
from statcv.models.selection.rules import selection_in as selection_in
from statcv.models.selection.terms import Term as Term
from statcv.models.selection.terms import terms_of as terms_of

__all__ = _offered(globals())
