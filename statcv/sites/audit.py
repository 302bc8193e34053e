"""The log of a site replayed on its data, and the logs of all sites side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from statcv.errors import SiteError
from statcv.sites.coordinator import Coordinator
from statcv.sites.ledger import Entry
from statcv.sites.messages import Message, is_refusal
from statcv.sites.plan import SitesPlan
from statcv.sites.site import Site
from statcv.tables import wrapped
from statcv.words import listed, plural


@dataclass(frozen=True, repr=False)
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
        Whether no entry was changed, removed or added since it was written.
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

    def __repr__(self) -> str:
        return "\n".join(wrapped(self.sentence))

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        share = self.recomputed / max(self.sent, 1)
        state = "whole" if self.whole else "changed since it was written"
        kept = "; trees are taken as kept, and what grew them is not in it"
        return (
            f"{plural(self.answers, 'answer')}, {plural(self.refusals, 'refusal')}; "
            f"{self.sent} bytes sent, {self.recomputed} recomputed ({share:.0%}); the "
            f"log is {state}{kept * self.trees}"
        )


def verify(
    plan: SitesPlan,
    log: Sequence[Entry],
    data: Any,
    site: str,
    trees: Sequence[bytes] | None = None,
) -> Verified:
    """Replay a log on the data of the site, and compare every byte that was sent.

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
        How they were grown is not in the log; what follows from them is computed again.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> ehr = scv.load_data("ehr")
    >>> at = {name: ehr.iloc[i::3] for i, name in enumerate("ABC")}
    >>> plan = sites.agree("y ~ x1 + x2", seed=1)
    >>> transport = sites.InProcess()
    >>> over = sites.run(plan, at, transport)
    >>> sites.verify(plan, transport.sites["A"].entries, at["A"], "A").passed
    True
    """
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
        refused += is_refusal(entry.sent)
        pairs = zip(sent, entry.sent, strict=False)
        same += len(sent) if sent == entry.sent else sum(a == b for a, b in pairs)
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
        With the first round that was not published as it should be; or if logs are
        missing or shorter than others.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> ehr = scv.load_data("ehr")
    >>> at = {name: ehr.iloc[i::3] for i, name in enumerate("ABC")}
    >>> plan = sites.agree("y ~ x1 + x2", seed=1)
    >>> transport = sites.InProcess()
    >>> over = sites.run(plan, at, transport)
    >>> logs = {name: site.entries for name, site in transport.sites.items()}
    >>> sites.audit_logs(plan, logs) > 0
    True
    """
    kept = {
        site: [one for one in log if not is_refusal(one.sent)]
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
