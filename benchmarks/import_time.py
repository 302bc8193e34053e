"""Time of `import statcv` relative to `import pandas`, in fresh processes.

    python benchmarks/import_time.py [runs]

The two alternate. The ratio is that of the median times of the import alone, without
the start-up of the interpreter.
"""

import statistics
import subprocess
import sys

CODE = """
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""


def seconds(module: str) -> float:
    command = [sys.executable, "-c", CODE.format(module=module)]
    return float(subprocess.run(command, capture_output=True, check=True).stdout)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    times: dict[str, list[float]] = {"pandas": [], "statcv": []}
    for module in times:
        seconds(module)  # one run to warm the file cache
    for _ in range(runs):
        for module, taken in times.items():
            taken.append(seconds(module))
    for module, taken in times.items():
        low, middle, high = min(taken), statistics.median(taken), max(taken)
        print(f"{module}: median {middle:.4f} s ({low:.4f} to {high:.4f})")
    ratio = statistics.median(times["statcv"]) / statistics.median(times["pandas"])
    print(f"statcv / pandas: {ratio:.3f}")


if __name__ == "__main__":
    main()
