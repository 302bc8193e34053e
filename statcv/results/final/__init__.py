"""The model fitted to all rows, as something to hand over."""

from statcv.results.final.equation import Equation
from statcv.results.final.model import FullModel
from statcv.results.final.points import PointScore
from statcv.results.final.updating import UpdatedModel, stack
from statcv.results.final.written import WrittenModel, load_model, published_model

__all__ = [
    "Equation",
    "FullModel",
    "PointScore",
    "UpdatedModel",
    "WrittenModel",
    "load_model",
    "published_model",
    "stack",
]
