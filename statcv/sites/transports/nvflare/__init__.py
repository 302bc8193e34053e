"""Messages over NVFLARE: processes, mutual TLS, and no code but two classes of ours.

What people do, in order, where the server and the sites are apart:

1. Where the server is: :func:`provision` makes a root, and the server's kit.
2. At each site: :func:`request` makes a key, and a request for a certificate.
3. Where the server is: :func:`sign` answers it. The two read the :func:`fingerprint` to
   each other, by telephone, so that nobody else can take the place of a site.
4. Where the server is: :func:`serve` starts it.
5. At each site: :func:`take_part` checks the records, and waits for the run.
6. Where the server is: :func:`run_plan` runs the plan.
"""

from importlib import import_module
from typing import Any

from statcv.sites.transports.nvflare.local import NVFlare, need_nvflare

__all__ = ["NVFlare"]

_MODULES = {
    "jobs": "answering clear prepare write_job",
    "provisioning": "fingerprint install provision request sign",
    "running": "run_job run_plan serve start_client start_server stop take_part",
}


def __getattr__(name: str) -> Any:
    """Import what needs NVFLARE when it is first used."""
    for module, names in _MODULES.items():
        if name in names.split():
            if module != "jobs":
                need_nvflare()
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
