"""Errors for unusable input and for a database that fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

Kind = Literal["invalid", "not_found", "conflict", "forbidden"]
"""Kind of error: invalid values, an unknown name, a conflicting state, or a lack of permission."""


class InputError(ValueError):
    """A value from the user cannot be used; the message says what to change in which `field`.

    `kind` tells a value that is wrong in itself ("invalid") from one that names something that
    does not exist ("not_found"), that the present state rules out ("conflict"), or that the caller
    has no right to ("forbidden"). `others` are further options that the message names.

    >>> raise InputError("sigma", "sigma must be above 0 (got -1)")
    Traceback (most recent call last):
    bascule.core.errors.InputError: sigma must be above 0 (got -1)
    >>> InputError("experiment", "there is no experiment 'x'", kind="not_found").kind
    'not_found'
    """

    def __init__(
        self, field: str, message: str, *, kind: Kind = "invalid", others: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.field = field
        self.kind: Kind = kind
        self.others = tuple(others)

    def spelled(self, spell: Callable[[str], str]) -> str:
        """Return the message with the names of its options as `spell` writes them.

        >>> error = InputError("error", "harm_error needs metrics", others=["harm_error"])
        >>> error.spelled(lambda name: "--" + name.replace("_", "-"))
        '--harm-error needs metrics'
        """
        text = str(self)
        if self.others:
            names = "|".join(map(re.escape, self.others))
            text = re.sub(rf"\b({names})\b", lambda match: spell(match[0]), text)
        if text.startswith((f"{self.field} ", f"{self.field}: ")):
            text = spell(self.field) + text.removeprefix(self.field)
        return text

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str], dict[str, Any]]:
        # Pickle and copy call the constructor with these arguments, then restore the other fields.
        return type(self), (self.field, str(self)), {"kind": self.kind, "others": self.others}


def invalid(message: str) -> InputError:
    """Return an error about the field that is the first word of its message.

    >>> invalid("sigma must be above 0 (got -1)").field
    'sigma'
    """
    return InputError(re.split(r"\W", message, maxsplit=1)[0], message)


class InfeasibleError(InputError):
    """The cap on units of a design is so small for the gap that no simulated test would decide."""


class NoPredictionError(InputError):
    """Theory cannot predict the behaviour of a design; it has to be simulated instead."""


class StoreError(RuntimeError):
    """The database failed; nothing was stored by this call, which can be repeated.

    >>> raise StoreError("the disk is full: nothing of this call was kept")
    Traceback (most recent call last):
    bascule.core.errors.StoreError: the disk is full: nothing of this call was kept
    """


class ClockError(StoreError):
    """The time of a system clock is wrong; the message says which one and contains no secrets."""
