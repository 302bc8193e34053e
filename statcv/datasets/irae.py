"""A data set whose file is available only from its authors."""

from __future__ import annotations

from io import StringIO
from os import PathLike
from pathlib import Path

import pandas as pd

from statcv.errors import ArgumentTypeError, ColumnError, DataError, reason, suggestion

__all__ = ["CD4", "DIVERSITY", "OUTCOME", "load_irae"]

OUTCOME = "Severe_irAE"
CD4 = "Activated_CD4_memory_T_CSx"
DIVERSITY = "TCR_clonotype_diversity_ShannonEntropy"

_WHERE = (
    "It is the authors' model_input.txt, among the supporting code at "
    "https://doi.org/10.25936/f3np-k536"
)


def load_irae(path: str | PathLike[str]) -> pd.DataFrame:
    """Read the T cell measurements of patients under immune checkpoint blockade.

    The file, ``model_input.txt``, is available only from its authors
    (https://doi.org/10.25936/f3np-k536, "supporting code").

    Parameters
    ----------
    path : str or path
        Path of that file on this machine.

    Returns
    -------
    pandas.DataFrame
        One row per patient, with the column names of the file. Among them are
        ``Severe_irAE``, the outcome (1: a severe immune-related adverse event),
        ``Activated_CD4_memory_T_CSx``, the abundance of activated CD4 memory T cells,
        and ``TCR_clonotype_diversity_ShannonEntropy``.

    Raises
    ------
    DataError, ColumnError
        If the file does not exist, is not a table, or lacks these columns of numbers.
    ArgumentTypeError
        If `path` is not a path.

    References
    ----------
    Lozano et al. (2022), Nature Medicine 28:353.

    Examples
    --------
    >>> from statcv.datasets import load_irae
    >>> data = load_irae("model_input.txt")  # doctest: +SKIP
    """
    if not isinstance(path, str | PathLike):
        raise ArgumentTypeError(
            f"path must be the path of a file, not {type(path).__name__}. {_WHERE}"
        )
    table = _read(Path(path).expanduser())
    none = "no columns: are its fields separated by tabs?"
    for name in (OUTCOME, CD4, DIVERSITY):
        if name not in table:
            raise ColumnError(
                f"{path} has no column {name!r}.{suggestion(name, map(str, table))} "
                f"It has {', '.join(map(repr, table)) or none}. {_WHERE}"
            )
    for name in (OUTCOME, CD4, DIVERSITY):
        if not pd.api.types.is_numeric_dtype(table[name]):
            raise DataError(f"column {name!r} of {path} does not hold numbers.")
    odd = table[OUTCOME][~table[OUTCOME].isin([0, 1])]
    if len(odd):
        raise DataError(
            f"column {OUTCOME!r} of {path} is 0 or 1, but {odd.iloc[0]} for patient "
            f"{odd.index[0]!r}."
        )
    return table


def _read(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}. {_WHERE}")
    try:
        text = path.read_text(encoding="utf-8-sig")
        table: pd.DataFrame = pd.read_csv(StringIO(text), sep="\t")
    except (OSError, ValueError) as error:  # parser and decoder raise ValueErrors
        raise DataError(f"cannot read {str(path)!r}: {reason(error)}") from error
    if isinstance(table.index, pd.RangeIndex):  # the first column has a name
        table = table.set_index(table.columns[0])
    if not table.index.is_unique:
        raise DataError(f"{path} has patients that occur more than once.")
    return table.rename_axis(None)
