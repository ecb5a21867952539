"""`bascule demo --study`: a simulated test up to its decision, and what the knobs change."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from bascule.cli.support.console import screen
from bascule.core.design import Design
from bascule.core.inputs import checks
from bascule.core.outcomes import Gaussian
from bascule.core.rules import Rule, Tilt

if TYPE_CHECKING:
    from rich.console import Console

    from bascule.research.comparison.frontier import Frontier
    from bascule.simulation import Step

MEANS = (20.0, 21.5)
SIGMA = 5.0
ALPHAS, TILTS = (1.2, 1.5, 2.0, 3.0, 4.0, 8.0, 32.0), (1.0, 3.0, 10.0)
FIRST_LOOK, LOOKS = 10, 12
BAR = 20


def show(seed: int, runs: int, out: Path) -> None:
    """Watch one simulated test run to its decision, then compare what the knobs change."""
    from bascule.core.inputs.files import prepare_folder
    from bascule.presentation.figures import save_figure
    from bascule.presentation.guarantees import error_words
    from bascule.research.comparison.contenders import Family
    from bascule.research.comparison.frontier import frontier

    runs = checks.whole("runs", runs, 2, "1000 is a good start")
    prepare_folder(out)
    console = screen()
    design = Design(arms=["control", "green"], outcome=Gaussian(SIGMA), rule=Tilt(3), error=0.05)
    console.print(
        "A shop tests a green button. Visitors spend 20.00 on average with the old one\n"
        "and 21.50 with the green one, give or take 5.00; that is not known yet.\n"
        "Rule: tilted blocks, which send three visitors to the button that is ahead for\n"
        "each one to the other, once the lead is clear.\n"
        f"Promise: {error_words(design.calibration.error)}, proven.\n"
    )
    _conclude(console, _play(console, design, seed))
    console.print(f"\nThe same test, {runs:,} times for each rule, all with an error of 5 %:\n")
    compared = frontier(
        MEANS,
        outcome=design.outcome,
        alphas=ALPHAS,
        tilts=TILTS,
        runs=runs,
        seed=seed,
        families=(Family.PEELING, Family.TILT),
    )
    _compare(console, compared)
    written = save_figure(compared.plot(), out / "trade-off")
    console.print(
        "Every rule has a knob that trades sales for time. At any of its settings here,\n"
        "tilted blocks lose less than the paper's rules do."
    )
    console.print(f"The picture with all knobs is {written[0]}.", soft_wrap=True)
    console.print(
        f"Your own numbers: {_this_command()} simulate --rule tilt --means 20 21.5 --sigma 5",
        soft_wrap=True,
    )


def _play(console: Console, design: Design, seed: int) -> Step:
    """Print where the test stands at times that double, as a reader would look."""
    from bascule.simulation import trace

    counts, spent = f"{'control':>9} {'green':>7}", f"{'control':>8} {'green':>8}"
    console.print(f"{'visitors':>8} {counts}   {spent}   share of green")
    looks = {FIRST_LOOK * 2**k for k in range(LOOKS)}
    last = None
    for count, step in enumerate(trace(design, MEANS, seed), start=1):
        last = step
        if count in looks or step.decision is not None:
            _look(console, step, count)
    assert last is not None
    return last


def _look(console: Console, step: Step, count: int) -> None:
    arms = step.statistics.arms
    spent = [f"{arm.mean:>8.2f}" if arm.units else f"{'-':>8}" for arm in arms]
    bar = "#" * round(BAR * arms[1].units / count)
    console.print(
        f"{count:>8,} {arms[0].units:>9,} {arms[1].units:>7,}   {spent[0]} {spent[1]}   {bar}"
    )


def _conclude(console: Console, last: Step) -> None:
    decision = last.decision
    if decision is None:
        raise RuntimeError("the demo's test has no cap, so it ends with a decision")
    losers = sum(a.units for i, a in enumerate(last.statistics.arms) if i != decision.arm)
    lost = (max(MEANS) - min(MEANS)) * losers
    console.print(
        f"\nDecision after {last.statistics.units:,} visitors: {decision.name} is better "
        f"({decision.guarantee}: a worse one wins with probability at most "
        f"{100 * decision.error:g} %).\n"
        f"{losers:,} visitors saw the worse button, which cost {lost:,.0f} in sales."
    )


def _compare(console: Console, compared: Frontier) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from bascule.presentation.numbers import percent

    table = Table(box=SIMPLE_HEAD)
    for heading in ("rule", "sales lost", "visitors needed", "wrong decisions"):
        table.add_column(heading, justify="left" if heading == "rule" else "right")
    for point in compared.points:
        rule = point.design.rule
        if _worth_showing(rule):
            even = point.design.procedure.even and rule.knob is None
            name = f"{rule.label} (even split)" if even else rule.label
            wrong = percent(point.error_rate)
            table.add_row(name, str(point.regret), str(point.decision_time), wrong)
    console.print(table)


def _worth_showing(rule: Rule) -> bool:
    """Whether the table has a rule: a few values of alpha do, and the figure has them all."""
    knob = rule.knob
    return knob is None or knob.name != "alpha" or knob.value in {1.5, 2.0, 4.0}


def _this_command() -> str:
    """How the command is called here: it may not be on the path."""
    return "bascule" if shutil.which("bascule") else ".venv/bin/bascule"
