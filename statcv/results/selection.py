"""Which terms were chosen in which training sets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np
import pandas as pd

from statcv.errors import NotTunedError
from statcv.inference import Readable
from statcv.models import Fit
from statcv.models.selection import Term, chooses_terms, selection_in, terms_of
from statcv.numeric.arrays import Array, Bools
from statcv.results.wording.phrases import phrase
from statcv.tables import Table
from statcv.words import plural

NONE = "no term"


class SelectionTable(Table):
    """How often each term was chosen in the training sets.

    Attributes
    ----------
    models : Table
        The different sets of terms, with their frequency, and whether all records
        choose them.
    pairs : Table
        How often both of two terms were chosen, each of which is at times, and how
        often that would be if their choices were independent.

    Examples
    --------
    >>> import statcv as scv
    >>> data = scv.load_data("spector")
    >>> formula = "GRADE ~ GPA + TUCE + PSI"
    >>> res = scv.cv(formula, data, select="backward", k=4, seed=1)
    >>> res.selection
    Terms chosen in 4 training sets
    <BLANKLINE>
    term  frequency  sign  forced  all records
    GPA           1  +     no      yes
    PSI           1  +     no      yes
    TUCE          0        no      no
    <BLANKLINE>
    Further columns: fits.
    """

    _metadata: ClassVar[list[str]] = [*Table._metadata, "_sets"]
    _sets: tuple[list[str], Bools, Bools]  # terms, chosen by fit, chosen by all records

    @property
    def models(self) -> pd.DataFrame:
        """The sets of terms, the most frequent first."""
        names, inside, final = self._sets
        sets, times = np.unique(inside, axis=0, return_counts=True)
        order = np.argsort(-times, kind="stable")
        sets, times, each = sets[order], times[order], np.array(names, dtype=object)
        data = {
            "model": [" + ".join(each[one]) or NONE for one in sets],
            "terms": sets.sum(axis=1),
            "fits": times,
            "frequency": times / len(inside),
            "all_records": (sets == final).all(axis=1),
        }
        return Table(
            pd.DataFrame(data),
            f"Sets of terms chosen in {plural(len(inside), 'training set')}",
            ["model", "fits", "frequency", "all_records"],
        )

    @property
    def pairs(self) -> pd.DataFrame:
        """How often two terms were chosen together."""
        names, inside, _ = self._sets
        share = inside.mean(axis=0)
        some = np.flatnonzero(share).tolist()
        data = []
        for i, j in combinations(some, 2):
            one, two = inside[:, i], inside[:, j]
            both = (one & two).mean(), share[i] * share[j], (~one & ~two).mean()
            data.append((names[i], names[j], *both))
        columns = ["first", "second", "both", "if_independent", "neither"]
        return Table(
            pd.DataFrame(data, columns=columns),
            "Share of training sets in which both of two terms were chosen",
        )

    @property
    def sentence(self) -> str:
        """How many models there are, and how often that of all records."""
        _, inside, final = self._sets
        many = len(np.unique(inside, axis=0))
        same = int((inside == final).all(axis=1).sum())
        empty = int((~inside.any(axis=1)).sum())
        return phrase("selected", len(inside), many, same, empty, not final.any())


def choice_of(result: Readable) -> tuple[tuple[Term, ...], Bools] | None:
    """Return the terms among which a model chooses, and which of these it must have.

    None if it does not choose terms. An elastic net chooses by coefficients of 0.
    """
    rule = selection_in(result.learner)
    if rule is not None:
        forced = [bool(rule.forced >> i & 1) for i in range(len(rule.terms))]
        return rule.terms, np.array(forced, dtype=bool)
    if not chooses_terms(result.learner):
        return None
    terms = terms_of(result.design)
    return terms, np.zeros(len(terms), dtype=bool)


def selected(result: Readable, final: Fit) -> SelectionTable:
    """Return the frequencies of terms, and the model that the fit to all rows chose.

    Raises
    ------
    NotTunedError
        If the model does not choose terms.
    """
    choice, table = choice_of(result), result.held.coefficients
    if choice is None or table is None:
        raise NotTunedError(
            f"{result.learner.label}: no terms were chosen; cv(select=) and an elastic "
            "net choose them inside every training set."
        )
    (terms, forced), p = choice, result.design.matrix.shape[1]
    whole = np.array([list((final.coefficients or {}).values())])
    every, whole = (
        np.nan_to_num(_every_column(one, table.columns.tolist(), result.design.names))
        for one in (table.to_numpy(), whole)
    )
    names = [term.name for term in terms]
    inside = _in_terms(terms, every, p) | forced
    own = _in_terms(terms, whole, p)[0] | forced
    data = {
        "term": names,
        "frequency": inside.mean(axis=0),
        "fits": inside.sum(axis=0),
        "sign": _signs(terms, every, p),
        "forced": forced,
        "all_records": own,
    }
    frame = pd.DataFrame(data).sort_values("frequency", ascending=False, kind="stable")
    caption = f"Terms chosen in {plural(len(inside), 'training set')}"
    made = SelectionTable(
        frame.reset_index(drop=True),
        caption,
        ["term", "frequency", "sign", "forced", "all_records"],
    )
    object.__setattr__(made, "_sets", (names, inside, own))
    return made


def _every_column(
    coefficients: Array, names: Sequence[str], columns: Sequence[str]
) -> Array:
    """Return coefficients by column, with 0 for columns such as strata that have none.

    Those of several classes stand class by class, as they are.
    """
    place = [names.index(one) if one in names else -1 for one in columns]
    if max(place) < 0:
        return coefficients
    return np.where(np.array(place) < 0, 0.0, coefficients[:, place])


def _in_terms(terms: Sequence[Term], coefficients: Array, p: int) -> Bools:
    """Return which terms have a coefficient that is not 0, shape (fits, terms)."""
    used = (coefficients.reshape(len(coefficients), -1, p) != 0).any(axis=1)
    return np.column_stack([used[:, list(one.columns)].any(axis=1) for one in terms])


def _signs(terms: Sequence[Term], coefficients: Array, p: int) -> list[str]:
    """Return the sign of terms of one coefficient in the fits that chose them."""
    made = []
    for term in terms:
        alone = coefficients.shape[1] == p and len(term.columns) == 1
        own = coefficients[:, list(term.columns)] if alone else np.empty(0)
        values = own[own != 0]
        up = int((values > 0).sum())
        sign = "" if not len(values) else "+" if up == len(values) else "-"
        made.append(sign if up in (0, len(values)) else f"+ in {up / len(values):.0%}")
    return made
