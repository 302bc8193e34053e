"""How tests and examples in docstrings run, wherever they stand."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

NVFLARE = "statcv/sites/transports/nvflare/*.py"  # examples that need nvflare
collect_ignore_glob = [] if find_spec("nvflare") else [NVFLARE]


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    """Close the figures that a test or an example drew and left open."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
