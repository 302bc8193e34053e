"""Hospital records with duplicates, as Bey et al. (2020) simulate them.

People have ten covariates and a binary outcome; each is a patient of one of a
few hospitals, and some are, with the same record, patients of further ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from statcv.errors import ArgumentError, ArgumentTypeError
from statcv.seeds import resolve_seed
from statcv.whole import is_whole

EIGENVALUES = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.6, 2.8)
"""The paper's variances: of nine rotated directions, and of x10."""

COEFFICIENTS = (-2.0, 0.4, 0.8, 1.2, 0.4, 1.2, 3.0, 2.0)
"""The paper's a0 to a7."""

FIRST_BIRTH = np.datetime64("1930-01-01", "D")
LAST_BIRTH = np.datetime64("2005-12-31", "D")

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def simulate_ehr(
    n: int = 10_000,
    n_duplicates: int = 2_000,
    n_sites: int = 5,
    *,
    eigenvalues: Sequence[float] = EIGENVALUES,
    coefficients: Sequence[float] = COEFFICIENTS,
    rotation: ArrayLike | None = None,
    seed: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Simulate the records of several hospitals, some of them held twice.

    Parameters
    ----------
    n : int, default 10_000
        Number of people. Each is assigned to one hospital, all equally likely.
    n_duplicates : int, default 2_000
        Number of copies added. A person and a hospital are drawn at random, and
        the hospital gets a copy of the record unless it holds one; so no
        hospital holds a record twice, while a person may be in several.
    n_sites : int, default 5
        Number of hospitals.
    eigenvalues : sequence of 10 floats, default 1.0, 1.2, ..., 2.8
        Variances. The first nine belong to orthogonal directions in the space of
        ``x1`` to ``x9``, the last is the variance of ``x10``.
    coefficients : sequence of 8 floats, default -2, .4, .8, 1.2, .4, 1.2, 3, 2
        The numbers a0 to a7 of :func:`statcv.studies.ehr.log_odds`.
    rotation : array of shape (9, 9), optional
        Orthogonal matrix whose columns are those directions. Default: drawn
        uniformly over all orthogonal matrices (Haar measure).
    seed : int, numpy.random.Generator or None
        The source of randomness.

    Returns
    -------
    pandas.DataFrame
        ``n + n_duplicates`` rows in random order, labelled 0, 1, 2, ... Columns:
        ``x1`` to ``x10`` (floats of mean 0); ``y``, the outcome (0 or 1);
        ``site``, the hospital ("A", "B", ...); ``patient_id`` ("P000123"), one
        for each person, whose numbers tell nothing; ``birth_date``
        (``datetime64[ns]``, a day from 1930 to 2005, related to nothing else).
        All but ``site`` are equal in copies of one record.

    Raises
    ------
    ArgumentError
        If a number is out of range: no people, no hospital, more copies than
        hospitals without the record, a wrong number of variances or
        coefficients, a negative variance, a `rotation` that is none, a negative
        seed.
    ArgumentTypeError
        If an argument is of the wrong type.

    Notes
    -----
    The same seed, and the same arguments but for `n_duplicates`, give the same
    people in the same hospitals: ``n_duplicates=0`` is the data set before copies
    were added, with its rows in another order.

    With the default variances and coefficients about 45 % of outcomes are 1; the
    share depends on the rotation (standard deviation 1.2 points).

    R. Bey, R. Goussault, F. Grolleau, M. Benchoufi and R. Porcher,
    "Fold-stratified cross-validation for unbiased and privacy-preserving
    federated learning", JAMIA 27 (2020) 1244-1251, equations (2) to (5).

    Examples
    --------
    >>> from statcv.studies import simulate_ehr
    >>> records = simulate_ehr(n=1_000, n_duplicates=200, seed=1)
    >>> records.shape
    (1200, 14)
    >>> records["patient_id"].nunique()
    1000
    >>> int(records.duplicated(["patient_id", "site"]).sum())
    0
    """
    _check_size(n, n_duplicates, n_sites)
    variances = _numbers(eigenvalues, "eigenvalues", (10,))
    if variances.min() < 0:
        raise ArgumentError("eigenvalues are variances: none may be negative")
    effects = _numbers(coefficients, "coefficients", (8,))
    rng = np.random.default_rng(resolve_seed(seed))
    axes = _haar(rng, 9) if rotation is None else _orthogonal(rotation)

    x = rng.standard_normal((n, 10)) * np.sqrt(variances)
    x[:, :9] = x[:, :9] @ axes.T
    y = rng.random(n) < _probability(log_odds(x, effects))
    birth = FIRST_BIRTH + rng.integers(_days(), size=n)
    numbers = rng.permutation(n)
    home = rng.integers(n_sites, size=n)

    person, site = _with_duplicates(home, n_duplicates, n_sites, rng)
    order = rng.permutation(len(person))
    person, site = person[order], site[order]
    records = pd.DataFrame(x[person], columns=[f"x{i}" for i in range(1, 11)])
    records["y"] = y[person].astype("int64")
    records["site"] = np.array(_site_names(n_sites), dtype=object)[site]
    records["patient_id"] = [f"P{number:06d}" for number in numbers[person]]
    records["birth_date"] = birth[person].astype("datetime64[ns]")
    return records.astype({"site": str, "patient_id": str})


def log_odds(x: ArrayLike, coefficients: ArrayLike = COEFFICIENTS) -> FloatArray:
    """Return the log-odds of the outcome, equation (5) of Bey et al. (2020).

    It is a0 + a1 x1 + a2 x2 + a3 x3 + a4 x1 x2 + a5 x3 [x4 > 0]
    + a6 x5² [x6 > 0] + a7 x7 [x8 x9 > 0], where a bracket is 1 if what it holds is
    true and 0 otherwise; x10 has no effect.

    Parameters
    ----------
    x : array of shape (n, 10)
        The covariates x1 to x10 of each record.
    coefficients : sequence of 8 floats
        The numbers a0 to a7.

    Returns
    -------
    numpy.ndarray of shape (n,)
        Natural logarithm of P(y = 1) / P(y = 0).

    Raises
    ------
    ArgumentError
        If `x` has not ten columns, or there are not eight coefficients.

    Examples
    --------
    >>> from statcv.studies.ehr import log_odds
    >>> log_odds([[1, 1, 1, -1, 0, 0, 0, 0, 0, 0]]).round(6).tolist()
    [0.8]
    """
    a = _numbers(coefficients, "coefficients", (8,))
    covariates = np.asarray(x, dtype=float)
    if covariates.ndim != 2 or covariates.shape[1] != 10:
        raise ArgumentError(f"x has shape (n, 10), not {covariates.shape}")
    x1, x2, x3, x4, x5, x6, x7, x8, x9, _ = covariates.T
    linear: FloatArray = a[0] + a[1] * x1 + a[2] * x2 + a[3] * x3
    together: FloatArray = a[4] * x1 * x2 + a[5] * x3 * (x4 > 0)
    bent: FloatArray = a[6] * x5**2 * (x6 > 0) + a[7] * x7 * (x8 * x9 > 0)
    return linear + together + bent


def _with_duplicates(
    home: IntArray, n_duplicates: int, n_sites: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return person and hospital of every record, originals first.

    Drawing (person, hospital) at random and refusing pairs that exist, until
    enough are accepted, is a simple random sample without replacement from the
    pairs of a person and a hospital other than the person's own.
    """
    n, others = len(home), n_sites - 1
    pairs = rng.choice(n * others, size=n_duplicates, replace=False)
    copied = pairs // max(others, 1)
    steps = pairs % max(others, 1) + 1
    person = np.concatenate([np.arange(n), copied])
    site = np.concatenate([home, (home[copied] + steps) % n_sites])
    return person, site


def _haar(rng: np.random.Generator, size: int) -> FloatArray:
    """Draw an orthogonal matrix uniformly.

    The QR decomposition of a Gaussian matrix is unique, and its Q uniform, once
    the diagonal of R is made positive.
    """
    q, r = np.linalg.qr(rng.standard_normal((size, size)))
    matrix: FloatArray = q * np.where(np.diag(r) < 0, -1.0, 1.0)
    return matrix


def _probability(log_odds: FloatArray) -> FloatArray:
    probability: FloatArray = 0.5 * (1 + np.tanh(log_odds / 2))  # cannot overflow
    return probability


def _days() -> int:
    return int((LAST_BIRTH - FIRST_BIRTH).astype(int)) + 1


def _site_names(count: int) -> list[str]:
    """Return A, B, ..., Z, AA, AB, ... as spreadsheets name their columns."""

    def name(number: int) -> str:
        higher, last = divmod(number, 26)
        return (name(higher - 1) if higher else "") + ascii_uppercase[last]

    return [name(number) for number in range(count)]


def _check_size(n: int, n_duplicates: int, n_sites: int) -> None:
    _whole(n, "n", least=1)
    _whole(n_sites, "n_sites", least=1)
    _whole(n_duplicates, "n_duplicates", least=0)
    room = n * (n_sites - 1)
    if n_duplicates > room:
        raise ArgumentError(
            f"n_duplicates is at most {room}, not {n_duplicates}: there are {n} "
            f"people, and each can have a copy in {n_sites - 1} other sites"
        )


def _whole(value: object, name: str, least: int) -> None:
    if not is_whole(value):
        raise ArgumentTypeError(f"{name} is an integer, not {type(value).__name__}")
    if value < least:
        raise ArgumentError(f"{name} is at least {least}, not {value}")


def _numbers(values: ArrayLike, name: str, shape: tuple[int, ...]) -> FloatArray:
    size = " by ".join(str(length) for length in shape)
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name} are {size} numbers") from None
    if numbers.shape != shape or not np.isfinite(numbers).all():
        raise ArgumentError(f"{name} are {size} finite numbers")
    return numbers


def _orthogonal(rotation: ArrayLike) -> FloatArray:
    matrix = _numbers(rotation, "the entries of rotation", (9, 9))
    if not np.allclose(matrix @ matrix.T, np.eye(9), atol=1e-8):
        raise ArgumentError(
            "rotation is not orthogonal: it times its transpose is not 1"
        )
    return matrix
