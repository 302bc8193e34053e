"""How a site grows trees with the others, in a process of its own."""

from __future__ import annotations

import base64
import io
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np

from statcv.sites.forests import DroppedOutError, Job, numbers_of_bins, parameters_of
from statcv.sites.transports.federated.processes import SilentError, TreeProcess
from statcv.sites.transports.federated.server import (
    LOCAL,
    Server,
    free_port,
    make_certificates,
    need_plugin,
    serving,
)
from statcv.words import listed

MAX_SECONDS_TO_COME: Final = 600.0  # seconds in which all sites must be present
# seconds in which all sites on this machine must be present
MAX_SECONDS_TO_COME_HERE: Final = 180.0
# largest time in which all sites together grow a tree, in seconds
MAX_SECONDS_PER_TREE: Final = 120.0
# seconds in which a process must report that it is alive
MAX_SECONDS_TO_REPORT: Final = 2.0
HOW_TO_GO_ON: Final = (
    "nothing was answered; start the server again, and repeat the step at all sites"
)


@dataclass(eq=False)
class Together:
    """The sites on this machine that grow trees together, and who dropped out first.

    Attributes
    ----------
    processes : dict of TreeProcess
        Those that run, by site.
    lost : str
        Why it cannot go on; empty if it can.
    """

    processes: dict[str, TreeProcess] = field(default_factory=dict)
    lost: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lose(self, why: str) -> None:
        """End all processes, since XGBoost would wait for the one that is gone."""
        with self._lock:
            if self.lost:
                return
            self.lost = why
        for process in list(self.processes.values()):
            process.end()

    def silent(self, own: TreeProcess) -> list[str]:
        """Return the sites whose processes do not answer, while one is not heard."""
        asked = dict(self.processes)
        for one in asked.values():
            one.ask()
        until = time.monotonic() + MAX_SECONDS_TO_REPORT
        while (left := until - time.monotonic()) > 0:  # others may ask its own
            with suppress(SilentError):
                if own.hear(left) is None:
                    break
        return [site for site, one in asked.items() if not one.answers]


@dataclass(frozen=True, eq=False)
class Grower:
    """What grows the trees of a site over a federated server.

    Attributes
    ----------
    server : Server
    come, silent : float
        Seconds for all sites to be there, and to grow a tree.
    together : Together
        Other sites on this machine, if any.
    """

    server: Server
    come: float = MAX_SECONDS_TO_COME
    silent: float = MAX_SECONDS_PER_TREE
    together: Together = field(default_factory=Together)

    def __call__(self, job: Job) -> list[bytes]:
        """Return the trees of all fits.

        Raises
        ------
        DroppedOutError
            If a site is gone, or is not there in time; it is named if it is known.
        """
        need_plugin()
        self.server.check()
        folder = self.server.certificates
        parts = [_saved(one) for one in job.arrays]
        asked = {
            "do": "grow",
            "arrays": [len(part) for part in parts],
            "bins": numbers_of_bins(job.records.plan),
            "parameters": parameters_of(job.records.plan.model),
            "rounds": job.records.plan.model["rounds"],
            "address": self.server.address,
            "certificates": str(folder.resolve()),
            "sites": len(job.sites),
            "rank": job.sites.index(job.site),
        }
        process = TreeProcess(asked, *parts)
        self.together.processes[job.site] = process
        try:
            return self._grown(process, job)
        finally:
            process.close()

    def _grown(self, process: TreeProcess, job: Job) -> list[bytes]:
        """Return what the process has grown, or raise who keeps it from that."""
        begun = False
        while True:
            try:
                said = process.hear(self.silent if begun else self.come)
            except SilentError:
                self._lose(self._who_is_silent(job, begun))
            if said is None:
                self._lose(f"site {job.site} dropped out while trees were grown")
            elif said["is"] == "failed":
                self._lose(f"site {job.site} cannot grow trees ({said['why']})")
            elif said["is"] == "grown":
                return [base64.b64decode(one) for one in said["trees"]]
            else:
                begun |= said["is"] == "together"

    def _who_is_silent(self, job: Job, begun: bool) -> str:
        if silent := self.together.silent(self.together.processes[job.site]):
            return f"site {listed(silent)} does not answer while trees are grown"
        others = listed([site for site in job.sites if site != job.site])
        if begun:
            return (
                f"site {job.site} has waited {self.silent:g} seconds for the sums of "
                f"site {others}"
            )
        return (
            f"site {job.site} has waited {self.come:g} seconds for site {others}, or "
            f"for the server at {self.server.address}"
        )

    def _lose(self, why: str) -> NoReturn:
        self.together.lose(why)
        raise DroppedOutError(f"{self.together.lost}; {HOW_TO_GO_ON}.")


@contextmanager
def growing_here(sites: Sequence[str]) -> Iterator[dict[str, Grower]]:
    """Run a server on this machine, and return what grows the trees of each site.

    Server and sites know each other by certificates that are made for the block.

    Parameters
    ----------
    sites : sequence of str
    """
    need_plugin()
    with tempfile.TemporaryDirectory() as name:
        folder, port, together = Path(name), free_port(), Together()
        make_certificates(folder, LOCAL)
        server = Server(f"{LOCAL}:{port}", folder)
        with serving(len(sites), folder, port):
            yield {
                site: Grower(
                    server, MAX_SECONDS_TO_COME_HERE, MAX_SECONDS_PER_TREE, together
                )
                for site in sites
            }


def _saved(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(array), allow_pickle=False)
    return file.getvalue()
