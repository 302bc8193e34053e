"""One typing error in a date or a number."""

from __future__ import annotations

from datetime import date

import numpy as np

DIGITS = "0123456789"


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
    return text[:place] + DIGITS[rng.integers(10)] + text[place + 1 :]
