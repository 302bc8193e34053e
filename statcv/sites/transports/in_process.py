"""Messages as function calls in one process, for teaching and tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from statcv.sites.coordinator import Coordinator
from statcv.sites.forests import Grow
from statcv.sites.plan import SitesPlan
from statcv.sites.progress import GROW
from statcv.sites.site import Site

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
    >>> data = scv.load_data("ehr")
    >>> at = {name: data.iloc[i::3] for i, name in enumerate("ABC")}
    >>> transport = sites.InProcess()
    >>> res = sites.run(sites.agree("y ~ x1 + x2"), at, transport)
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
            message = coordinator.start()
            while not coordinator.ended:
                together = coordinator.progress.phase == GROW
                message = coordinator.step(self._answers(message, together))
            self._answers(message, together=False)
        return coordinator

    def _answers(self, message: bytes, together: bool) -> list[bytes]:
        """Return the answers of all sites, at the same time if they need each other."""
        steps = [partial(site.step, message) for site in self.sites.values()]
        return done(steps, together)


def done(steps: Sequence[Callable[[], T]], together: bool) -> list[T]:
    """Return what the steps of sites give, taken together or one after the other."""
    if not together:
        return [step() for step in steps]
    # each step sets the number of threads of this process, and sets it back
    with threadpool_limits(1), ThreadPoolExecutor(len(steps)) as pool:
        return list(pool.map(lambda step: step(), steps))


@contextmanager
def growers(plan: SitesPlan, sites: Mapping[str, Any]) -> Iterator[Mapping[str, Grow]]:
    """Return what grows the trees of each site on this machine, if the plan has any."""
    if not plan.grown:
        yield {}
        return
    from statcv.sites.transports.federated import growing_here

    with growing_here(list(sites)) as made:
        yield made
