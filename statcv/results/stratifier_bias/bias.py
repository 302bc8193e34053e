"""The bias caused by stratifying folds by each candidate, in tables and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.arguments import check_types
from statcv.folds import FoldPlan
from statcv.inference import MonteCarlo
from statcv.results.stratifier_bias import ranking
from statcv.results.stratifier_bias.association import LABELS
from statcv.results.stratifier_bias.measured import leaks, shown_to
from statcv.results.stratifier_bias.setting import RECORD, Setting
from statcv.results.summary import Summary
from statcv.results.wording.phrases import Note, note, phrase, shown_notes
from statcv.tables import number, wrapped
from statcv.words import p_value, percent, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class StratifierBias:
    """The biases caused by stratifying folds by several candidate covariates.

    It is returned by :func:`statcv.stratifier_bias`.

    Attributes
    ----------
    ranking : pandas.DataFrame
        The candidates, one per row, in decreasing order of the predicted loss of the
        metric, in points (hundredths) if the metric lies between 0 and 1.

        - ``folds`` is the way in which the candidate defines folds; ``in_model``
          whether a term of the formula uses it.
        - ``predicted`` is 0.40 + 1.01 times ``clamp`` (or 0 if that is negative) +
          0.058 times ``permutation`` for accuracy and one quantile bin per fold,
          otherwise ``clamp``; NaN for models other than trees and nearest neighbours.
        - ``clamp`` is the loss of held-out predictions if each value is moved to the
          nearest value outside its own fold (or to the commonest one, if values have no
          order); ``clamp_se`` is its standard error over records.
        - ``importance`` is the model's own importance, as a proportion; ``permutation``
          the loss if held-out values are permuted.
        - ``mutual_information`` (of ten quantile bins with the outcome, in nats),
          ``anova_f`` and ``anova_p`` measure the association with the outcome.
        - ``heterogeneity`` is the auROC of a linear discriminant analysis that predicts
          the fold from the other covariates; 0.5 if the folds are alike.
        - ``duplicates_split`` is the number of records predicted by fits trained on a
          known duplicate; NaN if no duplicates are known.
    measured : pandas.DataFrame or None
        The measured biases, one row per candidate: ``bias`` is ``estimate`` minus
        ``unbiased``, with its interval over folds (``lower``, ``upper``) and over
        records (``records_lower``, ``records_upper``); ``ratio`` is that of the two
        estimates; ``verdict`` states the bias in words.
    unbiased, chance : float, MonteCarlo
        The unbiased estimate, from random folds across which known duplicates are never
        split, and its Monte Carlo error.
    plans : dict of str to FoldPlan
        The folds of every estimate, including ``"unbiased"``.
    skipped : dict of str to str
        Columns that cannot define folds, with the reason, if no candidates were named.
    importance, how, level
        The kind of importance, the way of combining folds, and the level of intervals.
    failed, fits : int
        The number of fits that did not converge or were separated, and of all fits.

    Examples
    --------
    >>> import statcv as scv
    >>> people = scv.simulate_ehr(300, 60, seed=1)
    >>> cost = scv.stratifier_bias("y ~ x3 + x10", people, ["x3", "x10"], measure=False)
    >>> cost.ranking["candidate"].tolist()
    ['x3', 'x10']
    """

    ranking: pd.DataFrame
    measured: pd.DataFrame | None
    unbiased: float
    chance: MonteCarlo
    plans: dict[str, FoldPlan]
    skipped: dict[str, str]
    importance: str
    how: str
    level: float
    failed: int
    fits: int
    setting: Setting = field(repr=False)

    @property
    def metric(self) -> str:
        """The label of the metric."""
        return self.setting.metric.label

    @property
    def unit(self) -> str:
        """The unit of losses and bias: points, or the metric."""
        return "points" if self.setting.points else self.metric

    @property
    def seed(self) -> int:
        """The seed that reproduces the same numbers."""
        return self.setting.seed

    @property
    def least(self) -> str:
        """The candidate with the least bias that does not split known duplicates.

        The bias is the measured one if there is one, else the predicted one. Among
        candidates without a detectable bias, one that no term uses comes first.
        """
        table = self.ranking.set_index("candidate")
        order = pd.DataFrame(
            {
                "parts": table["duplicates_split"] > 0,
                "cost": 0.0,
                "in_model": table["in_model"],
                "rank": -table["rank"],
            }
        )
        if self.measured is not None:
            own = self.measured.set_index("candidate").reindex(table.index)
            inside = (own["lower"] <= 0) & (own["upper"] >= 0)
            inside |= (own["records_lower"] <= 0) & (own["records_upper"] >= 0)
            order["cost"] = own["bias"].abs().where(~inside, 0.0)
        else:
            order["cost"] = table["predicted"].where(table["in_model"], 0.0)
        return str(order.sort_values(order.columns.tolist()).index[0])

    def plot(self, against: str = "importance", ax: Axes | None = None) -> Axes:
        """Draw bias against importance or another column of the ranking.

        The arguments are those of :func:`statcv.plots.plot_stratifier_bias`.
        """
        check_types(StratifierBias.plot, locals())
        from statcv.plots import plot_stratifier_bias

        return plot_stratifier_bias(self, ax, against=against)

    def summary(self, notes: bool = False) -> Summary:
        """Return a summary, which is text in a console and HTML in a notebook.

        Parameters
        ----------
        notes : bool, default False
            Whether to show all notes, not only those that may change a decision.
        """
        check_types(StratifierBias.summary, locals())
        return summarise(self, notes)

    def __repr__(self) -> str:
        return in_three_lines(self)


# ---- in words ----

ROOM = 20  # number of lines that the notes may take


def _notes_on(found: StratifierBias) -> Iterator[Note]:
    """Yield explanations of the numbers, with their weights."""
    setting, table = found.setting, found.ranking
    yield _predicted(found)
    yield note("association")
    if (~table["in_model"]).any():
        outside = table.loc[~table["in_model"], "candidate"]
        yield note("not in formula", columns=list(outside))
    if found.importance == "linear":
        yield note("extrapolation")
    yield note("importance", label=LABELS[found.importance])
    if found.measured is not None:
        yield from _of_intervals(found, found.measured)
    yield note("no duplicates" if setting.duplicates is None else "duplicates")
    for reason in found.skipped.values():
        yield note("no candidate", reason=reason)
    if found.failed:
        yield note("failed fits", failed=found.failed, fits=found.fits)


def _predicted(found: StratifierBias) -> Note:
    """Return how the loss is predicted, and how well for such a model."""
    setting, label = found.setting, found.setting.metric.label
    if not ranking.predicts(setting, found.importance):
        each = {
            kind: of_accuracy
            for kind, (of_accuracy, *_) in ranking.CORRELATIONS.items()
        }
        return note("clamp for trees", label=label, **each)
    near = setting.model.capabilities.predicts_by_neighbors
    kind = "neighbours" if near else "trees"
    known: dict[str, Any] = {"label": label, "r": ranking.CORRELATIONS[kind]}
    known["less"] = ranking.WITH_INTERACTIONS[kind]
    if setting.metric != ranking.MEASURED_IN:
        return note("clamp", **known)
    known |= {"of_clamp": ranking.OF_CLAMP, "of_permutation": ranking.OF_PERMUTATION}
    return note("clamp and permutation", start=ranking.INTERCEPT, **known)


def _of_intervals(found: StratifierBias, measured: pd.DataFrame) -> Iterator[Note]:
    """Yield what the intervals of the bias cover."""
    yield note("over folds", repeats=found.chance.repeats)
    if measured["records_lower"].isna().all():
        yield note("not over records", label=found.setting.metric.label)
    else:
        alone = found.setting.duplicates is None
        yield note("over records", unit="record" if alone else "group of duplicates")
    if len(measured) > 1:
        yield note("separate verdicts", verdicts=len(measured))


def in_three_lines(found: StratifierBias) -> str:
    """Return the model, the unbiased estimate, and the extreme candidates."""
    setting, table = found.setting, found.ranking
    said = f"{setting.design.formula.text}: {setting.model.label}; "
    said += phrase("records", setting)
    worst, least = str(table["candidate"].iloc[0]), found.least
    if found.measured is not None:
        cost = (found.measured["bias"] * -setting.sign).fillna(-np.inf)
        worst = str(found.measured["candidate"].iloc[int(cost.argmax())])
    names = dict.fromkeys([worst, least])
    last = "; ".join(f"{name} {_in_brief(found, name)}" for name in names)
    if found.measured is None and not ranking.predicts(setting, found.importance):
        split = table.set_index("candidate")["duplicates_split"]
        leaky = [f"{name} {leaks(split[name])}" for name in split[split > 0].index]
        last = (
            f"{''.join(leaky)}what each candidate costs is predicted for trees and "
            "neighbours only; measure=True measures it"
        )
    lines = [said, f"unbiased {phrase('unbiased', found)}", last]
    return "\n".join(line for text in lines for line in wrapped(text, rest="  "))


def _in_brief(found: StratifierBias, name: str) -> str:
    if found.measured is not None:
        table = found.measured.set_index("candidate")
        return str(table.loc[name, "verdict"])
    row: Any = found.ranking.set_index("candidate").loc[name]
    first = leaks(row["duplicates_split"])
    if np.isnan(row["predicted"]):
        unused = "" if row["in_model"] else " (no term uses it)"
        return f"{first}no prediction of what it costs{unused}"
    cost = number(row["predicted"], shown_to(np.nan, found.setting))
    told = f"is predicted to cost {cost} {found.unit}"
    return f"{first}{told} (measure=True measures it)"


def summarise(found: StratifierBias, notes: bool) -> Summary:
    """Return the summary of the biases of stratifiers, with all notes or the first."""
    setting, outcome = found.setting, found.setting.design.outcome
    told, more = shown_notes([*_notes_on(found)], notes, ROOM)
    tables = {"Ranking": found.ranking.set_index("candidate")}
    caption = f"Loss in {found.unit}, predicted before any fit on a candidate's folds"
    shown = {caption: _ranking(found)}
    if found.measured is not None:
        caption = f"Bias in {found.unit}"
        tables["Measured"] = found.measured.set_index("candidate")
        shown[caption] = _measured(found, found.measured)
    duplicates = "none known"
    if setting.duplicates is not None:
        many, label = setting.design.n - setting.distinct, setting.duplicates.label
        by = "equal " * (label != RECORD)
        duplicates = f"{plural(many, 'record')} beyond the first ({by}{label})"
    return Summary(
        title=f"Stratifiers for {setting.design.formula.text}",
        facts=(
            ("model", setting.model.label),
            ("outcome", f"{outcome.name}: {outcome.describe()}"),
            ("records", phrase("records", setting)),
            ("duplicates", duplicates),
            ("unbiased", phrase("unbiased", found)),
            ("seed", str(setting.seed)),
        ),
        tables=tables,
        shown=shown,
        notes=told,
        more=more,
    )


def _ranking(found: StratifierBias) -> pd.DataFrame:
    table = found.ranking
    width = shown_to(float(4 * table["clamp_se"].max()), found.setting)
    columns: dict[str, Any] = {
        "predicted": [number(v, width) for v in table["predicted"]],
        "information": [number(v) for v in table["mutual_information"]],
        "p": [p_value(v) for v in table["anova_p"]],
        "auROC of folds": [number(v, 0.01) for v in table["heterogeneity"]],
    }
    if table["duplicates_split"].notna().any():
        columns["duplicates split"] = [f"{n:.0f}" for n in table["duplicates_split"]]
    return pd.DataFrame(columns, index=table["candidate"].rename(None))


def _measured(found: StratifierBias, table: pd.DataFrame) -> pd.DataFrame:
    level, each = percent(found.level), table.to_dict("records")
    over_folds = [_range(row, found.setting) for row in each]
    widths = [shown_to(row["upper"] - row["lower"], found.setting) for row in each]
    bias = list(map(number, table["bias"], widths))
    shown = {
        "estimate": list(map(number, table["estimate"])),
        f"bias ({level} CI over folds)": [
            one if two == "–" else f"{one} ({two})"
            for one, two in zip(bias, over_folds, strict=True)
        ],
        f"{level} CI over records": [
            _range(row, found.setting, "records_") for row in each
        ],
    }
    return pd.DataFrame(shown, index=table["candidate"].rename(None))


def _range(row: Mapping[Any, Any], setting: Setting, of: str = "") -> str:
    low, high = row[f"{of}lower"], row[f"{of}upper"]
    digits = shown_to(high - low, setting)
    return "–" if np.isnan(low) else f"{number(low, digits)} to {number(high, digits)}"
