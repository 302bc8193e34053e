"""Reads a report, and traces each of its numbers to an expression of the result."""

from __future__ import annotations

import importlib.metadata
import inspect
import platform
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest

import statcv as scv
from statcv.report import page
from statcv.report.checklists import GUIDELINES
from statcv.report.facts import DRAWN_WITH
from statcv.report.methods_paragraph import WORKS

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Reads the elements of a page, with those that name an expression.

    Attributes
    ----------
    open, tags : list of (str, dict)
        Elements that are not closed, and all elements.
    said : list of (expression, number, text)
        Texts that name an expression.
    tables : list of (expression, caption, rows)
    free : list of (element, text)
        Texts that name none, outside style, code and tables that do.
    drawn : str
        Text inside SVG but its title.
    code : str
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[list[Any]] = []
        self.tables: list[list[Any]] = []
        self.free: list[tuple[str, str]] = []
        self.text = self.drawn = self.code = self.title = ""
        self.titles: list[str] = []
        self.captions: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag in VOID:
            return
        inside = {name for name, _ in self.open}
        self.open.append((tag, given))
        if tag == "table":
            self.tables.append([given.get("data-api") or "", "", []])
        if tag == "tr":
            self.tables[-1][2].append([])
        if tag in ("td", "th"):
            self.tables[-1][2][-1].append("")
        if tag in ("data", "span") and "data-api" in given:
            self.said.append([given["data-api"], given.get("value"), ""])
        if tag == "title" and "svg" in inside:
            self.titles.append("")
        if tag == "figcaption":
            self.captions.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        inside = {tag for tag, _ in self.open}
        if "svg" in inside:
            if "title" in inside:
                self.titles[-1] += data
            else:
                self.drawn += data
            return
        if "title" in inside:
            self.title += data
            return
        if "pre" in inside:
            self.code += data
        if "style" in inside:
            return
        self.text += data
        api = any("data-api" in given for _, given in self.open)
        if self.open and self.open[-1][0] in ("data", "span"):
            self.said[-1][2] += data
        if "caption" in inside:
            self.tables[-1][1] += data
        if "td" in inside or "th" in inside:
            self.tables[-1][2][-1][-1] += data
        if "figcaption" in inside:
            self.captions[-1] += data
        if not api and "pre" not in inside and data.strip():
            self.free.append((self.open[-1][0], data))

    def rows(self, first: str) -> list[list[str]]:
        """Return the rows of the table whose head begins with a name."""
        return next(rows for _, _, rows in self.tables if rows[0][0] == first)


# ---- expressions ----


class Remembering:
    """A result whose methods are computed once for the same arguments."""

    def __init__(self, inner: Any) -> None:
        self._inner, self._known = inner, {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name == "results":
            return self._once(
                name, lambda: {k: Remembering(v) for k, v in found.items()}
            )
        if not inspect.ismethod(found):
            return found

        def called(*args: Any, **named: Any) -> Any:
            key = f"{name}{args}{named}"
            return self._once(key, lambda: found(*args, **named))

        return called

    def _once(self, key: str, make: Any) -> Any:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]


def follow(api: str, value: str | None, text: str, names: dict[str, Any]) -> None:
    """Check that a text is what an expression gives."""
    found = eval(api, names)
    if value is None:
        assert page.visible(str(found)) == text, api
        return
    number = float(found)
    assert float(value) == number or np.isnan([float(value), number]).all(), api
    if not np.isfinite(number):
        assert text == {"nan": "–", "inf": "∞", "-inf": "−∞"}[str(number)]
        return
    places = len(text.partition(".")[2])
    shown = float(text.replace("−", "-"))
    assert shown == pytest.approx(number, abs=0.5000001 * 10**-places), api


def check_numbers(text: str, result: Any, **names: Any) -> Page:
    """Check that every number of a page comes from the result.

    Four kinds of digits do not: those of the works that are cited, with the marks that
    refer to them; names and counts of the items of a checklist, which are compared with
    the lists; the name of the package jinja2; and those inside code, which other tests
    run. Text in pictures is drawn as paths.
    """
    read = Page(text)
    scope = {"res": Remembering(result), "scv": scv, "platform": platform, **names}
    scope["importlib"] = importlib
    for api, value, said in read.said:
        follow(api, value, said, scope)
    for api, caption, rows in read.tables:
        if api:
            _check_whole(eval(api, scope), rows)
            assert repr(caption) in api or not re.search(r"\d", caption)
    free = [*read.free, *(("desc", one) for one in [read.drawn])]
    listed = _check_lists(read) | set(DRAWN_WITH)
    for tag, one in free:
        own = one.strip()
        if tag == "li" and re.sub(r"^\[\d+\] ", "", own) in WORKS.values():
            continue
        if tag == "p":
            own = re.sub(r"\[\d+(, \d+)*\]", "", own)
        assert not re.search(r"\d", own) or own in listed, (tag, own)
    assert read.title == "".join(said for _, _, said in read.said[:1])
    assert read.titles == [re.sub(r"\s+", " ", one) for one in read.captions]
    return read


def _check_whole(frame: pd.DataFrame, rows: list[list[str]]) -> None:
    """Check that a table is a data frame."""
    head, *body = rows
    assert head[1:] == [str(name) for name in frame.columns]
    assert [row[0] for row in body] == [page.visible(str(one)) for one in frame.index]
    shown = [[page.visible(str(cell)) for cell in row] for row in frame.to_numpy()]
    assert [row[1:] for row in body] == shown


def _check_lists(read: Page) -> set[str]:
    """Check the checklists of a page, and return their names, captions and counts."""
    listed: set[str] = set()
    counts = []
    for _, caption, rows in read.tables:
        if rows[0][:2] != ["item", "topic"]:
            continue
        guideline = next(g for g in GUIDELINES.values() if g.name in caption)
        items = next(own for what, own in guideline.lists if caption.endswith(what))
        assert [tuple(row[:2]) for row in rows[1:]] == [
            (one.name, one.topic) for one in items
        ]
        total = len(items)
        assert caption.startswith(f"{guideline.name}: {total} ")
        filled = [row[2] for row in rows[1:] if row[2] != "for the author"]
        in_part = sum("for the author" in text for text in filled)
        part = f" ({in_part} of them in part)" if in_part else ""
        counts.append(f"{len(filled)} of {caption.partition(': ')[2]}{part}")
        listed |= {caption, *(one.name for one in items)}
    if counts:
        said = [one.strip() for tag, one in read.free if "filled from" in one]
        assert said == [f"{' and '.join(counts)} are filled from the result."]
        listed |= set(said)
    return listed
