"""Find a published file in a folder or in the cache, or download it.

Every file, wherever it is found, is checked by its SHA-256 before it is read. A file
appears in the cache complete or not at all, so several processes may download it at
the same time.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit
from uuid import uuid4

import pandas as pd

from statcv import errors


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
    file: Prepared,
    cache_dir: str | PathLike[str] | None,
    mirror: str | None,
    progress: bool,
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


def cache_folder(cache_dir: str | PathLike[str] | None) -> Path:
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
        _write_whole(content, cache / file.name)
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


def _write_whole(content: bytes, path: Path) -> None:
    """Write a file atomically, so that no process reads an incomplete one."""
    part = path.with_name(f"{path.name}.{uuid4().hex}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
