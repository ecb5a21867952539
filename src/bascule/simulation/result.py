"""The result of a simulation: every run as a row, and summaries with their uncertainty."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bascule.core.design import Design
from bascule.core.errors import InputError, NoPredictionError
from bascule.core.gaps import rival_gaps
from bascule.core.inputs.serialization import finite_data
from bascule.core.presenter import Reported, presenter
from bascule.core.types import NO_DIFFERENCE, NOBODY, FloatArray, IntArray
from bascule.simulation.engines.backends.cluster import PlayedColumns, Task
from bascule.simulation.guardrails import BoolArray, GuardedRuns
from bascule.simulation.recurrent.runs import EngineName
from bascule.simulation.worlds.world import World
from bascule.theory import Bounds, Prediction, bounds, predict, published_bounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure


QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over runs and its standard error.

    >>> print(Estimate(12.3456, 0.1234))
    12.35 ± 0.12
    """

    mean: float
    se: float

    @classmethod
    def of(cls, values: FloatArray | IntArray) -> Estimate:
        """Return the mean of a column and its standard error, which is nan for a single run."""
        runs = len(values)
        se = float(np.std(values, ddof=1)) / math.sqrt(runs) if runs > 1 else math.nan
        return cls(float(np.mean(values)), se)

    def __str__(self) -> str:
        # With equal numbers the standard error is only a rounding error.
        if not 1e-12 * abs(self.mean) < self.se < math.inf:
            return f"{self.mean:,.6g}"
        places = max(0, 1 - math.floor(math.log10(self.se)))
        return f"{self.mean:,.{places}f} ± {self.se:,.{places}f}"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Simulation(Reported):
    """The runs of one design in one world.

    The arrays have a row for each run. A run that reached the cap counts with the units and the
    regret that it had then; its time includes the wait for outcomes under way.
    """

    design: Design
    world: World
    seed: int
    winner: IntArray
    """Index of the winner; -1 for undecided, -2 for no difference that matters."""
    decision_time: IntArray
    """Number of units that had arrived, or of stages if all units are there from the start."""
    regret: FloatArray
    """Loss in outcome units, compared with giving every unit the arm that was best at its time."""
    units: IntArray
    """Number of units of each arm, with a column for each arm."""
    steps: int
    """Number of simulated units in all runs."""
    seconds: float
    """Seconds that the simulation took, without the time for compiling."""
    compile_seconds: float
    """Seconds that compiling took."""
    engine: EngineName | None = None
    """How outcomes were drawn; None if no engine was named and outcomes do not recur."""
    accuracy: float = 0.0
    """Largest relative error of variances with `Recurrent` outcomes; 0 if all were drawn."""
    guarded: GuardedRuns | None = None
    """What guardrails did; None if the design has no other metrics."""

    @classmethod
    def of(cls, task: Task, columns: PlayedColumns, seconds: float) -> Simulation:
        """Return the simulation whose runs gave these columns."""
        return cls(
            task.design,
            task.world,
            task.seed,
            columns.winners,
            columns.times,
            columns.regret,
            columns.units,
            columns.effort.steps,
            seconds,
            columns.effort.compile_seconds,
            columns.engine,
            columns.accuracy,
        )

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.winner)

    @property
    def wrong(self) -> BoolArray:
        """Whether each run declared a wrong winner; if the best arms are tied, any winner is wrong.

        The means at the time of the decision count. "No difference that matters" is wrong if every
        rival lies `min_effect` or more below the best.
        """
        change = self.world.change
        late = self.decision_time > (math.inf if change is None else change.at)
        means_checked = tuple(self._oriented(means) for means in (self.world.end, self.means))
        right = np.where(late, *map(_best, means_checked))
        missed = np.where(late, *map(self._matters, means_checked))
        flags: BoolArray = np.where(
            self.winner == NO_DIFFERENCE, missed, (self.winner != NOBODY) & (self.winner != right)
        )
        # No arm is declared best if guardrails decide, or if all arms but the control are harmful.
        if self.design.decides == "guardrails":
            return np.zeros(self.runs, np.bool_)
        return flags if self.guarded is None else flags & ~self.guarded.by_harm

    def _matters(self, means: tuple[float, ...]) -> bool:
        return min(rival_gaps(means)) >= (self.design.min_effect or 0.0)

    @property
    def error_rate(self) -> float:
        """Share of runs with a wrong decision."""
        return float(np.mean(self.wrong))

    @property
    def undecided(self) -> int:
        """Number of runs that ended without a decision, at the cap on units or by their plan."""
        return int(np.sum(self.winner == NOBODY))

    @property
    def no_difference(self) -> int:
        """Number of runs that found no difference that matters."""
        return int(np.sum(self.winner == NO_DIFFERENCE))

    @property
    def share(self) -> tuple[float, ...]:
        """Fraction of all units that each arm got."""
        return tuple(float(x) for x in self.units.sum(axis=0) / self.units.sum())

    def summary(self) -> dict[str, Estimate]:
        """Return the mean and standard error of regret, decision time and error rate, by name."""
        return {
            "regret": Estimate.of(self.regret),
            "decision_time": Estimate.of(self.decision_time),
            "error_rate": Estimate.of(self.wrong.astype(np.float64)),
        }

    def quantiles(self, at: Sequence[float] = QUANTILES) -> dict[str, tuple[float, ...]]:
        """Return quantiles of regret and decision time over the runs, by name.

        `at` has the probabilities of the quantiles.
        """
        return {
            "regret": tuple(float(x) for x in np.quantile(self.regret, at)),
            "decision_time": tuple(float(x) for x in np.quantile(self.decision_time, at)),
        }

    def columns(self) -> dict[str, Any]:
        """Return the runs as arrays by name; `units_NAME` has the units of the arm `NAME`."""
        table: dict[str, Any] = {
            "run": np.arange(self.runs),
            "winner": self.winner,
            "decision_time": self.decision_time,
            "regret": self.regret,
        }
        for arm, name in enumerate(self.design.arms):
            table[f"units_{name}"] = self.units[:, arm]
        return table

    def to_frame(self) -> Any:
        """Return the runs as a pandas data frame (pandas has to be installed)."""
        import pandas

        return pandas.DataFrame(self.columns())

    def plot(self) -> Figure:
        """Draw histograms of regret and decision time."""
        figure: Figure = presenter("simulation").plot_simulation(self)
        return figure

    @property
    def means(self) -> tuple[float, ...]:
        """The means of the arms, before any change."""
        return self.world.start

    @property
    def plain(self) -> bool:
        """Whether the world met all assumptions of the design."""
        return self.world.plain_for(self.design.outcome)

    @property
    def time_label(self) -> str:
        """Label of the decision time, which counts stages if all units are there from the start."""
        return "decision time" if self.time_unit == "units" else "stages to decide"

    @property
    def time_unit(self) -> str:
        """The unit of a decision time: units, or stages if all units are there from the start."""
        return "stages" if self.design.procedure.assigns == "hash" else "units"

    @property
    def tied(self) -> bool:
        """Whether the best means are equal when the test starts, so that no arm is the best."""
        return min(rival_gaps(self._oriented(self.means))) == 0

    def _oriented(self, means: Sequence[float]) -> tuple[float, ...]:
        """Return means, reflected if needed so that the highest is the best."""
        return tuple(self.design.oriented(mean) for mean in means)

    def predicted(self) -> Prediction | None:
        """Return the predicted regret and decision time; None if theory cannot predict them.

        It cannot if the best means are equal, or in a world that breaks the design's assumptions.
        """
        means = self._oriented(self.means)
        gaps = rival_gaps(means)
        try:
            if self.plain and min(gaps) > 0:
                return predict(self.design.increasing, gaps, best=max(means))
            return None
        except NoPredictionError:
            return None

    def proven(self) -> Bounds | None:
        """Return proven bounds on regret and decision time; None if there are none."""
        return self._bounds(bounds)

    def published(self) -> Bounds | None:
        """Return the paper's bounds on regret and decision time, corrected; None if it has none."""
        return self._bounds(published_bounds)

    def _bounds(self, find: Callable[[Design, Sequence[float]], Bounds]) -> Bounds | None:
        gaps = rival_gaps(self._oriented(self.means))
        try:
            return find(self.design, gaps) if self.plain and min(gaps) > 0 else None
        except InputError:
            return None

    @property
    def unplayed(self) -> tuple[str, ...]:
        """Parts of the design that were not simulated, as the world has no `units_per_day`.

        A part is "window" or "calendar" (a minimum duration or whole weeks).
        """
        has_window = bool(self.design.matures(0.0)) and self.world.delay is None
        has_calendar = self.design.withholds and self.world.units_per_day is None
        return ("window",) * has_window + ("calendar",) * has_calendar

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data; `bascule simulate --json` prints it."""
        summary = self.summary()
        promise = self.design.calibration
        data: dict[str, Any] = {
            "rule": self.design.rule.label,
            "runs": self.runs,
            "regret": finite_data(summary["regret"]),
            "decision_time": finite_data(summary["decision_time"]),
            "error_rate": self.error_rate,
            "undecided": self.undecided,
            "share": list(self.share),
            "guarantee": promise.guarantee,
            "delta": promise.delta,
            "steps": self.steps,
            "seconds": self.seconds,
        }
        if self.design.min_effect is not None:
            data["no_difference"] = self.no_difference
        if self.engine is not None:
            data.update(engine=self.engine, accuracy=self.accuracy)
        if self.world.units_per_day is not None:
            data["days"] = finite_data(self.days)
        if self.unplayed:
            data["not_played"] = list(self.unplayed)
        if self.world.extras or self.world.units_per_day is not None:
            data["world"] = self.world.to_dict()
        if self.guarded is not None:
            data["metrics"] = self.guarded.to_dict(self.winner)
        return data

    @property
    def days(self) -> Estimate:
        """The mean decision time in days; nan if the world has no `units_per_day`."""
        time, daily = self.summary()["decision_time"], self.world.units_per_day or math.nan
        return Estimate(time.mean / daily, time.se / daily)

    def report(self) -> Any:
        """Return the report of the simulation: its figures in words, and what theory predicts."""
        return presenter("simulation").report(self)


def _best(means: Sequence[float]) -> int:
    """Return the arm with the highest mean, or `NOBODY` if several arms share it."""
    best = max(means)
    return means.index(best) if list(means).count(best) == 1 else NOBODY


NORMAL_95 = 1.959963984540054
"""Standard errors on either side of an estimate for a confidence of 95 %."""


def wilson(count: int, runs: int) -> tuple[float, float]:
    """Return Wilson's 95 % confidence interval for a probability, from `count` of `runs` runs.

    >>> [round(end, 3) for end in wilson(0, 400)]
    [0.0, 0.01]
    """
    share, square = count / runs, NORMAL_95**2 / runs
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(square * share * (1 - share) + square**2 / 4) / (1 + square)
    return (
        max(0.0, middle - half) if count else 0.0,
        min(1.0, middle + half) if count < runs else 1.0,
    )


def share_estimate(count: int, runs: int) -> Estimate:
    """Return the share `count / runs` and its standard error, which is never 0.

    The standard error is computed as if there were two more runs that count and two that do not.

    >>> print(share_estimate(400, 400))
    1.0000 ± 0.0035
    """
    pulled = (count + 2) / (runs + 4)
    return Estimate(count / runs, math.sqrt(pulled * (1 - pulled) / (runs + 4)))
