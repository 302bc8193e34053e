"""What can be typed after ``statcv``: the parser of commands and options.

``options.txt`` has each command and its options, one per line: flags, the value, and
what it means. The name of a value says how it is read: ``N`` is an integer, ``A,B`` are
names, ``FILE`` is a path; a sign after it marks a default (``=``), a value that must be
given (``!``), and an argument that may be omitted (``?``) or be several (``+``).
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

import statcv
from statcv.results.writing.styles import STYLES
from statcv.words import sentence

WORDS = {"True": True, "False": False, "None": None}


def stored(name: str) -> str:
    """Return a text that commands print, which is a file."""
    return resources.files("statcv.cli").joinpath(name).read_text("utf-8")


OPTIONS = stored("options.txt").replace("{STYLES}", "|".join(STYLES))
EXAMPLES, SITES_EXAMPLES = stored("examples.txt"), stored("examples_of_sites.txt")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Print the line and exit with 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser, which says which command is asked for."""
    plain: dict[str, Any] = {"allow_abbrev": False}
    plain["formatter_class"] = argparse.RawDescriptionHelpFormatter
    described = "Cross-validation for statisticians."
    parser = _Parser(prog="statcv", description=described, epilog=EXAMPLES, **plain)
    version = f"statcv {statcv.__version__}"
    parser.add_argument("--version", action="version", version=version)
    added = parser.add_subparsers(metavar="COMMAND", required=True)
    rooms = {"": added}  # where commands of one word, and those of two, are added
    shared: dict[str, list[str]] = {}  # options of several commands
    for block in OPTIONS.strip().split("\n\n"):
        heading, *lines = block.splitlines()
        lines = [one for line in lines for one in shared.get(line, [line])]
        name, _, what = heading.partition(": ")
        if not what:
            shared[heading] = lines
            continue
        room, _, last = name.rpartition(" ")
        about: dict[str, Any] = {"help": what, "description": sentence(what)}
        if name == "sites":
            sites = added.add_parser(name, epilog=SITES_EXAMPLES, **plain, **about)
            rooms[name] = sites.add_subparsers(metavar="COMMAND", required=True)
            continue
        made = rooms[room].add_parser(last, allow_abbrev=False, **about)
        made.set_defaults(command=name)
        for line in lines:
            flags, settings = read_option(line)
            made.add_argument(*flags, **settings)
    return parser


OPTION = re.compile(
    r"(?P<flags>[-\w]+(, [-\w]+)*)( (?P<value>\(.*?\)|[^\s=!?+]+(=A,B|=1,2,5)?))?"
    r"(=(?P<default>\S+))?(?P<mark>[!?+])?: (?P<help>.*)"
)


def read_option(line: str) -> tuple[list[str], dict[str, Any]]:
    """Return the flags of an option, and its settings for argparse.

    >>> read_option("-k, --k K: number of folds (10)")[0]
    ['-k', '--k']
    >>> read_option("--by (hash|value)=hash: way")[1]["choices"]
    ('hash', 'value')
    """
    found = OPTION.fullmatch(line)
    assert found is not None, line
    flags, value, mark = found["flags"].split(", "), found["value"], found["mark"]
    settings: dict[str, Any] = {"help": found["help"]}
    if value is None:
        settings["action"] = "store_true"
    elif value.startswith("("):
        settings["choices"] = tuple(value[1:-1].split("|"))
    else:
        settings |= {"metavar": value, "type": KINDS.get(value, str)}
    if found["default"]:
        settings["default"] = found["default"]
    if mark == "!":
        settings["required"] = True
    elif mark:
        settings["nargs"] = mark
    return flags, settings | SPECIAL.get(flags[0], {})


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _levels(text: str) -> tuple[str, list[Any]]:
    """Return a column and its levels, which are text unless all are numbers."""
    name, levels = _values(text, {"True": True, "False": False})
    if any(isinstance(level, str) for level in levels):
        levels = _names(text.partition("=")[2])
    return name, levels


def _values(text: str, words: Mapping[str, Any] = WORDS) -> tuple[str, list[Any]]:
    """Return a name and its values, as numbers where they can be read as such."""
    name, _, listed = text.partition("=")
    values = [words.get(value, _as_number(value)) for value in _names(listed)]
    if not (name.strip() and values):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=A,B")
    return name.strip(), values


def _as_number(text: str) -> float | str:
    """Return an integer, a share, or other text as it is."""
    try:
        return int(text) if text.strip().isdigit() else float(text)
    except ValueError:
        return text


def _number(text: str) -> float:
    if isinstance(number := _as_number(text), str):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return number


def _threshold(text: str) -> float | str:
    return text if isinstance(_as_number(text), str) else float(text)


def _level(text: str) -> float:
    number = _as_number(text)
    if isinstance(number, str) or not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1")
    return number


# how a value is read, by its name; others are text
KINDS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("N", "K", "M", "PORT"), int),
    **dict.fromkeys(("C", "RATE", "SECONDS"), float),
    **dict.fromkeys(("DIR", "FILE", "FILE.csv", "FILE.json", "PLAN", "LOG"), Path),
    **dict.fromkeys(("EXCHANGE", "HOME", "CENTER", "REQUEST"), Path),
    **dict.fromkeys(("A,B", "A,B,C"), _names),
    **dict.fromkeys(("NAME=A,B", "NAME=1,2,5"), _values),
    "TIMES": lambda text: [_number(value) for value in _names(text)],
    "P": _number,
    "T": _threshold,
}
SPECIAL: dict[str, dict[str, Any]] = {
    "--missing": {"nargs": "+", "action": "extend"},
    "--tune": {"action": "append"},
    "--cuts": {"action": "append"},
    "--levels": {"action": "append", "type": _levels},
    "--level": {"type": _level},
    "--jobs": {"dest": "n_jobs"},
    "--quiet": {"dest": "progress", "action": "store_const", "const": False},
    "--scores": {"dest": "probabilities", "action": "store_const", "const": False},
    "--wait": {"nargs": "?", "const": 2.0},
}
