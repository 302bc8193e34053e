"""The findings of an audit: numbers, each with a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError, suggestion
from statcv.tables import Table, wrapped


@dataclass(frozen=True, eq=False)
class Finding:
    """The result of one check of a plan.

    Attributes
    ----------
    check : str
        Name of the check.
    value : float
        Result of the check; NaN if it is undefined.
    sentence : str
        The result in words.
    concern : bool
        Whether it needs attention.
    table : pandas.DataFrame
        The records, folds, classes or columns concerned, if any.

    Examples
    --------
    >>> import statcv as scv
    >>> data = scv.load_data("spector")
    >>> plan = scv.fold_plan("GRADE", data, scheme="loocv")
    >>> finding = plan.audit()["label_correlation"]
    >>> round(finding.value, 3), finding.concern
    (-1.0, True)
    """

    check: str
    value: float
    sentence: str
    concern: bool = False
    table: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", Table(self.table, self.sentence))

    def __str__(self) -> str:
        mark = "! " if self.concern else "  "
        return "\n".join(wrapped(self.sentence, first=mark, rest="  "))

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, eq=False)
class Audit:
    """What a plan leaks and loses, in numbers and sentences.

    Printed, it has one sentence per line; those that need attention are marked ``!``.

    Attributes
    ----------
    findings : tuple of Finding

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> audit = make_plan("rloocv", [0, 1] * 10, "binary").audit()
    >>> audit["training_counts"].sentence
    'Every training set holds 9/9 records of the classes 1/0: rebalanced, and equal.'
    >>> audit.concerns
    ()
    """

    findings: tuple[Finding, ...]

    def __iter__(self) -> Iterator[str]:
        return (finding.check for finding in self.findings)

    def __getitem__(self, check: str) -> Finding:
        """Return the finding of a check."""
        found = {finding.check: finding for finding in self.findings}
        if check not in found:
            raise ArgumentError(
                f"the audit has no check {check!r}; it has {', '.join(found)}."
                + suggestion(check, found)
            )
        return found[check]

    @property
    def concerns(self) -> tuple[str, ...]:
        """The sentences that need attention."""
        return tuple(found.sentence for found in self.findings if found.concern)

    def rows(self, check: str) -> pd.DataFrame:
        """Return the records, folds, classes or columns that a finding concerns.

        Parameters
        ----------
        check : str
            Name of the check, as in the column ``check`` of :meth:`to_frame`.

        Raises
        ------
        ArgumentError
            If the audit has no such check.
        """
        return self[check].table

    def to_frame(self) -> pd.DataFrame:
        """Return one row per finding: check, value, concern, sentence."""
        columns = ("check", "value", "concern", "sentence")
        listed = {n: [getattr(one, n) for one in self.findings] for n in columns}
        return Table(pd.DataFrame(listed), "Audit of the fold plan")

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        marks = {True: "<li><strong>{}</strong></li>", False: "<li>{}</li>"}
        lines = (marks[f.concern].format(escape(f.sentence)) for f in self.findings)
        return f"<ul>{''.join(lines)}</ul>"


def span(numbers: NDArray[np.number], digits: int = 4) -> str:
    """Return one number, or the least and the largest.

    >>> span(np.array([3, 3])), span(np.array([3.0, 4.5]))
    ('3', '3 to 4.5')
    """
    least, most = _plain(numbers.min(), digits), _plain(numbers.max(), digits)
    return least if least == most else f"{least} to {most}"


def _plain(number: float, digits: int) -> str:
    whole = float(number).is_integer()
    return f"{int(number):,}" if whole else f"{number:.{digits}g}"


def fixed(number: float, digits: int = 2) -> str:
    """Return a number with that many decimals, without a minus before zero.

    >>> fixed(-0.001), fixed(-1)
    ('0.00', '-1.00')
    """
    return f"{round(float(number), digits) + 0.0:.{digits}f}"
