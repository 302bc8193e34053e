"""Where a computation stands: a function of the plan and of what was published.

Sites and coordinator follow the same published sums, so that each knows by itself what
is to be sent next, and at which coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from statcv.errors import MessageError
from statcv.numeric.arrays import Floats
from statcv.sites import site_sums
from statcv.sites.cells import score_edges
from statcv.sites.disclosure import arrays_of, sizes_of
from statcv.sites.influences import n_buckets
from statcv.sites.messages import Message
from statcv.sites.plan import SitesPlan
from statcv.sites.trees import Forests

# largest number of rounds that follow the fits
MAX_ROUNDS_AFTER_FITS: Final = site_sums.MAX_RECALIBRATION_STEPS + 4


class Phase:
    """What sites send next; each is the kind of a message."""

    JOIN: Final = "join"
    FIT: Final = "fit"
    GROW: Final = "grow"
    SCORE: Final = "score"
    CALIBRATE: Final = "calibrate"
    SLOPE: Final = "slope"
    VARY: Final = "vary"
    END: Final = "end"


@dataclass(eq=False)
class Progress:
    """What is known after some rounds.

    Attributes
    ----------
    plan : SitesPlan
    phase : str
        What sites send next.
    round : int
        Number of rounds that were published.
    fits : SummedFits
    forests : Forests or None
        The trees, once they are grown; they are known to the sites, and to the
        coordinator those of all records.
    recalibrated : RecalibrationFit
    by_class, trained : numpy.ndarray
        Numbers of held-out and training records, from the round of joining.
    held : numpy.ndarray
        Sum of the held-out linear predictors and of their squares.
    """

    plan: SitesPlan
    phase: str = Phase.JOIN
    round: int = 0

    def __post_init__(self) -> None:
        self.recalibrated = site_sums.RecalibrationFit()
        self.fits = site_sums.SummedFits(self.plan)
        self.fits.open[:] = not self.plan.grown
        self.forests: Forests | None = None
        self.by_class = np.zeros((self.plan.k, 2))
        self.trained = np.zeros(self.plan.k + 1)
        self.edges = np.zeros(0)
        self.scored: dict[str, Floats] = {}
        plan = self.plan
        self.targets = np.zeros((len(plan.metrics), plan.k, plan.n_columns))
        self.n_sites = 0

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the sums of the current phase."""
        sizes = sizes_of(
            self.plan,
            open=int(self.fits.open.sum()),
            bins=len(self.edges) + 1,
            buckets=n_buckets(float(self.by_class.sum()), max(self.n_sites, 1)),
        )
        rows = (row for row in arrays_of(self.plan) if row.role != "sent")
        asked = [row for row in rows if self.phase in row.round.split(", ")]
        asked.sort(key=lambda row: row.name == "buckets")  # they end a message
        return {row.name: row.shape_in(sizes) for row in asked}

    def advance(self, message: Message) -> None:
        """Go on from the sums that a message publishes.

        Raises
        ------
        MessageError
            If an array is missing or has another shape.
        ModelError
            If the fits have no solution.
        """
        sums = {name: message.array(name, at) for name, at in self.shapes().items()}
        self.round += 1
        if self.phase == Phase.JOIN:
            self.by_class, self.trained = sums["by_class"], sums["trained"]
            self.n_sites = len(message.header.get("sites", ()))
            self.phase = Phase.GROW if self.plan.grown else Phase.FIT
        elif self.phase == Phase.FIT:
            held = sums.pop("held")
            self.fits.advance(sums, self.trained)
            spent = self.round >= self.plan.rounds - MAX_ROUNDS_AFTER_FITS
            if spent or not self.fits.open.any():
                self._end_fits(held)
        elif self.phase == Phase.GROW:
            self._end_fits(sums["held"])
        elif self.phase in (Phase.SCORE, Phase.CALIBRATE):
            if self.phase == Phase.SCORE:
                self.scored = sums
            if self.plan.binary:
                self.recalibrated.advance(sums["recalibration"])
            if self.plan.binary and self.recalibrated.open:
                self.phase = Phase.CALIBRATE
            else:  # variances, which need no derivatives of trees
                self.phase = Phase.VARY if self.plan.grown else Phase.SLOPE
        elif self.phase == Phase.SLOPE:
            self.targets = sums["targets"]
            self.phase = Phase.VARY
        elif self.phase == Phase.VARY:
            self.varied: Mapping[str, Floats] = sums
            self.phase = Phase.END
        else:
            raise MessageError("the computation has ended.")

    def _end_fits(self, held: Floats) -> None:
        self.phase, plan = Phase.SCORE, self.plan
        if plan.binary:
            (total, squares), n = held.tolist(), int(self.by_class.sum())
            self.edges = score_edges(total, squares, n, plan.bins, plan.decisions)

    @property
    def predictor(self) -> site_sums.Predictor:
        """What predicts held-out records."""
        return self.forests or self.fits
