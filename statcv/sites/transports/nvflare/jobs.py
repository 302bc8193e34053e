"""A job of NVFLARE for one plan: names of two classes and no code, and its answers.

While a site takes part, its home holds a snapshot of its records. The processes that
NVFLARE starts find the home by the environment.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pandas as pd

from statcv.errors import SiteError
from statcv.formula import as_frame
from statcv.sites.coordinator import Coordinator
from statcv.sites.plan import SitesPlan
from statcv.sites.site import NO_SERVER
from statcv.sites.site_records import columns_read
from statcv.sites.transports.homes import OWN, Home
from statcv.sites.transports.parties import SiteParty

CONTROLLER: Final = "statcv.sites.transports.nvflare.controller.SitesController"
EXECUTOR: Final = "statcv.sites.transports.nvflare.executor.SiteExecutor"
TASK: Final = "step"
MESSAGE: Final = "message"  # the one item that is sent, bytes that statcv reads
THERE: Final = "statcv.there"  # asks whether the process of a site is there
LEAVING: Final = "statcv.leaving"  # says that the process of a site is asked to end
PROJECT: Final = "statcv"
COORDINATOR: Final = "coordinator@statcv.org"  # a name; NVFLARE sends no mail
PLAN: Final = "plan.json"
ANSWERS: Final = "answers.jsonl"
OUTCOME: Final = "outcome.txt"  # empty, or why the run ended before its time
VARIABLE: Final = "STATCV_SITE"  # environment variable with the path of the home
RECORDS: Final = "records.pickle"
# seconds after which a site asks again whether there is a message
SECONDS_BETWEEN_REQUESTS: Final = 0.05
# seconds after which a site whose process ended is given up
MAX_SECONDS_LOST: Final = 1.0


def write_job(folder: Path, plan: SitesPlan, sites: Sequence[str]) -> None:
    """Write the job; the plan goes to the server, since sites have their own.

    Parameters
    ----------
    folder : Path
    plan : SitesPlan
    sites : sequence of str
        All sites; the job does not begin, and does not go on, without one of them.
    """
    meta = {
        "name": folder.name,
        "resource_spec": {},
        "min_clients": len(sites),
        "mandatory_clients": list(sites),
        "deploy_map": {"app_server": ["server"], "app_site": list(sites)},
    }
    none = ("task_data_filters", "task_result_filters", "components")
    common: dict[str, Any] = {"format_version": 2, **{name: [] for name in none}}
    server: dict[str, Any] = {
        **common,
        "server": {"task_request_interval": SECONDS_BETWEEN_REQUESTS},
        "dead_client_grace_period": MAX_SECONDS_LOST,
        "dead_client_check_lead_time": MAX_SECONDS_LOST,
        "workflows": [{"id": "statcv", "path": CONTROLLER, "args": {}}],
    }
    executor = {"path": EXECUTOR, "args": {}}
    site = {**common, "executors": [{"tasks": [TASK], "executor": executor}]}
    write_json(folder / "meta.json", meta)
    write_json(folder / "app_server" / "config" / "config_fed_server.json", server)
    write_json(folder / "app_site" / "config" / "config_fed_client.json", site)
    (folder / "app_server" / "config" / PLAN).write_text(plan.to_json())


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a file of settings, in a folder that is made if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n")


# ---- what the server keeps of a run ----


def keep_answers(path: Path, replies: Sequence[bytes]) -> None:
    """Add the answers of one round to a file, one line each."""
    line = json.dumps([base64.b64encode(one).decode() for one in replies])
    with path.open("a") as file:
        file.write(line + "\n")


def find_answers(folder: Path) -> Path:
    """Return the file of answers of a run that has reached its end.

    Raises
    ------
    SiteError
        If the run ended before its time, with its reason.
    """
    found = next(folder.rglob(OUTCOME), None)
    if found is None:
        raise SiteError("the run ended before it had begun; the server's log says why.")
    if why := found.read_text():
        raise SiteError(why)
    return found.with_name(ANSWERS)


def replayed(plan: SitesPlan, folder: Path) -> Coordinator:
    """Return the coordinator of a run, from the answers that were kept."""
    coordinator = Coordinator(plan)
    coordinator.start()
    for line in find_answers(folder).read_text().splitlines():
        coordinator.step([base64.b64decode(one) for one in json.loads(line)])
    if not coordinator.ended:
        raise SiteError("the answers that were kept are not all of them.")
    return coordinator


# ---- the snapshot of a site ----


def prepare(folder: Path, name: str, plan: SitesPlan, data: Any) -> None:
    """Put the plan, and a snapshot of the records, into the home of a site.

    Parameters
    ----------
    folder : Path
    name : str
        Name of the site.
    plan : SitesPlan
    data : data frame
        Records of the site. The snapshot has only the columns that the plan reads, and
        the owner alone can read it.
    """
    frame = as_frame(data)
    read = [name for name in columns_read(plan) if name in frame]
    Home.make(folder, name, plan, {})
    new = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with open(os.open(folder / RECORDS, new, OWN), "wb") as file:
        frame[read].to_pickle(file)


def clear(folder: Path) -> None:
    """Remove the snapshot of the records."""
    (folder / RECORDS).unlink(missing_ok=True)


def answering(folder: Path) -> SiteParty:
    """Return the site that answers from its home, with its log and its ledger there.

    A run that was interrupted begins again with the same messages, to which a site
    gives the same answers.
    """
    home = Home.open(folder)
    if home.plan.grown:
        raise SiteError(NO_SERVER)
    return SiteParty(home, partial(_records, folder))


def _records(folder: Path) -> pd.DataFrame:
    """Read the file that the site itself has written."""
    try:
        return pd.DataFrame(pd.read_pickle(folder / RECORDS))
    except FileNotFoundError:
        raise SiteError(
            f"its home has no {RECORDS}; `statcv sites client` puts it there."
        ) from None
