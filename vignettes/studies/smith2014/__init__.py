"""The question of Smith et al. (2014): optimism at few events per variable.

:func:`optimism` measures estimates of the c-statistic, and :func:`absolute_errors`
compares their errors two by two, as Table 1 of the paper does
(:func:`published_errors`). Summaries are stored beside it (:func:`stored`). They are
made by::

    python -m studies smith2014 DIRECTORY studies/tables --seed 1 --jobs 2

G. C. S. Smith, S. R. Seaman, A. M. Wood, P. Royston and I. R. White, American Journal
of Epidemiology 180 (2014) 318.
"""

from studies.smith2014.paper import absolute_errors, optimism, published_errors, stored

__all__ = ["absolute_errors", "optimism", "published_errors", "stored"]
