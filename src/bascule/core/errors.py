"""The one exception that bad input raises."""

from __future__ import annotations


class InputError(ValueError):
    """Something a user gave cannot be used; `field` names it and the message says what to change.

    >>> raise InputError("sigma", "sigma must be above 0 (got -1)")
    Traceback (most recent call last):
    bascule.core.errors.InputError: sigma must be above 0 (got -1)
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
