"""Whether intervals cover the truth where missing values are imputed.

:func:`coverage` removes values at random, imputes them, cross-validates each imputed
data set, and holds the intervals of :func:`statcv.pool` against the truth.
:func:`inside` compares that with imputation inside every training set. Summaries are
stored (:func:`stored`). They are made by::

    python -m studies pooling DIRECTORY studies/tables --jobs 2
"""

from studies.pooling.paper import coverage, inside, stored

__all__ = ["coverage", "inside", "stored"]
