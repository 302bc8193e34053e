"""How all tests run: no property is timed, since machines differ and are shared."""

from hypothesis import settings

settings.register_profile("statcv", deadline=None, derandomize=settings().derandomize)
settings.load_profile("statcv")
