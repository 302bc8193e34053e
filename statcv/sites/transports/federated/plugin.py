"""Whether XGBoost is installed with its federated plugin."""

from __future__ import annotations

from typing import Final

from statcv.errors import MissingPackageError
from statcv.sites.forests import version_of_xgboost

# the first supported version, and the first that is not
VERSIONS: Final = ((3, 2), (3, 4))
INSTALL: Final = 'pip install "statcv[sites-trees]"'


def need_plugin() -> None:
    """Raise an error that says what to install, unless XGBoost has its plugin.

    Raises
    ------
    MissingPackageError
        If XGBoost is missing, of another version, or built without the plugin, or if
        there is no package for certificates.
    """
    found = version_of_xgboost()
    parts = found.split(".")[:2]
    numbers = tuple(int(part) for part in parts if part.isdigit())
    if not VERSIONS[0] <= numbers < VERSIONS[1]:
        here = f"xgboost {found} is installed" if found else "xgboost is not installed"
        raise MissingPackageError(
            f"trees over sites need xgboost 3.2 or 3.3 with its federated plugin, and "
            f"{here}: {INSTALL}"
        )
    import xgboost

    if not xgboost.build_info().get("USE_FEDERATED"):
        raise MissingPackageError(
            f"xgboost {found} is installed without its federated plugin, which the "
            f"wheels of PyPI for Linux have: {INSTALL}"
        )
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise MissingPackageError(
            f"trees are grown under mutual TLS, which needs cryptography: {INSTALL}"
        ) from None
