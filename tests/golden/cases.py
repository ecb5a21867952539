"""A matrix of designs, and what each of them decides, when, and with which intervals.

`python tests/golden/cases.py` writes what the present code gives to `golden.json`; the test beside
it compares. Write it anew only where a result is meant to change, and say which and why.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import bascule as bs
from bascule.core.ending import end_reason, horizon_share, remove_arm
from bascule.core.metrics.effects import advantages, effects_of
from bascule.core.metrics.guardrails import metric_views
from bascule.core.progress import close_stage, fold_block, next_arm, next_block, record
from bascule.live.reports.forecast import lead
from bascule.live.reports.time_left import units_range

FILE = Path(__file__).parent / "golden.json"
MOST, CHECKPOINTS, REMOVED_AT = 240, (60, 160), 50

TILTS: dict[str, tuple[bs.design.Outcome, dict[str, Any]]] = {
    "gaussian": (bs.Gaussian(1), {}),
    "gaussian effect": (bs.Gaussian(1), {"effect": 0.5}),
    "gaussian horizon": (bs.Gaussian(1), {"effect": 0.5, "power": 0.8}),
    "gaussian flat": (bs.Gaussian(1), {"effect": 0.5, "power": 0.8, "guarantee": "gaussian"}),
    "bernoulli": (bs.Bernoulli(), {}),
    "bernoulli effect": (bs.Bernoulli(), {"effect": 0.2, "baseline": 0.3}),
    "bernoulli horizon": (bs.Bernoulli(), {"effect": 0.3, "power": 0.8, "baseline": 0.3}),
    "bounded": (bs.Bounded(0, 10), {}),
    "bounded horizon": (bs.Bounded(0, 10), {"effect": 3.0, "power": 0.8}),
    "numeric": (bs.Numeric(1), {}),
    "numeric effect": (bs.Numeric(1), {"effect": 0.5}),
    "numeric horizon": (bs.Numeric(1), {"effect": 0.5, "power": 0.8}),
    "ratio": (bs.Ratio(at=0.12), {}),
}
BATCHES = {"batch": 4, "tilt": 2.0}
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "batch": (BATCHES, {}),
    "min_effect": ({}, {"min_effect": 0.6}),
    "decrease": ({}, {"goal": "decrease"}),
    "removal": ({}, {}),
    "futility": ({"futility": 0.4}, {}),
    "advise": ({"futility": 0.4, "on_futility": "advise"}, {}),
}
INTERVALS: dict[str, bs.design.Rule] = {
    "ucb": bs.UCB(2),
    "ucb mixture": bs.UCB(2, radius="mixture"),
    "ucb pairs": bs.UCB(3, stop="mixture"),
    "etc": bs.ETC(),
    "etc mixture": bs.ETC(stop="mixture"),
    "etc prime": bs.ETCPrime(),
}
MODELS: dict[str, bs.design.Outcome] = {
    "gaussian": bs.Gaussian(1),
    "bernoulli": bs.Bernoulli(),
    "bounded": bs.Bounded(0, 10),
}
GUARDRAILS = (
    bs.Metric("x", bs.Gaussian(1), margin=0.8, error=0.2),
    bs.Metric("y", bs.Bernoulli(), margin=0.6, error=0.2, goal="decrease"),
    bs.Metric("z", bs.Numeric(1), margin=0.8, error=0.2, harm="any"),
    bs.Metric("shown", bs.Bernoulli(), role="secondary", error=0.1, baseline=0.5),
)
PATTERN = (0.0, 0.9, 0.2, 0.6, 0.1)
"""How far each arm is above the first, in spreads; more arms repeat the pattern."""


def designs() -> Iterator[tuple[str, bs.Design]]:
    """Name every design of the matrix that its rule accepts."""
    for arms in (2, 3, 5):
        for name, (outcome, options) in TILTS.items():
            for variant, (changes, others) in VARIANTS.items():
                if variant in ("futility", "advise") and "power" not in options:
                    continue
                given = dict(others)
                if "min_effect" in given:
                    given["min_effect"] *= outcome.scale if outcome.limited else 1.0
                yield (
                    f"tilt {arms} {name} {variant}",
                    made(arms, outcome, bs.Tilt(**{**options, **changes}), **given),
                )
        for name, rule in INTERVALS.items():
            for model, outcome in MODELS.items():
                for variant in ("plain", "min_effect", "decrease", "removal"):
                    whole = arms < 5 and model != "bounded"
                    if (name == "etc prime" and arms > 2) or not (whole or variant == "plain"):
                        continue
                    given = dict(VARIANTS[variant][1])
                    yield f"{name} {arms} {model} {variant}", made(arms, outcome, rule, **given)
        for goal in ("increase", "decrease"):
            yield (
                f"guardrails {arms} {goal}",
                made(
                    arms, bs.Gaussian(1), bs.Tilt(3), goal=goal, metrics=GUARDRAILS, harm_error=0.2
                ),
            )
        yield (
            f"guardrails {arms} horizon",
            made(
                arms,
                bs.Bernoulli(),
                bs.Tilt(3, effect=0.3, power=0.8, baseline=0.3),
                metrics=GUARDRAILS[:2],
                harm_error=0.2,
            ),
        )
        for adjusted in (bs.Bernoulli(), bs.Numeric(1)):
            covariate = bs.Covariate("before", low=0, high=10)
            name = f"covariate {arms} {adjusted.kind}"
            yield name, made(arms, adjusted, bs.Tilt(3), covariates=[covariate])
    rollout = {"metrics": GUARDRAILS[:1], "decides": "guardrails"}
    yield "rollout 2", made(2, bs.Bernoulli(), bs.Tilt(1), **rollout)
    for name in ("gaussian", "bernoulli", "bernoulli horizon", "gaussian horizon"):
        outcome, options = TILTS[name]
        yield f"tilt 25 {name} plain", made(25, outcome, bs.Tilt(**options))
    for arms in (2, 3):
        for name, (outcome, options) in TILTS.items():
            rule = bs.Tilt(**options)
            yield f"two-sided tilt {arms} {name}", made(arms, outcome, rule, sides=2)
        yield f"two-sided ucb {arms}", made(arms, bs.Gaussian(1), bs.UCB(2), sides=2)
        yield f"two-sided etc {arms}", made(arms, bs.Bernoulli(), bs.ETC(), sides=2)


def made(arms: int, outcome: bs.design.Outcome, rule: bs.design.Rule, **given: Any) -> bs.Design:
    """Return a design with so many arms."""
    given = {"error": 0.2, "sides": 1, **given}
    return bs.Design([f"arm {i}" for i in range(arms)], outcome, rule, **given)


def mean_of(outcome: bs.design.Outcome, arm: int, goal: str = "increase") -> float:
    """Return the mean of an arm."""
    ahead = PATTERN[arm % len(PATTERN)]
    if outcome.limited:
        middle = 0.25 + 0.5 * ahead
        share = middle if goal == "increase" else 1.0 - middle
        return outcome.low + share * (outcome.high - outcome.low)
    return ahead if goal == "increase" else -ahead


def draw(outcome: bs.design.Outcome, mean: float, chance: random.Random) -> float:
    """Return one outcome with this mean."""
    if outcome.binary:
        return float(chance.random() < mean)
    if outcome.limited:
        low, high = outcome.low, outcome.high
        return min(max(round(chance.gauss(mean, 0.2 * (high - low)), 2), low), high)
    return chance.gauss(mean, 1.0)


def replay(name: str, design: bs.Design) -> dict[str, Any]:
    """Play one test of a design on outcomes that depend on its name only."""
    chance = random.Random(name)
    seen, courses = bs.progress.Statistics.empty(len(design.arms)), list(CHECKPOINTS)
    shown: list[Any] = []
    removal = name.endswith("removal")
    reached, ended = None, None
    while seen.units < MOST and reached is None and ended is None:
        step = _block if design.procedure.counts == "blocks" else _unit
        seen = step(design, seen, chance)
        if removal and seen.units >= REMOVED_AT and len(design.arms) > 2:
            removal = False
            seen = remove_arm(design, seen, design.arms[1])
        reached, ended = bs.progress.decision(design, seen), end_reason(design, seen)
        if courses and seen.units >= courses[0]:
            courses.pop(0)
            shown.append(state_of(design, seen, forecast=not courses))
    shown.append(state_of(design, seen, forecast=False))
    return {
        "design": stated(design),
        "units": [arm.units for arm in seen.arms],
        "decision": None if reached is None else [reached.name, reached.error, reached.guarantee],
        "end": ended,
        "shown": shown,
    }


def _block(
    design: bs.Design, seen: bs.progress.Statistics, chance: random.Random
) -> bs.progress.Statistics:
    block = next_block(design, seen)
    adjustment = design.adjustment
    for left in reversed(range(block.repeat)):
        sums = [[bs.progress.ArmStatistics()] * len(design.arms) for _ in (design, *design.metrics)]
        covariates = () if adjustment is None else adjustment.empty
        for arm, count in enumerate(block.units):
            for _ in range(count):
                for which, one in enumerate((design, *design.metric_designs)):
                    value = draw(one.outcome, mean_of(one.outcome, arm, one.goal), chance)
                    if adjustment is not None:
                        before = (min(max(5.0 + value + chance.gauss(0.0, 1.0), 0.0), 10.0),)
                        covariates = adjustment.added(covariates, value, before)
                        value = adjustment.adjust(seen.covariates, value, before)
                    sums[which][arm] += one.procedure.unit_sums(value)
        seen = fold_block(design, seen, sums[0], left == 0, sums[1:], covariates)
    return seen


def _unit(
    design: bs.Design, seen: bs.progress.Statistics, chance: random.Random
) -> bs.progress.Statistics:
    arm = next_arm(design, seen)
    mean = mean_of(design.outcome, arm, design.goal)
    return record(design, seen, arm, draw(design.outcome, mean, chance))


def _intervals(design: bs.Design, seen: Any) -> list[list[float]]:
    """Return the interval of every pair, the earlier arm less the later one."""
    return [list(effect.interval) for effect in effects_of(design, advantages(design, seen))]


def state_of(design: bs.Design, seen: bs.progress.Statistics, forecast: bool) -> dict[str, Any]:
    """Return what a test shows: arms, intervals, how far it is."""
    found: dict[str, Any] = {
        "units": seen.units,
        "dropped": sorted(seen.dropped),
        "removed": sorted(seen.removed),
        "effects": _intervals(design, seen),
        "evidence": lead(design, seen, advantages(design, seen))[1],
        "horizon": horizon_share(design, seen),
    }
    if len(found["effects"]) > 10:
        found["effects"] = found["effects"][::12]
    if forecast and len(design.arms) == 2:
        left = units_range(design, seen)
        found["left"] = None if left is None else list(left)
    if design.metrics:
        views = metric_views(design, seen)
        found["metrics"] = [
            [list(view.standings), *(list(effect.interval) for effect in view.effects)]
            for view in views
        ]
    return found


def recurring() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Name tests whose outcomes recur, and those of a static population."""
    for arms in (2, 3):
        for name, rule in (
            ("ucb", bs.UCB(2)),
            ("ucb mixture", bs.UCB(2, radius="mixture")),
            ("etc", bs.ETC()),
        ):
            for goal in ("increase", "decrease"):
                design = made(arms, bs.Recurrent(1, 1), rule, goal=goal)
                yield f"recurring {name} {arms} {goal}", partial(stages, design)
    static = made(2, bs.Recurrent(1, 3), bs.research.Static(10_000, horizon=30))
    yield (
        "static",
        lambda: {
            "design": stated(static),
            "looks": [
                [seen.threshold, None if seen.decision is None else seen.decision.name]
                for seen in (bs.research.look(static, stage, [4.97, 5.06]) for stage in (1, 10, 30))
            ],
        },
    )


def stages(design: bs.Design) -> dict[str, Any]:
    """Play a few stages of recurring outcomes."""
    found: list[Any] = []
    up = 1.0 if design.goal == "increase" else -1.0
    arms = tuple(bs.progress.ArmCohorts() for _ in design.arms)
    seen = bs.progress.CohortStatistics(arms)
    for stage in range(1, 41):
        arm = next_arm(design, seen)
        grown = []
        for i, one in enumerate(seen.arms):
            mean = up * 0.8 * PATTERN[i]
            cohorts = [bs.progress.Cohort(c.outcomes + 1, c.units, c.means + c.units * mean)
                       for c in one.cohorts]  # fmt: skip
            if i == arm:
                cohorts.append(bs.progress.Cohort(1, 30, 30 * mean))
            grown.append(bs.progress.ArmCohorts(tuple(cohorts)))
        seen = close_stage(design, replace(seen, arms=tuple(grown), stage=stage))
        if stage % 20 == 0:
            effects = _intervals(design, seen)
            reached = bs.progress.decision(design, seen)
            name = None if reached is None else reached.name
            found.append([[one.units for one in seen.arms], sorted(seen.dropped), effects, name])
    return {"design": stated(design), "stages": found}


def played() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Name designs that compiled loops play; few, because each has to be compiled."""
    cases: list[tuple[str, int, str, dict[str, Any], dict[str, Any]]] = [
        ("gaussian", 2, "gaussian", {}, {}),
        ("gaussian fast", 2, "gaussian", {}, {"engine": "fast"}),
        ("bernoulli horizon", 3, "bernoulli horizon", {}, {}),
        ("numeric margin", 3, "numeric", {"min_effect": 0.6}, {}),
    ]
    for name, arms, tilt, given, how in cases:
        outcome, options = TILTS[tilt]
        design = made(arms, outcome, bs.Tilt(**options), max_units=3000, **given)
        means = [mean_of(outcome, arm) * (1.0 if outcome.limited else 0.5) for arm in range(arms)]
        yield (
            f"played {name} {arms}",
            partial(play, design, means, **how),
        )
    guarded = made(3, bs.Gaussian(1), bs.Tilt(3), metrics=GUARDRAILS[:2], max_units=600)
    metrics = {"x": [0.0, 0.0, -1.5], "y": [0.3, 0.4, 0.5]}
    yield (
        "played guardrails 3",
        partial(play, guarded, [0.0, 0.5, 0.8], metrics=metrics),
    )


def play(design: bs.Design, means: list[float], **how: Any) -> dict[str, Any]:
    """Return who won each run, and when."""
    result = bs.simulate(design, means, 40, seed=7, **how)
    return {
        "winner": result.winner.tolist(),
        "time": result.decision_time.tolist(),
        "units": result.units.sum(axis=0).tolist(),
        "regret": float(result.regret.sum()),
    }


def cases() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Name every case of the matrix."""
    for name, design in designs():
        yield name, partial(replay, name, design)
    yield from recurring()
    yield from played()


def stated(design: bs.Design) -> dict[str, Any]:
    """Return the JSON of a design without fields that nobody stated, and without its arms."""
    given = {name: value for name, value in design.to_dict().items() if value is not None}
    given["arms"] = len(given["arms"])
    given["rule"] = {name: value for name, value in given["rule"].items() if value is not None}
    if "metrics" in given:
        given["metrics"] = [one["name"] for one in given["metrics"]]
    return given


def rounded(value: Any) -> Any:
    """Return plain data with infinities as words and numbers to nine digits."""
    if isinstance(value, float):
        return str(value) if not math.isfinite(value) else float(f"{value:.9g}")
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, (list, tuple)) else value


def main() -> None:
    """Write what the present code gives."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(rounded(case()), separators=(',', ':'))}"
        for name, case in cases()
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
