"""What a result is tested against: no skill, as permutations show it, or a value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from statcv.arguments import resolve_seed
from statcv.errors import (
    MetricError,
    SchemeError,
    suggestion,
)
from statcv.inference import (
    INTERVALS,
    REFITS,
    HTest,
    make_estimate,
    permutation_test,
    plain_t_test,
    values_by_split,
    wald_test,
)
from statcv.inference.operating_characteristics import measured_size
from statcv.inference.tests.htest import check_alternative
from statcv.inference.tests.permutation import said_of_few_ways
from statcv.metrics import Metric
from statcv.results.permuting import Permuting


class Testing(Permuting):
    """Tests of a result; the predictions are its own."""

    def test(
        self,
        metric: str | Metric | None = None,
        how: str | None = None,
        *,
        null: float | None = None,
        method: str | None = None,
        alternative: str | None = None,
        n_permutations: int = 999,
        level: float = 0.95,
        seed: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> HTest:
        """Test a metric against no skill, or against a value.

        Parameters
        ----------
        metric, how : str, optional
            As :meth:`estimate` takes them; the headline where not given.
        null : float, optional
            The metric's value under the null hypothesis; that of no skill where not
            given and known, as 0.5 for auROC. A permutation test has one null
            hypothesis, that outcome and predictors are unrelated, whose centre it
            finds and states.
        method : str, optional
            ``"permutation"``, the default where the model is here: the outcome is
            permuted and everything done again, with refits
            (:meth:`null_distribution`). The name of an interval of :meth:`estimate`, as
            ``"corrected_t"`` or ``"delong"``, for a Wald test with its standard error.
            ``"t"``, a plain t test over folds, which does not keep its size and warns
            of that.
        alternative : {"greater", "less", "two-sided"}, optional
            By default the side of better predictions; both sides where the best
            value lies in between, as of a calibration slope.
        n_permutations : int, default 999
            Permutations; what they will cost is said beforehand, as a
            :class:`~statcv.errors.CostWarning`, where fits are not made together and
            take long.
        level : float, default 0.95
            Of the interval.
        seed, n_jobs, progress
            As :meth:`null_distribution` takes them; of intervals that draw or fit
            again, too.

        Returns
        -------
        HTest
            ``statistic``, ``p_value``, ``estimate``, ``null``, interval and what it
            assumes; ``print`` shows it. A test that cannot be had has NaN and says
            why.

        Raises
        ------
        MetricError
            If the metric or the method is unknown, or no value stands for no skill
            and none is given, or the one given is none of the metric's.
        ArgumentError, ArgumentTypeError
            If ``alternative`` or ``n_permutations`` is out of range.
        ModelError
            If ``method="permutation"`` is asked of predictions made elsewhere.

        Warns
        -----
        CostWarning
            Before a permutation test that will take long.
        FoldWarning
            Of ``method="t"``, with the size that was measured.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> res = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
        >>> test = res.test(n_permutations=199)
        >>> test.p_value <= 0.05
        True
        """
        chosen = self._metric(metric)
        side = _better(chosen) if alternative is None else alternative
        check_alternative(side)
        _check_method(method, how)
        about = f"{self.design.formula.text}: {self.learner.label}; {self.plan.scheme}"
        if method is None and not self._refits:
            found = self.estimate(chosen, how, level, seed=seed)
            return wald_test(
                found, self._null(chosen, null), alternative=side, about=about
            )
        if method in (None, "permutation"):
            if null is not None and null != self._no_skill(chosen):
                raise MetricError(
                    f"null={null!r} is no null hypothesis of a permutation test, which "
                    "is that outcome and predictors are unrelated; leave null out, or "
                    "name another method."
                )
            self._check_times(n_permutations)
            found = make_estimate(self.scores, chosen, how, level)
            wanted = [(chosen, self._permutable(chosen, how))]
            drawn = self.seed if seed is None else resolve_seed(seed)
            made = self._made(wanted, n_permutations, drawn)
            try:
                self._warn_cost(n_permutations - made, n_jobs)
                values = self._permuted(
                    wanted, n_permutations, drawn, n_jobs, progress
                )[0]
            except SchemeError as error:
                if method is not None:
                    raise
                why = str(error)
                return permutation_test(
                    found, [], alternative=side, about=about, reason=why
                )
            test = permutation_test(found, values, alternative=side, about=about)
            coarse = said_of_few_ways(self.plan, self.design.y)
            test = replace(test, notes=(*test.notes, *filter(None, [coarse])))
            return self._with_size(test, chosen, found.how, "permutation")
        value = self._null(chosen, null)
        if method == "t":
            folds = values_by_split(self.scores, chosen)
            said = self._size(chosen, "per_fold", "t")
            return plain_t_test(
                folds,
                chosen,
                value,
                alternative=side,
                level=level,
                about=about,
                measured=said,
            )
        found = self.estimate(
            chosen,
            how,
            level,
            interval=method,
            seed=seed,
            n_jobs=n_jobs,
            progress=progress,
        )
        test = wald_test(found, value, alternative=side, about=about)
        if found.interval.pairs or np.isnan(test.p_value):
            return test  # an exact test, or none: not the one that was measured
        return self._with_size(test, chosen, found.how, method)

    def _with_size(self, test: HTest, metric: Metric, how: str, method: str) -> HTest:
        """Add what is known of the size of such a test."""
        said = self._size(metric, how, method)
        return replace(test, notes=(*test.notes, said)) if said else test

    def _size(self, metric: Metric, how: str, method: str) -> str | None:
        if metric.name != "auroc":
            return None
        return measured_size(self.plan, how, method, float(self.design.y.mean()))

    def _null(self, metric: Metric, null: float | None) -> float:
        value = self._no_skill(metric) if null is None else null
        if value is None:
            other = ", or use method='permutation'" if self._refits else ""
            raise MetricError(
                f"no value of {metric.label} stands for no skill under every outcome; "
                f"give null={other}."
            )
        low, high = metric.bounds
        if not low <= value <= high:
            raise MetricError(
                f"null={value!r} is no value of {metric.label}, which lies between "
                f"{low:g} and {high:g}."
            )
        return value


def _better(metric: Metric) -> str:
    """Return the side of better predictions; both where the best lies in between."""
    if metric.target is not None:
        return "two-sided"
    return "greater" if metric.greater_is_better else "less"


def _check_method(method: str | None, how: str | None) -> None:
    """Raise where there is no such test, or not of an estimate made that way."""
    named = ("permutation", "t", *INTERVALS, *REFITS)
    if method is not None and method not in named:
        raise MetricError(
            f"method={method!r} is no test; there are {', '.join(map(repr, named))}."
            + suggestion(method, named)
        )
    if method == "t" and how not in (None, "per_fold"):
        raise MetricError(f"method='t' is of the folds' values, not of how={how!r}.")
