"""Published data sets: where each file is from, its conversion, and its download.

A conversion takes the path of a published file and returns one data frame. The order
of rows and columns and the values are those of the published file, since seeded
results depend on the order.

Every file, wherever it is found, is checked by its SHA-256 before it is read. A file
appears in the cache complete or not at all, so several processes may download it at
the same time.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from statcv import errors
from statcv.arguments import one_of
from statcv.files import write_whole
from statcv.words import stored_sections


def read_published(
    file: IO[bytes], text: Iterable[str], dates: Iterable[str] = ()
) -> pd.DataFrame:
    """Return the table; `text` and `dates` name its columns of text and of dates."""
    days = list(dates)
    table: pd.DataFrame = pd.read_csv(
        file, dtype=dict.fromkeys(text, str), parse_dates=days, **exact_numbers()
    )
    return table.astype(dict.fromkeys(days, "datetime64[ns]"))


def exact_numbers() -> dict[str, Any]:
    """Return the option for exact numbers, which pandas 3.1 and later always read."""
    version = tuple(int(part) for part in pd.__version__.split(".")[:2])
    return {} if version >= (3, 1) else {"float_precision": "round_trip"}


# ---- a published file, kept or downloaded ----

Folder = str | PathLike[str] | None

TIMEOUT = 30.0
"""Seconds without a byte after which a download is given up."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A CSV file that is made from a file in an author's repository on GitHub.

    ``text`` names the columns of text, separated by blanks; ``needs`` is the optional
    package without which the source cannot be read, or empty.
    """

    name: str
    sha256: str
    text: str
    repository: str
    commit: str
    path: str
    source_sha256: str
    needs: str
    convert: Callable[[Path], pd.DataFrame]

    @property
    def source(self) -> str:
        """The name of the source without its folder."""
        return self.path.rpartition("/")[2]

    def url(self, mirror: str | None = None) -> str:
        """Return the address of the source, on `mirror` if one is given."""
        if mirror is not None:
            return f"{mirror.rstrip('/')}/{self.source}"
        host = "https://raw.githubusercontent.com"
        return f"{host}/{self.repository}/{self.commit}/{self.path}"


def obtain(
    file: Prepared, cache_dir: Folder, mirror: str | None, progress: bool
) -> pd.DataFrame:
    """Return the table of `file`, downloaded and converted if necessary."""
    cache = cache_folder(cache_dir)
    _check_mirror(mirror)
    content = _in_data_folder(file) or _in_cache(file, cache)
    content = content or _make(file, cache, mirror, progress)
    return read_published(BytesIO(content), file.text.split())


def is_here(file: Prepared) -> bool:
    """Return whether `file` can be read without a network."""
    kept = _in_cache(file, cache_folder(None))
    with suppress(errors.DownloadError):
        kept = kept or _in_data_folder(file)
    return kept is not None


def _pooch() -> Any:
    """Import pooch, which makes tqdm warn in notebooks that lack ipywidgets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("pooch")


def cache_folder(cache_dir: Folder) -> Path:
    """Return the cache folder: the argument, ``STATCV_CACHE``, or the default."""
    if cache_dir is None:
        return Path(os.environ.get("STATCV_CACHE") or _pooch().os_cache("statcv"))
    if not isinstance(cache_dir, str | PathLike):
        raise errors.ArgumentTypeError(
            f"cache_dir is the path of a folder, not {type(cache_dir).__name__}"
        )
    return Path(cache_dir)


def _check_mirror(mirror: str | None) -> None:
    what = "mirror is an address such as 'http://host/folder', not"
    if not isinstance(mirror, str | None):
        raise errors.ArgumentTypeError(f"{what} {type(mirror).__name__}")
    address = urlsplit("http://none" if mirror is None else mirror)
    if address.scheme not in ("http", "https") or not address.netloc:
        raise errors.ArgumentError(f"{what} {mirror!r}")


def _data_folder() -> str:
    return os.environ.get("STATCV_DATA", "")


def _in_data_folder(file: Prepared) -> bytes | None:
    """Return the file's bytes from the folder ``STATCV_DATA``, or None."""
    path = Path(_data_folder(), file.name)
    if not _data_folder() or not path.is_file():
        return None
    try:
        content = path.read_bytes()
    except OSError as error:
        raise errors.DownloadError(f"cannot read {path}: {error.strerror}") from error
    if _sha256(content) != file.sha256:
        raise errors.DownloadError(
            f"{path} is not the prepared file that statcv knows (its SHA-256 "
            f"differs); replace it, or unset STATCV_DATA to have it downloaded"
        )
    return content


def _in_cache(file: Prepared, cache: Path) -> bytes | None:
    """Return the file's bytes from the cache; None if it is absent or incomplete."""
    try:
        content = Path(cache, file.name).read_bytes()
    except OSError:
        return None
    return content if _sha256(content) == file.sha256 else None


def _make(file: Prepared, cache: Path, mirror: str | None, progress: bool) -> bytes:
    """Download the source, convert it, cache the result and return its bytes."""
    if file.needs:
        of_r = f"{file.source} is an R file, which the package {file.needs} reads"
        errors.needed(file.needs, f'{of_r}: pip install "statcv[data]"')
    source = _download(file, cache, mirror, progress)
    text = file.convert(source).to_csv(index=False, lineterminator="\n")
    content = text.encode()
    if _sha256(content) != file.sha256:
        raise errors.DownloadError(
            f"{source} was converted to another table than the known {file.name}; "
            f"please report this with your versions of pandas and numpy"
        )
    try:
        write_whole(cache / file.name, content)
    except OSError as error:
        raise _not_kept(cache, error) from error
    return content


def _download(file: Prepared, cache: Path, mirror: str | None, progress: bool) -> Path:
    """Return the path of the source in the cache, downloaded if necessary."""
    pooch = _pooch()
    network = import_module("requests").RequestException
    url, sha256 = file.url(mirror), file.source_sha256
    fetch = pooch.HTTPDownloader(progressbar=progress, timeout=TIMEOUT)
    logger = pooch.get_logger()
    level = logger.level
    if not progress:  # pooch would log every step on standard error
        logger.setLevel("ERROR")
    try:
        path = pooch.retrieve(url, sha256, file.source, cache, downloader=fetch)
    except network as error:
        raise errors.DownloadError(_no_download(file, url, error)) from error
    except OSError as error:
        raise _not_kept(cache, error) from error
    except ValueError as error:
        raise errors.DownloadError(
            f"{url} is not the file that was published (its SHA-256 differs) and "
            f"was not kept; try again, or use another mirror{_looked_in(file)}"
        ) from error
    finally:
        logger.setLevel(level)
    return Path(path)


def _no_download(file: Prepared, url: str, error: Exception) -> str:
    """Return a message that says why a download failed, and what to do."""
    response, kind = getattr(error, "response", None), type(error).__name__
    what = "the server cannot be reached"
    if response is not None:
        what = f"the server answered {response.status_code} {response.reason}"
    elif "Timeout" in kind:
        what = f"the server was silent for {TIMEOUT:.0f} seconds"
    elif "Chunked" in kind:
        what = "the connection ended before the file did, and nothing was kept"
    return (
        f"could not download {url}: {what}; try again with a network, give "
        f"mirror= the address of a folder that has {file.source}, or set "
        f"STATCV_DATA to a folder that has {file.name}{_looked_in(file)}"
    )


def _looked_in(file: Prepared) -> str:
    """Return a clause on the folder ``STATCV_DATA``, if it is set."""
    folder = _data_folder()
    return f" (STATCV_DATA is {folder!r}, which has no {file.name})" if folder else ""


def _not_kept(cache: Path, error: OSError) -> errors.DownloadError:
    return errors.DownloadError(
        f"cannot keep files in the cache folder {cache} ({error.strerror or error}); "
        f"name another by cache_dir= or the environment variable STATCV_CACHE"
    )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


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
    cache_dir: Folder = None,
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
    cache_dir: Folder = None,
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
