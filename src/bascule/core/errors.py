"""Errors for unusable input and for a database that fails, and wording of their messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any, Literal

Kind = Literal["invalid", "not_found", "conflict", "forbidden"]
"""Kind of error: invalid values, an unknown name, a conflicting state, or a lack of permission."""


class InputError(ValueError):
    """A value from the user cannot be used; the message says what to change in which `field`.

    It is a `ValueError`.
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


def invalid(message: str, *, kind: Kind = "invalid", others: Sequence[str] = ()) -> InputError:
    """Return an error about the field that is the first word of its message.

    >>> invalid("sigma must be above 0 (got -1)").field
    'sigma'
    """
    field = re.split(r"\W", message, maxsplit=1)[0]
    return InputError(field, message, kind=kind, others=others)


class InfeasibleError(InputError):
    """An `InputError` of `simulate`: under the cap on units hardly any test would decide."""


class NoPredictionError(InputError):
    """Theory cannot predict the behaviour of a design; it has to be simulated instead."""


class StoreError(RuntimeError):
    """The database failed; repeat the call once the cause that the message names is gone.

    It is a `RuntimeError`.
    Nothing of the failed transaction is stored, unless the connection was lost during its commit.
    An outcome with an `id` counts once, even if the call is repeated after that.

    >>> raise StoreError("the disk is full: nothing of this call was kept")
    Traceback (most recent call last):
    bascule.core.errors.StoreError: the disk is full: nothing of this call was kept
    """


class ClockError(StoreError):
    """The time of a system clock is wrong; the message says which one and contains no secrets."""


LIKENESS = 0.6
"""Minimum similarity of two names, from 0 to 1, for one to be suggested for the other."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to `name`, ignoring case; None if none is similar.

    >>> nearest("reveneu", ["user", "Revenue"])
    'Revenue'
    """
    lower = {known_name.lower(): known_name for known_name in known}
    close = get_close_matches(name.lower(), list(lower), n=1, cutoff=LIKENESS)
    return lower[close[0]] if close else None


def meant(name: object, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" for the end of a message; empty if no known name is similar.

    >>> meant("bernouli", ["gaussian", "bernoulli"])
    "; did you mean 'bernoulli'?"
    >>> meant("poisson", ["gaussian", "bernoulli"])
    ''
    """
    near = nearest(name, known) if isinstance(name, str) else None
    return f"; did you mean {near!r}?" if near else ""


def with_article(noun: str) -> str:
    """Return a noun with its indefinite article, "a" or "an".

    >>> with_article("rule"), with_article("outcome")
    ('a rule', 'an outcome')
    """
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"


def require(extra: str, purpose: str, *modules: str) -> None:
    """Raise an error with the command that installs an extra if one of its modules is missing.

    >>> require("figures", "a figure", "json")
    >>> require("figures", "a figure", "json", "no_such_module")
    Traceback (most recent call last):
    ...
    bascule.core.errors.InputError: a figure needs no_such_module: pip install 'bascule[figures]'
    """
    message = missing(extra, purpose, *modules)
    if message:
        raise InputError(extra, message)


def missing(extra: str, purpose: str, *modules: str) -> str:
    """Return what to install for a purpose, or an empty text if all modules are installed."""
    names = ", ".join(module for module in modules if find_spec(module) is None)
    return f"{purpose} needs {names}: pip install 'bascule[{extra}]'" if names else ""
