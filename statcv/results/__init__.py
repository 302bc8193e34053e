"""What a call returns, and how it is shown."""

from statcv.results.call import Call
from statcv.results.refits import FullModel
from statcv.results.result import CVResult

__all__ = ["CVResult", "Call", "FullModel"]
