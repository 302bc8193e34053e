"""Runs that are interrupted or killed, and what becomes of them."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

psutil = pytest.importorskip("psutil")  # comes with the extra dask

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

SCRIPT = """
    import sys, time
    import numpy as np, pandas as pd
    from statcv import cv
    from statcv.models.base import PlainFit

    class Slow:
        "Predicts by a random draw, slowly, and says when it begins."
        label = "slow"

        def check(self, kind):
            pass

        def fit(self, training):
            sys.stderr.write("fit\\n")
            sys.stderr.flush()
            time.sleep(float(sys.argv[3]))
            draw = np.random.default_rng(training.seed).normal()
            predict = lambda X: 1 / (1 + np.exp(draw * X[:, 1]))
            return PlainFit(predict, {"x": draw, "n": len(training.y)})

    x = np.arange(30.0)
    data = pd.DataFrame({"x": x, "y": (x * 7 % 11 > 5).astype(int)})
    model = Slow()
    directory, n_jobs = sys.argv[1] or None, int(sys.argv[2])
    result = cv("y ~ x", data, model=model, scheme="loocv", n_jobs=n_jobs,
                checkpoint=directory, **SEED)
    held = result.held
    print(repr([result.seed, held.predicted.tolist(), held.coefficients.values.tolist(),
                held.seconds.tolist()]))
"""


@pytest.fixture
def start(tmp_path):
    """Start the script, and end all that it started when the test ends."""
    started = []

    def start(directory, n_jobs=1, pause=0.01, seed=None):
        script = tmp_path / "script.py"
        given = {} if seed is None else {"seed": seed}
        script.write_text(textwrap.dedent(SCRIPT).replace("SEED", repr(given)))
        arguments = directory, n_jobs, pause
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", script, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for_fits(process, fits):
    seen = 0
    while seen < fits:
        line = process.stderr.readline()
        assert line, "the script ended early"
        seen += line == "fit\n"


def wait_for_parts(kept):
    """Wait until some of what was fitted is kept: fits are kept when they come back."""
    until = time.monotonic() + 20
    while not list(kept.glob("fits-*.npz")):
        assert time.monotonic() < until, "nothing is kept"
        time.sleep(0.01)


def finished(process):
    """Return seed, predictions, coefficients, seconds, and how many fits were made."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    seed, *arrays = eval(out)  # what the script printed
    return [seed, *map(np.array, arrays), err.count("fit\n")]


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_ends_all_workers_and_says_what_is_kept(tmp_path, start, n_jobs):
    kept = tmp_path / "kept"
    process = start(kept, n_jobs, pause=0.15, seed=1)
    wait_for_fits(process, 5)
    wait_for_parts(kept)
    workers = psutil.Process(process.pid).children()
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    done = len(list(kept.glob("fits-*.npz")))
    assert 1 <= done < 30
    assert err.splitlines()[-1] == (
        f"KeyboardInterrupt: {done} of 30 fits are kept in {str(kept)!r}; the same "
        "call goes on from there."
    )
    assert process.returncode != 0
    assert (len(workers) > 0) == (n_jobs == 2)
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert not [one for one in alive if one.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again_ends_as_if_it_never_was(tmp_path, start):
    kept, rng = tmp_path / "kept", random.Random()
    moments = [rng.uniform(0, 0.2) for _ in range(2)]
    print(f"killed {moments} seconds after a fit began")
    for n_jobs, moment in zip((2, 1), moments, strict=True):
        process = start(kept, n_jobs, pause=0.02)
        wait_for_fits(process, 2)
        time.sleep(moment)
        if moment is moments[-1]:
            wait_for_parts(kept)  # one of the parts is to be torn
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    parts = sorted(kept.glob("fits-*.npz"))
    kept_seconds = {int(part.name[5:7]): np.load(part)["seconds"][0] for part in parts}
    (kept / "notes.txt").write_text("not ours")
    (kept / ".fits-00-01.x.npz.1.tmp").write_bytes(b"half a fi")
    torn = parts[-1]
    torn.write_bytes(torn.read_bytes()[:-100])
    kept_seconds.pop(int(torn.name[5:7]))
    resumed = finished(start(kept, n_jobs=2))
    assert resumed[-1] == 30 - len(kept_seconds)
    for fit, seconds in kept_seconds.items():
        assert resumed[3][fit] == seconds
    straight = finished(start("", seed=resumed[0]))
    assert straight[-1] == 30
    for one, other in zip(resumed[:3], straight[:3], strict=True):
        np.testing.assert_array_equal(one, other)
    again = finished(start(kept))  # all is there: nothing is fitted
    assert again[-1] == 0
    for one, other in zip(resumed[:4], again[:4], strict=True):
        np.testing.assert_array_equal(one, other)
