"""Tests that compare two models on the same records, with their assumptions."""

from __future__ import annotations

from dataclasses import dataclass

from statcv.errors import ComparisonError, suggestion
from statcv.metrics import Metric
from statcv.tables import Printed, Said
from statcv.words import stored_rows


@dataclass(frozen=True, repr=False)
class PairedMethod(Printed):
    """A way to compare two models on the same records.

    Attributes
    ----------
    name, title : str
        The name that a user types, and the one in the title of a table.
    statistic : str
        Name of the test statistic.
    assumes : str
        The assumptions of the test, and when they fail.
    how : str
        How the test computes a metric: ``"pooled"`` for the mean prediction of each
        record, or ``"per_fold"``; empty if it follows the headline.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> both = scv.compare(full=res, less=res.update(". ~ . - PSI"), test="delong")
    >>> both.method.name, both.method.title, both.method.statistic
    ('delong', 'DeLong', 'z')
    """

    name: str
    title: str
    statistic: str
    assumes: str
    how: str = ""
    of_others: str = (
        "the models were fitted to other records and do not vary; they are compared on "
        "these records alone"
    )

    def _said(self) -> Said:
        return f"Paired comparison by the {self.title}", {"assumes": self.assumes}


# name, title, statistic, how, assumptions, and those for models of other records
METHODS = {
    name: PairedMethod(name, title, statistic, assumes, how, *of_others)
    for name, title, statistic, how, assumes, *of_others in stored_rows(
        "statcv.inference.paired", "methods.txt"
    )
}


VARIED = "infinitesimal_jackknife"  # what counts the variation of the fits
CORRECTED = "corrected_influence"  # what corrects for folds that share training records
BY_INFLUENCE = (VARIED, CORRECTED, "influence")


def default_method(
    metric: Metric,
    *,
    varying: bool = False,
    correlated: bool = False,
    by_fold: bool = False,
) -> str:
    """Return the name of the default test.

    Parameters
    ----------
    metric : Metric
    varying : bool
        Whether it is known for all models how their fits vary with the records.
    correlated : bool
        Whether the influences can be corrected for folds that share training records.
    by_fold : bool
        Whether the metric is averaged over folds that all results share.

    Raises
    ------
    ComparisonError
        If neither influences nor values by record are known for the metric.

    Examples
    --------
    >>> from statcv.metrics import METRICS
    >>> default_method(METRICS["auroc"], varying=True)
    'infinitesimal_jackknife'
    >>> default_method(METRICS["auroc"], by_fold=True)
    'corrected_t'
    """
    if varying:
        return VARIED
    if correlated:
        return CORRECTED
    if by_fold:
        return "corrected_t"
    if metric.is_auroc:
        return "delong"
    if metric.casewise is not None:
        return "t"
    if metric.derive is not None:
        return "influence"
    raise ComparisonError(
        f"{metric.label} has no default paired test: it is not a mean over records, "
        "and its derivatives are unknown. Choose test='permutation', which swaps "
        "predictions, or test='corrected_t', which compares folds."
    )


def paired_method(test: str, metric: Metric) -> PairedMethod:
    """Return a test by its name.

    Raises
    ------
    ComparisonError
        If the test is unknown, or is not available for the metric.
    """
    if test == "wilcoxon":
        raise ComparisonError(
            "test='wilcoxon' compares over settings or data sets, not over records; "
            "use compare_settings()."
        )
    if not isinstance(test, str) or test not in METHODS:
        raise ComparisonError(
            f"test={test!r} is unknown; the tests are {', '.join(METHODS)}."
            + suggestion(test, METHODS)
        )
    if test in ("delong", "corrected_jackknife") and metric.name != "auroc":
        named = "DeLong's test" if test == "delong" else "The corrected jackknife"
        raise ComparisonError(f"{named} is for auROC, not for {metric.label}.")
    if test in BY_INFLUENCE and metric.derive is None:
        raise ComparisonError(
            f"test={test!r} needs the derivatives of the metric, which are unknown for "
            f"{metric.label}; use test='permutation' or 'corrected_t'."
        )
    if test == "t" and metric.casewise is None:
        raise ComparisonError(
            f"a t test needs one value per record, but {metric.label} is not a mean "
            "over records; use test='permutation' or 'corrected_t'."
        )
    return METHODS[test]
