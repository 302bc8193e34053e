"""Metrics of R and scikit-learn, and their names in statcv."""

from __future__ import annotations

from statcv.arguments.other_arguments import bare_word


def metric_answer(name: object) -> str | None:
    """Return the name of a metric of R or scikit-learn in statcv, or None.

    >>> metric_answer("roc_auc"), metric_answer("AUC"), metric_answer("aurroc")
    ("here it is 'auroc'", "here it is 'auroc'", None)
    """
    if not isinstance(name, str):
        return None
    key = bare_word(name)
    for word in (key, key.removeprefix("neg"), key.removesuffix("score")):
        if word in METRICS:
            return METRICS[word]
    return None


_FUNCTION = "pass the function itself, metrics=sklearn.metrics.{}"


def _named(words: str, ours: str) -> dict[str, str]:
    return dict.fromkeys(words.split(), f"here it is {ours}")


METRICS: dict[str, str] = {
    **_named("rocauc auc aucroc rocaucbinary cstatistic areaunderroc", "'auroc'"),
    **_named(
        "cindex concordanceindex harrellc",
        "'auroc' for two classes and 'concordance' for continuous outcomes",
    ),
    **_named("rocaucovr rocaucovrweighted", "'auroc_ovr'"),
    **_named("rocaucovo rocaucovoweighted handtill multiclassauc", "'auroc_hand_till'"),
    **_named("averageprecision prauc aucpr auprcurve ap", "'auprc'"),
    **_named("recall sens tpr truepositiverate hitrate", "'sensitivity'"),
    **_named("spec tnr truenegativerate selectivity", "'specificity'"),
    **_named("ppv positivepredictivevalue", "'precision'"),
    **_named("negativepredictivevalue", "'npv'"),
    **_named("fpr falsepositiverate fallout", "1 minus 'specificity'"),
    **_named("fnr falsenegativerate missrate", "1 minus 'sensitivity'"),
    **_named("mcc matthewscorrcoef phi", "'matthews'"),
    **_named("fmeas fmeasure fscore f1binary f1score", "'f1'"),
    **_named("precisionscore", "'precision'"),
    **_named(
        "logloss mnlogloss crossentropy deviance nll logscore bce",
        "'log_loss', in which less is better",
    ),
    **_named(
        "brierscore brierclass brierscoreloss brierloss",
        "'brier', in which less is better",
    ),
    **_named("balaccuracy balancedaccuracyscore bacc bac", "'balanced_accuracy'"),
    **_named(
        "jindex youden youdenj informedness", "2 times 'balanced_accuracy' minus 1"
    ),
    **_named("gini somersd", "2 times 'auroc' minus 1"),
    **_named("acc accuracyscore", "'accuracy'"),
    **_named("balancederrorrate balancederror", "'ber', in which less is better"),
    **_named(
        "error errorrate misclassification misclass misclassificationerror zerooneloss",
        "1 minus 'accuracy'",
    ),
    **_named("meansquarederror", "'mse', in which less is better"),
    **_named("rootmeansquarederror", "'rmse', in which less is better"),
    **_named("meanabsoluteerror", "'mae', in which less is better"),
    **_named("rsq rsquared rsquare rsqtrad r2score coefficientofdetermination", "'r2'"),
    **dict.fromkeys(
        ("kappa", "kap", "cohenkappa", "cohenskappa"),
        _FUNCTION.format("cohen_kappa_score"),
    ),
    "jaccard": _FUNCTION.format("jaccard_score"),
    "mape": _FUNCTION.format("mean_absolute_percentage_error"),
    "meanabsolutepercentageerror": _FUNCTION.format("mean_absolute_percentage_error"),
    "explainedvariance": _FUNCTION.format("explained_variance_score"),
    "medianabsoluteerror": _FUNCTION.format("median_absolute_error"),
    "maxerror": _FUNCTION.format("max_error"),
    "ccc": "pass a function of (y, prediction), metrics=f",
}
