"""How all tests run: no property is timed, since machines differ and are shared.

Sixty examples of each property, where it does not say how many: the whole suite is to
end within five minutes on two cores.
"""

from hypothesis import settings

usual = settings().derandomize
settings.register_profile("statcv", deadline=None, max_examples=40, derandomize=usual)
settings.load_profile("statcv")
