"""The commands `statcv sites …`: a cross-validation over sites."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from statcv import sites
from statcv.cli import files
from statcv.errors import ArgumentError, DataError, SiteError
from statcv.folds import by_hash
from statcv.folds.strata import as_number
from statcv.models import Logit
from statcv.results.summary import Summary
from statcv.sites import agreement, disclosure, messages, running, transports
from statcv.sites.transports import federated, nvflare
from statcv.words import listed

Party: TypeAlias = transports.CoordinatorParty | transports.SiteParty

AGREED = ["k", "model", "rebalance", "metrics", "cell", "bins", "rounds"]
AGREED += ["permutations", "sites", "seed"]
LOOK = 0.2  # seconds between two checks whether the server has ended
SIZES = {"trees": "rounds", "depth": "depth", "learning_rate": "learning_rate"}
SIZES |= {"leaf": "leaf"}


# ---- the plan, and the records of a site ----


def read_site_data(
    plan: sites.SitesPlan, name: str, layout: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the records of a site; identifiers and agreed levels of text are text."""
    used = agreement.columns_of(plan.formula)
    text = [] if plan.stratify["by"] == "quantile" else plan.stratify.get("columns", [])
    text = [column for column in text if column not in used]
    text += [n for n, levels in plan.levels.items() if isinstance(levels[0], str)]
    return files.read_data(name, layout, text)


def read_plan(path: Path) -> sites.SitesPlan:
    """Return the plan in a file.

    Raises
    ------
    ArgumentError
        If there is no file.
    """
    if (text := transports.read(path)) is None:
        raise ArgumentError(f"there is no file {path}.")
    return sites.SitesPlan.from_json(text)


def _agree(options: argparse.Namespace) -> None:
    given = {name: getattr(options, name) for name in AGREED}
    given["stratify"] = _stratifier(options)
    levels = "--levels gives the levels of a column"
    given["levels"] = files.by_name(options.levels, levels)
    if options.decisions is not None:
        given["decisions"] = [*map(as_number, options.decisions)]
        if wrong := [one for one in given["decisions"] if isinstance(one, str)]:
            raise ArgumentError(f"--decisions takes numbers, not {wrong[0]!r}.")
    if options.C is not None:
        if options.model != "ridge":
            raise ArgumentError("--C means nothing without --model ridge.")
        given["model"] = Logit(C=options.C)
    if (trees := _trees_of(options)) is not None:
        given["model"] = trees
    named = {name: value for name, value in given.items() if value is not None}
    plan = sites.agree(options.formula, **named)
    if options.out is None:
        print(plan.to_json(), end="")
        return
    transports.write(options.out, plan.to_json().encode())
    print(plan)
    if plan.key_name is not None:
        print(f"key: its name is {plan.key_name}; the plan does not hold it")
    print(f"\nWritten: {options.out}")


def _stratifier(options: argparse.Namespace) -> Any:
    """Return what gives the fold; the key is not an option."""
    if options.by_quantile is None:
        files.refuse(options, ("thresholds", "per_fold"), "without --by-quantile")
        names = files.one_or_more(options.by_hash)
        return names and by_hash(names)
    if options.by_hash is not None:
        raise ArgumentError("give either --by-hash or --by-quantile.")
    return files.quantile_bins(options, options.by_quantile)


def _trees_of(options: argparse.Namespace) -> sites.Trees | None:
    """Return the trees that options describe; None if they ask for another model."""
    if options.model != "trees":
        files.refuse(options, ("cuts", *SIZES), "without --model trees")
        return None
    every = {argument: getattr(options, name) for name, argument in SIZES.items()}
    given = {name: value for name, value in every.items() if value is not None}
    return sites.Trees(dict(options.cuts or ()), **given)


def _disclose(options: argparse.Namespace) -> None:
    plan = read_plan(options.plan)
    sheet = sites.disclosure_sheet(plan)
    print(f"{plan}\n")
    print(f"What leaves each site, from at least {plan.cell} records behind a count:\n")
    print(sheet.to_string(index=False))
    most = f"the run ends after {plan.rounds} rounds at the latest."
    print(f"\n`times` is how often at most: {most}")
    if plan.grown:
        print(f"\n{disclosure.UNGUARDED}")
    if options.out:
        print(f"\nWritten: {files.write_table(options.out, sheet)}")


# ---- the parties ----


def _coordinate(options: argparse.Namespace) -> None:
    plan = read_plan(options.plan)
    with transports.locked(options.home):
        home = transports.coordinate(options.home, plan, options.sites or ())
        print(f"{plan}\n")
        _tell_key("The coordinator's key", home)
        print(_party(home).step(transports.Exchange(options.exchange)))


def _join(options: argparse.Namespace) -> None:
    plan, site = read_plan(options.plan), options.site
    if plan.grown:
        federated.need_plugin()
    file = Path(options.data)
    where = str(file.resolve()) if file.exists() else options.data
    layout = files.layout_of(options)
    data, told = _records(plan, site, options.data, layout), (where, layout)
    more = (*told, options.coordinator, options.permit_another_plan)
    with transports.locked(options.home):
        home = transports.join(options.home, plan, site, data, *more)
    print(f"{plan}\n\nSite {site} can take part: its data suit the plan.")
    _tell_key(f"The key of site {site}", home)
    print(f"Its public part is {options.home / transports.card_name(site)}.")
    print(f"Next: statcv sites step EXCHANGE --home {options.home}")


def _tell_key(what: str, home: transports.Home) -> None:
    print(f"{what} is {transports.key_name(home.key.public)}; compare it by telephone.")


def _records(
    plan: sites.SitesPlan, site: str, name: str | None, layout: Mapping[str, Any]
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
def _home(folder: Path) -> Iterator[transports.Home]:
    """Open a home, and keep other processes from it."""
    transports.Home.open(folder)
    with transports.locked(folder):
        yield transports.Home.open(folder)


def _party(home: transports.Home, grow: sites.Grow | None = None) -> Party:
    if not home.is_site:
        return transports.CoordinatorParty(home)
    layout = {name: home.told[name] for name in files.LAYOUT if name in home.told}
    data = partial(_records, home.plan, home.party, home.told.get("data"), layout)
    return transports.SiteParty(home, data, grow)


def _grower(options: argparse.Namespace) -> sites.Grow | None:
    """Return what grows the trees of a site, if options name a server."""
    both = options.trees, options.certificates
    if both == (None, None):
        return None
    if None in both:
        raise ArgumentError("trees need both --trees HOST:PORT and --certificates DIR.")
    federated.need_plugin()
    return federated.Grower(federated.Server(*both))


def _step(options: argparse.Namespace) -> None:
    if options.wait is not None and not options.wait > 0:
        raise ArgumentError("--wait takes a positive number of seconds.")
    grow, told = _grower(options), ""
    with _home(options.home) as home:
        party, exchange = _party(home, grow), transports.Exchange(options.exchange)
        while True:
            turn = party.step(exchange)
            if str(turn) != told:
                print(turn, flush=True)
            if turn.ended or options.wait is None:
                return
            told = str(turn)
            if not turn.moved:
                time.sleep(options.wait)


# ---- afterwards ----


def _result(options: argparse.Namespace) -> None:
    with _home(options.home) as home:
        party = _party(home)
        if not isinstance(party, transports.CoordinatorParty):
            raise SiteError(
                f"{options.home} is the home of site {home.party}; the coordinator has "
                "the result."
            )
        number = len(transports.Exchange(options.exchange).files())
        result = running.make_result(party.ended(), files=number)
    summary = result.summary(options.level)
    print(summary)
    files.make_folder(options.out)
    if options.out:
        written = _write_result(result, options.out, options.level, summary)
        print(f"\nWritten to {options.out}: {', '.join(p.name for p in written)}")


def _write_result(
    result: sites.SitesResult, folder: Path, level: float, summary: Summary
) -> list[Path]:
    """Write the tables of a result over sites, its summary and a forest plot."""
    by_site = result.by_site(level=level).reset_index()
    tables = {"metrics": result.metrics(level), "sites": by_site}
    tables["folds"] = result.folds
    written, trees = [], result.run.progress.forests
    if trees is None:
        tables["coefficients"] = result.coefficients
        tables["model"] = result.model.reset_index()
    else:
        # the trees fitted to all records, for xgboost.Booster
        written.append(folder / "trees.ubj")
        written[0].write_bytes(trees.raw[-1])
    written.append(files.write_text(folder / "summary.txt", summary))
    written += [files.write_table(folder / f"{n}.csv", t) for n, t in tables.items()]
    forest = files.write_picture(folder / "sites.png", lambda: result.plot(level=level))
    return [*written, forest]


def _read_log(file: Path) -> tuple[str, list[sites.Entry]]:
    """Read the name of a site, and its log."""
    entries = transports.read_log(file)
    if not entries:
        raise SiteError(f"{file} is not a log of a site that has answered.")
    return str(sites.Message.of(entries[0].sent).header.get("site")), entries


def _verify(options: argparse.Namespace) -> None:
    plan = read_plan(options.plan or options.log.parent / "plan.json")
    site, entries = _read_log(options.log)
    kept = transports.read_trees(options.log.parent / transports.TREES_FILE)
    data = _records(plan, site, options.data, files.layout_of(options))
    found = sites.verify(plan, entries, data, site, kept)
    if not found.passed:
        raise SiteError(f"site {site}: {found.sentence}.")
    print(f"Site {site}: {found.sentence}.")


def _audit(options: argparse.Namespace) -> None:
    plan = read_plan(options.plan or options.logs[0].parent / "plan.json")
    logs: dict[str, list[sites.Entry]] = {}
    for file in options.logs:
        site, entries = _read_log(file)
        if site in logs:
            raise SiteError(f"{file} is a second log of site {site}; give one of each.")
        logs[site] = entries
    rounds = sites.audit_logs(plan, logs)
    print(
        f"Sites {listed(sorted(logs))}: {rounds} rounds were published as they "
        "should be."
    )


# ---- servers: that of trees, and those of NVFLARE ----


def _trees(options: argparse.Namespace) -> None:
    """Run XGBoost's server for the sites of a plan."""
    plan = read_plan(options.plan)
    number = options.number or len(plan.sites)
    if not plan.grown:
        raise ArgumentError("the plan has no trees; no server is needed.")
    if number < messages.MINIMUM_SITES or (plan.sites and number != len(plan.sites)):
        raise ArgumentError(
            f"--number must be that of the sites, at least {messages.MINIMUM_SITES}."
        )
    with (
        _ending_by_signal(),
        federated.serving(number, options.certificates, options.port) as process,
    ):
        where = f"the server for {number} sites is at port {options.port}"
        _tell(f"{where}; it serves one step of growing trees.")
        while not process.ended:
            time.sleep(LOOK)
        raise SiteError("the server has ended; start it again for another run.")


def _provision(options: argparse.Namespace) -> None:
    where = {"host": options.host, "port": options.port}
    nvflare.provision(options.center, **where, days=options.days)
    print(f"{options.center}/root signs certificates; nobody else may read it.")
    print(f"The server will open port {options.port} at {options.host}, and no other.")


def _request(options: argparse.Namespace) -> None:
    made = nvflare.request(options.home, options.site)
    aloud = nvflare.fingerprint(made)
    options.out.write_bytes(made)
    print(f"Send {options.out} to the coordinator, and read to them: {aloud}")


def _sign(options: argparse.Namespace) -> None:
    asked = options.request.read_bytes()
    site, answer = nvflare.sign(options.center, asked)
    aloud = nvflare.fingerprint(asked)
    options.out.write_bytes(answer)
    print(f"Send {options.out} to site {site} if they read to you: {aloud}")


def _server(options: argparse.Namespace) -> None:
    with _ending_by_signal():
        nvflare.serve(options.center, _tell)


def _client(options: argparse.Namespace) -> None:
    answer = options.answer.read_bytes() if options.answer else None
    plan = read_plan(options.plan)
    data = read_site_data(plan, options.data, files.layout_of(options))
    with _ending_by_signal():
        nvflare.take_part(options.home, plan, data, answer, _tell)


def _run(options: argparse.Namespace) -> None:
    plan, kit = read_plan(options.plan), options.center / "coordinator"
    ended = nvflare.run_plan(kit, plan, options.sites, options.out)
    print(sites.SitesResult(ended).summary())


def _tell(sentence: str) -> None:
    """Say what goes on, and how to end it."""
    print(f"{sentence} Ctrl-C ends.", file=sys.stderr, flush=True)


@contextmanager
def _ending_by_signal() -> Iterator[None]:
    """End as by Ctrl-C when a service manager asks, so that snapshots are removed."""

    def end(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


COMMANDS = {
    f"sites {command.__name__[1:]}": command
    for command in (
        *(_agree, _disclose, _coordinate, _join, _step, _result, _verify, _audit),
        *(_trees, _provision, _request, _sign, _server, _client, _run),
    )
}
