"""Messages as function calls in one process, for teaching and tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from statcv.sites.coordinator import Coordinator
from statcv.sites.plan import SitesPlan
from statcv.sites.site import Site


class InProcess:
    """Sites in this process, which exchange messages by function calls.

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

    def run(self, plan: SitesPlan, data: Mapping[str, Any]) -> Coordinator:
        """Return the coordinator of a run that has ended."""
        self.sites = {name: Site(name, plan, one) for name, one in data.items()}
        coordinator = Coordinator(plan)
        message = coordinator.start()
        while not coordinator.ended:
            replies = [site.step(message) for site in self.sites.values()]
            message = coordinator.step(replies)
        for site in self.sites.values():
            site.step(message)
        return coordinator
