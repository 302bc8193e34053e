"""The turns of a site and of the coordinator in an exchange of files.

A party that was killed resumes from its home: a site from its log, since it is a
function of plan, data and received messages, and the coordinator from the answers that
it keeps. Its files are then the same bytes as before, signatures included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import statcv
from statcv.errors import SiteError, listed
from statcv.sites.coordinator import Coordinator
from statcv.sites.log import Entry, Ledger
from statcv.sites.messages import VERSION, Message
from statcv.sites.plan import MINIMUM_SITES, SitesPlan
from statcv.sites.progress import END, JOIN
from statcv.sites.site import REFUSE, Site
from statcv.sites.transports.exchange import (
    Exchange,
    card_name,
    check_names,
    file_name,
    named,
    write,
)
from statcv.sites.transports.homes import Home
from statcv.sites.transports.signing import (
    COORDINATOR,
    Card,
    IncompleteError,
    check_version,
    key_name,
)


@dataclass(frozen=True)
class Turn:
    """What a party has done, or whom it waits for.

    Attributes
    ----------
    sentence : str
    moved : bool
        Whether a file was left for the others.
    ended : bool
        Whether the party has nothing more to do.
    """

    sentence: str
    moved: bool
    ended: bool = False

    def __str__(self) -> str:
        return self.sentence


def _waiting(who: str, did: Sequence[str], what: str) -> Turn:
    """Return the turn of a party that waits."""
    parts = [*did, f"waits for {what}"]
    return Turn(f"{who} {' and '.join(parts)}.", bool(did))


# ---- sites ----


def join(
    folder: Path,
    plan: SitesPlan,
    site: str,
    data: Any,
    file: str | None = None,
    coordinator: Path | None = None,
    permit: bool = False,
) -> Home:
    """Make the home of a site, if its data may answer the plan.

    Parameters
    ----------
    folder : pathlib.Path
        The home.
    plan : SitesPlan
    site : str
        Name of the site.
    data : data frame
        Its records.
    file : str, optional
        The file that holds them.
    coordinator : pathlib.Path, optional
        File of the coordinator's public key, if it is known already.
    permit : bool
        Whether the site permits a plan besides those that the home has answered.

    Raises
    ------
    SiteError
        If the data do not suit the plan or break a rule of disclosure, or have changed,
        or have answered another plan.
    """
    check_names([site])
    known = Home.open(folder).ledger() if (folder / "home.json").exists() else Ledger()
    if permit:
        known.permit(plan)
    trial = Site(site, plan, data, Ledger.from_json(known.to_json()))
    _raise_refusal(trial.step(Coordinator(plan).start()))
    card = None
    if coordinator is not None:
        card = Exchange(coordinator.parent).card(COORDINATOR, plan, coordinator.name)
        if card is None:
            raise SiteError(f"site {site}: there is no file {coordinator}.")
    home = Home.make(folder, site, plan, {"data": file})
    home.keep_ledger(known)
    if card is not None:
        Exchange(home.own).publish_card(card)
    write(folder / card_name(site), home.card.to_json().encode())
    return home


def _raise_refusal(sent: bytes) -> None:
    message = Message.of(sent)
    if message.kind == REFUSE:
        raise SiteError(str(message.header["why"]))


@dataclass(eq=False)
class SiteParty:
    """A site that takes its turns.

    Attributes
    ----------
    home : Home
    read : callable
        Returns the records of the site; they are read only when they are needed.
    """

    home: Home
    read: Callable[[], Any]
    entries: list[Entry] = field(init=False)
    _site: Site | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.entries = self.home.entries()

    @property
    def who(self) -> str:
        """The party at the beginning of a sentence."""
        return f"Site {self.home.party}"

    def step(self, exchange: Exchange) -> Turn:
        """Answer the newest message, or say whom the site waits for.

        A step that is repeated does nothing. Files of this site that are lost from the
        directory are left there again.

        Raises
        ------
        SiteError
            If the site refuses, or its data have changed.
        MessageError
            If the coordinator's file is damaged, forged or out of place; the site then
            has answered nothing, and goes on when the right file is there.
        """
        home, name, number = self.home, self.home.party, len(self.entries)
        exchange.check()
        exchange.tidy(name)
        did = []
        if exchange.publish_card(home.card):
            did.append(f"left its public key in {card_name(name)}")
        if number and self._publish(exchange):
            did.append(f"left its answer in {file_name(number - 1, name)} again")
        if self._ended():
            return Turn(f"{self.who} has ended.", bool(did), ended=True)
        awaited = file_name(number, COORDINATOR)
        try:
            message = self._received(exchange, number)
        except IncompleteError:
            return _waiting(self.who, did, f"the rest of {awaited}; copy it again")
        if message is None:
            return _waiting(self.who, did, f"the coordinator ({awaited})")
        self._answer(message)
        self._publish(exchange)
        self._ended()
        asked = Message.of(message).kind
        told = f"{self.who} answered round {number} ({asked}) in "
        return Turn(f"{told}{file_name(number, name)}.", True, ended=asked == END)

    def _publish(self, exchange: Exchange) -> bool:
        number, home = len(self.entries) - 1, self.home
        return exchange.publish(number, home.party, home.key, self.entries[-1].sent)

    def _ended(self) -> bool:
        """Tell whether the run is over for the site.

        Raises
        ------
        SiteError
            If it is over since the site refuses to go on.
        """
        if not self.entries:
            return False
        _raise_refusal(self.entries[-1].sent)
        return Message.of(self.entries[-1].received).kind == END

    # ---- what comes in ----

    def _received(self, exchange: Exchange, number: int) -> bytes | None:
        card = self._coordinator(exchange)
        if card is None:
            return None
        message = exchange.message(number, COORDINATOR, card.public, self.home.plan)
        if message is not None:
            self._check_roster(Message.of(message), card)
        return message

    def _coordinator(self, exchange: Exchange) -> Card | None:
        """Return the coordinator's key, which is kept when it is first seen."""
        kept, plan = Exchange(self.home.own), self.home.plan
        card = kept.card(COORDINATOR, plan)
        if card is None:
            card = exchange.card(COORDINATOR, plan)
            if card is not None:
                kept.publish_card(card)
        return card

    def _check_roster(self, message: Message, card: Card) -> None:
        """Check that this site takes part with its own key, and who else does."""
        site, header = self.home.party, message.header
        if self.entries:
            keys = Message.of(self.entries[0].received).header["keys"]
            if set(header.get("sites", {})) != set(keys) - {COORDINATOR}:
                raise SiteError(
                    f"site {site}: the sums are of other sites than those whose keys "
                    "the coordinator listed when they joined."
                )
            return
        check_version(COORDINATOR, str(header.get("statcv")), header.get("version", 0))
        keys = header.get("keys")
        if not isinstance(keys, dict) or keys.get(site) != self.home.key.public:
            raise SiteError(
                f"site {site}: the coordinator took another key for that of this site "
                f"than {key_name(self.home.key.public)}; give it the right "
                f"{card_name(site)}, and begin again in an empty directory."
            )
        others = {str(key) for key in keys.values()}
        if keys.get(COORDINATOR) != card.public or len(others) < len(keys):
            raise SiteError(
                f"site {site}: the coordinator lists a key that is not its own, or one "
                "key for two parties; ask which home belongs to whom."
            )
        if len(keys) - 1 < MINIMUM_SITES:
            raise SiteError(f"site {site}: {too_few(len(keys) - 1)}")

    # ---- what goes out ----

    def _answer(self, message: bytes) -> None:
        """Answer a message, and keep ledger and log before the answer leaves."""
        site = self._resumed()
        sent = site.step(message)
        if not self.entries:
            _raise_refusal(sent)  # the site may mend its data, and join later
        entry = Entry.after(self.entries, message, sent)
        self.home.keep_ledger(site.ledger)
        self.home.keep_entries([*self.entries, entry])
        self.entries.append(entry)

    def _resumed(self) -> Site:
        """Return the site as it was after its last answer."""
        if self._site is None:
            home = self.home
            site = Site(home.party, home.plan, self.read(), home.ledger())
            for entry in self.entries:
                again = site.step(entry.received)
                if again != entry.sent:
                    _raise_refusal(again)
                    raise SiteError(
                        f"site {home.party}: what the site sent before cannot be "
                        "computed again: the data, or the versions of numpy and "
                        "statcv, have changed since. Restore them, and repeat the step."
                    )
            self._site = site
        return self._site


# ---- the coordinator ----


def too_few(number: int) -> str:
    """Return why a run needs more sites."""
    return (
        f"{number} sites take part, and at least {MINIMUM_SITES} must, since with two "
        "each could subtract its own numbers from the sums; ask another site to join."
    )


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
        if exchange.publish_card(home.card):
            did.append(f"left its public key in {card_name(COORDINATOR)}")
        keys, absent = self._keys(exchange)
        if absent:
            names = listed([card_name(site) for site in absent])
            return _waiting(
                who, did, f"the public key of site {listed(absent)} ({names})"
            )
        run = self._resumed(keys)
        number = run.progress.round
        if self._publish(exchange):
            did.append(f"published round {number} ({run.progress.phase})")
        if run.ended:
            return Turn(self._end(exchange, keys), bool(did), ended=True)
        if absent := self._collect(exchange, keys, number):
            files = listed([file_name(number, site) for site in absent])
            return _waiting(who, did, f"{named(absent)} ({files})")
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
        cards = {site: exchange.card(site, self.home.plan) for site in self.sites}
        keys = {site: card.public for site, card in cards.items() if card is not None}
        absent = [site for site in self.sites if site not in keys]
        if len({*keys.values(), self.home.key.public}) <= len(keys):
            raise SiteError(
                f"two of {named(list(keys))} have the same key; each needs a "
                "home of its own."
            )
        if not absent:
            self.home.keep_site_keys(keys)
        return keys, absent

    def _start(self, run: Coordinator, keys: Mapping[str, str]) -> bytes:
        """Return the first message, which lists the public keys of all parties."""
        header = {
            **Message.of(run.start()).header,
            "keys": {**keys, COORDINATOR: self.home.key.public},
            "statcv": statcv.__version__,
            "version": VERSION,
        }
        return bytes(Message(JOIN, header))

    # ---- rounds ----

    @property
    def _kept(self) -> Exchange:
        """The answers that were taken, which nobody can change again."""
        return Exchange(self.home.own)

    def _resumed(self, keys: Mapping[str, str]) -> Coordinator:
        """Return the run as it was after the last answers of all sites."""
        if self._run is None:
            run = Coordinator(self.home.plan)
            self._latest = self._start(run, keys)
            while not run.ended:
                number = run.progress.round
                names = [file_name(number, site) for site in keys]
                if not all((self.home.own / name).exists() for name in names):
                    break
                self._advance(run, keys, number)
            self._run = run
        return self._run

    def _advance(self, run: Coordinator, keys: Mapping[str, str], number: int) -> None:
        self._run = None  # until the step has succeeded
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
            else:
                exchange.copy(number, site, self._kept)
        return absent

    def _end(self, exchange: Exchange, keys: Mapping[str, str]) -> str:
        """Return a sentence at the end, with who has not read the last message."""
        assert self._run is not None
        number = self._run.progress.round
        absent = self._collect(exchange, keys, number)
        for site, key in keys.items():
            sent = self._kept.message(number, site, key, self.home.plan)
            if sent is not None:
                _raise_refusal(sent)
        told = f"The run has ended after {number} rounds"
        if absent:
            told += f"; the last message is still to be read by {named(absent)}"
        return f"{told}."
