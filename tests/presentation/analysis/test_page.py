"""The report: everything is in it, and a browser shows it without complaint."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.presentation.analysis.headline import guarantee
from bascule.presentation.numbers import relative

PHONE, DESK = 390, 1100


def clicks(rates: list[float], units: int, days: int, seed: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    arm = rng.integers(len(rates), size=units)
    day = np.sort(rng.integers(days, size=units))
    return {
        "unit": list(range(units)),
        "arm": [("control", "green", "blue")[i] for i in arm],
        "value": (rng.random(units) < np.array(rates)[arm]).astype(int).tolist(),
        "time": [str(np.datetime64("2026-03-01") + int(d)) for d in day],
        "country": [("DE", "FR")[i] for i in rng.integers(2, size=units)],
    }


@pytest.fixture(scope="module")
def won() -> bs.analysis.Analysis:
    return bs.analyze(clicks([0.1, 0.2], 4000, 20, 0))


@pytest.fixture(scope="module")
def still_open() -> bs.analysis.Analysis:
    return bs.analyze(
        clicks([0.1, 0.11, 0.12], 2000, 20, 1), assigned=bs.Assigned(weights=[0.2, 0.4, 0.4])
    )


@pytest.fixture(scope="module")
def parted() -> bs.analysis.Analysis:
    return bs.analyze(clicks([0.1, 0.25], 4000, 20, 2), segment="country")


@pytest.fixture(scope="module")
def timeless() -> bs.analysis.Analysis:
    log = {"unit": range(400), "arm": ["a", "b"] * 200, "value": [0.5, 0.5, 0.5, 1.5] * 100}
    return bs.analyze(log)


def test_it_says_what_the_analysis_says(won: bs.analysis.Analysis) -> None:
    text = won.html()
    report = won.report()
    cells = [cell for one in report.whole.tables for row in one.rows for cell in row]
    facts = [part for fact in report.facts for part in (fact.value, fact.more)]
    for part in (won.headline, report.question, *report.notes, *facts, *cells):
        assert escape(part) in text
    for part in report.parts:
        for words in (part.headline, *part.notes):
            assert escape(words) in text
    assert text.count('<th scope="row">2026-03-') == len(won.days)
    assert 'class="warning"' not in text


def test_a_reader_is_warned_of_what_a_check_found(still_open: bs.analysis.Analysis) -> None:
    assert still_open.headline.startswith("Sample ratio mismatch, find its cause first. No dif")
    assert '<p class="warning">! sample ratio: arm control has' in still_open.html()


def test_a_check_that_was_not_made_is_not_said_to_be_passed() -> None:
    log = clicks([0.1, 0.2], 300, 5, 4)
    uneven = {name: column[:150] + column[290:] for name, column in log.items()}
    uneven["arm"] = (["control"] * 7 + ["green"] * 3) * 16
    assert "? sample ratio: no weights were stated" in bs.analyze(uneven).html()


def test_what_is_asymptotic_is_not_called_proven(timeless: bs.analysis.Analysis) -> None:
    assert timeless.guarantee == "asymptotic"
    assert "(asymptotic, right once each arm has many units" in guarantee(timeless)
    assert "1970" not in timeless.html()


def test_each_segment_has_its_part(parted: bs.analysis.Analysis) -> None:
    text = parted.html()
    for part in parted.segments:
        assert f"Segment {part.segment}: {part.headline}" in text
    (figure,) = parted.report().figures
    assert [name.get_text() for name in figure.plot().axes[0].get_yticklabels()] == [
        f"{part.segment}: green - control" for part in parted.segments
    ]


def test_chromium_shows_it_without_complaint_or_request(
    browser: Any,
    won: bs.analysis.Analysis,
    parted: bs.analysis.Analysis,
    tmp_path: Path,
) -> None:
    for found, dark in ((won, False), (parted, True)):
        path = found.save_html(tmp_path / "report.html")
        sheet = browser.new_page(color_scheme="dark" if dark else "light")
        complaints: list[str] = []
        requests: list[str] = []
        sheet.on("console", lambda message, seen=complaints: seen.append(message.text))
        sheet.on("pageerror", lambda problem, seen=complaints: seen.append(str(problem)))
        sheet.on("request", lambda request, seen=requests: seen.append(request.url))
        sheet.goto(path.as_uri())
        # An opened table must not push the page wider either.
        sheet.locator("summary").first.click()
        for width in (PHONE, DESK):
            sheet.set_viewport_size({"width": width, "height": 800})
            assert sheet.evaluate("document.documentElement.scrollWidth") <= width
        assert complaints == []
        assert requests == [path.as_uri()]
        sheet.close()


def test_lifts_and_levels_of_all_intervals_are_there(won: bs.analysis.Analysis) -> None:
    (one,) = won.contrasts
    assert one.lift is not None
    for text in (won.html(), str(won)):
        assert "95 % intervals: each bound fails with probability at most 2.5 %, at any" in text
        assert "95 % intervals by the score test, for one look" in text
        assert "94.5 % interval" in text
        assert relative(one.lift) in text
