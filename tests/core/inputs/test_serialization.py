"""Plain data: what is written is read again, and what cannot be read gets one line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import bascule as bs
from bascule.core.inputs.serialization import parse_json, plain, read_json


def test_empty_fields_are_left_out_and_infinity_is_a_word() -> None:
    data = {"a": None, "b": (1, (2.0, math.inf)), "c": {"d": None}}
    assert plain(data) == {"b": [1, [2.0, "Infinity"]], "c": {}}


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "--world is not valid JSON (line 1"), ("[" * 100_000, "--world is not a world")],
)
def test_what_is_not_json_gets_one_line(text: str, words: str) -> None:
    with pytest.raises(bs.InputError) as caught:
        parse_json(text, "world", "--world")
    assert words in str(caught.value)
    assert caught.value.field == "world"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(bs.InputError, match=r"cannot read the world file .*nowhere\.json"):
        read_json(tmp_path / "nowhere.json", "world")
