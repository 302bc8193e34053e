"""One site: it reads messages, checks them, and answers with sums."""

from __future__ import annotations

import hashlib
import os
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.special import expit

from statcv.engine import one_thread
from statcv.errors import MessageError, ModelError, SiteError
from statcv.sites.cells import Arrays
from statcv.sites.disclosure import check_records
from statcv.sites.influences import Published, slope_sums, variation_sums
from statcv.sites.ledger import Entry, Ledger
from statcv.sites.messages import MINIMUM_SITES, SENTENCES, Message, refusal, too_few
from statcv.sites.plan import SitesPlan
from statcv.sites.progress import Phase, Progress
from statcv.sites.site_records import SiteRecords, read_records
from statcv.sites.site_sums import held_moments, score_sums, symmetric_matrix
from statcv.sites.trees import DroppedOutError, Forests, Grow, Job, version_of_xgboost
from statcv.tables import Printed, Table
from statcv.words import plural

NO_SERVER: Final = SENTENCES["no_server"]
ROUNDING: Final = 1e-5  # largest share of a sum that single precision may lose


@dataclass(eq=False, repr=False)
class Site(Printed):
    """A site with its own records, which never leave it.

    Attributes
    ----------
    name : str
    plan : SitesPlan
    data : data frame
        Records of the site.
    ledger : Ledger
        What the site has answered before, with these data.
    grow : callable, optional
        What grows trees together with the other sites, from the transport.

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
    grow: Grow | None = None

    def __post_init__(self) -> None:
        self.progress = Progress(self.plan)
        self.entries: list[Entry] = []
        self._records: SiteRecords | None = None
        self._answered = b""

    def step(self, message: bytes) -> bytes:
        """Answer a message.

        The same message again has the same answer, so that a run can be resumed. A
        message that is forged, is out of turn, or asks for what the plan does not
        allow is answered with a refusal, which says why without any value of the data,
        and changes nothing.

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
            # one thread, so that bytes do not depend on the number of cores
            with one_thread():
                sent = self._answered = bytes(self._answer(Message.of(message)))
        except DroppedOutError:  # nothing was answered, and the step can be repeated
            raise
        except (SiteError, MessageError, ModelError) as error:
            sent = bytes(refusal(self.name, str(error), **self._place))
        except Exception as error:  # whose text may hold values
            if os.environ.get("STATCV_TRACEBACK"):
                raise
            why = f"a step failed ({type(error).__name__})."
            sent = bytes(refusal(self.name, why, **self._place))
        self.entries.append(Entry.after(self.entries, message, sent))
        return sent

    # ---- checks ----

    def _answer(self, message: Message) -> Message:
        header = message.header
        if header.get("plan") != self.plan.fingerprint:
            raise SiteError(
                "the message belongs to another plan than the one that this site "
                f"signed ({self.plan.fingerprint[:12]})."
            )
        if message.kind == Phase.JOIN:
            return self._join()
        records = self._used
        if header.get("round") != self.progress.round + 1:
            raise SiteError(
                f"a message of round {header.get('round')} came in round "
                f"{self.progress.round + 1}; it is out of turn, or replayed."
            )
        if self.progress.round >= self.plan.rounds:
            raise SiteError(f"the budget of {self.plan.rounds} rounds is spent.")
        answers = header.get("answers")
        own = hashlib.sha256(self._answered).hexdigest()
        if not isinstance(answers, dict) or answers.get(self.name) != own:
            raise SiteError("the sums do not include what this site sent last.")
        self._check_roster(header.get("sites"), answers, records)
        check_others(message, Message.of(self._answered))
        ahead = deepcopy(self.progress)
        ahead.advance(message)
        if message.kind != ahead.phase:
            raise SiteError(
                f"the message asks for {message.kind!r}, and the plan has "
                f"{ahead.phase!r} next."
            )
        if message.kind == Phase.GROW:
            return self._grow(ahead, records, sorted(header["sites"]))
        if self.progress.phase == Phase.GROW:
            own_trees = self.progress.forests
            if own_trees is None or header.get("trees") != own_trees.digest:
                raise SiteError(
                    "the trees that are published are not those of this site."
                )
        self.progress = ahead
        return self._reply(message.kind, self._sums(message.kind, records))

    def _join(self) -> Message:
        if self.plan.sites and self.name not in self.plan.sites:
            raise SiteError("the plan does not name this site.")
        records = read_records(self.plan, self.data, self.name)
        check_records(records)
        self.ledger.check(self.plan, records)
        self.ledger.enter(self.plan, records)
        self._records = records
        sums = {"by_class": records.by_class, "trained": records.training.sum(axis=1)}
        told = {"xgboost": version_of_xgboost()} if self.plan.grown else {}
        known = {"checksum": records.checksum, "rows": records.n}
        return self._reply(Phase.JOIN, sums, **told, **known)

    @property
    def _used(self) -> SiteRecords:
        """The records, which are read when the site joins."""
        if self._records is None:
            raise SiteError("the first message must ask to join.")
        return self._records

    def _check_roster(
        self, roster: Any, answers: dict[str, Any], records: SiteRecords
    ) -> None:
        """Check who takes part, which may not change."""
        if not isinstance(roster, dict) or len(roster) < MINIMUM_SITES:
            raise SiteError(too_few(len(roster) if isinstance(roster, dict) else 0))
        if roster.get(self.name) != records.checksum:
            raise SiteError("the run was begun with other data of this site.")
        if set(answers) != set(roster):
            raise SiteError("the sums are not those of all sites that take part.")
        if self.plan.sites and set(roster) != set(self.plan.sites):
            raise SiteError("the sites of the run are not those of the plan.")
        self.ledger.check_roster(self.plan, roster)

    # ---- what stays at the site ----

    @property
    def trees(self) -> Forests | None:
        """The trees that the site has grown with the others, if it has."""
        return self.progress.forests

    def predictions(self) -> pd.DataFrame:
        """Return the held-out predictions of the site's own records, once fits end.

        They are for the site alone, and no message has them.

        Returns
        -------
        pandas.DataFrame
            Columns ``row`` (label in the data), ``fold``, ``observed`` and
            ``predicted``.

        Raises
        ------
        SiteError
            If the fits have not ended.
        """
        records, progress = self._records, self.progress
        if records is None or progress.phase in (Phase.JOIN, Phase.FIT, Phase.GROW):
            raise SiteError(f"site {self.name}: the fits have not ended.")
        eta = progress.predictor.held_out(records)
        columns = {
            "row": records.labels,
            "fold": records.fold + 1,
            "observed": records.y,
            "predicted": expit(eta) if self.plan.binary else eta,
        }
        caption = f"Held-out predictions of the records of site {self.name}"
        return Table(pd.DataFrame(columns), caption)

    # ---- answers ----

    def _sums(self, phase: str, records: SiteRecords) -> Arrays:
        """Return the sums over the records of the site that a phase asks for."""
        progress = self.progress
        if phase == Phase.FIT:
            fits = progress.fits
            return {**fits.sums(records), "held": held_moments(records, fits)}
        if phase == Phase.SCORE:
            return score_sums(records, progress)
        if phase == Phase.CALIBRATE:
            sums = progress.recalibrated.sums(records, progress.predictor)
            return {"recalibration": sums}
        if phase == Phase.SLOPE:
            return {"targets": slope_sums(records, Published(progress))}
        if phase == Phase.VARY:
            return variation_sums(records, Published(progress), progress.targets)
        return {}

    def _grow(self, ahead: Progress, records: SiteRecords, sites: list[str]) -> Message:
        """Grow the trees, and answer with those of all records."""
        if self.grow is None:
            raise SiteError(NO_SERVER)
        try:
            raw = self.grow(Job(records, tuple(sites)))
        except DroppedOutError:
            raise
        # the site corrects the cause, and then repeats the step
        except Exception as error:
            raise DroppedOutError(
                f"site {self.name} cannot grow trees: {error}"
            ) from error
        if len(raw) != self.plan.k + 1:
            raise SiteError(
                f"there are trees of {plural(len(raw), 'fit')}, and the plan has "
                f"{self.plan.k + 1}."
            )
        grown = Forests(self.plan, tuple(map(bytes, raw)))
        ahead.forests = grown
        self.progress = ahead
        last = np.frombuffer(grown.raw[-1], dtype=np.uint8)
        sums: Arrays = {"held": held_moments(records, grown), "trees": last}
        return self._reply(Phase.GROW, sums, trees=grown.digest)

    def _reply(self, kind: str, sums: Arrays, **header: Any) -> Message:
        return Message(kind, {"site": self.name, **self._place, **header}, sums)

    @property
    def _place(self) -> dict[str, Any]:
        """Which plan and round an answer belongs to."""
        return {"plan": self.plan.fingerprint, "round": self.progress.round}


def check_others(total: Message, own: Message) -> None:
    """Check that published sums minus a site's own can be the sums of others.

    Numbers of records and likelihoods have a sign, and an information matrix has no
    negative eigenvalue.

    Raises
    ------
    SiteError
        If they cannot.
    """
    for name, sign in (("by_class", 1), ("trained", 1), ("likelihood", -1)):
        if name in own.arrays and name in total.arrays:
            rest = total.arrays[name].astype(float) - own.arrays[name]
            if (sign * rest < -ROUNDING * np.abs(own.arrays[name])).any():
                raise SiteError(
                    f"the published sums of {name!r} cannot include what this site "
                    "sent; somebody has changed them."
                )
    if "information" in own.arrays and "information" in total.arrays:
        rest = total.arrays["information"] - own.arrays["information"].astype(float)
        for matrix in map(symmetric_matrix, rest):
            unit = np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
            least = np.linalg.eigvalsh(matrix / unit / unit[:, None])[0]
            if least < -len(matrix) * ROUNDING:
                raise SiteError(
                    "the published information cannot include what this site sent; "
                    "somebody has changed it."
                )
