"""What a site received and sent, and what it has answered before."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from statcv.errors import SiteError
from statcv.sites.messages import canonical
from statcv.sites.plan import SitesPlan
from statcv.sites.site_records import SiteRecords
from statcv.tables import Printed


@dataclass(frozen=True, repr=False)
class Entry(Printed):
    """One message and its answer.

    Attributes
    ----------
    received, sent : bytes
    chain : str
        Digest of this entry and of all before it.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> data = scv.load_data("ehr")
    >>> at = {name: data.iloc[i::3] for i, name in enumerate("ABC")}
    >>> plan, transport = sites.agree("y ~ x1 + x2"), sites.InProcess()
    >>> res = sites.run(plan, at, transport)
    >>> entry = transport.sites["A"].entries[0]
    >>> sites.Message.of(entry.sent).kind
    'join'
    """

    received: bytes
    sent: bytes
    chain: str

    @classmethod
    def after(cls, entries: Sequence[Entry], received: bytes, sent: bytes) -> Entry:
        """Return the entry that follows others."""
        before = entries[-1].chain if entries else ""
        both = [hashlib.sha256(part).digest() for part in (received, sent)]
        chain = hashlib.sha256(b"".join([before.encode(), *both])).hexdigest()
        return cls(received, sent, chain)

    def to_line(self) -> str:
        """Return the entry as one line of JSON."""
        sides = {"received": self.received, "sent": self.sent}
        told = {n: base64.b64encode(side).decode() for n, side in sides.items()}
        return canonical({**told, "chain": self.chain}).decode() + "\n"

    @classmethod
    def of_line(cls, line: str) -> Entry:
        """Read an entry.

        Raises
        ------
        SiteError
            If the line is not an entry.
        """
        try:
            held = json.loads(line)
            received = base64.b64decode(held["received"])
            return cls(received, base64.b64decode(held["sent"]), str(held["chain"]))
        except (ValueError, KeyError, TypeError):
            raise SiteError("a line of the log is damaged.") from None


@dataclass(eq=False, repr=False)
class Ledger(Printed):
    """The plans that a site has answered, each with one state of its data.

    Attributes
    ----------
    held : dict
        For each plan, by fingerprint, the checksum of the data, the number of rows, and
        the sites that took part.
    permitted : set of str
        Fingerprints of plans that the site permits besides the first.

    Examples
    --------
    >>> from statcv import sites
    >>> ledger = sites.Ledger()
    >>> plan = sites.agree("GRADE ~ GPA", k=2, seed=1)
    >>> ledger.permit(plan)
    >>> plan.fingerprint in ledger.permitted
    True
    """

    held: dict[str, dict[str, Any]] = field(default_factory=dict)
    permitted: set[str] = field(default_factory=set)

    def permit(self, plan: SitesPlan) -> None:
        """Permit one more plan, whose sums can be compared with those of others."""
        self.permitted.add(plan.fingerprint)

    def check(self, plan: SitesPlan, records: SiteRecords) -> None:
        """Check that these data may answer this plan.

        Raises
        ------
        SiteError
            If the data have changed, or have answered another plan, since the
            difference of two answers can reveal a record.
        """
        known = self.held.get(plan.fingerprint)
        if known is not None:
            if known["checksum"] != records.checksum:
                raise SiteError(
                    "the data have changed since the plan was first answered "
                    f"({known['rows']} rows then, {records.n} now); the difference "
                    "could reveal a record. Agree on a new plan."
                )
            return
        if self.held and plan.fingerprint not in self.permitted:
            raise SiteError(
                "these data have answered another plan "
                f"({next(iter(self.held))[:12]}), and the difference of two answers "
                "could reveal a record; the site must permit a second plan itself."
            )

    def enter(self, plan: SitesPlan, records: SiteRecords) -> None:
        """Enter a plan that is answered."""
        told = {"checksum": records.checksum, "rows": records.n, "sites": None}
        self.held.setdefault(plan.fingerprint, told)

    def check_roster(self, plan: SitesPlan, roster: dict[str, str]) -> None:
        """Check that the sites of a run do not change, and keep them.

        Raises
        ------
        SiteError
            If other sites, or other data of a site, took part before.
        """
        known = self.held[plan.fingerprint]
        if known["sites"] is None:
            known["sites"] = dict(roster)
        elif known["sites"] != roster:
            raise SiteError(
                "the plan was begun with other sites or other data; the difference of "
                "the sums could reveal those of one site. Agree on a new plan."
            )

    def to_json(self) -> str:
        """Return the ledger as text."""
        held = {"held": self.held, "permitted": sorted(self.permitted)}
        return json.dumps(held, indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Ledger:
        """Read a ledger."""
        read = json.loads(text)
        return cls(read["held"], set(read["permitted"]))
