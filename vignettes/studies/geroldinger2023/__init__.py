"""The question of Geroldinger et al. (2023), and that of Parker et al. (2007).

:func:`performance` measures what resampling methods say of three estimators of a
logistic regression, and :func:`stratification` what they say of noise.
Summaries are stored beside it (:func:`stored`). They are made by::

    python -m studies geroldinger2023 DIRECTORY studies/tables --seed 1 --jobs 2

A. Geroldinger, L. Lusa, M. Nold and G. Heinze, Diagnostic and Prognostic Research 7
(2023) 9. B. J. Parker, S. Günter and J. Bedo, BMC Bioinformatics 8 (2007) 326.
"""

from studies.geroldinger2023.paper import performance, stored, stratification

__all__ = ["performance", "stored", "stratification"]
