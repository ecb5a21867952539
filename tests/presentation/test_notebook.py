"""Results in a notebook: every one has a table and a figure, and says what its error bounds."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

import bascule as bs

DESIGN = bs.Design(
    ["control", "<b>green</b>"], bs.Gaussian(1), bs.Tilt(3), max_units=2000, reports="always"
)


class Balance(HTMLParser):
    """Collects tags, and fails where one is closed that was not opened last."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)


def tags_of(shown: object) -> set[str]:
    parser = Balance()
    parser.feed(shown._repr_html_())  # type: ignore[attr-defined]
    assert parser.open == []
    return parser.tags


@pytest.fixture(scope="module")
def running() -> bs.Experiment:
    store = bs.open(":memory:")
    test = store.create("button", DESIGN)
    for unit in range(200):
        arm = test.assign(f"u{unit}")
        test.record(f"u{unit}", 1.0 if arm == "control" else 2.0)
    return test


def test_a_design_is_a_table_that_says_what_its_error_bounds() -> None:
    assert {"table", "p"} <= tags_of(DESIGN)
    text = DESIGN._repr_html_()
    assert "false positive rate at most 5 %, at most 2.5 % to ship the worse arm" in text
    assert "&lt;b&gt;green&lt;/b&gt;" in text
    assert "None" not in repr(DESIGN).replace("effect=None", "")


def test_a_design_reads_as_it_is_written() -> None:
    assert eval(repr(DESIGN), vars(bs)) == DESIGN


def test_every_result_has_a_table_and_a_figure(
    spending: bs.planning.Plan, running: bs.Experiment
) -> None:
    results = (
        bs.simulate(DESIGN, [0, 1], runs=50),
        bs.research.frontier([0, 1], runs=20, rules=["tilt"]),
        bs.research.audit(DESIGN, [0, 1], runs=20, worlds=["steady", "null"]),
        spending,
        running.status(),
        running,
    )
    for result in results:
        assert {"table", "svg"} <= tags_of(result)
        assert repr(result)


def test_an_analysis_has_both_too() -> None:
    log = {
        "unit": list(range(4000)),
        "arm": ["a", "b"] * 2000,
        "value": [0, 0, 0, 1] * 1000,
        "time": [unit // 400 for unit in range(4000)],
    }
    found = bs.analyze(log)
    assert {"table", "svg"} <= tags_of(found)


def test_only_public_names_are_listed() -> None:
    assert set(dir(bs)) == {*bs.__all__, "__version__"}
