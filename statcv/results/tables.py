"""The tidy tables of a result: predictions, pairs, folds, and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.errors import LearningCurveError
from statcv.folds import FoldPlan
from statcv.formula import Design, Outcome
from statcv.inference import Scores, join_values, make_estimate, make_estimates
from statcv.inference.estimates.groups import groups_of
from statcv.inference.estimates.values import know_values
from statcv.metrics import Metric, is_listed
from statcv.numeric.arrays import Array, Floats, Numbers
from statcv.numeric.survival import events_of, times_of
from statcv.results.by_group import group_table
from statcv.results.estimating import is_bootstrap
from statcv.results.wording.phrases import caution
from statcv.tables import Table, Values, labels_of

if TYPE_CHECKING:
    from statcv.results.result import CVResult

# ---- records and fits ----


def _names(plan: FoldPlan, splits: Numbers) -> dict[str, Array]:
    """Return the repeat, from 1, and the fold's name of some splits."""
    labels = np.concatenate([np.asarray(names) for names in plan.labels])
    return {"repeat": plan.fits.repeat_of[splits] + 1, "fold": labels[splits]}


def fit_names(plan: FoldPlan) -> pd.DataFrame:
    """Return repeat and fold of each fit, and the draw if a fold has several fits."""
    names = pd.DataFrame(_names(plan, plan.fits.split_of))
    if plan.n_fits == plan.n_splits:
        return names
    first = plan.first_fit[plan.fits.split_of]
    return names.assign(draw=np.arange(plan.n_fits) - first + 1)


def predictions(result: CVResult) -> pd.DataFrame:
    """Return the held-out predictions, with one row per record and repeat.

    The columns are ``row``, ``repeat``, ``fold``, ``observed`` and ``predicted``.
    ``row`` is the label of the record in the data. ``observed`` is 0 or 1 for a
    binary outcome, the class if there are more than two classes, and the value
    of a continuous outcome. ``predicted`` is the probability of the positive class
    or the predicted mean; with more than two classes there is one column of
    probabilities per class.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> res.predictions.columns.tolist()
    ['repeat', 'fold', 'row', 'observed', 'predicted']
    """
    design, plan, scores = result.design, result.plan, result.scores
    columns: dict[str, Any] = _names(plan, scores.split)
    columns["row"] = design.labels[scores.row]
    columns |= _observed(design, scores.row)
    columns |= _named_predictions(design.outcome, scores.predicted)
    said = "Predictions of new records" if scores.external else "Held-out predictions"
    return Table(pd.DataFrame(columns), said, list(columns)[plan.repeats == 1 :])


def pairs(result: CVResult) -> pd.DataFrame:
    """Return the pairs of records with different outcomes that one fit did not see.

    There is one row per pair: a held-out record and its partner, which was either
    dropped to balance the training set or held out with it. The columns are
    ``repeat``, ``fold``, ``row``, ``partner``, ``observed``, ``predicted`` and
    ``predicted_partner``. The table is empty if the scheme does not compare pairs.
    """
    design, left = result.design, result.scores.left
    one = two = np.empty(0, dtype=np.intp)
    if result.scores.pairwise:
        one, two = left.pairs(design.y)
    own, other = left.row[one], left.row[two]
    table = fit_names(result.plan).iloc[left.fit[one]].reset_index(drop=True)
    table = table.assign(
        row=design.labels[own], partner=design.labels[other], **_observed(design, own)
    )
    if design.outcome.kind != "multiclass":
        for name, made in _named_predictions(design.outcome, left.predicted).items():
            table[name], table[f"{name}_partner"] = made[one], made[two]
    caption = "Pairs of records with different outcomes, predicted by one fit"
    return Table(table, caption)


def folds(result: CVResult) -> pd.DataFrame:
    """Return the fits, with sizes, class counts, drops, convergence and seconds.

    There is one row per fold and repeat. If a fold has several fits
    (``rebalance="all"`` or ``"bag"``), there is one row for each of them, numbered
    by ``draw``. If several fits were computed together, their total time is
    divided equally among them.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> res.folds[["n_test", "train_0", "train_1"]].head(2)
       n_test  train_0  train_1
    0       8       16        8
    1       8       16        8
    """
    plan, outcome = result.plan, result.design.outcome
    table, n_test = fit_names(plan), plan.tests.sizes[plan.fits.split_of]
    table = table.assign(n_train=plan.n_train, n_test=n_test)
    if outcome.levels:
        training, test = plan.counts(outcome.y, len(outcome.levels))
        for k, level in enumerate(outcome.levels):
            table[f"train_{level}"] = training[:, k]
            table[f"test_{level}"] = test[plan.fits.split_of, k]
    table["dropped"] = plan.dropped.sizes
    for name in ("converged", "separated", "seconds"):
        table[name] = getattr(result.held, name)
    caption = "Fits, with the numbers of records that they train and hold out"
    return Table(table, caption)


def learning_curves(result: CVResult) -> pd.DataFrame:
    """Return the metrics of a boosted model after each round of boosting.

    There is one row per fit, metric and round. The columns are ``repeat``, ``fold``
    (and ``draw``, as in :attr:`folds`), ``fit`` (numbered consecutively from 1),
    ``metric``, ``round``, ``training`` and ``held_out``. The last two are the
    metric on the training records and on the held-out records of the same fit.

    Raises
    ------
    LearningCurveError
        If the model recorded no learning curves. It is also an AttributeError.
    """
    if result.held.curves is None:
        raise LearningCurveError(
            "the model recorded no learning curves; models.XGBoost(curves=True) "
            "records them."
        )
    names = ["fit", "metric", "round", "training", "held_out"]
    parts = [
        pd.DataFrame(values, columns=names[3:]).assign(fit=fit, metric=metric)
        for fit, curves in enumerate(result.held.curves, start=1)
        for metric, values in curves.items()
    ]
    table = pd.concat(parts).rename_axis("round").reset_index()[names]
    table["round"] += 1
    of_fits = fit_names(result.plan).iloc[table["fit"] - 1].reset_index(drop=True)
    made = pd.concat([of_fits, table], axis=1)
    return Table(made, "Metric after each round of boosting")


# ---- metrics ----


def metrics(result: CVResult, level: float = 0.95, *, by: Any = None) -> pd.DataFrame:
    """Return a table of all metrics in every available form, one row per metric.

    The columns are ``metric``, ``how``, ``estimate`` with ``lower`` and ``upper``,
    ``interval`` (the method, or ``"none"`` with the reason), ``no_skill``, and the
    metric in each form, ``pooled``, ``per_fold`` and ``paired``, with its standard
    deviation over repeats or folds and the number of folds in which it is
    undefined.

    Parameters
    ----------
    level : float, default 0.95
        Confidence level of the intervals.
    by : str or array-like, optional
        Grouping of the records: a column of the data, or one value per row of it;
        True for the one that ``validate(by=)`` named.
        The table then has one row per metric and group, computed from the records
        of that group alone. With the column that defined the folds this is
        internal-external validation.

    Warns
    -----
    UndefinedMetricWarning
        If a metric is undefined in some folds, repeats or groups, with their
        number.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> res.metrics()[["metric", "estimate", "how"]].head(2).round(3)
      metric  estimate       how
    0  auroc     0.833  per_fold
    1  auprc     0.734    pooled
    """
    rows, metrics, scores = [], result.chosen_metrics, result.scores
    if by is not None:
        return group_table(scores, metrics, groups_of(result, by), level)
    listed = filter(is_listed, metrics)
    know_values(scores, [(one, how) for one in listed for how in _ways(scores, one)])
    headlines = make_estimates(scores, [(metric, None) for metric in metrics], level)
    for metric, headline, plain in zip(
        metrics, headlines, result.without_predictors, strict=True
    ):
        pooled, by_fold, *pairs = (
            make_estimate(scores, metric, how) for how in _ways(scores, metric)
        )
        row = {
            "metric": metric.name,
            "how": headline.how,
            "estimate": headline.value,
            "lower": headline.lower,
            "upper": headline.upper,
            "interval": headline.interval_in_words,
            "no_skill": plain.value,
            "pooled": pooled.value,
            "pooled_sd": pooled.sd,
            "per_fold": by_fold.value,
            "per_fold_sd": by_fold.sd,
            "n_folds": by_fold.n_values,
            "n_undefined": by_fold.n_undefined,
            "paired": pairs[0].value if pairs else np.nan,
            "paired_sd": pairs[0].sd if pairs else np.nan,
        }
        if is_bootstrap(result.plan):
            fitted, cut = result.refits.fitted, result.refits.full_threshold(metric)
            parts = join_values(scores, metric, fitted, cut)
            row |= {"boot632": parts.plain, "boot632plus": parts.plus}
        rows.append(row)
    table = pd.DataFrame(rows)
    undefined = table.loc[table["estimate"].isna(), "metric"]
    named = result.call.metrics is not None
    if not named and result.scores.probabilities:  # the default headline alone counts
        undefined = undefined.iloc[:1][undefined.iloc[:1].index == 0]
    if len(undefined):
        counts = result.design.outcome.counts if result.design.outcome.levels else {}
        absent = [repr(level) for level, count in counts.items() if not count]
        known = {"names": list(undefined), "total": len(table), "absent": absent}
        caution("undefined metrics", **known)
    boot = [name for name in ("boot632", "boot632plus") if name in table]
    shown = ("metric", "estimate", "how", "no_skill")
    headings = {"no_skill": "no skill", "boot632": ".632", "boot632plus": ".632+"}
    return Table(
        table,
        f"Metrics of the {'held-out ' * (not scores.external)}predictions",
        {one: headings.get(one, one) for one in (*shown, *boot)},
        limits={"estimate": ("lower", "upper")},
        alike=("no_skill", *boot),
        level=level,
        words=labels_of(metrics),
    )


def _ways(scores: Scores, metric: Metric) -> tuple[str, ...]:
    """Return the ways in which folds are combined for a metric."""
    pairs = metric.pairs is not None and (metric.rank or scores.pairwise)
    return ("pooled", "per_fold", "paired") if pairs else ("pooled", "per_fold")


# ---- the records to which the model was fitted ----


def apparent(result: CVResult) -> pd.Series[float]:
    """Return the metrics of the fit on all rows, on those same rows; optimistic.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> res.apparent.round(3).head(2)
    auroc    0.887
    auprc    0.838
    Name: apparent, dtype: float64
    """
    y = result.design.y
    continuous = not result.design.outcome.levels
    baseline = np.full(len(y), y.mean()) if continuous else None
    values = {}
    for metric in result.chosen_metrics:
        cut = result.refits.full_threshold(metric)
        read = metric.readable(result.refits.fitted, result.held.probabilities, cut)
        values[metric.name] = metric(y, read, baseline, cut)
    made = pd.Series(values, name="apparent", dtype=float)
    caption = "Metrics of the fit to all rows, on these same rows"
    return Values(made, caption, words=labels_of(result.chosen_metrics))


def _observed(design: Design, rows: Numbers) -> dict[str, Any]:
    """Return the columns of the outcome: time and event, or what was observed."""
    outcome = design.outcome
    y = outcome.y[rows]
    if outcome.kind == "survival":
        return {"time": times_of(y), "event": events_of(y)}
    if outcome.ordered:
        known = pd.Index(outcome.levels)
        return {"observed": pd.Categorical.from_codes(y, known, ordered=True)}
    if outcome.kind == "multiclass":
        y = np.asarray(outcome.levels, dtype=object)[y]
    return {"observed": np.asarray(y)}


def _named_predictions(outcome: Outcome, predicted: Floats) -> dict[str, Floats]:
    """Return predictions by column: one, or one for each class or horizon."""
    if not outcome.columns:
        return {"predicted": predicted}
    return dict(zip(outcome.columns, predicted.T, strict=True))
