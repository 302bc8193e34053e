"""Whether intervals that are pooled over imputations cover the truth.

:func:`coverage` removes values at random, imputes them, cross-validates each imputed
data set, and holds the intervals of :func:`statcv.pool` against the truth. A summary is
stored beside it (:func:`stored`). It is made by::

    python -m studies pooling DIRECTORY studies/tables --jobs 2
"""

from studies.pooling.paper import coverage, stored

__all__ = ["coverage", "stored"]
