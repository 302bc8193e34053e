"""The coordinator: it adds up what sites send, and publishes the sums."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import MessageError, SiteError
from statcv.numeric.arrays import Floats
from statcv.sites.cells import Cells, unpacked
from statcv.sites.influences import Variation, shared_share, variance_of_sum, variations
from statcv.sites.messages import MINIMUM_SITES, REFUSE, Message, too_few
from statcv.sites.plan import SitesPlan
from statcv.sites.pooled import CLASSES, PooledSums, SiteSums
from statcv.sites.progress import Phase, Progress
from statcv.sites.site_sums import loss_names
from statcv.sites.trees import Forests
from statcv.tables import Printed
from statcv.words import listed


@dataclass(eq=False, repr=False)
class Coordinator(Printed):
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
        self.metrics, self.decisions = self.plan.metrics, self.plan.decisions
        self.binary, self.progress = self.plan.binary, Progress(self.plan)
        self.roster: dict[str, str] = {}
        self.answers: dict[str, dict[str, Message]] = {}
        self.bytes_up: dict[str, int] = {}
        self.bytes_down, self.latest = 0, b""

    def start(self) -> bytes:
        """Return the first message, which asks sites to join."""
        header = {"plan": self.plan.fingerprint, "round": 0}
        self.latest = bytes(Message(Phase.JOIN, header))
        return self.latest

    @property
    def ended(self) -> bool:
        """Whether everything is known."""
        return self.progress.phase == Phase.END

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
        if phase == Phase.JOIN:
            self.roster = {
                site: str(one.header.get("checksum", "")) for site, one in read.items()
            }
        if self.plan.grown and phase in (Phase.JOIN, Phase.GROW):
            self._check_trees(phase, read)
        self.answers[phase] = read
        digests = {}
        for reply in replies:
            site = Message.of(reply).site
            self.bytes_up[site] = self.bytes_up.get(site, 0) + len(reply)
            digests[site] = hashlib.sha256(reply).hexdigest()
        sums, first = self._sums(phase, read), next(iter(read.values()))
        header = {
            "plan": self.plan.fingerprint,
            "round": self.progress.round + 1,
            "sites": self.roster,
            "answers": digests,
        }
        if phase == Phase.GROW:
            header["trees"] = first.header["trees"]
            grown = first.arrays["trees"].tobytes()
            self.progress.forests = Forests(self.plan, (grown,))
        self.progress.advance(Message.of(bytes(Message(phase, header, sums))))
        self.latest = bytes(Message(self.progress.phase, header, sums))
        self.bytes_down += len(self.latest)
        return self.latest

    def _read(self, replies: Sequence[bytes]) -> dict[str, Message]:
        """Read the answers, ordered by site."""
        read: dict[str, Message] = {}
        for one in map(Message.of, replies):
            site = one.site
            if one.kind == REFUSE:
                raise SiteError(f"site {site} refuses: {one.header.get('why', '')}")
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
            raise SiteError(too_few(len(read)))
        return dict(sorted(read.items()))

    def _check_trees(self, phase: str, read: Mapping[str, Message]) -> None:
        """Check that all sites have one version of XGBoost, and the same trees."""
        found: dict[str, Any] = {
            site: str(one.header.get("xgboost")) for site, one in read.items()
        }
        for site, one in read.items() if phase == Phase.GROW else ():
            array = one.arrays.get("trees")
            if array is None or array.dtype != np.uint8:
                raise MessageError(f"site {site}: the answer has no trees.")
            found[site] = str(one.header.get("trees")), array.tobytes()
        (first, own), *others = found.items()
        for second, other in others:
            if other != own and phase == Phase.GROW:
                raise SiteError(
                    f"site {second} has grown other trees than site {first}; all sites "
                    "need the same versions of xgboost and statcv."
                )
            if other != own:
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
        if phase == Phase.SCORE and self.plan.binary:
            held, folds = self._pooled(read), range(self.plan.k)
            spread = [[held.spread(code, fold) for code in (0, 1)] for fold in folds]
            sums["counts"] = np.array(spread)
        return sums

    # ---- what estimates are computed from ----

    @cached_property
    def sums(self) -> PooledSums:
        """The sums over held-out records, once they are there."""
        return self._pooled(self.answers[Phase.SCORE])

    def _pooled(self, scored: Mapping[str, Message]) -> PooledSums:
        """Pool the answers of all sites to the question for losses and counts."""
        held, k, edges = {}, self.plan.k, self.progress.edges
        for site, one in scored.items():
            by_class = self.answers[Phase.JOIN][site].arrays["by_class"].astype(float)
            table = pd.DataFrame(by_class, columns=CLASSES)
            table[list(loss_names(self.plan))] = one.arrays["losses"]
            cells: dict[tuple[int, int], Cells] = {}
            if self.plan.binary:
                try:
                    counted = unpacked(one.arrays, 2 * k, len(edges) + 1)
                except MessageError as error:
                    raise MessageError(f"site {site}: {error}") from None
                cells = {divmod(n, k)[::-1]: one for n, one in enumerate(counted)}
            held[site] = SiteSums(table, cells)
        return PooledSums.of(held, edges, self._variance)

    def _variance(self, sums: PooledSums, metric: str) -> float:
        """Return the variance of a mean over records of some sites."""
        number = self.plan.metrics.index(metric)
        answers = [self.answers[Phase.VARY][site].arrays for site in sums.sites]
        first, second = (
            np.asarray(sum(one[name][number, 0].astype(float) for one in answers))
            for name in ("first", "second")
        )
        every = float(sum(one["units"][0] for one in answers))
        # the published influences are those on the mean over all sites
        share = float(self.progress.by_class.sum()) / sums.n
        sizes = np.array([sums.total[name] for name in CLASSES])
        return variance_of_sum(first, second, sizes, every) * share**2

    @cached_property
    def variations(self) -> dict[str, Variation]:
        """The variance of each metric over all sites, at the end."""
        varied, by_class = self.progress.varied, self.progress.by_class
        return variations(self.plan, by_class, varied, self.shared)

    @cached_property
    def shared(self) -> float:
        """The share by which persons at several sites raise variances."""
        answers = self.answers[Phase.VARY].values()
        if self.plan.stratify["by"] != "hash":
            return 0.0
        return shared_share(np.array([one.arrays["buckets"] for one in answers], float))
