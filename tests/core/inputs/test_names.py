"""Names that are nearly right: every message that refuses one says what was probably meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import bascule as bs
from bascule.cli.main import main
from bascule.core.inputs.checks import seconds
from bascule.planning.request.options import PLAN
from bascule.planning.request.read import USUAL_NAMES, plan_request

PARTS: Any = {"arms": ["a", "b"], "outcome": bs.Bernoulli(), "rule": bs.Tilt(3)}
DESIGN = bs.Design(**PARTS, reports="always")


def stored(name: str) -> Any:
    with bs.open(":memory:") as store:
        store.create("checkout", DESIGN)
        return store.get(name)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: stored("chekout"), "there is no experiment 'chekout': did you mean 'checkout'?"),
        (lambda: stored("prices"), "check its name in the list of experiments"),
        (lambda: plan_request(basline=0.05), "did you mean 'baseline'?"),  # type: ignore[call-arg]
        (lambda: plan_request(mde="20%"), "it is called lift here"),  # type: ignore[call-arg]
        (lambda: bs.plan(0.05, 0.2), 'as plan(baseline="5%", lift="20%")'),  # type: ignore[arg-type]
        (lambda: bs.simulate("plan", [0.1, 0.2]), "the design of a plan is plan.design"),  # type: ignore[arg-type]
        (
            lambda: bs.Design.from_dict(DESIGN.to_dict() | {"rule": {"kind": "tlt"}}),
            "did you mean 'tilt'?",
        ),
        (
            lambda: bs.Design(**{**PARTS, "goal": "increse"}),
            "did you mean 'increase'?",
        ),
        (
            lambda: bs.Design(**{**PARTS, "error": "5%"}),
            "error must be a number, as 0.05 (got '5%')",
        ),
        (lambda: plan_request(deadline_days="soon"), "as 7, 7d or 2 weeks"),
    ],
)
def test_a_name_that_is_nearly_right_is_answered_with_what_is_meant(
    call: Callable[[], Any], words: str
) -> None:
    with pytest.raises(bs.InputError) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plann"], "Did you mean 'plan'?"),
        (["experiment", "crate"], "Did you mean 'create'?"),
        (["plan", "--outcome", "bernouli"], "did you mean 'bernoulli'?"),
        (["simulate", "--rule", "tlt"], "did you mean 'tilt'?"),
    ],
)
def test_so_is_a_name_on_the_command_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert words in capsys.readouterr().err


def test_usual_names_lead_to_options_that_exist() -> None:
    assert set(USUAL_NAMES.values()) <= set(PLAN)
    assert not set(USUAL_NAMES) & set(PLAN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1day", 86400),
        ("7 days", 604800),
        ("2 Weeks", 1209600),
        ("90 min", 5400),
        ("1.5 hours", 5400),
        ("30sec", 30),
    ],
)
def test_durations_may_be_written_out(text: str, expected: float) -> None:
    assert seconds("window", text) == expected


@pytest.mark.parametrize("text", ["1 month", "1mo", "2 y", "d", "7 dayss"])
def test_units_of_time_of_no_fixed_length_are_refused(text: str) -> None:
    with pytest.raises(bs.InputError, match="must be a duration"):
        seconds("window", text)


def test_means_may_be_percentages() -> None:
    given = bs.simulate(DESIGN, means=["5%", "90%"], runs=20)
    assert given.regret.tolist() == bs.simulate(DESIGN, means=[0.05, 0.9], runs=20).regret.tolist()


def test_a_name_of_the_package_that_is_nearly_right() -> None:
    with pytest.raises(AttributeError, match="did you mean 'Bernoulli'"):
        getattr(bs, "Bernouli")  # noqa: B009
    assert not hasattr(bs, "__wrapped__")


@pytest.mark.parametrize(("text", "days"), [("7", 7), ("7 days", 7), ("1day", 1), ("2w", 14)])
def test_a_number_of_days_may_be_a_duration(text: str, days: float) -> None:
    request = plan_request(deadline_days=text, min_days=text)
    assert (request.deadline_days, request.min_days) == (days, days)
