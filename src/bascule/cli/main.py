"""The program `bascule`: it assembles the commands, and reports errors with an exit code."""

from __future__ import annotations

import atexit
import gc
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from bascule import __version__
from bascule.cli.support.console import INTERRUPTED, note
from bascule.core.errors import InputError, StoreError, meant
from bascule.core.inputs.checks import is_grouped

USAGE_ERROR = 2
NO_RESULT = "interrupted: there is no result"

SHORTEST_WORD = 3
"""Minimum number of letters of an unknown option that is searched for in the help."""

LIST_OPTIONS = ("--means", "--worlds", "--lift", "--weights")
"""Options that may be followed by several values, as in `--means 0 1`."""

HELP_OPTIONS = ["--help", "-h"]

NOT_A_CHOICE = re.compile(r"'([^']*)' is not one of (.*)")
"""The parser's message for a value that is not among the choices."""

PANELS = {
    "Every day": {
        "plan": "plan:command",
        "serve": "operation.serve:command",
        "experiment": "experiment:app",
        "analyze": "analyze:command",
        "steer": "steer:command",
        "simulate": "simulate:command",
        "demo": "operation.demo:command",
        "key": "operation.key:app",
    },
    "Operation": {
        "unit": "unit:app",
        "backup": "operation.backup:backup",
        "restore": "operation.backup:restore",
        "doctor": "operation.backup:doctor",
        "mcp": "operation.mcp:command",
    },
    "Research": {
        "frontier": "frontier:command",
        "audit": "audit:command",
        "paper": "paper:command",
    },
}
"""The place of each command or group, as MODULE:VARIABLE, by help panel and in the order shown."""

COMMANDS = {name for commands in PANELS.values() for name in commands}


class Commands(TyperGroup):
    """The top group of commands, which lists them in the order of `PANELS`."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of the commands in the order of their panels."""
        return [name for panel in PANELS.values() for name in panel if name in self.commands]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bascule {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False,
        "--version",
        help="Print the version and leave.",
        callback=_print_version,
        metavar="",
    ),
) -> None:
    """Adaptive A/B tests that balance their cost against the time to a proven decision."""


def application(only: str | None = None) -> typer.Typer:
    """Return the application of all commands, or of the command `only`, which loads faster."""
    app = typer.Typer(
        name="bascule",
        help="Adaptive A/B tests that balance their cost against the time to a proven decision.",
        cls=Commands,
        no_args_is_help=True,
        context_settings={"help_option_names": HELP_OPTIONS},
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for panel, commands in PANELS.items():
        for name, place in commands.items():
            if only not in (None, name):
                continue
            module, _, variable = place.partition(":")
            command = getattr(import_module(f"bascule.cli.{module}"), variable)
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=name, rich_help_panel=panel)
            else:
                app.command(name, rich_help_panel=panel)(command)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; a mistake of the user's becomes one line on standard error and exit code 2."""
    atexit.register(_skip_garbage_collection)
    if arguments is None:
        sys.unraisablehook = end_if_interrupted
    arguments_given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a sign such as the plus-minus shows a question mark instead.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    first = arguments_given[0] if arguments_given else ""
    command = typer.main.get_command(application(first if first in COMMANDS else None))
    _hide_types(command)
    try:
        code = command.main(
            repeat_lists(arguments_given), prog_name="bascule", standalone_mode=False
        )
        sys.stdout.flush()
    except (InputError, StoreError) as problem:
        _exit(str(problem), USAGE_ERROR)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except MemoryError:
        _exit("not enough memory: ask for fewer runs or fewer arms", USAGE_ERROR)
    except BrokenPipeError:
        # The reader of the output has closed it: nothing more can be written there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(USAGE_ERROR)
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        _exit(f"cannot write the output: {reason}", USAGE_ERROR)
    except Exception as problem:
        # A usage error of the parser. Its class is not named: Typer may bundle its own parser.
        message = getattr(problem, "format_message", None)
        if message is None:
            raise
        said = _one_line(message()).replace("Value error, ", "")
        if not said:
            # The command was called without arguments, and Typer has printed its help.
            sys.exit(USAGE_ERROR)
        _exit(_with_help(said, problem), USAGE_ERROR)
    if code == INTERRUPTED:
        _exit(NO_RESULT, INTERRUPTED)
    sys.exit(code or 0)


def _hide_types(command: Any) -> None:
    """Hide the type of the options that Typer adds, because they are switches."""
    context = typer.Context(command, help_option_names=HELP_OPTIONS)
    added = [option for option in command.params if option.name.endswith("_completion")]
    for option in [command.get_help_option(context), *added]:
        option.metavar = ""
    for subcommand in getattr(command, "commands", {}).values():
        _hide_types(subcommand)


def end_if_interrupted(lost: sys.UnraisableHookArgs) -> None:
    """End the program if an interruption was raised in a callback of C, such as the compiler's.

    Python would only print the exception, and the compiler would then fail, because its callback
    has returned nothing.
    """
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
        return
    print(f"bascule: {NO_RESULT}", file=sys.stderr, flush=True)
    os._exit(INTERRUPTED)


def _skip_garbage_collection() -> None:
    """Skip the garbage collection at exit, which takes longer than many commands."""
    # DuckDB reports leaks if its objects are not collected.
    if "duckdb" not in sys.modules:
        gc.freeze()


def repeat_lists(arguments: Sequence[str]) -> list[str]:
    """Turn `--means 0 1` into `--means 0 --means 1`, which is how the parser takes lists.

    >>> repeat_lists(["--means", "0", "-1", "--runs", "5"])
    ['--means', '0', '--means', '-1', '--runs', '5']
    >>> repeat_lists(["--means=0,1"])
    ['--means', '0', '--means', '1']
    """
    repeated: list[str] = []
    option = ""
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name in LIST_OPTIONS:
            option = name
            refuse_ambiguous(name, value)
            parts = value.split(",") if value else []
        elif argument.startswith("--"):
            option = ""
            parts = [argument]
        else:
            if option:
                refuse_ambiguous(option, argument)
            parts = argument.split(",") if option else [argument]
        for part in parts:
            repeated += [option, part] if option else [part]
    return repeated


def refuse_ambiguous(option: str, argument: str) -> None:
    """Raise an error if a text such as 1,234 may be one number or several.

    >>> refuse_ambiguous("--means", "0.1,0.2")
    """
    if is_grouped(argument):
        apart = argument.replace(",", " ")
        raise InputError(
            option.strip("-"),
            f"{option} {argument} may be one number or several: write "
            f"{argument.replace(',', '')}, or {apart}",
        )


def _with_help(message: str, problem: Exception) -> str:
    """Return the message of a usage error with a hint: a similar choice, options, or the help."""
    context = getattr(problem, "ctx", None)
    if context is None or message.endswith("?"):
        return message
    choice = NOT_A_CHOICE.search(message)
    if choice is not None:
        near = meant(choice[1], re.findall(r"'([^']*)'", choice[2]))
        if near:
            return f"{message.rstrip('.')}{near}"
    typed = getattr(problem, "option_name", "")
    words = typed.strip("-").replace("-", " ")
    about = re.compile(rf"\b{re.escape(words)}\b")
    like = [
        parameter.opts[0]
        for parameter in context.command.params
        if about.search(_help_of(parameter))
    ]
    if len(words) >= SHORTEST_WORD and like:
        return f"No such option: {typed}; see {', '.join(like)}"
    return f"{message.rstrip('.')}; see {context.command_path} --help"


def _help_of(parameter: Any) -> str:
    """Return the words of an option's name and of its help."""
    name = parameter.opts[0].strip("-").replace("-", " ")
    return f"{name} {getattr(parameter, 'help', None) or ''}".lower()


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _exit(message: str, code: int) -> NoReturn:
    if message:
        note(message)
    sys.exit(code)
