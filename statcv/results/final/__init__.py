"""The model fitted to all rows, as something to hand over."""

from statcv.results.final.equation import Equation, Part, equation_of
from statcv.results.final.model import FullModel
from statcv.results.final.points import PointScore, points_of
from statcv.results.final.published import published_model
from statcv.results.final.shrinkage import shrunk_equation
from statcv.results.final.stacking import stack
from statcv.results.final.updating import UpdatedModel
from statcv.results.final.written import (
    WrittenModel,
    load_model,
    save_equation,
)

__all__ = [
    "Equation",
    "FullModel",
    "Part",
    "PointScore",
    "UpdatedModel",
    "WrittenModel",
    "equation_of",
    "load_model",
    "points_of",
    "published_model",
    "save_equation",
    "shrunk_equation",
    "stack",
]
