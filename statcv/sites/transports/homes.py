"""The private home of a party: its key, its plans, and what it has sent and received.

A home is a directory that never leaves the party::

    home.json           who the party is, and its current plan
    signing.key         its private key
    ledger.json         at a site: the plans that its data have answered
    plan-5b1e0c77a2f0/  for each plan:
        plan.json
        log.jsonl       at a site: every message and its answer
        trees.json      at a site: the trees that it has grown with the others
        coordinator.public.json, roster.json    at a site: the keys that it relies on
        keys.json       at the coordinator: the public keys of the sites
        round-03-from-A.statcv  at the coordinator: the answers, as they were signed
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from statcv.errors import ExchangeError, SiteError
from statcv.files import DRAFT
from statcv.sites.ledger import Entry, Ledger
from statcv.sites.plan import SitesPlan
from statcv.sites.transports import exchange as directory

T = TypeVar("T")

TREES_FILE: Final = "trees.json"
OWN: Final = 0o600  # mode of private files, which only their owner reads
_OWN_FOLDER: Final = 0o700


@dataclass(frozen=True, eq=False)
class Home:
    """The home of a party, with one of its plans.

    Attributes
    ----------
    folder : pathlib.Path
    party : str
        ``"coordinator"``, or the name of a site.
    plan : SitesPlan
    key : SigningKey
    told : dict
        Whatever else the home keeps: ``data``, the file of a site, or ``sites``, those
        that the coordinator expects.
    """

    folder: Path
    party: str
    plan: SitesPlan
    key: directory.SigningKey
    told: Mapping[str, Any]

    @classmethod
    def make(
        cls, folder: Path, party: str, plan: SitesPlan, told: Mapping[str, Any]
    ) -> Home:
        """Make a home, or enter a plan in one that is there.

        Raises
        ------
        SiteError
            If the home is that of another party.
        ExchangeError
            If a file cannot be written.
        """
        held = _held(folder)
        if held is not None and held["party"] != party:
            raise SiteError(
                f"{folder} is the home of {directory.titled(held['party'])}; name "
                f"another directory for {directory.titled(party)}."
            )
        directory.make_folder(folder, _OWN_FOLDER)
        if directory.read(folder / "signing.key") is None:
            new = f"{directory.SigningKey.new().private.hex()}\n"
            directory.write(folder / "signing.key", new.encode(), OWN)
        made = cls(folder, party, plan, _key(folder), told)
        directory.make_folder(made.own, _OWN_FOLDER)
        directory.write(made.own / "plan.json", plan.to_json().encode())
        record = {"party": party, "plan": plan.fingerprint, **told}
        directory.write(folder / "home.json", _json(record))
        return made

    @classmethod
    def open(cls, folder: Path) -> Home:
        """Open a home with its current plan.

        Raises
        ------
        SiteError
            If the home is missing, or its files are damaged.
        """
        held = _held(folder)
        if held is None:
            raise SiteError(
                f"{folder} is not the home of a party; `statcv sites join` makes that "
                "of a site, and `statcv sites coordinate` that of the coordinator."
            )
        party, fingerprint = str(held.pop("party")), str(held.pop("plan"))
        text = directory.read(_plan_folder(folder, fingerprint) / "plan.json")
        if text is None:
            raise SiteError(f"{folder} has lost its plan; join again with the same.")
        return cls(folder, party, SitesPlan.from_json(text), _key(folder), held)

    @property
    def own(self) -> Path:
        """The folder of the plan in the home."""
        return _plan_folder(self.folder, self.plan.fingerprint)

    @property
    def is_site(self) -> bool:
        """Whether the party is a site."""
        return self.party != directory.COORDINATOR

    # ---- what a site keeps ----

    @property
    def log(self) -> Path:
        """The file of the log."""
        return self.own / "log.jsonl"

    def entries(self) -> list[Entry]:
        """Return the log."""
        return read_log(self.log)

    def keep_entries(self, entries: Sequence[Entry]) -> None:
        """Write the log."""
        lines = "".join(entry.to_line() for entry in entries)
        directory.write(self.log, lines.encode(), OWN)

    def keep_trees(self, trees: Sequence[bytes]) -> None:
        """Write the trees."""
        told = {"trees": [base64.b64encode(one).decode() for one in trees]}
        directory.write(self.own / TREES_FILE, _json(told), OWN)

    def keep_ledger(self, ledger: Ledger) -> None:
        """Write the ledger."""
        directory.write(self.folder / "ledger.json", ledger.to_json().encode(), OWN)

    # ---- what the coordinator keeps ----

    def site_keys(self) -> dict[str, str] | None:
        """Return the public keys of the sites, or None if they are not yet known."""
        text = directory.read(self.own / "keys.json")
        return None if text is None else dict(json.loads(text))

    def keep_site_keys(self, keys: Mapping[str, str]) -> None:
        """Write the public keys of the sites, which are not changed again."""
        directory.write(self.own / "keys.json", _json(keys))


def read_ledger(folder: Path) -> Ledger:
    """Return the ledger of a home, which is empty before the first answer.

    Raises
    ------
    SiteError
        If it is damaged.
    """
    path = folder / "ledger.json"
    why = f"the ledger {path} is damaged; restore it."
    return _parsed(path, Ledger.from_json, why) or Ledger()


def read_trees(path: Path) -> list[bytes] | None:
    """Return the trees that a site has kept; None if there is no file.

    Raises
    ------
    SiteError
        If it is damaged.
    """

    def parse(text: bytes) -> list[bytes]:
        return [base64.b64decode(one) for one in json.loads(text)["trees"]]

    return _parsed(path, parse, f"the trees {path} are damaged; restore them.")


def read_log(path: Path) -> list[Entry]:
    """Return the entries of a log; none if there is no file."""
    text = directory.read(path)
    return [Entry.of_line(line) for line in (text or b"").decode().splitlines()]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from using a home at the same time.

    Raises
    ------
    ExchangeError
        If another process uses it.
    """
    directory.make_folder(folder, _OWN_FOLDER)
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    place = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ExchangeError(
                f"another process uses the home {folder}; wait until it has ended."
            ) from None
        except OSError:  # a file system without locks
            pass
        for path in [*folder.glob(".*.tmp"), *folder.glob("plan-*/.*.tmp")]:
            if DRAFT.fullmatch(path.name):  # a killed process left it
                path.unlink(missing_ok=True)
        yield
    finally:
        os.close(place)


def _parsed(path: Path, parse: Callable[[bytes], T], why: str) -> T | None:
    """Return what a file holds, or None if it is missing; raise if it is damaged."""
    text = directory.read(path)
    try:
        return None if text is None else parse(text)
    except (ValueError, KeyError, TypeError):
        raise SiteError(why) from None


def _held(folder: Path) -> dict[str, Any] | None:
    """Return what the home says of itself, or None if there is no home."""

    def parse(text: bytes) -> dict[str, Any]:
        held = json.loads(text)
        return {**held, "party": str(held["party"]), "plan": str(held["plan"])}

    path = folder / "home.json"
    return _parsed(path, parse, f"{path} is damaged; remove it, and join again.")


def _key(folder: Path) -> directory.SigningKey:
    def parse(text: bytes) -> directory.SigningKey:
        return directory.SigningKey(bytes.fromhex(text.decode().strip()))

    path = folder / "signing.key"
    key = _parsed(path, parse, f"{path} is damaged; restore it.")
    if key is None:
        raise SiteError(f"{folder} has lost its signing key; join again.")
    return key


def _plan_folder(folder: Path, fingerprint: str) -> Path:
    return folder / f"plan-{fingerprint[:12]}"


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
