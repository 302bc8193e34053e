"""How all tests run: no property is timed, since machines differ and are shared.

Forty examples of each property, unless it says how many: the whole suite is to end
within four minutes on two idle cores.
"""

from hypothesis import settings

usual = settings().derandomize
settings.register_profile("statcv", deadline=None, max_examples=40, derandomize=usual)
settings.load_profile("statcv")
