"""A result where its outcomes are permuted, and everything is done again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import is_whole, resolve_seed
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    CostWarning,
    MetricError,
    ModelError,
    warn,
)
from statcv.inference import BOOTSTRAPS, NullBias, make_estimate, permuted_values
from statcv.inference.refits.cost import made_together
from statcv.inference.tests.null_bias import make_null_bias
from statcv.inference.tests.permutation import few_ways, warn_of_unknown
from statcv.metrics import Metric
from statcv.results.tabulating import Tabulating

Floats = NDArray[np.float64]
Wanted = tuple[Metric, str]  # a metric, and how it is had

MOST = 10_000_000  # permutations
LONG = 10.0  # seconds above which permutations say beforehand what they cost


class Permuting(Tabulating):
    """Metrics of a result under permuted outcomes; the predictions are its own."""

    def null_distribution(
        self,
        metric: str | Metric | None = None,
        how: str | None = None,
        times: int = 1000,
        *,
        seed: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> pd.Series[float]:
        """Return the metric where the outcome has nothing to do with the predictors.

        The outcomes are dealt anew to the records and everything is done again, with
        refits. Folds that were made for the outcome (classes spread, training sets
        rebalanced) go with it, others stay with the records. Where ``stratify=`` tells
        records of one source by value or hash, sources change places as a whole, each
        with one of as many records. Under leave-one-out the mean auROC is then far
        from 0.5 (Austin, Pe'er & Korem 2024).

        Parameters
        ----------
        metric, how : str, optional
            As :meth:`estimate` takes them, but for the ``.632`` estimates; the
            headline where not given.
        times : int, default 1000
            Permutations.
        seed : int, numpy.random.Generator or None
            Of the permutations; the seed of the result where None.
        n_jobs, progress
            As :func:`statcv.cv` takes them.

        Returns
        -------
        pandas.Series
            A value a permutation, numbered from 1; NaN where there is none, or the
            model cannot be fitted.

        Raises
        ------
        MetricError
            If the metric is unknown, or cannot be had that way.
        ModelError
            If the predictions were made elsewhere, so that nothing can be fitted again.
        SchemeError
            If bins of a number and the outcome made the folds together, or no two
            sources have as many records, or only such as have the same outcomes.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> res = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
        >>> null = res.null_distribution(times=199)
        >>> as_good = int((null >= float(res.estimate())).sum())
        >>> (1 + as_good) / (1 + len(null)) <= 0.05  # the permutation test's p-value
        True
        """
        chosen = self._metric(metric)
        self._check_times(times, "times")
        way = self._permutable(chosen, how)
        drawn = self.seed if seed is None else resolve_seed(seed)
        wanted = [(chosen, way)]
        values = self._permuted(wanted, times, drawn, n_jobs, progress)[0]
        numbers = pd.RangeIndex(1, times + 1, name="permutation")
        return pd.Series(values, index=numbers, name=chosen.name)

    def null_bias(
        self,
        metric: str | Metric | None = None,
        how: str | None = None,
        n_permutations: int = 200,
        *,
        seed: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> NullBias:
        """Return by how much an estimate leans where there is no skill.

        The mean of the estimate over permuted outcomes
        (:meth:`null_distribution`), less its value of no skill. Pooled rank metrics
        lean: far down under leave-one-out, where the training mean tells the held-out
        label, and a little wherever records of different fits are compared, since
        each is in the other's training set, as under ``rloocv`` and exactly
        stratified folds. What is paired does not.

        Parameters
        ----------
        metric, how : str, optional
            As :meth:`null_distribution` takes them.
        n_permutations : int, default 200
            Permutations; those that :meth:`test` or :meth:`null_distribution` made
            with the same seed are not made again.
        seed, n_jobs, progress
            As :meth:`null_distribution` takes them.

        Returns
        -------
        NullBias
            With its Monte Carlo standard error; ``print`` says it in a sentence, and
            ``float`` of it is the bias. It is not the bias where there is skill.

        Raises
        ------
        MetricError
            If no one value of the metric stands for no skill.
        ModelError, SchemeError
            As :meth:`null_distribution` raises them.

        Warns
        -----
        CostWarning
            Before refits that will take long.

        References
        ----------
        Austin, Pe'er & Korem (2024).

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> ridge = scv.models.Logit(C=1.0)
        >>> res = scv.cv("GRADE ~ GPA", df, model=ridge, scheme="rloocv", seed=1)
        >>> res.null_bias("auroc", "pooled").clear, res.null_bias("auroc").clear
        (True, False)
        """
        wanted = self._with_no_skill(metric, how)
        drawn = self.seed if seed is None else resolve_seed(seed)
        return self._null_biases([wanted], n_permutations, drawn, n_jobs, progress)[0]

    def _biases_shown(self, n_permutations: int) -> list[NullBias]:
        """Return the biases of the rank metrics of the summary.

        The first in the headline's way, and all pooled.
        """
        ranks = [m for m in self.chosen_metrics if m.rank and self._leans(m)]
        if not ranks:
            raise MetricError(
                "null_bias= is of metrics that rank, such as auROC, and "
                f"{', '.join(self.metric_names)} are none with a value of no skill."
            )
        ways = [(ranks[0], None), *[(metric, "pooled") for metric in ranks]]
        wanted = dict.fromkeys(self._with_no_skill(*way) for way in ways)
        return self._null_biases(list(wanted), n_permutations, self.seed)

    def _null_biases(
        self,
        wanted: Sequence[Wanted],
        times: int,
        seed: int,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> list[NullBias]:
        """Return the biases of metrics that are all read from the same fits."""
        self._check_times(times)
        orders = {metric: metric.of_random_order() for metric, _ in wanted}
        drawn = [(order, how) for m, how in wanted if (order := orders[m]) is not None]
        every = [*wanted, *drawn]
        self._warn_cost(times - self._made(every, times, seed), n_jobs)
        found = self._permuted(every, times, seed, n_jobs, progress)
        values = dict(zip(every, found, strict=True))

        def no_skill(metric: Metric, how: str) -> float | Floats:
            if (order := orders[metric]) is not None:
                return values[order, how]
            return self._no_skill(metric) or 0.0

        about = f"{self.design.formula.text}: {self.learner.label}; {self.plan.scheme}"
        ways = few_ways(self.plan, self.design.y)
        return [
            make_null_bias(
                metric,
                how,
                values[metric, how],
                no_skill(metric, how),
                seed=seed,
                about=f"{about}: {self.plan.sentence}",
                ways=ways,
            )
            for metric, how in wanted
        ]

    def _with_no_skill(self, metric: str | Metric | None, how: str | None) -> Wanted:
        """Return a metric that has a value of no skill, and how it is had."""
        chosen = self._metric(metric)
        if chosen.against_mean:
            raise MetricError(
                f"{chosen.label} of a model that was fitted to noise is rightly below "
                "0, since it predicts worse than the mean: what permuted outcomes give "
                "is no bias. null_distribution() gives it."
            )
        if not self._leans(chosen):
            raise MetricError(
                f"no value of {chosen.label} stands for no skill under every outcome, "
                "so that there is nothing that it could lean from; "
                "null_distribution() gives what permuted outcomes have."
            )
        return chosen, self._permutable(chosen, how)

    def _leans(self, metric: Metric) -> bool:
        """Tell whether no skill has one value, whatever the model predicts."""
        constant = self._no_skill(metric) is not None and not metric.against_mean
        return constant or metric.in_random_order is not None

    def _permutable(self, metric: Metric, how: str | None) -> str:
        """Return how a metric is had of permuted outcomes, or raise."""
        if not self._refits:
            raise ModelError(
                f"{self.learner.label}: no model is here that could be fitted to "
                "permuted outcomes; test() without method= tests by the interval of "
                "the estimate."
            )
        if how in BOOTSTRAPS:
            raise MetricError(
                f"how={how!r} needs the fit on all rows beside those in the folds, "
                "which is not made for permuted outcomes; use how='per_fold'."
            )
        return make_estimate(self.scores, metric, how).how

    @cached_property
    def _permutations(self) -> dict[tuple[Metric, str, int], tuple[Floats, str]]:
        """The values that were made, and what kept the model from being fitted."""
        return {}

    def _made(self, wanted: Sequence[Wanted], times: int, seed: int) -> int:
        """Count the permutations of which all these values are there."""
        kept = [self._permutations.get((*each, seed)) for each in wanted]
        return min(times, *(0 if one is None else len(one[0]) for one in kept))

    def _permuted(
        self,
        wanted: Sequence[Wanted],
        times: int,
        seed: int,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> list[Floats]:
        """Return metrics of the same fits by permutation; make what is not there."""
        kept = self._permutations
        short = [each for each in wanted if self._made([each], times, seed) < times]
        if short:
            first = self._made(short, times, seed)
            made = permuted_values(
                self._setup_of(short[0][0]),
                self.held,
                short,
                times,
                seed=seed,
                first=first,
                threshold=self.threshold,
                n_jobs=n_jobs,
                progress=progress,
            )
            for each, values in zip(short, made.values, strict=True):
                before, why = kept.get((*each, seed), (np.empty(0), ""))
                joined = np.concatenate([before[:first], values])
                kept[(*each, seed)] = joined, why or made.why
        found = [kept[metric, how, seed][0][:times] for metric, how in wanted]
        for (metric, how), values in zip(wanted, found, strict=True):
            if not metric.is_of_random_order:
                warn_of_unknown(values, metric, how, kept[metric, how, seed][1])
        return found

    def _no_skill(self, metric: Metric) -> float | None:
        return metric.without_skill(len(self.design.outcome.levels))

    def _check_times(self, times: int, name: str = "n_permutations") -> None:
        """Check a number of permutations.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            If it is no integer, below 1, or more than can be made.
        """
        if not is_whole(times):
            raise ArgumentTypeError(f"{name} must be an integer, not {times!r}.")
        if times < 1:
            raise ArgumentError(f"{name} must be 1 or more, not {times}.")
        if times > MOST:
            cost = _duration(MOST * float(self.held.seconds.sum()))
            raise ArgumentError(
                f"{name}={times} is more than can be made; at most {MOST} are allowed, "
                f"which take about {cost} of this model on one core."
            )

    def _warn_cost(self, times: int, n_jobs: int | None) -> None:
        """Say what refits will cost where they are made one by one."""
        if made_together(self._setup):
            return
        once = float(self.held.seconds.sum())
        if once * times > LONG:
            warn(
                f"{times} permutations fit {self.plan.n_fits} training sets each, one "
                f"by one: about {_duration(once * times)} on one core, at "
                f"{_duration(once)} a permutation. n_jobs= shares them out, "
                "n_permutations= makes fewer.",
                CostWarning,
            )


def _duration(seconds: float) -> str:
    """Return a time in words.

    >>> _duration(0.02), _duration(75), _duration(9000)
    ('0.02 s', '1.2 min', '2.5 h')
    """
    if seconds < 60:
        return f"{seconds:.2g} s"
    if seconds < 3600:
        return f"{seconds / 60:.2g} min"
    hours = seconds / 3600
    return f"{hours:.2g} h" if hours < 48 else f"{hours / 24:.3g} days"
