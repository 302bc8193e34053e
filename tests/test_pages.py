"""What the pages of the documentation keep to, whatever they are about."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGES = Path(__file__).resolve().parents[1] / "vignettes"
# as many characters as a screen of 1280 pixels shows beside the two menus
WIDEST = 60

CELL = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+\.md)\)")


def name_of(page: Path) -> str:
    return page.relative_to(PAGES).with_suffix("").as_posix()


def pages() -> list[Path]:
    found = sorted(PAGES.rglob("*.md"))
    return [one for one in found if "studies" not in one.parts]


def blocks(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the kind, the options and the content of every fenced block."""
    for kind, content in CELL.findall(text):
        options = ""
        if content.startswith("---\n"):
            _, options, content = content.split("---\n", 2)
        while re.match(r":[a-z-]+:", content):
            option, _, content = content.partition("\n")
            options += option
        yield kind, options, content


def shown_code(text: str) -> list[str]:
    """Return the lines of code that a reader sees."""
    lines = []
    for kind, options, content in blocks(text):
        directive = kind.startswith("{") and kind != "{code-cell}"
        if not directive and "remove-" not in options:
            lines += content.splitlines()
    return lines


def title(page: Path) -> str:
    found = re.search(r"^# (.+)$", page.read_text(), re.MULTILINE)
    assert found, f"{page} has no title"
    return found[1]


def test_shown_code_leaves_out_what_a_page_hides():
    page = (
        "```{code-cell} python3\n:tags: [remove-cell]\nhidden\n```\n"
        "```{code-cell} python3\n---\ntags: [remove-input]\n---\nhidden\n```\n"
        "```{code-cell} python3\n---\nmystnb:\n  image:\n    alt: x\n---\na\n```\n"
        "```{toctree}\nhidden\n```\n```sh\nb\n```\n"
    )
    assert shown_code(page) == ["a", "b"]


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_code_is_not_cut_at_the_right(page: Path):
    wide = [line for line in shown_code(page.read_text()) if len(line) > WIDEST]
    assert not wide


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_words_of_links_are_the_titles_of_their_pages(page: Path):
    for words, address in LINK.findall(page.read_text()):
        target = (page.parent / address).resolve()
        assert target.exists(), address
        if words:
            assert words.lower() == title(target).lower(), address
