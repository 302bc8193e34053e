"""Cross-validation over sites that share no records."""

from statcv.sites.agreement import agree
from statcv.sites.coordinator import Coordinator
from statcv.sites.disclosure import disclosure_sheet
from statcv.sites.log import Ledger, verify
from statcv.sites.messages import Message
from statcv.sites.plan import SitesPlan
from statcv.sites.records import site_folds
from statcv.sites.result import SitesResult
from statcv.sites.running import run
from statcv.sites.site import Site
from statcv.sites.transports.in_process import InProcess
from statcv.sites.transports.nvflare import NVFlare

__all__ = [
    "Coordinator",
    "InProcess",
    "Ledger",
    "Message",
    "NVFlare",
    "Site",
    "SitesPlan",
    "SitesResult",
    "agree",
    "disclosure_sheet",
    "run",
    "site_folds",
    "verify",
]
