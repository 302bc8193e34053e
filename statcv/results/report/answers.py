"""What a result says of the items of reporting guidelines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from statcv.results.report.clusters import Clusters
from statcv.results.report.facts import (
    is_given,
    lists_coefficients,
    positives,
    sentence_parts,
)
from statcv.results.report.parts import Prose, Said, count, plain_text, rounded

if TYPE_CHECKING:
    from statcv.results.result import CVResult

Answers = dict[str, Prose]


def answers_of(
    style: str,
    result: CVResult,
    level: float,
    clusters: Clusters | None = None,
    root: str = "res",
) -> tuple[Answers, ...]:
    """Return what a result says of the items of a guideline, one set per list.

    Parameters
    ----------
    style : str
        Style of the report.
    result : CVResult
    level : float
        Confidence level of the intervals.
    clusters : Clusters, optional
        The estimates of each cluster.
    root : str
        Expression that gives the result.
    """
    known = _known(result, level, clusters, root)
    return tuple(
        {item: said for item, words in items.items() if (said := _said(words, known))}
        for items in SAID[style]
    )


def same_or_each(answers: Mapping[str, tuple[Answers, ...]]) -> tuple[Answers, ...]:
    """Return the answers of several results: once if equal, else one after the other.

    Parameters
    ----------
    answers : mapping
        Answers by the name of the result.
    """
    lists = zip(*answers.values(), strict=True)
    return tuple(_joined(list(answers), list(own)) for own in lists)


def _joined(names: list[str], each: list[Answers]) -> Answers:
    found: Answers = {}
    for item in dict.fromkeys(item for own in each for item in own):
        texts = {plain_text(own[item]) if item in own else None for own in each}
        if len(texts) == 1:
            found[item] = each[0][item]
            continue
        words: list[str | Said] = []
        for place, (name, own) in enumerate(zip(names, each, strict=True)):
            named = Said(name, f"list(res.results)[{place}]")
            if item in own:
                words += ["; "] * bool(words) + [named, ": ", *own[item]]
        found[item] = tuple(words)
    return found


def _said(words: tuple[str, ...], known: Mapping[str, Prose]) -> Prose | None:
    """Return words in which names in braces stand for facts; None if one is missing."""
    found: list[str | Said] = []
    for one in words:
        if not one.startswith("{"):
            found.append(one)
        elif one[1:-1] in known:
            found += known[one[1:-1]]
        else:
            return None
    return tuple(found)


SIZE = ("{size}", "; the justification is for the author")
PREPARED = ("{learnt}", "; quality checks are for the author")
OUTCOME = ("{outcome}", "; the definition is for the author")
FORMULA = ("{formula}", "; the measurement is for the author")
COLUMNS = ("as the formula states: ", "{columns}")
METRICS = ("{metrics}", "; see the pictures")
OBJECTIVE = ("{objective}",)
REPLAY = ("see the replay command",)
OF_TRIPOD = {
    "1": ("{subject}",),
    "2": ("{sentence}",),
    "4": OBJECTIVE,
    "7": PREPARED,
    "8a": OUTCOME,
    "9b": FORMULA,
    "10": SIZE,
    "11": ("{missing}",),
    "12a": ("{plan}",),
    "12b": COLUMNS,
    "12c": ("{model}",),
    "12d": ("random effects over ", "{grouping}"),
    "12e": METRICS,
    "12f": ("{updating}",),
    "12g": ("{predictions}",),
    "13": ("{imbalance}",),
    "15": ("{output}",),
    "16": ("{training}",),
    "18f": REPLAY,
    "20a": ("see the data flow",),
    "21": ("{analysed}",),
    "22": ("{equation}",),
    "23a": ("{performance}",),
    "23b": ("{heterogeneity}",),
    "24": ("{updating}",),
    "26": ("{concern}", "; others are for the author"),
}
OF_CLUSTER = {
    "1": ("{subject}",),
    "2": ("{sentence}",),
    "3b": OBJECTIVE,
    "5": SIZE,
    "6a": OUTCOME,
    "6b": FORMULA,
    "7a": ("{learnt}", "; cleaning and harmonisation are for the author"),
    "7d": ("{missing}",),
    "8a": COLUMNS,
    "8b": ("{model}", "; ", "{plan}"),
    "8d": ("{predictions}",),
    "8e": METRICS,
    "8f": ("random effects over ", "{grouping}", ", by REML"),
    "8g": ("{updating}",),
    "10a": ("{clusters}", "; see the data flow"),
    "12b": ("{equation}",),
    "13a": ("{headline}", "; see the table of clusters"),
    "13b": ("{heterogeneity}",),
    "14": ("{updating}",),
    "16c": ("{concern}", "; others are for the author"),
    "18": REPLAY,
}
OF_DEVELOPMENT = {
    "2.2": ("{learnt}",),
    "4.1": ("{per_column}",),
    "4.2": COLUMNS,
    "4.3": ("{missing}",),
    "4.4": ("{recalibration}",),
    "4.5": ("{fits_held}",),
}
OF_EVALUATION = {
    "2.2": ("{learnt}",),
    "4.1": ("{not_apparent}",),
    "4.2": ("{size}",),
    "4.3": ("{missing}",),
    "4.4": ("{evaluated}",),
    "4.5": ("{concern}", "; ", "{kept_together}"),
    "4.6": ("{repeated}",),
    "4.7": ("{metrics}",),
}
SAID = {
    "tripod+ai": (OF_TRIPOD,),
    "probast+ai": (OF_DEVELOPMENT, OF_EVALUATION),
    "tripod-cluster": (OF_CLUSTER,),
}


def _known(
    result: CVResult, level: float, clusters: Clusters | None, root: str
) -> dict[str, Prose]:
    """Return the facts that answers are made of, by name."""
    plan, outcome = result.plan, result.design.outcome
    name = Said(outcome.name, f"{root}.design.outcome.name")
    label = Said(result.learner.label, f"{root}.learner.label")
    headline = Said(
        str(result.estimate(level=level)), f"str({root}.estimate(level={level!r}))"
    )
    metrics = ", ".join(metric.label for metric in result.chosen_metrics)
    objective = "internal validation by cross-validation"
    if is_given(result):
        objective = "evaluation of predictions from other software"
    if result.scores.external:
        objective = "external validation of a model that was fitted to other records"
    size = _size(result, root)
    known: dict[str, Prose] = {
        "objective": (objective,),
        "subject": ("outcome ", name, "; ", label),
        "sentence": sentence_parts(result, level, root),
        "outcome": (
            name,
            ": ",
            Said(outcome.describe(), f"{root}.design.outcome.describe()"),
        ),
        "size": size,
        "analysed": size,
        "missing": _missing(result, root),
        "plan": (Said(plan.sentence, f"{root}.plan.sentence"),),
        "metrics": (
            Said(metrics, f"', '.join(m.label for m in {root}.chosen_metrics)"),
        ),
        "headline": (headline,),
        "performance": (headline,),
        "output": _output(result, root),
    }
    if not is_given(result):
        known |= _of_fits(result, label, root)
        known["analysed"] = (*size, "; ", *known["fits"])
    if result.scores.external:
        known |= _of_others(result, root)
    else:
        known["concern"] = _concern(result, root)
    if lists_coefficients(result):
        known["equation"] = (
            "coefficients of the model, in the table of the fit to all records",
        )
    elif result.held.coefficients is not None:
        known["equation"] = ("coefficients are many: `model` of the result has them",)
    if clusters is not None:
        known["clusters"] = (clusters.number, " clusters")
        known["performance"] = (headline, "; by ", clusters.group, ", see the table")
    if clusters is not None and clusters.spread is not None:
        spread, api = clusters.spread, clusters.spread_api
        known["grouping"] = (clusters.group,)
        known["heterogeneity"] = (
            "I² ",
            rounded(float(spread.i2), f"{api}.i2"),
            ", tau² ",
            rounded(float(spread.tau2), f"{api}.tau2"),
            "; see the heterogeneity",
        )
    return known


def _of_fits(result: CVResult, label: Said, root: str) -> dict[str, Prose]:
    """Return the facts that only a result with fits of its own has."""
    design, plan = result.design, result.plan
    fits: Prose = (count(plan.n_fits, f"{root}.plan.n_fits"), " fits")
    rebalanced: Prose = ("training sets were not rebalanced",)
    recalibration: Prose = ("no method for class imbalance was used",)
    if plan.rebalance:
        way = Said(plan.rebalance, f"{root}.plan.rebalance")
        rebalanced = ("training sets were rebalanced: ", way)
        recalibration = (*rebalanced, "; statcv did not recalibrate predictions")
    learnt: Prose = ("no term of the formula learns from data",)
    if design.terms.stateful:
        learnt = ("terms that learn from data are learnt in each training set",)
    lowest, highest = (
        count(int(getattr(plan.n_train, end)()), f"{root}.plan.n_train.{end}()")
        for end in ("min", "max")
    )
    chosen = ""
    if result.held.chosen is not None:
        chosen = " with its choice of hyperparameters or thresholds,"
    return {
        "formula": (Said(design.formula.text, f"{root}.design.formula.text"),),
        "columns": (Said(", ".join(design.names), f"', '.join({root}.design.names)"),),
        "fits": fits,
        "model": (label, "; ", *fits, "; ", Said(plan.scheme, f"{root}.plan.scheme")),
        "imbalance": rebalanced,
        "recalibration": recalibration,
        "learnt": learnt,
        "training": (
            *("training sets of ", lowest, " to ", highest),
            " records of the same data",
        ),
        "predictions": ("each record by fits that were not trained on it",),
        "updating": ("no model was updated after its evaluation",),
        "fits_held": ("held-out predictions of ", *fits),
        "not_apparent": ("held-out predictions of ", *fits),
        "per_column": _per_column(result, root),
        "kept_together": _kept_together(result, root),
        "repeated": (
            f"the formula was fitted again,{chosen} in every training set; "
            "any selection before it is for the author",
        ),
        "evaluated": (
            "held-out records are those of the data, neither weighted nor duplicated",
        ),
    }


def _of_others(result: CVResult, root: str) -> dict[str, Prose]:
    """Return the facts of an external validation."""
    names = [name for name in result.design.names if name != "Intercept"]
    listed = f"', '.join(n for n in {root}.design.names if n != 'Intercept')"
    return {
        "predictions": ("read from the data: ", Said(", ".join(names), listed)),
        "not_apparent": ("the model was fitted to other records",),
        "repeated": ("no resampling: the model was fitted to other records",),
        "evaluated": ("all records of the data count alike",),
    }


def _size(result: CVResult, root: str) -> Prose:
    design = result.design
    events: Prose = ()
    if design.outcome.kind == "binary":
        events = ("; ", positives(result, root), " events")
    n: Prose = ("n = ", count(design.n, f"{root}.design.n"))
    if is_given(result):
        return (*n, *events)
    columns = count(design.matrix.shape[1], f"{root}.design.matrix.shape[1]")
    return (*n, "; ", columns, " columns of the design matrix", *events)


def _per_column(result: CVResult, root: str) -> Prose:
    """Return the number of records, or of the rarer class, per column."""
    design, api = result.design, f"{root}.design"
    columns = design.matrix.shape[1] - (design.intercept is not None)
    if design.outcome.kind != "binary" or not columns:
        return (count(design.n, f"{api}.n"), " records")
    each = float(min(np.bincount(design.y, minlength=2)) / columns)
    source = (
        f"min(({api}.y == 0).sum(), ({api}.y == 1).sum()) / "
        f"({api}.matrix.shape[1] - ({api}.intercept is not None))"
    )
    said = Said(f"{each:.1f}", source, each)
    return (said, " records of the rarer class per column")


def _missing(result: CVResult, root: str) -> Prose:
    design, api = result.design, f"{root}.design"
    words: list[str | Said] = [
        count(design.n_given - design.n, f"{api}.n_given - {api}.n"),
        " of ",
        count(design.n_given, f"{api}.n_given"),
        " rows " + ("are further rows of a record" if is_given(result) else "left out"),
    ]
    for place, (name, n) in enumerate(design.missing.items()):
        words += ["; ", count(n, f"{api}.missing[{name!r}]"), " lack "]
        words.append(Said(name, f"list({api}.missing)[{place}]"))
    return tuple(words)


def _kept_together(result: CVResult, root: str) -> Prose:
    """Return whether records that belong together are in one fold."""
    scores = result.scores
    if scores.clusters is None:
        return ("no clusters were given, so that records count as independent",)
    if scores.split_clusters:
        n = count(scores.split_clusters, f"{root}.scores.split_clusters")
        return (n, " clusters are divided across folds")
    return ("no cluster is divided across folds",)


def _concern(result: CVResult, root: str) -> Prose:
    concerns = "; ".join(text.rstrip(".") for text in result.audit.concerns)
    if not concerns:
        return ("the audit of the folds has no concern",)
    api = f"'; '.join(text.rstrip('.') for text in {root}.audit.concerns)"
    return ("audit of the folds: ", Said(concerns, api))


def _output(result: CVResult, root: str) -> Prose:
    kind = "probabilities" if result.scores.probabilities else "predicted values"
    if result.threshold is None:
        return (kind,)
    cut = Said(f"{result.threshold:g}", f"{root}.threshold", float(result.threshold))
    return (f"{kind}; threshold ", cut)
