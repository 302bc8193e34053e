"""Examples in docstrings that need an optional package are skipped without it."""

from importlib.util import find_spec

NVFLARE = "statcv/sites/transports/nvflare/*.py"
collect_ignore_glob = [] if find_spec("nvflare") else [NVFLARE]
