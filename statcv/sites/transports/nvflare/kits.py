"""The kits of NVFLARE, and what the processes that are started from them permit."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from nvflare.lighter.entity import Participant, Project
from nvflare.lighter.impl.static_file import StaticFileBuilder
from nvflare.lighter.impl.workspace import WorkspaceBuilder
from nvflare.lighter.provisioner import Provisioner

from statcv.errors import ArgumentError, SiteError
from statcv.sites.transports.nvflare.jobs import CONTROLLER, EXECUTOR, PROJECT

# seconds without a heartbeat, after which a site is gone
MAX_SECONDS_WITHOUT_HEARTBEAT: Final = 10.0
NOT_STREAMED: Final = ("site_log_streamer", "log_receiver")
PERMISSIONS: Final = {
    **dict.fromkeys(("submit_job", "manage_job", "download_job", "view"), "any"),
    **dict.fromkeys(("clone_job", "operate", "shell_commands", "byoc"), "none"),
    "server-predeployed-flwr": "none",
}
_DEFAULT: Final = ".default"  # files that NVFLARE reads where a site has no own


@contextmanager
def made_kits(participants: list[Any], *certificates: Any) -> Iterator[Path]:
    """Make kits in a folder that is removed afterwards.

    Parameters
    ----------
    participants : list
    *certificates : Builder
        What makes keys and certificates, if there are none yet.
    """
    # Jobs are signed by who submits them, and sites refuse others.
    static = StaticFileBuilder(
        config_folder="config", scheme="grpc", require_signed_jobs=True
    )
    project = Project(PROJECT, "statcv sites", participants)
    silent = logging.Logger("kits", logging.CRITICAL + 1)
    with tempfile.TemporaryDirectory(prefix="statcv-") as place:
        made = Provisioner(place, [WorkspaceBuilder(), static, *certificates])
        told = made.provision(project, logger=silent)
        if "current_prod_dir" not in told:
            raise SiteError("NVFLARE did not make its kits.")
        yield Path(told["current_prod_dir"])


def participant(kind: str, name: str, props: dict[str, Any]) -> Any:
    """Return the server, the coordinator or a site of the kits."""
    try:
        return Participant(kind, name, PROJECT, props)
    except ValueError as error:
        raise ArgumentError(f"NVFLARE refuses the name {name!r}: {error}") from None


def restrict(kit: Path) -> None:
    """Let nobody but the owner read a kit."""
    kit.chmod(0o700)
    for name in ("start.sh", "sub_start.sh", "stop_fl.sh", "fl_admin.sh"):
        (kit / "startup" / name).unlink(missing_ok=True)  # statcv starts processes


def restrict_client(kit: Path) -> None:
    """Write what a site permits, and let it send no logs."""
    resources = _defaults(kit)
    resources["allow_log_streaming"] = False
    # NVFLARE sends the server this entry of the file, and nothing else of it.
    resources["client"]["site_config"] = {"allow_log_streaming": False}
    _permit(kit, resources, PERMISSIONS)


def restrict_server(kit: Path) -> None:
    """Write what the server permits, which runs one job at a time."""
    resources = _defaults(kit)
    resources["servers"][0]["heart_beat_timeout"] = MAX_SECONDS_WITHOUT_HEARTBEAT
    for one in resources["components"]:
        if one["id"] == "job_scheduler":
            one["args"] = {"max_jobs": 1, "min_schedule_interval": 1.0}
    _permit(kit, resources, {**PERMISSIONS, "operate": "any"})


def place_server(kit: Path) -> None:
    """Let the server keep jobs in its kit, wherever that is now."""
    resources = json.loads((kit / "local" / "resources.json").read_text())
    snapshots = resources["snapshot_persistor"]["args"]["storage"]["args"]
    snapshots["root_dir"] = str(kit.resolve() / "snapshots")
    for one in resources["components"]:
        if one["id"] == "job_manager":
            one["args"]["uri_root"] = str(kit.resolve() / "jobs")
    _write_local(kit, "resources.json", resources)


def _permit(kit: Path, resources: dict[str, Any], rights: dict[str, str]) -> None:
    """Write what a kit permits: two classes, no code, no logs of it elsewhere."""
    restrict(kit)
    resources["class_list_enforcement_mode"] = "enforce"
    resources["class_allow_list"] = [CONTROLLER, EXECUTOR]
    resources["components"] = [
        one for one in resources["components"] if one["id"] not in NOT_STREAMED
    ]
    rules = {"format_version": "1.0", "permissions": {"project_admin": rights}}
    for name, content in (("resources.json", resources), ("authorization.json", rules)):
        (kit / "local" / (name + _DEFAULT)).unlink()
        _write_local(kit, name, content)


def _defaults(kit: Path) -> dict[str, Any]:
    """Return the resources of a kit as NVFLARE makes them."""
    path = kit / "local" / ("resources.json" + _DEFAULT)
    return dict(json.loads(path.read_text()))


def _write_local(kit: Path, name: str, content: dict[str, Any]) -> None:
    (kit / "local" / name).write_text(json.dumps(content, indent=2) + "\n")
