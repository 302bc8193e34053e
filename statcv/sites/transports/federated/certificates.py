"""Certificates for mutual TLS on this machine, which serve one run.

Sites that are apart have certificates of their own, such as those in the kits of
``statcv sites provision``, ``request`` and ``sign``, whose files have the same names.
"""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any, Final

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
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    root = ec.generate_private_key(ec.SECP256R1())
    _write(folder / f"{ROOT}.pem", _pem(_signed(ROOT, root, ROOT, root, ca=True)))
    for name in (SERVER, CLIENT):
        key = ec.generate_private_key(ec.SECP256R1())
        other = host if name == SERVER else None
        made = _signed(name, key, ROOT, root, host=other)
        _write(folder / f"{name}.crt", _pem(made))
        held = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        _write(folder / f"{name}.key", held)


def _signed(
    name: str,
    key: Any,
    issuer: str,
    signer: Any,
    ca: bool = False,
    host: str | None = None,
) -> Any:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    )
    if host is not None:
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        made = made.add_extension(names, critical=False)
    return made.sign(signer, hashes.SHA256())


def _name(name: str) -> Any:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(certificate: Any) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _write(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(content)
