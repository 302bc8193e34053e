"""Run a plan over sites, by any transport."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from statcv.arguments import check_types, described
from statcv.errors import ArgumentTypeError, ConvergenceWarning, PrecisionWarning, warn
from statcv.sites.coordinator import Coordinator
from statcv.sites.plan import SitesPlan
from statcv.sites.result import SitesResult
from statcv.sites.transports.in_process import InProcess
from statcv.words import plural


def run(plan: SitesPlan, data: Mapping[str, Any], transport: Any = None) -> SitesResult:
    """Cross-validate over sites whose records stay where they are.

    Parameters
    ----------
    plan : SitesPlan
        The plan that :func:`statcv.sites.agree` made.
    data : mapping of str to data frame
        Records of each site by its name; at least three sites.
    transport : Transport, optional
        What carries the messages; function calls in this process unless given.

    Returns
    -------
    SitesResult
        Estimates, tables and plots, as :func:`statcv.cv` on the pooled records returns
        them, computed from sums.

    Raises
    ------
    SiteError
        If a site refuses, with its reason.

    Warns
    -----
    ConvergenceWarning, PrecisionWarning, MissingDataWarning
        If fits did not converge, few records determine the auROC badly, or incomplete
        rows are omitted.

    Examples
    --------
    >>> import statcv as scv
    >>> from statcv import sites
    >>> ehr, person = scv.load_data("ehr"), scv.by_hash("patient_id", key="our secret")
    >>> at = {name: ehr.iloc[i::3] for i, name in enumerate("ABC")}
    >>> found = sites.run(sites.agree("y ~ x1 + x2", stratify=person), at)
    >>> pooled = scv.cv("y ~ x1 + x2", ehr, scheme="kfold", k=5, stratify=person)
    >>> bool(abs(found.coefficients["x1"] - pooled.coefficients["x1"]).max() < 1e-10)
    True
    """
    check_types(run, locals())
    carrier = InProcess() if transport is None else transport
    if not hasattr(carrier, "run"):
        raise ArgumentTypeError(
            f"transport must be a transport, not {described(carrier)}."
        )
    started = time.perf_counter()
    ended = carrier.run(plan, data)
    seconds = time.perf_counter() - started
    return make_result(ended, seconds, getattr(carrier, "files", 0))


def make_result(
    ended: Coordinator, seconds: float = float("nan"), files: int = 0
) -> SitesResult:
    """Return the result of a run that has ended.

    Parameters
    ----------
    ended : Coordinator
    seconds : float
        Time from the first message to the last, if it is known.
    files : int
        Number of files that were exchanged.

    Warns
    -----
    ConvergenceWarning
        If fits did not converge, with their number.
    PrecisionWarning
        If the counts of few records determine the auROC badly.
    """
    result = SitesResult(ended, seconds, files)
    if lost := int(ended.progress.fits.open.sum()):
        warn(
            f"{plural(lost, 'fit')} did not converge in {ended.progress.round} rounds: "
            "the classes may be separated; agree on model='ridge' or 'firth'.",
            ConvergenceWarning,
        )
    if result.is_imprecise:
        warn(
            f"auROC is computed from counts of at least {result.plan.cell} records, "
            "and sites hold out few: the unknown order within intervals adds a "
            f"standard error of about {ended.sums.order_se('per_fold'):.2g}. Agree on "
            "a smaller cell= or on fewer folds, or judge the model by Brier score and "
            "calibration, which are exact.",
            PrecisionWarning,
        )
    return result
