"""Registries of rules and outcome models, by the `kind` that names them in design files."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator
from dataclasses import is_dataclass
from typing import Annotated, Any, ClassVar, Generic, TypeVar, Union

from bascule.core.errors import InputError, meant, with_article

Registered = TypeVar("Registered")


GROUP = "bascule"
"""Group of entry points in which packages list the modules that register classes."""


def is_frozen_dataclass(cls: type[Any]) -> bool:
    """Return whether a class is a dataclass whose values can be hashed, as caches need them."""
    return is_dataclass(cls) and issubclass(cls, Hashable)


class Registry(Generic[Registered]):
    """The registered classes of one sort: rules, or outcome models.

    A class is registered under the default of its field `kind`, by which a design file names it.
    Modules of installed packages that register classes are imported when a registry is first used.
    """

    extended: ClassVar[bool] = False

    def __init__(self, noun: str, base: type[Registered]) -> None:
        self.noun = noun
        self.base = base
        self._classes: dict[str, type[Registered]] = {}

    def accepts(self, cls: object) -> bool:
        """Return whether a value is a class that can be registered."""
        return isinstance(cls, type) and issubclass(cls, self.base)

    def register(self, cls: type[Any]) -> type[Any]:
        """Register a class and return it, so that this also serves as a decorator."""
        if not self.accepts(cls) or not is_frozen_dataclass(cls):
            raise InputError(
                self.noun,
                f"{cls!r} cannot be registered: {with_article(self.noun)} is a frozen dataclass "
                f"derived from {self.base.__name__}",
            )
        field = getattr(cls, "__dataclass_fields__", {}).get("kind")
        kind = None if field is None else field.default
        if not isinstance(kind, str):
            raise InputError(
                self.noun,
                f"{cls.__name__} needs a field `kind` whose default names it in a design file, as "
                f'in kind: Literal["mine"] = field(default="mine", kw_only=True, repr=False)',
            )
        known = self._classes.get(kind)
        if known is not None and known.__qualname__ != cls.__qualname__:
            raise InputError(
                self.noun, f"kind {kind!r} belongs to {known.__name__} already: choose another"
            )
        self._classes[kind] = cls
        return cls

    @property
    def classes(self) -> dict[str, type[Registered]]:
        """The registered classes by their kinds, including those of installed extensions."""
        if not Registry.extended:
            Registry.extended = True
            _import_extensions()
        return self._classes

    def get(self, kind: object) -> type[Registered]:
        """Return the class that is registered under a kind; raise `InputError` if there is none."""
        cls = self.classes.get(kind) if isinstance(kind, str) else None
        if cls is None:
            kinds = ", ".join(repr(kind) for kind in self.classes)
            raise InputError(
                self.noun,
                f"the kind of {self.noun} must be one of {kinds} (got {kind!r:.60})"
                f"{meant(kind, self.classes)}",
            )
        return cls

    def has(self, value: object) -> bool:
        """Return whether the class of a value is registered."""
        return type(value) in self.classes.values()

    def forget(self, kind: str) -> None:
        """Unregister a class; unit tests use this."""
        self._classes.pop(kind, None)

    def __iter__(self) -> Iterator[type[Registered]]:
        return iter(tuple(self.classes.values()))

    def schema(self, source: Any, handler: Any) -> Any:
        """Return the Pydantic schema of a field whose `kind` names any of the registered classes.

        For a subclass of the base it is the schema of a dataclass.
        """
        if source is not self.base:
            return handler(source)
        from pydantic import Field

        union: Any = Union[tuple(self.classes.values())]  # noqa: UP007
        return handler.generate_schema(Annotated[union, Field(discriminator="kind")])

    @property
    def kinds(self) -> tuple[str, ...]:
        """The registered kinds, in the order of their registration."""
        return tuple(self.classes)


def _import_extensions() -> None:
    """Import the modules of installed extensions; warn about each import that fails."""
    from importlib.metadata import entry_points

    for entry_point in entry_points(group=GROUP):
        try:
            entry_point.load()
        except Exception as problem:
            warnings.warn(
                f"the extension {entry_point.name} ({entry_point.value}) of bascule cannot be "
                f"imported, and what it registers is not known: {problem!r}",
                stacklevel=2,
            )
