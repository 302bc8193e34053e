"""The writers of tables and summaries in LaTeX, Markdown and HTML."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from statcv.words import stored_texts

if TYPE_CHECKING:
    from jinja2 import Environment, Template

    from statcv.results.writing.export import PaperTable

Row = tuple[bool, str, list[str]]  # whether below a heading, name, and cells
Facts = Sequence[tuple[str, str]]
Text = TypeVar("Text")
Concat = Callable[[Iterable[Any]], Text]  # makes a text of its pieces


@dataclass(frozen=True, eq=False)
class Document:
    """Tables and notes, and what stands above them if it is not empty."""

    tables: Sequence[PaperTable]
    notes: Sequence[str] = ()
    title: str = ""
    headline: str = ""
    facts: Facts = ()


def visible(text: str) -> str:
    r"""Return text in one line, with invisible and directional marks written out.

    >>> print(visible("a\u202eb"), visible("two\nlines"))
    a\u202eb two lines
    """
    shown = []
    for character in re.sub(r"\s+", " ", text):
        kind, joins = unicodedata.category(character), character == "\u200d"
        # the zero-width joiner joins parts of emoji
        hidden = kind in ("Cc", "Cs", "Cn", "Co", "Cf") and not joins
        shown.append(f"\\u{ord(character):04x}" if hidden else character)
    return "".join(shown)


# ---- Markdown ----

SPECIAL = "\\`*_{}[]<>|~$^@#&!\"'"
# characters that would become a dash or an ellipsis
REPEATED = re.compile(r"(?<=-)-|(?<=\.)\.")
# starts of a line that would begin a list
OF_A_LIST = re.compile(r"^(\(?\w*)([-+.)])(?= |$)")


def plain(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    >>> print(plain("a*b <i>"), plain("1. --"))
    a\*b \<i\> 1\. -\-
    """
    shown = "".join("\\" + c if c in SPECIAL else c for c in visible(str(text)))
    return OF_A_LIST.sub(r"\1\\\2", REPEATED.sub(r"\\\g<0>", shown))


# ---- LaTeX ----

# brackets would be an argument of the end of the row above
_MARKS = stored_texts("statcv.results.writing", "latex_marks.txt")


def latex(text: str) -> str:
    r"""Return text that LaTeX shows as it is.

    >>> print(latex(r"50% of a_b & [c] \d"), latex("−1 -- 2"))
    50\% of a\_b \& {[}c{]} \textbackslash{}d $-$1 -{}- 2
    """
    shown = "".join(_MARKS.get(c, c) for c in visible(text).replace("--", "\0"))
    return shown.replace("\0", "-{}-")


# ---- whole documents ----


def as_html(text: str) -> str:
    """Return text that HTML shows as it is."""
    return escape(visible(text))


def environment(room: str, native: bool = False, **more: Any) -> Environment:
    """Return the templates of a room, which fail where something is not given.

    Those that are native return what they are made of in place of text.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from jinja2.nativetypes import NativeEnvironment

    kind = NativeEnvironment if native else Environment
    loader = PackageLoader(room, "templates")
    plain_lines = ("trim_blocks", "lstrip_blocks", "keep_trailing_newline")
    blocks: dict[str, Any] = dict.fromkeys(plain_lines, True)
    return kind(loader=loader, undefined=StrictUndefined, **blocks, **more)


class Phrases(Generic[Text]):
    """The phrases of a file of a room, in which braces enclose what is shown.

    Parameters
    ----------
    source : tuple
        The room and the file, which is read when a phrase is needed. Its macros are
        phrases that each of them, and each text, knows as ``say.name(...)``.
    concat : callable
        Function that makes a text of its pieces.
    **known
        What phrases can name; functions are filters, too.
    """

    def __init__(
        self, source: tuple[str, str], concat: Concat[Text], **known: Any
    ) -> None:
        self._source, self._concat, self._known = source, concat, known
        self._template = cache(lambda text: self._environment.from_string(text))

    @cached_property
    def _environment(self) -> Environment:
        room, file = self._source
        braces = {"variable_start_string": "{", "variable_end_string": "}"}
        made = environment(room, native=True, **braces)
        made.concat = self._concat  # type: ignore[assignment, method-assign]
        made.globals |= self._known
        made.filters |= {name: f for name, f in self._known.items() if callable(f)}
        made.globals["say"] = made.get_template(file).module
        return made

    def phrase(self, name: str, *given: Any) -> Text:
        """Return a phrase of the file, of what it is about."""
        made: Text = getattr(self._environment.globals["say"], name)(*given)
        return made

    def filled(self, text: str, /, **facts: Any) -> Text:
        """Return a text with facts in place of its fields."""
        made = self._template(text)
        return self._concat(made.root_render_func(made.new_context(facts)))

    def fields(self, text: str) -> set[str]:
        """Return the names of the facts that a text needs."""
        from jinja2.meta import find_undeclared_variables

        made = self._environment
        return find_undeclared_variables(made.parse(text)) - made.globals.keys()


@cache
def template(room: str, name: str) -> Template:
    """Return a template of a room, in which ``<<`` and ``>>`` enclose what is shown."""
    # braces are those of LaTeX
    made = environment(room, variable_start_string="<<", variable_end_string=">>")
    made.filters |= {"markdown": plain, "latex": latex, "html": as_html}
    return made.get_template(name)


def written(document: Document, form: str) -> str:
    """Return a document as text of a form that has a template."""
    made = template("statcv.results.writing", f"{form}.txt").render(vars(document))
    return made.removesuffix("\n")
