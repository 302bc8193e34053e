"""XGBoost's federated server, through which sites add up their sums of gradients."""

from __future__ import annotations

import datetime
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

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


UTC: Final = datetime.timezone.utc
DAY: Final = datetime.timedelta(days=1)
ROOT, SERVER, CLIENT = "rootCA", "server", "client"


def make_certificates(folder: Path, host: str) -> None:
    """Make a root, and the keys and certificates of a server and of all its clients.

    Parameters
    ----------
    folder : Path
        Folder that its owner alone can read.
    host : str
        Name by which clients reach the server.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    root, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(UTC)

    def named(name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])

    def signed(name: str, key: Any, *more: x509.ExtensionType) -> bytes:
        authority = x509.BasicConstraints(ca=name == ROOT, path_length=None)
        made = (
            x509.CertificateBuilder(named(ROOT), named(name), key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + DAY)
            .add_extension(authority, critical=True)
        )
        for one in more:
            made = made.add_extension(one, critical=False)
        certificate = made.sign(root, hashes.SHA256())
        return bytes(certificate.public_bytes(serialization.Encoding.PEM))

    _write(folder / f"{ROOT}.pem", signed(ROOT, root))
    where = x509.SubjectAlternativeName([x509.DNSName(host)])
    for name, more in ((SERVER, [where]), (CLIENT, [])):
        key = ec.generate_private_key(ec.SECP256R1())
        _write(folder / f"{name}.crt", signed(name, key, *more))
        held = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        _write(folder / f"{name}.key", held)


def _write(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(content)
