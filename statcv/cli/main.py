"""The command `statcv`.

What a command needs is imported when it is asked for, so that ``statcv --help`` is
quick.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper

from statcv.cli import WIDTH
from statcv.cli.parser import make_parser
from statcv.errors import StatcvError, StatcvWarning, reason


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``statcv``. By default, those of the process.

    Returns
    -------
    int
        0 on success, 2 for wrong input, 130 if interrupted, 141 if the output pipe
        was closed.
    """
    options = make_parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # an ASCII terminal lacks "−"
            stream.reconfigure(errors="replace")
    try:
        with _warnings_as_notes():
            _run(options)
            print(end="", flush=True)
    except KeyboardInterrupt:
        return _fail("interrupted", code=130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except StatcvError as error:
        return _fail(str(error))
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _fail(f"{reason(error)}{where}.")
    except Exception as error:  # unforeseen: still one line
        if os.environ.get("STATCV_TRACEBACK"):
            raise
        kind = type(error).__name__
        return _fail(f"{kind}: {reason(error)} (STATCV_TRACEBACK=1 shows where)")
    return 0


def _run(options: argparse.Namespace) -> None:
    """Import what the command that is asked for needs, and run it."""
    first = options.command.split()[0]
    own = {"data": "data", "folds": "fold_plans", "sites": "sites"}
    module = own.get(first, "commands")
    command = import_module(f"statcv.cli.{module}").COMMANDS[options.command]
    import_module("statcv.cli.files").keep_what_is_read(options)
    command(options)


def _fail(message: str, code: int = 2) -> int:
    print(f"statcv: {_one_line(message)}", file=sys.stderr)
    return code


def _one_line(message: str) -> str:
    """Return a message in one line, with the position that a caret below it marks."""
    text, *place = message.splitlines()
    carets = [one.index("^") for one in place if set(one) - {" "} == {"^"}]
    if not carets:
        return " ".join([text, *map(str.strip, place)])
    indent = len(place[0]) - len(place[0].lstrip())
    return f"{text} (at character {carets[0] - indent + 1} of {place[0].strip()!r})"


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Show the package's warnings once each, as notes on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", StatcvWarning)
        try:
            yield
        finally:
            for text in dict.fromkeys(str(one.message) for one in caught):
                note = textwrap.fill(f"note: {text}", WIDTH, subsequent_indent="  ")
                print(note, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
