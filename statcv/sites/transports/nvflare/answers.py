"""What the server keeps of a run: the answers of all sites, round by round."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from statcv.errors import SiteError
from statcv.sites.coordinator import Coordinator
from statcv.sites.plan import SitesPlan

ANSWERS: Final = "answers.jsonl"
OUTCOME: Final = "outcome.txt"  # empty, or why the run ended before its time


class Answers:
    """A file with one line of answers for each round."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ANSWERS
        self.path.write_text("")

    def add(self, replies: Sequence[bytes]) -> None:
        """Add the answers of one round."""
        line = json.dumps([base64.b64encode(one).decode() for one in replies])
        with self.path.open("a") as file:
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
