"""A report as HTML or Markdown with its pictures, written to a file."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statcv.errors import ArgumentError, ArgumentTypeError, reason, suggestion
from statcv.report.parts import Picture, Report, as_prose, plain_text
from statcv.results.writing.writers import environment, plain, visible

if TYPE_CHECKING:
    from jinja2 import Environment

FORMS = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md"}


def lines_of_code(text: str) -> list[str]:
    r"""Return the lines of code, with invisible and directional marks written out.

    >>> lines_of_code("res = cv(\n    'a\u202eb')")
    ['res = cv(', "    'a\\u202eb')"]
    """
    found = []
    for line in text.splitlines():
        kept = line.lstrip()
        found.append(" " * (len(line) - len(kept)) + visible(kept.rstrip()))
    return found


def check_path(path: object) -> tuple[Path, str]:
    """Return the path of a report and its form.

    Raises
    ------
    ArgumentTypeError
        If it is not a path.
    ArgumentError
        If its extension is unknown, or the folder does not exist.
    """
    if not isinstance(path, (str, PathLike)):
        raise ArgumentTypeError(
            f"path must be the name of a file, not a {type(path).__name__}."
        )
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in FORMS:
        raise ArgumentError(
            f"a report is written as {', '.join(FORMS)}, not as {file.suffix!r} "
            f"({file.name})." + suggestion(suffix, FORMS)
        )
    if not file.parent.is_dir():
        raise ArgumentError(
            f"cannot write {file}: the folder {file.parent} does not exist."
        )
    return file, FORMS[suffix]


def write_report(report: Report, path: object) -> Path:
    """Write a report; a file that exists is replaced.

    Parameters
    ----------
    report : Report
    path : str or path
        Name of the file, which ends in ``.html`` or ``.md``.

    Raises
    ------
    ArgumentError
        If the file cannot be written.
    """
    file, form = check_path(path)
    beside: dict[str, bytes] = {}
    if form == "html":
        text = to_html(report)
    else:
        text, beside = to_markdown(report, file.stem)
    try:
        file.write_text(text, encoding="utf-8", newline="\n")
        for name, content in beside.items():
            file.with_name(name).write_bytes(content)
    except OSError as error:
        raise ArgumentError(f"cannot write {file}: {reason(error)}.") from error
    return file


@lru_cache
def _environment(html: bool) -> Environment:
    def finalize(value: Any) -> Any:
        return visible(value) if type(value) is str else value

    shown = finalize if html else None
    made = environment("statcv.report", autoescape=html, finalize=shown)
    made.filters |= {"plain": plain, "parts": as_prose, "plain_text": plain_text}
    return made


def to_html(report: Report) -> str:
    """Return a report as one self-contained page."""
    from markupsafe import Markup, escape

    def picture(one: Picture, name: str) -> dict[str, Any]:
        box, inside = inline_svg(one, name)
        return {"box": box, "inside": Markup(inside)}  # drawn, not data

    def code(text: str) -> Markup:
        return escape("\n".join(lines_of_code(text)))

    template = _environment(True).get_template("report.html")
    return template.render(report=report, picture=picture, code=code)


def to_markdown(report: Report, stem: str) -> tuple[str, dict[str, bytes]]:
    """Return a report as Markdown, and its pictures by the names of their files."""
    files: dict[str, bytes] = {}
    base = "".join(c if c.isalnum() or c in "-_." else "_" for c in stem)

    def picture(one: Picture) -> str:
        name = f"{base}_{len(files) + 1}_{one.name}.png"
        files[name] = draw(one, "png")
        return name

    def indented(text: str) -> str:
        return "\n".join(f"    {line}" for line in lines_of_code(text))

    template = _environment(False).get_template("report.md")
    text = template.render(report=report, picture=picture, indented=indented)
    return text, files


SALT = "statcv"
SIZE = (5.2, 4.8)


@contextmanager
def _plain_settings() -> Iterator[None]:
    """Use matplotlib's own defaults, and take dollar signs in names as they are."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        settings: Any = dict.fromkeys(("text.parse_math", "text.usetex"), False)
        settings |= {"svg.hashsalt": SALT, "svg.fonttype": "path"}
        matplotlib.rcParams.update({**settings, "axes.unicode_minus": True})
        said = "Glyph|constrained_layout not applied|Matplotlib currently does not"
        warnings.filterwarnings("ignore", message=said)
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
        picture.draw(ax=figure.subplots())
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
