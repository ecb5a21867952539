"""The page: everything is in it, nothing is loaded, and a browser shows it without complaint."""

from __future__ import annotations

import json
import re
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import bascule as bs

PHONE, DESK = 360, 1200


class Balance(HTMLParser):
    """Counts what is opened and closed."""

    VOID = frozenset({"meta", "line", "circle", "rect", "path", "br", "use"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_nothing_is_loaded_from_elsewhere(spending: bs.planning.Plan) -> None:
    text = spending.html()
    # Parts of the drawing name others with "#"; its name spaces are addresses, and not loaded.
    assert not re.search(r"""@import|url\((?!#)|src=|<link|href="(?!#)""", text)


def test_it_is_well_formed(spending: bs.planning.Plan, impossible: bs.planning.Plan) -> None:
    for answer in (spending, impossible):
        parser = Balance()
        parser.feed(answer.html())
        assert parser.open == []


def test_it_says_what_the_plan_says(spending: bs.planning.Plan) -> None:
    text = spending.html()
    report = spending.report(details=True).whole
    sentences = [report.headline, report.question, *report.notes]
    cells = [cell for table in report.tables for row in table.rows for cell in row]
    for part in (*sentences, *cells):
        assert escape(part) in text or part in text
    assert text.count("<svg") == 1
    assert json.dumps(spending.design.to_dict()["rule"]["kind"]) in unescape(text)


def test_names_cannot_break_out_of_it() -> None:
    answer = bs.plan(
        bs.Gaussian(1), 0, 1, arms=["<script>alert(1)</script>", "b"], units_per_day=20, runs=20
    )
    assert "<script>alert" not in answer.html()


def test_it_can_be_saved(spending: bs.planning.Plan, tmp_path: Path) -> None:
    path = spending.save_html(tmp_path / "plan.html")
    assert path.read_text(encoding="utf-8") == spending.html()


@pytest.mark.parametrize(("width", "dark"), [(PHONE, True), (DESK, False)])
def test_chromium_shows_it_without_complaint_or_request(
    browser: Any, spending: bs.planning.Plan, tmp_path: Path, width: int, dark: bool
) -> None:
    path = spending.save_html(tmp_path / "plan.html")
    view = browser.new_page(
        viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light"
    )
    complaints, requests = [], []
    view.on("console", lambda message: complaints.append(message.text))
    view.on("pageerror", lambda problem: complaints.append(str(problem)))
    view.on("request", lambda request: requests.append(request.url))
    view.goto(path.as_uri())
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    assert view.locator("figure svg").is_visible()
    assert complaints == []
    assert requests == [path.as_uri()]
