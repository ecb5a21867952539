"""Numbers on the command line: every option that takes one reads 5k, 5,000 and 5% alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

from bascule.core.errors import InputError
from bascule.core.inputs.written_numbers import is_grouped, read_number

EXAMPLES = {
    "number": "5000, 5,000 or 5k, and 0.05 or 5%",
    "whole number": "1000 or 1k",
}
KINDS = {float: "number", int: "whole number"}


def plain_numbers(app: typer.Typer, arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command with its numbers as the parser reads them.

    An option takes one value, which is the next argument or follows an equals sign.
    """
    kinds = _numeric_options(_callback(app, arguments))
    plain, option = [], ""
    for argument in arguments:
        name, mark, value = argument.partition("=")
        if option:
            plain.append(_plain(option, argument, kinds[option]))
            option = ""
        elif mark and name in kinds:
            plain.append(f"{name}={_plain(name, value, kinds[name])}")
        else:
            plain.append(argument)
            option = argument if argument in kinds else ""
    return plain


def refuse_ambiguous(option: str, argument: str) -> None:
    """Raise if a value of an option that takes several may be one number or two.

    >>> refuse_ambiguous("--means", "0.1,0.2")
    """
    if is_grouped(argument):
        apart = argument.replace(",", " ")
        raise InputError(
            option.strip("-"),
            f"{option} {argument} may be one number or several: write "
            f"{argument.replace(',', '')}, or {apart}",
        )


def _plain(option: str, text: str, kind: str) -> str:
    try:
        value, _ = read_number(text)
        if kind == "whole number":
            if not value.is_integer():
                raise ValueError
            return str(int(value))
    except ValueError:
        field = option.strip("-").replace("-", "_")
        raise InputError(
            field, f"{option} must be a {kind} (got {text!r:.60}), as in {EXAMPLES[kind]}"
        ) from None
    # As it was typed where that can be read, so that errors show it.
    return text if _is_plain(text) else repr(value)


def _is_plain(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _callback(app: typer.Typer, arguments: Sequence[str]) -> Callable[..., Any] | None:
    """Return the function of the command that the arguments name."""
    words = [argument for argument in arguments if not argument.startswith("-")]
    for group in app.registered_groups:
        if words and group.name == words[0] and group.typer_instance is not None:
            return _callback(group.typer_instance, words[1:])
    for command in app.registered_commands:
        if words and command.name == words[0]:
            return command.callback
    return None


def _numeric_options(callback: Callable[..., Any] | None) -> dict[str, str]:
    """Return the options of a command that take a number, by how they are typed."""
    if callback is None:
        return {}
    hints, options = get_type_hints(callback), dict[str, str]()
    for name, parameter in inspect.signature(callback).parameters.items():
        kind = _number_kind(hints.get(name))
        if kind is not None and isinstance(parameter.default, OptionInfo):
            flags = parameter.default.param_decls or (f"--{name.replace('_', '-')}",)
            options |= dict.fromkeys(flags, kind)
    return options


def _number_kind(hint: Any) -> str | None:
    """Return which kind of number the values of a type are, or some of them; None if none."""
    if hint in KINDS:
        return KINDS[hint]
    if isinstance(hint, UnionType) or get_origin(hint) is list:
        kinds = [kind for kind in map(_number_kind, get_args(hint)) if kind is not None]
        return kinds[0] if kinds else None
    return None
