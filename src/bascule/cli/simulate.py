"""`bascule simulate`: play a design many times and print what it cost and when it decided."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bascule.cli.console import note_compilation, print_json, progress_bar, screen
from bascule.core.design import DEFAULT_ERROR, Design
from bascule.core.errors import InputError
from bascule.core.outcomes import Bernoulli, Gaussian, Outcome, Recurrent
from bascule.core.rules import ETC, UCB, AnyRule, ETCPrime, Static, Tilt

if TYPE_CHECKING:
    from bascule.simulate import Simulation


TABLE_WIDTH = 78


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
    RECURRENT = "recurrent"


class RadiusName(StrEnum):
    """Radii that the command line knows."""

    PAPER = "paper"
    MIXTURE = "mixture"
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


def command(
    means: list[float] | None = typer.Option(
        None, metavar="M1 M2 ...", help="The true mean of each arm.", show_default=False
    ),
    rule: RuleName | None = typer.Option(
        None, help="Who gets the next unit, and when to stop; ucb if not given."
    ),
    alpha: float | None = typer.Option(
        None,
        help="Knob of ucb: 1 saves regret, inf saves time; 2 if not given.",
        show_default=False,
    ),
    radius: RadiusName | None = typer.Option(
        None, help="For ucb: whose radius an arm has; paper if not given."
    ),
    growth: float | None = typer.Option(
        None,
        help="For --radius looks: how many times later the next look comes.",
        show_default=False,
    ),
    stop: StopName | None = typer.Option(
        None,
        help="For ucb, etc and static: what ends a test; intervals if not given, or the horizon.",
    ),
    tilt: float | None = typer.Option(
        None,
        help="Knob of tilt: 1 is an even split, more saves regret; 3 if not given.",
        show_default=False,
    ),
    effect: float | None = typer.Option(
        None, help="For tilt: the difference worth finding.", show_default=False
    ),
    population: int | None = typer.Option(
        None, help="For static: how many units there are in all.", show_default=False
    ),
    horizon: int | None = typer.Option(
        None, help="For static: the last stage; without one it has no end.", show_default=False
    ),
    outcome: OutcomeName | None = typer.Option(None, help="Outcome model; gaussian if not given."),
    sigma: float | None = typer.Option(
        None, help="For gaussian: spread of one outcome; 1 if not given.", show_default=False
    ),
    sigma_unit: float | None = typer.Option(
        None, help="For recurrent: spread of the units; 1 if not given.", show_default=False
    ),
    sigma_noise: float | None = typer.Option(
        None,
        help="For recurrent: spread of one unit's outcomes; 1 if not given.",
        show_default=False,
    ),
    error: float | None = typer.Option(
        None,
        help=f"Proven probability of a wrong decision; {DEFAULT_ERROR} if not given.",
        show_default=False,
    ),
    delta: float | None = typer.Option(
        None, help="The paper's nominal parameter, instead of --error.", show_default=False
    ),
    design: Path | None = typer.Option(
        None, metavar="FILE", help="A design file, instead of all of the above but --means."
    ),
    runs: int = typer.Option(1000, help="How many times to play the test."),
    seed: int = typer.Option(0, help="Same seed, same runs."),
    max_units: int | None = typer.Option(
        None, help="End a run here, undecided.", show_default=False
    ),
    threads: int | None = typer.Option(
        None, help="Threads to use; every core if not given.", show_default=False
    ),
    engine: EngineName | None = typer.Option(
        None, help="For recurrent: plain draws every outcome; fast if not given."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Play a test many times: its regret, its decision time and how often it is wrong."""
    from bascule.simulate import simulate

    if not means:
        raise InputError(
            "means", "--means is missing: give the mean of each arm, as in --means 0 1"
        )
    described = {
        "rule": rule,
        "alpha": alpha,
        "radius": radius,
        "growth": growth,
        "stop": stop,
        "tilt": tilt,
        "effect": effect,
        "population": population,
        "horizon": horizon,
        "outcome": outcome,
        "sigma": sigma,
        "sigma_unit": sigma_unit,
        "sigma_noise": sigma_noise,
        "error": error,
        "delta": delta,
    }
    if design is None:
        asked = _described_design(described, len(means), max_units)
    else:
        asked = _loaded_design(design, described, max_units)
    with progress_bar() as tell:
        result = simulate(
            asked,
            means,
            runs,
            seed,
            threads,
            lambda done: tell("simulating", done, runs),
            engine=engine.value if engine else None,
        )
    note_compilation(result.compile_seconds)
    if as_json:
        print_json(result.to_dict())
    else:
        _show(result)


def _described_design(described: dict[str, Any], arms: int, max_units: int | None) -> Design:
    return Design(
        arms=arm_names(arms),
        outcome=_outcome(described),
        rule=_rule(described),
        error=described["error"],
        delta=described["delta"],
        max_units=max_units,
    )


def _loaded_design(path: Path, described: dict[str, Any], max_units: int | None) -> Design:
    for option, value in described.items():
        if value is not None:
            raise InputError(option, f"{_flag(option)} and --design cannot both be given: drop one")
    loaded = Design.load(path)
    return loaded if max_units is None else dataclasses.replace(loaded, max_units=max_units)


def _flag(option: str) -> str:
    return "--" + option.replace("_", "-")


SPREADS = {
    "sigma": (OutcomeName.GAUSSIAN,),
    "sigma_unit": (OutcomeName.RECURRENT,),
    "sigma_noise": (OutcomeName.RECURRENT,),
}
"""Which outcome model an option belongs to."""

KNOBS = {
    "alpha": (RuleName.UCB,),
    "radius": (RuleName.UCB,),
    "growth": (RuleName.UCB,),
    "stop": (RuleName.UCB, RuleName.ETC, RuleName.STATIC),
    "tilt": (RuleName.TILT,),
    "effect": (RuleName.TILT,),
    "population": (RuleName.STATIC,),
    "horizon": (RuleName.STATIC,),
}
"""Which rules an option belongs to."""


def _given(
    described: dict[str, Any], option: str, chosen: StrEnum, owners: Mapping[str, Sequence[StrEnum]]
) -> dict[str, Any]:
    """Those of the owned options that were given; refuse the ones that belong to another owner."""
    given = {name: described[name] for name in owners if described[name] is not None}
    for name in given:
        if chosen not in owners[name]:
            rightful = " or ".join(owners[name])
            raise InputError(
                name,
                f"{_flag(name)} belongs to --{option} {rightful}, not {chosen}: drop one of them",
            )
    return {name: getattr(value, "value", value) for name, value in given.items()}


def _outcome(described: dict[str, Any]) -> Outcome:
    name = described["outcome"] or OutcomeName.GAUSSIAN
    makers: dict[OutcomeName, Callable[..., Outcome]] = {
        OutcomeName.GAUSSIAN: Gaussian,
        OutcomeName.BERNOULLI: Bernoulli,
        OutcomeName.RECURRENT: Recurrent,
    }
    return makers[name](**_given(described, "outcome", name, SPREADS))


def _rule(described: dict[str, Any]) -> AnyRule:
    name = described["rule"] or RuleName.UCB
    makers: dict[RuleName, Callable[..., AnyRule]] = {
        RuleName.UCB: UCB,
        RuleName.ETC: ETC,
        RuleName.ETC_PRIME: ETCPrime,
        RuleName.TILT: Tilt,
        RuleName.STATIC: Static,
    }
    return makers[name](**_given(described, "rule", name, KNOBS))


def arm_names(arms: int) -> list[str]:
    """Names for arms that have none: letters, or numbers when there are too many.

    >>> arm_names(3)
    ['A', 'B', 'C']
    """
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if arms <= len(letters):
        return list(letters[:arms])
    return [f"arm-{i + 1}" for i in range(arms)]


def _show(result: Simulation) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from bascule.simulate.result import short, shown

    console = screen()
    if console.width < TABLE_WIDTH:
        console.print(repr(result), soft_wrap=True)
        return
    summary, quantiles = result.summary(), result.quantiles()
    title = f"{result.design.rule.label}, {result.runs:,} runs at means {shown(result.means)}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for heading in ("", "mean", "10 %", "50 %", "90 %", "predicted", "proven"):
        table.add_column(heading, justify="left" if not heading else "right", no_wrap=True)
    predicted, proven = result.predicted(), result.proven()
    for column, words in (("regret", "regret"), ("decision_time", result.time_label)):
        table.add_row(
            words,
            str(summary[column]),
            *(short(value) for value in quantiles[column]),
            _amount(getattr(predicted, column, math.nan)),
            _amount(getattr(proven, column, math.nan)),
        )
    console.print(table)
    for name, value in result.rows()[2:]:
        console.print(f"{name:<16} {value}", soft_wrap=True)


def _amount(value: float) -> str:
    if math.isnan(value):
        return "-"
    return "none" if math.isinf(value) else f"{value:,.0f}"
