"""What ``statcv sites`` says and does of trees: their plan, the server, and a step."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statcv.cli.files import read_plan
from statcv.errors import ArgumentError

if TYPE_CHECKING:
    from statcv.sites import Grow, SitesPlan, Trees

PORT = 9091
LOOK = 0.2  # seconds between two checks whether the server has ended
SIZES = {"trees": "rounds", "depth": "depth", "learning_rate": "learning_rate"}
SIZES |= {"leaf": "leaf"}


def add_to_agree(add: Any, values: Callable[[str], Any]) -> None:
    """Add the arguments of :class:`statcv.sites.Trees`.

    Parameters
    ----------
    add : callable
    values : callable
        Reads ``NAME=1,2``.
    """
    cuts = "values at which trees may split a column; may be repeated"
    add("--cuts", type=values, action="append", metavar="NAME=1,2,5", help=cuts)
    add("--trees", type=int, metavar="N", help="number of trees of a fit (100)")
    add("--depth", type=int, metavar="N", help="largest depth of a tree (3)")
    add("--learning-rate", type=float, metavar="RATE", help="of trees (0.3)")
    leaf = "least number of records of all sites in a leaf of a tree (20)"
    add("--leaf", type=int, metavar="N", help=leaf)


def add_to_step(add: Any) -> None:
    """Add what a site needs for the step that grows trees."""
    where = "XGBoost's server, for the step that grows trees"
    add("--trees", metavar="HOST:PORT", help=where)
    files = "folder with rootCA.pem, client.crt and client.key, for that step"
    add("--certificates", type=Path, metavar="DIR", help=files)


def add_command(subparsers: Any) -> None:
    """Add the command that runs the server."""
    text = "run XGBoost's server, by which sites grow trees, until interrupted"
    made = subparsers.add_parser(
        "trees", help=text, description=f"{text.capitalize()}.", allow_abbrev=False
    )
    made.set_defaults(run=_serve)
    add = made.add_argument
    add("plan", type=Path, metavar="PLAN", help="the plan that all sites signed")
    files = "folder with rootCA.pem, server.crt and server.key"
    add("--certificates", type=Path, required=True, metavar="DIR", help=files)
    add("--port", type=int, default=PORT, help=f"the one port it opens ({PORT})")
    named = "number of sites, unless the plan names them"
    add("--number", type=int, metavar="N", help=named)


def trees_of(options: argparse.Namespace) -> Trees | None:
    """Return the trees that options describe; None if they ask for another model."""
    from statcv.sites import Trees

    if options.model != "trees":
        for name in ("cuts", *SIZES):
            if getattr(options, name) is not None:
                flag = name.replace("_", "-")
                raise ArgumentError(f"--{flag} means nothing without --model trees.")
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


def _serve(options: argparse.Namespace) -> None:
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
