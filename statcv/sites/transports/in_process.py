"""All parties in this process, which exchange messages by calls or by signed files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from statcv.errors import ExchangeError
from statcv.formula import as_frame
from statcv.sites.coordinator import Coordinator
from statcv.sites.plan import SitesPlan
from statcv.sites.progress import Phase
from statcv.sites.site import Site
from statcv.sites.transports import parties
from statcv.sites.transports.exchange import COORDINATOR, Exchange, Turn
from statcv.sites.transports.federated import growing_here
from statcv.sites.transports.homes import locked
from statcv.sites.trees import Grow

T = TypeVar("T")


class InProcess:
    """Sites in this process, which exchange messages by function calls.

    Trees are grown by one further process for each site and one for a server, which
    exchange sums of gradients on this machine.

    Attributes
    ----------
    sites : dict of Site
        The sites of the last run, with their logs.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> ehr = scv.load_data("ehr")
    >>> at = {name: ehr.iloc[i::3] for i, name in enumerate("ABC")}
    >>> plan = sites.agree("y ~ x1 + x2", seed=1)
    >>> transport = sites.InProcess()
    >>> over = sites.run(plan, at, transport)
    >>> sorted(transport.sites)
    ['A', 'B', 'C']
    """

    def __init__(self) -> None:
        self.sites: dict[str, Site] = {}

    def __repr__(self) -> str:
        return f"Sites in this process: {', '.join(self.sites) or 'none yet'}"

    def run(self, plan: SitesPlan, data: Mapping[str, Any]) -> Coordinator:
        """Return the coordinator of a run that has ended."""
        with growers(plan, data) as grow:
            self.sites = {
                name: Site(name, plan, one, grow=grow.get(name))
                for name, one in data.items()
            }
            coordinator = Coordinator(plan)
            coordinator.start()
            while not coordinator.ended:
                together = coordinator.progress.phase == Phase.GROW
                coordinator.step(self._answers(coordinator.latest, together))
            self._answers(coordinator.latest, together=False)
        return coordinator

    def _answers(self, message: bytes, together: bool) -> list[bytes]:
        """Return the answers of all sites, at the same time if they need each other."""
        steps = [partial(site.step, message) for site in self.sites.values()]
        return done(steps, together)


def done(steps: Sequence[Callable[[], T]], together: bool) -> list[T]:
    """Return what the steps of sites give, taken together or one after the other."""
    if not together:
        return [step() for step in steps]
    with ThreadPoolExecutor(len(steps)) as pool:
        return list(pool.map(lambda step: step(), steps))


def growers(
    plan: SitesPlan, sites: Mapping[str, Any]
) -> AbstractContextManager[Mapping[str, Grow]]:
    """Return what grows the trees of each site on this machine, if the plan has any."""
    return growing_here(list(sites)) if plan.grown else nullcontext({})


class Directory:
    """Sites that exchange signed files in a directory.

    All parties are in this process and take their turns as they do at hospitals with
    ``statcv sites step``, through the same files. A run that was interrupted goes on
    where it stopped, and one that has ended is read again.

    Parameters
    ----------
    path : path
        The directory of the exchange.
    homes : path, optional
        The directory with the private homes of the parties, in which keys, ledgers and
        logs are kept; ``path`` with ``-homes`` at its end unless given.

    Attributes
    ----------
    files : int
        Number of files that the last run exchanged.

    Examples
    --------
    >>> import tempfile
    >>> import statcv as scv
    >>> from statcv import sites
    >>> ehr = scv.load_data("ehr")
    >>> at = {name: ehr.iloc[i::3] for i, name in enumerate("ABC")}
    >>> plan = sites.agree("y ~ x1 + x2", seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = sites.run(plan, at, sites.Directory(f"{folder}/exchange"))
    >>> found.files == 4 * (2 + found.rounds) + 1  # keys, messages, and their list
    True
    """

    def __init__(
        self, path: str | PathLike[str], homes: str | PathLike[str] | None = None
    ) -> None:
        self.exchange = Exchange(Path(path))
        self.homes = Path(f"{Path(path)}-homes" if homes is None else homes)
        self.files = 0

    def __repr__(self) -> str:
        return f"Directory({str(self.exchange.path)!r}, homes={str(self.homes)!r})"

    def run(self, plan: SitesPlan, data: Mapping[str, Any]) -> Coordinator:
        """Return the coordinator of a run that has ended.

        Raises
        ------
        SiteError
            If a site refuses, with its reason.
        ExchangeError
            If a file cannot be read or written.
        """
        with growers(plan, data) as grow, ExitStack() as held:
            for name in (COORDINATOR, *data):
                held.enter_context(locked(self.homes / name))
            made = parties.coordinate(self.homes / COORDINATOR, plan, list(data))
            coordinator, steps = parties.CoordinatorParty(made), []
            for name, frame in data.items():
                home = parties.join(self.homes / name, plan, name, frame)
                read = partial(as_frame, frame)
                party = parties.SiteParty(home, read, grow.get(name))
                steps.append(partial(party.step, self.exchange))
            turns = [Turn("", moved=True)]
            while not all(turn.ended for turn in turns):
                if not any(turn.moved for turn in turns):
                    raise ExchangeError(" ".join(map(str, turns)))
                turns = [coordinator.step(self.exchange)]
                turns += done(steps, together=plan.grown)
            self.files = len(self.exchange.files())
            return coordinator.ended()
