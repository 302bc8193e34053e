"""Memory that is kept from one array to the next."""

from __future__ import annotations

from functools import cache

import numpy as np

# bytes of the largest array of which the allocator takes account
LARGEST = 2**25 - 2**14


@cache
def keep_memory() -> None:
    """Have the process keep memory that is freed, up to 64 MB, for the next arrays.

    New memory is slow, since the system fills each page with 0 when it is first used.
    The allocator of glibc keeps twice the size of the largest array that was freed, of
    at most 32 MB (mallopt(3), ``M_TRIM_THRESHOLD``), whether or not it was written to.
    With another allocator nothing changes.
    """
    np.empty(LARGEST, dtype=np.uint8)
