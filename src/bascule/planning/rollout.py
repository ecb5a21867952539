"""Plan a guarded rollout: when it is rolled out or back, and how many users get it before.

The new version is compared with the present one in even blocks while its share of the traffic is
raised by a schedule. Guardrails with a known spread are simulated by the path of their evidence at
the looks, which has the same distribution as a test. Others are played unit by unit in a compiled
loop, unless that takes too long: then normal paths with the same spread are an approximation, and
the plan says so. The guarantees do not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bascule.core.calendar import DAY
from bascule.core.design import Design
from bascule.core.design_parts import DEFAULT_HARM_ERROR, Reports
from bascule.core.errors import InputError
from bascule.core.evidence.normal import mixture_boundary
from bascule.core.inputs import checks
from bascule.core.metrics.guard_rule import WAITING_STEPS
from bascule.core.metrics.measure import Measure
from bascule.core.metrics.metric import Goal, Metric, check_metrics
from bascule.core.outcomes import Gaussian, Outcome
from bascule.core.rules import Tilt
from bascule.core.types import FloatArray, IntArray
from bascule.planning.request.arrivals import Arrivals, Returning, Steady, Traffic
from bascule.planning.request.checks import arm_names
from bascule.planning.request.options import PLAN
from bascule.planning.rollout_result import Ramp, Rollout, RolloutCase, rollout_steps, traffic_of
from bascule.simulation import simulate
from bascule.simulation.guardrails import BoolArray
from bascule.theory.guardrails import metric_spread

RUNS_AT_ONCE = 1000

TRUTHS = {
    "unchanged": 0.0,
    "worse by half its margin": 0.5,
    "at its margin": 1.0,
    "worse by twice its margin": 2.0,
}
"""The cases of each metric, and how many margins it loses in each, as far as limits allow."""

UNCHANGED = "unchanged"

PATHS, FEWEST, DRAWS = 1000, 200, 2e8
"""Rollouts of a case by default, the fewest that are played unit by unit, and the most outcomes
that are drawn for all of them together, which takes a few seconds."""


def plan_rollout(
    metrics: Sequence[Metric],
    ramp: Ramp,
    units_per_day: float | str | Returning = 5000.0,
    *,
    deadline_days: float | str = 28.0,
    harm_error: float | str = DEFAULT_HARM_ERROR,
    arms: int | Sequence[str] | None = None,
    outcome: Outcome | None = None,
    goal: Goal | None = None,
    measure: Measure | None = None,
    reports: Reports | None = None,
    runs: int | None = None,
    seed: int = 0,
) -> Rollout:
    """Plan a rollout whose guardrails are `metrics`, at the shares of new versions in `ramp`.

    Parameters
    ----------
    metrics
        The guardrails, and secondary metrics.
    ramp
        Pairs of a time since the start and the share of the users who get a new version, all new
        versions together.
    units_per_day
        New units a day, or `Returning(users, requests_per_day)` for users who come back; ratios
        that are shares then need no spread.
    deadline_days
        Days by which the rollout should have ended; they include the longest window.
    harm_error
        Bound on the probability that a version without harm is rolled back.
    arms
        Names of the versions, the present one first, or their number. Of several new versions the
        first one that every guardrail allows is shipped; in the cases of the plan all are alike.
    outcome, goal, measure
        Of the primary metric, which is shown and does not decide. Without an outcome it is the
        first guardrail, whose outcomes are then recorded under both names.
    reports
        With "always" every unit reports an outcome, and no window is needed.
    runs
        Number of simulated rollouts of each kind; 1,000 if not given, or fewer where units are
        simulated one by one.
    seed
        Seed of the random numbers.

    Examples
    --------
    >>> import bascule as bs
    >>> latency = bs.Metric("latency", bs.Gaussian(30), goal="decrease", margin=3)
    >>> plan = plan_rollout([latency], [("0d", 0.01), ("1d", 0.1), ("3d", 0.5)], 10_000)
    >>> [case.name for case in plan.cases]  # doctest: +NORMALIZE_WHITESPACE
    ['unchanged', 'latency worse by half its margin', 'latency at its margin',
     'latency worse by twice its margin']

    """
    names = arm_names(2 if arms is None else arms, None, "present", "new")
    ramp_steps = rollout_steps(ramp, len(names))
    arrivals: Arrivals = (
        units_per_day
        if isinstance(units_per_day, Returning)
        else Steady(PLAN["units_per_day"].read(units_per_day))
    )
    days = PLAN["deadline_days"].read(deadline_days)
    if runs is not None:
        runs = checks.whole("runs", runs, 1, "1000 is a good start", 100_000)
    given = [metrics] if isinstance(metrics, Metric) else [*metrics]
    if isinstance(arrivals, Returning):
        given = [arrivals.expected(one) if isinstance(one, Metric) else one for one in given]
    measured = measure or next((one.measure for one in given if isinstance(one, Metric)), None)
    guardrails = [metric for metric in check_metrics(given, measured) if metric.is_guardrail]
    if not guardrails:
        raise InputError("metrics", "a rollout needs at least one guardrail: give Metric(...)")
    first = guardrails[0]
    wait = max((_wait(one) for one in (measured, *(m.measure for m in given))), default=0.0)
    if wait >= days:
        raise InputError(
            "deadline_days",
            f"deadline_days ({days:g}) must be longer than the longest window ({wait:g} days)",
        )
    traffic = Traffic(arrivals, traffic_of(ramp_steps, len(names)), wait)
    cap = traffic.units_after(days - wait)
    design = Design(
        names,
        first.outcome if outcome is None else outcome,
        Tilt(1),
        measure=measured,
        goal=goal or (first.goal if outcome is None else "increase"),
        reports=reports,
        metrics=given,
        harm_error=PLAN["harm_error"].read(harm_error),
        decides="guardrails",
        max_units=max(6, math.floor(cap)),
    )
    for metric in guardrails:
        # Raises if the spread is not known.
        _spread(metric)
    kinds = 1 + sum(len(_losses(metric)) - 1 for metric in guardrails)
    affordable = DRAWS / (kinds * (1 + len(guardrails)) * cap)
    known = len(names) == 2 and all(metric.outcome.known_spread for metric in guardrails)
    played = not known and (runs is not None or affordable >= FEWEST or len(names) > 2)
    if runs is None:
        runs = max(1, min(PATHS, int(affordable))) if played else PATHS
    simulated = _played_cases if played else _cases_by_paths
    cases = simulated(design, traffic, cap, runs, seed)
    return Rollout(design, ramp_steps, arrivals, days, runs, tuple(cases), played)


def _losses(metric: Metric) -> list[tuple[str, float]]:
    """Return by how much a new version may be worse on a guardrail, in words and as a number."""
    assert metric.margin is not None
    losses = [(name, times * metric.margin) for name, times in TRUTHS.items()]
    outcome, baseline = metric.outcome, metric.baseline
    if not outcome.limited or baseline is None:
        return losses
    most = baseline - outcome.low if metric.goal == "increase" else outcome.high - baseline
    possible = [(name, loss) for name, loss in losses if loss <= most]
    if len(possible) < len(losses):
        possible.append((f"worse by {most:.3g}, the largest possible loss", most))
    return possible


def _wait(measure: Measure | None) -> float:
    """Return the days from a unit's arrival until it counts."""
    return 0.0 if measure is None else measure.matures(0.0) / DAY


def _played_cases(
    design: Design, traffic: Traffic, cap: float, runs: int, seed: int
) -> list[RolloutCase]:
    """Play rollouts unit by unit; the primary metric does not decide, so any outcomes will do."""
    metrics = tuple(replace(metric, measure=None) for metric in design.metrics)
    alike = {"goal": "increase", "measure": None, "reports": None, "metrics": metrics}
    one = replace(design, outcome=Gaussian(1.0), **alike)  # type: ignore[arg-type]
    new = len(design.arms) - 1
    same = {metric.name: (metric.baseline or 0.0,) * (1 + new) for metric in metrics}
    worlds = [(UNCHANGED, same)]
    for metric in one.guardrails:
        base, sign = metric.baseline or 0.0, 1.0 if metric.goal == "decrease" else -1.0
        worlds += [
            (f"{metric.name} {name}", {**same, metric.name: (base, *(base + sign * loss,) * new)})
            for name, loss in _losses(metric)[1:]
        ]
    cases = []
    for name, means in worlds:
        result = simulate(one, (0.0,) * (1 + new), runs, seed, metrics=means)
        assert result.guarded is not None
        days = traffic.window_days + traffic.days_until(result.decision_time.astype(float))
        # Others come while the last windows are open.
        exposed = (1.0 - result.share[0]) * np.minimum(cap, traffic.units_by(days))
        cases.append(_case(name, result.winner >= 1, result.guarded.by_harm, days, exposed))
    return cases


def _looks(cap: float) -> FloatArray:
    """Return after how many units a rollout in blocks of two is looked at, up to a cap.

    >>> _looks(10).tolist(), len(_looks(1e6))
    ([2.0, 4.0, 6.0, 8.0, 10.0], 952)
    """
    first, last = math.floor(WAITING_STEPS * math.log(WAITING_STEPS)), max(cap, 4.0)
    later = np.exp(np.arange(first, WAITING_STEPS * math.log(last)) / WAITING_STEPS)
    every = np.arange(2.0, min(last, WAITING_STEPS) + 1.0, 2.0)
    looks: FloatArray = np.unique(np.concatenate([every, 2.0 * np.ceil(later / 2.0)]))
    return looks[looks <= last]


def _cases_by_paths(
    design: Design, traffic: Traffic, cap: float, runs: int, seed: int
) -> list[RolloutCase]:
    """Draw the evidence of all guardrails at the looks, as if outcomes were normal."""
    units = _looks(cap)
    looks = len(units)
    days_at = traffic.window_days + traffic.days_until(units)
    exposed_at = 0.5 * np.minimum(cap, traffic.units_by(days_at))
    chance = np.random.default_rng(seed)
    paths = [
        _paths(design, which, units, runs, chance)
        for which, metric in enumerate(design.metrics)
        if metric.is_guardrail
    ]
    within, back = (np.array(columns) for columns in zip(*paths, strict=True))
    # Each metric is drawn once, and every case takes its runs from there.
    out_but, back_but = _largest_but_one(within[:, 0]), -_largest_but_one(-back[:, 0])

    def case(name: str, out: IntArray, harmed: IntArray) -> RolloutCase:
        end = np.minimum(np.minimum(out, harmed), looks - 1)
        shipped, rolled = (out < harmed) & (out < looks), (harmed <= out) & (harmed < looks)
        return _case(name, shipped, rolled, days_at[end], exposed_at[end])

    cases = [case(UNCHANGED, within[:, 0].max(axis=0), back[:, 0].min(axis=0))]
    for place, metric in enumerate(design.guardrails):
        for truth, (name, _) in enumerate(_losses(metric)[1:], 1):
            out = np.maximum(out_but[place], within[place, truth])
            harmed = np.minimum(back_but[place], back[place, truth])
            cases.append(case(f"{metric.name} {name}", out, harmed))
    return cases


def _paths(
    design: Design, which: int, units: FloatArray, runs: int, chance: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw the evidence of one guardrail at the looks.

    Returned are, for each of its losses and each run, the looks at which the metric is found within
    its margin, and harmed; the number of looks if never.
    """
    metric, one = design.metrics[which], design.metric_designs[which]
    harm, spread = design.harm_designs[which], _spread(metric)
    assert metric.margin is not None
    # In an even split of n units each block of two adds half to the clock.
    clocks, looks = units / 4.0, len(units)
    steps, reach = np.sqrt(np.diff(clocks, prepend=0.0)), spread * _boundary(clocks, one) / clocks
    wide = None if harm is None else spread * _boundary(clocks, harm) / clocks
    within, back = (np.full((len(TRUTHS), runs), looks) for _ in range(2))
    for first in range(0, runs, RUNS_AT_ONCE):
        rows = slice(first, min(runs, first + RUNS_AT_ONCE))
        noise = chance.standard_normal((rows.stop - first, looks)) * steps
        means = spread * np.cumsum(noise, axis=1) / clocks
        for truth, (_, loss) in enumerate(_losses(metric)):
            within[truth, rows] = _first(means > reach - metric.margin + loss)
            if wide is not None and metric.harm_line is not None:
                back[truth, rows] = _first(means < -metric.harm_line - wide + loss)
    return within, back


def _largest_but_one(values: IntArray) -> IntArray:
    """Return for each row the largest of the other rows, column by column.

    >>> _largest_but_one(np.array([[3, 1], [2, 5], [1, 4]])).tolist()
    [[2, 5], [3, 4], [3, 5]]
    """
    if len(values) == 1:
        return np.full_like(values, np.iinfo(values.dtype).min + 1)
    second, first = np.sort(values, axis=0)[-2:]
    largest = np.arange(len(values))[:, None] == values.argmax(axis=0)
    return np.asarray(np.where(largest, second, first))


def _case(
    name: str,
    shipped: BoolArray,
    rolled: BoolArray,
    days: FloatArray,
    exposed: FloatArray,
) -> RolloutCase:
    """Summarise rollouts: how they ended, after how many days, and how many units they exposed."""
    ended = shipped | rolled
    return RolloutCase(
        name,
        float(shipped.mean()),
        float(rolled.mean()),
        float(np.median(days[ended])) if ended.any() else math.nan,
        float(np.quantile(days[ended], 0.9)) if ended.any() else math.nan,
        float(exposed.mean()),
    )


def _boundary(clocks: FloatArray, design: Design) -> FloatArray:
    return np.array(_boundaries(tuple(clocks.tolist()), -math.log(design.procedure.end_error)))


@lru_cache(maxsize=4)
def _boundaries(clocks: tuple[float, ...], threshold: float) -> tuple[float, ...]:
    return tuple(mixture_boundary(clock, threshold) for clock in clocks)


def _first(crossed: NDArray[np.bool_]) -> IntArray:
    """Return for each run the first look at which something is found; their number if never."""
    return np.asarray(np.where(crossed.any(axis=1), crossed.argmax(axis=1), crossed.shape[1]))


def _spread(metric: Metric) -> float:
    spread = metric_spread(metric)
    if spread is not None:
        return spread
    if metric.outcome.limited:
        raise InputError(
            "baseline",
            f"baseline of {metric.name} is missing: it is the control's mean, which says how much "
            "outcomes within limits differ; write Metric(..., baseline=...)",
        )
    try:
        return metric.outcome.noise((metric.baseline or 0.0,)).spread(metric.baseline or 0.0)
    except InputError as error:
        raise InputError(error.field, f"guardrail {metric.name}: {error}") from None
