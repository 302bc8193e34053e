"""What leave-one-out gives away of times to an event.

:func:`noise` estimates the concordance and the AUC at a horizon of Cox regressions on
noise, under five schemes. A summary is stored (:func:`stored`), which is made by::

    python -m studies survival DIRECTORY studies/tables --seed 1 --jobs 2

What is known in closed form: :func:`without_covariates` has the AUC of the baseline
hazard alone, :func:`leave_one_out` an approximation to that of the regression.
"""

from studies.survival.closed_form import leave_one_out, without_covariates
from studies.survival.paper import noise, stored

__all__ = ["leave_one_out", "noise", "stored", "without_covariates"]
