"""Checks of the contract that every rule and every outcome model has to keep.

`check_contract(design, means)` takes one design through everything that the package does with it: a
round trip through plain data, simulation and its trace, a live test with `verify`, plans, and the
error at a tie. Then it plays the rule with every registered outcome model that it accepts, each
with several spreads. The package's own rules and outcome models are tested with it; run it on yours
(docs/research/add-a-rule.md).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bascule.core.design import Design
from bascule.core.design_parts import ONE_SIDED
from bascule.core.ending import ending
from bascule.core.errors import InfeasibleError, InputError
from bascule.core.gaps import checked_means
from bascule.core.metrics.effects import effects
from bascule.core.metrics.metric import DIRECTION, Metric
from bascule.core.options import make, options_of
from bascule.core.outcomes import OUTCOMES, Gaussian, Noise, Normal, Outcome
from bascule.core.rules import RULES
from bascule.core.statistics import Statistics
from bascule.live import open as open_store
from bascule.live.clock import ManualClock
from bascule.planning import plan
from bascule.simulation import simulate, trace, trace_stages
from bascule.simulation.engines.choose import is_compiled
from bascule.simulation.random import WORDS, seed_stream
from bascule.simulation.trace import outcome_source

RUNS = 5
"""Number of runs that are compared with their trace."""

UNITS = 240
"""Number of units of the live test."""

DRAWS = 400
"""Number of outcomes of an arm that are drawn and compared with their model."""

TIE_ERROR, EXCESS, TOLERANCE = 0.2, 0.5, 3.0
"""The stated error of tied runs; the relative excess over that error which has to be detected; and
by how many standard errors the share of wrong runs may exceed the stated error."""

TIE_UNITS, FEW_UNITS, STAGE_UNITS = 20_000, 1_000, 300
"""Maximum numbers of units of a tied run: for rules with a compiled loop; for other rules, and for
`check_rule`; and for rules that count stages."""

SPREADS = (0.02, 1.0, 50.0)
"""Values tried for the spread of outcome models with a spread parameter."""

LEAST_DAYS = 2.0
"""Minimum number of days of the planned test."""

PLACES = (0.05, 0.5)
"""Means of the worse arm for outcome models without a spread parameter, as parts of their range."""


@dataclass(frozen=True, slots=True)
class Unstated(Outcome):
    """An outcome model that states neither a spread nor limits: no rule may accept it."""

    kind: str = "unstated"

    @property
    def words(self) -> str:
        """The model in a few words."""
        return "outcomes that nothing is known of"

    def noise(self, means: tuple[float, ...]) -> Noise:  # noqa: ARG002
        """Return standard normal noise."""
        return Normal()


def runs_to_see(error: float) -> int:
    """Return how many tied runs reveal an error rate of 1.5 times the stated error.

    With that many runs, the same share is three standard errors above the stated error and three
    standard errors below 1.5 times the stated error.

    >>> runs_to_see(0.2), runs_to_see(0.05)
    (663, 3337)
    """
    excess = (1.0 + EXCESS) * error
    width = math.sqrt(error * (1.0 - error)) + math.sqrt(excess * (1.0 - excess))
    return math.ceil((TOLERANCE * width / (EXCESS * error)) ** 2)


def check_contract(design: Design, means: Sequence[float], seed: int = 1) -> tuple[str, ...]:
    """Run a design through every check and return the names of the checks that applied.

    This takes about a minute. `means` are means of the arms with a clear best one. AssertionError
    says which promise of the contract does not hold. Ties are played at an error of 20 %, in 663
    runs of at most 20,000 units each: enough to detect that an arm wins one and a half times as
    often as stated.
    """
    return check_design(design, means, seed) + check_rule(design, seed)


def check_design(design: Design, means: Sequence[float], seed: int = 1) -> tuple[str, ...]:
    """Run the checks that are about one design, and return the names of those that applied.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))
    >>> "live test agrees with verify" in check_design(design, [0.0, 1.0])
    True
    """
    checked = checked_means(means, len(design.arms), design.outcome)
    omitted = () if design.procedure.supports("trace") else ONE_OUTCOME
    checks = {name: check for name, check in CHECKS.items() if name not in omitted}
    return tuple(name for name, check in checks.items() if check(design, checked, seed))


def check_rule(design: Design, seed: int = 1) -> tuple[str, ...]:
    """Play the rule of a design with every outcome model that it accepts, each in several spreads.

    Every simulated run must be equal to its trace, and the error at a tie must be as stated. Return
    a tuple with the name of the check; empty for a rule whose units are all there from the start.
    """
    if design.procedure.assigns == "hash":
        return ()
    for outcome, means in examples():
        try:
            one_sided = Design(["a", "b"], outcome, design.rule, error=TIE_ERROR, sides=ONE_SIDED)
        except InputError:
            continue
        try:
            _played_as_it_runs(one_sided, means, seed)
            _check_tie(one_sided, means[0], FEW_UNITS, seed)
        except (AssertionError, InputError) as problem:
            raise AssertionError(f"{design.rule.label} with {outcome!r}: {problem}") from None
    return (EVERY_OUTCOME,)


def _played_as_it_runs(design: Design, means: tuple[float, ...], seed: int) -> None:
    """Compare simulated runs with their traces; use equal means if no run would end with these."""
    capped = replace(design, max_units=FEW_UNITS)
    try:
        _trace(capped, means, seed)
    except InfeasibleError:
        _trace(capped, (means[0],) * len(means), seed)


def examples() -> Iterator[tuple[Outcome, tuple[float, float]]]:
    """Return each registered outcome model in several spreads, with the means of two arms.

    A parameter whose name on the command line begins with "sigma" is a spread. A model without a
    spread has its default parameters, and means near its limits and in the middle; it is left out
    if a parameter has no default.
    """
    for kind in OUTCOMES.kinds:
        names = [option.flag or name for name, option in options_of(OUTCOMES.get(kind)).items()]
        spreads = [name for name in names if name.startswith("sigma")]
        if spreads:
            for spread in SPREADS:
                yield make(OUTCOMES, kind, dict.fromkeys(spreads, spread)), (0.0, 1.5 * spread)
            continue
        try:
            outcome = make(OUTCOMES, kind, {})
        except TypeError:
            # A model without default parameters is only checked in a design that is given.
            continue
        low, width = (outcome.low, outcome.scale) if outcome.limited else (0.0, 1.0)
        near, middle = (low + place * width for place in PLACES)
        yield outcome, (near, middle)
        yield outcome, (middle, low + 0.95 * width)


def _round_trip(design: Design, means: tuple[float, ...], seed: int) -> bool:
    """A design with a registered rule and outcome model survives `to_dict` and `from_dict`."""
    if not (RULES.has(design.rule) and OUTCOMES.has(design.outcome)):
        return False
    again = Design.from_dict(design.to_dict())
    assert again == design, f"{design!r} comes back from plain data as {again!r}"
    return True


def _equal(design: Design, means: tuple[float, ...], seed: int) -> bool:
    """Equal designs have equal procedures, so that a loop compiled for one serves the other."""
    again = replace(design)
    assert again.procedure == design.procedure, (
        f"two equal designs with {design.rule!r} have different procedures: functions that depend "
        "on a parameter are to be made under functools.cache"
    )
    return True


def _words(design: Design, means: tuple[float, ...], seed: int) -> bool:
    """Rule and outcome model have names that messages, tables and pages can use."""
    rule, outcome = design.rule, design.outcome
    for value in (rule.label, rule.words, rule.family, outcome.words, outcome.cost_unit):
        assert isinstance(value, str), f"{value!r} must be text"
        assert value.strip(), "names must not be empty"
    assert rule.label in repr(rule) or type(rule).__name__ in repr(rule)
    taken = {*options_of(Design), *inspect.signature(simulate).parameters}
    for part in (rule, outcome):
        for option in options_of(type(part)).values():
            assert (option.flag or option.name) not in taken, (
                f"{option.name} of {part!r} is the name of another option of `bascule simulate`: "
                f'give it one of its own there, Option(..., flag="{part.kind}_{option.name}")'
            )
    return True


def _refusal(design: Design, means: tuple[float, ...], seed: int) -> bool:
    """The rule refuses an outcome model that states neither a spread nor limits."""
    try:
        replace(design, outcome=Unstated(), measure=None, min_effect=None)
    except InputError:
        return True
    raise AssertionError(
        f"{design.rule.label} accepts an outcome model that states neither a spread nor limits"
    )


def _grouping(design: Design, means: tuple[float, ...], seed: int) -> bool:
    """Statistics of two halves of the data add up to those of the whole."""
    draw = _source(design, means, seed)
    arms = len(means)
    together, parts = Statistics.empty(arms), [Statistics.empty(arms), Statistics.empty(arms)]
    for i in range(40):
        (value,) = draw([i % arms])
        together = together.record(i % arms, value)
        parts[i % 2] = parts[i % 2].record(i % arms, value)
    added = parts[0] + parts[1]
    for arm, expected in zip(added.arms, together.arms, strict=True):
        assert arm.units == expected.units
        assert math.isclose(arm.total, expected.total, abs_tol=1e-9)
        assert math.isclose(arm.squares, expected.squares, abs_tol=1e-9)
    return True


def _trace(design: Design, means: tuple[float, ...], seed: int) -> bool:
    """Every simulated run ends with the same units and the same winner as its trace."""
    if design.procedure.assigns == "hash":
        return False
    capped = replace(design, max_units=design.max_units or 3000)
    staged = not capped.procedure.supports("trace")
    if staged:
        capped = replace(capped, max_units=min(200, capped.max_units or 200))
    played = simulate(capped, means, runs=RUNS, seed=seed, engine="plain" if staged else None)
    for run in range(RUNS):
        steps = (trace_stages if staged else trace)(capped, means, seed=seed, run=run)
        *_, last = steps
        units = [arm.units for arm in last.statistics.arms]
        assert units == played.units[run].tolist(), f"run {run}: {units} units in its trace"
        winner = None if last.decision is None else last.decision.arm
        simulated = int(played.winner[run])
        assert winner == (simulated if simulated >= 0 else None), f"run {run}: another winner"
    return True


def _values(design: Design, means: tuple[float, ...], seed: int) -> bool:
    """Outcomes have the stated mean and spread, and values beyond the limits are refused."""
    outcome = design.outcome
    noise = outcome.noise(means)
    draw = _source(design, means, seed)
    for arm, mean in enumerate(means):
        values, spread = draw([arm] * DRAWS), noise.spread(mean)
        for value in values:
            outcome.check_value(value)
        shown = sum(values) / DRAWS
        assert abs(shown - mean) <= 5.0 * spread / math.sqrt(DRAWS) + 1e-9, (
            f"outcomes of an arm with mean {mean:g} and spread {spread:g} have mean {shown:g}"
        )
        assert spread <= outcome.sigma * (1.0 + 1e-9), (
            f"outcomes spread by {spread:g}, and {outcome!r} states {outcome.sigma:g}"
        )
    for limit, step in ((outcome.low, -1.0), (outcome.high, 1.0)):
        if math.isfinite(limit):
            try:
                outcome.check_value(limit + step)
            except InputError:
                continue
            raise AssertionError(f"{outcome!r} accepts {limit + step:g}, beyond its limits")
    return True


def _ties(design: Design, means: tuple[float, ...], seed: int) -> bool:
    """At a tie each arm is declared the best no more often than the stated error allows."""
    units = TIE_UNITS if is_compiled(design.procedure) else FEW_UNITS
    if design.procedure.counts == "stages":
        units = STAGE_UNITS
    if design.procedure.assigns == "hash" and not design.procedure.has_horizon:
        return False
    return _check_tie(design, min(means), units, seed)


def _check_tie(design: Design, mean: float, units: int, seed: int) -> bool:
    """Check a design's error rate in ties at `TIE_ERROR`; return False if it states no error."""
    cap = design.max_units if design.procedure.assigns == "hash" else units
    tied = replace(
        design, error=TIE_ERROR, delta=None, sides=ONE_SIDED, min_effect=None, max_units=cap
    )
    promise, arms = tied.calibration, len(tied.arms)
    if promise.guarantee == "as published" or promise.error >= 1:
        return False
    runs = runs_to_see(promise.error)
    played = simulate(tied, [mean] * arms, runs=runs, seed=seed)
    shares = [float((played.winner == arm).mean()) for arm in range(arms)]
    for share, arm in zip(shares, tied.arms, strict=True):
        _check_share(share, promise.error, runs, f"arm {arm}")
    if arms == 2:
        _check_share(sum(shares), 2.0 * promise.error, runs, "either arm")
    return True


def _check_share(share: float, stated: float, runs: int, winner: str) -> None:
    allowed = stated + TOLERANCE * math.sqrt(stated * (1.0 - stated) / runs)
    assert share <= allowed, (
        f"{winner} wins {share:.3f} of {runs} tied runs, and {stated:g} is stated"
    )


def _agreement(design: Design, means: tuple[float, ...], seed: int) -> bool:
    """No confidence interval contradicts the decision that was made from the same data."""
    capped = replace(design, max_units=design.max_units or 3000, min_effect=None)
    *_, last = trace(capped, means, seed=seed)
    for effect in effects(capped, last.statistics):
        assert not math.isnan(effect.low), f"{effect!r} has no lower end"
        assert effect.low <= effect.high, f"{effect!r} has its ends in the wrong order"
        assert effect.guarantee == capped.calibration.guarantee
        if last.decision is not None and len(means) == 2:
            ends = sorted(DIRECTION[design.goal] * end for end in (effect.low, effect.high))
            ahead = ends[0] if effect.first == last.decision.name else -ends[1]
            assert ahead >= 0.0, f"{effect!r} contradicts the decision for {last.decision.name}"
    assert last.decision is None or ending(capped, last.statistics) is not None
    return True


def _live(design: Design, means: tuple[float, ...], seed: int) -> bool:
    """The state of a live test agrees with the state recomputed from its raw log."""
    draw = _source(design, means, seed)
    clock = ManualClock()
    with open_store(":memory:", clock=clock) as store:
        always = replace(design, measure=None, deadline=None, reports="always")
        test = store.create("contract", always)
        for i in range(UNITS):
            unit = f"unit-{i}"
            arm = test.assign(unit, covariates=_covariates(design, i))
            (value,) = draw([design.arms.index(arm)])
            test.record(unit, (value, 1.0) if design.outcome.pairs else value)
            clock.advance(600.0)
            if test.state not in ("running", "paused"):
                break
        assert test.verify().differences == (), str(test.verify())
        for effect in test.status().effects:
            assert not math.isnan(effect.low), f"{effect!r} has no lower end"
    return True


def _covariates(design: Design, i: int) -> dict[str, float] | None:
    """Return covariates of the i-th unit; every fifth has none."""
    if design.covariates is None or i % 5 == 4:
        return None
    return {
        covariate.name: covariate.limited(float(i * (k + 3) % 7))
        for k, covariate in enumerate(design.covariates)
    }


def _guardrails(design: Design) -> list[Metric]:
    """Return a guardrail metric for a plan; none if the rule does not accept normal outcomes."""
    try:
        Design(design.arms, Gaussian(1.0), design.rule)
    except InputError:
        return []
    return [Metric("contract", Gaussian(1.0), margin=1.0)]


def _plan(design: Design, means: tuple[float, ...], seed: int) -> bool:
    """A plan can be made: by default, and with this rule, a minimum duration and a guardrail.

    If the rule does not assign in blocks, the plan may refuse the minimum duration or the guardrail
    with an `InputError` that names the option.
    """
    worst, best = min(means, key=design.oriented), max(means, key=design.oriented)
    asked = {
        "baseline": worst,
        "lift": [best - worst],
        "goal": design.goal,
        "runs": 40,
        "seed": seed,
    }
    asked["units_per_day"] = 500.0
    made = plan(design.outcome, **asked)  # type: ignore[arg-type]
    assert made.design.outcome == design.outcome
    assert made.design.calibration.guarantee in ("proven", "gaussian", "asymptotic")
    full = {**asked, "rules": [design.rule], "min_days": LEAST_DAYS}
    full["metrics"] = _guardrails(design)
    try:
        made = plan(design.outcome, **full)  # type: ignore[arg-type]
    except InputError as problem:
        if design.procedure.counts == "blocks" or problem.field not in full:
            raise AssertionError(f"{design.rule.label} cannot be planned: {problem}") from None
        return True
    assert any(point.rule == design.rule for point in made.points), f"{design.rule!r} is left out"
    assert made.shipping.p50_days >= LEAST_DAYS, "the calendar is left out of the plan"
    return True


def _source(
    design: Design, means: tuple[float, ...], seed: int
) -> Callable[[Sequence[int]], list[float]]:
    streams = np.empty(WORDS, np.uint64)
    with np.errstate(over="ignore"):
        seed_stream(streams, 0, np.uint64(seed), np.uint64(0))
    return outcome_source(design, means, streams, 64)


CHECKS: dict[str, Callable[[Design, tuple[float, ...], int], bool]] = {
    "plain data give the design back": _round_trip,
    "equal designs proceed alike": _equal,
    "rule and outcome have words": _words,
    "what is not stated is refused": _refusal,
    "outcomes are as their model states": _values,
    "sums of two halves are those of the whole": _grouping,
    "trace agrees with simulate": _trace,
    "error at a tie is as stated": _ties,
    "intervals agree with decisions": _agreement,
    "live test agrees with verify": _live,
    "a plan can be made": _plan,
}
"""Checks of a design, each by the statement that it checks."""

ONE_OUTCOME = (
    "outcomes are as their model states",
    "sums of two halves are those of the whole",
    "intervals agree with decisions",
    "live test agrees with verify",
)
"""Names of the checks that apply only to designs whose units give one outcome each."""

EVERY_OUTCOME = "every outcome model it accepts is simulated as its trace shows"
"""The name that `check_rule` returns for its check."""
