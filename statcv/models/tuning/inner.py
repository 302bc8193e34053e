"""The inner plan, which divides a training set to choose hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.arguments import PLAN
from statcv.errors import ArgumentError, SchemeError, suggestion
from statcv.folds import SCHEMES, FoldPlan, Ragged, Records, Response, Strata, balance
from statcv.models import TrainingSet
from statcv.numeric.arrays import Ints
from statcv.words import plural

DEFAULT_K = 5
WORDS = {
    "kfold": "{k}-fold",
    "stratified_kfold": "stratified {k}-fold",
    "rkfold": "rebalanced stratified {k}-fold",
    "loocv": "leave-one-out",
    "rloocv": "rebalanced leave-one-out",
    "leave_pair_out": "leave-pair-out",
}
INNER = tuple(WORDS)  # the schemes that divide a training set


@dataclass(frozen=True)
class InnerScheme:
    """How every training set is divided.

    Attributes
    ----------
    name : str
        One of ``INNER``.
    k : int or None
        Number of folds, if any; fewer in a training set that has fewer records, or
        strata, of a class to spread.
    repeats : int
    rebalance : str or None
        How inner training sets are given equal class totals.
    grouped_by : str
        The grouping of records in inner and outer folds, in words; empty without one.
    """

    name: str
    k: int | None
    repeats: int = 1
    rebalance: str | None = None
    grouped_by: str = ""

    @classmethod
    def of(
        cls,
        name: str | None,
        k: int | None,
        repeats: int,
        rebalance: str | None,
        kind: str,
        outer: FoldPlan,
    ) -> InnerScheme:
        """Return the scheme for the training sets of a plan.

        Raises
        ------
        SchemeError
            If it is unknown, or not for this kind of outcome.
        ArgumentError
            If ``k`` or ``repeats`` do not apply to it.
        """
        # training sets that lack a status can be fitted all the same
        times, kind = kind == "survival", _without_classes(kind)
        if name is None:
            name = "kfold" if kind == "continuous" else "stratified_kfold"
            if rebalance is None and outer.rebalance is not None and not times:
                kept = outer.rebalance in ("weight", "upsample")
                rebalance = outer.rebalance if kept else "subsample"
        elif name not in INNER:
            raise SchemeError(
                f"there is no inner scheme {name!r}; there are {', '.join(INNER)}."
                + suggestion(name, INNER)
            )
        scheme = SCHEMES[name]
        of_classes = kind == "continuous" and name == "leave_pair_out"
        if kind not in scheme.outcomes or of_classes:
            raise SchemeError(
                f"the inner scheme {name!r} needs an outcome of classes, and this one "
                "is continuous; use 'kfold' or 'loocv'."
            )
        if rebalance is not None and (scheme.rebalance or name == "leave_pair_out"):
            raise ArgumentError(
                f"rebalance={rebalance!r} means nothing for the inner scheme {name!r}."
            )
        how = rebalance or scheme.rebalance
        if k is not None and not scheme.has_k:
            raise ArgumentError(f"k={k} means nothing for the inner scheme {name!r}.")
        drawn = scheme.held_at_random or how in ("subsample", "upsample")
        if repeats > 1 and not drawn:
            raise ArgumentError(
                f"repeats={repeats} means nothing for the inner scheme {name!r}, which "
                "has no randomness."
            )
        folds = (DEFAULT_K if k is None else k) if scheme.has_k else None
        together = "" if outer.strata is None else outer.strata.kept
        return cls(name, folds, repeats, how, together)

    @property
    def label(self) -> str:
        """The scheme in a few words."""
        named = self.name
        if named == "stratified_kfold" and self.rebalance == "subsample":
            named = "rkfold"
        said = WORDS[named].format(k=self.k)
        if self.rebalance and SCHEMES[named].rebalance is None:
            said += f" rebalanced by {self.rebalance}"
        said = f"{self.repeats} × {said}" if self.repeats > 1 else said
        return f"{said}, {self.grouped_by}," if self.grouped_by else said

    def fits(self, n: int) -> int:
        """Return the number of fits on n records."""
        if SCHEMES[self.name].holds_out_pairs:
            # pairs are most in number if both classes have half of the records
            return n * n // 4
        return self.repeats * (n if self.k is None else min(self.k, n))

    def plan(self, training: TrainingSet) -> FoldPlan:
        """Divide a training set, at random by its seed.

        Raises
        ------
        SchemeError
            If a class has a single record, or stratum, in the training set.
        """
        scheme = SCHEMES[self.name]
        kind = _without_classes(training.kind)
        response = Response.of(training.y, kind, range(training.n_classes))
        unit, strata = None, None
        if training.strata is not None:
            unit = np.unique(training.strata, return_inverse=True)[1].astype(np.intp)
            strata = Strata("strata", unit, int(unit.max()) + 1)
        records = Records(response.codes, response.classes, unit)
        folds = self.k
        least = _least(records)
        if folds is not None:
            folds = min(folds, records.units)
            if scheme.spreads:
                folds = min(folds, max(least, 2))
        held = []
        for repeat in range(self.repeats):
            stream = np.random.SeedSequence(training.seed, spawn_key=(PLAN, repeat))
            held.append(scheme.hold(records, folds, np.random.default_rng(stream)))
        tests = Ragged.joined([one.tests for one in held])
        plan = FoldPlan(
            scheme=self.name,
            sentence=self.label,
            n=records.n,
            tests=tests,
            labels=tuple(range(1, len(one.tests) + 1) for one in held),
            kept_out=Ragged.joined([one.kept_out for one in held]),
            strata=strata,
            response=response,
        )
        if response.by_class and _lacks_a_class(plan, response):
            raise SchemeError(
                f"the training set cannot be divided to tune on it by {self.label}: a "
                f"part would train without a class, of which the rarest has "
                f"{plural(least, 'record' if strata is None else 'cluster')}"
                "; leave tune= out, or hold out fewer records."
            )
        if self.rebalance is None:
            return plan
        return balance(plan, self.rebalance, training.seed)


def _without_classes(kind: str) -> str:
    """Return the kind of outcome by which a training set is divided."""
    return "continuous" if kind == "survival" else kind


def _least(records: Records) -> int:
    """Return the number of units with the class that the fewest units have."""
    table = records.table() > 0
    return int(table.sum(axis=0).min())


def _lacks_a_class(plan: FoldPlan, response: Response) -> bool:
    training: Ints = plan.counts(response.codes, response.classes)[0]
    present = response.counts > 0
    return bool((training[:, present] == 0).any())
