"""Certificates for mutual TLS on this machine, which serve one run.

Sites that are apart have certificates of their own, such as those in the kits of
``statcv sites provision``, ``request`` and ``sign``, whose files have the same names.
"""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any, Final

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
