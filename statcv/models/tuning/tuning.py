"""The specification of tuning in a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from statcv.arguments import MAX_REPEATS, check_types, check_whole, one_of
from statcv.folds import FoldPlan
from statcv.formula import Outcome
from statcv.metrics import get_metric
from statcv.metrics.named import OF_KINDS, named_metric
from statcv.models import Model
from statcv.models.tuning.grid import candidates, read_grid
from statcv.models.tuning.inner import InnerScheme
from statcv.models.tuning.scoring import way_of
from statcv.models.tuning.tuned import Tuned
from statcv.tables import Constructed

RULES = ("best", "one_se")
DRAWS = ("subsample", "weight", "upsample")
DEFAULTS = {
    "continuous": "mse",
    "binary": "log_loss",
    "multiclass": "log_loss",
    "survival": "harrell_c",
}


@dataclass(frozen=True, repr=False)
class Tuning(Constructed):
    """The grid and the rule for hyperparameters chosen inside every training set.

    Every training set is divided again by an inner plan, and fitted with the
    combination of values that predicts its inner held-out records best.

    Parameters
    ----------
    grid : mapping of str to sequence
        Values of each hyperparameter, of which every combination is tried: arguments of
        a model of :mod:`statcv.models`, or of ``set_params`` of a scikit-learn
        estimator or pipeline.
    metric : str, optional
        A name in ``statcv.metrics.METRICS``; by default log-loss for classes, mean
        squared error for a continuous outcome. A rank metric is the mean over inner
        folds, or the share of pairs if the inner scheme compares pairs.
    scheme : str, optional
        Scheme of the inner plans: ``"stratified_kfold"``, the default for classes,
        ``"kfold"``, that for a continuous outcome, ``"rkfold"``, ``"loocv"``,
        ``"rloocv"`` or ``"leave_pair_out"``; rebalanced like the outer plan, whose
        clusters are not divided.
    k : int, optional
        Number of inner folds; by default 5, or as many as the rarest class of a
        training set allows.
    repeats : int, default 1
        Number of times that each training set is divided.
    rebalance : {"subsample", "weight", "upsample"}, optional
        Way in which inner training sets are given equal class totals.
    rule : {"best", "one_se"}
        The best value, the simplest of equal ones; or the simplest whose score lies
        within one standard error of the best. A smaller ``C`` or ``max_depth`` is
        simpler, a larger ``alpha``, ``k`` or ``n_neighbors``; of other hyperparameters
        the value that is named first.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If the grid or another argument is not valid.
    MetricError
        If the metric is unknown.

    References
    ----------
    Varma & Simon (2006), BMC Bioinformatics 7:91; Breiman, Friedman, Olshen & Stone
    (1984), Classification and Regression Trees.

    Examples
    --------
    >>> import statcv as scv
    >>> tuning = scv.Tuning({"C": [0.01, 0.1, 1, 10]}, rule="one_se")
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), tune=tuning, seed=1)
    >>> sorted(set(res.tuned["C"]))
    [0.01, 0.1, 1.0]
    """

    grid: Mapping[str, Any]
    metric: str | None = None
    scheme: str | None = None
    k: int | None = None
    repeats: int = 1
    rebalance: str | None = None
    rule: str = "best"

    def __post_init__(self) -> None:
        """Check what can be checked without model and outcome."""
        check_types(Tuning, vars(self))
        object.__setattr__(self, "grid", read_grid(self.grid))
        if self.metric is not None and self.metric.partition("@")[0] not in OF_KINDS:
            get_metric(self.metric)
        if self.k is not None:
            check_whole(self.k, "k", least=2)
        check_whole(self.repeats, "repeats", least=1, most=MAX_REPEATS)
        one_of(self.rule, RULES, "rule")
        one_of(self.rebalance, (None, *DRAWS), "rebalance")

    def tuned(self, model: Model, outcome: Outcome, outer: FoldPlan) -> Tuned:
        """Return the model, tuned in the training sets of a plan.

        Raises
        ------
        ArgumentError
            If the model has no such hyperparameter.
        MetricError
            If the metric is not for this outcome, or not for the inner scheme.
        """
        kind = outcome.kind
        # censoring weights must not use held-out records
        inside = replace(outcome, censoring="training")
        metric = named_metric(self.metric or DEFAULTS[kind], inside)
        given = (self.scheme, self.k, self.repeats, self.rebalance)
        inner = InnerScheme.of(*given, kind=kind, outer=outer)
        way_of(metric, inner)
        tried = candidates(model, self.grid)
        made = Tuned(
            model=model,
            grid=dict(self.grid),
            candidates=tried,
            inner=inner,
            metric=metric,
            rule=self.rule,
            fits_each=1 + len(tried) * inner.fits(int(outer.n_train.max())),
        )
        made.check(kind)
        return made
