"""The coordinator: it adds up what sites send, and publishes the sums."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from statcv.errors import MessageError, SiteError
from statcv.sites.cells import Cells, class_mass
from statcv.sites.messages import Message
from statcv.sites.plan import MINIMUM_SITES, SitesPlan
from statcv.sites.progress import END, GROW, JOIN, SCORE, Progress
from statcv.sites.scores import unpacked
from statcv.sites.site import REFUSE
from statcv.sites.trees import Forests
from statcv.words import listed

Floats = NDArray[np.float64]


@dataclass(eq=False)
class Coordinator:
    """The coordinator of a run, who sees sums of sites and no record.

    Attributes
    ----------
    plan : SitesPlan

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> data = scv.load_data("ehr")
    >>> at = {name: data.iloc[i::3] for i, name in enumerate("ABC")}
    >>> plan = sites.agree("y ~ x1 + x2", k=5, seed=1)
    >>> coordinator = sites.Coordinator(plan)
    >>> parties = [sites.Site(name, plan, own) for name, own in at.items()]
    >>> message = coordinator.start()
    >>> while not coordinator.ended:
    ...     message = coordinator.step([party.step(message) for party in parties])
    >>> len(parties), coordinator.ended
    (3, True)
    """

    plan: SitesPlan

    def __post_init__(self) -> None:
        self.progress = Progress(self.plan)
        self.roster: dict[str, str] = {}
        self.answers: dict[str, dict[str, Message]] = {}
        self.bytes_up: dict[str, int] = {}
        self.bytes_down = 0

    def start(self) -> bytes:
        """Return the first message, which asks sites to join."""
        return bytes(Message(JOIN, {"plan": self.plan.fingerprint, "round": 0}))

    @property
    def ended(self) -> bool:
        """Whether everything is known."""
        return self.progress.phase == END

    def step(self, replies: Sequence[bytes]) -> bytes:
        """Add up the answers of all sites, and return the message that publishes them.

        Parameters
        ----------
        replies : sequence of bytes
            One answer of each site to the last message, in any order.

        Raises
        ------
        SiteError
            If a site refuses, is missing, or answers another question; the sentence
            names the site.
        MessageError
            If an answer is damaged.
        """
        phase = self.progress.phase
        read = self._read(replies)
        if phase == JOIN:
            self.roster = {
                site: str(one.header.get("checksum", "")) for site, one in read.items()
            }
        if self.plan.grown and phase in (JOIN, GROW):
            self._check_trees(phase, read)
        self.answers[phase] = read
        digests = {}
        for reply in replies:
            site = str(Message.of(reply).header["site"])
            self.bytes_up[site] = self.bytes_up.get(site, 0) + len(reply)
            digests[site] = hashlib.sha256(reply).hexdigest()
        sums = self._sums(phase, read)
        header = {
            "plan": self.plan.fingerprint,
            "round": self.progress.round + 1,
            "sites": self.roster,
            "answers": digests,
        }
        if phase == GROW:
            header["trees"] = next(iter(read.values())).header["trees"]
        published = Message(phase, header, sums)
        self.progress.advance(Message.of(bytes(published)))
        if phase == GROW:
            last = next(iter(read.values())).arrays["trees"].tobytes()
            self.progress.forests = Forests(self.plan, (last,))
        sent = bytes(Message(self.progress.phase, header, sums))
        self.bytes_down += len(sent)
        return sent

    def _read(self, replies: Sequence[bytes]) -> dict[str, Message]:
        """Read the answers, ordered by site."""
        read: dict[str, Message] = {}
        for reply in replies:
            one = Message.of(reply)
            site = str(one.header.get("site", "?"))
            if one.kind == REFUSE:
                raise SiteError(_refused(site, str(one.header.get("why", ""))))
            if one.header.get("plan") != self.plan.fingerprint:
                raise SiteError(f"site {site} answers another plan; send it this one.")
            if one.kind != self.progress.phase or (
                one.header.get("round") != self.progress.round
            ):
                raise SiteError(
                    f"site {site} answers {one.kind!r} of round "
                    f"{one.header.get('round')}, and {self.progress.phase!r} of round "
                    f"{self.progress.round} was asked; let it answer the last message."
                )
            if site in read:
                raise SiteError(f"two answers come from site {site}.")
            read[site] = one
        expected = set(self.plan.sites) or set(self.roster) or set(read)
        if absent := sorted(expected - set(read)):
            raise SiteError(
                f"no answer of site {listed(absent)}; the run goes on when it answers, "
                "and cannot go on without it."
            )
        if other := sorted(set(read) - expected):
            raise SiteError(f"site {listed(other)} does not take part in this run.")
        if len(read) < MINIMUM_SITES:
            raise SiteError(
                f"{len(read)} sites take part, and at least {MINIMUM_SITES} must, "
                "since with two each could subtract its own numbers from the sums."
            )
        return dict(sorted(read.items()))

    def _check_trees(self, phase: str, read: Mapping[str, Message]) -> None:
        """Check that all sites have one version of XGBoost, and the same trees."""
        what = "xgboost" if phase == JOIN else "trees"
        found: dict[tuple[str, bytes], str] = {}
        for site, one in read.items():
            array = one.arrays.get("trees")
            if phase == GROW and (array is None or array.dtype != np.uint8):
                raise MessageError(f"site {site}: the answer has no trees.")
            held = b"" if array is None else array.tobytes()
            found.setdefault((str(one.header.get(what)), held), site)
        if len(found) > 1:
            (own, _), (other, _) = list(found)[:2]
            first, second = list(found.values())[:2]
            if phase == GROW:
                raise SiteError(
                    f"site {second} has grown other trees than site {first}; all sites "
                    "need the same versions of xgboost and statcv."
                )
            raise SiteError(
                f"site {first} has xgboost {own}, and site {second} has {other}; "
                "install one version at all sites."
            )

    def _sums(self, phase: str, read: Mapping[str, Message]) -> dict[str, Floats]:
        """Return the sums over sites."""
        sums: dict[str, Floats] = {}
        for name, shape in self.progress.shapes().items():
            if name == "counts":
                continue
            total = np.zeros(shape)
            for site, one in read.items():
                try:
                    total = total + one.array(name, shape)
                except MessageError as error:
                    raise MessageError(f"site {site}: {error}") from None
            sums[name] = total
        if phase == SCORE and self.plan.binary:
            masses = self.masses
            folds = range(self.plan.k)
            spread = [
                np.sum(
                    [one.spread(mass) for one in self.fold_cells(fold, code)], axis=0
                )
                for fold in folds
                for code, mass in enumerate(masses)
            ]
            sums["counts"] = np.reshape(spread, (self.plan.k, 2, -1))
        return sums

    @cached_property
    def masses(self) -> list[Floats]:
        """How the records of each class are taken to be spread over bins."""
        return [class_mass(self.pooled_cells(code)) for code in (0, 1)]

    def pooled_cells(self, code: int, sites: Sequence[str] = ()) -> list[Cells]:
        """Return the counts of a class in all folds; at all sites unless given."""
        folds = range(self.plan.k)
        return [one for fold in folds for one in self.fold_cells(fold, code, sites)]

    def fold_cells(
        self, fold: int, code: int, sites: Sequence[str] = ()
    ) -> list[Cells]:
        """Return the counts of a class in a fold."""
        return [
            self._cells[site][code * self.plan.k + fold]
            for site in sites or self._cells
        ]

    @cached_property
    def _cells(self) -> dict[str, list[Cells]]:
        """The counts of each site by class and fold, once they are there."""
        made, bins = {}, len(self.progress.edges) + 1
        for site, one in self.answers[SCORE].items():
            try:
                made[site] = unpacked(one.arrays, 2 * self.plan.k, bins)
            except MessageError as error:
                raise MessageError(f"site {site}: {error}") from None
        return made


def _refused(site: str, why: str) -> str:
    sentence = why.removeprefix(f"site {site}: ")
    return f"site {site} refuses: {sentence}"
