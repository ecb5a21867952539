"""`bascule simulate`: play a design many times and print what it cost and when it decided."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bascule.cli.console import note_compilation, print_json, progress_bar, screen
from bascule.core.design import DEFAULT_ERROR, Design
from bascule.core.errors import InputError
from bascule.core.outcomes import Bernoulli, Gaussian, Outcome
from bascule.core.rules import ETC, UCB, AnyRule, ETCPrime, Tilt

if TYPE_CHECKING:
    from bascule.simulate import Simulation


TABLE_WIDTH = 78


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
    tilt: float | None = typer.Option(
        None,
        help="Knob of tilt: 1 is an even split, more saves regret; 3 if not given.",
        show_default=False,
    ),
    effect: float | None = typer.Option(
        None, help="For tilt: the difference worth finding.", show_default=False
    ),
    outcome: OutcomeName | None = typer.Option(None, help="Outcome model; gaussian if not given."),
    sigma: float | None = typer.Option(
        None, help="For gaussian: spread of one outcome; 1 if not given.", show_default=False
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
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Play a test many times: its regret, its decision time and how often it is wrong."""
    from bascule.simulate import simulate

    means = given_means(means)
    described = {
        "rule": rule,
        "alpha": alpha,
        "tilt": tilt,
        "effect": effect,
        "outcome": outcome,
        "sigma": sigma,
        "error": error,
        "delta": delta,
    }
    if design is None:
        asked = _described_design(described, len(means), max_units)
    else:
        asked = _loaded_design(design, described, max_units)
    with progress_bar() as tell:
        result = simulate(
            asked, means, runs, seed, threads, lambda done: tell("simulating", done, runs)
        )
    note_compilation(result.compile_seconds)
    if as_json:
        print_json(result.to_dict())
    else:
        _show(result)


def given_means(means: list[float] | None) -> list[float]:
    """The means, which every comparison of arms needs.

    >>> given_means([0.0, 1.0])
    [0.0, 1.0]
    """
    if not means:
        raise InputError(
            "means", "--means is missing: give the mean of each arm, as in --means 0 1"
        )
    return means


def _described_design(described: dict[str, Any], arms: int, max_units: int | None) -> Design:
    return Design(
        arms=arm_names(arms),
        outcome=chosen_outcome(described["outcome"], described["sigma"]),
        rule=_rule(described),
        error=described["error"],
        delta=described["delta"],
        max_units=max_units,
    )


def _loaded_design(path: Path, described: dict[str, Any], max_units: int | None) -> Design:
    for option, value in described.items():
        if value is not None:
            raise InputError(option, f"--{option} and --design cannot both be given: drop one")
    loaded = Design.load(path)
    return loaded if max_units is None else dataclasses.replace(loaded, max_units=max_units)


def chosen_outcome(name: OutcomeName | None, sigma: float | None) -> Outcome:
    """The outcome model that the options describe.

    >>> chosen_outcome(None, 2.0)
    Gaussian(sigma=2.0)
    """
    if name is OutcomeName.BERNOULLI:
        if sigma is not None:
            raise InputError(
                "sigma", "--sigma belongs to --outcome gaussian, not bernoulli: drop one of them"
            )
        return Bernoulli()
    return Gaussian(1.0 if sigma is None else sigma)


KNOBS = {"alpha": RuleName.UCB, "tilt": RuleName.TILT, "effect": RuleName.TILT}
"""Which rule an option belongs to."""


def _rule(described: dict[str, Any]) -> AnyRule:
    name = described["rule"] or RuleName.UCB
    for knob, owner in KNOBS.items():
        if described[knob] is not None and name is not owner:
            raise InputError(
                knob, f"--{knob} belongs to --rule {owner}, not {name}: drop one of them"
            )
    given = {knob: described[knob] for knob in KNOBS if described[knob] is not None}
    makers: dict[RuleName, Callable[..., AnyRule]] = {
        RuleName.UCB: UCB,
        RuleName.ETC: ETC,
        RuleName.ETC_PRIME: ETCPrime,
        RuleName.TILT: Tilt,
    }
    return makers[name](**given)


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
    for column, words in (("regret", "regret"), ("decision_time", "decision time")):
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
