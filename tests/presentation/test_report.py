"""Reports as text."""

from __future__ import annotations

from bascule.presentation.report import Fact, Report, Table, lines


def test_a_narrow_screen_breaks_sentences_facts_and_tables() -> None:
    head = ("", "days", "conversions lost", "days at no effect")
    table = Table((head, ("this design", *3 * ("5.047 ± 0.063",))))
    fact = Fact("guarantee", "false positive rate at most 5 %, at most 2.5 % to ship the worse arm")
    report = Report("Run it. " * 9, facts=(fact,), tables=(table,), notes=("A note. " * 20,))
    assert max(map(len, lines(report, 60))) <= 60
    assert "    conversions lost   5.047 ± 0.063" in lines(report, 60)
    assert any("days at no effect" in line and "conversions lost" in line for line in lines(report))
