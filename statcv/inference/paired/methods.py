"""Tests that compare two models on the same records, with their assumptions."""

from __future__ import annotations

from dataclasses import dataclass

from statcv.errors import ComparisonError, suggestion
from statcv.metrics import Metric
from statcv.tables import Printed, Said


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


METHODS = {
    method.name: method
    for method in (
        PairedMethod(
            "infinitesimal_jackknife",
            "infinitesimal jackknife",
            "t",
            "the infinitesimal jackknife counts the variation of the records, and that "
            "of both fits when the records are weighted at random; tuning parameters "
            "are taken as given",
        ),
        PairedMethod(
            "corrected_influence",
            "corrected influence of records",
            "t",
            "the test takes the fits as given, and the correlation of two folds as "
            "n_test/n since their fits share training records",
        ),
        PairedMethod(
            "influence",
            "influence of records",
            "t",
            "the test takes the fits as given and accounts only for the variation of "
            "the records; its true error rate is above the nominal one at small n",
        ),
        PairedMethod(
            "delong",
            "DeLong",
            "z",
            "DeLong's test takes the fits as given and accounts only for the variation "
            "of the records; its true error rate is above the nominal one, and far "
            "above it at small n and on noise",
        ),
        PairedMethod(
            "corrected_jackknife",
            "corrected jackknife with refits",
            "t",
            "the corrected jackknife refits both models without each record; its "
            "variance is the mean of the jackknife variance, which tends to be too "
            "large, and DeLong's, which takes the fits as given. At small n the test "
            "is conservative and has little power",
        ),
        PairedMethod(
            "t",
            "t on casewise losses",
            "t",
            "the t test takes the fits as given and the records (or clusters) as "
            "independent, so that its interval is somewhat too narrow at small n; a "
            "few records with very large losses can determine the result",
            of_others="the models were fitted to other records and do not vary; a few "
            "records with very large losses can determine the result",
        ),
        PairedMethod(
            "permutation",
            "permutation of paired predictions",
            "z",
            "the permutation test takes the fits as given and swaps the two models' "
            "predictions of a record: its null hypothesis is that the predictions are "
            "exchangeable, which is stronger than equality of the metric; it gives no "
            "interval",
            how="pooled",
            of_others="the permutation test swaps the two models' predictions of a "
            "record: its null hypothesis is that the predictions are exchangeable, "
            "which is stronger than equality of the metric; it gives no interval",
        ),
        PairedMethod(
            "corrected_t",
            "corrected t over folds",
            "t",
            "the corrected t test (Nadeau & Bengio 2003) assumes that the differences "
            "in two folds have correlation n_test/n, which is a rough approximation; "
            "with few folds it has little power, and with many repeats, or over the "
            "pairs of leave-pair-out, its true error rate is above the nominal one",
            how="per_fold",
        ),
    )
}


BY_INFLUENCE = ("infinitesimal_jackknife", "corrected_influence", "influence")


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
        return "infinitesimal_jackknife"
    if correlated:
        return "corrected_influence"
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
