"""What goes wrong: input that cannot be used, and a database that does not do its part."""

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

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str]]:
        # From one process to another it goes with both.
        return type(self), (self.field, str(self))


class InfeasibleError(InputError):
    """No run of a design would decide by its cap on units: the cap is far too short for the gap."""


class NoPredictionError(InputError):
    """Theory does not say what a design does here; a simulation can."""


class StoreError(RuntimeError):
    """The database did not do what was asked; nothing of the call was kept, and it can be repeated.

    >>> raise StoreError("the disk is full: nothing of this call was kept")
    Traceback (most recent call last):
    bascule.core.errors.StoreError: the disk is full: nothing of this call was kept
    """
