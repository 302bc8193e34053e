"""The versions of the packages on which the numbers of a fit depend."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

PACKAGES: tuple[str, ...] = (
    *("statcv", "numpy", "scipy", "pandas", "patsy"),
    *("scikit-learn", "statsmodels", "xgboost"),
)


def installed(names: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of packages; those that are not installed are omitted.

    Parameters
    ----------
    names : sequence of str
        Names of packages; those on which the numbers of a fit depend by default.

    Examples
    --------
    >>> list(installed(["numpy", "no-such-package"]))
    ['numpy']
    """
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
