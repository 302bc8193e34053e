"""How all tests run: no property is timed, since machines differ and are shared.

The usual run takes fifteen examples of each property and leaves the slow tests out, so
that it ends within four minutes on two idle cores. The slow tests, and forty examples
of each property, are `pytest -m "slow or hypothesis" --hypothesis-profile=thorough`.

Tests run side by side, so that each has one thread: threads that wait for a core which
another test has are many times slower than one.
"""

import os

from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when a library is loaded

usual = settings(deadline=None, max_examples=15)
settings.register_profile("statcv", usual)
settings.register_profile("thorough", usual, max_examples=40)
settings.load_profile("statcv")
