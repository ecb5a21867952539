"""The report: everything is in it, nothing is loaded, and a browser shows it without complaint."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bascule as bs
from bascule.presentation.analysis.page import view
from bascule.presentation.analysis.sentences import guarantee, reading, verdict
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


def test_nothing_is_loaded_from_elsewhere(
    won: bs.analysis.Analysis, parted: bs.analysis.Analysis
) -> None:
    for found in (won, parted):
        assert not re.search(r"https?:|//[a-z]|@import|url\([^#]|src=|<link", found.html())


def test_it_says_what_the_analysis_says(won: bs.analysis.Analysis) -> None:
    text = won.html()
    assert won.decision is not None
    assert won.decided is not None
    day = int(won.decided[-2:])
    for part in ("green is better", f">{day} Mar<", "proven for 0/1 outcomes", "at most 5 %"):
        assert part in text
    assert text.count('<th scope="row">2026-03-') == len(won.days)
    assert "found something" not in text
    # A winner is not shown as one where the arms did not get their shares.
    assert 'class="hero decided"' in text
    lost = tuple(replace(c, flagged=c.name == "sample ratio") for c in won.checks)
    assert 'class="hero open"' in replace(won, checks=lost).html()


def test_a_reader_is_warned_of_what_a_check_found(still_open: bs.analysis.Analysis) -> None:
    text = still_open.html()
    assert verdict(still_open) == "Sample ratio mismatch. No decision yet"
    assert still_open.headline.startswith("Sample ratio mismatch, find its cause first. No dec")
    assert "One check found something" in text
    assert "its nearest rival, by" in reading(still_open)


def test_a_check_that_was_not_made_has_no_tick() -> None:
    log = clicks([0.1, 0.2], 300, 5, 4)
    uneven = {name: column[:150] + column[290:] for name, column in log.items()}
    uneven["arm"] = (["control"] * 7 + ["green"] * 3) * 16
    text = bs.analyze(uneven).html()
    assert re.search(r'class="not-made"><span [^>]*>\?</span><div><strong>Did every arm', text)
    assert "Not checked: no weights were stated" in text


def test_what_is_asymptotic_is_not_called_proven(timeless: bs.analysis.Analysis) -> None:
    assert timeless.guarantee == "asymptotic"
    assert "not proven" in guarantee(timeless)
    assert "1970" not in timeless.html()


def test_each_segment_has_its_part(parted: bs.analysis.Analysis) -> None:
    text = parted.html()
    for part in parted.segments:
        assert f"{part.segment}: {verdict(part)}" in text
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_names_cannot_break_out_of_it() -> None:
    log = clicks([0.1, 0.2], 200, 5, 3)
    names = {"control": "<script>alert(1)</script>", "green": "b"}
    text = bs.analyze({**log, "arm": [names[arm] for arm in log["arm"]]}).html()
    assert "<script>alert" not in text


def test_every_day_lies_inside_its_chart(
    won: bs.analysis.Analysis, still_open: bs.analysis.Analysis
) -> None:
    for found in (won, still_open):
        shown = view(found, "key")
        for chart in (*shown.costs, *(chart for charts in shown.effects for chart in charts)):
            assert 2 <= len(chart.y_ticks) <= 8
            assert 2 <= len(chart.x_ticks) <= 9
            for spot in chart.spots:
                frame = chart.frame
                assert frame.left <= spot.left < spot.left + spot.width <= frame.right + 0.2
            assert sum(spot.marked for spot in chart.spots) == (found.decided is not None)


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_chromium_shows_it_without_complaint_or_request(
    browser: Any,
    won: bs.analysis.Analysis,
    parted: bs.analysis.Analysis,
    tmp_path: Path,
    width: int,
) -> None:
    for found, dark in ((won, False), (parted, True)):
        path = found.save_html(tmp_path / "report.html")
        sheet = browser.new_page(
            viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light"
        )
        complaints: list[str] = []
        requests: list[str] = []
        sheet.on("console", lambda message, seen=complaints: seen.append(message.text))
        sheet.on("pageerror", lambda problem, seen=complaints: seen.append(str(problem)))
        sheet.on("request", lambda request, seen=requests: seen.append(request.url))
        sheet.goto(path.as_uri())
        # An opened table must not push the page wider either.
        sheet.locator("summary").first.click()
        assert sheet.evaluate("document.documentElement.scrollWidth") <= width
        chart = sheet.locator(f".chart.effect.{'narrow' if width == PHONE else 'wide'}").first
        chart.locator(".spot.decision").hover()
        tip = sheet.locator("#tip")
        assert "first day that allowed the decision" in tip.inner_text()
        sheet.keyboard.press("Escape")
        assert not tip.is_visible()
        assert complaints == []
        assert requests == [path.as_uri()]
        sheet.close()


def test_all_bars_of_the_forest_have_one_scale(browser: Any, tmp_path: Path) -> None:
    log = clicks([0.1, 0.2, 0.15], 3000, 10, 6)
    long = {"control": "control", "green": "green", "blue": "an arm with a very long name " * 3}
    found = bs.analyze({**log, "arm": [long[arm] for arm in log["arm"]]}, control="control")
    path = found.save_html(tmp_path / "report.html")
    for width in (PHONE, DESK):
        sheet = browser.new_page(viewport={"width": width, "height": 800})
        sheet.goto(path.as_uri())
        lines = sheet.locator(".zero-line")
        assert lines.count() == 2
        places = {round(lines.nth(at).bounding_box()["x"], 1) for at in range(2)}
        tracks = sheet.locator(".track")
        widths = {round(tracks.nth(at).bounding_box()["width"], 1) for at in range(3)}
        assert len(places) == len(widths) == 1
        assert sheet.evaluate("document.documentElement.scrollWidth") <= width
        sheet.close()


def test_lifts_and_levels_of_all_intervals_are_there(won: bs.analysis.Analysis) -> None:
    text = won.html()
    (one,) = won.contrasts
    assert one.lift is not None
    assert "95 % intervals for differences and 94.5 % intervals for lifts" in text
    assert "95 % intervals by the score test where the log is looked at once" in text
    assert relative(one.lift) in text
    assert "lift" in str(won)
