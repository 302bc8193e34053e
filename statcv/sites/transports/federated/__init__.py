"""Trees over XGBoost's federated server: processes, and mutual TLS between them."""

from statcv.sites.transports.federated.growing import Grower, growing_here
from statcv.sites.transports.federated.server import (
    Server,
    free_port,
    make_certificates,
    need_plugin,
    serving,
)

__all__ = [
    "Grower",
    "Server",
    "free_port",
    "growing_here",
    "make_certificates",
    "need_plugin",
    "serving",
]
