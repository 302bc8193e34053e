"""The named schemes, as the table ``schemes.txt`` lists them.

A row has what each holds out, how, what it takes, and its one sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from statcv.errors import SchemeError, suggestion
from statcv.folds.schemes import holdout as holding
from statcv.folds.schemes.holdout import Hold
from statcv.tables import Printed, Said
from statcv.words import stored_rows

Splits = Literal["folds", "groups", "units", "pairs", "shares", "samples"]


@dataclass(frozen=True, repr=False)
class Scheme(Printed):
    """A named way to hold records out.

    Attributes
    ----------
    name : str
    sentence : str
        What it does; ``{k}``, ``{p}``, ``{sizes}``, ``{share}``, ``{pairs}``,
        ``{noun}`` and ``{unlike}`` stand for the number of folds, the size of a group
        (requested and obtained), the share held out, which pairs are, and what a class
        and several are called.
    hold : callable
        (records, k, share or pairs, rng) → who is held out in one repeat.
    splits : {"folds", "groups", "units", "pairs", "shares", "samples"}
        What a split holds out: one of k folds, a group of ``p`` records, one record
        (or stratum), a pair, a random share ``p``, or what a bootstrap sample left.
    repeats : int
        Default number of repeats.
    rebalance : str or None
        Default way of rebalancing the training sets.
    by_stratum : str
        The sentence if strata are held out in place of records.

    Examples
    --------
    >>> from statcv.folds import SCHEMES
    >>> SCHEMES["loocv"].sentence, SCHEMES["rloocv"].draws
    ('leave-one-out, each record held out by itself', 20)
    """

    name: str
    sentence: str
    hold: Hold
    splits: Splits
    repeats: int = 1
    rebalance: str | None = None
    by_stratum: str = ""

    def _said(self) -> Said:
        below = {"outcomes": self.outcomes, "rebalance": self.rebalance or "no"}
        return f"{self.name}: {self.sentence}", below

    @property
    def draws(self) -> int:
        """Default number of draws of the records to drop, if only these are random."""
        return DRAWS if self.leaves_one_out else 1

    @property
    def has_pairs(self) -> bool:
        """Whether it takes ``pairs=``, and holds out a sample of them at random."""
        return self.hold is holding.unlike_pairs

    @property
    def ranks_by_wins(self) -> bool:
        """Whether a record is ranked by the pairs that it wins."""
        return self.hold is holding.pairs_of_records

    @property
    def spreads(self) -> bool:
        """Whether classes are spread evenly over folds."""
        return self.hold is holding.k_folds_by_class

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The kinds of outcome that it admits."""
        kinds = CLASSES if self.spreads else (*CLASSES, "continuous")
        return ("binary",) if self.ranks_by_wins else kinds

    @property
    def held_at_random(self) -> bool:
        """Whether the records held out together are drawn at random."""
        return self.splits not in ("units", "pairs")

    @property
    def holds_out_pairs(self) -> bool:
        """Whether pairs of records are held out, and only these are compared."""
        return self.splits == "pairs"

    @property
    def compares_pairs(self) -> bool:
        """Whether records are compared that the same fit did not train on."""
        dropped = self.leaves_one_out and self.rebalance == "subsample"
        return self.holds_out_pairs or dropped

    @property
    def leaves_one_out(self) -> bool:
        """Whether each record, or cluster, is held out by itself."""
        return self.splits == "units"

    @property
    def samples(self) -> bool:
        """Whether training sets are bootstrap samples."""
        return self.splits == "samples"

    @property
    def has_k(self) -> bool:
        """Whether it takes ``k=``."""
        return self.splits == "folds"

    @property
    def has_p(self) -> bool:
        """Whether it takes ``p=``."""
        return self.splits in ("groups", "shares")

    @property
    def random(self) -> bool:
        """Whether it can be repeated, as it holds out or drops at random."""
        return self.held_at_random or self.rebalance is not None


CLASSES = ("binary", "multiclass")
DRAWS = 20  # draws of dropped records over which rebalanced leave-one-out averages


def _read(row: tuple[str, ...]) -> Scheme:
    """Return the scheme of a row of the table, in which a hyphen stands for none."""
    name, splits, hold, rebalance, repeats, by_stratum, sentence = row
    how, said = None if rebalance == "-" else rebalance, by_stratum.removeprefix("-")
    own = vars(holding)[hold], cast(Splits, splits), int(repeats), how, said
    return Scheme(name, sentence, *own)


SCHEMES: dict[str, Scheme] = {
    row[0]: _read(row) for row in stored_rows("statcv.folds.schemes", "schemes.txt")[1:]
}


def get_scheme(name: str) -> Scheme:
    """Return a scheme by name, or say which name is nearest."""
    if name not in SCHEMES:
        raise SchemeError(
            f"there is no scheme {name!r}; there are {', '.join(SCHEMES)}."
            + suggestion(name, SCHEMES)
        )
    return SCHEMES[name]
