"""The turns of the coordinator in an exchange of files.

A coordinator that was killed resumes from the answers that it keeps in its home. Its
files are then the same bytes as before, signatures included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from statcv.errors import SiteError
from statcv.sites.coordinator import Coordinator
from statcv.sites.messages import MINIMUM_SITES, Message, is_refusal, too_few
from statcv.sites.plan import SitesPlan
from statcv.sites.transports.exchange import (
    ROSTER,
    Exchange,
    Turn,
    card_name,
    check_names,
    file_name,
    named,
    waiting,
)
from statcv.sites.transports.homes import Home
from statcv.sites.transports.signing import COORDINATOR, IncompleteError
from statcv.words import listed


def coordinate(folder: Path, plan: SitesPlan, sites: Sequence[str] = ()) -> Home:
    """Make the home of the coordinator.

    Parameters
    ----------
    folder : pathlib.Path
        The home.
    plan : SitesPlan
    sites : sequence of str
        Names of the sites that take part; those of the plan unless given.

    Raises
    ------
    SiteError
        If they are fewer than three, or not those of the plan.
    """
    names = sorted(sites or plan.sites)
    if not names:
        raise SiteError("the plan names no sites; say which take part: A,B,C.")
    check_names(names)
    if plan.sites and set(names) != set(plan.sites):
        raise SiteError(
            f"the plan is for {named(sorted(plan.sites))}, and not for "
            f"{named(names)}; agree on a new plan, or name the same sites."
        )
    if len(names) < MINIMUM_SITES:
        raise SiteError(f"{named(names)}: {too_few(len(names))}")
    if (folder / "home.json").exists():
        old = Home.open(folder)
        same = old.plan.fingerprint == plan.fingerprint
        begun = old.site_keys() if same else None
        if begun and set(begun) != set(names):
            raise SiteError(
                f"the plan was begun with {named(sorted(begun))}, and not with "
                f"{named(names)}; agree on a new plan for other sites."
            )
    return Home.make(folder, COORDINATOR, plan, {"sites": names})


@dataclass(eq=False)
class CoordinatorParty:
    """The coordinator, who takes its turns.

    Attributes
    ----------
    home : Home
    """

    home: Home
    _run: Coordinator | None = field(default=None, init=False)
    _latest: bytes = field(default=b"", init=False)

    @property
    def sites(self) -> list[str]:
        """Names of the sites that take part."""
        return list(self.home.told["sites"])

    def step(self, exchange: Exchange) -> Turn:
        """Add up the answers of all sites, or say whom the coordinator waits for.

        Raises
        ------
        SiteError
            If a site refuses, or has another plan or version.
        MessageError
            If a file of a site is damaged, forged or out of place; nothing is added up
            then, and the run goes on when the right file is there.
        """
        home, who, did = self.home, "The coordinator", []
        exchange.make()
        exchange.tidy(COORDINATOR, [*self.sites, COORDINATOR])
        if exchange.publish_card(COORDINATOR, home.key, home.plan):
            did.append(f"left its public key in {card_name(COORDINATOR)}")
        keys, absent = self._keys(exchange)
        if absent:
            names = listed([card_name(site) for site in absent])
            return waiting(
                who, did, f"the public key of site {listed(absent)} ({names})"
            )
        run = self._resumed(keys)
        number = run.progress.round
        if exchange.publish_roster(home.key.roster(keys, home.plan)):
            did.append(f"listed the keys of {len(keys)} sites in {ROSTER}")
        if self._publish(exchange):
            did.append(f"published round {number} ({run.progress.phase})")
        if run.ended:
            return Turn(self._end(exchange, keys), bool(did), ended=True)
        if absent := self._collect(exchange, keys, number):
            files = listed([file_name(number, site) for site in absent])
            return waiting(who, did, f"{named(absent)} ({files})")
        self._advance(run, keys, number)
        self._publish(exchange)
        if run.ended:
            return Turn(self._end(exchange, keys), True, ended=True)
        return Turn(
            f"{who} added up the answers of {len(keys)} sites to round {number}, and "
            f"published round {number + 1} ({run.progress.phase}) in "
            f"{file_name(number + 1, COORDINATOR)}.",
            True,
        )

    def ended(self) -> Coordinator:
        """Return the run, if it has ended.

        Raises
        ------
        SiteError
            If it has not.
        """
        keys = self.home.site_keys()
        run = None if keys is None else self._resumed(keys)
        if run is None or not run.ended:
            number = 0 if run is None else run.progress.round
            raise SiteError(
                f"the run has not ended: it is in round {number}; `statcv sites step` "
                "says whom the coordinator waits for."
            )
        return run

    # ---- keys ----

    def _keys(self, exchange: Exchange) -> tuple[dict[str, str], list[str]]:
        """Return the public keys of the sites, and which sites have left none."""
        kept = self.home.site_keys()
        if kept is not None:
            return kept, []
        found = {site: exchange.public_key(site, self.home.plan) for site in self.sites}
        keys = {site: key for site, key in found.items() if key is not None}
        absent = [site for site in self.sites if site not in keys]
        if len({*keys.values(), self.home.key.public}) <= len(keys):
            raise SiteError(
                f"two of {named(list(keys))} have the same key; each needs a "
                "home of its own."
            )
        if not absent:
            self.home.keep_site_keys(keys)
        return keys, absent

    # ---- rounds ----

    @property
    def _kept(self) -> Exchange:
        """The answers that were taken, which nobody can change again."""
        return Exchange(self.home.own)

    def _resumed(self, keys: Mapping[str, str]) -> Coordinator:
        """Return the run as it was after the last answers of all sites."""
        if self._run is None:
            run = Coordinator(self.home.plan)
            self._latest = run.start()
            while not run.ended:
                number = run.progress.round
                names = [file_name(number, site) for site in keys]
                if not all((self.home.own / name).exists() for name in names):
                    break
                self._advance(run, keys, number)
            self._run = run
        return self._run

    def _advance(self, run: Coordinator, keys: Mapping[str, str], number: int) -> None:
        self._run = None  # there is no run until the step has succeeded
        plan, kept = self.home.plan, self._kept
        found = [kept.message(number, site, key, plan) for site, key in keys.items()]
        self._latest = run.step([one for one in found if one is not None])
        self._run = run

    def _publish(self, exchange: Exchange) -> bool:
        assert self._run is not None
        number = self._run.progress.round
        return exchange.publish(number, COORDINATOR, self.home.key, self._latest)

    def _collect(
        self, exchange: Exchange, keys: Mapping[str, str], number: int
    ) -> list[str]:
        """Take the answers that are there, and return which sites have not answered."""
        absent = []
        for site, key in keys.items():
            if (self.home.own / file_name(number, site)).exists():
                continue
            try:
                found = exchange.message(number, site, key, self.home.plan)
            except IncompleteError:
                found = None
            if found is None:
                absent.append(site)
            elif is_refusal(found):
                why = Message.of(found).header["why"]
                raise SiteError(f"site {site} refuses: {why}")
            else:
                exchange.copy(file_name(number, site), self._kept)
        return absent

    def _end(self, exchange: Exchange, keys: Mapping[str, str]) -> str:
        """Return a sentence at the end, with who has not read the last message."""
        assert self._run is not None
        number = self._run.progress.round
        absent = self._collect(exchange, keys, number)
        told = f"The run has ended after {number} rounds"
        if absent:
            told += f"; the last message is still to be read by {named(absent)}"
        return f"{told}."
