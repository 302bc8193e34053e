"""What carries messages between sites and coordinator."""

from statcv.sites.transports.exchange import (
    Exchange,
    Turn,
    card_name,
    file_name,
    read,
    write,
)
from statcv.sites.transports.homes import TREES_FILE, Home, locked, read_log, read_trees
from statcv.sites.transports.in_process import Directory, InProcess
from statcv.sites.transports.nvflare import NVFlare
from statcv.sites.transports.parties import (
    CoordinatorParty,
    SiteParty,
    coordinate,
    join,
)
from statcv.sites.transports.signing import SigningKey, key_name, opened

__all__ = [
    "TREES_FILE",
    "CoordinatorParty",
    "Directory",
    "Exchange",
    "Home",
    "InProcess",
    "NVFlare",
    "SigningKey",
    "SiteParty",
    "Turn",
    "card_name",
    "coordinate",
    "file_name",
    "join",
    "key_name",
    "locked",
    "opened",
    "read",
    "read_log",
    "read_trees",
    "write",
]
