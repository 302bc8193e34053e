"""Signed files: who sent a message, and who takes part.

Signatures are Ed25519 of the package ``cryptography``, which is imported when the first
key is used. A signature covers the name of the sender besides the message, which itself
names plan and round, so that a file serves in no other place than its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from statcv.engine import installed
from statcv.errors import MessageError, MissingPackageError, SiteError
from statcv.sites.messages import MAX_MESSAGE_BYTES, VERSION, canonical
from statcv.sites.plan import SitesPlan

MAGIC: Final = b"statcv signed 1\n"
COORDINATOR: Final = "coordinator"
_LENGTH: Final = 4  # bytes that give the length of the message
_SIGNATURE: Final = 64
_PRIVATE: Final = 32
OVERHEAD: Final = len(MAGIC) + _LENGTH + _SIGNATURE
MAX_FILE_BYTES: Final = OVERHEAD + MAX_MESSAGE_BYTES


class IncompleteError(MessageError):
    """A file that is shorter than it says, as while it is being copied."""


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingPackageError(
            "signed files between sites need the package cryptography: pip install "
            '"statcv[sites]"'
        ) from None
    return ed25519


@dataclass(frozen=True, eq=False)
class SigningKey:
    """The private key of one party, who alone can sign its files.

    Attributes
    ----------
    private : bytes
        The 32 bytes that must stay secret.
    """

    private: bytes

    def __repr__(self) -> str:
        return f"SigningKey({key_name(self.public)})"

    @classmethod
    def new(cls) -> SigningKey:
        """Make a key from the random numbers of the system."""
        return cls(_ed25519().Ed25519PrivateKey.generate().private_bytes_raw())

    def __post_init__(self) -> None:
        if len(self.private) != _PRIVATE:
            raise ValueError(f"a private key has {_PRIVATE} bytes")

    @cached_property
    def _key(self) -> Any:
        return _ed25519().Ed25519PrivateKey.from_private_bytes(self.private)

    @cached_property
    def public(self) -> str:
        """The public key as 64 hex digits."""
        return str(self._key.public_key().public_bytes_raw().hex())

    def sign(self, party: str, body: bytes) -> bytes:
        """Return the content of a file: signature and message."""
        signature: bytes = self._key.sign(_signed(party, body))
        return b"".join([MAGIC, len(body).to_bytes(_LENGTH, "big"), signature, body])

    def document(self, party: str, held: Mapping[str, Any]) -> bytes:
        """Return values of JSON with a signature, as the content of a file."""
        body = {"party": party, **held}
        signature: bytes = self._key.sign(_signed(party, canonical(body)))
        told = {**body, "signature": signature.hex()}
        return (json.dumps(told, indent=1, ensure_ascii=False) + "\n").encode()

    def card(self, party: str, plan: SitesPlan) -> bytes:
        """Return the public key of a party, with its plan and version, as a file."""
        return self.document(party, {"key": self.public, **_of_this_run(plan)})

    def roster(self, keys: Mapping[str, str], plan: SitesPlan) -> bytes:
        """Return the public keys of all sites, as a file of the coordinator."""
        return self.document(COORDINATOR, {"keys": dict(keys), **_of_this_run(plan)})


def opened(content: bytes, public: str, party: str, file: str) -> bytes:
    """Return the message of a file, if the party signed it.

    Parameters
    ----------
    content : bytes
        The content of the file.
    public : str
        The public key of the party.
    party : str
        Who should have signed.
    file : str
        Name of the file, for the error.

    Raises
    ------
    IncompleteError
        If the file is shorter than it says.
    MessageError
        If the party did not sign it.
    """
    begin = len(MAGIC)
    length = int.from_bytes(content[begin : begin + _LENGTH], "big")
    short = len(content) < OVERHEAD or len(content) < OVERHEAD + length
    if short and MAGIC.startswith(content[:begin]) and length <= MAX_MESSAGE_BYTES:
        raise IncompleteError(f"{file} is incomplete; copy it again.")
    signature, body = content[begin + _LENGTH : OVERHEAD], content[OVERHEAD:]
    formed = content.startswith(MAGIC) and len(body) == length
    if not (formed and _is_signed(public, signature, _signed(party, body))):
        raise MessageError(
            f"{file} is not signed by {titled(party)} with the key "
            f"{key_name(public)}: it is damaged or forged. Get the file again from "
            f"{titled(party)}."
        )
    return body


def titled(party: str) -> str:
    """Return ``site A``, or ``the coordinator``."""
    return f"the {party}" if party == COORDINATOR else f"site {party}"


def key_name(public: str) -> str:
    """Return twenty digits that identify a public key when they are read aloud.

    >>> key_name("00" * 32)
    '6668 7aad f862 bd77 6c8f'
    """
    digits = hashlib.sha256(bytes.fromhex(public)).hexdigest()
    return " ".join(digits[at : at + 4] for at in range(0, 20, 4))


def _signed(party: str, body: bytes) -> bytes:
    """Return what a signature covers."""
    return b"".join([MAGIC, party.encode(), b"\n", body])


def _is_signed(public: str, signature: bytes, told: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        key = _ed25519().Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(signature, told)
    except (InvalidSignature, ValueError):
        return False
    return True


# ---- documents ----


def package_version() -> str:
    """Return the version of this package, as it is installed."""
    return installed(["statcv"]).get("statcv", "0.0")  # it is not installed


def _of_this_run(plan: SitesPlan) -> dict[str, Any]:
    """Return what all parties of a run have in common."""
    return {"plan": plan.fingerprint, "statcv": package_version(), "version": VERSION}


def read_card(content: bytes, party: str, plan: SitesPlan, file: str) -> str:
    """Return the public key of a party from its file, which the key itself signed.

    Raises
    ------
    MessageError
        If the file is damaged or forged, or is that of another party.
    SiteError
        If the party signs another plan, or has another version of the package.
    """
    return str(_document(content, party, plan, file)["key"])


def read_roster(
    content: bytes, public: str, plan: SitesPlan, file: str
) -> dict[str, str]:
    """Return the public keys of all sites from the coordinator's file.

    Raises
    ------
    MessageError
        If the file is damaged or forged.
    """
    keys = _document(content, COORDINATOR, plan, file, public).get("keys")
    if not isinstance(keys, dict):
        raise MessageError(f"{file} does not list the keys of the sites.")
    return {str(site): str(key) for site, key in keys.items()}


def _document(
    content: bytes, party: str, plan: SitesPlan, file: str, public: str | None = None
) -> dict[str, Any]:
    """Return the values of a document that a party signed, by its own key if None."""
    try:
        held = json.loads(content)
        signature = bytes.fromhex(held.pop("signature"))
        told = _signed(party, canonical(held))
        key = held["key"] if public is None else public
        signed = held["party"] == party and _is_signed(key, signature, told)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        signed = False
    if not signed:
        raise MessageError(
            f"{file} is not signed by {titled(party)}: it is incomplete, damaged or "
            f"forged. Get the file again from {titled(party)}."
        )
    check_version(party, str(held.get("statcv")), held.get("version"))
    if held.get("plan") != plan.fingerprint:
        raise SiteError(
            f"{titled(party)} signs another plan ({str(held.get('plan'))[:12]}) than "
            f"this one ({plan.fingerprint[:12]}); let all parties use the same plan, "
            "and an empty directory."
        )
    return dict(held)


def check_version(party: str, other: str, messages: Any) -> None:
    """Check that another party has the same version but for its last number.

    Raises
    ------
    SiteError
        If it has another, whose numbers need not agree with those of this one.
    """
    own = package_version()
    if messages == VERSION and other.split(".")[:2] == own.split(".")[:2]:
        return
    raise SiteError(
        f"{titled(party)} has statcv {other[:20]} (messages {messages!s:.9}), and here "
        f"is {own} (messages {VERSION}); install one version at all parties."
    )
