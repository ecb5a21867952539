"""Assign arms to the next units, and track the growth of enrolment. Pure functions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, NamedTuple

from bascule.core.cohorts import ArmCohorts, Cohort, CohortStatistics
from bascule.core.course import blocks_that_fit, fits
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.procedures.base import AnyStatistics, Block, Signals
from bascule.core.progress import next_arm, next_block
from bascule.core.statistics import ArmStatistics
from bascule.live.control import blocks_to_begin
from bascule.live.steps.maturity import used_by
from bascule.live.steps.serving import ENROLMENT, shipped
from bascule.live.steps.stages import joined
from bascule.live.storage.deals import Deal, Parts, Used, chances_in, largest_in, with_blocks
from bascule.live.storage.state import ExperimentState

Shuffle = Callable[[list[int]], None]
"""Puts a list into random order, in place."""


class FullError(InputError):
    """The cap on units is reached, or the units that have not counted suffice for a decision."""


class Placed(NamedTuple):
    """Assignments of consecutive units, the state after them, and the blocks dealt for them.

    The assignments are kept as columns: the arms, the probabilities of these arms (`chances`), and
    the numbers of the blocks (`deals`). If there are fewer assignments than asked for, `full` says
    why. `used` has the data that determined the sizes of the blocks, in tests with early signals.
    """

    arms: list[int]
    chances: list[float]
    deals: Sequence[int | None]
    state: ExperimentState
    dealt: Sequence[Parts] = ()
    full: FullError | None = None
    used: Used | None = None


def place(
    design: Design,
    state: ExperimentState,
    deal: Deal | None,
    shuffle: Shuffle,
    units: int = 1,
    now: float = 0.0,
) -> Placed:
    """Return the assignments of the next units.

    `deal` is the block that has been handed out so far, up to slot `state.enrolment.handed`.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    >>> placed = place(design, ExperimentState.empty(design), None, lambda slots: None, units=2)
    >>> placed.arms, placed.chances, placed.deals
    ([0, 1], [0.5, 1.0], [1, 1])
    """
    if state.ending.verdict is not None:
        return _freely(design, state, [shipped(state)] * units, now)
    if design.procedure.assigns == "blocks":
        return _slots(design, state, deal, shuffle, units, now)
    return _one_by_one(design, state, units, now)


def fair_shuffle() -> Shuffle:
    """Return a function that shuffles a list, with a random seed of its own; fast for two items."""
    # A statistically fair generator suffices: the order protects no secret.
    source = random.Random()  # nosec B311
    order, bits = source.shuffle, source.getrandbits

    def shuffle(slots: list[int]) -> None:
        if len(slots) != 2:
            order(slots)
        elif bits(1):
            slots.reverse()

    return shuffle


def with_pending(state: ExperimentState) -> AnyStatistics:
    """Return the statistics as if the outcome of each pending unit were its arm's mean so far.

    The interval of an arm is then as narrow as after all units assigned to it, so that a burst of
    units is spread over the arms as if they had come one by one. An arm without outcomes gets the
    overall mean.

    >>> import bascule as bs
    >>> start = ExperimentState.empty(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2)))
    >>> with_pending(start._replace(enrolment=start.enrolment._replace(assigned=(3, 0)))).arms[0]
    ArmStatistics(units=3, total=0.0, squares=0.0, cubes=0.0, per=())
    """
    statistics = state.statistics
    if isinstance(statistics, CohortStatistics):
        arms_of_cohorts = _cohorts_with_pending(statistics, state.enrolment.assigned)
        return replace(statistics, arms=arms_of_cohorts)
    everything = sum(statistics.arms, ArmStatistics())
    arms = []
    for arm, units in zip(statistics.arms, state.enrolment.assigned, strict=True):
        pending = units - arm.units
        like = arm if arm.units else everything
        expected = like.times(pending / like.units) if like.units else ArmStatistics(pending)
        arms.append(arm + expected if pending else arm)
    return replace(statistics, arms=tuple(arms))


def _cohorts_with_pending(
    statistics: CohortStatistics, assigned: tuple[int, ...]
) -> tuple[ArmCohorts, ...]:
    """Return the cohorts of each arm as if each pending unit had one outcome, the arm's mean."""
    means = [sum(cohort.means for cohort in arm.cohorts) for arm in statistics.arms]
    overall = sum(means) / max(1, statistics.units)
    arms = []
    for arm, total, units in zip(statistics.arms, means, assigned, strict=True):
        pending = units - arm.units
        like = total / arm.units if arm.units else overall
        expected = ArmCohorts((Cohort(1, pending, pending * like),)) if pending else ArmCohorts()
        arms.append(arm + expected)
    return tuple(arms)


def _freely(
    design: Design,
    state: ExperimentState,
    arms: list[int],
    now: float,
    full: FullError | None = None,
) -> Placed:
    """Return assignments of units to these arms, outside any block."""
    after = _after(design, state, arms, now)
    return Placed(arms, [1.0] * len(arms), [None] * len(arms), after, full=full)


def _one_by_one(design: Design, state: ExperimentState, units: int, now: float) -> Placed:
    arms: list[int] = []
    assigned, limit = list(state.enrolment.assigned), design.max_units
    taken = state.units
    for _ in range(units):
        if limit is not None and not fits(taken, 1, limit):
            return _freely(design, state, arms, now, _full(design))
        enrolment = state.enrolment._replace(assigned=tuple(assigned))
        arm = next_arm(design, with_pending(state._replace(enrolment=enrolment)))
        assigned[arm] += 1
        taken += 1
        arms.append(arm)
    return _freely(design, state, arms, now)


def _slots(
    design: Design,
    state: ExperimentState,
    deal: Deal | None,
    shuffle: Shuffle,
    units: int,
    now: float,
) -> Placed:
    """Assign units to the rest of the current block, and then to as many new blocks as needed."""
    enrolment = state.enrolment
    last, handed = enrolment.deal, enrolment.handed
    arms: list[int] = []
    chances: list[float] = []
    if deal is not None:
        arms += deal.slots[handed : handed + units]
        chances += deal.chances[handed : handed + units]
    handed += len(arms)
    deals = [last] * len(arms)
    wanted = units - len(arms)
    if wanted == 0:
        left = enrolment.left - len(arms)
        after = _after(design, state, arms, now, handed=handed, left=left)
        return Placed(arms, chances, deals, after)
    # All blocks dealt now are based on the same outcomes.
    block = _next_blocks(design, state)
    size = block.size
    count, full = -(-wanted // size), None
    may_begin = blocks_to_begin(design, state, block, more=len(arms))
    if may_begin < count:
        count, full = int(may_begin), enrolment_complete(design, state)
    if design.max_units is not None:
        room = blocks_that_fit(state.units + len(arms), size, design.max_units)
        count, full = (room, _full(design)) if room < count else (count, full)
    parts = _shuffled(block, count, shuffle)
    arms += chain.from_iterable(parts)
    chances += chain.from_iterable(map(chances_in, parts))
    numbers = range(last + 1, last + 1 + count)
    deals += chain.from_iterable(zip(*repeat(numbers, size), strict=True))
    over = max(0, len(arms) - units)
    for column in (arms, chances, deals):
        del column[units:]
    handed = size - over if count else handed
    under_way = enrolment.under_way
    if design.procedure.has_horizon and count:
        under_way = with_blocks(under_way, largest_in(parts[0]), count)
    block_after = {"deal": last + count, "handed": handed, "left": over, "under_way": under_way}
    after = _after(design, state, arms, now, **block_after)
    full = full if len(arms) < units else None
    dealt = list(zip(*[iter(parts)] * block.repeat, strict=True))
    return Placed(arms, chances, deals, after, dealt, full, used_by(design, state))


def _shuffled(block: Block, count: int, shuffle: Shuffle) -> list[tuple[int, ...]]:
    """Return the parts of several blocks of the same kind, each in a random order."""
    slots = [arm for arm, units in enumerate(block.units) for _ in range(units)]
    parts: list[tuple[int, ...]] = []
    for _ in range(count * block.repeat):
        # Whatever the initial order, all orders are equally likely after a shuffle.
        shuffle(slots)
        parts.append(tuple(slots))
    return parts


class NextBlocks:
    """Cache of the next blocks of a few tests; each is valid until its test's statistics change.

    Statistics are compared by identity, since hashing those of many arms would take too long.
    """

    def __init__(self, most: int = 16) -> None:
        self._most = most
        self._last: tuple[tuple[Design, ExperimentState, Block], ...] = ()

    def __call__(self, design: Design, state: ExperimentState) -> Block:
        """Return the next block of the test; reuse the last one if the statistics are the same."""
        for known, before, block in self._last:
            if known is design and _saw_the_same(before, state):
                return block
        signals = Signals(*state.signals) if design.procedure.uses_signals else None
        block = next_block(design, state.latest_once, signals, state.ending.held is not None)
        # Earlier states of the same test are not needed again.
        rest = [entry for entry in self._last if entry[0] is not design]
        self._last = ((design, state, block), *rest[: self._most - 1])
        return block


def _saw_the_same(before: ExperimentState, state: ExperimentState) -> bool:
    is_same = before.latest_statistics is state.latest_statistics
    return is_same and before.signals is state.signals


_next_blocks = NextBlocks()


def _after(
    design: Design, state: ExperimentState, arms: list[int], now: float, **block: Any
) -> ExperimentState:
    """Return the state with these units added, and the fields in `block` set to new values."""
    if not arms:
        return state
    assigned = list(state.enrolment.assigned)
    for arm in arms:
        assigned[arm] += 1
    enrolment = state.enrolment._replace(assigned=tuple(assigned), latest=now, **block)
    is_open = state.ending.verdict is None
    if design.procedure.counts == "stages":
        enrolment = joined(design, enrolment, arms, now) if is_open else enrolment
        return state._replace(enrolment=enrolment)
    if design.withholds and enrolment.origin is None:
        enrolment = enrolment._replace(origin=now)
    if is_open and design.measure and not state.pending:
        folding = state.folding._replace(due=design.matures(now))
        return state._replace(enrolment=enrolment, folding=folding)
    return state._replace(enrolment=enrolment)


def _full(design: Design) -> FullError:
    return FullError(
        "max_units",
        f"max_units is reached ({design.max_units}): the test takes no more units and ends when "
        "those in it have given their outcomes",
        kind="conflict",
    )


def is_complete(design: Design, state: ExperimentState) -> bool:
    """Return whether nobody is enrolled now, since the units not counted yet may decide the test.

    >>> import bascule as bs
    >>> rule = bs.Tilt(3, effect=0.5, power=0.9)
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), rule, reports="always")
    >>> is_complete(design, ExperimentState.empty(design))
    False
    """
    if (
        design.procedure.assigns != "blocks"
        or state.enrolment.left
        or state.ending.verdict is not None
    ):
        return False
    return blocks_to_begin(design, state, _next_blocks(design, state)) < 1


def enrolment_complete(design: Design, state: ExperimentState) -> FullError:
    """Return the error that no unit is enrolled until pending units have counted."""
    pending = state.pending
    return FullError(
        ENROLMENT,
        f"enrolment is complete: the test waits for {pending:,} units that have not counted yet, "
        f"and others are served the {design.overflow} until then",
        kind="conflict",
    )
