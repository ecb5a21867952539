"""Functions that run a test, given its design and statistics: assign units, add data, decide.

Each function calls the procedure of the design; together they are the public interface of
`core.procedures`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from bascule.core.cohorts import CohortStatistics
from bascule.core.design import Design
from bascule.core.errors import InputError, invalid
from bascule.core.evidence.calibration import Guarantee
from bascule.core.metrics.guardrails import Blocks, harmed
from bascule.core.position import (
    BlockStep,
    Judgement,
    folded,
    folded_ahead,
    position_of,
    still_compared,
)
from bascule.core.procedure_steps import Advance
from bascule.core.procedures.base import (
    AnyStatistics,
    Block,
    Decision,
    Interval,
    Procedure,
    Signals,
)
from bascule.core.procedures.blocks.procedure import BlockProcedure
from bascule.core.procedures.intervals.procedure import IntervalProcedure
from bascule.core.procedures.recurrent import RecurrentProcedure
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.core.types import NOBODY

Family = TypeVar("Family", bound=Procedure)

ASYMPTOTIC: Guarantee = "asymptotic"
Seen = TypeVar("Seen", Statistics, CohortStatistics)


def intervals(design: Design, statistics: AnyStatistics) -> tuple[Interval, ...]:
    """Return the interval of each arm; infinitely wide until the arm has three units.

    If looks are planned, the intervals hold only at the looks.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2))
    >>> intervals(design, Statistics.empty(2))[0].high
    inf
    """
    procedure, oriented = design.judging(statistics)
    bounds = procedure.intervals(oriented)
    return tuple(Interval(design.oriented(bound.mean), bound.radius) for bound in bounds)


def next_arm(design: Design, statistics: AnyStatistics) -> int:
    """Return the arm that the next unit joins.

    >>> import bascule as bs
    >>> next_arm(bs.Design(["a", "b"], bs.Gaussian(1), bs.ETC()), Statistics.empty(2))
    0
    """
    compared = still_compared(design, statistics)
    return design.procedure.next_arm(design.oriented_statistics(compared))


def record(
    design: Design,
    statistics: Statistics,
    arm: int,
    value: float,
    metrics: Sequence[float] = (),
    lacking: Sequence[bool] = (),
    is_held: bool = False,
) -> Statistics:
    """Return the statistics with a further outcome, after dropping the arms that are now beaten.

    `metrics` are the unit's outcomes of the other metrics, in the order of the design. `lacking`
    says for the primary metric and each other one whether the unit lacks a value. `is_held` says
    that a decision is withheld by the calendar of the design; meanwhile no arm is dropped.
    """
    _check_count(design, metrics)
    for own, outcome in zip((design, *design.metric_designs), (value, *metrics), strict=True):
        own.outcome.check_value(outcome)

    def advance(procedure: Procedure, before: Statistics, looks: bool) -> Statistics:
        oriented = design.oriented_statistics(before)
        after = procedure.record(oriented, arm, design.oriented(value))
        after = _with_bounds(procedure, oriented, after)
        dropped = after.dropped if looks else before.dropped
        return replace(after, arms=before.record(arm, value).arms, dropped=dropped)

    units = [int(other_arm == arm) for other_arm in range(len(design.arms))]
    counts = [[int(lacks) * unit for unit in units] for lacks in lacking]
    others = {which: _recorded(arm, other) for which, other in enumerate(metrics)}
    return folded(design, statistics, BlockStep(advance, others, units, counts), is_held)


def _recorded(arm: int, value: float) -> Advance:
    """Return a function that adds an outcome to the statistics of a metric."""
    return lambda _, before, looks: before.record(arm, value)  # noqa: ARG005


def next_block(
    design: Design,
    statistics: Statistics,
    signals: Signals | None = None,
    is_held: bool = False,
) -> Block:
    """Return the next block, which is fixed before its outcomes are known.

    `signals` are events of units whose windows are open, which live tests and simulations collect
    for rules that use them; leave it out elsewhere. `is_held` says that a decision is withheld by
    the calendar of the design; meanwhile the control is in the block if a guardrail may find an arm
    harmful.

    >>> import bascule as bs
    >>> next_block(bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3)), Statistics.empty(2))
    Block(units=(1, 1), leader=0, repeat=1)
    """
    compared = still_compared(design, statistics, is_held)
    known = design.oriented_statistics(compared)
    if signals is None or not design.procedure.uses_signals:
        return design.procedure.next_block(known)
    oriented = signals._replace(for_the_worse=design.goal == "decrease")
    return design.procedure.block_by_signals(known, oriented)


def fold_block(
    design: Design,
    statistics: Statistics,
    block: Sequence[ArmStatistics],
    look: bool = True,
    metrics: Blocks = (),
    covariates: tuple[float, ...] = (),
    lacking: Sequence[Sequence[int]] = (),
    is_held: bool = False,
) -> Statistics:
    """Return the statistics after a further block, given the outcomes of each arm.

    Blocks are folded in the order in which they were assigned. Arms that are beaten are dropped,
    unless `look` is false because more of the same batch follows. `metrics` has the block's
    outcomes of the other metrics, in the order of the design. With covariates, `block` has adjusted
    outcomes, and `covariates` the sums of the block from which coefficients follow. `lacking` has,
    for the primary metric and each other one, the units of each arm without a value. `is_held` says
    that a decision is withheld by the calendar of the design; meanwhile no arm is dropped.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    >>> data = (bs.progress.ArmStatistics(1, 0.25, 0.0625), bs.progress.ArmStatistics(1, 0.5, 0.25))
    >>> fold_block(design, bs.progress.Statistics.empty(2), data).pairs[0][0]
    -0.125
    """
    _check_count(design, metrics)
    if len(block) != len(design.arms):
        raise invalid(f"block must have the design's {len(design.arms)} arms (got {len(block)})")

    def advance(procedure: Procedure, before: Statistics, looks: bool) -> Statistics:
        oriented = design.oriented_statistics(before)
        after = procedure.fold_block(oriented, design.oriented_block(block), looks)
        after = _with_bounds(procedure, oriented, after, look)
        after = replace(after, arms=before.with_block(block).arms)
        if design.adjustment is None:
            return after
        return replace(after, covariates=design.adjustment.folded(before.covariates, covariates))

    units = [arm.units for arm in block]
    step = BlockStep(advance, _blocks(design, dict(enumerate(metrics))), units, lacking, look)
    return folded(design, statistics, step, is_held)


def fold_ahead(
    design: Design, statistics: Statistics, blocks: Mapping[int, Sequence[ArmStatistics]]
) -> Statistics:
    """Return the statistics with a block's outcomes in metrics that are known before the primary.

    `blocks` has the sums of each arm in the block, by the index of the metric in the design.
    """
    return folded_ahead(design, statistics, _blocks(design, blocks))


def _blocks(
    design: Design, blocks: Mapping[int, Sequence[ArmStatistics] | None]
) -> dict[int, Advance]:
    """Return functions that add a block, by the index of each metric that has outcomes in it."""
    return {
        which: _with_block(design.metric_designs[which], block)
        for which, block in blocks.items()
        if block is not None
    }


def _with_block(design: Design, block: Sequence[ArmStatistics]) -> Advance:
    def advance(procedure: Procedure, before: Statistics, looks: bool) -> Statistics:
        oriented = design.oriented_statistics(before)
        after = procedure.fold_block(oriented, design.oriented_block(block), looks)
        return replace(after, arms=before.with_block(block).arms)

    return advance


def _check_count(design: Design, outcomes: Sequence[object]) -> None:
    if len(outcomes) != len(design.metrics):
        names = ", ".join(metric.name for metric in design.metrics) or "there are none"
        raise invalid(
            "metrics: give the outcomes of each metric besides the primary one: "
            f"{names} (got {len(outcomes)})"
        )


def close_stage(design: Design, statistics: CohortStatistics) -> CohortStatistics:
    """Return the statistics at the end of a stage, after dropping the arms that are now beaten.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b", "c"], bs.Recurrent(1, 1), bs.ETC())
    >>> from bascule.progress import ArmCohorts, Cohort
    >>> arms = tuple(ArmCohorts((Cohort(90, 90, 8100.0 * mean),)) for mean in (0, 1, 1))
    >>> close_stage(design, bs.progress.CohortStatistics(arms, stage=90)).dropped
    frozenset({0})
    """
    procedure, oriented = design.judging(statistics)
    after = _with_bounds(procedure, oriented, procedure.close_stage(oriented))
    return replace(after, arms=statistics.arms)


def decision(design: Design, statistics: AnyStatistics) -> Decision | None:
    """Return the decision that the data allow, or None if the test is undecided.

    An arm other than the control also needs every guardrail to allow it, and recorded values of
    enough units. Once all treatments are harmful, the decision is for the control.

    >>> import bascule as bs
    >>> from bascule.progress import ArmStatistics, Statistics
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2), error=0.05)
    >>> data = Statistics((ArmStatistics(100, 0.0), ArmStatistics(100, 100.0)))
    >>> decision(design, data).name
    'b'
    """
    return decision_of(design, statistics, position_of(design, statistics).judge())


def decision_of(design: Design, statistics: AnyStatistics, judgement: Judgement) -> Decision | None:
    """Return the decision of a judgement, with its guarantee; None if there is no decision."""
    if judgement.winner == NOBODY:
        return None
    if judgement.harm:
        assert isinstance(statistics, Statistics)
        return _kept_control(design, statistics)
    if design.decides == "guardrails":
        return _rolled_out(design, judgement.winner)
    return _promised(design, statistics, judgement.reached)


def _rolled_out(design: Design, new: int) -> Decision:
    """Return the decision to ship a new version that every guardrail allows."""
    kinds = [metric_design.calibration for metric_design in design.metric_designs]
    guarded = [kind for kind, m in zip(kinds, design.metrics, strict=True) if m.is_guardrail]
    guarantee = (
        guarded[0].guarantee
        if len({calibration.guarantee for calibration in guarded}) == 1
        else ASYMPTOTIC
    )
    error = max(metric.error for metric in design.guardrails)
    return Decision(new, design.arms[new], error, guarantee, by="guardrails")


def _kept_control(design: Design, statistics: Statistics) -> Decision:
    """Return the decision for the control that is made if every treatment is harmful."""
    kinds = {
        harm_design.calibration.guarantee
        for harm_design in design.harm_designs
        if harm_design is not None
    }
    guarantee = kinds.pop() if len(kinds) == 1 else ASYMPTOTIC
    harmful = harmed(statistics)
    names = {design.metrics[which].name for numbers in harmful.values() for which in numbers}
    control = (design.control_index, design.control_arm)
    return Decision(
        *control, design.harm_error, guarantee, harm=tuple(sorted(names)), by="guardrails"
    )


def _with_bounds(procedure: Procedure, before: Seen, after: Seen, look: bool = True) -> Seen:
    """Return statistics whose intervals are intersected with earlier ones, if there was a look."""
    if not procedure.keeps_bounds:
        return after
    return replace(after, bounds=procedure.bounds(before, after) if look else before.bounds)


def declared_error(design: Design, statistics: AnyStatistics) -> float:
    """Return a bound on the probability that a test declares a worse arm the winner.

    It is the error of the design, unless one of three or more arms was removed or a guardrail may
    remove one. It is then larger, because outcomes may decide whether all pairs of arms count
    (docs/research/ends.md).

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b", "c", "d"], bs.Gaussian(1), bs.Tilt(3), error=0.02)
    >>> data = bs.progress.Statistics.empty(4)
    >>> declared_error(design, data), round(declared_error(design, replace(data, removed={3})), 9)
    (0.01, 0.015)
    """
    error, arms = design.calibration.error, len(design.arms)
    may_remove = any(metric.harm_line is not None for metric in design.guardrails)
    if arms == 2 or not (statistics.removed or may_remove):
        return error
    factor = 2.0 - 2.0 / arms if design.procedure.assigns == "blocks" else 1.5
    return min(1.0, factor * error)


def _promised(
    design: Design, statistics: AnyStatistics, reached: Decision | None
) -> Decision | None:
    """Return a decision with its error replaced by the error of the whole test."""
    if reached is None:
        return None
    error = declared_error(design, statistics)
    return reached if reached.error == error else replace(reached, error=error)


def interval_procedure(design: Design) -> IntervalProcedure:
    """Return the procedure if it is an `IntervalProcedure`; else raise `InputError`."""
    remedy = "use UCB(alpha), ETC() or ETCPrime() on outcomes that come once"
    return procedure_as(design, IntervalProcedure, remedy)


def recurrent_procedure(design: Design) -> RecurrentProcedure:
    """Return the procedure if it is for recurring outcomes; else raise `InputError`."""
    return procedure_as(design, RecurrentProcedure, "outcome must be Recurrent here")


def block_procedure(design: Design) -> BlockProcedure:
    """Return the procedure if it works in blocks; else raise `InputError`."""
    remedy = "it has no blocks: use next_arm and record, or Tilt(tilt)"
    return procedure_as(design, BlockProcedure, remedy)


def procedure_as(design: Design, family: type[Family], remedy: str) -> Family:
    """Return the procedure if it is of type `family`; else raise `InputError` with a remedy."""
    if isinstance(design.procedure, family):
        return design.procedure
    raise InputError("rule", f"{design.rule.label} on {design.outcome!r} does not fit: {remedy}")
