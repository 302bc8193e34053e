"""Log-ratios of the parts of a whole, as formula terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from statcv.errors import DataError, FormulaError
from statcv.formula.language.functions import Floats, LearnsFromRows

LEARNING_ARGUMENT = "prevalence"  # with which clr() learns from the training rows


def clr(
    *parts: Any, pseudocount: float | None = None, prevalence: float | None = None
) -> Floats:
    """Centred log-ratios of the parts of a whole, one column per part.

    The logarithm of each part minus the mean logarithm of all parts of the row
    (Aitchison 1986, §4.6). Without ``pseudocount`` it does not matter whether parts are
    counts or shares.

    Parameters
    ----------
    *parts : array_like of shape (n,)
        Two or more nonnegative parts. In a formula these are columns, expressions of
        columns, or ``columns("lactobacillus_*")`` for the columns that match a pattern.
    pseudocount : float, optional
        Number added to every part, since 0 has no logarithm. The choice matters: it
        largely determines the ratio of a part that is present to one that is absent.
    prevalence : float, optional
        Share of the rows; only parts that are above 0 in more than this share are
        used. In a formula the parts are chosen in each training set, and the column of
        a part that was not chosen is 0 there.

    Returns
    -------
    numpy.ndarray of shape (n, parts)
        Log-ratios. Each row sums to 0, so the coefficients of a model with an
        intercept are identified only by a penalty.

    Raises
    ------
    DataError
        If a part is negative, or 0 without a pseudocount.
    FormulaError
        If there are fewer than two parts, or an argument is out of range.

    Examples
    --------
    >>> clr([1.0, 3.0], [1.0, 1.0], [1.0, 9.0]).round(3).tolist()
    [[0.0, 0.0, 0.0], [0.0, -1.099, 1.099]]
    """
    return Clr().at_once(*parts, pseudocount=pseudocount, prevalence=prevalence)


class Clr(LearnsFromRows):
    """The parts that are frequent in the training rows, and their log-ratios."""

    def _read(self, *parts: Any, prevalence: Any = None, **given: Any) -> Any:
        share = _is_number(prevalence) and 0 <= prevalence < 1
        if prevalence is not None and not share:
            raise FormulaError(
                "clr() takes as prevalence= a share of the rows from 0 to below 1, not "
                f"{prevalence!r}."
            )
        self._prevalence = prevalence
        return _side_by_side(parts) > 0

    def _learn(self, present: NDArray[np.bool_]) -> None:
        prevalence = self._prevalence
        self._chosen = np.ones(present.shape[1], dtype=bool)
        if prevalence is None:
            return
        self._chosen = present.mean(axis=0) > prevalence
        count = int(self._chosen.sum())
        if count < 2:
            raise FormulaError(
                f"clr(): {count} of {present.shape[1]} parts are above 0 in more than "
                f"the share {prevalence:g} of {len(present)} training rows, and "
                "a ratio needs two; lower prevalence=."
            )

    def transform(
        self,
        *parts: Any,
        pseudocount: float | None = None,
        prevalence: float | None = None,
    ) -> Floats:
        """Return the log-ratios among the chosen parts, and 0 for the others."""
        values = _side_by_side(parts)
        ratios = np.zeros_like(values)
        chosen = np.flatnonzero(self._chosen)
        names = [_name(parts[j], int(j)) for j in chosen]
        log = np.log(_above_zero(values[:, chosen], names, pseudocount))
        ratios[:, chosen] = log - log.mean(axis=1, keepdims=True)
        return ratios


def _side_by_side(parts: Sequence[Any]) -> Floats:
    if len(parts) < 2:
        raise FormulaError(f"clr() needs two parts or more, not {len(parts)}.")
    columns = []
    for j, part in enumerate(parts):
        values = np.asarray(part)
        if values.dtype.kind not in "iuf" or values.ndim != 1:
            raise FormulaError(
                f"clr() needs numeric columns, but {_name(part, j)} is not numeric."
            )
        columns.append(values.astype(float))
    return np.column_stack(columns)


def _above_zero(values: Floats, names: list[str], pseudocount: object) -> Floats:
    """Return the parts plus the pseudocount, or raise an error that names a part."""
    negative = (values < 0).sum(axis=0)
    if negative.any():
        j = int(negative.argmax())
        raise DataError(
            f"clr(): {names[j]} is negative in {negative[j]} of {len(values)} rows; "
            "parts of a whole are 0 or more."
        )
    if pseudocount is not None:
        if not (_is_number(pseudocount) and 0 < pseudocount < np.inf):
            raise FormulaError(
                f"clr() adds a pseudocount above 0 to every part, not {pseudocount!r}."
            )
        return np.asarray(values + pseudocount)
    zero = (values == 0).sum(axis=0)
    if zero.any():
        j, others = int(zero.argmax()), int((zero > 0).sum()) - 1
        more = f", and so are {others} other parts in some" if others else ""
        raise DataError(
            f"clr(): {names[j]} is 0 in {zero[j]} of {len(values)} rows{more}, and 0 "
            "has no logarithm; add something small to every part by pseudocount=, for "
            "instance pseudocount=1e-6 to shares or 0.5 to counts."
        )
    return values


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _name(part: Any, j: int) -> str:
    name = getattr(part, "name", None)
    return f"part {j + 1}" if name is None else repr(name)
