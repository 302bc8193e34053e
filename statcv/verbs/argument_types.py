"""The types of the verbs' arguments, under the names that an editor shows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
import pandas as pd

from statcv.folds import Bags, FoldPlan, Stratifier
from statcv.metrics import Metric
from statcv.models import Model
from statcv.models.imputation import Imputer
from statcv.models.selection import Selection
from statcv.models.tuning import Tuning
from statcv.numeric.arrays import ArrayLike

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame


class Splitter(Protocol):
    """A splitter of scikit-learn."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        """Yield the positions of training and held-out records."""


class Estimator(Protocol):
    """An estimator, pipeline or search of scikit-learn."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit to records."""


class FormulaResult(Protocol):
    """A result that was fitted through ``statsmodels.formula.api``."""

    model: Any
    params: Any


SchemeName: TypeAlias = (
    Literal["kfold", "stratified_kfold", "rkfold", "loocv", "rloocv"]
    | Literal["lpocv", "stratified_lpocv", "rlpocv", "montecarlo", "bootstrap"]
    | Literal["leave_pair_out", "tournament_leave_pair_out"]
)
ModelName: TypeAlias = (
    Literal["logit", "linear", "cox", "poisson", "negbin", "negative_binomial"]
    | Literal["proportional_odds", "neighbors", "xgboost", "mean", "negmean"]
)
Rebalancing: TypeAlias = Literal["subsample", "weight", "upsample", "all", "bag"]
ThresholdRule: TypeAlias = Literal["youden", "f1", "accuracy", "prevalence"]
MissingAction: TypeAlias = Literal["drop", "raise", "pass"]
NewLevelsAction: TypeAlias = Literal["mean", "omit", "error"]
CensoringOf: TypeAlias = Literal["all", "training"]

ImputerName: TypeAlias = Literal["mice", "median"]
SelectionName: TypeAlias = Literal["backward", "forward", "both"]

FormulaLike: TypeAlias = "str | FormulaResult"
DataLike: TypeAlias = "pd.DataFrame | IntoFrame"
ModelLike: TypeAlias = "ModelName | Model | Estimator | type | Callable[..., Any]"
ImputeLike: TypeAlias = "ImputerName | Imputer"
SelectLike: TypeAlias = "SelectionName | Selection"
TuneLike: TypeAlias = "Mapping[str, Sequence[Any] | ArrayLike] | Tuning | Estimator"
Positions: TypeAlias = "Sequence[tuple[ArrayLike, ArrayLike]]"
SchemeLike: TypeAlias = "SchemeName | str | FoldPlan | Splitter | Positions | ArrayLike"
StratifyLike: TypeAlias = "str | Sequence[str] | Stratifier"
RebalanceLike: TypeAlias = "Rebalancing | Bags"
MetricLike: TypeAlias = "str | Metric | Callable[..., float]"
MetricsLike: TypeAlias = "MetricLike | Sequence[MetricLike]"
HorizonLike: TypeAlias = "float | Sequence[float]"
ThresholdLike: TypeAlias = "float | ThresholdRule"
WeightsLike: TypeAlias = "str | ArrayLike"
SeedLike: TypeAlias = "int | np.random.Generator"
PathLike: TypeAlias = "str | os.PathLike[str]"
