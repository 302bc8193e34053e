"""How all tests run: no property is timed, since machines differ and are shared.

The usual run takes fifteen examples of each property and leaves the slow tests out, so
that it ends within four minutes on two idle cores. The slow tests, and forty examples
of each property, are `pytest -m "slow or hypothesis" --hypothesis-profile=thorough`.

Tests run side by side, so that each has one thread: threads that wait for a core which
another test has are many times slower than one.
"""

import gc
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when a library is loaded

usual = settings(deadline=None, max_examples=15)
settings.register_profile("statcv", usual)
settings.register_profile("thorough", usual, max_examples=40)
settings.load_profile("statcv")


@pytest.hookimpl(hookwrapper=True)
def pytest_collection():
    """Let the garbage collector pass over what is imported and collected, only once.

    Eleven thousand tests are some million objects, which stay until the end.
    """
    gc.disable()
    yield
    gc.collect()
    gc.freeze()
    gc.enable()


def postgres_binaries() -> Path | None:
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if found := shutil.which("initdb"):
        places.append(Path(found).resolve().parent)
    whole = [p for p in places if all((p / b).exists() for b in ("pg_ctl", "psql"))]
    return whole[-1] if whole else None


@pytest.fixture(scope="session")
def postgres_server():
    """Yield the folder of a private server without a network, and a psql function."""
    binaries = postgres_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server on this machine")
    folder = Path(tempfile.mkdtemp(prefix="statcv-pg-"))  # its path must be short
    other = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        try:
            shutil.chown(folder, "postgres")
        except LookupError:
            shutil.rmtree(folder)
            pytest.skip("root cannot run PostgreSQL, and no user 'postgres' is here")
        other = {"user": "postgres"}

    def run(program: str, *arguments: str, **options: str) -> str:
        done = subprocess.run(
            [str(binaries / program), *arguments],
            **{"capture_output": True, "encoding": "utf-8", "cwd": folder},
            **(options | other),
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    data, log = str(folder / "data"), str(folder / "log")
    settings = f"-k {folder} -c listen_addresses='' -c fsync=off"
    try:
        run("initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
        run("pg_ctl", "-D", data, "-l", log, "-w", "-o", settings, "start")
        try:
            connect = ("-h", str(folder), "-d", "postgres", "-v", "ON_ERROR_STOP=1")

            def psql(sql: str, rows: str | None = None) -> str:
                if rows is None:
                    return run("psql", *connect, "-qAt", input=sql)
                return run("psql", *connect, "-c", sql, input=rows)

            yield folder, psql
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
