"""The list of data sets, and those installed with this package or with statsmodels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from statcv.datasets import published
from statcv.errors import ArgumentError, ArgumentTypeError, suggestion
from statcv.tables import Table
from statcv.words import joined, stored_rows


def available_data() -> pd.DataFrame:
    """List the data sets, how to obtain each, and whether it is on this machine.

    Returns
    -------
    pandas.DataFrame
        One row per data set, with ``name``; ``rows`` and ``columns``, its size;
        ``outcome``, the column that is usually predicted; ``how``: "shipped", "with
        statsmodels" or "download"; ``call``, the call that reads it; ``source``; and
        ``here``, False where the call would need a network.

    Examples
    --------
    >>> from statcv.datasets import available_data
    >>> available_data()[["name", "rows", "outcome", "how"]].head(2)
          name  rows outcome               how
    0  spector    32   GRADE  with statsmodels
    1      ehr  2000       y           shipped
    """
    columns, *rows = stored_rows("statcv.datasets", "catalogue.txt")
    table = pd.DataFrame(rows, columns=list(columns))
    table = table.astype({"rows": int, "columns": int})
    names, fetched = table["name"], {"cfs": published.CFS, "ptb": published.PTB}
    calls = [
        f"fetch_{name}()" if name in fetched else f'load_data("{name}")'
        for name in names
    ]
    table.insert(5, "call", calls)  # before the source
    table["here"] = [
        n not in fetched or published.is_here(fetched[n]["data"]) for n in names
    ]
    shown = {name: name for name in ("name", "rows", "columns", "outcome", "call")}
    return Table(table, "Data sets", {**shown, "here": "on this machine"})


# ---- installed data sets ----


def load_data(name: str) -> pd.DataFrame:
    """Read a data set that is installed with the package or with statsmodels.

    Parameters
    ----------
    name : {"spector", "ehr", "nwtco", "veteran", "gbsg"}
        ``"spector"``: 32 students, and whether their grade in economics improved.
        ``GRADE`` (0 or 1) is the outcome; ``GPA`` is the grade point average at the
        start (0 to 4), ``TUCE`` the points in a test at the start, ``PSI`` (0 or 1)
        whether the student was taught by the personalised system of instruction.

        ``"ehr"``: 2 000 simulated hospital records of 1 700 people; 300 rows are exact
        duplicates held by another hospital. ``y`` (0 or 1) is the outcome, ``x1`` to
        ``x10`` are covariates, ``site`` is the hospital (A to E), ``patient_id`` and
        ``birth_date`` identify the person.

        ``"nwtco"``: 4 028 children with Wilms' tumour in the National Wilms Tumor
        Studies 3 and 4 (``study``). ``relapse`` (0 or 1) is the outcome; ``age`` is in
        years, ``stage`` I to IV, and ``histology`` favourable or unfavourable.

        ``"veteran"``: 137 men with lung cancer in a randomised trial. ``time`` is in
        days, ``status`` 1 for death; ``treatment`` is standard or test, ``karno``
        Karnofsky's score, ``diagtime`` the months since the diagnosis, and ``prior``
        whether there was therapy before; ``celltype`` and ``age`` too.

        ``"gbsg"``: 686 women with node-positive breast cancer. ``time`` to recurrence
        or death is in days, ``status`` 1 for either; ``age``, ``menopause``, ``size``
        (mm) and ``grade`` of the tumour, positive ``nodes``, receptors ``pgr`` and
        ``er`` (fmol/l), and ``hormone`` therapy.

    Returns
    -------
    pandas.DataFrame
        A new data frame at each call, with the row labels 0, 1, 2, ...

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If no data set has this name.

    References
    ----------
    Spector & Mazzeo (1980), J. Economic Education 11:37; Bey et al. (2020), JAMIA
    27:1244, by :func:`statcv.simulate_ehr`; Breslow & Chatterjee (1999), Applied
    Statistics 48:457; Kalbfleisch & Prentice (1980), The Statistical Analysis of
    Failure Time Data; Royston & Altman (2013), BMC Medical Research Methodology 13:33.

    Examples
    --------
    >>> from statcv.datasets import load_data
    >>> load_data("spector").head(2)
        GPA  TUCE  PSI  GRADE
    0  2.66  20.0    0      0
    1  2.89  22.0    0      0
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(
            f"the name of a data set is a string, not {type(name).__name__}"
        )
    if name in _READERS:
        return _READERS[name]()
    if name == "irae":
        raise ArgumentError(
            "'irae' is not in a public repository; statcv.load_irae(path) reads the "
            "file that its authors provide"
        )
    if name in ("cfs", "ptb"):
        raise ArgumentError(
            f"{name!r} is not installed with the package; statcv.fetch_{name}() "
            "downloads it once and keeps it."
        )
    raise ArgumentError(
        f"there is no data set {name!r}.{suggestion(name, [*_READERS, 'cfs', 'ptb'])} "
        f"load_data knows {joined([*map(repr, _READERS)])}; published sets are "
        "downloaded by statcv.fetch_cfs() and statcv.fetch_ptb()."
    )


def _spector() -> pd.DataFrame:
    package = find_spec("statsmodels")  # importing it takes longer than reading
    if package is None or package.origin is None:
        raise ModuleNotFoundError("'spector' is read from statsmodels, not installed")
    file = Path(package.origin).parent.joinpath("datasets", "spector", "spector.csv")
    data = pd.read_csv(file, sep=" ", quotechar="'", skipinitialspace=True)
    columns = data[["GPA", "TUCE", "PSI", "GRADE"]]
    return columns.assign(TUCE=columns["TUCE"].astype(float))


def _shipped(name: str, text: list[str], dates: Iterable[str] = ()) -> pd.DataFrame:
    with resources.files("statcv.data").joinpath(f"{name}.csv").open("rb") as file:
        return published.read_published(file, text=text, dates=dates)


_READERS: dict[str, Callable[[], pd.DataFrame]] = {
    "spector": _spector,
    "ehr": lambda: _shipped("ehr", ["site", "patient_id"], ["birth_date"]),
    "nwtco": lambda: _shipped("nwtco", ["stage", "histology"]),
    "veteran": lambda: _shipped("veteran", ["treatment", "celltype", "prior"]),
    "gbsg": lambda: _shipped("gbsg", ["menopause", "grade", "hormone"]),
}
