"""The tables of the errors of predictions, in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from bascule.presentation.numbers import number
from bascule.simulation.result import Estimate

HEAD = """# How far predictions are off

Each row is one design, played as often as it says. "Off" is how much the
prediction is above the mean of the runs, in per cent, with the standard error of
that mean behind it; that is large where each run takes millions of units and there were few of
them. Outcomes have a spread of 1.

"""

TWO_ARMS = """## Two arms

{summary}

{table}

"""

VARIANTS = """## Two arms: effects and batches

"Effect" is a tilted test that knows the gap, "batch 10" one that assigns ten units of each
challenger at a time.

{summary}

{table}

"""

COINS = """## 0/1 outcomes

Tilted blocks that bet, at two rates.

{summary}

{table}

"""

MORE_ARMS = """## More arms

Here paths of the noise are followed. "Level" has all rivals at
one distance from the best arm, "stairs" each of them one gap further away than the one before. Only
runs that found the best arm count: after a mistake two level rivals are left that no test can tell
apart, and the cap ends such a run.

{summary}

{table}
"""


SHAPES = ("level", "stairs")
"""How rivals may lie."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One design at one gap: what was predicted, and what came; regret first, then time."""

    rule: str
    error: float
    where: str
    runs: int
    predicted: tuple[float, float]
    simulated: tuple[Estimate, Estimate]

    @property
    def off(self) -> tuple[float, float]:
        """By which part the predictions are too high."""
        regret, time = self.predicted
        return regret / self.simulated[0].mean - 1.0, time / self.simulated[1].mean - 1.0

    @property
    def worst(self) -> float:
        """The larger of both."""
        return max(abs(value) for value in self.off)

    @property
    def uncertain(self) -> tuple[float, float]:
        """The standard errors of `off`."""
        regret, time = self.simulated
        return regret.se / regret.mean, time.se / time.mean

    @property
    def beyond_noise(self) -> float:
        """How much of `worst` three standard errors leave."""
        pairs = zip(self.off, self.uncertain, strict=True)
        return max(0.0, *(abs(value) - 3 * se for value, se in pairs))


def page(
    two_arms: list[Cell], variants: list[Cell], coins: list[Cell], more_arms: list[Cell]
) -> str:
    """The whole page."""
    parts = (
        (TWO_ARMS, two_arms, "gap"),
        (VARIANTS, variants, "gap"),
        (COINS, coins, "rates"),
        (MORE_ARMS, more_arms, "arms, gap"),
    )
    return HEAD + "".join(
        text.format(summary=summary(cells, where), table=table(cells, where))
        for text, cells, where in parts
    )


def summary(cells: list[Cell], where: str) -> str:
    """How many cells are how far off, and the worst of them."""
    count = len(cells)
    within = [sum(cell.worst <= limit for cell in cells) for limit in (0.02, 0.05, 0.1)]
    worst = max(cells, key=lambda cell: cell.worst)
    clear = max(cells, key=lambda cell: cell.beyond_noise)
    off = math.sqrt(sum(value**2 for cell in cells for value in cell.off) / (2 * count))
    text = (
        f"Of {count} cells, regret and time of {within[0]} are within 2 %, of {within[1]} within "
        f"5 %, of {within[2]} within 10 %; the root of the mean square is {100 * off:.1f} %. The "
        f"worst cell is {named(worst, where)}."
    )
    return text if clear is worst else f"{text} Beyond noise it is {named(clear, where)}."


def named(cell: Cell, where: str) -> str:
    """A cell in words, with how far it is off."""
    regret, time = (f"{100 * value:+.1f} %" for value in cell.off)
    place = cell.where if cell.where.endswith(SHAPES) else f"{where} {cell.where}"
    return f"{cell.rule} at error {cell.error:g}, {place} (regret {regret}, time {time})"


def table(cells: Iterable[Cell], where: str) -> str:
    """One row a cell."""
    lines = [
        f"| rule | error | {where} | runs | regret | predicted | off | time | predicted | off |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for cell in cells:
        columns = [cell.rule, f"{cell.error:g}", cell.where, f"{cell.runs:,}"]
        for seen, value, off, se in zip(
            cell.simulated, cell.predicted, cell.off, cell.uncertain, strict=True
        ):
            columns += [number(seen.mean), number(value), f"{100 * off:+.1f} ± {100 * se:.1f}"]
        lines.append("| " + " | ".join(columns) + " |")
    return "\n".join(lines)
