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

from statcv.errors import ArgumentError, SiteError
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
from statcv.words import listed

# seconds for the server to open its port, and sites to come
MAX_SECONDS_TO_COME: Final = 60.0
SECONDS_BETWEEN_LOOKS: Final = 0.2  # seconds between looks at the state of the server


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
    names = sites or plan.sites
    if not names:
        raise ArgumentError("the plan names no sites; say which take part.")
    job = folder / "job"
    write_job(job, plan, names)
    return replayed(plan, run_job(kit, job, names, processes, server))


def run_job(
    kit: Path,
    job: Path,
    sites: Sequence[str],
    processes: Sequence[FlareProcess] = (),
    server: Path | None = None,
) -> Path:
    """Run a job at sites, and return the folder in which its answers are kept."""
    check_valid(kit, "the coordinator")
    until = time.monotonic() + MAX_SECONDS_TO_COME
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
    with _quiet():
        for late in _looks(processes, until):
            try:
                session = new_secure_session(COORDINATOR, str(kit.resolve()))
                break
            except NoConnection:
                if late:
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
        if own and (own / OUTCOME).exists():
            return
        meta = session.get_job_meta(number)
        status = str(meta.get("status", ""))
        if status.startswith("FINISHED"):
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
