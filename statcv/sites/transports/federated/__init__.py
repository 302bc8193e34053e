"""Trees over XGBoost's federated server: processes, and mutual TLS between them."""

from statcv.sites.transports.federated.growing import Grower, growing_here
from statcv.sites.transports.federated.plugin import need_plugin
from statcv.sites.transports.federated.server import Server, free_port, serving

__all__ = ["Grower", "Server", "free_port", "growing_here", "need_plugin", "serving"]
