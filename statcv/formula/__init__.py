"""From a formula and a data frame to a :class:`Design`: outcome and matrix."""

from statcv.formula.design import Design, make_design
from statcv.formula.frame import as_frame
from statcv.formula.outcome import Outcome

__all__ = ["Design", "Outcome", "as_frame", "make_design"]
