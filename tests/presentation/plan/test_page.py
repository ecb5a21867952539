"""The page: everything is in it, nothing is loaded, and a browser shows it without complaint."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import bascule as bs
from bascule.presentation.pages import Frame, round_steps
from bascule.presentation.plan.page import MARGINS, chart_of, nice_days

PHONE, DESK = 360, 1200


class Balance(HTMLParser):
    """Counts what is opened and closed."""

    VOID = frozenset({"meta", "line", "circle", "rect", "path", "br"})

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
    assert not re.search(r"https?:|//[a-z]|@import|url\(|src=|<link", text)


def test_it_is_well_formed(spending: bs.planning.Plan, impossible: bs.planning.Plan) -> None:
    for answer in (spending, impossible):
        parser = Balance()
        parser.feed(answer.html())
        assert parser.open == []


def test_it_says_what_the_plan_says(spending: bs.planning.Plan) -> None:
    text = spending.html()
    for part in (spending.rule.label, "What if the lift is another one?", "fixed horizon"):
        assert part in text
    assert "interrupted" not in text
    assert text.count('class="spot') >= 2 * len(spending.frontier)


def test_names_cannot_break_out_of_it() -> None:
    answer = bs.plan(
        bs.Gaussian(1), 0, 1, arms=["<script>alert(1)</script>", "b"], units_per_day=20, runs=20
    )
    assert "<script>alert" not in answer.html()


def test_it_can_be_saved(spending: bs.planning.Plan, tmp_path: Path) -> None:
    path = spending.save_html(tmp_path / "plan.html")
    assert path.read_text(encoding="utf-8") == spending.html()


def test_every_point_lies_inside_its_chart(
    spending: bs.planning.Plan, default: bs.planning.Plan, impossible: bs.planning.Plan
) -> None:
    for answer in (spending, default, impossible):
        frame = Frame("wide", 700, 400, MARGINS)
        chart = chart_of(answer, frame)
        for spot in chart.spots:
            assert frame.left <= spot.x <= frame.right
            assert frame.top <= spot.y <= frame.bottom
        assert sum(spot.kind.startswith("chosen") for spot in chart.spots) == 1
        assert 2 <= len(chart.x_ticks) <= 12
        assert 3 <= len(chart.y_ticks) <= 7


def test_ticks_are_round_numbers_inside_the_axis() -> None:
    for first, last in ((2.6, 33.0), (0.01, 900.0), (5.5, 9.5), (1e-3, 1e9)):
        days = nice_days(first, last, 6)
        assert 1 <= len(days) <= 7
        assert all(first <= day <= last for day in days)
    assert round_steps(0.0, 0.0123)[-1] <= 0.0123


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("dark", [False, True])
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
    chart = view.locator(f".chart.{'narrow' if width == PHONE else 'wide'}")
    assert chart.is_visible()
    chart.locator(".spot.chosen").hover()
    tip = view.locator("#tip")
    assert tip.is_visible()
    assert spending.rule.label in tip.inner_text()
    view.keyboard.press("Escape")
    assert not tip.is_visible()
    assert complaints == []
    assert requests == [path.as_uri()]
