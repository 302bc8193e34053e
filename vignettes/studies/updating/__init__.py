"""How honest the gain of updating a model at another hospital is.

:func:`gain` updates a model at simulated hospitals, cross-validates the whole updating,
and compares the gain with that for new patients. A summary is stored beside it
(:func:`stored`). It is made by::

    python -m studies updating DIRECTORY studies/tables --seed 1 --jobs 2
"""

from studies.updating.paper import gain, stored

__all__ = ["gain", "stored"]
