"""The verb that sets results, or formulas, side by side."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from statcv.arguments import refuse_words_of_compare, resolve_seed
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ComparisonError,
    MissingDataWarning,
    warn,
)
from statcv.folds import FoldPlan
from statcv.folds.request import Holdout
from statcv.formula import (
    as_frame,
    caller_scope,
    counted,
    is_missing,
    parse_formula,
    row_values,
    updated_formula,
)
from statcv.inference.paired.records import name_results
from statcv.metrics import Metric
from statcv.results.comparison.comparison import Comparison, make_comparison
from statcv.results.result import CVResult
from statcv.verbs.cv import CV_NAMES, CVCall

Scope = Mapping[str, Any]

OWN_NAMES = ("metric", "level", "how", "test", "adjust", "reference", "n_permutations")


def compare(
    *results: CVResult | str | Sequence[CVResult | str] | Mapping[str, Any],
    metric: str | Metric | None = None,
    level: float = 0.95,
    how: str | None = None,
    test: str | None = None,
    adjust: str = "holm",
    reference: str | None = None,
    seed: int | np.random.Generator | None = None,
    n_permutations: int | None = None,
    **named: Any,
) -> Comparison:
    """Compare results, or formulas, on the same records in pairs.

    Estimates, differences, intervals and p-values are of one metric, stated in one
    way: that of the headline where all results share it, else pooled. Where several
    records form a cluster, as ``stratify=`` tells, the clusters are what varies.

    Parameters
    ----------
    *results, **named : CVResult or str
        Two or more; ``compare(a, b)`` and ``compare([a, b])`` name them by what
        differs, ``compare(old=a, new=b)`` and ``compare({"old": a, "new": b})`` as
        given. Differences are the later minus the earlier.
        Formulas instead of results, with ``data=`` and other arguments of
        :func:`statcv.cv` beside them, are fitted here: on the rows that are complete
        for all of them, and on the same folds. ``". ~ . + x"`` changes the first one.
    metric : str, optional
        The metric by which results are compared; by default ``"auroc"`` for two
        classes, ``"accuracy"`` for more, ``"mse"`` for numbers.
    level : float, default 0.95
        Confidence level of the intervals.
    how : {"pooled", "per_fold", "paired"}, optional
        The way in which the metric is stated and tested (see
        :meth:`~statcv.results.result.CVResult.estimate`); by default the headline of
        all results, and ``"pooled"`` where their headlines differ, with a caveat.
    test : str, optional
        ``"corrected_jackknife"``, for auROC the default where its refits are cheap:
        the difference of the estimates, by a jackknife that fits both models again
        without each record, or cluster.
        ``"delong"``, for auROC the default otherwise: DeLong's test of paired curves,
        by placements averaged over repeats (within folds, for ``per_fold``), or by
        pairs that one fit left out; with clusters its clustered form. It takes the
        fits as given.
        ``"t"``, the default for a mean over records: paired t on the differences of
        the records' losses, averaged over repeats, with clusters on their totals.
        ``"permutation"``, for every metric: the two predictions of a record, or of a
        whole cluster, change places at random. It compares the predictions of each
        record averaged over repeats. Scores of a rank metric are first turned into
        mid-ranks within each model, which puts them on one scale.
        ``"corrected_t"``, for every metric, per fold: the differences in each fold,
        which must be the same folds, by the t test that corrects for overlapping
        training sets.
    adjust : {"holm", "bh", "none"}
        The adjusted p-values that the summary shows: Holm's (some rejection false) or
        Benjamini and Hochberg's (the share that is false). ``differences`` has both.
    reference : str, optional
        The result with which all others are compared. ``"null"`` is the model without
        predictors, which predicts the training mean; it is fitted on the plan of the
        first result if none is called so. To a metric of ranks it counts as ranking
        nobody, auROC 0.5, whatever the training means of the folds give away.
    seed : int, numpy.random.Generator or None
        Seed for the permutations, and for the fits of formulas; that of the first
        result where None.
    n_permutations : int, optional
        Number of random swaps, 9999 by default; with 16 records (or clusters) or fewer
        that differ, all swaps are gone through.

    Returns
    -------
    Comparison

    Raises
    ------
    ComparisonError
        If the results are not of the same records and outcome, or too few, or the
        test is not available for them. Where it has no value for a pair, that pair has
        NaN, and the reason in the column ``caveat``.
    ArgumentTypeError
        If a list or a mapping of results is not the only thing that is compared.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44:837; Obuchowski (1997),
    Biometrics 53:567 (clusters); Venkatraman & Begg (1996), Biometrika 83:835, and
    Bandos, Rockette & Gur (2005), Stat. Med. 24:2873 (permutation); Phipson & Smyth
    (2010), Stat. Appl. Genet. Mol. Biol. 9:39; Nadeau & Bengio (2003), Machine
    Learning 52:239; Holm (1979); Benjamini & Hochberg (1995).

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> a = scv.cv("GRADE ~ GPA", df, seed=1)
    >>> b = a.update(formula="GRADE ~ GPA + PSI")
    >>> scv.compare(small=a, large=b).differences["second"].tolist()
    ['large']

    The same two models, fitted by the call itself, and tested by permutation:

    >>> both = scv.compare(small="GRADE ~ GPA", large=". ~ . + PSI", data=df, seed=1,
    ...                    test="permutation")
    >>> both.differences["p"].round(2).tolist()
    [0.65]
    """
    scope = caller_scope()
    results, named = _unpacked(results, named)
    own = {
        "metric": metric,
        "how": how,
        "test": test,
        "adjust": adjust,
        "reference": reference,
    }
    _refuse_taken_names({**own, "level": level, "seed": seed}, named)
    refuse_words_of_compare(named, (*compare.__annotations__, *CV_NAMES))
    call = {name: value for name, value in named.items() if name in CV_NAMES}
    given = {name: value for name, value in named.items() if name not in call}
    left_out = ""
    formulas = [f for f in (*results, *given.values()) if isinstance(f, str)]
    whole = None if seed is None else resolve_seed(seed)
    if call:
        _check_formulas(formulas, [*results, *given.values()], call)
        first = CVCall(formula=formulas[0], **{**call, "seed": whole})
        first, left_out = _on_common_rows(formulas, first, scope)
        made = iter(_fitted(formulas, first, scope))
        results = tuple(next(made) for _ in results)
        given = {name: next(made) for name in given}
    joined = {**name_results(results), **given}
    if len(joined) < len(results) + len(given):
        raise ArgumentError(f"a result is named twice among {', '.join(joined)}.")
    return make_comparison(
        joined,
        metric,
        level,
        how=how,
        test=test,
        adjust=adjust,
        reference=reference,
        seed=whole,
        n_permutations=n_permutations,
        left_out=left_out,
    )


# ---- what is compared ----


def _unpacked(
    results: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Take a list or a mapping apart, as if its items were given one by one.

    Raises
    ------
    ArgumentTypeError
        If there is anything else to compare.
    ComparisonError
        If it is empty, or a name is not a string.
    ArgumentError
        If a name means an argument.
    """
    many = [one for one in results if isinstance(one, (list, tuple, Mapping))]
    if not many:
        return results, named
    kind = "mapping" if isinstance(many[0], Mapping) else "list"
    others = [name for name in named if name not in CV_NAMES]
    if len(results) > 1 or others:
        raise ArgumentTypeError(
            f"a {kind} of results is compared by itself, but there "
            f"{'is' if len(results) + len(others) == 2 else 'are'} "
            f"{len(results) + len(others) - 1} more to compare beside it; put all into "
            f"one {kind}."
        )
    if not many[0]:
        raise ComparisonError(
            f"the {kind} is empty; compare() needs two results or more."
        )
    if not isinstance(many[0], Mapping):
        return tuple(many[0]), named
    for name in many[0]:
        if not isinstance(name, str):
            raise ComparisonError(f"{name!r} names a result, and is not a string.")
        if name in named or name in OWN_NAMES:
            of = "compare" if name in OWN_NAMES else "cv"
            raise ArgumentError(
                f"{name}= is an argument of {of}(), so that no result can be called "
                f"{name!r}; give it another name, such as {name}_."
            )
    return (), {**many[0], **named}


# ---- names that mean something else ----


def _refuse_taken_names(own: Mapping[str, Any], named: Mapping[str, Any]) -> None:
    """Explain where a result is called as an argument is."""
    for name, value in own.items():
        if isinstance(value, CVResult) or (isinstance(value, str) and "~" in value):
            raise ArgumentError(
                f"{name}= is an argument of compare(), so that no result can be "
                f"called {name!r}; give it another name, such as {name}_=."
            )
    for name, value in named.items():
        formula = isinstance(value, str) and "~" in value
        if name in CV_NAMES and (isinstance(value, CVResult) or formula):
            raise ArgumentError(
                f"{name}= is an argument of cv(), so that no result can be called "
                f"{name!r}; give it another name, such as {name}_=."
            )


def _check_formulas(
    formulas: list[str], compared: list[Any], call: Mapping[str, Any]
) -> None:
    """Refuse arguments of cv() where nothing is to be fitted by them."""
    results = sum(isinstance(one, CVResult) for one in compared)
    if results and formulas:
        raise ComparisonError(
            "compare() takes either results or formulas with data=, not both: the "
            "formulas might not get the rows and folds of the results; use "
            "result.update(formula=...)."
        )
    if results or not formulas:
        raise ArgumentTypeError(
            f"{next(iter(call))}= is for formulas, which compare() fits; "
            "there is none among what is compared."
        )
    if len(formulas) < len(compared):
        odd = next(one for one in compared if not isinstance(one, str))
        raise ComparisonError(f"a {type(odd).__name__} is not a formula: {odd!r}.")
    if call.get("data") is None:
        raise ArgumentTypeError(
            "formulas need data: compare(base='y ~ age', full='y ~ age + crp', "
            "data=df)."
        )
    if call.get("checkpoint") is not None:
        raise ArgumentError(
            "checkpoint= keeps the fits of one call, and each formula is one; call "
            "cv() for each with a directory of its own, and compare the results."
        )


# ---- formulas ----


def _on_common_rows(
    formulas: list[str], call: CVCall, scope: Scope
) -> tuple[CVCall, str]:
    """Restrict the data to the rows complete for all formulas.

    And what is given by row, weights or folds, with them. Returns the call, and what
    was left out in words.
    """
    table = as_frame(call.data)
    call = replace(call, data=table)
    if call.na_action != "drop":
        return call, ""
    holdout = Holdout.read(call.folds, table)
    weights = [call.weights] if isinstance(call.weights, str) else []
    not_in_dot = [*holdout.not_in_dot, *weights]
    used: dict[str, None] = {}
    for formula in formulas:
        text = updated_formula(formulas[0], formula)
        parsed = parse_formula(text, list(table.columns), scope, not_in_dot)
        used |= dict.fromkeys((*parsed.outcome_columns, *parsed.columns))
    absent = {name: is_missing(table[name]) for name in used}
    incomplete = np.any([*absent.values()], axis=0)
    if not incomplete.any() or incomplete.all():  # cv() says that none is left
        return call, ""
    lost = int(incomplete.sum())
    missing = counted({name: int(c.sum()) for name, c in absent.items() if c.any()})
    warn(
        f"{lost} of {len(table)} rows were left out: missing {missing}. All formulas "
        "are fitted on the rows complete for every one of them.",
        MissingDataWarning,
    )
    complete = np.flatnonzero(~incomplete)
    changed: dict[str, Any] = {"data": table.iloc[complete]}
    for name, given in (("weights", call.weights), ("scheme", call.scheme)):
        if _by_row(given):
            changed[name] = row_values(given, table, name).iloc[complete]
    said = f"{lost} of {len(table)} rows are incomplete ({missing})"
    return replace(call, **changed), said


def _by_row(value: Any) -> bool:
    """Tell whether an argument holds one value per row."""
    if value is None or isinstance(value, (str, FoldPlan, type)):
        return False
    pairs = isinstance(value, list) and all(isinstance(v, tuple) for v in value)
    return not pairs and not hasattr(value, "split") and hasattr(value, "__len__")


def _fitted(formulas: list[str], call: CVCall, scope: Scope) -> list[CVResult]:
    """Cross-validate every formula on the folds of the first.

    The same arguments, with the seed of the first, make the same folds of the same
    rows and outcome.
    """
    first = call.run(scope)
    again = first.call.again
    return [
        first,
        *(
            again(first.design.formula, ChainMap(dict(scope)), {"formula": formula})
            for formula in formulas[1:]
        ),
    ]
