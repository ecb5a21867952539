"""`bascule demo`: a whole test from the first unit to the decision, and what the knob changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bascule.cli.console import screen
from bascule.core.design import Design
from bascule.core.outcomes import Gaussian
from bascule.core.progress import intervals
from bascule.core.rules import ETC, UCB

if TYPE_CHECKING:
    from rich.console import Console

    from bascule.report.trade_off import TradeOff
    from bascule.simulate import Step

MEANS = (20.0, 21.5)
SIGMA = 5.0
LOOKS = 10
BAR = 25


def command(
    seed: int = typer.Option(1, help="Another seed, another test."),
    runs: int = typer.Option(1000, help="Runs behind each row of the comparison."),
    out: Path = typer.Option(Path("demo-out"), metavar="DIR", help="Folder for the picture."),
) -> None:
    """Watch one test run to its decision, then compare what the knob changes."""
    from bascule.report.trade_off import draw_trade_off, trade_off
    from bascule.simulate.plot import save_figure

    console = screen()
    design = Design(arms=["control", "green"], outcome=Gaussian(SIGMA), rule=UCB(2), error=0.05)
    console.print(
        "A shop tests a green button. Visitors spend 20.00 on average with the old one\n"
        "and 21.50 with the green one, give or take 5.00; nobody knows that yet.\n"
        "Rule: UCB_2, which sends visitors to the button that may be the best.\n"
        "Promise: the decision is wrong with probability at most 5 %, proven.\n"
    )
    last = _play(console, design, seed)
    _conclude(console, last)
    console.print(f"\nThe same test, {runs:,} times for each rule, all with error at most 5 %:\n")
    compared = trade_off(MEANS, SIGMA, 0.05, (1.5, 2.0, 4.0), runs, seed)
    _compare(console, compared)
    out.mkdir(parents=True, exist_ok=True)
    written = save_figure(
        draw_trade_off(trade_off(MEANS, SIGMA, 0.05, runs=runs)), out / "trade-off"
    )
    console.print(
        "The knob alpha trades sales for time: a small one loses less while it runs, a\n"
        "large one decides sooner. An even split is the quickest."
    )
    console.print(f"The whole curve is drawn in {written[0]}.", soft_wrap=True)
    console.print("Your own numbers: bascule simulate --means 20 21.5 --sigma 5 --alpha 2")


def _play(console: Console, design: Design, seed: int) -> Step:
    """Print where the test stands at times that double, as a reader would look."""
    from bascule.simulate import trace

    console.print(f"{'visitors':>8} {'control':>8} {'green':>7}  spending, with its interval")
    last = None
    for count, step in enumerate(trace(design, MEANS, seed), start=1):
        last = step
        if count in _looks() or step.decision is not None:
            _look(console, design, step, count)
    assert last is not None
    return last


def _looks() -> set[int]:
    return {25 * 2**k for k in range(LOOKS)}


def _look(console: Console, design: Design, step: Step, count: int) -> None:
    units = [arm.units for arm in step.statistics.arms]
    label = f"{count:>8,} {units[0]:>8,} {units[1]:>7,}"
    for name, interval in zip(design.arms, intervals(design, step.statistics), strict=True):
        bar = _bar(interval.low, interval.mean, interval.high)
        console.print(f"{label}  {bar}  {name:<7} {interval.mean:.2f} ± {interval.radius:.2f}")
        label = " " * len(label)


def _bar(low: float, mean: float, high: float) -> str:
    """An interval drawn with characters on the scale from 16 to 26."""

    def place(value: float) -> int:
        return min(BAR - 1, max(0, round((value - 16) / 10 * (BAR - 1))))

    cells = ["─" if place(low) <= i <= place(high) else " " for i in range(BAR)]
    cells[place(mean)] = "●"
    return "".join(cells)


def _conclude(console: Console, last: Step) -> None:
    decision = last.decision
    if decision is None:
        raise RuntimeError("the demo's test has no cap, so it ends with a decision")
    losers = sum(a.units for i, a in enumerate(last.statistics.arms) if i != decision.arm)
    lost = (max(MEANS) - min(MEANS)) * losers
    console.print(
        f"\nDecision after {last.statistics.units:,} visitors: {decision.name} is better "
        f"({decision.guarantee}, error at most {100 * decision.error:g} %).\n"
        f"{losers:,} visitors met the worse button, which cost {lost:,.0f} in sales."
    )


def _compare(console: Console, compared: TradeOff) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    for heading in ("rule", "sales lost", "visitors needed", "wrong decisions"):
        table.add_column(heading, justify="left" if heading == "rule" else "right")
    for point in compared.points:
        name = "ETC (even split)" if isinstance(point.rule, ETC) else point.rule.label
        wrong = f"{100 * point.error_rate:.1f} %"
        table.add_row(name, str(point.regret), str(point.decision_time), wrong)
    console.print(table)
