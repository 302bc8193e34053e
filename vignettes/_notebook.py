"""How the executed documents print and draw: run by IPython before the first cell.

Nothing that is shown may depend on the date, the machine or the process: warnings
are printed without the path of the temporary file that a cell is run from, and
figures carry no date. Figures are transparent, and the style sheet turns their colours
where the page is dark. No name is left behind, so that a page has to import whatever it
uses.
"""


def _set_up():
    import textwrap
    import warnings

    def in_words(message, category, filename, lineno, line=None):
        return textwrap.fill(f"{category.__name__}: {message}", 76) + "\n"

    warnings.formatwarning = in_words
    figures = get_ipython().config.InlineBackend  # noqa: F821
    figures.rc = {"svg.hashsalt": "statcv", "axes.facecolor": "none"}
    figures.figure_formats = {"svg"}
    figures.print_figure_kwargs = {
        "facecolor": "none",
        "metadata": {"Date": None},
        "bbox_inches": "tight",
    }


_set_up()
del _set_up
