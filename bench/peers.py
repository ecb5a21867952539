"""`python -m bench.peers`: rules of this package beside those of other tools, in six worlds.

Seeds are fixed, so the page changes only when the package does.
"""

# ruff: noqa: E501 (a row of the page's table is one line)

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import bascule as bs
from bascule.core.rules import Rule
from bascule.research.comparison.coverage import promised_error, why_not_covered
from bascule.research.rivals import (
    MixtureAdaptive,
    Rival,
    Thompson,
    TopTwo,
    TrackAndStop,
)
from bascule.simulation import Estimate
from bascule.simulation.api import world_of
from bascule.simulation.result import wilson

OUT = Path("docs/research/peers.md")
ERROR, CAP, RUNS = 0.05, 30_000, 400

RULES: tuple[Rule, ...] = (
    bs.Tilt(1),
    bs.Tilt(3),
    bs.Tilt(3, 0.1),
    bs.Tilt(3, 0.1, power=0.9),
    bs.Tilt(8),
    bs.UCB(2, stop="mixture"),
    bs.ETC(stop="mixture"),
    TrackAndStop(),
    Thompson(),
    TopTwo(0.5),
    TopTwo(0.8),
    MixtureAdaptive(),
)


@dataclass(frozen=True, slots=True)
class Setting:
    """A world with its title: the name of a world and the means that it starts from."""

    title: str
    name: str
    means: tuple[float, ...]


SETTINGS = (
    Setting("Two arms, gap 0.1, nothing else happens", "steady", (0.0, 0.1)),
    Setting("Five arms, one better by 0.1", "steady", (0.0, 0.0, 0.0, 0.0, 0.1)),
    Setting("Two arms, gap 0.1, a steep common trend", "steep", (0.0, 0.1)),
    Setting("Two equal arms", "null", (0.0, 0.1)),
    Setting("Two equal arms, a steep common trend", "null+steep", (0.0, 0.1)),
    Setting("Two equal arms, low outcomes come late", "null+late-failures", (0.0, 0.1)),
)


@dataclass(frozen=True, slots=True)
class Row:
    """What one rule did in one world."""

    rule: Rule
    guarantee: str
    stated: float
    wrong: int
    undecided: int
    runs: int
    regret: Estimate
    time: Estimate

    @property
    def exceeded(self) -> bool:
        """Whether wrong decisions are significantly more frequent than stated."""
        return wilson(self.wrong, self.runs)[0] > self.stated

    @property
    def broken(self) -> bool:
        """Whether that contradicts a proof."""
        return self.exceeded and self.guarantee == "proven"


def row_of(rule: Rule, setting: Setting, runs: int = RUNS) -> Row:
    """Return what a rule does in a world."""
    names = [f"arm {i + 1}" for i in range(len(setting.means))]
    design = bs.Design(names, bs.Gaussian(1), rule, error=ERROR, sides=1, max_units=CAP)
    world = world_of(design, setting.means, setting.name)
    played = bs.simulate(design, runs=runs, seed=1, world=world)
    guarantee: str = design.calibration.guarantee
    if guarantee == "proven" and why_not_covered(design, world) is not None:
        guarantee = "not covered"
    return Row(
        rule,
        guarantee,
        promised_error(design, world),
        int(played.wrong.sum()),
        played.undecided,
        runs,
        Estimate.of(played.regret),
        Estimate.of(played.decision_time),
    )


HEAD = f"""# Rules of other tools, measured

*`make peers` measures this page anew, in about three minutes.*

Here the rules of this package are simulated beside rules of other tools and papers, all at a stated
error of {100 * ERROR:g} %: a worse arm is declared the winner with at most that probability, and
between equal arms any of them with at most twice that. Outcomes are normal with standard deviation
1, and a test ends, undecided, at {CAP:,} units. The other rules are not part of the package's
promises: they can be simulated, audited (`bascule audit thompson`) and compared
(`bascule frontier --peers`), but a live test refuses them.

| rule | who gets the next unit | when the test ends |
|---|---|---|
| `track-and-stop`, as TensorZero | shares at which the weakest comparison grows fastest | $(gap)^2 / (2 (s_1^2/n_1 + s_2^2/n_2)) > \\log((1 + \\log N)/p)$ against every rival, with estimated variances |
| `thompson_0.01`, as GrowthBook | Thompson sampling, each arm at least 1 % | an arm is best with posterior probability $1 - p$ |
| `top-two`, after Qin and Russo (2024) | the first of two posterior draws with probability 0.5 or 0.8, else the next that differs | as track-and-stop, with the known variance |
| `mad`, Liang and Bojinov (2023) | Thompson sampling mixed with an even part $N^{{-0.24}}$ | an asymptotic confidence sequence of outcomes weighted by the inverse probability of their arm |

They look every tenth unit, after ten units of each arm. [The trade-off
page](trade-off.md#what-no-rule-can-beat) has the lower bounds that all rules obey.

*Wrong* is the share of tests that declared a worse arm, or any arm where they are equal, with its
95 % interval; **bold** where it is significantly above what is stated. *Open* is the share that was
undecided at the cap. Regret and units are means with standard errors.
"""


def table(setting: Setting, rows: list[Row]) -> str:
    """Return the section of one world."""
    lines = [
        f"\n## {setting.title}\n",
        "| rule | guarantee | stated | wrong | open | regret | units |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        low, high = wilson(row.wrong, row.runs)
        share = f"{100 * row.wrong / row.runs:.1f} %"
        wrong = f"**{share}**" if row.exceeded else share
        name = f"`{row.rule.label}`" if isinstance(row.rule, Rival) else row.rule.label
        lines.append(
            f"| {name} | {row.guarantee} | {100 * row.stated:g} % | "
            f"{wrong} ({100 * low:.1f}-{100 * high:.1f}) | {100 * row.undecided / row.runs:.0f} % | "
            f"{row.regret} | {row.time} |"
        )
    return "\n".join(lines) + "\n"


def measured(runs: int = RUNS) -> dict[Setting, list[Row]]:
    """Return every rule in every world."""
    return {setting: [row_of(rule, setting, runs) for rule in RULES] for setting in SETTINGS}


def main() -> int:
    """Measure all cells, write the page, and return 1 if a proven error was exceeded."""
    started = time.perf_counter()
    rows = measured()
    text = HEAD + "".join(table(setting, found) for setting, found in rows.items())
    OUT.write_text(text, encoding="utf-8")
    print(text)
    print(f"{time.perf_counter() - started:.0f} s, written to {OUT}")
    return int(any(row.broken for found in rows.values() for row in found))


if __name__ == "__main__":
    sys.exit(main())
