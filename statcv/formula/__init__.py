"""Formula and frame make a :class:`Design`: outcome, matrix, names, kept rows."""

from statcv.formula.design import Design, make_design
from statcv.formula.frame import as_frame
from statcv.formula.outcome import Outcome

__all__ = ["Design", "Outcome", "as_frame", "make_design"]
