"""A server and sites as processes on this machine, with certificates of their own."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from statcv.errors import ArgumentError, needed
from statcv.folds import ByHash
from statcv.sites.coordinator import Coordinator
from statcv.sites.plan import SitesPlan
from statcv.sites.transports.federated import free_port


def need_nvflare() -> None:
    """Raise an error with the command that installs NVFLARE, unless it is there."""
    needed("nvflare", 'NVFLARE carries the messages: pip install "statcv[sites]"')


class NVFlare:
    """A server and one process for each site, on this machine, over mutual TLS.

    It shows how a run over NVFLARE goes, with the processes, certificates and rules
    that sites far apart would have. For these, see ``statcv sites --help``.

    Parameters
    ----------
    workspace : path
        Folder for keys, logs and answers. Another run of the same plan with it goes
        on where the last one stopped.

    Attributes
    ----------
    workspace : Path
    homes : dict of Path
        The home of each site of the last run, which keeps its log and its ledger.

    Examples
    --------
    ``statcv.sites.run(plan, data, NVFlare("run1"))`` starts the processes; before that
    no site has a home.

    >>> from statcv.sites import NVFlare
    >>> NVFlare("run1").homes
    {}
    """

    def __init__(self, workspace: str | PathLike[str]) -> None:
        self.workspace = Path(workspace)
        self.homes: dict[str, Path] = {}

    def __repr__(self) -> str:
        return f"NVFlare({str(self.workspace)!r})"

    def run(self, plan: SitesPlan, data: Mapping[str, Any]) -> Coordinator:
        """Return the coordinator of a run that has ended."""
        with self.started(plan, data) as processes:
            from statcv.sites.transports.nvflare.running import run_plan

            place, kits = self.workspace, self.workspace / "kits"
            given = plan, list(data), place, processes, kits / "server"
            return run_plan(kits / "coordinator", *given)

    @contextlib.contextmanager
    def started(self, plan: SitesPlan, data: Mapping[str, Any]) -> Iterator[list[Any]]:
        """Start the server and the sites, and stop them at the end."""
        need_nvflare()
        from statcv.sites.transports.nvflare import provisioning, running
        from statcv.sites.transports.nvflare.jobs import clear, prepare

        kits = self.workspace / "kits"
        if kits.exists():
            shutil.rmtree(kits)  # keys serve one run
        for name in data:
            provisioning.check_name(name)
        provisioning.provision(kits, port=free_port())
        started, key = [running.start_server(kits / "server")], _key(plan)
        try:
            for name, one in data.items():
                self.homes[name] = own = self.workspace / "sites" / name
                prepare(own, name, plan, one)
                (own / "client.key").unlink(missing_ok=True)
                _, answer = provisioning.sign(kits, provisioning.request(own, name))
                provisioning.install(own, answer)
                started.append(running.start_client(own, key))
            yield started
        finally:
            running.stop(started)
            for own in self.homes.values():
                clear(own)


def _key(plan: SitesPlan) -> str | None:
    """Return the key of the folds, which processes take from the environment."""
    stratifier = plan.stratifier
    key = stratifier.key.reveal() if isinstance(stratifier, ByHash) else None
    try:
        key = key.decode() if isinstance(key, bytes) else key
    except UnicodeDecodeError:
        raise ArgumentError(
            "the key is not text, and processes take it from the environment "
            "variable STATCV_KEY; agree on a key of letters and digits."
        ) from None
    return key if isinstance(key, str) else None  # that of this process
