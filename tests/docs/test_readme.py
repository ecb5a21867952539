"""Figures of the README that no block of it prints: its table, its badge and its length."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench import first_screen

import bascule as bs

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
HOME = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
ROW = r"\| .*\d %.*"


def test_it_is_short_and_its_badge_has_the_version() -> None:
    assert len(README.splitlines()) <= 130
    assert f"badge/version-{bs.__version__}-" in README


def test_the_home_page_tells_the_same() -> None:
    assert re.findall(ROW, HOME) == re.findall(ROW, README)


def test_it_repeats_what_was_measured_in_twenty_plans() -> None:
    table = (ROOT / "bench" / "README.md").read_text(encoding="utf-8")
    rows = [
        [float(cell) for cell in row.split("|")[-6:-1]]
        for row in re.findall(r"^\| \d+ %, \d+% \|.*\|$", table, re.MULTILINE)
    ]
    assert len(rows) == len(first_screen.PROBLEMS) == 20
    assert all(max(days, at_zero) <= fixed for days, at_zero, fixed, *_ in rows)
    more = [round(100 * (lost / fixed_lost - 1)) for *_, lost, fixed_lost in rows]
    dearer = sorted(share for share in more if share >= 0)
    text = " ".join(README.split())
    assert len(dearer) == 8
    assert "also decides sooner than the fixed-horizon test, with and without an effect" in text
    assert "in 12 it loses fewer conversions." in text
    assert f"even split with more visitors, which loses {dearer[0]} to {dearer[-1]} % more" in text
    designs = re.findall(r"^\| \d+ %, \d+% \|.*\| (tilt \d+) \|.*$", table, re.MULTILINE)
    assert {rule for rule, share in zip(designs, more, strict=True) if share >= 0} == {"tilt 1"}


@pytest.mark.slow
def test_the_table_is_what_the_script_measures() -> None:
    rows = [row.split("|")[2:6] for row in re.findall(ROW, README)]
    stated = [[float(re.sub(r"[*%]", "", cell)) for cell in row] for row in rows]
    measured = first_screen.rows()
    assert len(stated) == len(measured) == 4
    for (days, lost, found, winners), row in zip(stated, measured, strict=True):
        # The script has fixed seeds: only the rounding of the page is between them.
        assert days == pytest.approx(row.days, abs=0.06), row
        assert lost == pytest.approx(row.lost, abs=0.6), row
        assert found == pytest.approx(row.found, abs=0.6), row
        assert winners == pytest.approx(row.winners, abs=0.6), row
    bandit = measured[1]
    assert f"worse version in {bandit.wrong:.0f} %" in README
