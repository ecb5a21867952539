"""The page on peeking."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

HEAD = """# Peeking

```{{index}} ! peeking, ! optional stopping, ! false positive, looking early, p-value; daily looks
```

*`python -m bench.peeking {logs}` measured this page. `make peeking` draws 2,000
logs of each kind, which takes about a quarter of an hour on one core.*

Anyone who looks at a test every day and stops at the first good moment finds a winner where there
is none, unless the limits allow for every look. Here {logs:,} logs of each kind were drawn in which
both arms are equal, and each was analysed at the end of each of {days} days. The share of logs that
had a winner on *any* of these days is what peeking costs. The logs are drawn as tables of daily
sums, which is what [a log](../using/analyse-logs.md) is reduced to, and answered by the functions
that answer real ones.

The error here is one-sided (`sides=1`): with 5 %, a worse arm is declared the winner with
probability 5 % at most. Where arms are equal none is worse, and *each* of the two may be declared
the winner that often. So the bound is 5 % for the last column of a table, and twice as much for
the one before it, which counts either arm. ± is one standard error; where no
log of {logs:,} had a winner, the share may still be up to {room:.2g} % (at 95 % confidence).

"""

PROVEN = """## Proven, and exact for normal outcomes

{table}

{words}

The rule "as published" has a nominal delta of 0.5, at which nothing is proven of it: its stated
error is 100 %.

"""

ASYMPTOTIC = """## Asymptotic

If neither limits nor spreads of the outcomes are known, they are taken from the log itself. That is
right in the long run, and nothing is proven of the short one. This is how often it found a winner:

{table}

{words}

Where outcomes are rare and large and one arm is small, its own spread looks too small until the
first large outcome comes. Judged by its own spread alone, the other arm would win far too often in
the meantime: in 28.5 % of the logs with one unit in ten in the small arm, and in 42.7 % with one in
twenty (600 logs of 100 days each). So the spread of an arm is
[the larger of its own and that of both arms](analyse.md#neither-spread-nor-limits), and nothing is
decided before each arm has 20 times its squared skewness in units. State limits,
`outcome=bs.Bounded(0, 100)`, and the answer is proven.

"""

TAIL = """## The worlds

- *0/1 outcomes*: the rate swings by a third over the week.
- *Spending*: one unit in twenty buys, for a log-normal amount that is cut at 100.
- *A split that moves*: each day 70 % of the units go to the arm that did better the day before, and
  the probability of each unit's arm is logged.
- *Probabilities .01 and .99*: 50 units a day, one in a hundred of them in the first arm, with the
  probability of each unit's arm logged.
- *Outcomes that grow for a week*: each unit adds to its outcome on seven days, and is counted as it
  stands.

Counts of units are Poisson. A look each day is what the analysis does; looking more often, or for
longer, cannot break what is proven.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of log: how many were drawn, and how many had a winner, by arm, the most first."""

    name: str
    evidence: str
    guarantee: str
    error: float
    logs: int
    sides: tuple[int, ...]

    @property
    def share(self) -> float:
        """The part of the logs with a winner."""
        return sum(self.sides) / self.logs

    @property
    def larger(self) -> float:
        """The part of the logs that the arm with the most wins has won."""
        return max(self.sides, default=0) / self.logs

    @property
    def se(self) -> float:
        """The standard error of the share."""
        return math.sqrt(self.share * (1.0 - self.share) / self.logs)


def page(rows: Sequence[Row], days: int) -> str:
    """All rows as a page of the documentation."""
    proven = [row for row in rows if row.guarantee != "asymptotic"]
    rest = [row for row in rows if row.guarantee == "asymptotic"]
    return (
        HEAD.format(logs=rows[0].logs, days=days, room=300.0 / rows[0].logs)
        + PROVEN.format(table=_table(proven), words=_worst([r for r in proven if r.error < 1.0]))
        + ASYMPTOTIC.format(table=_table(rest), words=_worst(rest))
        + TAIL
    )


def _table(rows: Sequence[Row]) -> str:
    lines = ["| log | evidence | guarantee | stated | a winner | the arm with more |"]
    lines.append("|---|---|---|---:|---:|---:|")
    lines += [
        f"| {row.name} | {row.evidence} | {row.guarantee} | {100 * row.error:g} % "
        f"| {100 * row.share:.2f} ± {100 * row.se:.2f} % | {100 * row.larger:.2f} % |"
        for row in rows
    ]
    return "\n".join(lines)


def _worst(rows: Sequence[Row]) -> str:
    worst = max(rows, key=lambda row: row.share)
    most = f"The most is {100 * worst.share:.2f} % of the logs ({worst.name}, {worst.evidence})"
    if worst.share <= worst.error:
        return f"{most}: below the {100 * worst.error:g} % that were asked for."
    return f"{most}: above the {100 * worst.error:g} % that were asked for."
