"""Figures can be read on paper, on white pages and on dark ones."""

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb

import statcv as scv
from statcv.errors import ArgumentError
from statcv.plots.base import COLOURS, GREY

mpl.use("Agg")
PAGES = Path(__file__).parents[2] / "vignettes"
DARK = "#14181e"  # the background of a dark page of the theme
LEAST = 3.0  # contrast of graphics in WCAG 2.2, success criterion 1.4.11


@pytest.fixture(scope="module")
def result():
    return scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)


# ---- print ----


@pytest.mark.parametrize("form", ["pdf", "svg"])
def test_files_for_print_have_text_as_text(result, form, tmp_path):
    file = tmp_path / f"roc.{form}"
    with scv.plots.style("paper"), mpl.rc_context({"pdf.compression": 0}):
        figure = scv.plots.plot_roc(result, label="four folds").figure
        figure.savefig(file)
    content = file.read_bytes()
    if form == "svg":
        assert b">sensitivity</text>" in content
        return
    assert b"/FontType 3" not in content
    assert b"/Subtype /Type3" not in content
    objects = re.findall(rb"BT\n(.*?)\nET", content, re.DOTALL)
    words = [b"".join(re.findall(rb"\((.*?)\)", one, re.DOTALL)) for one in objects]
    assert b"sensitivity" in [word.replace(b"\0", b"") for word in words]


def test_figures_for_print_have_the_width_of_a_column(result):
    with scv.plots.style("paper"):
        ax = scv.plots.plot_calibration(result)
        ax.figure.canvas.draw()
        four = scv.plots.plot_referee(result)[0, 0].figure
    assert ax.figure.get_figwidth() == 3.5
    assert four.get_figwidth() == 7.0
    sizes = [text.get_fontsize() for text in (ax.title, ax.xaxis.label, ax.yaxis.label)]
    assert sizes == [8.0] * 3
    assert max(line.get_linewidth() for line in ax.lines) < 1.2
    assert mpl.rcParams["font.size"] == mpl.rcParamsDefault["font.size"]
    with pytest.raises(ArgumentError, match="Did you mean 'paper'"):
        scv.plots.style("papr")


# ---- dark pages ----


def turned(colour, filters):
    """A colour after the filters that a browser applies, in order."""
    rgb = np.array(to_rgb(colour))
    for name, argument in filters:
        if name == "invert":
            share = float(argument)
            rgb = share * (1 - rgb) + (1 - share) * rgb
        else:
            assert (name, argument[-3:]) == ("hue-rotate", "deg")
            angle = np.deg2rad(float(argument[:-3]))
            grey = np.array([[0.213, 0.715, 0.072]] * 3)
            sine = [
                [-0.213, -0.715, 0.928],
                [0.143, 0.140, -0.283],
                [-0.787, 0.715, 0.072],
            ]
            cosine = np.eye(3) - grey
            turn = grey + np.cos(angle) * cosine + np.sin(angle) * np.array(sine)
            rgb = np.clip(turn @ rgb, 0, 1)
    return rgb


def luminance(rgb):
    rgb = np.asarray(rgb)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_guidelines():
    assert contrast(to_rgb("white"), to_rgb("black")) == pytest.approx(21)
    assert contrast(to_rgb("#767676"), to_rgb("white")) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("colour", [*COLOURS, GREY, "black"])
def test_colours_are_seen_on_white_and_on_dark_pages(colour):
    css = (PAGES / "_static" / "custom.css").read_text()
    (rule,) = re.findall(
        r"\[data-theme=.dark.\] [^{]*cell_output img[^{]*{([^}]*)}", css
    )
    assert "background-color: transparent" in rule
    filters = re.findall(r"([a-z-]+)\(([^)]*)\)", rule.partition("filter:")[2])
    assert filters
    assert contrast(to_rgb(colour), to_rgb("white")) >= LEAST
    assert contrast(turned(colour, filters), to_rgb(DARK)) >= LEAST
    assert "none" in (PAGES / "_notebook.py").read_text()
