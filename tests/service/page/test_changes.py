"""Only what can be done is offered, and a question says what will change."""

from __future__ import annotations

import pytest

import bascule as bs
from bascule.core.errors import InputError
from bascule.service.page.changes import arm_changes, ask, changes, forecast_table, make, offered

GAUSSIAN = bs.Design(["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3), reports="always")
PLANNED = bs.Design(
    ["a", "b", "c"], bs.Gaussian(1), bs.Tilt(3, effect=0.3, power=0.9), reports="always"
)


def made(design: bs.Design = GAUSSIAN, units: int = 0) -> bs.Experiment:
    test = bs.open(":memory:", clock=bs.ManualClock()).create("button", design)
    arms = test.assign_many([f"u{i}" for i in range(units)])
    means = {"a": 0.0, "b": 0.1, "c": 0.2}
    # Without noise, so that nothing is decided whatever the order in which arms were dealt.
    test.record_many([(f"u{i}", means[arm]) for i, arm in enumerate(arms)])
    return test


def offers(test: bs.Experiment) -> list[str]:
    return [change.action for change in changes(test.status())]


def test_each_state_offers_what_it_allows() -> None:
    test = made()
    assert offers(test) == ["pause", "stop"]
    test.pause()
    assert offers(test) == ["start", "stop"]
    test.stop()
    assert offers(test) == []


def test_every_offer_can_be_taken() -> None:
    test = made(units=60)
    for action in ("pause", "start"):
        make(test, action, "", "")
    for change in arm_changes(test.status())["b"]:
        make(test, change.action, "", change.arm)
    assert test.status().arms[1].part == "dropped"
    assert arm_changes(test.status()) == {}
    make(test, "knob", "5", "")
    assert test.design.rule == bs.Tilt(5)
    make(test, "stop", "", "")
    assert test.state == "stopped"


def test_the_winner_can_be_released_once() -> None:
    design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3), reports="always")
    test = made(design)
    for i in range(2000):
        test.record(f"u{i}", 3.0 if test.assign(f"u{i}") == "b" else 0.0)
        if test.state == "decided":
            break
    assert offers(test) == ["release", "stop"]
    question = ask("release", design, test.status(), test, "", "")
    assert question.title == "Give everyone b?"
    test.release()
    assert offers(test) == ["stop"]


def test_the_question_about_the_knob_says_what_changes_and_what_does_not() -> None:
    test = made(PLANNED, units=300)
    question = ask("knob", test.design, test.status(), test, "9", "")
    assert question.title == "Turn tilt from 3 to 9?"
    applies, stays, expected = question.lines
    assert "next block" in applies
    assert "false positive rate at most 5 %, at most 2.5 % to ship a worse arm" in stays
    assert "in place of" in expected


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("x", "must be a number"),
        ("0.5", "tilt must be"),
        ("3", "already"),
        ("nan", "tilt must be"),
        ("inf", "tilt must be"),
    ],
)
def test_a_knob_that_cannot_stand_there_is_refused_before_it_is_asked(
    value: str, told: str
) -> None:
    test = made(units=60)
    with pytest.raises(InputError, match=told):
        ask("knob", test.design, test.status(), test, value, "")


def test_nothing_else_can_be_asked_or_done() -> None:
    test = made()
    for action in ("delete", "release", "settle", "__init__"):
        with pytest.raises(InputError):
            ask(action, test.design, test.status(), test, "", "")
    for action in ("delete", "settle", "__init__"):
        with pytest.raises(InputError):
            make(test, action, "", "")


def test_the_trade_off_runs_from_sooner_to_cheaper() -> None:
    test = made(PLANNED, units=300)
    turns = test.forecast(offered(test.design))
    assert [turn.units for turn in turns] == sorted(turn.units for turn in turns)
    assert turns[0].cost > turns[3].cost
    table = forecast_table(test.design, test.status(), turns)
    assert table is not None
    assert [table.rows[1 + at][0] for at in table.strong] == ["3"]
    assert [row[0] for row in table.rows[1:]] == [f"{turn.value:g}" for turn in turns]


def test_before_every_arm_has_outcomes_nothing_is_forecast() -> None:
    test = made()
    assert test.forecast(offered(test.design)) == ()
    assert forecast_table(test.design, test.status(), ()) is None
    assert "cannot be forecast" in ask("knob", test.design, test.status(), test, "9", "").lines[-1]
