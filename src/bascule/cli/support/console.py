"""Output of the commands: plain lines, reports and JSON."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bascule.core.errors import InputError
from bascule.core.presenter import COLUMNS

if TYPE_CHECKING:
    from rich.console import Console

    from bascule.presentation.report import Report

NOTEWORTHY_SECONDS = 3.0
"""Seconds above which the simulator is assumed to have been compiled: loading it from the disk
takes up to two seconds on a busy machine."""

DECLINED, INTERRUPTED = 1, 130
"""Exit codes of a command whose question was answered with no, and of one that was interrupted."""

_CONTROLS = {sign: f"\\x{sign:02x}" for sign in (*range(9), *range(11, 32), *range(127, 160))}


def visible(text: str) -> str:
    r"""Return a text with control characters escaped, so that a terminal does not obey them.

    >>> visible("a name\x1b]0;title\x07")
    'a name\\x1b]0;title\\x07'
    """
    return text.translate(_CONTROLS)


def screen() -> Console:
    """Return a console for standard output, which shows styles on a terminal only.

    Markup is off, because names of units, arms and files are data, and "[/red]" may be one of them.
    Control characters, which could move the cursor or rename the window, are shown as escapes.
    """
    from rich.console import Console
    from rich.text import Text

    class Screen(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(visible(text), **options)

    return Screen(highlight=False, markup=False, emoji=False)


def print_line(text: str, style: str | None = None) -> None:
    """Print a line of plain text, however long; a style shows on a terminal."""
    if not sys.stdout.isatty():
        typer.echo(visible(text))
        return
    screen().print(text, style=style, soft_wrap=True)


def confirm(question: str, yes: bool) -> None:
    """Ask before a step that cannot be undone; end the command unless the answer is yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError("yes", f"{question} There is no terminal to ask on: give --yes")
    asked(question, "nothing was changed")


def asked(question: str, otherwise: str, err: bool = False) -> None:
    """Ask a question; unless the answer is yes, print `otherwise` and end the command."""
    code = DECLINED
    try:
        if typer.confirm(question, err=err):
            return
    except typer.Abort:
        typer.echo("", err=True)
        code = INTERRUPTED
    note(otherwise)
    sys.exit(code)


def note(words: str) -> None:
    """Print a message on standard error, broken to fit a terminal."""
    text = visible(f"bascule: {words}")
    if sys.stderr.isatty():
        columns = shutil.get_terminal_size().columns
        text = textwrap.fill(text, columns, break_long_words=False, break_on_hyphens=False)
    typer.echo(text, err=True)


def print_json(data: dict[str, Any]) -> None:
    """Print one JSON object, and nothing else, on standard output."""
    typer.echo(json.dumps(data, allow_nan=False))


def print_rows(as_json: bool, data: dict[str, Any], lines: Iterable[str], empty: str = "") -> None:
    """Print rows as one JSON object, or as lines of text; without any lines, print `empty`."""
    if as_json:
        print_json(data)
        return
    for line in list(lines) or ([empty] if empty else []):
        print_line(line)


def print_result(result: Any, as_json: bool, show: Callable[[Any], None] | None = None) -> None:
    """Print a result as one JSON object, or by `show` if it is given, or else as its report."""
    if as_json:
        print_json(result.to_dict())
    elif show is None:
        print_report(result.report())
    else:
        show(result)


def print_report(report: Report, width: int = COLUMNS) -> None:
    """Print a report as text; a terminal highlights the headline and alarms.

    Sentences are broken at `width`; 0 leaves each on one line. On a terminal narrower than
    `COLUMNS`, sentences and tables are broken to fit the terminal.
    """
    from bascule.presentation.report import lines

    if sys.stdout.isatty():
        columns = shutil.get_terminal_size().columns
        width = columns if columns < COLUMNS else width
    first, *rest = lines(report, width)
    print_line(first, "bold")
    for line in rest:
        print_line(line, "bold red" if line.startswith("! ") else None)


def prepare_files(**files: Path | None) -> None:
    """Check that the output files of a command can be written, before it starts its work."""
    from bascule.core.inputs.files import prepare_file
    from bascule.presentation.figures import figure_kind

    for option, path in files.items():
        if path is not None:
            prepare_file(option, path)
            if option == "figure":
                figure_kind(path)


def write_files(result: Any, figure: Path | None, html: Path | None) -> None:
    """Write the figure and the page of a result, where they are asked for."""
    from bascule.core.inputs.files import write_whole
    from bascule.presentation.figures import figure_kind, rendered

    if figure is not None:
        write_whole(figure, rendered(result.plot(), figure_kind(figure)))
    if html is not None:
        result.save_html(html)


def say_written(*paths: Path | None) -> None:
    """Say which files were written."""
    for path in paths:
        if path is not None:
            print_line(f"wrote {path}")


def note_compilation(seconds: float) -> None:
    """Say that the simulator was compiled, if it took more than `NOTEWORTHY_SECONDS`."""
    if seconds > NOTEWORTHY_SECONDS:
        note(
            f"compiled the simulator for what was asked in {seconds:.1f} s; "
            "it is kept on disk, so the next call starts at once"
        )
