"""Models that exist as an equation alone, and the files in which they are kept."""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from statcv.arguments import check_types, one_of
from statcv.errors import ColumnError, DataError, EquationError
from statcv.formula import as_frame
from statcv.results.final.equation import Equation, Part
from statcv.results.final.expressions import (
    Column,
    Levels,
    as_plain,
    from_plain,
)
from statcv.results.final.validation import Validated
from statcv.tables import WIDTH, Table, Values
from statcv.words import joined, listed

if TYPE_CHECKING:
    pass

OF_EQUATION = "Predictions by the equation of a model"
FORMAT = "statcv equation, version 1"
KINDS = ("binary", "continuous", "multiclass")


@dataclass(frozen=True)
class WrittenModel(Validated):
    """A model as its equation, which predicts and can be validated.

    Attributes
    ----------
    written : Equation
    label : str
        How it is called in print.
    seen : mapping
        The values of numeric columns, as far as they are known.
    """

    written: Equation
    label: str = "a saved model"
    seen: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def described(self) -> str:
        """How it is called in print."""
        return self.label

    def equation(self) -> Equation:
        """Return the equation."""
        return self.written

    def predict(self, new: object) -> pd.Series[Any] | pd.DataFrame:
        """Return predictions for the rows of a data frame; NaN for incomplete rows.

        Raises
        ------
        ColumnError
            If a column of the equation is missing.
        DataError
            If a column has a level that the equation does not know, or is text where a
            number is needed.
        """
        frame = as_frame(new)
        check_columns(self.written, frame)
        predicted = self.written.predict(frame)
        if predicted.ndim == 1:
            made = pd.Series(predicted, index=frame.index, name="predicted")
            return Values(made, OF_EQUATION)
        columns = list(self.written.levels)
        table = pd.DataFrame(predicted, index=frame.index, columns=columns)
        return Table(table, OF_EQUATION, indexed=True)

    def _validated(self) -> tuple[str, Any]:
        known = self.written
        return known.outcome, known.levels[1] if known.kind == "binary" else None

    def _seen(self) -> Mapping[str, Sequence[float]]:
        return self.seen

    def save(self, path: str | Path) -> None:
        """Write the equation to a file, as :func:`statcv.load_model` reads it."""
        save_equation(self.written, path)

    def __str__(self) -> str:
        return f"{textwrap.fill(self.label, WIDTH)}\n\n{self.written}"

    __repr__ = __str__


def check_columns(equation: Equation, frame: pd.DataFrame) -> None:
    """Check that a frame has the columns and levels of an equation."""
    absent = [one.name for one in equation.columns if one.name not in frame.columns]
    if absent:
        raise ColumnError(
            f"the data lack {listed([*map(repr, absent)])}, of the columns that the "
            f"equation uses: {joined([one.name for one in equation.columns])}."
        )
    for column in equation.columns:
        values = frame[column.name]
        if column.kind != "text":
            if not (pd.api.types.is_numeric_dtype(values) or values.dropna().empty):
                raise DataError(
                    f"column {column.name!r} is text in these data (such as "
                    f"{values.dropna().iloc[0]!r}), and the equation needs a number."
                )
            continue
        known = _levels(equation, column)
        odd = [v for v in values.dropna().unique() if v not in known]
        if known and odd:
            raise DataError(
                f"column {column.name!r} has the level {odd[0]!r} in "
                f"{int((values == odd[0]).sum())} rows, which the equation does not "
                f"know; it has {listed(sorted(map(repr, known)))}."
            )


def _levels(equation: Equation, column: Column) -> set[Any]:
    """Return the levels that an equation knows; none if it knows all."""
    found: set[Any] = set()
    for parts in equation.parts:
        for part in parts:
            for factor in part.factors:
                if isinstance(factor, Levels) and factor.of == column:
                    if factor.otherwise is not None:
                        return set()
                    found |= {level for level, _ in factor.values}
    return found


# ---- files ----


def save_equation(equation: Equation, path: str | Path) -> None:
    """Write an equation to a file of JSON, with a fingerprint of what it says."""
    content = {
        "format": FORMAT,
        "outcome": equation.outcome,
        "kind": equation.kind,
        "levels": [
            getattr(one, "item", lambda one=one: one)() for one in equation.levels
        ],
        "digits": equation.digits,
        "linear predictors": [
            [
                {
                    "name": part.name,
                    "coefficient": part.coefficient,
                    "times": [as_plain(one) for one in part.factors],
                }
                for part in parts
            ]
            for parts in equation.parts
        ],
    }
    whole = {**content, "fingerprint": _fingerprint(content)}
    text = json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False)
    Path(path).write_text(text + "\n", encoding="utf-8")


def _fingerprint(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def load_model(path: str | Path) -> WrittenModel:
    """Read a model that ``res.final.save(path)`` wrote.

    The file is JSON, of which nothing is executed: ``format``, ``outcome``, ``kind``,
    ``levels``, ``digits``, ``linear predictors`` and ``fingerprint``. A linear
    predictor is a list of parts, each with ``name``, ``coefficient`` and ``times``, the
    list of expressions by which the coefficient is multiplied. An expression ``is`` a
    ``number`` (``value``), a ``column`` (``name``, ``kind``), a ``call``
    (``operation``, ``arguments``), ``levels`` (``of``, ``values``, ``otherwise``), or a
    ``spline`` (``of``, ``origin``, ``coefficients``, ``jumps``).

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    WrittenModel
        A model with ``predict(new)``, ``equation()`` and ``save(path)``.

    Raises
    ------
    EquationError
        If the file is damaged, was changed, or is not such a file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import statcv as scv
    >>> data = scv.load_data("spector")
    >>> res = scv.cv("GRADE ~ GPA + PSI", data, k=4, seed=1)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "grade.json"
    >>> res.final.save(path)
    >>> model = scv.load_model(path)
    >>> bool(abs(model.predict(data) - res.final.predict(data)).max() < 1e-12)
    True
    """
    check_types(load_model, locals())
    try:
        whole = json.loads(Path(path).read_text(encoding="utf-8"))
        content = {name: one for name, one in whole.items() if name != "fingerprint"}
        if content["format"] != FORMAT:
            raise EquationError(
                f"{path} has the format {content['format']!r}; this version reads "
                f"{FORMAT!r}."
            )
        parts = tuple(
            tuple(
                Part(
                    str(part["name"]),
                    float(part["coefficient"]),
                    tuple(map(from_plain, part["times"])),
                )
                for part in one
            )
            for one in content["linear predictors"]
        )
        equation = Equation(
            str(content["outcome"]),
            one_of(content["kind"], KINDS, "kind"),
            tuple(content["levels"]),
            parts,
            int(content["digits"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, EquationError):
            raise
        raise EquationError(
            f"{path} is not a file of a saved model, or it is damaged: {error}."
        ) from None
    if whole.get("fingerprint") != _fingerprint(content):
        raise EquationError(
            f"{path} was changed after it was saved: its fingerprint is "
            f"{whole.get('fingerprint')!r}, and its content has "
            f"{_fingerprint(content)!r}."
        )
    return WrittenModel(equation)
