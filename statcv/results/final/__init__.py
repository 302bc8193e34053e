"""The model fitted to all rows, as something to hand over."""

from statcv.arguments import offered as _offered
from statcv.results.final.equation import Equation as Equation
from statcv.results.final.model import FullModel as FullModel
from statcv.results.final.points import PointScore as PointScore
from statcv.results.final.updated_model import UpdatedModel as UpdatedModel
from statcv.results.final.updated_model import stack as stack
from statcv.results.final.written import WrittenModel as WrittenModel
from statcv.results.final.written import load_model as load_model
from statcv.results.final.written import published_model as published_model

__all__ = _offered(globals())
