"""What people do, in order, where the server and the sites are apart.

1. Where the server is: :func:`provision` makes a root, and the server's kit.
2. At each site: :func:`request` makes a key, and a request for a certificate.
3. Where the server is: :func:`sign` answers it. The two read the fingerprint to each
   other, by telephone, so that nobody else can take the place of a site.
4. Where the server is: :func:`serve` starts it.
5. At each site: :func:`take_part` checks the records, and waits for the run.
6. Where the server is: :func:`run_plan` runs the plan, and returns the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statcv.errors import ArgumentError, SiteError
from statcv.sites.disclosure import check_records
from statcv.sites.plan import SitesPlan
from statcv.sites.records import read_records
from statcv.sites.result import SitesResult
from statcv.sites.transports.nvflare.local import need_nvflare

if TYPE_CHECKING:
    from statcv.sites.transports.nvflare.running import Process

LOOK = 0.5  # seconds between looks whether a process has ended


def provision(center: Path, host: str, port: int, days: int) -> None:
    """Make a root, and the kits of the server and the coordinator under it.

    Parameters
    ----------
    center : Path
        Folder of the coordinator.
    host : str
        Name by which sites reach the server.
    port : int
        The one port that the server opens.
    days : int
        Days for which certificates are valid.
    """
    need_nvflare()
    from statcv.sites.transports.nvflare import provisioning

    provisioning.provision(center, host=host, port=port, days=days)


def request(home: Path, site: str) -> tuple[bytes, str]:
    """Make the key of a site, and return its request and what to read aloud of it."""
    need_nvflare()
    from statcv.sites.transports.nvflare import provisioning

    made = provisioning.request(home, site)
    return made, provisioning.fingerprint(made)


def sign(center: Path, asked: bytes) -> tuple[str, bytes, str]:
    """Return the site that asks, the answer, and what to read aloud of the request."""
    need_nvflare()
    from statcv.sites.transports.nvflare import provisioning

    site, answer = provisioning.sign(center, asked)
    return site, answer, provisioning.fingerprint(asked)


def serve(center: Path, tell: Callable[[str], None]) -> None:
    """Run the server until it is interrupted."""
    need_nvflare()
    from statcv.sites.transports.nvflare import running

    if not (center / "server").exists():
        raise ArgumentError(
            f"{center} has no server; `statcv sites provision` makes one."
        )
    process = running.start_server(center / "server")
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
        Folder of the site, in which :func:`request` made the key.
    plan : SitesPlan
        The plan that this site signed.
    data : data frame
        Records of the site.
    answer : bytes or None
        The answer to the request of the site, the first time.
    tell : callable
        Takes a sentence for who waits.
    """
    need_nvflare()
    from statcv.sites.transports.nvflare import provisioning, running
    from statcv.sites.transports.nvflare.home import clear, prepare

    if answer is not None:
        provisioning.install(home, answer)
    site = provisioning.site_of(home)
    records = read_records(plan, data, site)
    check_records(records)
    try:
        prepare(home, site, plan, data)
        process = running.start_client(home)
        tell(
            f"site {site}: {records.n} records may answer plan "
            f"{plan.fingerprint[:12]}; waiting for the run."
        )
        _wait(process)
    finally:
        clear(home)


def run_plan(
    center: Path, plan: SitesPlan, sites: Sequence[str], folder: Path
) -> SitesResult:
    """Run a plan at sites that take part, and return the result.

    Parameters
    ----------
    center : Path
    plan : SitesPlan
    sites : sequence of str
        All sites; those of the plan if it names them.
    folder : Path
        Where the answers of all rounds are kept.
    """
    need_nvflare()
    from statcv.sites.transports.nvflare import running

    names = sites or plan.sites
    if not names:
        raise ArgumentError("the plan names no sites; say which take part.")
    started = time.perf_counter()
    coordinator = running.run_plan(center / "coordinator", plan, names, folder)
    return SitesResult(coordinator, time.perf_counter() - started)


def _wait(process: Process) -> None:
    """Wait until the process ends, and stop it if this one is interrupted."""
    from statcv.sites.transports.nvflare import running

    try:
        while not process.ended:
            time.sleep(LOOK)
        raise SiteError(f"the process of {process.name} ended; see {process.output}.")
    finally:
        running.stop([process])
