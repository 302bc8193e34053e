"""Published data sets: where each file is from, its conversion, and its download.

A conversion takes the path of a published file and returns one data frame. The order
of rows and columns and the values are those of the published file, since seeded
results depend on the order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import one_of
from statcv.datasets.cache import Prepared, obtain
from statcv.words import stored_sections

# ---- the published files as plain tables ----

PEOPLE = {
    "TubeBarcode": "id",
    "catrecruit_Binary": "cfs",
    "sex_Binary": "sex",
    "agegroup_Average": "age",
}
"""The columns of the CFS table before the blood tests, and their names here."""


def cfs_table(path: Path) -> pd.DataFrame:
    """Return the blood tests of Vogl et al. (2022), one row per person.

    A value below or above a detection limit becomes that limit: ``<20`` becomes 20.
    """
    raw = pd.read_csv(path, dtype=str)
    people = raw[list(PEOPLE)].rename(columns=PEOPLE)
    people = people.astype({"cfs": "int64", "sex": "int64", "age": "float64"})
    tests = {
        name.lower().removesuffix("bloodb"): raw[name].str.lstrip("<>").map(float)
        for name in raw.columns.drop(list(PEOPLE))
    }
    return pd.concat([people, pd.DataFrame(tests)], axis=1)


def cfs_predictions(path: Path) -> pd.DataFrame:
    """Return the published leave-one-out predictions, digits as in the source."""
    raw = pd.read_csv(path, dtype=str)
    return raw.rename(columns={"TubeBarcode": "id", "GBR": "gbr"})


def ptb_table(path: Path) -> pd.DataFrame:
    """Return the women of Fettweis et al. (2019): outcome, background, taxa."""
    taxa = _read_r(path)
    women = taxa["meta"]["Fe"]
    background = {
        "subject": _words(women["SubjectID"]),
        "sample": _words(women["SampleID"]),
        "preterm": women["Preterm"].to_numpy(dtype=float).astype("int64"),
        "weeks_at_collection": women["GAAC"].to_numpy(dtype=float),
        "weeks_at_delivery": women["GAAD"].to_numpy(dtype=float),
        "age_group": [age.replace("_to_", "-") for age in _words(women["mAge"])],
        "race": _words(women["mRace"]),
    }
    columns = _numbered(_genus_of_variants(taxa))
    proportions = pd.DataFrame(_tables(taxa)["Fe"]["ASV"].values, columns=columns)
    return pd.concat([pd.DataFrame(background), proportions], axis=1)


def ptb_taxa(path: Path) -> pd.DataFrame:
    """Return the genus group and the DNA sequence of each taxon column."""
    taxa = _read_r(path)
    groups = _genus_of_variants(taxa)
    sequences = _tables(taxa)["Fe"]["ASV"].coords["dim_1"].values
    return pd.DataFrame(
        {"column": _numbered(groups), "group": groups, "sequence": _words(sequences)}
    )


def _read_r(path: Path) -> Mapping[str, Any]:
    """Return R's list ``taxa_data``."""
    import rdata

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module=r"rdata\.")
        content: Mapping[str, Any] = rdata.read_rda(path)["taxa_data"]
    return content


def _tables(taxa: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of proportions by study, one for each taxonomic rank."""
    return {str(study): tables for study, tables in taxa["prop"]["com_V1"].items()}


def _words(values: Any) -> list[str]:
    return [str(value) for value in values]


def _genus_of_variants(taxa: Mapping[str, Any]) -> list[str]:
    """Return the genus group of each sequence variant (ASV).

    The source names variants by their sequence alone. Each column of its genus
    table is a sum of variant columns, so regressing genera on variants, over the
    samples of all studies, gives weights of exactly 0 and 1.
    """
    studies = _tables(taxa).values()
    variants = np.vstack([tables["ASV"].values for tables in studies])
    genera = np.vstack([tables["Genus"].values for tables in studies])
    weights = np.linalg.lstsq(variants, genera, rcond=None)[0]
    names = _words(_tables(taxa)["Fe"]["Genus"].coords["dim_1"].values)
    return [names[column] for column in weights.argmax(axis=1)]


def _numbered(groups: list[str]) -> list[str]:
    """Return ``lactobacillus_iners_1``, ``lactobacillus_iners_2``, ... by group."""
    group = pd.Series([name.lower().replace(".", "_") for name in groups])
    number = group.groupby(group).cumcount() + 1
    return [f"{g}_{i}" for g, i in zip(group, number, strict=True)]


# ---- what is downloaded from where ----


def _prepared(
    name: str, /, **convert: Callable[[Path], pd.DataFrame]
) -> dict[str, Prepared]:
    """Return the parts of a data set, each made of its source by a function."""
    listed = stored_sections("statcv.datasets", "published.ini")
    return {
        part: Prepared(**listed[f"{name} {part}"], convert=function)
        for part, function in convert.items()
    }


CFS = _prepared("cfs", data=cfs_table, predictions=cfs_predictions)
"""The parts of :func:`fetch_cfs`."""
PTB = _prepared("ptb", data=ptb_table, taxa=ptb_taxa)
"""The parts of :func:`fetch_ptb`."""


def fetch_cfs(
    part: str = "data",
    *,
    cache_dir: str | PathLike[str] | None = None,
    mirror: str | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Fetch routine blood tests of 40 patients with chronic fatigue and 40 healthy.

    The file is downloaded once from the authors' repository at a fixed commit, checked,
    and kept. If the environment variable ``STATCV_DATA`` names a folder that holds it
    as ``cfs_vogl.csv``, no network is needed.

    Parameters
    ----------
    part : {"data", "predictions"}, default "data"
        ``"data"``: 80 rows and 40 columns: ``id``; ``cfs``, the outcome (1: patient);
        ``sex`` (0 or 1, undocumented); ``age``, the centre of an age group in years; 36
        blood tests in the source's units. A value at a detection limit is that limit.
        Between 1 and 24 values of a test are missing.

        ``"predictions"``: 80 rows in the same order: ``id`` and the probabilities that
        the authors' leave-one-out runs gave, ``xgboost`` and ``gbr`` (gradient
        boosting).
    cache_dir : path, optional
        Folder in which files are kept. By default the folder that ``STATCV_CACHE``
        names, else the user's cache folder of the operating system.
    mirror : str, optional
        Address of a folder on another server that holds the file under its own name.
    progress : bool, default False
        Whether to show a progress bar while downloading.

    Returns
    -------
    pandas.DataFrame
        A new data frame at each call.

    Raises
    ------
    DownloadError
        If the file cannot be downloaded or kept, or is not the published one.
    ArgumentError, ArgumentTypeError
        If an argument is not valid.

    References
    ----------
    Vogl et al. (2022), Science Advances 8:eabq2422; Apache 2.0 licence.

    Examples
    --------
    >>> from statcv.datasets import fetch_cfs
    >>> data = fetch_cfs()  # doctest: +SKIP
    >>> data.groupby("cfs").size().to_dict()  # doctest: +SKIP
    {0: 40, 1: 40}
    """
    return obtain(CFS[one_of(part, CFS, "part")], cache_dir, mirror, progress)


def fetch_ptb(
    part: str = "data",
    *,
    cache_dir: str | PathLike[str] | None = None,
    mirror: str | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Fetch the vaginal microbiome of 135 women with 45 preterm births.

    The file is downloaded once and kept, as by :func:`fetch_cfs`; its name in the
    folder ``STATCV_DATA`` is ``ptb_fettweis.csv``. The download is an R file, and the
    package ``rdata`` reads it: ``pip install "statcv[data]"``.

    Parameters
    ----------
    part : {"data", "taxa"}, default "data"
        ``"data"``: 135 rows and 49 columns: ``subject``; ``sample``; ``preterm``, the
        outcome; ``weeks_at_collection`` (8 missing); ``weeks_at_delivery``, which
        defines the outcome and must never predict it; ``age_group``; ``race`` (B, C, O
        as in the source); 42 taxa as proportions of the sample's reads, each row
        summing to 1.

        ``"taxa"``: 42 rows: ``column``, ``group`` (genus or species) and DNA
        ``sequence`` of each taxon.
    cache_dir, mirror, progress
        As in :func:`fetch_cfs`.

    Returns
    -------
    pandas.DataFrame
        A new data frame at each call.

    Raises
    ------
    DownloadError, MissingPackageError
        If the file cannot be downloaded or kept, is not the published one, or ``rdata``
        is not installed.
    ArgumentError, ArgumentTypeError
        If an argument is not valid.

    Notes
    -----
    Fettweis et al. (2019), Nature Medicine 25:1012, as processed by Huang et al.
    (2023), BMC Biology 21:199, whose repository states no licence: the package holds no
    copy. The taxa are those common to five studies; raw counts are not in the source.

    Examples
    --------
    >>> from statcv.datasets import fetch_ptb
    >>> data = fetch_ptb()  # doctest: +SKIP
    >>> int(data["preterm"].sum())  # doctest: +SKIP
    45
    """
    return obtain(PTB[one_of(part, PTB, "part")], cache_dir, mirror, progress)
