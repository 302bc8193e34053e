"""How the executed documents print and draw; each imports it in a hidden cell.

Nothing that is shown may depend on the date, the machine or the process: warnings
are printed without the path of the temporary file that a cell is run from, and
figures carry no date. Figures are white also where the page is dark.
"""

import textwrap
import warnings

import matplotlib
from matplotlib_inline import backend_inline


def _warning(message, category, filename, lineno, line=None):
    return textwrap.fill(f"{category.__name__}: {message}", 76) + "\n"


warnings.formatwarning = _warning
matplotlib.rcParams["svg.hashsalt"] = "statcv"
backend_inline.set_matplotlib_formats(
    "svg", facecolor="white", metadata={"Date": None}, bbox_inches="tight"
)
