"""The experiments of the papers behind statcv, beside the pages that show them.

Each paper has a subpackage: ``austin2024``, ``bey2020``, ``geroldinger2023``,
``inference``, ``pooling``, ``smith2014`` and ``updating``. The package is not
installed: run from the folder ``vignettes``, ``from studies import bey2020`` imports
one, and::

    python -m studies bey2020 DIRECTORY studies/tables

makes its tables again. It uses what statcv and its rooms list, and nothing else.
"""
