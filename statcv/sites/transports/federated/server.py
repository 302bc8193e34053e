"""XGBoost's federated server, through which sites add up their sums of gradients."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from statcv.errors import ArgumentError, MissingPackageError, SiteError
from statcv.sites.forests import version_of_xgboost
from statcv.sites.transports.federated.processes import SilentError, TreeProcess

LOCAL: Final = "localhost"
MAX_SECONDS_TO_BEGIN: Final = 60.0  # seconds in which a server says that it begins
# the first supported version, and the first that is not
VERSIONS: Final = ((3, 2), (3, 4))
INSTALL: Final = 'pip install "statcv[sites-trees]"'


def need_plugin() -> None:
    """Raise an error that says what to install, unless XGBoost has its plugin.

    Raises
    ------
    MissingPackageError
        If XGBoost is missing, of another version, or built without the plugin, or if
        there is no package for certificates.
    """
    found = version_of_xgboost()
    parts = found.split(".")[:2]
    numbers = tuple(int(part) for part in parts if part.isdigit())
    if not VERSIONS[0] <= numbers < VERSIONS[1]:
        here = f"xgboost {found} is installed" if found else "xgboost is not installed"
        raise MissingPackageError(
            f"trees over sites need xgboost 3.2 or 3.3 with its federated plugin, and "
            f"{here}: {INSTALL}"
        )
    import xgboost

    if not xgboost.build_info().get("USE_FEDERATED"):
        raise MissingPackageError(
            f"xgboost {found} is installed without its federated plugin, which the "
            f"wheels of PyPI for Linux have: {INSTALL}"
        )
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise MissingPackageError(
            f"trees are grown under mutual TLS, which needs cryptography: {INSTALL}"
        ) from None


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
def serving(sites: int, certificates: Path, port: int) -> Iterator[TreeProcess]:
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
    process = TreeProcess(asked)
    try:
        try:
            said = process.hear(MAX_SECONDS_TO_BEGIN)
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
