"""Signed files: who sent a message, and who takes part.

Signatures are Ed25519 of the package ``cryptography``, which is imported when the first
key is used. A signature covers the name of the sender besides the message, which itself
names plan and round, so that a file serves in no other place than its own.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import statcv
from statcv.errors import MessageError, MissingPackageError, SiteError
from statcv.sites.messages import LARGEST, VERSION, canonical
from statcv.sites.plan import SitesPlan

MAGIC: Final = b"statcv signed 1\n"
COORDINATOR: Final = "coordinator"
_LENGTH: Final = 4  # bytes that give the length of the message
_SIGNATURE: Final = 64
_PRIVATE: Final = 32
OVERHEAD: Final = len(MAGIC) + _LENGTH + _SIGNATURE
LARGEST_FILE: Final = OVERHEAD + LARGEST


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

    def card(self, party: str, plan: SitesPlan) -> Card:
        """Return what the other parties learn of this one, signed by itself."""
        made = Card(party, self.public, plan.fingerprint, statcv.__version__)
        signature: bytes = self._key.sign(_signed(party, made.told))
        return Card(*made.fields, signature=signature.hex())


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
    if short and MAGIC.startswith(content[:begin]) and length <= LARGEST:
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


@dataclass(frozen=True)
class Card:
    """The public key of a party, with what it has to share with the others.

    Attributes
    ----------
    party : str
        ``"coordinator"``, or the name of a site.
    public : str
        Public key.
    plan : str
        Fingerprint of the plan that the party signs.
    statcv : str
        Version of the package.
    version : int
        Version of the messages.
    signature : str
        Signature by the key itself.
    """

    party: str
    public: str
    plan: str
    statcv: str
    version: int = VERSION
    signature: str = ""

    @property
    def fields(self) -> tuple[str, str, str, str, int]:
        """What is signed."""
        return (self.party, self.public, self.plan, self.statcv, self.version)

    @property
    def told(self) -> bytes:
        """What is signed, as bytes."""
        return canonical(list(self.fields))

    def to_json(self) -> str:
        """Return the card as text."""
        held = {
            "party": self.party,
            "key": self.public,
            "key_name": key_name(self.public),
            "plan": self.plan,
            "statcv": self.statcv,
            "version": self.version,
            "signature": self.signature,
        }
        return json.dumps(held, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def of(cls, text: bytes, party: str, plan: SitesPlan, file: str) -> Card:
        """Read and check the card of a party.

        Raises
        ------
        MessageError
            If it is damaged or forged, or is that of another party.
        SiteError
            If the party signs another plan, or has another version of the package.
        """
        try:
            held = json.loads(text)
            names = ("party", "key", "plan", "statcv")
            told = [str(held[name]) for name in names]
            card = cls(*told, int(held["version"]), str(held["signature"]))
            signature = bytes.fromhex(card.signature)
            signed = _is_signed(card.public, signature, _signed(party, card.told))
        except (ValueError, TypeError, KeyError, RecursionError):
            signed = False
        if not signed or card.party != party:
            raise MessageError(
                f"{file} is not the public key of {titled(party)}: it is incomplete, "
                f"damaged or forged. Get the file again from {titled(party)}."
            )
        check_version(party, card.statcv, card.version)
        if card.plan != plan.fingerprint:
            raise SiteError(
                f"{titled(party)} signs another plan ({card.plan[:12]}) than this one "
                f"({plan.fingerprint[:12]}); let all parties use the same plan and an "
                "empty directory."
            )
        return card


def check_version(party: str, other: str, version: int) -> None:
    """Check that another party has the same version but for its last number.

    Raises
    ------
    SiteError
        If it has another, whose numbers need not agree with those of this one.
    """
    own = statcv.__version__
    if version == VERSION and other.split(".")[:2] == own.split(".")[:2]:
        return
    raise SiteError(
        f"{titled(party)} has statcv {other[:20]} (messages {version}), and statcv "
        f"{own} (messages {VERSION}) is here; install one version at all parties."
    )
