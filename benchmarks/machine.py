"""The machine and the software versions of a benchmark."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import numpy as np
from peers import NotInstalledError, r_versions, rebalanced_splitter

PACKAGES = (
    "statcv",
    "numpy",
    "scipy",
    "pandas",
    "scikit-learn",
    "statsmodels",
    "xgboost",
)


def machine() -> dict[str, str]:
    """Return processor, cores and versions."""
    made = {
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "system": platform.system(),
        "Python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "BLAS": blas(),
    }
    with suppress(NotInstalledError):
        rebalanced_splitter()
        made["RebalancedCV"] = version("RebalancedCV")
    with suppress(NotInstalledError):
        made["R"], made["boot"] = r_versions().split()
    with suppress(NotInstalledError):
        made["glmnet"] = r_versions("glmnet").split()[1]
    return made


def processor() -> str:
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def blas() -> str:
    """Return the linear algebra library that numpy uses."""
    used = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{used['name']} {used['version']}"
