"""The verb that compares results, or formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from statcv import errors
from statcv.arguments import check_types, resolve_seed
from statcv.errors import ArgumentError
from statcv.folds import FoldPlan
from statcv.folds.request import Holdout
from statcv.formula import (
    as_frame,
    caller_scope,
    counted,
    is_missing,
    parse_formula,
    row_values,
    updated_in_comparison,
)
from statcv.inference.paired.records import name_results
from statcv.metrics import Metric
from statcv.results.comparison.comparison import Comparison, make_comparison
from statcv.results.comparison.pooled_comparison import compare_pooled
from statcv.results.pooling import Pooled
from statcv.results.result import CVResult
from statcv.results.wording.phrases import caution
from statcv.verbs.cv import CV_NAMES, CVCall
from statcv.vocabulary import refuse_words_of_compare

Scope = Mapping[str, Any]

OPTIONS = ("how", "test", "adjust", "reference", "n_permutations")
OWN_NAMES = ("metric", "level", *OPTIONS)
MISTAKABLE = ("metric", "how", "test", "adjust", "reference", "level", "seed")


def compare(
    *results: CVResult | Pooled | str | Sequence[CVResult | str] | Mapping[str, Any],
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

    Everything refers to one metric, computed in one way. Clusters of records, as
    defined by ``stratify=``, are the independent units.

    Parameters
    ----------
    *results, **named : CVResult, Pooled or str
        Two or more results, or pooled ones. ``compare(a, b)`` and ``compare([a, b])``
        name them by what differs; ``compare(old=a, new=b)`` and a mapping give names.
        Differences are the later minus the earlier result. Formulas, with ``data=`` and
        other arguments of :func:`statcv.cv`, are fitted on the rows that are complete
        for all of them, and on the same folds. ``". ~ . + x"`` changes the first one.
    metric : str, optional
        The metric by which results are compared; by default ``"auroc"`` for two
        classes, ``"accuracy"`` for more, ``"mse"`` for a continuous outcome.
    level : float, default 0.95
        Confidence level of the intervals.
    how : {"pooled", "per_fold", "paired"}, optional
        Way of combining folds, as in :meth:`~statcv.results.result.CVResult.estimate`;
        by default that of the headline, or ``"pooled"`` if headlines differ.
    test : str, optional
        The test; by default the first of these that applies:

        - ``"infinitesimal_jackknife"``, for models that maximise a likelihood: a t test
          by the influence of each record on the difference, which counts the variation
          of both fits; if they choose terms, with at least the variance of the next. If
          a model adds terms to another one and is better, the p-value and the limit
          next to 0 have the standard error of models that perform equally well, as in
          Wilson's interval, and the column ``se`` that of the difference found. The
          null hypothesis is that they perform equally well, not that the terms are
          useless: that is the likelihood-ratio test, which has more power.
        - ``"corrected_influence"``, for rank metrics: the same with the fits as given,
          corrected for shared training records.
        - ``"delong"``, for auROC: paired curves, with the fits as given.
        - ``"t"``, for a mean over records: a paired t test of their losses.
        - ``"corrected_t"``, per fold: a t test corrected for overlapping training sets.
        - ``"influence"``: as the second, without the correction.

        Two are never the default: ``"corrected_jackknife"``, for auROC, refits both
        models without each record; ``"permutation"`` swaps the two predictions of a
        record at random.
    adjust : {"holm", "bh", "none"}
        The adjusted p-values that the summary shows: Holm's (any false rejection) or
        Benjamini and Hochberg's (their expected share).
    reference : str, optional
        The result with which all others are compared. ``"null"`` is the model without
        predictors.
    seed : int, numpy.random.Generator or None
        Seed for the permutations, and for the fits of formulas; None means the seed of
        the first result.
    n_permutations : int, optional
        Number of random swaps, 9999 by default; if at most 16 records (or clusters)
        differ, all swaps are enumerated.

    Returns
    -------
    Comparison
        Estimates and paired differences; a pair for which the test has no value has
        NaN, and the reason in the column ``caveat``.

    Raises
    ------
    ComparisonError
        If there are fewer than two results, their records or outcomes differ, or the
        test is not available for them.
    ArgumentTypeError
        If a list or a mapping of results is given together with other results.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44:837; Obuchowski (1997),
    Biometrics 53:567 (clusters); Bandos, Rockette & Gur (2005), Stat. Med. 24:2873
    (permutation); Nadeau & Bengio (2003), Machine Learning 52:239.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> both = scv.compare(full=res, less=res.update(". ~ . - PSI"))
    >>> both.differences["p"].round(2).tolist()
    [0.55]

    The call itself can fit the models:

    >>> df = scv.load_data("spector")
    >>> small = "GRADE ~ GPA"
    >>> again = scv.compare(small, ". ~ . + PSI", data=df, seed=1, test="permutation")
    >>> again.differences["p"].round(2).tolist()
    [0.65]
    """
    scope = caller_scope()
    results, named = _unpacked(results, named)
    own = locals()
    _refuse_taken_names({name: own[name] for name in MISTAKABLE}, named)
    check_types(compare, own)
    refuse_words_of_compare(named, (*compare.__annotations__, *CV_NAMES))
    call = {name: value for name, value in named.items() if name in CV_NAMES}
    given = {name: value for name, value in named.items() if name not in call}
    left_out, fitted = "", None
    formulas = [f for f in (*results, *given.values()) if isinstance(f, str)]
    whole = None if seed is None else resolve_seed(seed)
    if call:
        _check_formulas(formulas, [*results, *given.values()], call)
        fitted = {name: value for name, value in call.items() if name != "data"}
        first = CVCall(formula=formulas[0], **{**call, "seed": whole})
        first, left_out = _on_common_rows(formulas, first, scope)
        made = iter(_fitted(formulas, first, scope))
        results = tuple(next(made) for _ in results)
        given = {name: next(made) for name in given}
    plain = [one.imputations[0] if isinstance(one, Pooled) else one for one in results]
    joined = {**dict(zip(name_results(plain), results, strict=True)), **given}
    if len(joined) < len(results) + len(given):
        raise ArgumentError(f"a result is named twice among {', '.join(joined)}.")
    over = any(isinstance(one, Pooled) for one in joined.values())
    options: dict[str, Any] = {name: own[name] for name in OPTIONS}
    options |= {"seed": whole, "left_out": left_out, "fitted": fitted}
    make = compare_pooled if over else make_comparison
    return make(joined, metric, level, **options)


# ---- what is compared ----


def _unpacked(
    results: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Replace a list or a mapping by its items, as if they were given one by one.

    Raises
    ------
    ArgumentTypeError
        If other results, or a table, are given too.
    ComparisonError
        If the list or mapping is empty, or a name is not a string.
    ArgumentError
        If a name is that of an argument.
    """
    if any(isinstance(one, pd.DataFrame) for one in results):
        raise errors.ArgumentTypeError(
            "the data of formulas are given by name: compare(..., data=)."
        )
    many = [one for one in results if isinstance(one, (list, tuple, Mapping))]
    if not many:
        return results, named
    kind = "mapping" if isinstance(many[0], Mapping) else "list"
    others = [name for name in named if name not in CV_NAMES]
    if len(results) > 1 or others:
        raise errors.ArgumentTypeError(
            f"a {kind} of results must be given alone, but there "
            f"{'is' if len(results) + len(others) == 2 else 'are'} "
            f"{len(results) + len(others) - 1} more to compare; put all into one "
            f"{kind}."
        )
    if not many[0]:
        raise errors.ComparisonError(
            f"the {kind} is empty; compare() needs at least two results."
        )
    if not isinstance(many[0], Mapping):
        return tuple(many[0]), named
    for name in many[0]:
        if not isinstance(name, str):
            wrong = "the name of a result must be a string"
            raise errors.ComparisonError(f"{wrong}, not {name!r}.")
        if name in named or name in OWN_NAMES:
            of = "compare" if name in OWN_NAMES else "cv"
            raise _taken(name, of, f"{name}_")
    return (), {**many[0], **named}


# ---- names that mean something else ----


def _refuse_taken_names(own: Mapping[str, Any], named: Mapping[str, Any]) -> None:
    """Refuse results that have the name of an argument."""
    of_cv = {name: value for name, value in named.items() if name in CV_NAMES}
    for of, given in (("compare", own), ("cv", of_cv)):
        for name, value in given.items():
            formula = isinstance(value, str) and "~" in value
            if formula or isinstance(value, CVResult):
                raise _taken(name, of, f"{name}_=")


def _taken(name: str, of: str, other: str) -> ArgumentError:
    return ArgumentError(
        f"{name}= is an argument of {of}(), so that no result can be called {name!r}; "
        f"give it another name, such as {other}."
    )


def _check_formulas(
    formulas: list[str], compared: list[Any], call: Mapping[str, Any]
) -> None:
    """Refuse arguments of cv() unless formulas are fitted with them."""
    results = sum(isinstance(one, CVResult) for one in compared)
    if results and formulas:
        raise errors.ComparisonError(
            "compare() takes either results or formulas with data=, not both: the rows "
            "and folds of the formulas might differ from those of the results; use "
            "result.update(formula=...)."
        )
    if results or not formulas:
        raise errors.ArgumentTypeError(
            f"{next(iter(call))}= is for formulas, which compare() fits, "
            "but no formula was given."
        )
    if len(formulas) < len(compared):
        odd = next(one for one in compared if not isinstance(one, str))
        raise errors.ComparisonError(
            f"a {type(odd).__name__} is not a formula: {odd!r}."
        )
    if call.get("data") is None:
        raise errors.ArgumentTypeError(
            "formulas need data, for example compare(base='y ~ age', "
            "full='y ~ age + crp', data=df)."
        )
    if call.get("checkpoint") is not None:
        raise ArgumentError(
            "checkpoint= keeps the fits of one call, and each formula is a call of its "
            "own; call cv() for each formula with a directory of its own, and compare "
            "the results."
        )


# ---- formulas ----


def _on_common_rows(
    formulas: list[str], call: CVCall, scope: Scope
) -> tuple[CVCall, str]:
    """Restrict the data to the rows complete for all formulas.

    Weights and folds that are given by row are restricted too. The call is returned
    with a sentence on the rows that were omitted.
    """
    table = as_frame(call.data)
    call = replace(call, data=table)
    if (call.na_action or call.incomplete) != "drop":
        return call, ""
    holdout = Holdout.read(call.folds, table)
    weights = [call.weights] if isinstance(call.weights, str) else []
    not_in_dot = [*holdout.not_in_dot, *weights]
    used: dict[str, None] = {}
    for formula in formulas:
        text = updated_in_comparison(formulas[0], formula)
        parsed = parse_formula(text, list(table.columns), scope, not_in_dot)
        used |= dict.fromkeys((*parsed.outcome_columns, *parsed.columns))
    absent = {name: is_missing(table[name]) for name in used}
    incomplete = np.any([*absent.values()], axis=0)
    if not incomplete.any() or incomplete.all():  # cv() says that no row is left
        return call, ""
    lost = int(incomplete.sum())
    missing = counted({name: int(c.sum()) for name, c in absent.items() if c.any()})
    caution("common rows", lost=lost, total=len(table), missing=missing)
    complete = np.flatnonzero(~incomplete)
    changed: dict[str, Any] = {"data": table.iloc[complete]}
    for name, given in (("weights", call.weights), ("scheme", call.scheme)):
        if _by_row(given):
            changed[name] = row_values(given, table, name).iloc[complete]
    said = f"{lost} of {len(table)} rows are incomplete ({missing})"
    return replace(call, **changed), said


def _by_row(value: Any) -> bool:
    """Return whether an argument holds one value per row."""
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
    own: Any = first.call  # with the seed
    more = [updated_in_comparison(formulas[0], formula) for formula in formulas[1:]]
    return [first, *(replace(own, formula=one).run(scope) for one in more)]
