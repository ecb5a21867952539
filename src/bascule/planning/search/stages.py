"""Make a plan in stages, each of which yields a usable plan with better forecasts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bascule.core.design import Design
from bascule.core.errors import InfeasibleError
from bascule.core.inputs import checks
from bascule.core.inputs.checks import tidy
from bascule.core.rules import Rule
from bascule.planning.forecast import (
    Forecast,
    forecast_by,
    forecast_of,
    played_design,
    predicted,
    predicted_at_zero,
)
from bascule.planning.request.request import PlanRequest
from bascule.planning.result import Plan, WhatIf
from bascule.planning.search.alternatives import reach, time_needed
from bascule.planning.search.candidates import by_theory, search, soonest
from bascule.planning.search.choose import Candidate, accepted, best_in_time, nearest
from bascule.planning.search.fixed_horizon import fixed_horizon
from bascule.planning.sweep import Budget, Sweep, unit_weight
from bascule.simulation.engines.backends.threads import Stages
from bascule.simulation.guardrails import can_compile
from bascule.simulation.random import checked_seed
from bascule.theory.guardrails import metric_spread

CASES = {"half": 0.5, "double": 2.0, "zero": 0.0}
"""Other true lifts that a plan shows, as multiples of the requested one."""

PARTS = 5
"""Usual number of simulations of a plan."""

FEWEST = 208
"""Minimum number of simulated runs for a result to be shown as simulated."""

NEAR = 0.03
"""Maximum distance between the predicted probability of a decision in time and the requested power
at which more runs are used to tell them apart."""

MAIN = Budget(steps=6_000_000, fewest=FEWEST, most=2000, longest=800_000)
CLOSE = replace(MAIN, steps=10_000_000)
SIDE = Budget(steps=1_500_000, fewest=FEWEST, most=250, longest=150_000)
WIDE = replace(SIDE, longest=1_000_000)
GUARDED = Budget(steps=100_000_000, fewest=FEWEST, most=1000, longest=2_000_000)
"""Budgets of simulations.

- MAIN: of the recommended design; CLOSE: if its predicted probability of a decision in time is
  unknown or within `NEAR` of the power.
- SIDE: of other designs; WIDE: if theory cannot predict them, as with very many arms.
- GUARDED: of all metrics.

If a run of a design takes more than `longest` steps, its prediction is shown.
"""


def stages(
    request: PlanRequest,
    runs: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Stages | None = None,
    rules: Sequence[Rule] = (),
) -> Iterator[Plan]:
    """Yield plans with better and better forecasts: first from theory, then from simulations.

    A caller that stops early keeps the last plan. `rules` are tried besides the usual ones.
    """
    if runs is not None:
        runs = checks.whole("runs", runs, 2, "leave it out to have it chosen")
    if threads is not None:
        threads = checks.whole("threads", threads, 1, "leave it out to use every core")
    seed = checked_seed(seed)
    planning = _Planning(request, runs, Sweep(seed, threads), progress or _silent)
    for answer in planning.answers(rules):
        sweep = planning.sweep
        yield replace(answer, seconds=sweep.seconds, compile_seconds=sweep.compile_seconds)


class _Planning:
    """The simulations of a plan: their numbers of runs and their progress."""

    def __init__(
        self, request: PlanRequest, runs: int | None, sweep: Sweep, progress: Stages
    ) -> None:
        self.request = request
        self.runs = runs
        self.sweep = sweep
        self.progress = progress
        self.done = 0
        self.side = SIDE

    def answers(self, rules: Sequence[Rule]) -> Iterator[Plan]:
        """Yield the plan as first expected, again after each simulation, and last as complete."""
        request = self.request
        answer = self._expected(rules)
        self.side = SIDE if by_theory(answer.points) else WIDE
        yield answer
        # If a simulated design turns out not to decide in time, the next best one is simulated.
        while answer.chosen.simulated is None:
            expected = answer.chosen.expected
            apart = 0.0 if expected.simulated else abs(expected.decided.mean - request.power)
            budget, days = (CLOSE if apart < NEAR else MAIN), expected.days.mean
            shown = self._play("the design", answer.design, request.means, days, budget)
            if shown is None:
                break
            answer = answer.with_point(answer.chosen.with_simulation(shown))
            answer = replace(answer, rule=_choice(answer.points).rule)
            yield answer
        point = answer.even_point
        if point.simulated is None:
            days = point.expected.days.mean
            shown = self._play(point.rule.label, point.design, request.means, days)
            if shown is not None:
                answer = answer.with_point(point.with_simulation(shown))
                yield answer
        # Designs are chosen by expected costs, but no other one may be better than the chosen one
        # in all simulated figures.
        played = {answer.rule}
        while (better := _better(answer)) is not None:
            if better.rule in played:
                answer = replace(answer, rule=better.rule)
                continue
            played.add(better.rule)
            days = better.expected.days.mean
            shown = self._play(better.rule.label, better.design, request.means, days, MAIN)
            if shown is None:
                break
            answer = answer.with_point(better.with_simulation(shown))
            yield answer
        for case in answer.what_if:
            answer = answer.with_case(self._case(answer, case, CASES[case.name]))
            yield answer
        if answer.design.guardrails:
            answer = replace(answer, guarded=self._guarded(answer))
        yield replace(answer, complete=True)

    def _expected(self, rules: Sequence[Rule]) -> Plan:
        """Return the plan before any simulation, or after a few runs if theory cannot predict.

        These runs have another seed, so that later results do not favour the design that they
        select.
        """
        request = self.request
        pilot = Sweep((self.sweep.seed + 1) % 2**64, self.sweep.threads)
        points = search(request, pilot, self.progress, rules)
        self.sweep.compile_seconds += pilot.compile_seconds
        return Plan(
            request=request,
            rule=_choice(points).rule,
            points=tuple(points),
            what_if=tuple(_case(request, name, factor) for name, factor in CASES.items()),
            reach=reach(request, 1.0 if by_theory(points) else _lateness(points, request)),
            fixed_horizon=fixed_horizon(request),
            seed=self.sweep.seed,
        )

    def _case(self, answer: Plan, case: WhatIf, factor: float) -> WhatIf:
        """Return the forecast of the recommended design at another lift."""
        request, shown = self.request, None
        if case.means is not None:
            # The time is nearly proportional to the inverse square of the lift.
            days = request.deadline_days
            if factor:
                known = answer.expected_days.mean - request.window_days
                days = request.window_days + known / factor**2
            if not factor and answer.chosen.zero is not None:
                days = answer.chosen.zero.days.mean
            shown = self._play(f"{case.name} lift", answer.design, case.means, days)
        return replace(case, forecast=shown or _expected(request, answer.rule, factor))

    def _guarded(self, answer: Plan) -> Forecast | None:
        """Simulate the design with its other metrics, which no arm changes; None if impossible.

        Guardrails of unknown spread and designs without a compiled loop are not simulated.
        """
        request, known = self.request, all(map(metric_spread, answer.design.metrics))
        design = replace(answer.design, outcome=request.played_outcome)
        if not known or design.covariates is not None or not can_compile(design.increasing):
            return None
        self.progress("simulating the guardrails", self.done, PARTS)
        days = max(answer.expected_days.mean, *(need or 0.0 for need in answer.guardrails.values()))
        units = max(1.0, request.traffic.units_after(min(days, request.deadline_days)))
        runs = GUARDED.runs(units * (1 + len(design.guardrails)))
        means = {
            metric.name: (metric.baseline or 0.0,) * len(design.arms) for metric in design.metrics
        }
        try:
            shown = runs and self.sweep.play(design, request.world, runs, metrics=means)
        except InfeasibleError:
            return None
        return forecast_of(shown, request) if shown else None

    def _play(
        self,
        title: str,
        design: Design,
        means: tuple[float, ...],
        days: float,
        main: Budget | None = None,
    ) -> Forecast | None:
        """Return the forecast from simulated runs of a design; None if they would take too long.

        `days` is the expected duration of a run, `main` the budget of the recommended design.
        """
        request = self.request
        self.done = min(self.done + 1, PARTS)
        self.progress(f"simulating {title}", self.done, PARTS)
        units = max(1.0, request.traffic.units_after(min(days, request.deadline_days)))
        played = played_design(request, design)
        runs = (main or self.side).runs(units * unit_weight(played, units))
        if self.runs is not None:
            # `runs` is for the recommended design; others have at least `fewest` runs.
            runs = self.runs if main else max(runs, SIDE.fewest)
        if not runs or not request.can_be_played:
            return None
        world = request.world_at(means)
        return forecast_by(lambda: self.sweep.play(played, world, runs), request, means)


def _better(plan: Plan) -> Candidate | None:
    """Return an accepted design that is better than the recommended one in all respects."""
    chosen = plan.chosen
    better = (
        point
        for point in plan.points
        if point.accepted and point.beats(chosen) and not chosen.beats(point)
    )
    return next(better, None)


def _choice(points: Sequence[Candidate]) -> Candidate:
    """Return the candidate to recommend; if none is in time, the one with the highest power."""
    eligible = accepted(points)
    return best_in_time(eligible) or nearest(eligible)


def _expected(request: PlanRequest, rule: Rule, factor: float) -> Forecast | None:
    """Return the predicted forecast of a rule at another lift."""
    if not factor:
        return predicted_at_zero(request, rule)
    scaled = request.scaled(factor)
    return None if scaled is None else predicted(scaled, rule)


def _case(request: PlanRequest, name: str, factor: float) -> WhatIf:
    """Return a `WhatIf` for another lift, without its forecast."""
    lift = tidy(factor * request.main_lift)
    if factor == 0:
        return WhatIf(name, lift, tuple(request.baseline for _ in request.names))
    scaled = request.scaled(factor)
    return WhatIf(name, lift, None if scaled is None else scaled.means)


def _lateness(points: Sequence[Candidate], request: PlanRequest) -> float:
    """Return the factor that corrects `time_needed`: the ratio of expected to predicted time."""
    first = next(point.expected for point in points if point.rule == soonest(request))
    alone = request.traffic.days_until(time_needed(request)).item()
    taken = first.p90_days - request.window_days
    return taken / alone if math.isfinite(taken) and math.isfinite(alone) else 1.0


def _silent(title: str, number: int, total: int) -> None:
    """Ignore a report of progress."""
