"""The commands of ``statcv sites`` for servers: that of trees, and those of NVFLARE."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from statcv.cli.files import layout_of, read_plan, read_site_data, refuse
from statcv.errors import ArgumentError

if TYPE_CHECKING:
    from statcv.sites import Grow, SitesPlan, Trees


def _provision(options: argparse.Namespace) -> None:
    from statcv.sites.transports.nvflare import provision

    where = {"host": options.host, "port": options.port}
    provision(options.center, **where, days=options.days)
    print(f"{options.center}/root signs certificates; nobody else may read it.")
    print(f"The server will open port {options.port} at {options.host}, and no other.")


def _request(options: argparse.Namespace) -> None:
    from statcv.sites.transports.nvflare import fingerprint, request

    made = request(options.home, options.site)
    aloud = fingerprint(made)
    options.out.write_bytes(made)
    print(f"Send {options.out} to the coordinator, and read to them: {aloud}")


def _sign(options: argparse.Namespace) -> None:
    from statcv.sites.transports.nvflare import fingerprint, sign

    asked = options.request.read_bytes()
    site, answer = sign(options.center, asked)
    aloud = fingerprint(asked)
    options.out.write_bytes(answer)
    print(f"Send {options.out} to site {site} if they read to you: {aloud}")


def _server(options: argparse.Namespace) -> None:
    from statcv.sites.transports.nvflare import serve

    with ending_by_signal():
        serve(options.center, tell)


def _client(options: argparse.Namespace) -> None:
    from statcv.sites.transports.nvflare import take_part

    answer = options.answer.read_bytes() if options.answer else None
    plan = read_plan(options.plan)
    data = read_site_data(plan, options.data, layout_of(options))
    with ending_by_signal():
        take_part(options.home, plan, data, answer, tell)


def _run(options: argparse.Namespace) -> None:
    from statcv.sites import SitesResult
    from statcv.sites.transports.nvflare import run_plan

    plan, kit = read_plan(options.plan), options.center / "coordinator"
    print(SitesResult(run_plan(kit, plan, options.sites, options.out)).summary())


def tell(sentence: str) -> None:
    """Say what goes on, and how to end it."""
    print(f"{sentence} Ctrl-C ends.", file=sys.stderr, flush=True)


@contextmanager
def ending_by_signal() -> Iterator[None]:
    """End as by Ctrl-C when a service manager asks, so that snapshots are removed."""

    def end(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


NVFLARE = {
    "sites provision": _provision,
    "sites request": _request,
    "sites sign": _sign,
    "sites server": _server,
    "sites client": _client,
    "sites run": _run,
}


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
    from statcv.cli.sites_servers import ending_by_signal, tell
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
