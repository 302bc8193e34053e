"""Processes of NVFLARE: the server, and the site that takes part in runs."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from statcv.errors import ArgumentError, SiteError
from statcv.sites.disclosure import check_records
from statcv.sites.plan import SitesPlan
from statcv.sites.records import read_records
from statcv.sites.transports.homes import Home
from statcv.sites.transports.nvflare.jobs import PROJECT
from statcv.sites.transports.nvflare.provisioning import (
    check_valid,
    install,
    place_server,
    site_of,
)
from statcv.sites.transports.nvflare.snapshot import VARIABLE, clear, prepare

SECONDS_BETWEEN_HEARTBEATS: Final = 2.0  # seconds between the signs of life of a site
MAX_SECONDS_TO_END: Final = 2.0  # seconds for a process to end when it is asked
SECONDS_BETWEEN_LOOKS: Final = 0.5  # seconds between looks whether a process has ended
SECRETS: Final = ("STATCV_KEY", VARIABLE)
OUTPUT: Final = "output.txt"


@dataclass(eq=False)
class FlareProcess:
    """A process of NVFLARE, with those that it starts itself.

    Attributes
    ----------
    name : str
        The site, or the server.
    popen : subprocess.Popen
    output : Path
        What it writes.
    """

    name: str
    popen: subprocess.Popen[bytes]
    output: Path

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.popen.poll() is not None

    @property
    def all(self) -> list[psutil.Process]:
        """The process and those that it started, such as the one of a job."""
        with contextlib.suppress(psutil.NoSuchProcess):
            own = psutil.Process(self.popen.pid)
            return [own, *own.children(recursive=True)]
        return []


def stop(processes: Sequence[FlareProcess]) -> None:
    """Stop processes, and those that they started."""
    running = [part for one in processes for part in one.all]
    for part in running:
        with contextlib.suppress(psutil.NoSuchProcess):
            part.terminate()
    _, left = psutil.wait_procs(running, MAX_SECONDS_TO_END)
    for part in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            part.kill()
    for one in processes:
        one.popen.wait()


def start_server(kit: Path) -> FlareProcess:
    """Start the server from its kit."""
    check_valid(kit, "the server")
    place_server(kit)
    known = {name: os.environ[name] for name in os.environ if name not in SECRETS}
    return _start("server", kit, "server.server_train", "fed_server.json", known)


def start_client(home: Path, key: str | None = None) -> FlareProcess:
    """Start the client of a site from its home."""
    name = Home.open(home).party
    check_valid(home / "nvflare", f"site {name}")
    known = {**os.environ, VARIABLE: str(home.resolve())}
    if key is not None:
        known["STATCV_KEY"] = key
    beat = (f"uid={name}", f"heart_beat_interval={SECONDS_BETWEEN_HEARTBEATS}")
    kit = home / "nvflare"
    return _start(name, kit, "client.client_train", "fed_client.json", known, beat)


def _start(
    name: str,
    kit: Path,
    module: str,
    settings: str,
    known: Mapping[str, str],
    more: Sequence[str] = (),
) -> FlareProcess:
    (kit / "transfer").mkdir(exist_ok=True)
    command = [sys.executable, "-u", "-m", f"nvflare.private.fed.app.{module}"]
    command += ["-m", str(kit.resolve()), "-s", settings, "--set", "secure_train=true"]
    command += [*more, f"org={PROJECT}", "config_folder=config"]
    # Texts of exceptions, which may hold values, stay out of the logs.
    environment = {**known, "NVFLARE_SECURE_LOGGING": "true"}
    with (kit / OUTPUT).open("wb") as output:
        made = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return FlareProcess(name, made, kit / OUTPUT)


# ---- until interrupted ----


def serve(center: Path, tell: Callable[[str], None]) -> None:
    """Run the server until it is interrupted."""
    if not (center / "server").exists():
        raise ArgumentError(
            f"{center} has no server; `statcv sites provision` makes one."
        )
    process = start_server(center / "server")
    tell(f"the server is starting; {process.output} has what it says.")
    _wait(process)


def take_part(
    home: Path,
    plan: SitesPlan,
    data: Any,
    answer: bytes | None,
    tell: Callable[[str], None],
) -> None:
    """Take part in runs of a plan until interrupted.

    The records are read and checked here first, so that nothing is sent of data that
    break a rule. A snapshot of them is in the home meanwhile, and removed at the end.

    Parameters
    ----------
    home : Path
        Folder of the site, in which its key was made.
    plan : SitesPlan
        The plan that this site signed.
    data : data frame
        Records of the site.
    answer : bytes or None
        The answer to the request of the site, the first time.
    tell : callable
        Takes a sentence for who waits.
    """
    if answer is not None:
        install(home, answer)
    site = site_of(home)
    records = read_records(plan, data, site)
    check_records(records)
    try:
        prepare(home, site, plan, data)
        process = start_client(home)
        tell(
            f"site {site}: {records.n} records may answer plan "
            f"{plan.fingerprint[:12]}; waiting for the run."
        )
        _wait(process)
    finally:
        clear(home)


def _wait(process: FlareProcess) -> None:
    """Wait until the process ends, and stop it if this one is interrupted."""
    try:
        while not process.ended:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        raise SiteError(f"the process of {process.name} ended; see {process.output}.")
    finally:
        stop([process])
