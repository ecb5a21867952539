"""Designs and worlds as options of a command: what commands that simulate have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

from bascule.core.design import DEFAULT_ERROR, Design
from bascule.core.errors import InputError
from bascule.core.outcomes import Bernoulli, Bounded, Gaussian, Outcome
from bascule.core.plain_data import parse_json, read_json
from bascule.core.rules import ETC, UCB, AnyRule, ETCPrime, Tilt


class RuleName(StrEnum):
    """Rules that the command line knows."""

    UCB = "ucb"
    ETC = "etc"
    ETC_PRIME = "etc-prime"
    TILT = "tilt"


class OutcomeName(StrEnum):
    """Outcome models that the command line knows."""

    GAUSSIAN = "gaussian"
    BERNOULLI = "bernoulli"
    BOUNDED = "bounded"


MEANS = typer.Option(
    None, metavar="M1 M2 ...", help="The true mean of each arm.", show_default=False
)
ALPHA = typer.Option(
    None, help="Knob of ucb: 1 saves regret, inf saves time; 2 if not given.", show_default=False
)
TILT = typer.Option(
    None,
    help="Knob of tilt: 1 is an even split, more saves regret; 3 if not given.",
    show_default=False,
)
EFFECT = typer.Option(None, help="For tilt: the difference worth finding.", show_default=False)
OUTCOME = typer.Option(None, help="Outcome model; gaussian if not given.")
SIGMA = typer.Option(
    None, help="For gaussian: spread of one outcome; 1 if not given.", show_default=False
)
LOW = typer.Option(
    None, help="For bounded: no outcome lies below; 0 if not given.", show_default=False
)
HIGH = typer.Option(
    None, help="For bounded: no outcome lies above; 1 if not given.", show_default=False
)
ERROR = typer.Option(
    None,
    help=f"Proven probability of a wrong decision; {DEFAULT_ERROR} if not given.",
    show_default=False,
)
DELTA = typer.Option(
    None, help="The paper's nominal parameter, instead of --error.", show_default=False
)
MAX_UNITS = typer.Option(None, help="End a run here, undecided.", show_default=False)
SEED = typer.Option(0, help="Same seed, same runs.")
THREADS = typer.Option(None, help="Threads to use; every core if not given.", show_default=False)
AS_JSON = typer.Option(False, "--json", help="Print one JSON object.")

KNOBS = {"alpha": RuleName.UCB, "tilt": RuleName.TILT, "effect": RuleName.TILT}
"""Which rule an option belongs to."""

SIZES = {
    "sigma": OutcomeName.GAUSSIAN,
    "low": OutcomeName.BOUNDED,
    "high": OutcomeName.BOUNDED,
}
"""Which outcome model an option belongs to."""


def described_design(described: dict[str, Any], arms: int, max_units: int | None) -> Design:
    """The design that the options describe.

    >>> described_design({"rule": RuleName.TILT, "tilt": 4.0}, 2, None).rule
    Tilt(tilt=4.0, effect=None, batch=1)
    """
    return Design(
        arms=arm_names(arms),
        outcome=described_outcome(described),
        rule=described_rule(described),
        error=described.get("error"),
        delta=described.get("delta"),
        max_units=max_units,
    )


def loaded_design(path: Path, described: dict[str, Any], max_units: int | None) -> Design:
    """The design of a file, which leaves nothing to describe but its cap."""
    for option, value in described.items():
        if value is not None:
            raise InputError(option, f"--{option} and --design cannot both be given: drop one")
    loaded = Design.load(path)
    return loaded if max_units is None else dataclasses.replace(loaded, max_units=max_units)


def described_outcome(described: dict[str, Any]) -> Outcome:
    """The outcome model that the options describe.

    >>> described_outcome({"outcome": OutcomeName.BOUNDED, "high": 5.0})
    Bounded(low=0.0, high=5.0)
    """
    name = described.get("outcome") or OutcomeName.GAUSSIAN
    given = _own_options(described, SIZES, name, "outcome")
    makers: dict[OutcomeName, Callable[..., Outcome]] = {
        OutcomeName.GAUSSIAN: Gaussian,
        OutcomeName.BERNOULLI: Bernoulli,
        OutcomeName.BOUNDED: Bounded,
    }
    return makers[name](**given)


def described_rule(described: dict[str, Any]) -> AnyRule:
    """The rule that the options describe.

    >>> described_rule({"rule": RuleName.ETC})
    ETC(stop='intervals')
    """
    name = described.get("rule") or RuleName.UCB
    given = _own_options(described, KNOBS, name, "rule")
    makers: dict[RuleName, Callable[..., AnyRule]] = {
        RuleName.UCB: UCB,
        RuleName.ETC: ETC,
        RuleName.ETC_PRIME: ETCPrime,
        RuleName.TILT: Tilt,
    }
    return makers[name](**given)


def _own_options(
    described: dict[str, Any], owners: dict[str, Any], name: str, what: str
) -> dict[str, Any]:
    given = {option: described[option] for option in owners if described.get(option) is not None}
    for option in given:
        if owners[option] is not name:
            raise InputError(
                option,
                f"--{option} belongs to --{what} {owners[option]}, not {name}: drop one of them",
            )
    return given


def parsed_world(text: str) -> dict[str, Any] | str:
    """The world that `--world` names, or has as JSON, or keeps in a file.

    >>> parsed_world('{"batch": 50}')
    {'batch': 50}
    >>> parsed_world("rising")
    'rising'
    """
    if text.lstrip().startswith("{"):
        data = parse_json(text, "world", "--world")
    elif text.endswith(".json"):
        data = read_json(text, "world")
    else:
        return text
    if not isinstance(data, dict):
        raise InputError("world", f"{text} holds no world: it must be one JSON object")
    return data


def arm_names(arms: int) -> list[str]:
    """Names for arms that have none: letters, or numbers when there are too many.

    >>> arm_names(3)
    ['A', 'B', 'C']
    """
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if arms <= len(letters):
        return list(letters[:arms])
    return [f"arm-{i + 1}" for i in range(arms)]
