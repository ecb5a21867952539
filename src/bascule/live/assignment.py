"""Which arm the next unit joins: a pure function of where the test stands and of a shuffle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from bascule.core.block_progress import Block, next_block
from bascule.core.design import Design
from bascule.core.errors import InputError
from bascule.core.progress import next_arm
from bascule.core.rules import Tilt
from bascule.core.statistics import ArmStatistics, Statistics
from bascule.live.standing import Deal, Standing

Shuffle = Callable[[list[int]], None]
"""Puts a list into random order, in place."""


class FullError(InputError):
    """The cap on units leaves no room for another one."""


@dataclass(frozen=True, slots=True)
class Place:
    """An arm for a unit, the probability with which it was chosen, and the block it belongs to."""

    arm: int
    probability: float
    deal: int | None


def place(
    design: Design, standing: Standing, deal: Deal | None, shuffle: Shuffle
) -> tuple[Place, Deal | None]:
    """The place of the next unit, and the block that is handed out then.

    `deal` is the block that has been handed out so far, up to slot `standing.handed`.

    >>> import bascule as bs
    >>> design = bs.Design(["a", "b"], bs.Gaussian(1), bs.Tilt(3))
    >>> place(design, Standing.empty(design), None, lambda slots: None)
    (Place(arm=0, probability=0.5, deal=1), Deal(number=1, parts=((0, 1),), struck=()))
    """
    if standing.verdict is not None:
        return Place(shipped(standing), 1.0, None), deal
    if isinstance(design.rule, Tilt):
        return _slot(design, standing, deal, shuffle)
    if design.max_units is not None and standing.units >= design.max_units:
        raise _full(design)
    return Place(next_arm(design, with_pending(standing)), 1.0, None), deal


def shipped(standing: Standing) -> int:
    """The arm that everyone gets after the decision: the winner, or the first if none matters."""
    assert standing.verdict is not None
    if standing.verdict.arm is not None:
        return standing.verdict.arm
    out = standing.statistics.out
    return next(arm for arm in range(len(standing.assigned)) if arm not in out)


def with_pending(standing: Standing) -> Statistics:
    """The statistics as if every pending unit had given its arm's mean so far.

    Its radius is then that of all units that the arm has been given, so that a burst of units
    spreads as it would one by one. An arm without outcomes is taken to have the mean of all.

    >>> import bascule as bs
    >>> start = Standing.empty(bs.Design(["a", "b"], bs.Gaussian(1), bs.UCB(2)))
    >>> with_pending(replace(start, assigned=(3, 0))).arms[0]
    ArmStatistics(units=3, total=0.0, squares=0.0)
    """
    seen = standing.statistics
    everything = sum(seen.arms, ArmStatistics())
    arms = []
    for arm, units in zip(seen.arms, standing.assigned, strict=True):
        pending = units - arm.units
        like = arm if arm.units else everything
        share = pending / like.units if like.units else 0.0
        more = ArmStatistics(pending, share * like.total, share * like.squares)
        arms.append(arm + more if pending else arm)
    return replace(seen, arms=tuple(arms), removed=seen.removed | frozenset(standing.paused))


def _slot(
    design: Design, standing: Standing, deal: Deal | None, shuffle: Shuffle
) -> tuple[Place, Deal]:
    handed = standing.handed
    slots = () if deal is None else deal.slots
    if deal is None or handed >= len(slots):
        seen = standing.statistics
        allowed = seen
        if standing.paused:
            allowed = replace(seen, removed=seen.removed | frozenset(standing.paused))
        block = _coming(design, allowed)
        if design.max_units is not None and standing.units + block.size > design.max_units:
            raise _full(design)
        deal = Deal(standing.deal + 1, _dealt(block, shuffle))
        handed, slots = 0, deal.slots
    arm, begin = slots[handed], 0
    for size in deal.sizes:
        if handed < begin + size:
            left = slots[handed : begin + size]
            break
        begin += size
    return Place(arm, left.count(arm) / len(left), deal.number), deal


@lru_cache(maxsize=256)
def _coming(design: Design, allowed: Statistics) -> Block:
    # In a burst many blocks come after the same outcomes.
    return next_block(design, allowed)


def _dealt(block: Block, shuffle: Shuffle) -> tuple[tuple[int, ...], ...]:
    parts = []
    for _ in range(block.repeat):
        slots = [arm for arm, units in enumerate(block.units) for _ in range(units)]
        shuffle(slots)
        parts.append(tuple(slots))
    return tuple(parts)


def after_placing(design: Design, standing: Standing, placed: Place, now: float) -> Standing:
    """Where the test stands with one unit more."""
    assigned = list(standing.assigned)
    assigned[placed.arm] += 1
    first_pending = standing.folded == standing.units and standing.verdict is None
    handed = standing.handed
    if placed.deal is not None:
        handed = handed + 1 if placed.deal == standing.deal else 1
    return replace(
        standing,
        assigned=tuple(assigned),
        latest=now,
        due=design.measure.matures(now) if first_pending and design.measure else standing.due,
        deal=standing.deal if placed.deal is None else placed.deal,
        handed=handed,
    )


def _full(design: Design) -> FullError:
    return FullError(
        "max_units",
        f"max_units is reached ({design.max_units}): the test takes no more units and ends when "
        "those in it have given their outcomes",
    )
