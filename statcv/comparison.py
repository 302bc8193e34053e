"""Results side by side: paired differences with intervals and p-values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ComparisonError
from statcv.folds.audit import LEANS
from statcv.metrics import Metric, delong_test, get_metric
from statcv.result import CVResult
from statcv.summary import Summary, number, p_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
LONG = 24  # a name longer than this makes the tables too wide
SCHEMES_DIFFER = "tests the schemes, not the models: only the scheme differs"
DRAWS_DIFFER = "tests two draws of one scheme: only the folds differ"
FOLDS_DIFFER = "the folds differ, which adds to the difference"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Results of the same records, compared pair by pair.

    Made by :func:`statcv.compare`.

    Attributes
    ----------
    results : dict of str to CVResult
    metric : Metric
    level : float
    table : pandas.DataFrame
        A row a result: headline estimate with interval and how, and the pooled
        estimate of the predictions averaged over repeats, which the test uses.
    differences : pandas.DataFrame
        A row a pair: difference (second less first), standard error, interval,
        statistic, p-value, p-value adjusted by Holm, and what to mind.
    """

    results: Mapping[str, CVResult]
    metric: Metric
    level: float

    @cached_property
    def _predictions(self) -> dict[str, Floats]:
        """Each result's prediction of each record, records in one order."""
        return {
            name: self.metric.readable(
                result.scores.mean_prediction()[1], result.scores.probabilities
            )
            for name, result in self.results.items()
        }

    @cached_property
    def _observed(self) -> NDArray[Any]:
        first = next(iter(self.results.values()))
        return np.asarray(first.design.y[first.scores.mean_prediction()[0]])

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a result."""
        rows = {}
        for name, result in self.results.items():
            found = result.estimate(self.metric.name, level=self.level)
            rows[name] = {
                "estimate": found.value,
                "lower": found.lower,
                "upper": found.upper,
                "how": found.how,
                "pooled": float(self.metric(self._observed, self._predictions[name])),
            }
        return pd.DataFrame.from_dict(rows, orient="index")

    @cached_property
    def differences(self) -> pd.DataFrame:
        """A row a pair of results."""
        rows = [self._pair(a, b) for a, b in combinations(self.results, 2)]
        table = pd.DataFrame(rows)
        table.insert(
            list(table.columns).index("p") + 1, "p_holm", _holm(table["p"].to_numpy())
        )
        return table

    def _pair(self, first: str, second: str) -> dict[str, Any]:
        a, b = self._predictions[first], self._predictions[second]
        test = self._delong if self.metric.name == "auroc" else self._casewise
        numbers, reason = test(a, b)
        pair = (self.results[first], self.results[second])
        minded = [reason, _to_mind(*pair)]
        if self.metric.name == "auroc":
            minded.append(_leaning(*pair))
        return {
            "first": first,
            "second": second,
            **numbers,
            "mind": "; ".join(filter(None, minded)),
        }

    def _delong(self, a: Floats, b: Floats) -> tuple[dict[str, float], str]:
        test = delong_test(self._observed, b, a, level=self.level)
        return {
            "difference": test.estimate,
            "se": test.se,
            "lower": test.lower,
            "upper": test.upper,
            "statistic": test.statistic,
            "p": test.p_value,
        }, test.reason

    def _casewise(self, a: Floats, b: Floats) -> tuple[dict[str, float], str]:
        """Test the mean of the records' differences by a t test."""
        from scipy.special import stdtr, stdtrit

        if self.metric.casewise is None:  # refused when the comparison was made
            raise ComparisonError(f"{self.metric.label} is no mean over records.")
        y, n = self._observed, len(self._observed)
        change = self.metric.casewise(y, b) - self.metric.casewise(y, a)
        mean = float(change.mean())
        se = float(change.std(ddof=1) / np.sqrt(n))
        reason = ""
        if se > 0:
            statistic = mean / se
        else:
            statistic = 0.0 if mean == 0 else float(np.copysign(np.inf, mean))
            reason = "every record differs by the same amount"
        half = float(stdtrit(n - 1, (1 + self.level) / 2)) * se
        return {
            "difference": mean,
            "se": se,
            "lower": mean - half,
            "upper": mean + half,
            "statistic": statistic,
            "p": float(2 * stdtr(n - 1, -abs(statistic))),
        }, reason

    def summary(self) -> Summary:
        """Return the comparison as tables with notes."""
        tests = "DeLong" if self.metric.name == "auroc" else "t on casewise losses"
        first = next(iter(self.results.values()))
        shown_table = pd.DataFrame(
            {
                "estimate": _numbers(self.table["estimate"], self.table),
                f"{self.level:.0%} interval": _ranges(self.table),
                "how": self.table["how"].str.replace("_", " "),
                "pooled": _numbers(self.table["pooled"], self.table),
            }
        )
        title = f"Paired comparison of {self.metric.label} ({tests})"
        differences = f"Differences of the pooled {self.metric.label}"
        minded = dict.fromkeys(filter(None, self.differences["mind"]))
        return Summary(
            title=title,
            facts=(
                (
                    "outcome",
                    f"{first.design.outcome.name}: {first.design.outcome.describe()}",
                ),
                ("records", f"{len(self._observed)}, the same in every result"),
                *_in_words(self.results),
            ),
            tables={"Estimates": self.table, differences: self.differences},
            shown={"Estimates": shown_table, differences: self._shown_differences()},
            notes=(
                *(f"Mind: {text}." for text in minded),
                *self._averaged(),
                "The test takes the fits as given and counts the variation of the "
                "records alone; at small n its true error rate is above the nominal "
                "one.",
            ),
        )

    def _averaged(self) -> tuple[str, ...]:
        if all(result.plan.repeats == 1 for result in self.results.values()):
            return ()
        return (
            "What is pooled, and tested, are predictions averaged over repeats: their "
            f"{self.metric.label} is not the mean of the repeats' values.",
        )

    def _shown_differences(self) -> pd.DataFrame:
        table = self.differences
        shown = pd.DataFrame(
            {
                "difference": _numbers(table["difference"], table),
                "se": _numbers(table["se"], table),
                f"{self.level:.0%} interval": _ranges(table),
                "z" if self.metric.name == "auroc" else "t": [
                    number(value) for value in table["statistic"]
                ],
                "p": [p_value(value) for value in table["p"]],
            }
        )
        if len(table) > 1:
            shown["p (Holm)"] = [p_value(value) for value in table["p_holm"]]
        shown.index = pd.Index(table["second"] + " − " + table["first"])
        return shown

    def __repr__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the ROC curves over each other.

        Raises
        ------
        OutcomeError
            If the outcome does not have two classes.
        """
        from statcv.plots import plot_roc

        for name, result in self.results.items():
            ax = plot_roc(result, ax=ax, label=name)
        assert ax is not None  # there are two results at least
        return ax


def make_comparison(
    results: Mapping[str, CVResult], metric: str | None, level: float
) -> Comparison:
    """Check that results can be compared, and join them.

    Raises
    ------
    ComparisonError
        If there are fewer than two, or they differ in their records, or the metric
        has no paired test.
    """
    if len(results) < 2:
        raise ComparisonError(
            f"compare() needs two results or more, not {len(results)}."
        )
    wrong = [n for n, r in results.items() if not isinstance(r, CVResult)]
    if wrong:
        kind = type(results[wrong[0]]).__name__
        raise ComparisonError(f"{wrong[0]!r} is a {kind}, not a result of cv().")
    if not 0 < level < 1:
        raise ComparisonError(f"level must lie between 0 and 1, not {level!r}.")
    names = list(results)
    for name in names[1:]:
        _same_records(names[0], results[names[0]], name, results[name])
    outcome = results[names[0]].design.outcome
    defaults = {"binary": "auroc", "multiclass": "accuracy", "continuous": "mse"}
    chosen = get_metric(metric or defaults[outcome.kind])
    chosen.check_outcome(outcome.kind, outcome.name)
    if chosen.name != "auroc" and chosen.casewise is None:
        raise ComparisonError(
            f"no paired test is known for {chosen.label}: it is neither auROC nor a "
            "mean over records, as accuracy, brier, log_loss, mae and mse are."
        )
    return Comparison(dict(results), chosen, level)


def name_results(results: tuple[CVResult, ...]) -> dict[str, CVResult]:
    """Name results by that in which they differ, if that is short."""
    if len(results) < 2 or not all(isinstance(r, CVResult) for r in results):
        return {f"argument {i}": r for i, r in enumerate(results, start=1)}
    told = _differences(results, [r.plan.scheme for r in results])
    names = [", ".join(parts) for parts in zip(*told, strict=True)]
    if len(set(names)) == len(results) and max(map(len, names), default=0) <= LONG:
        return dict(zip(names, results, strict=True))
    return {f"result {i}": r for i, r in enumerate(results, start=1)}


def _differences(
    results: Sequence[CVResult], schemes: Sequence[str]
) -> list[Sequence[str]]:
    """Return the aspects in which results differ; their seeds only if in no other."""
    aspects: list[Sequence[str]] = [
        schemes,
        [r.learner.label for r in results],
        [r.design.formula.text for r in results],
        ["unweighted" if r.weights is None else "weighted" for r in results],
    ]
    told = [texts for texts in aspects if len(set(texts)) > 1]
    return told or [[f"seed {r.seed}" for r in results]]


def _same_records(first: str, a: CVResult, second: str, b: CVResult) -> None:
    rows_a = a.design.labels[a.scores.mean_prediction()[0]]
    rows_b = b.design.labels[b.scores.mean_prediction()[0]]
    if len(rows_a) != len(rows_b) or not rows_a.equals(rows_b):
        only = len(rows_a.symmetric_difference(rows_b))
        raise ComparisonError(
            f"{first!r} and {second!r} are not of the same records: {len(rows_a)} and "
            f"{len(rows_b)} rows, {only} of them in one only. Fit both on the rows "
            "complete for both."
        )
    y_a, y_b = a.design.outcome, b.design.outcome
    if y_a.kind != y_b.kind or not np.array_equal(y_a.y, y_b.y):
        raise ComparisonError(
            f"{first!r} and {second!r} do not have the same outcome: {y_a.name} and "
            f"{y_b.name} differ in kind, coding or values."
        )


def _differs(a: CVResult, b: CVResult) -> tuple[bool, bool]:
    """Return whether the models or their data, and whether the folds, differ."""
    model = (
        a.learner.label != b.learner.label
        or a.design.names != b.design.names
        or not np.array_equal(a.design.matrix, b.design.matrix, equal_nan=True)
        or not np.array_equal(_weights(a), _weights(b))
    )
    return model, a.plan.fingerprint != b.plan.fingerprint


def _to_mind(a: CVResult, b: CVResult) -> str:
    model, folds = _differs(a, b)
    if folds and not model:
        return SCHEMES_DIFFER if a.plan.scheme != b.plan.scheme else DRAWS_DIFFER
    return FOLDS_DIFFER if folds else ""


def _leaning(a: CVResult, b: CVResult) -> str:
    """Say where pooling leans, since the test compares pooled predictions."""
    worst = max((a, b), key=lambda r: abs(r.mean_model_auroc - 0.5))
    if abs(worst.mean_model_auroc - 0.5) <= LEANS:
        return ""
    return (
        "pooled over folds whose training means give labels away: the training mean "
        f"alone has auROC {worst.mean_model_auroc:.3f} under {worst.plan.scheme}"
    )


def _weights(result: CVResult) -> Floats:
    return np.ones(result.design.n) if result.weights is None else result.weights


def _in_words(results: Mapping[str, CVResult]) -> list[tuple[str, str]]:
    """Describe each result by that in which they differ, unless its name does."""
    told = _differences(
        [*results.values()], [r.plan.sentence for r in results.values()]
    )
    texts = ["; ".join(parts) for parts in zip(*told, strict=True)]
    return [pair for pair in zip(results, texts, strict=True) if pair[0] != pair[1]]


def _holm(p: Floats) -> Floats:
    if len(p) == 1 or np.isnan(p).any():
        return p
    from statsmodels.stats.multitest import multipletests

    return np.asarray(multipletests(p, method="holm")[1])


def _spread(table: pd.DataFrame) -> Floats:
    return ((table["upper"] - table["lower"]) / 4).to_numpy()


def _numbers(column: pd.Series[Any], table: pd.DataFrame) -> list[str]:
    return [number(v, se) for v, se in zip(column, _spread(table), strict=True)]


def _ranges(table: pd.DataFrame) -> list[str]:
    return [
        "–" if np.isnan(lower) else f"{number(lower, se)} to {number(upper, se)}"
        for lower, upper, se in zip(
            table["lower"], table["upper"], _spread(table), strict=True
        )
    ]
