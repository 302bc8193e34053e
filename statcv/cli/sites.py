"""The commands `statcv sites …`: a cross-validation over sites by files."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statcv.cli.export import make_folder, write_sites_result, write_table
from statcv.cli.files import (
    LAYOUT,
    by_name,
    layout_of,
    one_or_more,
    quantile_bins,
    read_plan,
    read_site_data,
    refuse,
)
from statcv.cli.sites_servers import NVFLARE, grower, need_trees, serve_trees, trees_of
from statcv.errors import ArgumentError, DataError, SiteError
from statcv.words import listed

if TYPE_CHECKING:
    import pandas as pd

    from statcv.sites import Entry, Grow, SitesPlan
    from statcv.sites.transports import CoordinatorParty, Home, SiteParty

AGREED = ["k", "model", "rebalance", "metrics", "cell", "bins", "rounds"]
AGREED += ["permutations", "sites", "seed"]


# ---- the plan ----


def _agree(options: argparse.Namespace) -> None:
    from statcv.sites import agree
    from statcv.sites.transports import write

    given = {name: getattr(options, name) for name in AGREED}
    given["stratify"] = _stratifier(options)
    levels = "--levels gives the levels of a column"
    given["levels"] = by_name(options.levels, levels)
    if options.decisions is not None:
        given["decisions"] = [_share(text) for text in options.decisions]
    if options.C is not None:
        given["model"] = _ridge(options)
    if (trees := trees_of(options)) is not None:
        given["model"] = trees
    named = {name: value for name, value in given.items() if value is not None}
    plan = agree(options.formula, **named)
    if options.out is None:
        print(plan.to_json(), end="")
        return
    write(options.out, plan.to_json().encode())
    print(plan)
    if plan.key_name is not None:
        print(f"key: its name is {plan.key_name}; the plan does not hold it")
    print(f"\nWritten: {options.out}")


def _stratifier(options: argparse.Namespace) -> Any:
    """Return what gives the fold; the key is not an option."""
    from statcv.folds import by_hash

    if options.by_quantile is None:
        refuse(options, ("thresholds", "per_fold"), "without --by-quantile")
        names = one_or_more(options.by_hash)
        return names and by_hash(names)
    if options.by_hash is not None:
        raise ArgumentError("give either --by-hash or --by-quantile.")
    return quantile_bins(options, options.by_quantile)


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"--decisions takes numbers, not {text!r}.") from None


def _ridge(options: argparse.Namespace) -> Any:
    from statcv.models import Logit

    if options.model != "ridge":
        raise ArgumentError("--C means nothing without --model ridge.")
    return Logit(C=options.C)


def _disclose(options: argparse.Namespace) -> None:
    from statcv.sites import disclosure_sheet
    from statcv.sites.disclosure import UNGUARDED

    plan = read_plan(options.plan)
    sheet = disclosure_sheet(plan)
    print(f"{plan}\n")
    print(f"What leaves each site, from at least {plan.cell} records behind a count:\n")
    print(sheet.to_string(index=False))
    print(
        f"\n`times` is how often at most: the run ends after {plan.rounds} rounds at "
        "the latest."
    )
    if plan.grown:
        print(f"\n{UNGUARDED}")
    if options.out:
        print(f"\nWritten: {write_table(options.out, sheet)}")


# ---- the parties ----


def _coordinate(options: argparse.Namespace) -> None:
    from statcv.sites.transports import coordinate, locked

    plan = read_plan(options.plan)
    with locked(options.home):
        home = coordinate(options.home, plan, options.sites or ())
        print(f"{plan}\n")
        _tell_key("The coordinator's key", home)
        _step_once(home, options.exchange)


def _join(options: argparse.Namespace) -> None:
    from statcv.sites.transports import card_name, join, locked

    plan, site = read_plan(options.plan), options.site
    need_trees(plan)
    file = Path(options.data)
    where = str(file.resolve()) if file.exists() else options.data
    layout = layout_of(options)
    data = _records(plan, site, options.data, layout)
    with locked(options.home):
        home = join(
            options.home,
            plan,
            site,
            data,
            file=where,
            layout=layout,
            coordinator=options.coordinator,
            permit=options.permit_another_plan,
        )
    print(f"{plan}\n\nSite {site} can take part: its data suit the plan.")
    _tell_key(f"The key of site {site}", home)
    print(f"Its public part is {options.home / card_name(site)}.")
    print(f"Next: statcv sites step EXCHANGE --home {options.home}")


def _tell_key(what: str, home: Home) -> None:
    from statcv.sites.transports import key_name

    print(f"{what} is {key_name(home.key.public)}; compare it by telephone.")


def _records(
    plan: SitesPlan, site: str, name: str | None, layout: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the records of a site, or raise an error without any value of them."""
    if name is None:
        raise SiteError(f"site {site}: the home does not say which file has its data.")
    try:
        return read_site_data(plan, name, layout)
    except DataError as error:
        if not Path(name).exists():
            raise SiteError(f"site {site}: {error}") from None
        raise SiteError(
            f"site {site}: its data cannot be read; `statcv data {name}` says why, "
            "at the site."
        ) from None


@contextmanager
def _home(folder: Path) -> Iterator[Home]:
    """Open a home, and keep other processes from it."""
    from statcv.sites.transports import Home, locked

    Home.open(folder)
    with locked(folder):
        yield Home.open(folder)


def _party(home: Home, grow: Grow | None = None) -> CoordinatorParty | SiteParty:
    from statcv.sites.transports import CoordinatorParty, SiteParty

    if not home.is_site:
        return CoordinatorParty(home)
    layout = {name: home.told[name] for name in LAYOUT if name in home.told}
    data = partial(_records, home.plan, home.party, home.told.get("data"), layout)
    return SiteParty(home, data, grow)


def _step_once(home: Home, folder: Path, grow: Grow | None = None) -> None:
    from statcv.sites.transports import Exchange

    print(_party(home, grow).step(Exchange(folder)))


def _step(options: argparse.Namespace) -> None:
    from statcv.sites.transports import Exchange

    grow = grower(options)
    with _home(options.home) as home:
        if options.wait is None:
            _step_once(home, options.exchange, grow)
            return
        if not options.wait > 0:
            raise ArgumentError("--wait takes a positive number of seconds.")
        party, exchange = _party(home, grow), Exchange(options.exchange)
        told = ""
        while True:
            turn = party.step(exchange)
            if str(turn) != told:
                print(turn, flush=True)
            if turn.ended:
                return
            told = str(turn)
            if not turn.moved:
                time.sleep(options.wait)


# ---- afterwards ----


def _result(options: argparse.Namespace) -> None:
    from statcv.sites.running import make_result
    from statcv.sites.transports import CoordinatorParty, Exchange

    with _home(options.home) as home:
        party = _party(home)
        if not isinstance(party, CoordinatorParty):
            raise SiteError(
                f"{options.home} is the home of site {home.party}; the coordinator has "
                "the result."
            )
        exchange = Exchange(options.exchange)
        run = party.ended()
        result = make_result(run, files=len(exchange.files()))
    summary = result.summary(options.level)
    print(summary)
    if options.out:
        make_folder(options.out)
        written = write_sites_result(result, options.out, options.level, summary)
        print(f"\nWritten to {options.out}: {', '.join(p.name for p in written)}")


def _read_log(file: Path) -> tuple[str, list[Entry]]:
    """Read the name of a site, and its log."""
    from statcv.sites import Message
    from statcv.sites.transports import read_log

    entries = read_log(file)
    if not entries:
        raise SiteError(f"{file} is not a log of a site that has answered.")
    return str(Message.of(entries[0].sent).header.get("site")), entries


def _verify(options: argparse.Namespace) -> None:
    from statcv.sites import verify
    from statcv.sites.transports import TREES_FILE, read_trees

    plan = read_plan(options.plan or options.log.parent / "plan.json")
    site, entries = _read_log(options.log)
    kept = read_trees(options.log.parent / TREES_FILE)
    data = _records(plan, site, options.data, layout_of(options))
    found = verify(plan, entries, data, site, kept)
    if not found.passed:
        raise SiteError(f"site {site}: {found.sentence}.")
    print(f"Site {site}: {found.sentence}.")


def _audit(options: argparse.Namespace) -> None:
    from statcv.sites import audit_logs

    plan = read_plan(options.plan or options.logs[0].parent / "plan.json")
    logs: dict[str, list[Entry]] = {}
    for file in options.logs:
        site, entries = _read_log(file)
        if site in logs:
            raise SiteError(f"{file} is a second log of site {site}; give one of each.")
        logs[site] = entries
    rounds = audit_logs(plan, logs)
    print(
        f"Sites {listed(sorted(logs))}: {rounds} rounds were published as they "
        "should be."
    )


SITES = {
    "sites agree": _agree,
    "sites disclose": _disclose,
    "sites coordinate": _coordinate,
    "sites join": _join,
    "sites step": _step,
    "sites result": _result,
    "sites verify": _verify,
    "sites audit": _audit,
    "sites trees": serve_trees,
    **NVFLARE,
}
