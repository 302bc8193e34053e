"""The parties of an exchange of files, who take their turns, and a site's answers.

A party that was killed resumes from what its home keeps: the coordinator from the
answers of the sites, and a site from its log, since it is a function of plan, data and
received messages. Its files are then the same bytes as before, signatures included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from statcv.errors import SiteError
from statcv.sites.coordinator import Coordinator
from statcv.sites.ledger import Entry, Ledger
from statcv.sites.messages import MINIMUM_SITES, Message, is_refusal, too_few
from statcv.sites.plan import SitesPlan
from statcv.sites.progress import Phase
from statcv.sites.site import Site
from statcv.sites.transports import exchange as files
from statcv.sites.transports.homes import TREES_FILE, Home, read_ledger, read_trees
from statcv.sites.trees import DroppedOutError, Grow, Job
from statcv.words import listed

# ---- the coordinator ----


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
    files.check_names(names)
    if plan.sites and set(names) != set(plan.sites):
        raise SiteError(
            f"the plan is for {files.named(sorted(plan.sites))}, and not for "
            f"{files.named(names)}; agree on a new plan, or name the same sites."
        )
    if len(names) < MINIMUM_SITES:
        raise SiteError(f"{files.named(names)}: {too_few(len(names))}")
    if (folder / "home.json").exists():
        old = Home.open(folder)
        same = old.plan.fingerprint == plan.fingerprint
        begun = old.site_keys() if same else None
        if begun and set(begun) != set(names):
            raise SiteError(
                f"the plan was begun with {files.named(sorted(begun))}, and not with "
                f"{files.named(names)}; agree on a new plan for other sites."
            )
    return Home.make(folder, files.COORDINATOR, plan, {"sites": names})


@dataclass(eq=False)
class CoordinatorParty:
    """The coordinator, who takes its turns.

    Attributes
    ----------
    home : Home
    """

    home: Home
    _run: Coordinator | None = field(default=None, init=False)

    def step(self, exchange: files.Exchange) -> files.Turn:
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
        exchange.tidy(files.COORDINATOR, [*home.told["sites"], files.COORDINATOR])
        if exchange.publish_card(files.COORDINATOR, home.key, home.plan):
            did.append(f"left its public key in {files.card_name(files.COORDINATOR)}")
        keys, absent = self._keys(exchange)
        if absent:
            names = listed([files.card_name(site) for site in absent])
            return files.waiting(
                who, did, f"the public key of site {listed(absent)} ({names})"
            )
        run = self._resumed(keys)
        number = run.progress.round
        roster = home.key.document(files.COORDINATOR, home.plan, keys=dict(keys))
        if exchange.leave(files.ROSTER, roster):
            did.append(f"listed the keys of {len(keys)} sites in {files.ROSTER}")
        if exchange.publish(number, files.COORDINATOR, home.key, run.latest):
            did.append(f"published round {number} ({run.progress.phase})")
        if not run.ended:
            if absent := self._collect(exchange, keys, number):
                awaited = listed([files.file_name(number, site) for site in absent])
                return files.waiting(who, did, f"{files.named(absent)} ({awaited})")
            self._advance(run, keys)
            exchange.publish(number + 1, files.COORDINATOR, home.key, run.latest)
            did.append(
                f"added up the answers of {len(keys)} sites to round {number}, and "
                f"published round {number + 1} ({run.progress.phase}) in "
                f"{files.file_name(number + 1, files.COORDINATOR)}"
            )
        if not run.ended:
            return files.Turn(f"{who} {did[-1]}.", True)
        # who has not read the last message
        absent = self._collect(exchange, keys, run.progress.round)
        still = "; the last message is still to be read by " if absent else ""
        told = f"The run has ended after {run.progress.round} rounds{still}"
        return files.Turn(
            f"{told}{files.named(absent) if absent else ''}.", bool(did), ended=True
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

    def _keys(self, exchange: files.Exchange) -> tuple[dict[str, str], list[str]]:
        """Return the public keys of the sites, and which sites have left none."""
        kept = self.home.site_keys()
        if kept is not None:
            return kept, []
        names, plan = self.home.told["sites"], self.home.plan
        found = {site: exchange.public_key(site, plan) for site in names}
        keys = {site: key for site, key in found.items() if key is not None}
        absent = [site for site in names if site not in keys]
        if len({*keys.values(), self.home.key.public}) <= len(keys):
            raise SiteError(
                f"two of {files.named(list(keys))} have the same key; each needs a "
                "home of its own."
            )
        if not absent:
            self.home.keep_site_keys(keys)
        return keys, absent

    # ---- rounds ----

    def _resumed(self, keys: Mapping[str, str]) -> Coordinator:
        """Return the run as it was after the last answers of all sites."""
        if self._run is None:
            run = Coordinator(self.home.plan)
            run.start()
            while not run.ended and not self._unanswered(run.progress.round, keys):
                self._advance(run, keys)
            self._run = run
        return self._run

    def _unanswered(self, number: int, keys: Iterable[str]) -> list[str]:
        """Return the sites whose answers to a round were not taken.

        An answer that was taken is in the home, where nobody can change it again.
        """
        taken = {site: self.home.own / files.file_name(number, site) for site in keys}
        return [site for site, answer in taken.items() if not answer.exists()]

    def _advance(self, run: Coordinator, keys: Mapping[str, str]) -> None:
        self._run = None  # there is no run until the step has succeeded
        kept, plan = files.Exchange(self.home.own), self.home.plan
        number = run.progress.round
        found = [kept.message(number, site, key, plan) for site, key in keys.items()]
        run.step([one for one in found if one is not None])
        self._run = run

    def _collect(
        self, exchange: files.Exchange, keys: Mapping[str, str], number: int
    ) -> list[str]:
        """Take the answers that are there, and return which sites have not answered."""
        absent = []
        for site in self._unanswered(number, keys):
            try:
                found = exchange.message(number, site, keys[site], self.home.plan)
            except files.IncompleteError:
                found = None
            if found is None:
                absent.append(site)
            elif is_refusal(found):
                why = Message.of(found).header["why"]
                raise SiteError(f"site {site} refuses: {why}")
            else:
                name = files.file_name(number, site)
                exchange.copy(name, files.Exchange(self.home.own))
        return absent


# ---- a site ----


def join(
    folder: Path,
    plan: SitesPlan,
    site: str,
    data: Any,
    file: str | None = None,
    layout: Mapping[str, Any] | None = None,
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
    layout : mapping, optional
        How the file is read: arguments of :func:`statcv.read_table`, which are kept.
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
    files.check_names([site])
    known = read_ledger(folder)
    if permit:
        known.permit(plan)
    trial = Site(site, plan, data, Ledger.from_json(known.to_json()))
    _raise_refusal(site, trial.step(Coordinator(plan).start()))
    card = None
    if coordinator is not None:
        card = files.read(coordinator)
        if card is None:
            raise SiteError(f"site {site}: there is no file {coordinator}.")
        held = files.read_document(card, files.COORDINATOR, plan, str(coordinator))
        told = held["key"]
    home = Home.make(folder, site, plan, {"data": file, **(layout or {})})
    home.keep_ledger(known)
    if card is not None:
        kept = files.Exchange(home.own).public_key(files.COORDINATOR, plan)
        if kept not in (None, told):
            raise SiteError(
                f"site {site}: the home already relies on another key of the "
                f"coordinator, {files.key_name(str(kept))}; clear up which is right, "
                "and begin again with a new home if it is the new one."
            )
        files.write(home.own / files.card_name(files.COORDINATOR), card)
    files.write(folder / files.card_name(site), home.key.card(site, plan))
    return home


def _raise_refusal(site: str, sent: bytes) -> None:
    """Raise the reason that a site gives, if it refuses."""
    if is_refusal(sent):
        raise SiteError(f"site {site}: {Message.of(sent).header['why']}")


@dataclass(eq=False)
class SiteParty:
    """A site that takes its turns.

    Attributes
    ----------
    home : Home
    read : callable
        Returns the records of the site; they are read only when they are needed.
    grow : callable, optional
        What grows trees together with the other sites.
    """

    home: Home
    read: Callable[[], Any]
    grow: Grow | None = None
    entries: list[Entry] = field(init=False)
    _site: Site | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.entries = self.home.entries()

    @property
    def answers(self) -> list[Entry]:
        """The answers in the order of rounds, without refusals."""
        return [entry for entry in self.entries if not is_refusal(entry.sent)]

    def step(self, exchange: files.Exchange) -> files.Turn:
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
        home, name, answers, did = self.home, self.home.party, self.answers, []
        who, number = f"Site {name}", len(answers)
        exchange.check()
        exchange.tidy(name)
        if exchange.publish_card(name, home.key, home.plan):
            did.append(f"left its public key in {files.card_name(name)}")
        if answers and exchange.publish(number - 1, name, home.key, answers[-1].sent):
            did.append(f"left its answer in {files.file_name(number - 1, name)} again")
        if answers and Message.of(answers[-1].received).kind == Phase.END:
            return files.Turn(f"{who} has ended.", bool(did), ended=True)
        awaited = files.file_name(number, files.COORDINATOR)
        try:
            message = self._received(exchange, number)
        except files.IncompleteError:
            return files.waiting(who, did, f"the rest of {awaited}; copy it again")
        if message is None:
            return files.waiting(who, did, f"the coordinator ({awaited})")
        sent = self.answer(message)
        exchange.publish(number, name, home.key, sent)
        _raise_refusal(name, sent)
        asked, file = Message.of(message).kind, files.file_name(number, name)
        told = f"{who} answered round {number} ({asked}) in {file}."
        return files.Turn(told, True, ended=asked == Phase.END)

    # ---- what comes in ----

    def _received(self, exchange: files.Exchange, number: int) -> bytes | None:
        kept, plan = files.Exchange(self.home.own), self.home.plan
        public = kept.public_key(files.COORDINATOR, plan)
        if public is None:
            public = exchange.public_key(files.COORDINATOR, plan)
            if public is None:
                return None
            # The key is trusted from now on.
            exchange.copy(files.card_name(files.COORDINATOR), kept)
        keys = kept.roster(public, plan)
        if keys is None:
            keys = exchange.roster(public, plan)
            if keys is None:
                return None
            self._check_keys(keys, public)
            exchange.copy(files.ROSTER, kept)
        message = exchange.message(number, files.COORDINATOR, public, plan)
        if message is not None and number:
            sites = Message.of(message).header.get("sites")
            if not isinstance(sites, dict) or set(sites) != set(keys):
                raise SiteError(
                    f"site {self.home.party}: the sums are of other sites than those "
                    f"that {files.ROSTER} lists; ask the coordinator for the right "
                    "file."
                )
        return message

    def _check_keys(self, keys: Mapping[str, str], public: str) -> None:
        """Check that this site takes part with its own key, and enough others do."""
        site, own = self.home.party, self.home.key.public
        if keys.get(site) != own:
            raise SiteError(
                f"site {site}: the coordinator took another key for that of this site "
                f"than {files.key_name(own)}; give it the right "
                f"{files.card_name(site)}, and begin again in an empty directory."
            )
        if len({*keys.values(), public}) <= len(keys):
            raise SiteError(
                f"site {site}: {files.ROSTER} lists one key for two parties; ask which "
                "home belongs to whom."
            )
        if len(keys) < MINIMUM_SITES:
            raise SiteError(f"site {site}: {too_few(len(keys))}")

    # ---- what goes out ----

    def answer(self, message: bytes) -> bytes:
        """Answer a message, and keep ledger and log before the answer leaves."""
        for entry in self.entries:
            # The same message was answered with a refusal.
            if entry.received == message:
                return entry.sent
        site = self._resumed()
        self._site = None  # there is no site until everything is kept
        sent = site.step(message)
        if not self.answers:
            _raise_refusal(self.home.party, sent)  # the site may correct its data
        entry = Entry.after(self.entries, message, sent)
        self.home.keep_ledger(site.ledger)
        self.home.keep_entries([*self.entries, entry])
        self.entries.append(entry)
        self._site = site
        return sent

    def _resumed(self) -> Site:
        """Return the site as it was after its last answer."""
        if self._site is not None:
            return self._site
        home = self.home
        ledger = read_ledger(home.folder)
        site = Site(home.party, home.plan, self.read(), ledger, self._grown)
        for entry in self.entries:
            again = site.step(entry.received)
            if again != entry.sent:
                _raise_refusal(home.party, again)
                raise SiteError(
                    f"site {home.party}: what the site sent before cannot be computed "
                    "again: the data, or the versions of numpy and statcv, have "
                    "changed since. Restore them, and repeat the step."
                )
        return site

    def _grown(self, job: Job) -> Sequence[bytes]:
        """Return the trees that the site keeps, or grow and keep them."""
        kept = read_trees(self.home.own / TREES_FILE)
        if kept is not None:
            return kept
        if self.grow is None:
            raise DroppedOutError(
                f"site {self.home.party}: the next step grows trees; name the server "
                "of XGBoost: `statcv sites step … --trees HOST:PORT`."
            )
        grown = self.grow(job)
        self.home.keep_trees(grown)
        return grown
