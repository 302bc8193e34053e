"""XGBoost's federated server, through which sites add up their sums of gradients."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from statcv.errors import ArgumentError, SiteError
from statcv.sites.transports.federated.plugin import need_plugin
from statcv.sites.transports.federated.processes import Process, SilentError

LOCAL: Final = "localhost"
BEGIN: Final = 60.0  # seconds in which a server says that it begins


@dataclass(frozen=True)
class Server:
    """A server as a site reaches it.

    Attributes
    ----------
    address : str
        Such as ``"trees.example.org:9091"``.
    certificates : Path
        Folder with ``rootCA.pem``, ``client.crt`` and ``client.key``.
    """

    address: str
    certificates: Path

    def check(self) -> None:
        """Check that there are the files of keys and certificates.

        Raises
        ------
        ArgumentError
            If one is missing.
        """
        check_files(self.certificates, "rootCA.pem", "client.crt", "client.key")


def check_files(folder: Path, *names: str) -> None:
    """Check that a folder has the files of keys and certificates.

    Raises
    ------
    ArgumentError
        If one is missing.
    """
    for name in names:
        if not (folder / name).is_file():
            raise ArgumentError(
                f"{folder} has no {name}; it is the folder of keys and certificates, "
                "such as `startup` in the kit of `statcv sites provision` or `client`."
            )


@contextmanager
def serving(sites: int, certificates: Path, port: int) -> Iterator[Process]:
    """Run a server for a number of sites, until the end of the block.

    It opens its port on all addresses of the machine, and greets nobody who has no
    certificate of the root.

    Parameters
    ----------
    sites : int
    certificates : Path
        Folder with ``rootCA.pem``, ``server.crt`` and ``server.key``.
    port : int
    """
    need_plugin()
    check_files(certificates, "rootCA.pem", "server.crt", "server.key")
    folder = str(certificates.resolve())
    asked = {"do": "serve", "sites": sites, "port": port, "certificates": folder}
    process = Process(asked)
    try:
        try:
            said = process.hear(BEGIN)
        except SilentError:
            said = None
        if said is None or said["is"] != "serving":
            raise SiteError(f"the federated server cannot begin at port {port}.")
        yield process
    finally:
        process.close()


def free_port() -> int:
    """Return a port of this machine that is free."""
    with socket.socket() as one:
        one.bind((LOCAL, 0))
        return int(one.getsockname()[1])
