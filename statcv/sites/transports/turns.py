"""What a party of an exchange of files has done in its turn, or whom it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Turn:
    """What a party has done, or whom it waits for.

    Attributes
    ----------
    sentence : str
    moved : bool
        Whether a file was left for the others.
    ended : bool
        Whether the party has nothing more to do.
    """

    sentence: str
    moved: bool
    ended: bool = False

    def __str__(self) -> str:
        return self.sentence


def waiting(who: str, did: Sequence[str], what: str) -> Turn:
    """Return the turn of a party that waits."""
    parts = [*did, f"waits for {what}"]
    return Turn(f"{who} {' and '.join(parts)}.", bool(did))
