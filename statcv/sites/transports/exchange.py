"""The directory in which parties leave signed files for each other.

It may be a share, or be copied by hand: a file is complete or absent, its name says
round and sender, and nothing depends on dates. Everything read is checked.

Signatures are Ed25519 of the package ``cryptography``, which is imported when the first
key is used. A signature covers the name of the sender besides the message, which itself
names plan and round, so that a file serves in no other place than its own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from statcv import errors
from statcv.engine import installed
from statcv.files import DRAFT, write_whole
from statcv.sites.messages import MAX_MESSAGE_BYTES, REFUSE, VERSION, Message, canonical
from statcv.sites.plan import SitesPlan
from statcv.words import listed

MAGIC: Final = b"statcv signed 1\n"
COORDINATOR: Final = "coordinator"
_LENGTH: Final = 4  # bytes that give the length of the message
_SIGNATURE: Final = 64
_PRIVATE: Final = 32
OVERHEAD: Final = len(MAGIC) + _LENGTH + _SIGNATURE
MAX_FILE_BYTES: Final = OVERHEAD + MAX_MESSAGE_BYTES
PARTY: Final = r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,38}[A-Za-z0-9_])?"
CARD: Final = re.compile(rf"({PARTY})\.public\.json")
FILE: Final = re.compile(rf"round-(\d{{2,}})-from-({PARTY})\.statcv")
ROSTER: Final = "roster.json"
# files of people, which are left as they are
NOTES: Final = ("README", "README.md", "README.txt", "plan.json")


# ---- signatures ----


class IncompleteError(errors.MessageError):
    """A file that is shorter than it says, as while it is being copied."""


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise errors.MissingPackageError(
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

    def document(self, party: str, plan: SitesPlan, **held: Any) -> bytes:
        """Return values of JSON with a signature, as the content of a file."""
        run = {"plan": plan.fingerprint, "statcv": package_version()}
        body = {"party": party, **held, **run, "version": VERSION}
        signature: bytes = self._key.sign(_signed(party, canonical(body)))
        told = {**body, "signature": signature.hex()}
        return (json.dumps(told, indent=1, ensure_ascii=False) + "\n").encode()

    def card(self, party: str, plan: SitesPlan) -> bytes:
        """Return the public key of a party, with its plan and version, as a file."""
        return self.document(party, plan, key=self.public)


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
    short = len(content) < OVERHEAD + length
    if short and MAGIC.startswith(content[:begin]) and length <= MAX_MESSAGE_BYTES:
        raise IncompleteError(f"{file} is incomplete; copy it again.")
    signature, body = content[begin + _LENGTH : OVERHEAD], content[OVERHEAD:]
    formed = content.startswith(MAGIC) and len(body) == length
    if not (formed and _is_signed(public, signature, _signed(party, body))):
        raise errors.MessageError(
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


def read_document(
    content: bytes, party: str, plan: SitesPlan, file: str, public: str | None = None
) -> dict[str, Any]:
    """Return the values of a document that a party signed, by its own key if None.

    Raises
    ------
    MessageError
        If the file is damaged or forged, or is that of another party.
    SiteError
        If the party signs another plan, or has another version of the package.
    """
    try:
        held = json.loads(content)
        signature = bytes.fromhex(held.pop("signature"))
        told = _signed(party, canonical(held))
        key = held["key"] if public is None else public
        signed = held["party"] == party and _is_signed(key, signature, told)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        signed = False
    if not signed:
        raise errors.MessageError(
            f"{file} is not signed by {titled(party)}: it is incomplete, damaged or "
            f"forged. Get the file again from {titled(party)}."
        )
    check_version(party, str(held.get("statcv")), held.get("version"))
    if held.get("plan") != plan.fingerprint:
        raise errors.SiteError(
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
    raise errors.SiteError(
        f"{titled(party)} has statcv {other[:20]} (messages {messages!s:.9}), and here "
        f"is {own} (messages {VERSION}); install one version at all parties."
    )


# ---- the directory ----


@dataclass(frozen=True)
class Exchange:
    """The directory of an exchange.

    Attributes
    ----------
    path : pathlib.Path
    """

    path: Path

    def make(self) -> None:
        """Make the directory unless it is there."""
        make_folder(self.path)

    def check(self) -> None:
        """Check that there is a directory.

        Raises
        ------
        ExchangeError
            If the directory is missing.
        """
        if not self.path.is_dir():
            raise errors.ExchangeError(
                f"there is no directory {self.path}; the coordinator's first step "
                "makes it."
            )

    # ---- public keys ----

    def publish_card(self, party: str, key: SigningKey, plan: SitesPlan) -> bool:
        """Leave the public key of a party, and return whether it was not there.

        Raises
        ------
        SiteError
            If there is another key of the same name.
        """
        path = self.path / card_name(party)
        present = self.public_key(party, plan)
        if present is None:
            write(path, key.card(party, plan))
        elif present != key.public:
            raise errors.SiteError(
                f"{path} holds another key of {titled(party)} than its home does: it "
                "is left from another run, or somebody else uses the name. Use an "
                "empty directory, or clear up who wrote it."
            )
        return present is None

    def public_key(self, party: str, plan: SitesPlan) -> str | None:
        """Return the public key of a party, or None if it is not there yet."""
        found = self._document(card_name(party), party, plan)
        return None if found is None else str(found["key"])

    def roster(self, public: str, plan: SitesPlan) -> dict[str, str] | None:
        """Return the keys of all sites, or None if the list is not there yet."""
        found = self._document(ROSTER, COORDINATOR, plan, public)
        if found is not None and not isinstance(found.get("keys"), dict):
            path = self.path / ROSTER
            raise errors.MessageError(f"{path} does not list the keys of the sites.")
        return found and {str(site): str(key) for site, key in found["keys"].items()}

    def _document(
        self, name: str, party: str, plan: SitesPlan, public: str | None = None
    ) -> dict[str, Any] | None:
        path = self.path / name
        content = read(path, MAX_FILE_BYTES)
        if content is None:
            return None
        return read_document(content, party, plan, str(path), public)

    # ---- messages ----

    def publish(self, number: int, party: str, key: SigningKey, body: bytes) -> bool:
        """Leave a signed message, and return whether it was not there as it is."""
        return self.leave(file_name(number, party), key.sign(party, body))

    def message(
        self, number: int, party: str, public: str, plan: SitesPlan
    ) -> bytes | None:
        """Return the message of a party in a round, or None if it is not there yet.

        Raises
        ------
        MessageError
            If the file is damaged or forged, or belongs to another plan or round.
        """
        path = self.path / file_name(number, party)
        content = read(path, MAX_FILE_BYTES)
        if content is None:
            return None
        body = opened(content, public, party, str(path))
        message = Message.of(body)
        header = message.header
        if header.get("plan") != plan.fingerprint:
            raise errors.MessageError(
                f"{path} belongs to another plan than {plan.fingerprint[:12]}; use a "
                "directory of its own for each plan."
            )
        if header.get("round") != number and message.kind != REFUSE:
            raise errors.MessageError(
                f"{path} holds a message of another round: it was renamed, or is "
                f"replayed. Get the file again from {titled(party)}."
            )
        return body

    # ---- files ----

    def leave(self, name: str, content: bytes) -> bool:
        """Leave a file, and return whether it was not there as it is."""
        present = read(self.path / name, MAX_FILE_BYTES)
        write(self.path / name, content)
        return present != content

    def copy(self, name: str, to: Exchange) -> None:
        """Copy a file with its signature to another directory."""
        write(to.path / name, read(self.path / name, MAX_FILE_BYTES) or b"")

    def files(self) -> list[str]:
        """Return the names of the files of the exchange, in order."""
        names = [path.name for path in self.path.iterdir() if path.is_file()]
        return sorted(name for name in names if _party(name) is not None)

    def tidy(self, party: str, parties: Collection[str] = ()) -> None:
        """Remove what a party left half-written, and warn of other people's files.

        Parameters
        ----------
        party : str
            The party, which was killed if a draft of its files is there.
        parties : collection of str
            Who takes part; anybody unless given.
        """
        other = []
        for path in sorted(self.path.iterdir()):
            draft = DRAFT.fullmatch(path.name)
            name = draft[1] if draft else path.name
            of = _party(name)
            if draft and of == party:
                path.unlink(missing_ok=True)
            known = of is not None and (not parties or of in parties)
            if not (known or name in NOTES or name.startswith(".")):
                other.append(name)
        if other:
            errors.warn(
                f"{self.path} has files that are not part of the exchange, and are "
                f"ignored: {listed(other)}.",
                errors.ExchangeWarning,
            )


def _party(name: str) -> str | None:
    """Return the party whose file has a name, or None if it is no such file."""
    if name == ROSTER:
        return COORDINATOR
    found = CARD.fullmatch(name) or FILE.fullmatch(name)
    return found and found.groups()[-1]


def card_name(party: str) -> str:
    """Return the name of the file of a public key."""
    return f"{party}.public.json"


def file_name(number: int, party: str) -> str:
    """Return the name of the file of a message.

    >>> file_name(3, "A")
    'round-03-from-A.statcv'
    """
    return f"round-{number:02d}-from-{party}.statcv"


def named(sites: Sequence[str]) -> str:
    """Return ``site A``, or ``sites A, B``."""
    return f"site{'s' if len(sites) > 1 else ''} {listed(sites)}"


def check_names(names: Collection[str]) -> None:
    """Check that the names of sites can be parts of file names on any system.

    Raises
    ------
    SiteError
        If one cannot, or two differ only in case.
    """
    for name in names:
        if not re.fullmatch(PARTY, name) or name.lower() == COORDINATOR:
            raise errors.SiteError(
                f"site {name!r} has a name that cannot be part of a file name; use up "
                "to 40 letters from A to Z, digits, '-', '_', '.' and blanks, and not "
                f"{COORDINATOR!r}."
            )
    if len({name.lower() for name in names}) < len(names):
        raise errors.SiteError(
            "two sites have the same name; give each one of its own."
        )


# ---- turns ----


@dataclass(frozen=True)
class Turn:
    """What a party has done, or whom it waits for.

    Attributes
    ----------
    sentence : str
    moved : bool
        Whether a file was left for the others.
    ended : bool
        Whether the party has nothing more to do.
    """

    sentence: str
    moved: bool
    ended: bool = False

    def __str__(self) -> str:
        return self.sentence


def waiting(who: str, did: Sequence[str], what: str) -> Turn:
    """Return the turn of a party that waits."""
    parts = [*did, f"waits for {what}"]
    return Turn(f"{who} {' and '.join(parts)}.", bool(did))


# ---- reading and writing ----


def read(path: Path, most: int | None = None) -> bytes | None:
    """Return the content of a file, or None if the file is missing.

    Parameters
    ----------
    path : pathlib.Path
    most : int, optional
        Largest number of bytes; any unless given.

    Raises
    ------
    ExchangeError
        If it cannot be read, or is too long.
    """
    content = b""
    with _telling(f"read {path}"):
        try:
            if not path.is_file():
                return None
            with path.open("rb") as file:
                content = file.read(-1 if most is None else most + 1)
        except FileNotFoundError:
            return None
    if most is not None and len(content) > most:
        raise errors.ExchangeError(
            f"{path} is longer than the limit of {most} bytes, and is not read."
        )
    return content


def write(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file that is complete or absent; one that is the same is left alone.

    Raises
    ------
    ExchangeError
        If it cannot be written, with its path; nothing is left of it then.
    """
    if read(path) == content:
        return
    advice = "make room or give access, and repeat the command."
    with _telling(f"write {path}", f" Nothing is left half-written; {advice}"):
        write_whole(path, content, mode)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a directory unless it is there.

    Raises
    ------
    ExchangeError
        If it cannot be made.
    """
    with _telling(f"make the directory {path}"):
        path.mkdir(mode, parents=True, exist_ok=True)


@contextmanager
def _telling(what: str, advice: str = "") -> Iterator[None]:
    """Turn what the system refuses into an error that says what was tried."""
    try:
        yield
    except OSError as error:
        why = errors.reason(error)
        raise errors.ExchangeError(f"cannot {what}: {why}.{advice}") from None
