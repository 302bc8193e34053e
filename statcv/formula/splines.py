"""B-splines that continue beyond their boundary knots, as in R's ``bs``."""

from __future__ import annotations

from typing import Any

import numpy as np
import patsy.splines
from numpy.typing import NDArray


class Bs(patsy.splines.BS):  # type: ignore[misc]
    """patsy's B-spline basis, continued beyond the boundary knots.

    A held-out row often lies outside the range of its training set (in leave-one-out
    the smallest and the largest value always do), where patsy raises an error. Here
    the outermost polynomial piece is continued, as in R's ``predict`` on a ``bs``
    basis.
    """

    def transform(
        self,
        x: Any,
        df: int | None = None,
        knots: Any = None,
        degree: int = 3,
        include_intercept: bool = False,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
    ) -> NDArray[np.float64]:
        """Return the basis at ``x``, with the knots that were learnt."""
        from scipy.interpolate import BSpline

        knots, degree = self._all_knots, self._degree
        x = np.atleast_1d(np.asarray(x, dtype=float).squeeze())
        basis = BSpline(knots, np.eye(len(knots) - degree - 1), degree)(
            np.where(np.isnan(x), knots[0], x), extrapolate=True
        )
        basis[np.isnan(x)] = np.nan
        return np.asarray(basis if include_intercept else basis[:, 1:])


bs = patsy.state.stateful_transform(Bs)
