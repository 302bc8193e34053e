"""One site: it reads messages, checks them, and answers with sums."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from statcv.errors import MessageError, ModelError, SiteError
from statcv.sites.disclosure import check_records
from statcv.sites.log import Entry, Ledger
from statcv.sites.messages import Message
from statcv.sites.plan import MINIMUM_SITES, SitesPlan
from statcv.sites.progress import (
    CALIBRATE,
    END,
    FIT,
    JOIN,
    SCORE,
    SLOPE,
    VARY,
    Progress,
)
from statcv.sites.records import Records, read_records
from statcv.sites.scores import (
    count_scores,
    held_moments,
    losses,
    rank_counts,
    training_moments,
)
from statcv.sites.variation import slope_sums, variation_sums

Arrays = dict[str, NDArray[Any]]
REFUSE = "refuse"


@dataclass(eq=False)
class Site:
    """A site with its own records, which never leave it.

    Attributes
    ----------
    name : str
    plan : SitesPlan
    data : data frame
        Records of the site.
    ledger : Ledger
        What the site has answered before, with these data.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> plan = sites.agree("GRADE ~ GPA", k=2)
    >>> site = sites.Site("A", plan, scv.load_data("spector"))
    >>> answer = site.step(sites.Coordinator(plan).start())
    >>> sites.Message.of(answer).arrays["by_class"].tolist()
    [[11, 5], [10, 6]]
    """

    name: str
    plan: SitesPlan
    data: Any
    ledger: Ledger = field(default_factory=lambda: Ledger())

    def __post_init__(self) -> None:
        self.progress = Progress(self.plan)
        self.entries: list[Entry] = []
        self._records: Records | None = None
        self._refused = ""

    def step(self, message: bytes) -> bytes:
        """Answer a message.

        The same message again has the same answer, so that a run can be resumed. A
        message that is forged, is out of turn, or asks for what the plan does not
        allow is answered with a refusal, which says why without any value of the data.

        Parameters
        ----------
        message : bytes

        Returns
        -------
        bytes
        """
        for entry in self.entries:
            if entry.received == message:
                return entry.sent
        try:
            with threadpool_limits(limits=1):  # the same bytes with any number of cores
                sent = bytes(self._answer(Message.of(message)))
        except (SiteError, MessageError, ModelError) as error:
            sent = bytes(self._refusal(str(error)))
        except Exception as error:  # whose text may hold values
            if os.environ.get("STATCV_TRACEBACK"):
                raise
            kind = type(error).__name__
            sent = bytes(self._refusal(f"site {self.name}: a step failed ({kind})."))
        self.entries.append(Entry.after(self.entries, message, sent))
        return sent

    # ---- checks ----

    def _answer(self, message: Message) -> Message:
        if self._refused:
            raise SiteError(self._refused)
        header = message.header
        if header.get("plan") != self.plan.fingerprint:
            raise SiteError(
                f"site {self.name}: the message belongs to another plan than the one "
                f"that this site signed ({self.plan.fingerprint[:12]})."
            )
        if message.kind == JOIN:
            return self._join()
        if self._records is None:
            raise SiteError(f"site {self.name}: the first message must ask to join.")
        if header.get("round") != self.progress.round + 1:
            raise SiteError(
                f"site {self.name}: a message of round {header.get('round')} came in "
                f"round {self.progress.round + 1}; it is out of turn, or replayed."
            )
        if self.progress.round >= self.plan.rounds:
            raise SiteError(
                f"site {self.name}: the budget of {self.plan.rounds} rounds is spent."
            )
        self._check_roster(header.get("sites"))
        if header.get("answers", {}).get(self.name) != self._digest:
            raise SiteError(
                f"site {self.name}: the sums do not include what this site sent last."
            )
        self._check_totals(message)
        self.progress.advance(message)
        if message.kind != self.progress.phase:
            raise SiteError(
                f"site {self.name}: the message asks for {message.kind!r}, and the "
                f"plan has {self.progress.phase!r} next."
            )
        return self._reply(message.kind, self._sums(message.kind))

    def _join(self) -> Message:
        if self._records is None:
            if self.plan.sites and self.name not in self.plan.sites:
                raise SiteError(f"site {self.name}: the plan does not name this site.")
            self._records = read_records(self.plan, self.data, self.name)
        check_records(self._records)
        self.ledger.check(self.plan, self._records, self.name)
        self.ledger.enter(self.plan, self._records)
        records = self._records
        sums = {
            "by_class": records.by_class,
            "trained": records.training.sum(axis=1),
        }
        header = {"checksum": records.checksum, "rows": records.n}
        return self._reply(JOIN, sums, header)

    def _check_roster(self, roster: Any) -> None:
        """Check who takes part, which may not change."""
        if not isinstance(roster, dict) or len(roster) < MINIMUM_SITES:
            raise SiteError(
                f"site {self.name}: at least {MINIMUM_SITES} sites must take part, "
                "since with two each could subtract its own numbers from the sums."
            )
        assert self._records is not None
        if roster.get(self.name) != self._records.checksum:
            raise SiteError(
                f"site {self.name}: the run was begun with other data of this site."
            )
        if self.plan.sites and set(roster) != set(self.plan.sites):
            raise SiteError(
                f"site {self.name}: the sites of the run are not those of the plan."
            )
        self.ledger.check_roster(self.plan, roster, self.name)

    def _check_totals(self, message: Message) -> None:
        """Check that totals of counts are no less than this site's own."""
        if self.progress.phase != JOIN:
            return
        assert self._records is not None
        total = message.array("by_class", (self.plan.k, 2))
        if (total < self._records.by_class).any():
            raise SiteError(f"site {self.name}: the published counts are too small.")

    @property
    def _digest(self) -> str:
        sent = self.entries[-1].sent if self.entries else b""
        return hashlib.sha256(sent).hexdigest()

    # ---- answers ----

    def _sums(self, phase: str) -> Arrays:
        """Return the sums over the records of the site that a phase asks for."""
        records, progress = self._records, self.progress
        assert records is not None
        fits = progress.fits
        asked: dict[str, Callable[[], Arrays]] = {
            FIT: lambda: {**fits.sums(records), "held": held_moments(records, fits)},
            SCORE: lambda: self._scores(records),
            CALIBRATE: lambda: {
                "recalibration": progress.recalibrated.sums(records, fits)
            },
            SLOPE: lambda: {"targets": slope_sums(records, progress.published)},
            VARY: lambda: dict(
                variation_sums(records, progress.published, progress.targets)
            ),
            END: dict,
        }
        return asked[phase]()

    def _scores(self, records: Records) -> Arrays:
        progress, fits = self.progress, self.progress.fits
        made: Arrays = {
            "losses": losses(records, fits),
            "moments": training_moments(records, fits),
        }
        if self.plan.binary:
            made |= count_scores(records, fits, progress.edges)
            made["recalibration"] = progress.recalibrated.sums(records, fits)
            if self.plan.permutations:
                made["ranks"] = rank_counts(records, fits)
        return made

    def _reply(
        self, kind: str, sums: Arrays, header: dict[str, Any] | None = None
    ) -> Message:
        told = {
            "site": self.name,
            "plan": self.plan.fingerprint,
            "round": self.progress.round,
            **(header or {}),
        }
        return Message(kind, told, sums)

    def _refusal(self, why: str) -> Message:
        self._refused = self._refused or why
        header = {"site": self.name, "plan": self.plan.fingerprint, "why": why}
        return Message(REFUSE, {**header, "round": self.progress.round})
