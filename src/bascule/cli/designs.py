"""Designs and worlds as options of a command: what commands that simulate have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

from bascule.core.design import DEFAULT_ERROR, Design
from bascule.core.errors import InputError
from bascule.core.outcomes import Bernoulli, Bounded, Gaussian, Outcome, Recurrent
from bascule.core.rules import ETC, UCB, AnyRule, ETCPrime, Static, Tilt
from bascule.core.serialization import parse_json, read_json


class RuleName(StrEnum):
    """Rules that the command line knows."""

    UCB = "ucb"
    ETC = "etc"
    ETC_PRIME = "etc-prime"
    TILT = "tilt"
    STATIC = "static"


class OutcomeName(StrEnum):
    """Outcome models that the command line knows."""

    GAUSSIAN = "gaussian"
    BERNOULLI = "bernoulli"
    BOUNDED = "bounded"
    RECURRENT = "recurrent"


class RadiusName(StrEnum):
    """Radii that the command line knows."""

    PAPER = "paper"
    MIXTURE = "mixture"
    BERNSTEIN = "bernstein"
    ALTERNATIVE = "alternative"
    LOOKS = "looks"


class StopName(StrEnum):
    """What can end a test."""

    INTERVALS = "intervals"
    MIXTURE = "mixture"
    HORIZON = "horizon"
    LOOKS = "looks"


class EngineName(StrEnum):
    """How units whose outcomes keep coming are played."""

    FAST = "fast"
    PLAIN = "plain"


Owners = Mapping[str, tuple[StrEnum, ...]]

MEANS = typer.Option(
    None, metavar="M1 M2 ...", help="The true mean of each arm.", show_default=False
)
ALPHA = typer.Option(
    None, help="Knob of ucb: 1 saves regret, inf saves time; 2 if not given.", show_default=False
)
RADIUS = typer.Option(None, help="For ucb: whose radius an arm has; paper if not given.")
GROWTH = typer.Option(
    None, help="For --radius looks: how many times later the next look comes.", show_default=False
)
STOP = typer.Option(
    None,
    help="For ucb, etc and static: what ends a test; intervals if not given, or the horizon.",
)
BATCH = typer.Option(
    None, help="For tilt: units of each challenger assigned at once; 1 if not given."
)
POPULATION = typer.Option(
    None, help="For static: how many units there are in all.", show_default=False
)
HORIZON = typer.Option(
    None, help="For static: the last stage; without one it has no end.", show_default=False
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
SIGMA_UNIT = typer.Option(
    None, help="For recurrent: spread of the units; 1 if not given.", show_default=False
)
SIGMA_NOISE = typer.Option(
    None, help="For recurrent: spread of one unit's outcomes; 1 if not given.", show_default=False
)
ERROR = typer.Option(
    None,
    help=f"Proven probability of a wrong decision; {DEFAULT_ERROR} if not given.",
    show_default=False,
)
DELTA = typer.Option(
    None, help="The paper's nominal parameter, instead of --error.", show_default=False
)
MIN_EFFECT = typer.Option(
    None,
    help="The smallest difference that matters; a test also ends when all are proven smaller.",
    show_default=False,
)
MAX_UNITS = typer.Option(None, help="End a run here, undecided.", show_default=False)
SEED = typer.Option(0, help="Same seed, same runs.")
THREADS = typer.Option(None, help="Threads to use; every core if not given.", show_default=False)
ENGINE = typer.Option(None, help="For recurrent: plain draws every outcome; fast if not given.")
AS_JSON = typer.Option(False, "--json", help="Print one JSON object.")

KNOBS: Owners = {
    "alpha": (RuleName.UCB,),
    "radius": (RuleName.UCB,),
    "growth": (RuleName.UCB,),
    "stop": (RuleName.UCB, RuleName.ETC, RuleName.STATIC),
    "tilt": (RuleName.TILT,),
    "effect": (RuleName.TILT,),
    "batch": (RuleName.TILT,),
    "population": (RuleName.STATIC,),
    "horizon": (RuleName.STATIC,),
}
"""Which rules an option belongs to."""

SIZES: Owners = {
    "sigma": (OutcomeName.GAUSSIAN,),
    "low": (OutcomeName.BOUNDED,),
    "high": (OutcomeName.BOUNDED,),
    "sigma_unit": (OutcomeName.RECURRENT,),
    "sigma_noise": (OutcomeName.RECURRENT,),
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
        min_effect=described.get("min_effect"),
    )


def loaded_design(path: Path, described: dict[str, Any], max_units: int | None) -> Design:
    """The design of a file, which leaves nothing to describe but its cap."""
    for option, value in described.items():
        if value is not None:
            raise InputError(option, f"{flag(option)} and --design cannot both be given: drop one")
    from bascule.live.api.store import load_design

    loaded = load_design(path)
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
        OutcomeName.RECURRENT: Recurrent,
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
        RuleName.STATIC: Static,
    }
    return makers[name](**given)


def _own_options(
    described: dict[str, Any], owners: Owners, name: StrEnum, what: str
) -> dict[str, Any]:
    given = {option: described[option] for option in owners if described.get(option) is not None}
    for option in given:
        if name not in owners[option]:
            rightful = " or ".join(owners[option])
            raise InputError(
                option,
                f"{flag(option)} belongs to --{what} {rightful}, not {name}: drop one of them",
            )
    return {option: getattr(value, "value", value) for option, value in given.items()}


def flag(option: str) -> str:
    """An option as it is typed.

    >>> flag("sigma_unit")
    '--sigma-unit'
    """
    return "--" + option.replace("_", "-")


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
