"""Words about a test: kept, changed, found, exported, and never a danger to who reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bascule as bs
from bascule.live.api import Description, export

DESIGN = bs.Design(["a", "b"], bs.Bernoulli(), bs.Tilt(3), measure=bs.Measure("1d", "any"))


def test_words_are_changed_found_and_exported(store: bs.Store, tmp_path: Path) -> None:
    button, banner = store.create("button", DESIGN), store.create("banner", DESIGN)
    assert not button.description
    button.describe(owner="Ann", hypothesis="Green sells more", tags=["checkout", "checkout"])
    button.describe(links=["https://wiki.example/button"], description="Two\nlines")
    assert button.description == Description(
        "Ann", "Green sells more", "Two\nlines", ("https://wiki.example/button",), ("checkout",)
    )
    found = [[test.name for test in store.search(words)] for words in ("ANN green", "b", "red")]
    assert found == [["button"], ["button", "banner"], []]
    assert [entry["action"] for entry in button.audit()][-2:] == ["describe", "describe"]
    assert "banner" not in str(button.audit()[-1])
    assert banner.verify().agrees
    *_, words = export(button, tmp_path)
    assert json.loads(words.read_text())["owner"] == "Ann"
    button.stop()
    store.delete("button")
    assert store.search("checkout") == []
    assert all(one.agrees for one in store.verify())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"links": ["javascript:alert(1)"]}, r"a link is as in https://"),
        ({"links": ["//wiki.example"]}, r"a link is as in https://"),
        ({"links": "https://wiki.example"}, "links must be a list"),
        ({"owner": "a" * 201}, "at most 200 characters"),
        ({"owner": "a\0b"}, "printable"),
        ({"tags": [7]}, "tags must be text"),
        ({"colour": "green"}, "'colour' is none of owner, hypothesis"),
    ],
)
def test_words_that_cannot_be_are_refused(
    store: bs.Store, given: dict[str, object], words: str
) -> None:
    test = store.create("button", DESIGN)
    with pytest.raises(bs.InputError, match=words):
        test.describe(**given)
    assert not test.description
