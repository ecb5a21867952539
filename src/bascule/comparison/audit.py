"""The audit of a rule: what it does in one world after the other, beside what is promised of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from bascule.comparison.coverage import promised_error, why_not_covered
from bascule.core import checks
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.outcomes import Bounded, Gaussian, Outcome, Recurrent
from bascule.core.rules import AnyRule
from bascule.simulation import Estimate, Simulation, World, simulate
from bascule.simulation.api import world_of
from bascule.simulation.result import shown
from bascule.simulation.shares import NORMAL_95, wilson
from bascule.simulation.worlds.named_worlds import NAMED, named_world

TIMES_STEADY, SHORTEST_CAP = 5, 20_000
"""The cap on units: so many times what the test needs in a steady world, and never less."""

BATTERY = (*NAMED, "null+steep", "null+late-failures")
"""The worlds of an audit: wrong decisions are likeliest where no arm is better."""

Progress = Callable[[str, int, int], None]
"""Told which world is being played, and how many of how many are done."""

HEADINGS = ("world", "wrong %", "open %", "regret", "units", "promise")


@dataclass(frozen=True, slots=True)
class AuditRow:
    """What a rule did in one world.

    `promised` is the error that its guarantee allows where it covers the world, and `reason` says
    why it does not; intervals have a confidence of 95 %.
    """

    name: str
    world: World
    runs: int
    wrong: int
    undecided: int
    regret: Estimate
    decision_time: Estimate
    promised: float
    reason: str | None

    @property
    def error_rate(self) -> float:
        """Share of runs with a wrong decision."""
        return self.wrong / self.runs

    @property
    def error_interval(self) -> tuple[float, float]:
        """Where the probability of a wrong decision lies (Wilson's interval)."""
        return wilson(self.wrong, self.runs)

    @property
    def broken(self) -> bool:
        """Whether wrong decisions are significantly more frequent than the design promises."""
        return self.error_interval[0] > self.promised

    def cells(self) -> tuple[str, ...]:
        """The row in words, under `HEADINGS`."""
        low, high = (_percent(end) for end in self.error_interval)
        mark = "!" if self.broken else ""
        return (
            self.name,
            f"{100 * self.error_rate:.1f}{mark} ({low}-{high})",
            f"{100 * self.undecided / self.runs:.0f}",
            _within(self.regret),
            _within(self.decision_time),
            "holds" if self.reason is None else "not covered",
        )

    def to_dict(self) -> dict[str, Any]:
        """The row as plain data."""
        return {
            "name": self.name,
            "world": self.world.to_dict(),
            "error_rate": self.error_rate,
            "error_interval": list(self.error_interval),
            "undecided": self.undecided,
            "regret": _plain(self.regret),
            "decision_time": _plain(self.decision_time),
            "promised": self.promised,
            "covered": self.reason is None,
            "reason": self.reason,
            "broken": self.broken,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Audit:
    """A rule in a battery of worlds, one row each."""

    design: Design
    means: tuple[float, ...]
    runs: int
    seed: int
    rows: tuple[AuditRow, ...]
    seconds: float

    @property
    def title(self) -> str:
        """What was audited, in two lines."""
        promise = self.design.calibration
        return (
            f"{self.design.rule.label}, error at most {promise.error:.3g} ({promise.guarantee})\n"
            f"means {shown(self.means)}; {self.runs:,} runs in each world, "
            f"of at most {self.design.max_units:,} units"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Why some worlds are not covered, and what the marks mean."""
        reasons: dict[str, list[str]] = {}
        for row in self.rows:
            if row.reason is not None:
                reasons.setdefault(row.reason, []).append(row.name)
        notes = [f"  {', '.join(names)}: {reason}" for reason, names in reasons.items()]
        if notes:
            notes.insert(0, "Not covered by the proof:")
        if any(row.promised > self.design.calibration.error for row in self.rows):
            notes.append("Where no arm is the best, twice the error is promised.")
        if any(row.broken for row in self.rows):
            notes.append("! More wrong decisions than promised, by more than chance.")
        return (*notes, "Open: undecided at the cap. Intervals have a confidence of 95 %.")

    def to_dict(self) -> dict[str, Any]:
        """The audit as plain data; `bascule audit --json` prints it."""
        promise = self.design.calibration
        return {
            "rule": self.design.rule.label,
            "error": promise.error,
            "guarantee": promise.guarantee,
            "delta": promise.delta,
            "means": list(self.means),
            "runs": self.runs,
            "seed": self.seed,
            "max_units": self.design.max_units,
            "worlds": [row.to_dict() for row in self.rows],
            "seconds": self.seconds,
        }

    def to_frame(self) -> Any:
        """The rows as a pandas data frame (pandas has to be installed)."""
        import pandas

        return pandas.DataFrame([_flat(row) for row in self.rows])

    def table(self) -> list[str]:
        """The headings and the rows as lines of text, within 80 columns as a rule."""
        table = [HEADINGS, *(row.cells() for row in self.rows)]
        widths = [max(len(cells[i]) for cells in table) for i in range(len(HEADINGS))]
        lines = []
        for cells in table:
            first, *middle, last = zip(cells, widths, strict=True)
            amounts = "  ".join(f"{cell:>{width}}" for cell, width in middle)
            lines.append(f"{first[0]:<{first[1]}}  {amounts}  {last[0]}")
        return lines

    def __repr__(self) -> str:
        return "\n".join([self.title, "", *self.table(), "", *self.notes])

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str) -> str:
            inner = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
            return f"<tr>{inner}</tr>"

        body = "".join(row(line.cells(), "td") for line in self.rows)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        head = row(HEADINGS, "th")
        return f"<table><caption>{escape(self.title)}</caption>{head}{body}</table>{notes}"


def audit(
    rule: AnyRule,
    means: Sequence[float] | None = None,
    outcome: Outcome | None = None,
    error: float | None = None,
    delta: float | None = None,
    runs: int = 400,
    seed: int = 0,
    worlds: Sequence[str] | None = None,
    max_units: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Play a rule in a battery of worlds, and say which of them its guarantee covers.

    Without `worlds` it is all of `BATTERY` that the outcomes allow. Without `max_units` a run ends,
    undecided, at 5 times the units that the test needs on average when nothing goes wrong.

    >>> import bascule as bs
    >>> report = bs.audit(bs.Tilt(3), [0, 1], runs=50, worlds=["steady", "null"])
    >>> [row.broken for row in report.rows]
    [False, False]
    """
    runs = checks.whole("runs", runs, 2, "400 is a good start")
    outcome = Gaussian(1.0) if outcome is None else outcome
    if isinstance(outcome, Recurrent):
        raise InputError(
            "outcome",
            "outcome must be one that a unit gives once: the worlds of an audit have no others",
        )
    wanted = usual_means(outcome) if means is None else means
    names = [f"arm {i + 1}" for i in range(len(wanted))]
    free = Design(names, outcome, rule, error=error, delta=delta, max_units=max_units)
    base = world_of(free, wanted)
    battery = tuple(_battery(base, outcome, worlds))
    started = time.perf_counter()
    steady = simulate(free, wanted, runs, seed, threads)
    cap = max_units or max(SHORTEST_CAP, math.ceil(TIMES_STEADY * steady.decision_time.mean()))
    design = Design(names, outcome, rule, error=error, delta=delta, max_units=cap)
    rows = []
    for done, (name, world) in enumerate(battery):
        if progress is not None:
            progress(name, done, len(battery))
        rows.append(_row(name, simulate(design, None, runs, seed, threads, world=world)))
    return Audit(design, base.start, runs, seed, tuple(rows), time.perf_counter() - started)


def usual_means(outcome: Outcome) -> tuple[float, float]:
    """Means for an audit that is given none: a difference of moderate size.

    >>> usual_means(Gaussian(2.0))
    (0.0, 0.2)
    """
    if isinstance(outcome, Gaussian):
        return 0.0, outcome.sigma / 10
    if isinstance(outcome, Bounded):
        return outcome.low + 0.50 * outcome.scale, outcome.low + 0.55 * outcome.scale
    return 0.10, 0.12


def _battery(
    base: World, outcome: Outcome, names: Sequence[str] | None
) -> Iterator[tuple[str, World]]:
    for name in BATTERY if names is None else names:
        try:
            yield name, named_world(name, base, outcome)
        except InputError:
            # A world that these outcomes cannot have is left out unless somebody asked for it.
            if names is not None:
                raise


def _row(name: str, result: Simulation) -> AuditRow:
    summary = result.summary()
    return AuditRow(
        name=name,
        world=result.world,
        runs=result.runs,
        wrong=int(result.wrong.sum()),
        undecided=result.undecided,
        regret=summary["regret"],
        decision_time=summary["decision_time"],
        promised=promised_error(result.design, result.world),
        reason=why_not_covered(result.design, result.world),
    )


def _percent(share: float) -> str:
    """A share in two or three digits."""
    return f"{100 * share:.1f}" if share < 0.0995 else f"{100 * share:.0f}"


def _within(estimate: Estimate) -> str:
    """An estimate with its interval of 95 %, of which one digit is enough, in four digits."""
    half = NORMAL_95 * estimate.se
    if not half > 0:
        return f"{estimate.mean:,.6g}"
    size = max(1.0, abs(estimate.mean))
    places = max(0, min(-math.floor(math.log10(half)), 3 - math.floor(math.log10(size))))
    return f"{estimate.mean:,.{places}f} ± {half:,.{places}f}"


def _plain(estimate: Estimate) -> dict[str, Any]:
    half = NORMAL_95 * estimate.se
    return {
        "mean": estimate.mean,
        "se": estimate.se,
        "interval": [estimate.mean - half, estimate.mean + half],
    }


def _flat(row: AuditRow) -> dict[str, Any]:
    low, high = row.error_interval
    return {
        "world": row.name,
        "error_rate": row.error_rate,
        "error_low": low,
        "error_high": high,
        "undecided": row.undecided,
        "regret": row.regret.mean,
        "regret_se": row.regret.se,
        "decision_time": row.decision_time.mean,
        "decision_time_se": row.decision_time.se,
        "promised": row.promised,
        "reason": row.reason,
        "broken": row.broken,
    }
