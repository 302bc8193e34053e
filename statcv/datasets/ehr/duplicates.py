"""The people who are duplicated, where, and how duplicates differ from originals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from statcv.datasets.ehr.population import COVARIATES, check_amount
from statcv.errors import ArgumentError, ArgumentTypeError, reason
from statcv.numeric.arrays import Bools, Floats, Ints
from statcv.tables import Constructed

Duplicated = Callable[[pd.DataFrame], Any] | str


def with_duplicates(
    home: Ints,
    n_duplicates: int,
    n_sites: int,
    rng: np.random.Generator,
    weights: Floats | None = None,
) -> tuple[Ints, Ints]:
    """Return person and hospital of every record, originals first.

    Drawing (person, hospital) at random and refusing pairs that exist, until
    enough are accepted, is a simple random sample without replacement from the
    pairs of a person and a hospital other than the person's own. Where people are
    drawn with unequal probabilities, it takes the pairs in the order of independent
    exponential times with those rates, and stops at the last that is wanted (Efraimidis
    and Spirakis, Information Processing Letters 97, 2006, 181-185).

    Parameters
    ----------
    home : numpy.ndarray of int, shape (n,)
        Each person's own hospital, from 0.
    n_duplicates, n_sites : int
    rng : numpy.random.Generator
    weights : numpy.ndarray of float, shape (n,), optional
        Weights in proportion to which people are drawn; some may be 0. Default: equal.

    Raises
    ------
    ArgumentError
        If there are too few people of positive weight for this number of duplicates.
    """
    n, others = len(home), n_sites - 1
    if weights is None:
        pairs = rng.choice(n * others, size=n_duplicates, replace=False)
    else:
        _check_room(weights, n_duplicates, others)
        with np.errstate(divide="ignore"):
            rates = np.repeat(np.log(weights), others)
        times = np.log(rng.standard_exponential(n * others)) - rates
        pairs = np.argsort(times, kind="stable")[:n_duplicates]
    copied, steps = np.divmod(pairs, max(others, 1))
    site = np.concatenate([home, (home[copied] + steps + 1) % n_sites])
    return np.concatenate([np.arange(n), copied]), site


def held_alone(
    n: int, n_duplicates: int, rng: np.random.Generator, weights: Floats | None = None
) -> tuple[Ints, Ints]:
    """Return person and holder of every record, with one holder per record.

    No holder can have a record already, so duplicates are drawn with replacement.
    """
    if weights is None:
        copied = rng.integers(n, size=n_duplicates)
    else:
        _check_room(weights, n_duplicates, n_duplicates)
        share = weights / weights.max() if n_duplicates else np.ones(n)
        copied = rng.choice(n, size=n_duplicates, p=share / share.sum())
    return np.concatenate([np.arange(n), copied]), np.arange(n + n_duplicates)


def weights_of(duplicated: Duplicated | None, people: pd.DataFrame) -> Floats | None:
    """Return one weight per person, or None for equal weights.

    Raises
    ------
    ArgumentError
        If there is no such column, or the result is not one weight per person.
    ArgumentTypeError
        If it is neither a function nor text.
    """
    if duplicated is None:
        return None
    if isinstance(duplicated, str):
        scope: dict[str, Any] = {"local_dict": {}, "global_dict": {}}
        try:
            found = people.eval(duplicated, engine="python", **scope)
        except Exception as error:  # whatever pandas makes of a text
            raise ArgumentError(
                f"duplicated={duplicated!r} cannot be worked out from the columns x1 "
                f"to x10 and y: {reason(error)}"
            ) from None
    elif callable(duplicated):
        found = duplicated(people.copy())
    else:
        raise ArgumentTypeError(
            "duplicated is a function of the frame of people, or a column or an "
            f"expression of it as text, not {type(duplicated).__name__}"
        )
    if isinstance(found, pd.Series) and not found.index.equals(people.index):
        raise ArgumentError(
            "duplicated gives a series whose labels are not those of the people, in "
            "their order"
        )
    try:
        weights = np.asarray(found, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError("duplicated gives no numbers") from None
    if weights.shape != (len(people),):
        raise ArgumentError(
            f"duplicated gives values of shape {weights.shape}, not a weight for each "
            f"of {len(people)} people"
        )
    if wrong := int((~(np.isfinite(weights) & (weights >= 0))).sum()):
        raise ArgumentError(
            f"duplicated gives {wrong} of {len(people)} people a weight that is "
            "negative, missing or infinite"
        )
    return weights


def _check_room(weights: Floats, n_duplicates: int, others: int) -> None:
    able = int((weights > 0).sum())
    if n_duplicates > able * others:
        raise ArgumentError(
            f"n_duplicates is at most {able * others}, not {n_duplicates}: duplicated "
            f"gives {able} of {len(weights)} people a weight above 0"
        )


# ---- duplicates that differ from their original ----


FIRST_BIRTH, LAST_BIRTH = date(1930, 1, 1), date(2005, 12, 31)


@dataclass(frozen=True, repr=False)
class Inexact(Constructed):
    """The differences of duplicates from the original record, which has no errors.

    Attributes
    ----------
    noise : float, default 0
        Standard deviation of the noise added to each covariate of a duplicate, in units
        of that covariate's own standard deviation.
    missing : float, default 0
        Probability that a covariate of a duplicate is missing, independently of others.
    typos : float, default 0
        Probability that a duplicate has one typing error in the birth date and one in
        the identifier. The result is another date and another identifier, which may be
        someone else's.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If one is out of range or not a number.

    Examples
    --------
    >>> from statcv.datasets import Inexact, simulate_ehr
    >>> records = simulate_ehr(1_000, 200, inexact=Inexact(typos=0.5), seed=1)
    >>> int((records["patient_id"] != records["person"]).sum())
    93
    """

    noise: float = 0.0
    missing: float = 0.0
    typos: float = 0.0

    def __post_init__(self) -> None:
        check_amount(self.noise, "noise")
        check_amount(self.missing, "missing", most=1)
        check_amount(self.typos, "typos", most=1)


def with_inexact_duplicates(
    records: pd.DataFrame,
    duplicate: Bools,
    inexact: Inexact,
    sd: Floats,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return the records with inexact duplicates.

    Parameters
    ----------
    records : pandas.DataFrame
        With covariates, ``patient_id`` and ``birth_date``.
    duplicate : numpy.ndarray of bool, shape (n,)
        Whether each record is a duplicate.
    inexact : Inexact
    sd : numpy.ndarray of float, shape (10,)
        Standard deviations of the covariates in the population.
    rng : numpy.random.Generator
        Generator of the errors. Values that a smaller amount of error changes, a larger
        amount changes too.
    """
    records, rows = records.copy(), np.flatnonzero(duplicate)
    shape = (len(rows), len(COVARIATES))
    added = inexact.noise * sd * rng.standard_normal(shape)
    lost = rng.random(shape) < inexact.missing
    mistaken = rows[rng.random(len(rows)) < inexact.typos]

    x = records[list(COVARIATES)].to_numpy(copy=True)
    x[rows] += added
    x[rows] = np.where(lost, np.nan, x[rows])
    records[list(COVARIATES)] = x
    numbers, births = records["patient_id"].tolist(), records["birth_date"].tolist()
    for row in mistaken:
        numbers[row] = mistyped(numbers[row], rng)
        day = births[row].date()
        births[row] = mistyped_date(day, rng, FIRST_BIRTH, LAST_BIRTH)
    days = np.array(births, dtype="datetime64[ns]")
    return records.assign(patient_id=numbers, birth_date=days).astype(
        {"patient_id": str}
    )


def mistyped(text: str, rng: np.random.Generator) -> str:
    """Return a text with one error in its digits: two swapped, or one wrong.

    Parameters
    ----------
    text : str
        Text with at least one digit.
    rng : numpy.random.Generator

    Returns
    -------
    str
        A different text of the same length: equal neighbours are not swapped.

    Examples
    --------
    >>> rng = np.random.default_rng(2)
    >>> [mistyped("P000123", rng) for _ in range(3)]
    ['P004123', 'P000723', 'P000213']
    """
    while True:
        attempt = _with_an_error(text, rng)
        if attempt != text:
            return attempt


def mistyped_date(day: date, rng: np.random.Generator, first: date, last: date) -> date:
    """Return another day, made by one error in a day's ``YYYY-MM-DD``.

    Day and month are swapped, or two adjacent digits are, or one digit is wrong; all
    three are tried alike, until the text is a day of the range.

    Parameters
    ----------
    day : datetime.date
    rng : numpy.random.Generator
    first, last : datetime.date
        The range, of whole years.

    Examples
    --------
    >>> rng = np.random.default_rng(2)
    >>> span = date(1930, 1, 1), date(2005, 12, 31)
    >>> [str(mistyped_date(date(1981, 3, 25), rng, *span)) for _ in range(3)]
    ['1986-03-25', '1981-03-28', '1981-03-29']
    """
    text = day.isoformat()
    while True:
        if rng.integers(3) == 0:
            attempt = f"{text[:5]}{text[8:]}-{text[5:7]}"
        else:
            attempt = _with_an_error(text, rng)
        try:
            other = date.fromisoformat(attempt)
        except ValueError:
            continue
        if other != day and first <= other <= last:
            return other


def _with_an_error(text: str, rng: np.random.Generator) -> str:
    places = [i for i, letter in enumerate(text) if letter.isdigit()]
    place = places[rng.integers(len(places))]
    if rng.integers(2) == 0:
        before, pair, after = text[:place], text[place : place + 2], text[place + 2 :]
        return before + pair[::-1] + after if pair.isdigit() else text
    return f"{text[:place]}{rng.integers(10)}{text[place + 1 :]}"
