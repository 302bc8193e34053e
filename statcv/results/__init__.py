"""What a call returns, and how it is shown."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from statcv.results.call import Call
    from statcv.results.final import FullModel
    from statcv.results.result import CVResult

__all__ = ["CVResult", "Call", "FullModel"]

_HOME_OF = {"CVResult": "result", "Call": "call", "FullModel": "final"}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: the command line needs `styles` alone."""
    if name in _HOME_OF:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
