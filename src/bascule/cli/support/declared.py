"""Commands with declared options: shown in panels of the help, read and checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, Literal

import typer

from bascule.core.errors import InputError
from bascule.core.options import Option, Options, check_given

PANELS = {"basics": "Basics", "outcome": "Outcome", "advanced": "Advanced", "output": "Output"}
SHOWN = ("basics", "output")
"""Groups that `--help` shows; `--help-all` shows every one."""
LONGEST = 20
"""Maximum length, in characters, of choices that the help shows in place of a value's name."""


def named(**options: Option) -> Options:
    """Return options with their names filled in, and of kind "choice" if they have choices."""
    return {
        name: replace(option, name=name, kind="choice" if option.choices else option.kind)
        for name, option in options.items()
    }


def declared(
    *declarations: Options, shown: Sequence[str] = SHOWN, environment: str = ""
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds declared options and `--help-all` to a command.

    The options that were typed are passed to the command as keyword arguments: files as `Path`,
    switches as True, options that may be repeated as lists, and all others as text. The command's
    own parameters do not change. `--help` shows the groups `shown`, and `--help-all` shows all of
    them. An option can also be set by an environment variable whose name begins with `environment`.
    """
    options = {
        option.flag or name: option
        for declaration in declarations
        for name, option in declaration.items()
        if "command" not in option.absent
    }

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        of_command = [
            parameter
            for parameter in inspect.signature(command, eval_str=True).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        in_panels = sorted(options.items(), key=lambda item: [*PANELS].index(item[1].group))
        made = [_parameter(name, option, shown, environment) for name, option in in_panels]
        hidden = [] if all(option.group in shown for option in options.values()) else [HELP_ALL]
        parameters = [
            parameter.replace(kind=parameter.KEYWORD_ONLY)
            for parameter in (*of_command, *made, *hidden)
        ]

        @wraps(command)
        def run(**typed: Any) -> None:
            mine = {parameter.name: typed.pop(parameter.name) for parameter in of_command}
            typed.pop("help_all", None)
            options_given = {
                name: value for name, value in typed.items() if value not in (None, [], False)
            }
            with spelled(*declarations):
                check_given(
                    {option.name: option for option in options.values()},
                    [options[name].name for name in options_given],
                )
                command(**mine, **options_given)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


@contextmanager
def spelled(*declarations: Options) -> Iterator[None]:
    """Replace names of options in error messages by their spelling on the command line."""
    options = [option for declaration in declarations for option in declaration.values()]
    typed = {name: option.typed for option in options for name in (option.name, option.flag)}
    try:
        yield
    except InputError as error:
        raise InputError(
            error.field, error.spelled(lambda name: typed.get(name, name)), kind=error.kind
        ) from None


def read(options: Options, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the options that were set, converted from text."""
    return {name: options[name].read(typed[name]) for name in options if name in typed}


def values(options: Options, given: Mapping[str, Any]) -> list[Any]:
    """Return the value of each option: as given, or its default, or None.

    >>> values(named(port=Option(kind="whole", default="8000"), looks=Option(kind="whole")), {})
    [8000, None]
    """
    typed = {name: option.default for name, option in options.items() if option.default} | dict(
        given
    )
    return [option.read(typed[name]) if name in typed else None for name, option in options.items()]


def _parameter(
    name: str, option: Option, shown: Sequence[str], environment: str
) -> inspect.Parameter:
    """Return an option as a parameter that Typer understands."""
    hint: Any = Literal[option.choices] if option.choices else str
    if option.kind in ("switch", "file"):
        hint = {"switch": bool, "file": Path}[option.kind]
    usual = {"file": "FILE", "probability": "P"}.get(option.kind, "NUMBER" * option.numeric)
    metavar = option.metavar or usual or None
    choices = "|".join(option.choices)
    meaning = option.help
    if choices:
        metavar = choices if len(choices) <= LONGEST else "NAME"
        meaning += "" if metavar == choices else f" One of {', '.join(option.choices)}."
    flag = f"--{name.replace('_', '-')}"
    is_switch = option.kind == "switch"
    default: Any = typer.Option(
        False if is_switch else None,
        flag,
        help=meaning,
        metavar="" if is_switch else metavar,
        show_default=False if is_switch else option.unset or option.default or False,
        rich_help_panel=PANELS[option.group],
        hidden=option.group not in shown,
        envvar=f"{environment}{name.upper()}" if environment else None,
        show_envvar=False,
    )
    hint = list[hint] if option.many else hint
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=bool if is_switch else hint | None,
    )


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        for parameter in context.command.params:
            parameter.hidden = False  # type: ignore[attr-defined]
        typer.echo(context.get_help())
        raise typer.Exit


HELP_ALL = inspect.Parameter(
    "help_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=typer.Option(
        False,
        "--help-all",
        is_eager=True,
        callback=_show_all,
        help="Show all options and leave.",
        metavar="",
    ),
    annotation=bool,
)
