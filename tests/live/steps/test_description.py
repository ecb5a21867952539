"""What a test is about: kept, changed, found, exported, and never a danger to who reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bascule as bs
from bascule.live.api import export

DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any"))


def test_a_description_is_changed_found_and_exported(store: bs.Store, tmp_path: Path) -> None:
    button, banner = store.create("button", DESIGN), store.create("banner", DESIGN)
    assert button.description == ""
    button.describe("Green")
    button.describe(" Green sells more\nAnn, checkout ")
    assert button.description == "Green sells more\nAnn, checkout"
    found = [[test.name for test in store.search(words)] for words in ("ANN green", "b", "none")]
    assert found == [["button"], ["button", "banner"], []]
    assert [entry["action"] for entry in button.audit()][-2:] == ["describe", "describe"]
    assert banner.verify().agrees
    *_, words = export(button, tmp_path)
    assert words.read_text() == button.description
    button.stop()
    store.delete("button")
    assert store.search("checkout") == []
    assert all(one.agrees for one in store.verify())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("a" * 10_001, "at most 10,000 characters"),
        ("a\0b", "printable"),
        ("a\x1fb", "printable"),
        (7, "printable text"),
    ],
)
def test_a_description_that_cannot_be_is_refused(store: bs.Store, given: Any, words: str) -> None:
    test = store.create("button", DESIGN)
    with pytest.raises(bs.InputError, match=words):
        test.describe(given)
    assert not test.description
