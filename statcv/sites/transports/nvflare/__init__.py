"""Messages over NVFLARE: processes, mutual TLS, and no code but two classes of ours."""

from statcv.sites.transports.nvflare.local import NVFlare

__all__ = ["NVFlare"]
