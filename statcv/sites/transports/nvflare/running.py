"""The coordinator's request to NVFLARE's server to run a plan, and the answers."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import shutil
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from nvflare.fuel.flare_api.api_spec import NoConnection
from nvflare.fuel.flare_api.flare_api import Session, new_secure_session

from statcv.errors import ArgumentError, SiteError, listed
from statcv.sites.coordinator import Coordinator
from statcv.sites.plan import SitesPlan
from statcv.sites.transports.nvflare.jobs import (
    ANSWERS,
    COORDINATOR,
    OUTCOME,
    find_answers,
    replayed,
    write_job,
)
from statcv.sites.transports.nvflare.processes import FlareProcess
from statcv.sites.transports.nvflare.provisioning import check_valid

PATIENCE: Final = 60.0  # seconds for the server to open its port, and sites to come
POLL: Final = 0.2  # seconds between looks at the state of the server


def run_plan(
    kit: Path,
    plan: SitesPlan,
    sites: Sequence[str],
    folder: Path,
    processes: Sequence[FlareProcess] = (),
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
        All sites that take part; those of the plan unless given.
    folder : Path
        Where the job is written, and the answers are kept.
    processes : sequence of FlareProcess
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
    names = sites or plan.sites
    if not names:
        raise ArgumentError("the plan names no sites; say which take part.")
    job = folder / "job"
    write_job(job, plan, names)
    return replayed(plan, run_job(kit, job, names, processes, server, patience))


def run_job(
    kit: Path,
    job: Path,
    sites: Sequence[str],
    processes: Sequence[FlareProcess] = (),
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
    kit: Path, processes: Sequence[FlareProcess], until: float
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
    session: Any, sites: Sequence[str], processes: Sequence[FlareProcess], until: float
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


def _check_alive(processes: Sequence[FlareProcess]) -> None:
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
