"""A job of NVFLARE for one plan: names of two classes, and no code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from statcv.sites.plan import SitesPlan
from statcv.sites.transports.nvflare.home import PLAN
from statcv.sites.transports.nvflare.names import CONTROLLER, EXECUTOR, TASK

WAIT: Final = 0.05  # seconds after which a site asks again whether there is a message
LOST: Final = 1.0  # seconds after which a site whose process ended is given up


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
    server: dict[str, Any] = {
        "format_version": 2,
        "server": {"task_request_interval": WAIT},
        "dead_client_grace_period": LOST,
        "dead_client_check_lead_time": LOST,
        "task_data_filters": [],
        "task_result_filters": [],
        "components": [],
        "workflows": [{"id": "statcv", "path": CONTROLLER, "args": {}}],
    }
    site: dict[str, Any] = {
        "format_version": 2,
        "executors": [
            {"tasks": [TASK], "executor": {"path": EXECUTOR, "args": {}}},
        ],
        "task_data_filters": [],
        "task_result_filters": [],
        "components": [],
    }
    _put(folder / "meta.json", meta)
    _put(folder / "app_server" / "config" / "config_fed_server.json", server)
    _put(folder / "app_site" / "config" / "config_fed_client.json", site)
    (folder / "app_server" / "config" / PLAN).write_text(plan.to_json())


def _put(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n")
