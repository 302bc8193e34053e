"""Names on which server and sites rely: the two classes that a job may ask for."""

from __future__ import annotations

from typing import Final

CONTROLLER: Final = "statcv.sites.transports.nvflare.controller.SitesController"
EXECUTOR: Final = "statcv.sites.transports.nvflare.executor.SiteExecutor"
TASK: Final = "step"
MESSAGE: Final = "message"  # the one item that is sent, bytes that statcv reads
THERE: Final = "statcv.there"  # asks whether the process of a site is there
LEAVING: Final = "statcv.leaving"  # says that the process of a site is asked to end
PROJECT: Final = "statcv"
COORDINATOR: Final = "coordinator@statcv.org"  # a name; NVFLARE sends no mail
PORT: Final = 8002
