"""A bar that moves with the fits."""

from __future__ import annotations

import sys
from typing import Any


class NoBar:
    """A bar that nobody sees."""

    initial = 0

    def __enter__(self) -> NoBar:
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def update(self, n: int = 1) -> None:
        """Move on, unseen."""


def progress_bar(total: int, progress: bool | None, unit: str = "fold") -> Any:
    """Return a bar of tqdm, which is drawn in a notebook too.

    Parameters
    ----------
    total : int
        The number of fits, or of what else is counted.
    progress : bool or None
        Whether to show it; where None, after two seconds and at a terminal only.
    unit : str
        What one of them is called.
    """
    if progress is False or (progress is None and not sys.stderr.isatty()):
        return NoBar()
    if progress:
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm
    delay = 2 if progress is None else 0
    return tqdm(total=total, desc=f"{unit}s", unit=unit, delay=delay)
