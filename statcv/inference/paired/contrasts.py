"""Estimates of several results, and the paired differences between them.

Every choice of a comparison is made here: the metric, how it is computed (pooled, per
fold, paired), and the test. All estimates, differences, intervals and p-values refer
to that one metric, computed in that one way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import PERMUTATION
from statcv.errors import MetricError
from statcv.inference.assumptions import ASSUMED
from statcv.inference.estimates.draws import Draws
from statcv.inference.estimates.estimate import Estimate
from statcv.inference.estimates.estimate import estimate as make_estimate
from statcv.inference.estimates.influences import Influences, influences_on
from statcv.inference.estimates.pair_variation import variation_of_difference
from statcv.inference.estimates.values import share_by_record, values_by_split
from statcv.inference.intervals.infinitesimal import (
    NEARLY_TWICE,
    by_deletion,
    shared_training,
)
from statcv.inference.intervals.interval import is_slope
from statcv.inference.paired import records, tests
from statcv.inference.paired.delong import paired_delong
from statcv.inference.paired.methods import (
    BY_INFLUENCE,
    CORRECTED,
    VARIED,
    PairedMethod,
)
from statcv.inference.paired.nested import at_equality
from statcv.inference.paired.records import SharedRecords
from statcv.inference.paired.tests import PairedTest
from statcv.inference.readable import Readable
from statcv.metrics import Metric
from statcv.models.selection import chooses_terms
from statcv.numeric.arrays import Floats, Numbers
from statcv.tables import Printed, Table, labels_of

# column of adjusted p-values, its heading, and the name of the method in statsmodels
ADJUSTED = {
    "holm": ("p_holm", "p (Holm)", "holm"),
    "bh": ("p_bh", "p (BH)", "fdr_bh"),
    "none": ("p", "p", ""),
}


def adjusted(p: Floats, name: str) -> Floats:
    """Adjust p-values for their number; those that are NaN do not count.

    Parameters
    ----------
    p : numpy.ndarray
    name : {"holm", "fdr_bh"}
        The name of the method in statsmodels.
    """
    known = ~np.isnan(p)
    if known.sum() < 2:
        return p
    from statsmodels.stats.multitest import multipletests

    corrected = np.full(len(p), np.nan)
    corrected[known] = multipletests(p[known], method=name)[1]
    return corrected


# ---- contrasts of results ----

TIMES = 9999  # random swaps of a permutation test
AVERAGED = "pooled, averaged"  # the metric of the mean predictions of the records
CHOSEN_ALIKE = ASSUMED["chosen_alike"]
OF_DECISIONS = ASSUMED["decisions"]
# shares of right decisions; in other metrics of decisions a fit gains, or loses, by
# finding more records positive
OF_RIGHT = ("accuracy", "f1_micro")
# those that end at 0 or 1 where a fit finds no record, or every record, positive
ENDING = ("sensitivity", "specificity", "f1")
AGAINST_NULL = ASSUMED["against_null"]


@dataclass(frozen=True, eq=False, repr=False)
class Contrasts(Printed):
    """Pairwise comparisons of results for the same records.

    Attributes
    ----------
    results : dict of str to result
    metric : Metric
    how : {"pooled", "pooled, averaged", "per_fold", "paired"}
        How the metric is computed and tested.
    level : float
        Confidence level of the intervals.
    method : PairedMethod
        The test, with its assumptions.
    reference : str or None
        The result with which the others are compared; None for all pairs.
    seed, n_permutations : int
        Seed and number of swaps of a permutation test.
    fixed : tuple of str
        The results whose fits are taken as given.
    """

    results: Mapping[str, Readable]
    metric: Metric
    how: str
    level: float
    method: PairedMethod
    reference: str | None = None
    seed: int = 0
    n_permutations: int = TIMES
    fixed: tuple[str, ...] = ()

    @cached_property
    def records(self) -> SharedRecords:
        """The held-out predictions of all results, with the records in one order."""
        return SharedRecords(self.results, self.metric, self.reference)

    @property
    def stated(self) -> str:
        """The metric, and how it is computed, in words."""
        label, how = self.metric.label, self.how.replace("_", " ")
        return f"{label[:-1]}, {how})" if label.endswith(")") else f"{label} ({how})"

    # ---- estimates ----

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """The estimate of each result; its interval is computed when first read."""
        return {name: self._estimate(name) for name in self.results}

    def _estimate(self, name: str) -> Estimate:
        if self.how == AVERAGED:
            scores = self.records.averaged[name]
            found = make_estimate(scores, self.metric, "pooled", self.level)
            return replace(found, how=AVERAGED)
        if name == records.NULL and self.records.null_ranks_equally:
            scores = self.records.scores[name]
            return make_estimate(scores, self.metric, self.how, self.level)
        return self.results[name].estimate(self.metric, self.how, self.level)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per result."""
        columns = ["estimate", "lower", "upper", "how"]
        found = self.estimates.values()
        rows = [(one.value, one.lower, one.upper, one.how) for one in found]
        return Table(
            pd.DataFrame(rows, list(self.estimates), columns),
            f"{self.metric.label} of each result, on the same records",
            ["estimate", "how"],
            limits={"estimate": ("lower", "upper")},
            level=self.level,
            words=labels_of([self.metric]),
        )

    # ---- differences ----

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of names compared, with the reference or the earlier one first."""
        if self.reference is None:
            return list(combinations(self.results, 2))
        others = [name for name in self.results if name != self.reference]
        return [(self.reference, other) for other in others]

    @cached_property
    def differences(self) -> pd.DataFrame:
        """One row per pair of results."""
        rows = [self._row(number, *pair) for number, pair in enumerate(self.pairs)]
        table = pd.DataFrame(rows)
        place = list(table.columns).index("p") + 1
        for way, (column, _, name) in ADJUSTED.items():
            if way != "none":
                table.insert(place, column, adjusted(table["p"].to_numpy(), name))
                place += 1
        headings = {"difference": "difference", "p": "p", "p_holm": "p (Holm)"}
        return Table(
            table,
            f"Differences of the {self.stated}: the second minus the first",
            {"first": "first", "second": "second", **headings},
            limits={"difference": ("lower", "upper")},
            level=self.level,
            se="se",
            p=("p", "p_holm"),
        )

    def _row(self, number: int, first: str, second: str) -> dict[str, Any]:
        test = self.test(number, first, second)
        names = ("difference", "se", "lower", "upper", "statistic")
        numbers = {name: getattr(test, name) for name in names}
        told = "; ".join(filter(None, self._caveats(first, second, test)))
        last = {"p": test.p_value, "caveat": told}
        return {"first": first, "second": second, **numbers, **last}

    def _caveats(self, first: str, second: str, test: PairedTest) -> list[str]:
        """Return what a reader must know about a pair before trusting its p-value."""
        a, b = self.results[first], self.results[second]
        both = {name: self.estimates[name] for name in (first, second)}
        headlines = {n: self.results[n].scores.headline(self.metric) for n in both}
        caveats = [test.reason, records.caveat(a, b)]
        caveats.append(records.headline_caveat(headlines, self.how))
        caveats += records.undefined_caveats(both)
        if self.metric.rank and self.how in ("pooled", AVERAGED):
            caveats.append(records.pooling_caveat(a, b))
        given = self.method.name in BY_INFLUENCE and self.method.name != VARIED
        if given and self._choice(first, second) > NEARLY_TWICE:
            caveats.append(CHOSEN_ALIKE)
        refits = [r.learner.capabilities.refits for r in self.results.values()]
        if self._traded:
            caveats.append(OF_DECISIONS)
        if records.against_null(self.results, self.reference) and all(refits):
            caveats.append(AGAINST_NULL)
        return list(dict.fromkeys(caveats))

    # ---- tests ----

    def test(self, number: int, first: str, second: str) -> PairedTest:
        """Test the difference between the two estimates in the table."""
        before, after = (self.estimates[name].value for name in (first, second))
        with np.errstate(invalid="ignore"):
            difference = float(np.subtract(after, before))
        tested = self._tested(number, first, second, difference)
        exact = 0.0 if tested.statistic == 0 else difference
        return replace(tested, difference=exact)

    def _tested(
        self, number: int, first: str, second: str, difference: float
    ) -> PairedTest:
        if self.method.name == "corrected_t":
            return self._by_fold(first, second)
        if self.method.name == "permutation":
            return self._permuted(number, first, second)
        if self.method.name == "t":
            change = self.changes(first, second)
            clusters = self.clusters(first, second)
            return tests.paired_t(change, clusters, self.level)
        if self.method.name in BY_INFLUENCE:
            return self._by_influence(first, second, difference)
        if self.method.name == "corrected_jackknife":
            return self._refitted(first, second, difference)
        return self._delong(first, second, self.how, difference)

    def clusters(self, first: str, second: str) -> Numbers | None:
        """Return the cluster of each held-out record of a pair of results."""
        codes = self.records.clusters(first, second)
        return None if codes is None else codes[: len(self.records.labels)]

    def changes(self, first: str, second: str) -> Floats:
        """Return the contribution of each record to the difference of two means.

        The mean of the contributions is the difference.
        """
        averaged = self.how == AVERAGED
        scores = self.records.averaged if averaged else self.records.scores
        how = "pooled" if averaged else self.how
        names, records = (first, second), self.records.labels
        shares = [share_by_record(scores[name], self.metric, how) for name in names]
        labels = [self.results[name].design.labels for name in names]
        where = [own.get_indexer(records) for own in labels]
        change: Any = shares[1][where[1]] - shares[0][where[0]]
        # equal predictions that were computed in two ways differ by rounding
        change[np.abs(change) <= tests.ALIKE * np.median(np.abs(shares[0]))] = 0.0
        return np.asarray(change)

    def _by_influence(self, first: str, second: str, difference: float) -> PairedTest:
        units = self.records.units(first, second)
        models = [self.results[name].learner for name in (first, second)]
        choice = self._choice(first, second)
        one_choice = choice > NEARLY_TWICE
        # with all its terms a selection would vary as the model that has them all does;
        # ranks within a few folds differ as much by the choices of these folds
        among_all = choice > 0 and not all(map(chooses_terms, models))
        as_chosen = one_choice or (among_all and not self.metric.rank)
        both = []
        for name in (first, second):
            found = self._influences(name, units, as_chosen, one_choice)
            if isinstance(found, str):
                return PairedTest.unavailable(difference, f"{found} for {name}")
            both.append(found)
        alike = [
            one.renumbered(self.records.numbers(name), units)
            for name, one in zip((first, second), both, strict=True)
        ]
        inflated = 1.0
        varied = self.method.name == VARIED
        # models that share most terms vary alike with them, whatever is chosen
        chosen = varied and any(map(chooses_terms, models))
        if chosen or self.method.name == CORRECTED:
            each = [shared_training(self.records.scores[n]) for n in (first, second)]
            # two folds share training records, by which their values correlate
            inflated = max(each)
        bounds = self.metric.bounds_with(self.records.first.scores.n_classes)
        a, b = self.results[first], self.results[second]
        of_pairs = variation_of_difference(
            [self.records.scores[n] for n in (first, second)],
            self.metric,
            self.how,
            both,
            alike if records.same_folds(a, b) else None,
        )
        return tests.paired_influence(
            alike,
            difference,
            self.level,
            bounds,
            of_pairs=of_pairs,
            curved=by_deletion(self.metric, alike),
            inflated=inflated,
            below=self._below_no_skill(first, second),
            traded=self._traded,
            ending=self.metric.name in ENDING,
            at_equality=at_equality(
                self.records, (first, second), both, self.how, difference
            ),
        )

    @property
    def _traded(self) -> bool:
        """Whether fits vary that gain or lose by finding more records positive."""
        varies = self.method.name in (VARIED, CORRECTED)
        two = all(one.n_classes == 2 for one in self.records.scores.values())
        of_decisions = self.metric.reads == "classes" and two
        return varies and of_decisions and self.metric.name not in OF_RIGHT

    def _below_no_skill(self, first: str, second: str) -> float:
        """Return the part of a difference of ranks or slopes that is below no skill.

        A fitted model ranks at random at worst, unless the sign of a coefficient
        differs between fits, so that this part of the difference is an error.
        """
        ranked = self.metric.rank and self.metric.pairs is not None
        if self.method.name != VARIED or not (ranked or is_slope(self.metric)):
            return 0.0
        without = self.metric.without_skill(self.records.first.scores.n_classes)
        without = 0.0 if is_slope(self.metric) else without
        if without is None:
            return 0.0
        a, b = (self.estimates[name].value for name in (first, second))
        return min(b, without) - min(a, without)

    def _choice(self, first: str, second: str) -> float:
        """Return how alike the training sets are that choose terms which both have.

        It is the factor by which folds vary more as they share training records, and 0
        if neither result chooses among terms of the other.
        """
        a, b = self.results[first], self.results[second]
        chosen = [one.scores for one in (a, b) if chooses_terms(one.learner)]
        apart = {*a.design.names}.isdisjoint({*b.design.names} - {"Intercept"})
        return 0.0 if apart else max(map(shared_training, chosen), default=0.0)

    def _influences(
        self, name: str, units: Numbers, as_chosen: bool, one_choice: bool
    ) -> Influences | str:
        """Return the influences of the records on the pooled metric of a result.

        Records are weighted alike for both results, by their numbered units. Terms may
        vary as they are chosen, and all fits may share one choice.
        """
        of_fits, scores = self.method.name == VARIED, self.records.scores[name]
        if as_chosen and scores.sensitivity is not None:
            scores = replace(scores, sensitivity=scores.sensitivity.as_chosen)
        found = influences_on(
            scores,
            [(self.metric, self.how)],
            of_fits=of_fits,
            unit=units[self.records.numbers(name)],
            units=int(units.max()) + 1,
        )[0]
        if isinstance(found, str) or not of_fits:
            return found
        # no fit, or the mean's, has draws that do not vary
        draws = found.draws or Draws.none(int(units.max()) + 1)
        # a choice, or a sign, is not a smooth function of the records
        if one_choice or self.metric.rank:
            draws = replace(draws, share=1.0)
        return replace(found, draws=draws)

    def _delong(
        self, first: str, second: str, how: str, difference: float
    ) -> PairedTest:
        sides = self.records.sides(first, second)
        clusters = self.records.clusters(first, second)
        return paired_delong(*sides, how, difference, clusters, self.level)

    def _permuted(self, number: int, first: str, second: str) -> PairedTest:
        shared = self.records
        a, b = (shared.predictions[name] for name in (first, second))
        stream = np.random.SeedSequence(self.seed, spawn_key=(PERMUTATION, number, 0))
        clusters, losses = self.clusters(first, second), shared.losses(first, second)
        given = self.metric, shared.value, shared.y, a, b, clusters
        rng = np.random.default_rng(stream)
        return tests.paired_permutation(*given, self.n_permutations, rng, losses)

    def _refitted(self, first: str, second: str, difference: float) -> PairedTest:
        a, b = self.results[first], self.results[second]
        if not a.design.labels.equals(b.design.labels):
            why = "the order of the records differs, or not all of them were held out"
            return PairedTest.unavailable(difference, why)
        try:
            before_each = a.jackknife(self.metric, self.how)
            after_each = b.jackknife(self.metric, self.how)
        except MetricError as error:
            return PairedTest.unavailable(difference, str(error).removesuffix("."))
        pooled = [make_estimate(r.scores, self.metric, "pooled").value for r in (a, b)]
        # DeLong's variance is that given the fits
        given = self._delong(first, second, "pooled", pooled[1] - pooled[0])
        return tests.paired_jackknife(
            before_each, after_each, difference, given, self.level
        )

    def _by_fold(self, first: str, second: str) -> PairedTest:
        a, b = self.records.scores[first], self.records.scores[second]
        # the same fold holds out the same records for both
        change = values_by_split(b, self.metric) - values_by_split(a, self.metric)
        held = np.diff(a.starts).astype(float)
        return tests.paired_corrected_t(change, a.n_train, held, self.level)

    @property
    def clustered(self) -> bool:
        """Whether records of one cluster are counted as dependent."""
        return self.method.name != "corrected_t" and any(
            self.records.clusters(*pair) is not None for pair in self.pairs
        )
