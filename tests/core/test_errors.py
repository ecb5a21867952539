"""Errors keep what they say, and their kind, from one process to another."""

from __future__ import annotations

import ast
import copy
import pickle
from pathlib import Path
from typing import get_args

import pytest

import bascule as bs
from bascule.core.errors import InputError, Kind, invalid


@pytest.mark.parametrize("kind", get_args(Kind))
def test_an_error_keeps_its_field_and_kind_when_it_is_copied(kind: Kind) -> None:
    error = InputError("name", "there is an experiment 'x' already", kind=kind)
    for made in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (made.field, str(made), made.kind) == (error.field, str(error), kind)


def test_an_error_is_about_an_invalid_value_unless_it_says_more() -> None:
    assert InputError("sigma", "sigma must be above 0 (got -1)").kind == "invalid"


def test_a_store_tells_what_is_missing_from_what_is_taken_and_what_comes_too_late() -> None:
    design = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), reports="always")
    with bs.open(":memory:") as store:
        test = store.create("button", design, start=False)
        kinds = []
        for call in (
            lambda: store.get("other"),
            lambda: store.create("button", design),
            lambda: store.delete("button"),
            lambda: test.assign("ann", strict=True),
            test.pause,
            test.release,
            lambda: test.knob(tilt=-1),
        ):
            with pytest.raises(InputError) as caught:
                call()
            kinds.append(caught.value.kind)
    assert kinds == ["not_found", *["conflict"] * 5, "invalid"]


def test_a_message_without_a_field_begins_with_the_name_of_one() -> None:
    """`invalid` takes the field from the message, which a change of words must not change."""
    known: set[str] = set()
    begin: dict[str, str] = {}
    for path in sorted(Path(bs.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.arg(arg=name) | ast.AnnAssign(target=ast.Name(id=name)):
                    known.add(name)
                case ast.Call(func=ast.Name(id="invalid"), args=[message]):
                    parts = message.values if isinstance(message, ast.JoinedStr) else [message]
                    words, where = parts[0], f"{path}, line {node.lineno}"
                    if isinstance(words, ast.FormattedValue):
                        # A variable with the name of the field, whole, as `{field} must be`.
                        assert isinstance(words.value, (ast.Name, ast.Attribute)), where
                        assert isinstance(parts[1], ast.Constant), where
                        assert str(parts[1].value).startswith(" "), where
                        continue
                    assert isinstance(words, ast.Constant), where
                    begin[invalid(str(words.value)).field] = where
    assert {word: place for word, place in begin.items() if word not in known} == {}
