"""Options: one declaration, read, checked and spelled for each place."""

from __future__ import annotations

import inspect
import pydoc
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict, get_type_hints

import pytest

import bascule as bs
from bascule import InputError
from bascule.core.options import Option, check_given, make, options_of, parameters
from bascule.core.outcomes import OUTCOMES
from bascule.core.registry import Registry
from bascule.core.rules import RULES, Rule
from bascule.research import variants  # noqa: F401 (registers rules)


class Asked(TypedDict, total=False):
    rate: Annotated[float | None, Option("How fast.", kind="positive", default="5k")]
    part: Annotated[float | str, Option("Which part.", kind="probability", needs=("rate",))]
    many: Annotated[list[str], Option("Several.", many=True, excludes=("part",))]
    how: Literal["fast", "plain"]
    arms: int


class Base:
    kind: str


@dataclass(frozen=True)
class Greedy(Base):
    epsilon: Annotated[float, Option("Share of units assigned at random.")] = 0.1
    kind: Literal["greedy"] = field(default="greedy", kw_only=True)


@dataclass(frozen=True)
class Plain(Base):
    size: int = 3
    kind: Literal["plain"] = field(default="plain", kw_only=True)


@pytest.fixture
def registry() -> Registry[Base]:
    made: Registry[Base] = Registry("rule", Base)
    made.register(Greedy)
    made.register(Plain)
    return made


def test_a_declaration_is_read_from_types_and_options() -> None:
    asked = options_of(Asked)
    assert [(one.name, one.kind) for one in asked.values()] == [
        ("rate", "positive"), ("part", "probability"), ("many", "text"), ("how", "choice"),
        ("arms", "whole"),
    ]  # fmt: skip
    assert asked["how"].choices == ("fast", "plain")
    assert (asked["rate"].read("1,000"), asked["part"].read("5%")) == (1000.0, 0.05)
    assert asked["arms"].read("2k") == 2000
    for name, wrong in (("rate", "-1"), ("part", "2"), ("how", "slow"), ("arms", "2.5")):
        with pytest.raises(InputError, match=name) as caught:
            asked[name].read(wrong)
        assert caught.value.field == name


@pytest.mark.parametrize(
    ("given", "python", "command"),
    [
        (["part"], "part needs rate: give both, or neither", "--part needs --rate: "),
        (
            ["rate", "part", "many"],
            "many does not go with part: leave one out",
            "--many does not go with --part: ",
        ),
    ],
)
def test_needs_and_excludes_are_said_as_the_place_spells_them(
    given: list[str], python: str, command: str
) -> None:
    with pytest.raises(InputError) as caught:
        check_given(options_of(Asked), given)
    assert str(caught.value) == python
    spelled = caught.value.spelled(lambda name: options_of(Asked)[name].typed)
    assert spelled.startswith(command)


def test_a_registered_class_brings_its_own_parameters(registry: Registry[Base]) -> None:
    listed = parameters(registry)
    assert listed["epsilon"].help == "For greedy: share of units assigned at random."
    assert (listed["epsilon"].default, listed["size"].kind) == ("0.1", "whole")
    given: dict[str, Any] = {"epsilon": "20%", "runs": 5}
    assert make(registry, "greedy", given) == Greedy(0.2)
    with pytest.raises(InputError, match="size belongs to rule plain, not greedy"):
        make(registry, "greedy", {"size": 3})


def test_every_parameter_of_our_own_is_explained() -> None:
    assert not [name for name, one in parameters(RULES).items() if one.help.endswith(": ")]


@pytest.mark.parametrize("given", [{"kind": "non-negative"}, {"group": "others"}])
def test_an_option_is_of_a_known_kind_and_group(given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f'{next(iter(given))} must be "'):
        Option("What it means.", **given)


def test_help_shows_names_types_and_defaults_and_not_the_declaration() -> None:
    classes: list[type[Any]] = [bs.Design, bs.Metric, bs.Measure, *OUTCOMES, *RULES]
    for shown in classes:
        text = pydoc.render_doc(shown)
        assert "Annotated" not in text, shown
        assert "Option(" not in text, shown
    assert str(inspect.signature(bs.Tilt)).startswith(
        "(tilt: 'float' = 3.0, effect: 'float | None'"
    )


@pytest.mark.parametrize("rule", [*RULES])
def test_signatures_of_rules_show_plain_types(rule: type[Rule]) -> None:
    assert "Option(" not in str(get_type_hints(rule.__init__, include_extras=True))
