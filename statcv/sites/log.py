"""What a site received and sent, and what it has answered before."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from statcv.errors import SiteError
from statcv.sites.messages import Message, canonical
from statcv.sites.plan import SitesPlan
from statcv.sites.records import Records
from statcv.words import listed, plural


@dataclass(frozen=True)
class Entry:
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
        digest = hashlib.sha256(before.encode())
        for part in (received, sent):
            digest.update(hashlib.sha256(part).digest())
        return cls(received, sent, digest.hexdigest())

    def to_line(self) -> str:
        """Return the entry as one line of JSON."""
        told = {
            "received": base64.b64encode(self.received).decode(),
            "sent": base64.b64encode(self.sent).decode(),
            "chain": self.chain,
        }
        return canonical(told).decode() + "\n"

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
            sent = base64.b64decode(held["sent"])
            return cls(received, sent, str(held["chain"]))
        except (ValueError, KeyError, TypeError):
            raise SiteError("a line of the log is damaged.") from None


@dataclass(eq=False)
class Ledger:
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

    def check(self, plan: SitesPlan, records: Records) -> None:
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

    def enter(self, plan: SitesPlan, records: Records) -> None:
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
    def from_json(cls, text: str) -> Ledger:
        """Read a ledger."""
        read = json.loads(text)
        return cls(read["held"], set(read["permitted"]))


@dataclass(frozen=True)
class Verified:
    """What a replay of a log found.

    Attributes
    ----------
    answers : int
        Number of answers.
    refusals : int
        Number of those that refuse.
    sent, recomputed : int
        Number of bytes that the log says were sent, and of those that the replay made
        again.
    whole : bool
        Whether no entry was changed, left out or put in since it was written.
    trees : bool
        Whether trees were taken as they were kept, since the messages that grew them
        are not in the log.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> data = scv.load_data("ehr")
    >>> at = {name: data.iloc[i::3] for i, name in enumerate("ABC")}
    >>> plan, transport = sites.agree("y ~ x1 + x2"), sites.InProcess()
    >>> res = sites.run(plan, at, transport)
    >>> found = sites.verify(plan, transport.sites["A"].entries, at["A"], "A")
    >>> found.passed, found.whole, found.sent == found.recomputed
    (True, True, True)
    """

    answers: int
    refusals: int
    sent: int
    recomputed: int
    whole: bool
    trees: bool = False

    @property
    def passed(self) -> bool:
        """Whether every byte was recomputed, and the log is whole."""
        return self.whole and self.sent == self.recomputed

    def __str__(self) -> str:
        share = self.recomputed / max(self.sent, 1)
        state = "whole" if self.whole else "changed since it was written"
        return (
            f"{plural(self.answers, 'answer')}, {plural(self.refusals, 'refusal')}; "
            f"{self.sent} bytes sent, {self.recomputed} recomputed ({share:.0%}); the "
            f"log is {state}"
            + ("; trees are taken as kept, and what grew them is not in it")
            * self.trees
        )


def verify(
    plan: SitesPlan,
    log: Sequence[Entry],
    data: Any,
    site: str,
    trees: Sequence[bytes] | None = None,
) -> Verified:
    """Replay a log on the data of the site, and compare every byte that was sent.

    The messages by which trees are grown go over XGBoost's federated server and are not
    in the log; whatever follows from the trees is computed again.

    Parameters
    ----------
    plan : SitesPlan
    log : sequence of Entry
        What the site received and sent, in order.
    data : data frame
        The data of the site.
    site : str
        Its name.
    trees : sequence of bytes, optional
        The trees of the site, as ``Site.trees.raw`` has them, if the plan grows trees.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> data = scv.load_data("ehr")
    >>> at = {name: data.iloc[i::3] for i, name in enumerate("ABC")}
    >>> plan, transport = sites.agree("y ~ x1 + x2"), sites.InProcess()
    >>> res = sites.run(plan, at, transport)
    >>> sites.verify(plan, transport.sites["A"].entries, at["A"], "A").passed
    True
    """
    from statcv.sites.site import REFUSE, Site

    if plan.grown and trees is None:
        raise SiteError(
            f"site {site}: what grew the trees is not in the log; give the trees that "
            "the site has kept as trees=."
        )
    kept = None if trees is None else tuple(trees)
    again, whole = Site(site, plan, data, grow=lambda job: kept or ()), True
    made: list[Entry] = []
    total = same = refused = 0
    for entry in log:
        made.append(Entry.after(made, entry.received, entry.sent))
        whole &= made[-1].chain == entry.chain
        sent = again.step(entry.received)
        total += len(entry.sent)
        refused += Message.of(entry.sent).kind == REFUSE
        pairs = zip(sent, entry.sent, strict=False)
        same += len(sent) if sent == entry.sent else sum(a == b for a, b in pairs)
    same -= max(0, same - total)
    return Verified(len(made), refused, total, same, whole, plan.grown)


def audit_logs(plan: SitesPlan, logs: Mapping[str, Sequence[Entry]]) -> int:
    """Check, with the logs of all sites, that what was published are their sums.

    A coordinator could publish other sums to choose the coefficients at which sites are
    asked. That shows when the sites put their logs side by side, and needs no data.

    Parameters
    ----------
    plan : SitesPlan
    logs : mapping of str to sequence of Entry
        The log of each site.

    Returns
    -------
    int
        Number of rounds that were checked.

    Raises
    ------
    SiteError
        With the first round that was not published as it should be; or if the log of a
        site is missing or shorter than others.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> data = scv.load_data("ehr")
    >>> at = {name: data.iloc[i::3] for i, name in enumerate("ABC")}
    >>> plan, transport = sites.agree("y ~ x1 + x2"), sites.InProcess()
    >>> res = sites.run(plan, at, transport)
    >>> logs = {name: site.entries for name, site in transport.sites.items()}
    >>> sites.audit_logs(plan, logs) > 0
    True
    """
    from statcv.sites.coordinator import Coordinator
    from statcv.sites.site import REFUSE

    kept = {
        site: [one for one in log if Message.of(one.sent).kind != REFUSE]
        for site, log in logs.items()
    }
    answers = {site: len(log) for site, log in kept.items()}
    if len(set(answers.values())) > 1 or 0 in answers.values():
        few, most = min(answers, key=answers.__getitem__), max(answers.values())
        raise SiteError(
            f"the log of site {few} has {plural(answers[few], 'answer')}, and the "
            f"longest log has {most}; all logs must be of the same run, to its end."
        )
    for site, log in kept.items():
        others = sorted(Message.of(log[-1].received).header.get("sites", kept))
        if others != sorted(kept):
            raise SiteError(
                f"these are the logs of sites {listed(sorted(kept))}; in that of "
                f"{site} sites {listed(others)} take part, and all logs are needed."
            )
    coordinator, number = Coordinator(plan), 0
    published = coordinator.start()
    for number, entries in enumerate(zip(*kept.values(), strict=True)):
        received = {entry.received for entry in entries}
        if len(received) > 1:
            raise SiteError(f"in round {number} sites were sent different messages.")
        if received != {published}:
            raise SiteError(
                f"the message of round {number} does not publish the sums of what the "
                "sites sent."
            )
        if not coordinator.ended:
            published = coordinator.step([entry.sent for entry in entries])
    return number
