"""Options of requests, rules and outcome models, each declared once.

A declaration is a class whose fields carry an `Option` beside their type:

    futility: Annotated[Number | None, Option("End a test early ...", kind="probability")]

Requests are typed dictionaries, rules and outcome models are dataclasses. From a declaration come
the keywords of the Python call, the options of the command, the HTTP model, the fields of the form
and the reference page. This module imports none of the classes that it describes. An option is
*given* if a caller has passed it, even with the value of its default.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields, is_dataclass, replace
from inspect import get_annotations
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from bascule.core.errors import InputError
from bascule.core.inputs import checks
from bascule.core.inputs.checks import days, read_amount
from bascule.core.registry import Registered, Registry

Group = Literal["basics", "outcome", "advanced", "output"]
"""Group in which an option is shown: the basics first, the others in separate panels."""

Kind = Literal[
    "number",
    "positive",
    "probability",
    "unbounded",
    "days",
    "whole",
    "choice",
    "switch",
    "file",
    "text",
]
"""Kind of an option's value. The first six are numbers, written as 0.05, 5%, 5,000 or 5k; unbounded
ones may be inf, and days may be a duration such as 2w."""

Place = Literal["form", "command"]
"""Interfaces that may lack an option; Python and HTTP have all options."""

NUMBERS: dict[str, Callable[[str, object, str], float]] = {
    "number": checks.finite,
    "unbounded": checks.number,
    "positive": checks.positive,
    "probability": checks.probability,
    "days": checks.positive,
}


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its meaning, the format of its value, and the options it needs or excludes."""

    help: str = ""
    """Meaning of the option, in a sentence."""
    _: KW_ONLY
    label: str = ""
    """Name of the option in a form."""
    kind: Kind = "text"
    """Kind of the value."""
    group: Group = "advanced"
    """Group in which the option is shown."""
    default: str = ""
    """Default value as people write it; empty if there is none."""
    unset: str = ""
    """Meaning of leaving the option out, if there is no default."""
    choices: tuple[str, ...] = ()
    """Words that the option accepts."""
    limits: tuple[float, float] | None = None
    """Smallest and largest number that the option accepts."""
    many: bool = False
    """Whether the option can be given several times."""
    required: bool = False
    """Whether the option must be given."""
    needs: tuple[str, ...] = ()
    """Options that must be given with this one."""
    excludes: tuple[str, ...] = ()
    """Options that must not be given with this one."""
    flag: str = ""
    """Name of the option on the command line, if it differs."""
    metavar: str = ""
    """Placeholder for the value in the help of the command line."""
    absent: Mapping[Place, str] = field(default_factory=dict)
    """Places that do not have the option, with the reason."""
    type: Any = Any
    """Type of the value in Python."""
    name: str = ""
    """Name of the field."""

    def __post_init__(self) -> None:
        for name, allowed in (("kind", get_args(Kind)), ("group", get_args(Group))):
            checks.choice(name, getattr(self, name), allowed)

    def read(self, value: object) -> Any:
        """Return a value, converted from text and checked.

        >>> Option("A probability.", kind="probability", name="error").read("5%")
        0.05
        """
        if self.many and isinstance(value, list | tuple):
            return [replace(self, many=False).read(entry) for entry in value]
        if self.numeric and isinstance(value, str):
            if self.kind == "days":
                value = days(self.name, value, self.remedy)
            else:
                examples = checks.WHOLE_NUMBERS if self.kind == "whole" else checks.AMOUNTS
                value = read_amount(self.name, value, self.remedy, examples)[0]
        if self.kind == "whole" and isinstance(value, float) and value.is_integer():
            value = int(value)
        return value if self.kind == "switch" else self.check(value)

    def check(self, value: object) -> Any:
        """Return a value; raise `InputError` if it is invalid, or a number that is given as text.

        >>> Option("A share.", kind="probability", name="power").check(0.9)
        0.9
        """
        if self.kind == "choice":
            checks.choice(self.name, value, self.choices)
        if self.kind == "switch" and not isinstance(value, bool):
            raise InputError(self.name, f"{self.name} must be True or False (got {value!r})")
        if not self.numeric:
            return value
        if self.kind == "whole":
            value = checks.whole(self.name, value, 0, self.remedy)
        else:
            value = NUMBERS[self.kind](self.name, value, self.remedy)
        lowest, highest = self.limits or (-math.inf, math.inf)
        if not lowest <= value <= highest:
            limits = f"at least {lowest:g}" if value < lowest else f"at most {highest:g}"
            raise InputError(
                self.name, f"{self.name} must be {limits} (got {value:g}): {self.remedy}"
            )
        return value

    @property
    def remedy(self) -> str:
        """Text for the end of an error message: the meaning of the option, and its default."""
        end = "leave it out if there is none"
        if self.default or self.unset:
            end = f"{self.default} is usual" if self.default else f"if left out: {self.unset}"
        return f"{_inner(self.help).rstrip('.')}; {end}" if self.help else end

    @property
    def title(self) -> str:
        """The name of the option in a form.

        >>> Option(name="sigma_unit").title
        'Sigma unit'
        """
        words = self.name.replace("_", " ")
        return self.label or f"{words[:1].upper()}{words[1:]}"

    @property
    def typed(self) -> str:
        """The name of the option on the command line.

        >>> Option(name="sigma_unit").typed
        '--sigma-unit'
        """
        return "--" + (self.flag or self.name).replace("_", "-")

    @property
    def numeric(self) -> bool:
        """Whether the value is a number."""
        return self.kind in NUMBERS or self.kind == "whole"

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> Any:
        """Return the OpenAPI schema of a field that is annotated with this option."""
        schema = handler(core_schema)
        return {**schema, "description": self.help} if self.help else schema


KIND_OF_TYPE: dict[Any, Kind] = {float: "number", int: "whole", bool: "switch"}
"""Kind of an option whose declaration states none, by the type of its value; by default text."""

Options = Mapping[str, Option]
"""Options by their names, as a class declares them."""


def options_of(declaration: type[Any]) -> Options:
    """Return the options that a class declares, in their order.

    A dataclass field without an `Option` gets one from its type and default.

    >>> import bascule as bs
    >>> options_of(bs.Gaussian)["sigma"].kind
    'positive'
    """
    if declaration not in _READ:
        _READ[declaration] = _read_options(declaration)
    return _READ[declaration]


_READ: WeakKeyDictionary[type[Any], Options] = WeakKeyDictionary()
"""Cache of options: reading the types of a design takes 4 ms, and every design needs them."""


def _declared_types(declaration: type[Any]) -> dict[str, Any]:
    """Return the annotated types of all fields, including those of base classes."""
    hints: dict[str, Any] = {}
    for base in reversed(declaration.__mro__):
        written = base.__dict__.get("_declared") or get_annotations(base)
        body = {"__annotations__": written, "__module__": base.__module__}
        hints |= get_type_hints(type(base.__name__, (), body), include_extras=True)
    return hints


def _read_options(declaration: type[Any]) -> Options:
    hints = _declared_types(declaration)
    defaults: dict[str, object] = {}
    if is_dataclass(declaration):
        listed = [field for field in fields(declaration) if field.init and field.name != "kind"]
        hints = {field.name: hints[field.name] for field in listed}
        defaults = {one.name: one.default for one in listed if one.default is not MISSING}
    return {name: _option(name, hint, defaults.get(name)) for name, hint in hints.items()}


def _text_of(default: object, option: Option) -> str:
    """Return a default as people write it, shares as percentages; "" if there is none.

    >>> _text_of(0.05, Option(kind="probability")), _text_of(28.0, Option())
    ('5%', '28')
    """
    if isinstance(default, bool) or not isinstance(default, str | int | float):
        return ""
    if not isinstance(default, float):
        return str(default)
    is_share = option.kind == "probability" or option.limits == (0, 1)
    return f"{100 * default:g}%" if is_share else f"{default:g}"


def check_given(options: Options, given: Iterable[str]) -> None:
    """Raise `InputError` if required or needed options are missing, or excluded ones are given.

    >>> declared = {"power": Option(needs=("effect",)), "effect": Option()}
    >>> check_given(declared, ["power"])
    Traceback (most recent call last):
    bascule.core.errors.InputError: power needs effect: give both, or neither
    """
    names = set(given)
    for name, option in options.items():
        if option.required and name not in names:
            raise InputError(name, f"{name} is missing: {_inner(option.help)}")
    for name in (name for name in options if name in names):
        for needed in options[name].needs:
            if needed not in names:
                problem = f"{name} needs {needed}: give both, or neither"
                raise InputError(name, problem, others=(needed,))
        for excluded in options[name].excludes:
            if excluded in names:
                problem = f"{name} does not go with {excluded}: leave one out"
                raise InputError(name, problem, others=(excluded,))


def _plain(annotation: Any) -> Any:
    """Return a type annotation without its `Option`; an annotation given as a string is unchanged.

    >>> _plain("Annotated[float | None, Option('The effect.')]"), _plain("int")
    ('float | None', 'int')
    """
    if not isinstance(annotation, str):
        return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    if not annotation.startswith("Annotated["):
        return annotation
    written = ast.parse(annotation, mode="eval").body
    assert isinstance(written, ast.Subscript)
    assert isinstance(written.slice, ast.Tuple)
    return ast.unparse(written.slice.elts[0])


class Declared:
    """Base class of frozen dataclasses that check their fields by their types and options.

    A field counts as given unless it is None or False. A subclass with further checks defines a
    `__post_init__` that calls this one.

    A class stores its declarations in `_declared`. Its annotations are the plain types, so that
    `help` and editors show names, types and defaults.
    """

    __slots__ = ()

    _declared: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        """Store the annotations of a subclass, and replace them by plain types."""
        super().__init_subclass__(**options)
        # With slots, `dataclass` creates the class again, when its annotations are already plain.
        if "_declared" not in cls.__dict__:
            cls._declared = get_annotations(cls)
            cls.__annotations__ = {name: _plain(option) for name, option in cls._declared.items()}

    def __post_init__(self) -> None:
        """Check every field of a single type, and the combination of the fields that are given."""
        options = options_of(type(self))
        values = {name: getattr(self, name) for name in options}
        names = (name for name, value in values.items() if value is not None and value is not False)
        check_given(options, names)
        for name, option in options.items():
            is_left_out = values[name] is None and NoneType in get_args(option.type)
            # A field that accepts several types is checked by the class that has it.
            if len(_parts(option.type)) == 1 and not is_left_out:
                object.__setattr__(self, name, option.check(values[name]))


def parameters(registry: Registry[Any]) -> dict[str, Option]:
    """Return the parameters of all registered classes, by their names on the command line.

    >>> from bascule.core.rules import RULES
    >>> parameters(RULES)["tilt"].help.startswith("For tilt: ")
    True
    """
    options: dict[str, Option] = {}
    owners: dict[str, dict[str, str]] = {}
    for kind in registry.kinds:
        for option in options_of(registry.get(kind)).values():
            name = option.flag or option.name
            owners.setdefault(name, {})[kind] = option.default
            if name in options:
                further = tuple(
                    word for word in option.choices if word not in options[name].choices
                )
                options[name] = replace(options[name], choices=options[name].choices + further)
            else:
                options[name] = replace(option, name=name, flag="")
    for name, defaults in owners.items():
        option = options[name]
        meaning = f"For {', '.join(defaults)}: {_inner(option.help)}"
        options[name] = replace(option, help=meaning)
        if len({*defaults.values()}) > 1:
            usual = [f"{value} for {kind}" for kind, value in defaults.items() if value]
            options[name] = replace(options[name], default="", unset=", ".join(usual))
    return options


def make(registry: Registry[Registered], kind: str, given: Mapping[str, Any]) -> Registered:
    """Return an object of a registered kind, created from those values that are its parameters.

    A value that belongs only to other classes of the registry raises `InputError`.

    >>> from bascule.core.outcomes import OUTCOMES
    >>> make(OUTCOMES, "bounded", {"high": "5", "runs": 100})
    Bounded(low=0.0, high=5.0)
    """
    own = {option.flag or name: option for name, option in options_of(registry.get(kind)).items()}
    for name in given:
        owners = [
            other_kind
            for other_kind in registry.kinds
            if any(
                name in (option.flag, option.name)
                for option in options_of(registry.get(other_kind)).values()
            )
        ]
        if owners and name not in own and name not in options_of(registry.get(kind)):
            raise InputError(
                name,
                f"{name} belongs to {registry.noun} {' or '.join(owners)}, not {kind}: drop one of "
                "them",
                others=(registry.noun,),
            )
    by_name = {**{option.name: option for option in own.values()}, **own}
    values = {
        by_name[name].name: by_name[name].read(given[name]) for name in given if name in by_name
    }
    return registry.get(kind)(**values)


def _option(name: str, hint: Any, default: object) -> Option:
    """Return the option of a field, with what its declaration leaves out taken from its type."""
    declared = Option()
    if get_origin(hint) is Annotated:
        hint, *metadata = get_args(hint)
        declared = next((part for part in metadata if isinstance(part, Option)), declared)
    text = declared.default or _text_of(default, declared)
    option = replace(declared, name=name, type=hint, default=text)
    if option.kind != "text":
        return option
    parts = _parts(hint)
    kinds = {KIND_OF_TYPE.get(part, "text") for part in parts}
    choices = tuple(
        word for part in parts if get_origin(part) is Literal for word in get_args(part)
    )
    kind: Kind = "choice" if choices else kinds.pop() if len(kinds) == 1 else "text"
    if kind == "number" and declared == Option():
        # A number need not be finite unless its option says so.
        kind = "unbounded"
    return replace(option, kind=kind, choices=option.choices or choices)


def _parts(hint: Any) -> list[Any]:
    """Return the types of a union without None, or a list with the only type."""
    is_union = isinstance(hint, UnionType) or get_origin(hint) is Union
    return [part for part in get_args(hint) if part is not NoneType] if is_union else [hint]


def _inner(sentence: str) -> str:
    return f"{sentence[:1].lower()}{sentence[1:]}"
