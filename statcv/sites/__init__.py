"""Cross-validation over sites that share no records."""

from statcv.arguments import offered as _offered
from statcv.sites.agreement import agree as agree
from statcv.sites.audit import audit_logs as audit_logs
from statcv.sites.audit import verify as verify
from statcv.sites.by_query import from_sums as from_sums
from statcv.sites.by_query import probability_edges as probability_edges
from statcv.sites.by_query import sql_sums as sql_sums
from statcv.sites.coordinator import Coordinator as Coordinator
from statcv.sites.disclosure import disclosure_sheet as disclosure_sheet
from statcv.sites.ledger import Entry as Entry
from statcv.sites.ledger import Ledger as Ledger
from statcv.sites.messages import Message as Message
from statcv.sites.plan import SitesPlan as SitesPlan
from statcv.sites.quantiles import AgreedThresholds as AgreedThresholds
from statcv.sites.quantiles import ask_counts as ask_counts
from statcv.sites.quantiles import count_values as count_values
from statcv.sites.quantiles import next_ranges as next_ranges
from statcv.sites.quantiles import thresholds as thresholds
from statcv.sites.quantiles import thresholds_of as thresholds_of
from statcv.sites.result import SitesResult as SitesResult
from statcv.sites.running import run as run
from statcv.sites.shared import SharedPatients as SharedPatients
from statcv.sites.shared import ask_buckets as ask_buckets
from statcv.sites.shared import count_buckets as count_buckets
from statcv.sites.shared import shared_of as shared_of
from statcv.sites.shared import shared_patients as shared_patients
from statcv.sites.site import Site as Site
from statcv.sites.site_records import site_folds as site_folds
from statcv.sites.site_records import test_vectors as test_vectors
from statcv.sites.transports import Directory as Directory
from statcv.sites.transports import InProcess as InProcess
from statcv.sites.transports import NVFlare as NVFlare
from statcv.sites.trees import DroppedOutError as DroppedOutError
from statcv.sites.trees import Grow as Grow
from statcv.sites.trees import Job as Job
from statcv.sites.trees import Trees as Trees

__all__ = _offered(globals())


def __dir__() -> list[str]:
    """Offer public names alone."""
    return sorted(__all__)
