"""Processes of NVFLARE: the server, the sites that take part, and a run of a plan."""

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
from nvflare.fuel.flare_api.api_spec import NoConnection
from nvflare.fuel.flare_api.flare_api import Session, new_secure_session

from statcv.errors import ArgumentError, SiteError
from statcv.sites.coordinator import Coordinator
from statcv.sites.disclosure import check_records
from statcv.sites.plan import SitesPlan
from statcv.sites.site_records import read_records
from statcv.sites.transports.homes import Home
from statcv.sites.transports.nvflare import jobs, provisioning
from statcv.words import listed

SECONDS_BETWEEN_HEARTBEATS: Final = 2.0  # seconds between the signs of life of a site
MAX_SECONDS_TO_END: Final = 2.0  # seconds for a process to end when it is asked
Tell = Callable[[str], None]  # function that shows a sentence
SECRETS: Final = ("STATCV_KEY", jobs.VARIABLE)
OUTPUT: Final = "output.txt"
# seconds for the server to open its port, and sites to come
MAX_SECONDS_TO_COME: Final = 60.0
SECONDS_BETWEEN_LOOKS: Final = 0.2  # seconds between looks at server and processes


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
    provisioning.check_valid(kit, "the server")
    provisioning.place_server(kit)
    known = {name: os.environ[name] for name in os.environ if name not in SECRETS}
    return _start("server", kit, "server", known)


def start_client(home: Path, key: str | None = None) -> FlareProcess:
    """Start the client of a site from its home."""
    name = Home.open(home).party
    provisioning.check_valid(home / "nvflare", f"site {name}")
    known = {**os.environ, jobs.VARIABLE: str(home.resolve())}
    if key is not None:
        known["STATCV_KEY"] = key
    beat = (f"uid={name}", f"heart_beat_interval={SECONDS_BETWEEN_HEARTBEATS}")
    kit = home / "nvflare"
    return _start(name, kit, "client", known, beat)


def _start(
    name: str, kit: Path, role: str, known: Mapping[str, str], more: Sequence[str] = ()
) -> FlareProcess:
    module, settings = f"{role}.{role}_train", f"fed_{role}.json"
    (kit / "transfer").mkdir(exist_ok=True)
    command = [sys.executable, "-u", "-m", f"nvflare.private.fed.app.{module}"]
    command += ["-m", str(kit.resolve()), "-s", settings, "--set", "secure_train=true"]
    command += [*more, f"org={jobs.PROJECT}", "config_folder=config"]
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


def serve(center: Path, tell: Tell) -> None:
    """Run the server until it is interrupted."""
    if not (center / "server").exists():
        raise ArgumentError(
            f"{center} has no server; `statcv sites provision` makes one."
        )
    process = start_server(center / "server")
    tell(f"the server is starting; {process.output} has what it says.")
    _wait(process)


def take_part(
    home: Path, plan: SitesPlan, data: Any, answer: bytes | None, tell: Tell
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
        provisioning.install(home, answer)
    site = provisioning.site_of(home)
    records = read_records(plan, data, site)
    check_records(records)
    try:
        jobs.prepare(home, site, plan, data)
        process = start_client(home)
        tell(
            f"site {site}: {records.n} records may answer plan "
            f"{plan.fingerprint[:12]}; waiting for the run."
        )
        _wait(process)
    finally:
        jobs.clear(home)


def _wait(process: FlareProcess) -> None:
    """Wait until the process ends, and stop it if this one is interrupted."""
    try:
        while not process.ended:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        raise SiteError(f"the process of {process.name} ended; see {process.output}.")
    finally:
        stop([process])


# ---- a run of a plan ----


def run_plan(
    kit: Path,
    plan: SitesPlan,
    sites: Sequence[str],
    folder: Path,
    processes: Sequence[FlareProcess] = (),
    server: Path | None = None,
) -> Coordinator:
    """Ask the server to run a plan at sites, and return its coordinator at the end.

    Parameters
    ----------
    kit : Path
        The kit of the coordinator.
    plan : SitesPlan
    sites : sequence of str
        All sites that take part; those of the plan unless given.
    folder : Path
        Where the job is written, and the answers are kept.
    processes : sequence of FlareProcess
        Processes on this machine, without which there is no use in waiting.
    server : Path, optional
        The kit of the server, if it runs on this machine. The answers are then read
        there, without waiting until NVFLARE has packed them.

    Raises
    ------
    SiteError
        If a site refuses, drops out, or is not there.
    """
    job, names = folder / "job", sites or plan.sites
    if not names:
        raise ArgumentError("the plan names no sites; say which take part.")
    jobs.write_job(job, plan, names)
    return jobs.replayed(plan, run_job(kit, job, names, processes, server))


def run_job(
    kit: Path,
    job: Path,
    sites: Sequence[str],
    processes: Sequence[FlareProcess] = (),
    server: Path | None = None,
) -> Path:
    """Run a job at sites, and return the folder in which its answers are kept."""
    provisioning.check_valid(kit, "the coordinator")
    until = time.monotonic() + MAX_SECONDS_TO_COME
    with _session(kit, processes, until) as session:
        _await_sites(session, sites, processes, until)
        number = session.submit_job(str(job.resolve()))
        own = server / number if server else None
        _await_end(session, number, sites, own)
        kept = job.parent / "answers" / str(number)
        if own and (own / jobs.OUTCOME).exists():
            kept.mkdir(parents=True)
            for name in (jobs.ANSWERS, jobs.OUTCOME):
                shutil.copyfile(own / name, kept / name)
        else:
            session.download_job_result(number, str(kept.parent))
    jobs.find_answers(kept)
    return kept


@contextlib.contextmanager
def _session(
    kit: Path, processes: Sequence[FlareProcess], until: float
) -> Iterator[Session]:
    """Connect to the server, which may still be about to open its port."""
    admin = json.loads((kit / "startup" / "fed_admin.json").read_text())["admin"]
    where = admin["host"], admin["port"]
    for late in _looks(processes, until):
        with contextlib.suppress(OSError):
            socket.create_connection(where, 1).close()
            break
        if late:
            raise SiteError(
                f"the server does not answer at {where[0]}:{where[1]}; "
                "`statcv sites server` starts it."
            )
    stranger = "the server does not know the coordinator; its kit is of another root."
    with _quiet():
        for late in _looks(processes, until):
            try:
                session = new_secure_session(jobs.COORDINATOR, str(kit.resolve()))
                break
            except NoConnection:
                if late:
                    raise SiteError(stranger) from None
    try:
        yield session
    finally:
        with _quiet():
            session.close()


def _await_sites(
    session: Any, sites: Sequence[str], processes: Sequence[FlareProcess], until: float
) -> None:
    """Wait until all sites have come."""
    for late in _looks(processes, until):
        present = {one.name for one in session.get_system_info().client_info}
        absent = [name for name in sites if name not in present]
        if not absent:
            return
        if late:
            raise SiteError(
                f"site {listed(absent)} did not come; the run begins when all sites "
                "are there."
            )


def _await_end(
    session: Any, number: str, sites: Sequence[str], own: Path | None
) -> None:
    """Wait until the job has ended, and say what kept it from beginning."""
    while True:
        if own and (own / jobs.OUTCOME).exists():
            return
        meta = session.get_job_meta(number)
        if str(meta.get("status", "")).startswith("FINISHED"):
            break
        time.sleep(SECONDS_BETWEEN_LOOKS)
    for one in meta.get("job_deploy_detail", ()):
        site, _, said = one.partition(": ")
        if site in sites and said != "OK":
            raise SiteError(f"site {site} refuses the job: {said}.")


def _looks(processes: Sequence[FlareProcess], until: float) -> Iterator[bool]:
    """Yield again and again, while processes run, whether it is too late."""
    while True:
        for one in processes:
            if one.ended:
                raise SiteError(
                    f"the process of {one.name} ended before the run began; "
                    f"{one.output} says why."
                )
        yield time.monotonic() > until
        time.sleep(SECONDS_BETWEEN_LOOKS)


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
