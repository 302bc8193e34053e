"""The commands of ``statcv sites`` for a server and sites that NVFLARE connects."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from statcv.cli.files import layout_of, read_plan, read_site_data


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
