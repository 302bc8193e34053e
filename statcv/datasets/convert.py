"""Conversion of the authors' published files to plain tables.

Each function takes the path of a published file and returns one data frame. The order
of rows and columns and the values are those of the published file, since seeded
results depend on the order.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

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
        _test_name(column): [float(text) for text in raw[column].str.lstrip("<>")]
        for column in raw.columns.drop(list(PEOPLE))
    }
    return pd.concat([people, pd.DataFrame(tests)], axis=1)


def _test_name(column: str) -> str:
    """Return ``tsh`` for ``TSHBloodB``."""
    return column.lower().removesuffix("bloodb")


def cfs_predictions(path: Path) -> pd.DataFrame:
    """Return the published leave-one-out predictions, digits as in the source."""
    raw = pd.read_csv(path, dtype=str)
    return raw.rename(columns={"TubeBarcode": "id", "GBR": "gbr"})


def ptb_table(path: Path) -> pd.DataFrame:
    """Return the women of Fettweis et al. (2019): outcome, background, taxa."""
    taxa = _read_r(path)
    women = taxa["meta"]["Fe"]
    background = pd.DataFrame(
        {
            "subject": _words(women["SubjectID"]),
            "sample": _words(women["SampleID"]),
            "preterm": women["Preterm"].to_numpy(dtype=float).astype("int64"),
            "weeks_at_collection": women["GAAC"].to_numpy(dtype=float),
            "weeks_at_delivery": women["GAAD"].to_numpy(dtype=float),
            "age_group": [age.replace("_to_", "-") for age in _words(women["mAge"])],
            "race": _words(women["mRace"]),
        }
    )
    proportions = _tables(taxa)["Fe"]["ASV"]
    columns = _numbered(_genus_of_variants(taxa))
    return pd.concat(
        [background, pd.DataFrame(proportions.values, columns=columns)], axis=1
    )


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
