"""The commands of ``statcv sites`` for a server and sites that NVFLARE connects."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from statcv.cli.files import layout_of, read_plan, read_site_data

HOST, PORT, DAYS = "localhost", 8002, 90


def add_commands(subparsers: Any, add_reading: Callable[[Any], None]) -> None:
    """Add the commands to those of ``statcv sites``.

    Parameters
    ----------
    subparsers : argparse subparsers
    add_reading : callable
        Adds the options by which a file is read.
    """

    def command(name: str, run: Any, text: str) -> Any:
        made = subparsers.add_parser(
            name, help=text, description=f"{text.capitalize()}.", allow_abbrev=False
        )
        made.set_defaults(run=run)
        return made.add_argument

    center = {"type": Path, "metavar": "CENTER", "help": "folder of the coordinator"}
    add = command("provision", _provision, "make the root and the server's kit")
    add("center", **{**center, "help": "new folder of the coordinator"})
    add("--host", default=HOST, help=f"name by which sites reach the server ({HOST})")
    add("--port", type=int, default=PORT, help=f"the one port it opens ({PORT})")
    valid = f"days for which certificates are valid ({DAYS})"
    add("--days", type=int, default=DAYS, metavar="N", help=valid)
    add = command("request", _request, "make the key of a site, and a request for it")
    add("site", metavar="SITE", help="name of the site, as in the plan")
    add("home", type=Path, metavar="HOME", help="folder of the site; the key stays in")
    sent = "the request, which is sent to the coordinator"
    add("--out", type=Path, required=True, metavar="FILE", help=sent)
    add = command("sign", _sign, "answer the request of a site with a certificate")
    add("center", **center)
    add("request", type=Path, metavar="REQUEST", help="what `request` wrote")
    sent = "the answer, which is sent to the site"
    add("--out", type=Path, required=True, metavar="FILE", help=sent)
    add = command("server", _server, "run the server, until interrupted")
    add("center", **center)
    add = command("client", _client, "take part as a site, until interrupted")
    add("home", type=Path, metavar="HOME", help="folder of the site, with its key")
    add("plan", type=Path, metavar="PLAN", help="the plan that this site signed")
    add("data", metavar="DATA", help="records of the site, a file")
    add_reading(add)
    first = "the answer to the request of the site, the first time"
    add("--answer", type=Path, metavar="FILE", help=first)
    add = command("run", _run, "run a plan at sites that take part")
    add("center", **center)
    add("plan", type=Path, metavar="PLAN", help="the plan that all sites signed")
    named = "the sites (those that the plan names)"
    add("--sites", type=_names, default=(), metavar="A,B,C", help=named)
    kept = "folder that keeps the answers of all rounds"
    add("--out", type=Path, required=True, metavar="DIR", help=kept)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


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
