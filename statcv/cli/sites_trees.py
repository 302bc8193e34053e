"""What ``statcv sites`` says and does of trees: their plan, the server, and a step."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from statcv.cli.files import read_plan, refuse
from statcv.errors import ArgumentError

if TYPE_CHECKING:
    from statcv.sites import Grow, SitesPlan, Trees

LOOK = 0.2  # seconds between two checks whether the server has ended
SIZES = {"trees": "rounds", "depth": "depth", "learning_rate": "learning_rate"}
SIZES |= {"leaf": "leaf"}


def trees_of(options: argparse.Namespace) -> Trees | None:
    """Return the trees that options describe; None if they ask for another model."""
    from statcv.sites import Trees

    if options.model != "trees":
        refuse(options, ("cuts", *SIZES), "without --model trees")
        return None
    given = {
        argument: getattr(options, name)
        for name, argument in SIZES.items()
        if getattr(options, name) is not None
    }
    return Trees(dict(options.cuts or ()), **given)


def grower(options: argparse.Namespace) -> Grow | None:
    """Return what grows the trees of a site, if options name a server."""
    if options.trees is None and options.certificates is None:
        return None
    if options.trees is None or options.certificates is None:
        raise ArgumentError("trees need both --trees HOST:PORT and --certificates DIR.")
    from statcv.sites.transports.federated import Grower, Server, need_plugin

    need_plugin()
    server = Server(options.trees, options.certificates)
    server.check()
    return Grower(server)


def need_trees(plan: SitesPlan) -> None:
    """Raise an error that says what to install, if the plan has trees."""
    if plan.grown:
        from statcv.sites.transports.federated import need_plugin

        need_plugin()


def serve_trees(options: argparse.Namespace) -> None:
    """Run XGBoost's server for the sites of a plan."""
    from statcv.cli.sites_nvflare import ending_by_signal, tell
    from statcv.errors import SiteError
    from statcv.sites.messages import MINIMUM_SITES
    from statcv.sites.transports.federated import serving

    plan = read_plan(options.plan)
    number = options.number or len(plan.sites)
    if not plan.grown:
        raise ArgumentError("the plan has no trees; no server is needed.")
    if number < MINIMUM_SITES or (plan.sites and number != len(plan.sites)):
        raise ArgumentError(
            f"--number must be that of the sites, at least {MINIMUM_SITES}."
        )
    with (
        ending_by_signal(),
        serving(number, options.certificates, options.port) as process,
    ):
        where = f"the server for {number} sites is at port {options.port}"
        tell(f"{where}; it serves one step of growing trees.")
        while not process.ended:
            time.sleep(LOOK)
        raise SiteError("the server has ended; start it again for another run.")
