"""Keys, certificates and kits of NVFLARE.

One root signs all certificates. The server's kit and the coordinator's are made where
the root is kept; the key of a site is made at the site and never leaves it, since the
root signs a request.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import logging
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID
from nvflare.lighter import utils
from nvflare.lighter.entity import Participant, Project
from nvflare.lighter.impl.cert import CertBuilder
from nvflare.lighter.impl.static_file import StaticFileBuilder
from nvflare.lighter.impl.workspace import WorkspaceBuilder
from nvflare.lighter.provisioner import Provisioner

from statcv.errors import ArgumentError, SiteError
from statcv.sites.transports.exchange import write
from statcv.sites.transports.homes import OWN
from statcv.sites.transports.nvflare import jobs

DAYS: Final = 90
PORT: Final = 8002
# seconds without a heartbeat, after which a site is gone
MAX_SECONDS_WITHOUT_HEARTBEAT: Final = 10.0
NOT_STREAMED: Final = ("site_log_streamer", "log_receiver")
PERMISSIONS: Final = {
    **dict.fromkeys(("submit_job", "manage_job", "download_job", "view"), "any"),
    **dict.fromkeys(("clone_job", "operate", "shell_commands", "byoc"), "none"),
    "server-predeployed-flwr": "none",
}
_DEFAULT: Final = ".default"  # files that NVFLARE reads where a site has no own


# ---- where the root is kept ----


def provision(
    folder: Path, *, host: str = "localhost", port: int = PORT, days: int = DAYS
) -> None:
    """Make a root, and the kits of the server and the coordinator under it.

    Parameters
    ----------
    folder : Path
        Empty or new folder; ``root`` in it holds the key that signs certificates.
    host : str
        Name by which sites reach the server.
    port : int
        The one port that the server opens.
    days : int
        Days for which certificates are valid.
    """
    root = folder / "root"
    if root.exists():
        raise ArgumentError(
            f"{folder} has a root already; a second one would not know the sites of "
            "the first. Use another folder."
        )
    server = participant("server", host, {"fed_learn_port": port})
    admin = participant("admin", jobs.COORDINATOR, {"role": "project_admin"})
    with made_kits([server, admin], CertBuilder(root_valid_days=days)) as made:
        state = json.loads((made.parent / "state" / "cert.json").read_text())
        _private(root)
        write(root / "rootCA.pem", state["root_cert"].encode())
        write(root / "rootCA.key", state["root_pri_key"].encode(), OWN)
        jobs.write_json(root / "about.json", {"host": host, "port": port, "days": days})
        shutil.move(made / host, folder / "server")
        shutil.move(made / jobs.COORDINATOR, folder / "coordinator")
    restrict_server(folder / "server")
    restrict(folder / "coordinator")


def sign(folder: Path, request_: bytes) -> tuple[str, bytes]:
    """Sign the request of a site.

    Parameters
    ----------
    folder : Path
        What :func:`provision` made.
    request_ : bytes
        What :func:`request` returned at the site.

    Returns
    -------
    tuple of str and bytes
        The name of the site, and the answer for it, which holds no secret.
    """
    root, about = _root(folder)
    try:
        asked = x509.load_pem_x509_csr(request_)
    except ValueError:
        raise ArgumentError("this is not a request for a certificate.") from None
    if not asked.is_signature_valid:
        raise ArgumentError("the request was changed after it was made.")
    site = _name_of(asked.subject)
    check_name(site)
    certificate = utils.generate_cert(
        subject=utils.Identity(site, jobs.PROJECT),
        issuer=utils.Identity(jobs.PROJECT),
        signing_pri_key=root,
        subject_pub_key=asked.public_key(),
        not_valid_before=_now(),
        not_valid_after=_now() + datetime.timedelta(days=about["days"]),
    )
    answer = {"site": site, "host": about["host"], "port": about["port"]}
    answer["certificate"] = utils.serialize_cert(certificate).decode()
    answer["root"] = (folder / "root" / "rootCA.pem").read_text()
    return site, (json.dumps(answer, indent=2) + "\n").encode()


def _root(folder: Path) -> tuple[Any, dict[str, Any]]:
    try:
        key = (folder / "root" / "rootCA.key").read_bytes()
        about = json.loads((folder / "root" / "about.json").read_text())
    except FileNotFoundError:
        raise ArgumentError(
            f"{folder} has no root; `statcv sites provision` makes one."
        ) from None
    return serialization.load_pem_private_key(key, password=None), about


# ---- at the site ----


def request(home: Path, site: str) -> bytes:
    """Make the key of a site in its home, and return the request for a certificate.

    Parameters
    ----------
    home : Path
        Folder of the site; its key stays there.
    site : str
        Name of the site, as in the plan.
    """
    check_name(site)
    key = home / "client.key"
    if key.exists():
        raise ArgumentError(
            f"{key} exists; a new key needs a new request. Remove it to make another."
        )
    _private(home)
    secret, _ = utils.generate_keys()
    told = {NameOID.COMMON_NAME: site, NameOID.ORGANIZATION_NAME: jobs.PROJECT}
    subject = x509.Name([x509.NameAttribute(*one) for one in told.items()])
    asked = x509.CertificateSigningRequestBuilder().subject_name(subject)
    write(key, utils.serialize_pri_key(secret), OWN)
    signed = asked.sign(secret, hashes.SHA256())
    return bytes(signed.public_bytes(serialization.Encoding.PEM))


def install(home: Path, answer: bytes) -> str:
    """Make the kit of a site in its home from the answer to its request.

    Returns
    -------
    str
        The name of the site.
    """
    try:
        told = json.loads(answer)
        site, host, port = told["site"], told["host"], int(told["port"])
        certificate = x509.load_pem_x509_certificate(told["certificate"].encode())
        root = x509.load_pem_x509_certificate(told["root"].encode())
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ArgumentError("this is not an answer to the request of a site.") from None
    check_name(site)
    if not (home / "client.key").exists():
        raise SiteError(f"site {site}: its key is not in {home}; ask again from there.")
    secret = (home / "client.key").read_bytes()
    own = serialization.load_pem_private_key(secret, password=None).public_key()
    if _digits(own) != _digits(certificate.public_key()):
        raise SiteError(
            f"site {site}: the certificate is for another key than its own."
        )
    try:
        certificate.verify_directly_issued_by(root)
    except Exception:
        why = f"site {site}: the root did not sign the certificate."
        raise SiteError(why) from None
    server = participant("server", host, {"fed_learn_port": port})
    client = participant("client", site, {"allow_log_streaming": False})
    with made_kits([server, client]) as made:
        kit = home / "nvflare"
        if kit.exists():
            shutil.rmtree(kit)
        shutil.move(made / site, kit)
    write(kit / "startup" / "client.crt", told["certificate"].encode())
    write(kit / "startup" / "client.key", secret, OWN)
    write(kit / "startup" / "rootCA.pem", told["root"].encode())
    restrict_client(kit)
    return str(site)


def site_of(home: Path) -> str:
    """Return the name of the site whose certificate is in a home."""
    path = home / "nvflare" / "startup" / "client.crt"
    if not path.exists():
        raise SiteError(
            f"{home} has no certificate; `statcv sites request` asks for one, and "
            "--answer has it."
        )
    return _name_of(x509.load_pem_x509_certificate(path.read_bytes()).subject)


def check_valid(kit: Path, who: str) -> None:
    """Check that the certificate of a kit is valid today.

    Raises
    ------
    SiteError
        If it has expired, or is not valid yet.
    """
    path = next((kit / "startup").glob("*.crt"), None)
    if path is None:
        raise SiteError(f"{who} has no certificate; its kit is not whole.")
    made = x509.load_pem_x509_certificate(path.read_bytes())
    if not made.not_valid_before_utc <= _now() <= made.not_valid_after_utc:
        first, last = made.not_valid_before_utc, made.not_valid_after_utc
        raise SiteError(
            f"the certificate of {who} is valid from {first:%Y-%m-%d} to "
            f"{last:%Y-%m-%d} only; a new request, or a new root, is needed."
        )


def fingerprint(content: bytes) -> str:
    """Return what two people read to each other: a digest of the key or root.

    Parameters
    ----------
    content : bytes
        A request, or the answer to it.
    """
    if content.startswith(b"{"):
        root = x509.load_pem_x509_certificate(json.loads(content)["root"].encode())
        digest = root.fingerprint(hashes.SHA256())
    else:
        key = x509.load_pem_x509_csr(content).public_key()
        digest = hashlib.sha256(_digits(key)).digest()
    text = digest.hex().upper()
    return " ".join(text[place : place + 4] for place in range(0, 32, 4))


def check_name(site: str) -> None:
    """Check that a certificate can carry the name of a site."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,60}", site) or site == "server":
        raise ArgumentError(
            f"site {site!r}: over NVFLARE the name of a site has letters without "
            "accents, digits, - and _, at most 60, and is not 'server'."
        )


# ---- kits, and what the processes that are started from them permit ----


@contextmanager
def made_kits(participants: list[Any], *certificates: Any) -> Iterator[Path]:
    """Make kits in a folder that is removed afterwards.

    Parameters
    ----------
    participants : list
    *certificates : Builder
        What makes keys and certificates, if there are none yet.
    """
    # Jobs are signed by who submits them, and sites refuse others.
    static = StaticFileBuilder(
        config_folder="config", scheme="grpc", require_signed_jobs=True
    )
    project = Project(jobs.PROJECT, "statcv sites", participants)
    silent = logging.Logger("kits", logging.CRITICAL + 1)
    with tempfile.TemporaryDirectory(prefix="statcv-") as place:
        made = Provisioner(place, [WorkspaceBuilder(), static, *certificates])
        told = made.provision(project, logger=silent)
        if "current_prod_dir" not in told:
            raise SiteError("NVFLARE did not make its kits.")
        yield Path(told["current_prod_dir"])


def participant(kind: str, name: str, props: dict[str, Any]) -> Any:
    """Return the server, the coordinator or a site of the kits."""
    try:
        return Participant(kind, name, jobs.PROJECT, props)
    except ValueError as error:
        raise ArgumentError(f"NVFLARE refuses the name {name!r}: {error}") from None


def restrict(kit: Path) -> None:
    """Let nobody but the owner read a kit."""
    kit.chmod(0o700)
    for name in ("start.sh", "sub_start.sh", "stop_fl.sh", "fl_admin.sh"):
        (kit / "startup" / name).unlink(missing_ok=True)  # statcv starts processes


def restrict_client(kit: Path) -> None:
    """Write what a site permits, and let it send no logs."""
    resources, silent = _defaults(kit), {"allow_log_streaming": False}
    # NVFLARE sends the server this entry of the file, and nothing else of it.
    resources["client"]["site_config"] = silent
    _permit(kit, resources | silent, PERMISSIONS)


def restrict_server(kit: Path) -> None:
    """Write what the server permits, which runs one job at a time."""
    resources = _defaults(kit)
    resources["servers"][0]["heart_beat_timeout"] = MAX_SECONDS_WITHOUT_HEARTBEAT
    for one in resources["components"]:
        if one["id"] == "job_scheduler":
            one["args"] = {"max_jobs": 1, "min_schedule_interval": 1.0}
    _permit(kit, resources, {**PERMISSIONS, "operate": "any"})


def place_server(kit: Path) -> None:
    """Let the server keep jobs in its kit, wherever that is now."""
    resources = json.loads((kit / "local" / "resources.json").read_text())
    snapshots = resources["snapshot_persistor"]["args"]["storage"]["args"]
    snapshots["root_dir"] = str(kit.resolve() / "snapshots")
    for one in resources["components"]:
        if one["id"] == "job_manager":
            one["args"]["uri_root"] = str(kit.resolve() / "jobs")
    jobs.write_json(kit / "local" / "resources.json", resources)


def _permit(kit: Path, resources: dict[str, Any], rights: dict[str, str]) -> None:
    """Write what a kit permits: two classes, no code, no logs of it elsewhere."""
    restrict(kit)
    resources["class_list_enforcement_mode"] = "enforce"
    resources["class_allow_list"] = [jobs.CONTROLLER, jobs.EXECUTOR]
    resources["components"] = [
        one for one in resources["components"] if one["id"] not in NOT_STREAMED
    ]
    rules = {"format_version": "1.0", "permissions": {"project_admin": rights}}
    for name, content in (("resources.json", resources), ("authorization.json", rules)):
        (kit / "local" / (name + _DEFAULT)).unlink()
        jobs.write_json(kit / "local" / name, content)


def _defaults(kit: Path) -> dict[str, Any]:
    """Return the resources of a kit as NVFLARE makes them."""
    return dict(json.loads((kit / "local" / ("resources.json" + _DEFAULT)).read_text()))


# ---- files and certificates ----


def _private(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)


def _digits(key: Any) -> bytes:
    spki = serialization.PublicFormat.SubjectPublicKeyInfo
    return bytes(key.public_bytes(serialization.Encoding.DER, spki))


def _name_of(subject: x509.Name) -> str:
    found = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else ""


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)
