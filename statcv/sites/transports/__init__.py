"""What carries messages between sites and coordinator."""

from statcv.sites.transports.exchange import Exchange, card_name, key_name, read, write
from statcv.sites.transports.homes import TREES_FILE, Home, locked, read_log, read_trees
from statcv.sites.transports.in_process import Directory, InProcess
from statcv.sites.transports.nvflare import NVFlare
from statcv.sites.transports.parties import (
    CoordinatorParty,
    SiteParty,
    coordinate,
    join,
)

__all__ = [
    "TREES_FILE",
    "CoordinatorParty",
    "Directory",
    "Exchange",
    "Home",
    "InProcess",
    "NVFlare",
    "SiteParty",
    "card_name",
    "coordinate",
    "join",
    "key_name",
    "locked",
    "read",
    "read_log",
    "read_trees",
    "write",
]
