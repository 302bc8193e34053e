"""A study of the coverage of intervals, and the level of tests and comparisons.

Data sets are drawn from two normal classes, so that the true auROC, accuracy, Brier
score and calibration slope of every fitted model are known in closed form, or by an
integral. Under each scheme, every interval, test and comparison of two models is
computed. The study counts how often an interval covers the truth, and how often a
test rejects.

The table that ships with the package (:func:`stored`) is made by::

    python -m studies inference DIRECTORY ../data --jobs 2

For skill it has 500 data sets in each cell, with the whole grid without duplicates and
four populations with them; for losses and two models it has 200, in a part of the grid
(``--questions`` runs some of these alone). It can be interrupted, and continues where
it stopped.

A second table, ``stored("defaults")``, holds the default interval and test against an
oracle on populations of other shapes (:mod:`~studies.inference.shapes`), beside
older defaults and intervals of the literature
(:mod:`~studies.inference.rivals`); so it does for Cox regression of times to an event
(:mod:`~studies.inference.times`).
"""

from studies.inference.defaults import defaults_table, run_defaults
from studies.inference.draws import SCHEMES
from studies.inference.paper import stored
from studies.inference.population import Population
from studies.inference.run import run_study
from studies.inference.summary import study_table

__all__ = [
    "SCHEMES",
    "Population",
    "defaults_table",
    "run_defaults",
    "run_study",
    "stored",
    "study_table",
]
