"""How figures are taken: in pairs with their reference, so that a busy machine slows both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

ROUNDS = 7


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table. `ratio` is value over reference; `target` says which way is good."""

    name: str
    value: float
    reference: float
    ratio: float
    target: str
    unit: str
    against: str

    @property
    def met(self) -> bool | None:
        """Whether the ratio is on the right side of its target, if it has one."""
        if not self.target:
            return None
        bound = float(self.target.split()[-1])
        return self.ratio >= bound if self.target.startswith(">=") else self.ratio <= bound

    def to_dict(self) -> dict[str, float | str]:
        """The row as it stands in bench.json."""
        return {key: value for key, value in asdict(self).items() if key != "name"}


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def core_seconds(work: Callable[[], object]) -> float:
    """How long one call keeps a core busy, whatever else the machine does meanwhile."""
    started = time.process_time()
    work()
    return time.process_time() - started


def compare(
    name: str,
    value: Callable[[], float],
    reference: Callable[[], float],
    *,
    target: str = "",
    unit: str,
    against: str,
    rounds: int = ROUNDS,
) -> Figure:
    """Measure value and reference in turns and take the median of the ratios."""
    pairs = [(value(), reference()) for _ in range(rounds)]
    return Figure(
        name=name,
        value=statistics.median(v for v, _ in pairs),
        reference=statistics.median(r for _, r in pairs),
        ratio=statistics.median(v / r for v, r in pairs),
        target=target,
        unit=unit,
        against=against,
    )


def show(figures: list[Figure]) -> None:
    """Print figures as a table; a target that is missed is printed as such."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column("what")
    for heading in ("value", "reference", "ratio", "target"):
        table.add_column(heading, justify="right")
    table.add_column("unit; reference")
    for row in figures:
        mark = {True: "met", False: "MISSED", None: ""}[row.met]
        table.add_row(
            row.name,
            f"{row.value:,.3g}" if row.value < 1000 else f"{row.value:,.0f}",
            f"{row.reference:,.3g}" if row.reference < 1000 else f"{row.reference:,.0f}",
            f"{row.ratio:,.2f}" if row.ratio < 100 else f"{row.ratio:,.0f}",
            f"{row.target} {mark}".strip(),
            f"{row.unit}; {row.against}",
        )
    Console(width=150).print(table)
