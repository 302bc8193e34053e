"""Pictures drawn without a window, and with the same bytes always."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

from statcv.report.parts import Picture

SALT = "statcv"
SIZE = (5.2, 4.8)


@contextmanager
def _plain_settings() -> Iterator[None]:
    """Use matplotlib's own defaults, and take dollar signs in names as they are."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "svg.hashsalt": SALT,
                "svg.fonttype": "path",
                "text.parse_math": False,
                "text.usetex": False,
                "axes.unicode_minus": True,
            }
        )
        warnings.filterwarnings("ignore", message="Glyph")
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not")
        yield


def draw(picture: Picture, form: str) -> bytes:
    """Return a picture as SVG or PNG.

    Parameters
    ----------
    picture : Picture
    form : {"svg", "png"}
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with _plain_settings():
        figure = Figure(figsize=SIZE, layout="constrained", facecolor="white")
        FigureCanvasAgg(figure)
        picture.draw(figure.subplots())
        written = BytesIO()
        unnamed: dict[str, Any] = {"svg": {"Date": None, "Creator": None}}
        metadata = unnamed.get(form, {"Software": None})
        figure.savefig(written, format=form, dpi=150, metadata=metadata)
    return written.getvalue()


def inline_svg(picture: Picture, name: str) -> tuple[str, str]:
    """Return the extent and the content of an SVG element.

    Its ids begin with a name.
    """
    text = draw(picture, "svg").decode()
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    text = re.sub(r"<metadata>.*?</metadata>\n?", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = text.replace("url(#", f"url(#{name}-")
    found = re.search(r"<svg[^>]*>(.*)</svg>", text, flags=re.DOTALL)
    box = re.search(r'viewBox="([^"]+)"', text)
    assert found is not None
    assert box is not None
    return box.group(1), found.group(1)
