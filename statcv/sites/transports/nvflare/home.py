"""The home of a site: a folder on its own machine, which no message names.

It holds the plan that the site signed, a snapshot of its records while it takes part,
its log, and its ledger. The processes that NVFLARE starts find it by the environment.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pandas as pd

from statcv.engine import write_whole
from statcv.errors import SiteError
from statcv.formula import as_frame
from statcv.sites.ledger import Entry, Ledger
from statcv.sites.messages import is_refusal
from statcv.sites.plan import SitesPlan
from statcv.sites.records import columns_read
from statcv.sites.site import Site

VARIABLE: Final = "STATCV_SITE"  # environment variable with the path of the home
PLAN: Final = "plan.json"
SETTINGS: Final = "site.json"
RECORDS: Final = "records.pickle"
LEDGER: Final = "ledger.json"


def prepare(home: Path, name: str, plan: SitesPlan, data: Any) -> None:
    """Put the plan, and a snapshot of the records, into the home of a site.

    Parameters
    ----------
    home : Path
    name : str
        Name of the site.
    plan : SitesPlan
    data : data frame
        Records of the site. The snapshot has only the columns that the plan reads, and
        the owner alone can read it.
    """
    frame = as_frame(data)
    read = [name for name in columns_read(plan) if name in frame]
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    write(home / PLAN, plan.to_json().encode())
    write(home / SETTINGS, json.dumps({"site": name}).encode())
    with open(os.open(home / RECORDS, _NEW, 0o600), "wb") as file:
        frame[read].to_pickle(file)


def clear(home: Path) -> None:
    """Remove the snapshot of the records."""
    (home / RECORDS).unlink(missing_ok=True)


class Answering:
    """A site that answers from its home, and keeps its log and its ledger there.

    A run that was interrupted begins again with the same messages, to which a site
    gives the same answers; what it has answered is read from its log.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        with _MissingNamed():
            self.name = str(json.loads((home / SETTINGS).read_text())["site"])
            plan = SitesPlan.from_json((home / PLAN).read_text())
            # The file is this site's own, which prepare() has written.
            data = pd.read_pickle(home / RECORDS)
            text = _read(home / LEDGER)
        ledger = Ledger.from_json(text) if text else Ledger()
        self.site = Site(self.name, plan, data, ledger)
        self.log = home / f"log-{plan.fingerprint[:12]}.jsonl"
        self._resume()

    def _resume(self) -> None:
        """Go through what was answered before, so that the site is where it was."""
        entries = [Entry.of_line(line) for line in _read(self.log).splitlines()]
        if entries and is_refusal(entries[-1].sent):
            number = len(list(self.home.glob(f"{self.log.stem}-refused-*")))
            self.log.rename(self.log.with_stem(f"{self.log.stem}-refused-{number + 1}"))
            return
        for entry in entries:
            if self.site.step(entry.received) != entry.sent:
                raise SiteError(
                    f"site {self.name}: it would not answer as its log says it did; "
                    "the data or the program have changed since. Agree on a new plan."
                )

    def answer(self, message: bytes) -> bytes:
        """Answer a message; the log and the ledger are written before it is sent."""
        known = len(self.site.entries)
        sent = self.site.step(message)
        write(self.home / LEDGER, self.site.ledger.to_json().encode())
        if len(self.site.entries) > known:
            lines = "".join(one.to_line() for one in self.site.entries[known:])
            with open(os.open(self.log, _MORE, 0o600), "a") as file:
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        return sent


_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_MORE = os.O_WRONLY | os.O_CREAT | os.O_APPEND


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; the owner alone can read it."""
    write_whole(path, content, mode=0o600)


def _read(path: Path) -> str:
    with suppress(FileNotFoundError):
        return path.read_text()
    return ""


class _MissingNamed:
    """Say which file of a home is missing, by its name alone."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, FileNotFoundError):
            missing = Path(str(error.filename)).name
            raise SiteError(
                f"its home has no {missing}; `statcv sites client` puts it there."
            ) from None
