"""Cross-validation over sites that share no records."""

from statcv.sites.agreement import agree
from statcv.sites.audit import audit_logs, verify
from statcv.sites.by_query import from_sums, probability_edges, sql_sums
from statcv.sites.coordinator import Coordinator
from statcv.sites.disclosure import disclosure_sheet
from statcv.sites.ledger import Entry, Ledger
from statcv.sites.messages import Message
from statcv.sites.plan import SitesPlan
from statcv.sites.quantiles import (
    AgreedThresholds,
    ask_counts,
    count_values,
    next_ranges,
    thresholds,
    thresholds_of,
)
from statcv.sites.result import SitesResult
from statcv.sites.running import run
from statcv.sites.shared import (
    SharedPatients,
    ask_buckets,
    count_buckets,
    shared_of,
    shared_patients,
)
from statcv.sites.site import Site
from statcv.sites.site_records import site_folds, test_vectors
from statcv.sites.transports import Directory, InProcess, NVFlare
from statcv.sites.trees import DroppedOutError, Grow, Job, Trees

__all__ = [
    "AgreedThresholds",
    "Coordinator",
    "Directory",
    "DroppedOutError",
    "Entry",
    "Grow",
    "InProcess",
    "Job",
    "Ledger",
    "Message",
    "NVFlare",
    "SharedPatients",
    "Site",
    "SitesPlan",
    "SitesResult",
    "Trees",
    "agree",
    "ask_buckets",
    "ask_counts",
    "audit_logs",
    "count_buckets",
    "count_values",
    "disclosure_sheet",
    "from_sums",
    "next_ranges",
    "probability_edges",
    "run",
    "shared_of",
    "shared_patients",
    "site_folds",
    "sql_sums",
    "test_vectors",
    "thresholds",
    "thresholds_of",
    "verify",
]


def __dir__() -> list[str]:
    """Offer public names alone."""
    return sorted(__all__)
