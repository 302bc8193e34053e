"""Messages as signed files in a directory, with all parties in this process."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from statcv.errors import ExchangeError
from statcv.formula import as_frame
from statcv.sites.coordinator import Coordinator
from statcv.sites.plan import SitesPlan
from statcv.sites.transports.coordinator_party import CoordinatorParty, coordinate
from statcv.sites.transports.exchange import Exchange
from statcv.sites.transports.homes import locked
from statcv.sites.transports.in_process import done, growers
from statcv.sites.transports.signing import COORDINATOR
from statcv.sites.transports.site_party import SiteParty, join


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
    >>> data = scv.load_data("ehr")
    >>> at = {name: data.iloc[i::3] for i, name in enumerate(["A", "B", "C"])}
    >>> plan = sites.agree("y ~ x1 + x2", k=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = sites.Directory(f"{folder}/exchange")
    ...     res = sites.run(plan, at, transport=files)
    >>> bool(res.estimate().value == sites.run(plan, at).estimate().value)
    True
    >>> res.files == 4 * (2 + res.rounds) + 1  # keys, messages, and their list
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
            made = coordinate(self.homes / COORDINATOR, plan, list(data))
            coordinator = CoordinatorParty(made)
            parties = []
            for name, frame in data.items():
                home = join(self.homes / name, plan, name, frame)
                party = SiteParty(home, partial(as_frame, frame), grow.get(name))
                parties.append(party)
            while True:
                turns = [coordinator.step(self.exchange)]
                steps = [partial(party.step, self.exchange) for party in parties]
                turns += done(steps, together=plan.grown)
                if all(turn.ended for turn in turns):
                    break
                if not any(turn.moved for turn in turns):
                    raise ExchangeError(" ".join(turn.sentence for turn in turns))
            self.files = len(self.exchange.files())
            return coordinator.ended()
