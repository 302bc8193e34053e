"""How all tests run: no property is timed, since machines differ and are shared.

The usual run takes fifteen examples of each property and leaves the slow tests out, so
that it ends within four minutes on two idle cores. The slow tests, and forty examples
of each property, are `pytest -m "slow or hypothesis" --hypothesis-profile=thorough`.
"""

from hypothesis import settings

usual = settings(deadline=None, max_examples=15)
settings.register_profile("statcv", usual)
settings.register_profile("thorough", usual, max_examples=40)
settings.load_profile("statcv")
