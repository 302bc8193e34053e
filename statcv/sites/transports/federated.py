"""How sites grow trees together, over XGBoost's federated server under mutual TLS.

Sites add up their sums of gradients through the server. XGBoost waits for a site that
is gone without an end, and may end its process. What can be waited for with a limit,
and ended, is a process of its own, apart from that of a site.
"""

from __future__ import annotations

import datetime
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, Final, NoReturn

from statcv.errors import ArgumentError, MissingPackageError, SiteError, needed
from statcv.sites import trees
from statcv.sites.messages import SENTENCES
from statcv.sites.transports.exchange import write
from statcv.sites.transports.homes import OWN
from statcv.words import listed

WORKER: Final = Path(__file__).with_name("xgboost_worker.py")
SECRET: Final = "STATCV_KEY"
LOCAL: Final = "localhost"
MAX_SECONDS_TO_BEGIN: Final = 60.0  # seconds in which a server says that it begins
# the first supported version, and the first that is not
VERSIONS: Final = ((3, 2), (3, 4))
INSTALL: Final = 'pip install "statcv[sites-trees]"'
MAX_SECONDS_TO_COME: Final = 600.0  # seconds in which all sites must be present
# seconds in which all sites on this machine must be present
MAX_SECONDS_TO_COME_HERE: Final = 180.0
# largest time in which all sites together grow a tree, in seconds
MAX_SECONDS_PER_TREE: Final = 120.0
# seconds in which a process must report that it is alive
MAX_SECONDS_TO_REPORT: Final = 2.0


# ---- processes ----


class SilentError(Exception):
    """A process has not said anything for too long."""


class TreeProcess:
    """A process in which XGBoost runs.

    Parameters
    ----------
    asked : dict
        What it is to do.
    """

    def __init__(self, asked: dict[str, Any]) -> None:
        known = {name: os.environ[name] for name in os.environ if name != SECRET}
        self._pipe, theirs = Pipe()
        with theirs:
            self._popen = subprocess.Popen(
                [sys.executable, str(WORKER), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**known, "OMP_NUM_THREADS": "1"},
            )
        # number: by which the system knows the process
        self.said, self._asked, self.number = 0, 0, self._popen.pid
        self._send(asked)

    def _send(self, what: object) -> None:
        with suppress(OSError):  # a process that has ended shows when it is heard
            self._pipe.send(what)

    def hear(self, seconds: float) -> dict[str, Any] | None:
        """Return what the process says next; None if it has ended.

        Raises
        ------
        SilentError
            If it says nothing for this many seconds.
        """
        try:
            if not self._pipe.poll(seconds):
                raise SilentError
            said: dict[str, Any] = self._pipe.recv()
        except (EOFError, OSError):
            return None
        alive = said["is"] == "alive"
        self._asked, self.said = self._asked - alive, self.said + (not alive)
        return said

    def ask(self) -> None:
        """Ask whether it is alive, which it answers."""
        self._asked += 1
        self._send("?")

    @property
    def answers(self) -> bool:
        """Whether it has answered all that it was asked."""
        return self._asked == 0

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._popen.poll() is not None

    def end(self) -> None:
        """End it."""
        self._popen.kill()
        self._popen.wait()

    def close(self) -> None:
        """End it, and close its pipe."""
        self.end()
        self._pipe.close()


# ---- the server ----


def need_plugin() -> None:
    """Raise an error that says what to install, unless XGBoost has its plugin.

    Raises
    ------
    MissingPackageError
        If XGBoost is missing, of another version, or built without the plugin, or if
        there is no package for certificates.
    """
    found = trees.version_of_xgboost()
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
    why = "trees are grown under mutual TLS, which needs cryptography"
    needed("cryptography", f"{why}: {INSTALL}")


@dataclass(frozen=True)
class Server:
    """A server as a site reaches it.

    Attributes
    ----------
    address : str
        Such as ``"trees.example.org:9091"``.
    certificates : Path
        Folder with ``rootCA.pem``, ``client.crt`` and ``client.key``.

    Raises
    ------
    ArgumentError
        If one of these files is missing.
    """

    address: str
    certificates: Path

    def __post_init__(self) -> None:
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
    with closing(TreeProcess(asked)) as process:
        said = None
        with suppress(SilentError):
            said = process.hear(MAX_SECONDS_TO_BEGIN)
        if said is None or said["is"] != "serving":
            raise SiteError(f"the federated server cannot begin at port {port}.")
        yield process


def free_port() -> int:
    """Return a port of this machine that is free."""
    with socket.socket() as one:
        one.bind((LOCAL, 0))
        return int(one.getsockname()[1])


def make_certificates(folder: Path, host: str) -> None:
    """Make the key that a server and its clients share, and their certificate.

    The certificate is its own root, so that nobody without the key is greeted.

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

    key, day = ec.generate_private_key(ec.SECP256R1()), datetime.timedelta(days=1)
    now = datetime.datetime.now(datetime.timezone.utc)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    made = x509.CertificateBuilder(name, name, key.public_key())
    made = made.serial_number(x509.random_serial_number())
    made = made.not_valid_before(now - day).not_valid_after(now + day)
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), False)
    made = made.add_extension(x509.BasicConstraints(True, path_length=None), True)
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    certificate = made.sign(key, hashes.SHA256()).public_bytes(pem)
    secret = key.private_bytes(pem, pkcs8, serialization.NoEncryption())
    for file in ("rootCA.pem", "server.crt", "client.crt", "server.key", "client.key"):
        write(folder / file, secret if file.endswith("key") else certificate, OWN)


# ---- growing ----


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

    def __call__(self, job: trees.Job) -> list[bytes]:
        """Return the trees of all fits.

        Raises
        ------
        DroppedOutError
            If a site is gone, or is not there in time; it is named if it is known.
        """
        need_plugin()
        folder, plan = self.server.certificates, job.records.plan
        asked = {
            "do": "grow",
            "arrays": job.arrays,
            "bins": trees.numbers_of_bins(plan),
            "parameters": trees.parameters_of(plan.model),
            "rounds": plan.model["rounds"],
            "address": self.server.address,
            "certificates": str(folder.resolve()),
            "sites": len(job.sites),
            "rank": job.sites.index(job.site),
        }
        with closing(TreeProcess(asked)) as process:
            self.together.processes[job.site] = process
            return self._grown(process, job)

    def _grown(self, process: TreeProcess, job: trees.Job) -> list[bytes]:
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
                return list(said["trees"])
            else:
                begun |= said["is"] == "together"

    def _who_is_silent(self, job: trees.Job, begun: bool) -> str:
        if silent := self.together.silent(self.together.processes[job.site]):
            return f"site {listed(silent)} does not answer while trees are grown"
        others = f"site {listed([site for site in job.sites if site != job.site])}"
        who, at = f"site {job.site} has waited", self.server.address
        if begun:
            return f"{who} {self.silent:g} seconds for the sums of {others}"
        return f"{who} {self.come:g} seconds for {others}, or for the server at {at}"

    def _lose(self, why: str) -> NoReturn:
        self.together.lose(why)
        again = SENTENCES["trees_again"]
        raise trees.DroppedOutError(f"{self.together.lost}; {again}.")


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
        server, come = Server(f"{LOCAL}:{port}", folder), MAX_SECONDS_TO_COME_HERE
        grower = Grower(server, come=come, together=together)
        with serving(len(sites), folder, port):
            yield dict.fromkeys(sites, grower)
