"""Peak memory of leave-one-out, in a process of its own.

    python benchmarks/memory.py 20000 20

The command prints megabytes as JSON: after the imports, with the data, and at the peak.
On Linux `ru_maxrss` may be the peak of the parent process, so the peak of this process
is read from the system if it is available there.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any


def peak() -> float:
    """Return the peak memory of this process, in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def measured(n: int, p: int) -> dict[str, Any]:
    """Return the memory of leave-one-out with n records and p covariates."""
    command = [sys.executable, __file__, str(n), str(p)]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(made.stdout))


def main() -> None:
    """Run leave-one-out in this process, and print its memory."""
    n, p = map(int, sys.argv[1:3])
    import numpy as np
    import pandas as pd
    from threadpoolctl import threadpool_limits

    import statcv as scv

    def frame(n: int) -> pd.DataFrame:
        rng = np.random.default_rng(1)
        X = rng.normal(size=(n, p))
        positive = X[:, 0] + rng.logistic(size=n) > 0
        names = [f"x{j}" for j in range(p)]
        return pd.DataFrame(X, columns=names).assign(y=positive.astype(int))

    def cv(data: pd.DataFrame, C: float | None = None) -> None:
        model = scv.models.Logit(C=C)
        scv.cv("y ~ .", data, model=model, scheme="loocv", seed=1, progress=False)

    warnings.simplefilter("ignore", scv.errors.DistributionalBiasWarning)
    with threadpool_limits(1):
        cv(frame(10 * p), C=1.0)  # triggers the late imports
        imported = peak()
        data = frame(n)
        with_data = peak()
        started = time.perf_counter()
        cv(data)
    row = {
        "n": n,
        "p": p,
        "data_MB": data.to_numpy().nbytes / 1e6,
        "imported_MB": imported,
        "with_data_MB": with_data,
        "peak_MB": peak(),
        "seconds": time.perf_counter() - started,
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
