"""Processes of NVFLARE: the server, the sites, and the coordinator's request to run."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
from nvflare.fuel.flare_api.api_spec import NoConnection
from nvflare.fuel.flare_api.flare_api import Session, new_secure_session

from statcv.errors import SiteError
from statcv.sites.coordinator import Coordinator
from statcv.sites.plan import SitesPlan
from statcv.sites.transports.nvflare.answers import (
    ANSWERS,
    OUTCOME,
    find_answers,
    replayed,
)
from statcv.sites.transports.nvflare.home import VARIABLE
from statcv.sites.transports.nvflare.jobs import write_job
from statcv.sites.transports.nvflare.names import COORDINATOR, PROJECT
from statcv.sites.transports.nvflare.provisioning import check_valid, place_server
from statcv.words import listed

BEAT: Final = 2.0  # seconds between the signs of life of a site
PATIENCE: Final = 60.0  # seconds for the server to open its port, and sites to come
POLL: Final = 0.2
GRACE: Final = 2.0  # seconds for a process to end when it is asked
SECRETS: Final = ("STATCV_KEY", VARIABLE)
OUTPUT: Final = "output.txt"


@dataclass(eq=False)
class Process:
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


def stop(processes: Sequence[Process]) -> None:
    """Stop processes, and those that they started."""
    running = [part for one in processes for part in one.all]
    for part in running:
        with contextlib.suppress(psutil.NoSuchProcess):
            part.terminate()
    _, left = psutil.wait_procs(running, GRACE)
    for part in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            part.kill()
    for one in processes:
        one.popen.wait()


def start_server(kit: Path) -> Process:
    """Start the server from its kit."""
    check_valid(kit, "the server")
    place_server(kit)
    known = {name: os.environ[name] for name in os.environ if name not in SECRETS}
    return _start("server", kit, "server.server_train", "fed_server.json", known)


def start_client(home: Path, key: str | None = None) -> Process:
    """Start the client of a site from its home."""
    name = str(json.loads((home / "site.json").read_text())["site"])
    check_valid(home / "nvflare", f"site {name}")
    known = {**os.environ, VARIABLE: str(home.resolve())}
    if key is not None:
        known["STATCV_KEY"] = key
    beat = (f"uid={name}", f"heart_beat_interval={BEAT}")
    kit = home / "nvflare"
    return _start(name, kit, "client.client_train", "fed_client.json", known, beat)


def _start(
    name: str,
    kit: Path,
    module: str,
    settings: str,
    known: Mapping[str, str],
    more: Sequence[str] = (),
) -> Process:
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
    return Process(name, made, kit / OUTPUT)


# ---- the coordinator ----


def run_plan(
    kit: Path,
    plan: SitesPlan,
    sites: Sequence[str],
    folder: Path,
    processes: Sequence[Process] = (),
    server: Path | None = None,
    patience: float = PATIENCE,
) -> Coordinator:
    """Ask the server to run a plan at sites, and return its coordinator at the end.

    Parameters
    ----------
    kit : Path
        The kit of the coordinator.
    plan : SitesPlan
    sites : sequence of str
        All sites that take part.
    folder : Path
        Where the job is written, and the answers are kept.
    processes : sequence of Process
        Processes on this machine, without which there is no use in waiting.
    server : Path, optional
        The kit of the server, if it runs on this machine. The answers are then read
        there, without waiting until NVFLARE has packed them.
    patience : float
        Seconds for the server and the sites to be there.

    Raises
    ------
    SiteError
        If a site refuses, drops out, or is not there.
    """
    job = folder / "job"
    write_job(job, plan, sites)
    return replayed(plan, run_job(kit, job, sites, processes, server, patience))


def run_job(
    kit: Path,
    job: Path,
    sites: Sequence[str],
    processes: Sequence[Process] = (),
    server: Path | None = None,
    patience: float = PATIENCE,
) -> Path:
    """Run a job at sites, and return the folder in which its answers are kept."""
    check_valid(kit, "the coordinator")
    until = time.monotonic() + patience
    with _session(kit, processes, until) as session:
        _await_sites(session, sites, processes, until)
        number = session.submit_job(str(job.resolve()))
        own = server / number if server else None
        _await_end(session, number, sites, own)
        kept = job.parent / "answers" / str(number)
        if own and (own / OUTCOME).exists():
            kept.mkdir(parents=True)
            for name in (ANSWERS, OUTCOME):
                shutil.copyfile(own / name, kept / name)
        else:
            session.download_job_result(number, str(kept.parent))
    find_answers(kept)
    return kept


@contextlib.contextmanager
def _session(
    kit: Path, processes: Sequence[Process], until: float
) -> Iterator[Session]:
    """Connect to the server, which may still be about to open its port."""
    admin = json.loads((kit / "startup" / "fed_admin.json").read_text())["admin"]
    while True:
        _check_alive(processes)
        with contextlib.suppress(OSError):
            socket.create_connection((admin["host"], admin["port"]), 1).close()
            break
        if time.monotonic() > until:
            raise SiteError(
                f"the server does not answer at {admin['host']}:{admin['port']}; "
                "`statcv sites server` starts it."
            )
        time.sleep(POLL)
    with _quiet():
        while True:
            try:
                session = new_secure_session(COORDINATOR, str(kit.resolve()))
                break
            except NoConnection:
                if time.monotonic() > until:
                    raise SiteError(
                        "the server does not know the coordinator; its kit is of "
                        "another root."
                    ) from None
    try:
        yield session
    finally:
        with _quiet():
            session.close()


def _await_sites(
    session: Any, sites: Sequence[str], processes: Sequence[Process], until: float
) -> None:
    """Wait until all sites have come."""
    while True:
        _check_alive(processes)
        present = {one.name for one in session.get_system_info().client_info}
        absent = [name for name in sites if name not in present]
        if not absent:
            return
        if time.monotonic() > until:
            raise SiteError(
                f"site {listed(absent)} did not come; the run begins when all sites "
                "are there."
            )
        time.sleep(POLL)


def _await_end(
    session: Any, number: str, sites: Sequence[str], own: Path | None
) -> None:
    """Wait until the job has ended, and say what kept it from beginning."""
    while True:
        if own and (own / OUTCOME).exists():
            return
        meta = session.get_job_meta(number)
        status = str(meta.get("status", ""))
        if status.startswith("FINISHED"):
            break
        time.sleep(POLL)
    for one in meta.get("job_deploy_detail", ()):
        site, _, said = one.partition(": ")
        if site in sites and said != "OK":
            raise SiteError(f"site {site} refuses the job: {said}.")


def _check_alive(processes: Sequence[Process]) -> None:
    for one in processes:
        if one.ended:
            raise SiteError(
                f"the process of {one.name} ended before the run began; {one.output} "
                "says why."
            )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep NVFLARE from printing."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(before)
