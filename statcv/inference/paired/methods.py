"""Tests of two models on the same records: their names, and what they assume."""

from __future__ import annotations

from dataclasses import dataclass

from statcv.errors import ComparisonError, suggestion
from statcv.metrics import Metric


@dataclass(frozen=True)
class PairedMethod:
    """A way to compare two models on the same records.

    Attributes
    ----------
    name, title : str
        What a user types, and what a table's title says.
    statistic : str
        How the statistic is called.
    assumes : str
        What must hold, and when it fails.
    how : str
        The way in which it states a metric: ``"pooled"`` for the mean prediction of
        each record, ``"per_fold"``; empty if that is the headline's.
    """

    name: str
    title: str
    statistic: str
    assumes: str
    how: str = ""


METHODS = {
    method.name: method
    for method in (
        PairedMethod(
            "delong",
            "DeLong",
            "z",
            "DeLong's test takes the fits as given and counts the variation of the "
            "records alone; its true error rate is above the nominal one, by much at "
            "small n and on noise",
        ),
        PairedMethod(
            "corrected_jackknife",
            "corrected jackknife with refits",
            "t",
            "the corrected jackknife fits both models again without each record; its "
            "variance is the mean of the jackknife's, which errs on the wide side, and "
            "of DeLong's, which takes the fits as given. At small n it is "
            "conservative, and has little power",
        ),
        PairedMethod(
            "t",
            "t on casewise losses",
            "t",
            "the t test takes the fits as given and the records (or clusters) as "
            "independent, so that its interval is somewhat narrow at small n; a few "
            "records with very large losses can decide it",
        ),
        PairedMethod(
            "permutation",
            "permutation of paired predictions",
            "z",
            "the permutation test takes the fits as given and swaps the two models' "
            "predictions of a record: its null hypothesis is that they could change "
            "places, which says more than that the metric is the same; it gives no "
            "interval",
            how="pooled",
        ),
        PairedMethod(
            "corrected_t",
            "corrected t over folds",
            "t",
            "the corrected t test (Nadeau & Bengio 2003) takes the correlation of two "
            "folds' differences as n_test/n, which is a guess; with few folds it has "
            "little power, and with many repeats, or over the pairs of leave-pair-out, "
            "its true error rate is above the nominal one",
            how="per_fold",
        ),
    )
}


def default_method(metric: Metric, cheap: bool = False) -> str:
    """Return the test that is made where none is named.

    ``cheap`` says whether refits of all results are made in a moment.

    Raises
    ------
    ComparisonError
        If the metric is neither auROC nor a mean over records.
    """
    if metric.is_auroc:
        return "corrected_jackknife" if cheap else "delong"
    if metric.casewise is not None:
        return "t"
    raise ComparisonError(
        f"no paired test is known for {metric.label}: it is neither auROC nor a mean "
        "over records, as accuracy, brier, log_loss, mae and mse are; "
        "test='permutation' swaps predictions, test='corrected_t' compares folds."
    )


def paired_method(
    test: str | None, metric: Metric, cheap: bool = False
) -> PairedMethod:
    """Return a test by its name, the default where there is none.

    Raises
    ------
    ComparisonError
        If it is unknown, or means nothing for the metric.
    """
    if test is None:
        return METHODS[default_method(metric, cheap)]
    if test == "wilcoxon":
        raise ComparisonError(
            "test='wilcoxon' compares over settings or data sets, not over records: "
            "compare_settings() does."
        )
    if not isinstance(test, str) or test not in METHODS:
        raise ComparisonError(
            f"there is no test {test!r}; there are {', '.join(METHODS)}."
            + suggestion(test, METHODS)
        )
    if test in ("delong", "corrected_jackknife") and metric.name != "auroc":
        named = "DeLong's test" if test == "delong" else "The corrected jackknife"
        raise ComparisonError(f"{named} is for auROC, not for {metric.label}.")
    if test == "t" and metric.casewise is None:
        raise ComparisonError(
            f"a t test needs a value for each record, and {metric.label} is not a mean "
            "over records; use test='permutation' or 'corrected_t'."
        )
    return METHODS[test]
