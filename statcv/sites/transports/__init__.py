"""What carries messages between sites and coordinator."""

from statcv.arguments import offered as _offered
from statcv.sites.transports.exchange import Exchange as Exchange
from statcv.sites.transports.exchange import card_name as card_name
from statcv.sites.transports.exchange import key_name as key_name
from statcv.sites.transports.exchange import read as read
from statcv.sites.transports.exchange import write as write
from statcv.sites.transports.homes import TREES_FILE as TREES_FILE
from statcv.sites.transports.homes import Home as Home
from statcv.sites.transports.homes import locked as locked
from statcv.sites.transports.homes import read_log as read_log
from statcv.sites.transports.homes import read_trees as read_trees
from statcv.sites.transports.in_process import Directory as Directory
from statcv.sites.transports.in_process import InProcess as InProcess
from statcv.sites.transports.nvflare import NVFlare as NVFlare
from statcv.sites.transports.parties import CoordinatorParty as CoordinatorParty
from statcv.sites.transports.parties import SiteParty as SiteParty
from statcv.sites.transports.parties import coordinate as coordinate
from statcv.sites.transports.parties import join as join

__all__ = _offered(globals())
