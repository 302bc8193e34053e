"""What imputes missing covariates in every training set, as :func:`statcv.cv` takes it.

Multiple imputation by chained equations draws values; the median is a single one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from statcv.arguments import check_whole
from statcv.tables import Constructed


@dataclass(frozen=True, repr=False)
class Mice(Constructed):
    """Multiple imputation by chained equations, inside every training set.

    The missing values of training records are drawn given the outcome and the other
    columns of the formula: numbers by predictive mean matching, two classes by logistic
    and more by multinomial regression. Held-out and new records are imputed by models
    of the same training set without the outcome. The model is fitted to each completed
    training set, and the predictions of a record, such as probabilities, are averaged:
    the metrics are those in practice, where patients lack values too. The coefficients
    of the final model are means over the imputations.

    Parameters
    ----------
    m : int, default 20
        Number of imputations.
    iterations : int, default 10
        Number of cycles through the columns.
    normal : sequence of str, optional
        Columns that are drawn from a normal distribution, not matched.

    Examples
    --------
    >>> import statcv as scv
    >>> data = scv.load_data("spector").assign(GPA=lambda d: d.GPA.where(d.TUCE > 17))
    >>> imputed = scv.models.Mice(m=5)
    >>> res = scv.cv("GRADE ~ GPA + PSI", data, impute=imputed, k=4, seed=1)
    >>> res.rows
    'n = 32, 5 of them incomplete'

    References
    ----------
    van Buuren (2018), Flexible Imputation of Missing Data, 2nd edition; White & Royston
    (2009), Statistics in Medicine 28:1982; Wood, Royston & White (2015), Biometrical
    Journal 57:614; Wahl, Boulesteix, Zierer, Thorand & van de Wiel (2016), BMC Medical
    Research Methodology 16:144.
    """

    m: int = 20
    iterations: int = 10
    normal: Sequence[str] = ()
    indicators: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_whole(self.m, "m", least=1, most=1000)
        check_whole(self.iterations, "iterations", least=1, most=1000)

    @property
    def label(self) -> str:
        """How print and summary call it."""
        return f"missing values imputed {self.m} times in every training set"

    @property
    def told(self) -> str:
        """What is done with the missing values of new records."""
        return (
            f"imputed {self.m} times without the outcome, and the predictions averaged"
        )


@dataclass(frozen=True, repr=False)
class Median(Constructed):
    """Single imputation by the median, or the most frequent level, of a training set.

    Parameters
    ----------
    indicators : bool, default False
        Whether every column with missing values gets a further one in the model, which
        is 1 where the value is missing.

    Examples
    --------
    >>> import statcv as scv
    >>> scv.models.Median().label
    'missing values replaced by the median of every training set'
    """

    indicators: bool = False
    m: ClassVar[int] = 1
    iterations: ClassVar[int] = 0
    normal: ClassVar[Sequence[str]] = ()

    @property
    def label(self) -> str:
        """How print and summary call it."""
        also = ", with indicators" * self.indicators
        return f"missing values replaced by the median of every training set{also}"

    @property
    def told(self) -> str:
        """What is done with the missing values of new records."""
        return "replaced by the median or the most frequent level"


Imputer: TypeAlias = Mice | Median
