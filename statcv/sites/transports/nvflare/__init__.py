"""Messages over NVFLARE: processes, mutual TLS, and no code but two classes of ours."""

from statcv.sites.transports.nvflare.local import NVFlare
from statcv.sites.transports.nvflare.names import PORT
from statcv.sites.transports.nvflare.steps import (
    provision,
    request,
    run_plan,
    serve,
    sign,
    take_part,
)

__all__ = [
    "PORT",
    "NVFlare",
    "provision",
    "request",
    "run_plan",
    "serve",
    "sign",
    "take_part",
]
