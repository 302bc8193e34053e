"""How far tests of no skill and intervals of auROC keep their word: a study.

Data sets are drawn from two normal classes, so that the true auROC and calibration
slope of every fitted model are known in closed form. In each the schemes are run, and
every interval and test is asked. What is counted: how often an interval holds the true
auROC, how often a test rejects.

The stored table ``inference_study.csv`` is made by::

    python -m statcv.studies.inference DIRECTORY inference_study.csv --jobs 2

with 500 data sets in each cell, the whole grid without duplicates and four populations
with them. It can be interrupted, and goes on where it stopped.
"""

from statcv.studies.inference.methods import SCHEMES
from statcv.studies.inference.population import Population
from statcv.studies.inference.run import run_study
from statcv.studies.inference.table import study_table

__all__ = ["SCHEMES", "Population", "run_study", "study_table"]
